/* lint.h - warnings about suspicious layouts.
 *
 * A rule that matches nothing and a dimension that does not divide are errors of the scenario
 * (model.h).  Warnings are: a rule or constraint that earlier ones shadow; a weight above a size
 * limit that is replicated over several devices; a constraint that undoes the one before it, with
 * only elementwise ops between.  The caller finds in the program any mesh axis that shards no work;
 * it is reported here.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_LINT_H
#define MODEL_LINT_H

#include "model/model.h"

/* Report findings, each at the place of its rule.  SHD_ENOMEM. */
SHD_MUST_CHECK int model_lint(struct diag *findings, const struct scenario *scenario,
                              const struct graph *graph, const struct model_shardings *shardings,
                              uint64_t whole_bytes);

/* Warn about a mesh axis along which all work is repeated `times` times. */
void model_lint_idle_axis(struct diag *findings, const struct scenario *scenario, const char *axis,
                          int32_t times);

#endif /* MODEL_LINT_H */
