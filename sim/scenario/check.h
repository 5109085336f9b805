/* scenario/check.h - constraints between the options of one strategy, checked before its graph is
 * built.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_CHECK_H
#define SCENARIO_CHECK_H

#include "scenario/value.h"

/* Report: missing required options, a mesh of too many devices, axes in specs and in `axes` that
 * are not in the mesh or used twice, logical axes that the model does not have, a mesh without an
 * axis that `rules: auto` knows. */
void check_scenario(struct reader *r);

#endif /* SCENARIO_CHECK_H */
