/* loss_scale.h - a loss that is scaled up before its gradients are taken, and steps that are
 * skipped.
 *
 * Gradients that float16 would lose are kept in its range by a factor, which the update divides out
 * (Micikevicius et al., arXiv 1710.03740).  A step whose gradients are not all finite leaves
 * parameters and optimizer state as they were.  A dynamic scale is then halved, and is doubled
 * after `growth_interval` good steps that follow each other.  Scale and count are numbers that stay
 * from step to step, like an optimizer's state, and all is ordinary nodes: every step has the same
 * ops.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPTIMIZER_LOSS_SCALE_H
#define GRAPH_OPTIMIZER_LOSS_SCALE_H

#include "graph/optimizer/state.h"

/* The scale in this step, "opt/loss_scale", of the parameters' type.  GRAPH_NONE here and below:
 * the loss is not scaled. */
uint32_t loss_scale_add(struct graph *graph, const struct optimizer_opts *opts);

/* The loss whose gradients are to be taken: scaled, in its own type. */
uint32_t loss_scale_apply(struct graph *graph, uint32_t scale, uint32_t loss);

/* What gradients are multiplied by to be those of the loss itself: 1 / scale. */
uint32_t loss_scale_inverse(struct graph *graph, uint32_t scale);

/* Whether the step is skipped, by the norm of its gradients; and the scale of the next step. */
struct optimizer_skip loss_scale_update(struct graph *graph, const struct optimizer_opts *opts,
                                        uint32_t scale, uint32_t norm);

#endif /* GRAPH_OPTIMIZER_LOSS_SCALE_H */
