/* scenario/option_checks.h - constraints between the options of one strategy, checked before its
 * graph is built.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_OPTION_CHECKS_H
#define SCENARIO_OPTION_CHECKS_H

#include "scenario/value_reader.h"

/* Report: missing required options, a mesh of too many devices, axes in specs and in `axes` that
 * are not in the mesh or used twice, logical axes that the model does not have, a mesh without an
 * axis that `rules: auto` knows. */
void check_scenario(struct reader *r);

#endif /* SCENARIO_OPTION_CHECKS_H */
