/* recompute.h - what a scenario asks the backward phase to compute again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_RECOMPUTE_H
#define MODEL_RECOMPUTE_H

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* Clone it in a graph that has its backward phase; graph/recompute.h.  A pattern that is found in
 * no name, and what else is wrong with one, goes to `diag`; other errors stay in the graph. */
void model_recompute(struct graph *graph, const struct scenario *scenario, struct diag *diag);

#endif /* MODEL_RECOMPUTE_H */
