/* scenario/check.h - what must hold between the options of one strategy, before there is a graph.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_CHECK_H
#define SCENARIO_CHECK_H

#include "scenario/value.h"

/* Report: required options that are missing, a mesh of too many devices, axes in specs and in
 * `axes` that are not in the mesh or are used twice, logical axes that the model has not, a mesh
 * that `rules: auto` can do nothing with. */
void check_scenario(struct reader *r);

#endif /* SCENARIO_CHECK_H */
