/* adapters.h - parameters that are not learned, and adapters of low rank beside kernels.
 *
 * A pass over the forward computation that a model's builder made: it knows products and kernels,
 * and no layer or model.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ADAPTERS_H
#define MODEL_ADAPTERS_H

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* Add the adapters of scenario->lora, and freeze what it and scenario->frozen say.  Reports to
 * `diag` patterns that match nothing, and kernels that may have no adapter; other errors stay in
 * the graph. */
void model_adapt(struct graph *graph, const struct scenario *scenario, struct diag *diag);

#endif /* MODEL_ADAPTERS_H */
