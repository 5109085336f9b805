/* offload_marks.h - the arrays that a scenario wants in the memory of the host.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_OFFLOAD_MARKS_H
#define MODEL_OFFLOAD_MARKS_H

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

/* By node, whether it is offloaded (partition_request.offloads), in an array for free(); NULL where
 * the scenario offloads nothing.  Reports to `diag`: a pattern that matches nothing, an optimizer
 * without state. */
SHD_MUST_CHECK int model_offload(bool **out, const struct graph *graph,
                                 const struct scenario *scenario, struct diag *diag);

#endif /* MODEL_OFFLOAD_MARKS_H */
