/* loss_scale.h - loss scaling: gradients of a scaled loss, with skipped steps.
 *
 * A factor keeps gradients in float16's range that would underflow; the update divides it out
 * (Micikevicius et al., arXiv 1710.03740).  A step whose gradients are not all finite leaves
 * parameters and optimizer state unchanged.  A dynamic scale is then halved, and is doubled after
 * `growth_interval` consecutive good steps.  Scale and count are scalar states, like optimizer
 * state, and all nodes are ordinary: every step has the same ops.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_LOSS_SCALE_H
#define GRAPH_OPTIMIZER_LOSS_SCALE_H

#include "graph/optimizer/state.h"

/* The scale in this step, "opt/loss_scale", in the parameters' type.  GRAPH_NONE here and below: no
 * loss scaling. */
uint32_t loss_scale_add(struct graph *graph, const struct optimizer_opts *opts);

/* The loss to differentiate: scaled, in its own type. */
uint32_t loss_scale_apply(struct graph *graph, uint32_t scale, uint32_t loss);

/* The factor that turns gradients into those of the unscaled loss: 1 / scale. */
uint32_t loss_scale_inverse(struct graph *graph, uint32_t scale);

/* Decide by the gradients' norm whether the step is skipped, and set the next step's scale. */
struct optimizer_skip loss_scale_update(struct graph *graph, const struct optimizer_opts *opts,
                                        uint32_t scale, uint32_t norm);

#endif /* GRAPH_OPTIMIZER_LOSS_SCALE_H */
