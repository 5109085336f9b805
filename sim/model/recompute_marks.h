/* recompute_marks.h - the forward values that a scenario recomputes in the backward phase.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_RECOMPUTE_MARKS_H
#define MODEL_RECOMPUTE_MARKS_H

#include <stdbool.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* Clone the marked ops in a graph that has its backward phase; graph/recompute.h.  A pattern that
 * matches no name, or is faulty, goes to `diag`; other errors stay in the graph. */
void model_recompute(struct graph *graph, const struct scenario *scenario, struct diag *diag);

/* Mark by node the values that would be cloned, also of a graph without a backward phase.  False:
 * memory ran out, or a pattern is faulty, which went to `diag`. */
bool model_mark_again(bool *again, const struct graph *graph, const struct scenario *scenario,
                      struct diag *diag);

#endif /* MODEL_RECOMPUTE_MARKS_H */
