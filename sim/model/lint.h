/* lint.h - what is suspicious in a layout that is not wrong.
 *
 * A rule that matches nothing and a dimension that does not divide are errors of the scenario
 * (model.h).  Here are: a rule or constraint that is shadowed by earlier ones; a weight above a
 * size that is replicated over several devices; a constraint that undoes its neighbour, asking
 * another sharding of the same value with nothing but elementwise math between.  And an axis that
 * cuts nothing, which is found in the program by the caller and reported here.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_LINT_H
#define MODEL_LINT_H

#include "model/model.h"

/* Report findings, each with the place of the rule.  SHD_ENOMEM. */
SHD_MUST_CHECK int model_lint(struct diag *findings, const struct scenario *scenario,
                              const struct graph *graph, const struct model_shardings *shardings,
                              uint64_t whole_bytes);

/* Report an axis of the mesh along which all work is done `times` times. */
void model_lint_idle_axis(struct diag *findings, const struct scenario *scenario, const char *axis,
                          int32_t times);

#endif /* MODEL_LINT_H */
