/* matrices.h - the matrices of an optimizer that works on whole matrices (Muon), and where devices
 * compute with them.
 *
 * The layouts are shardings of one computation, whose collectives follow from them.  By
 * optimizer.layout, along a matrix's sides:
 *   duplicated    no axis: shards are gathered, and every device computes all;
 *   distributed   axes that shard either side all shard the longer one: Gram matrices of the shorter
 *                 side are partial sums, which are all-reduced;
 *   owned         the axes of optimizer.homes shard the dimension that stacks equal matrices: an
 *                 all-to-all to shards of whole matrices, and one back.
 * Dimensions that number matrices, such as experts, stay as they are.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_MATRICES_H
#define MODEL_MATRICES_H

#include "base/diag.h"
#include "graph/optimizer/matrix.h"
#include "scenario/scenario.h"

/* Find the matrices of a scenario's optimizer; `out` has an element for each node of the forward
 * phase, zeroed.  Reports to `diag`: a pattern that matches none, or leaves a matrix no side. */
SHD_MUST_CHECK int matrices_find(struct optimizer_matrix *out, const struct graph *graph,
                                 const struct scenario *scenario, struct diag *diag);

/* Set the sharding of a constraint that has matrices of a parameter: `state` is that of the
 * parameter's state, `asked` that of the parameter without ZeRO's axes. */
void matrices_place(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                    const struct shd_sharding *state, const struct shd_sharding *asked,
                    const struct scenario *scenario);

#endif /* MODEL_MATRICES_H */
