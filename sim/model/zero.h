/* zero.h - the stages of ZeRO as shardings over additional axes, the data axes.
 *
 * Stage 1 shards the optimizer state, stage 2 also the gradients (where they outlive the backward
 * phase), stage 3 also the parameters (Rajbhandari and others, arXiv 1910.02054).  It follows from
 * these shardings that updates are done once instead of by every replica, and what is gathered
 * where.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ZERO_H
#define MODEL_ZERO_H

#include <stdbool.h>

#include <shd/sharding.h>

#include "graph/graph.h"

/* How to cut an array none of whose dimensions divides. */
enum zero_layout {
    ZERO_FLAT, /* by elements, as the flat buffers of Megatron-LM and DeepSpeed */
    ZERO_PAD   /* by rows, as PyTorch's FSDP2: rows of dimension 0, or of as many leading
                  dimensions together as give each device a row */
};

/* Axes of a mesh, the first the most significant. */
struct zero_axes {
    uint8_t n;
    uint8_t axes[SHD_MESH_AXES_MAX];
    enum zero_layout layout;
};

/* Cut an array of `shape` over those of the axes that do not shard it yet: along the dimension with
 * the longest local extent that divides by all of them together; in a tie along the first.  If none
 * divides, the array is cut into pieces (shd/sharding.h), of which the last have padding.  A scalar
 * is not cut.  Returns the axes that cut it now and did not before: bit a for axis a. */
uint32_t zero_cut(struct shd_sharding *sharding, const int64_t *shape,
                  const struct zero_axes *axes);

/* Whether a node is a gradient's sum over microbatches.  ZeRO shards it from stage 2 on; before
 * that it gets no request, so that partial sums are added up as parts. */
bool zero_is_sum(const struct graph_node *node);

/* Whether gradients are scattered for each microbatch, rather than their sums once a step.  In a
 * pipeline stage 3 follows PyTorch's FSDP, which sums whole gradients over all microbatches
 * (set_requires_gradient_sync(False) in torch/distributed/pipelining/stage.py). */
bool zero_scatters_each(const struct graph *graph, int64_t stage);

#endif /* MODEL_ZERO_H */
