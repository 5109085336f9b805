/* zero.h - ZeRO's stages as shardings: what is sharded over more axes, the data's.
 *
 * Stage 1 cuts the optimizer's state, stage 2 the gradients too (where they outlive the backward
 * phase), stage 3 the parameters too (Rajbhandari and others, arXiv 1910.02054).  That updates are
 * then done once instead of by every replica, and what is gathered where, follows from that.
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

/* How an array is cut of which no dimension divides. */
enum zero_layout {
    ZERO_FLAT, /* by elements, as Megatron-LM's and DeepSpeed's flat buffers are */
    ZERO_PAD   /* by rows, as PyTorch's FSDP2 does: of dimension 0, or of as many leading ones
                  together as have a row for each device */
};

/* Axes of a mesh, the first the most major. */
struct zero_axes {
    uint8_t n;
    uint8_t axes[SHD_MESH_AXES_MAX];
    enum zero_layout layout;
};

/* Cut an array of `shape` over those axes of its mesh that do not shard it yet: along the dimension
 * that is longest on a device, of those that all of them together divide; of equals the first.
 * Where none divides, in pieces (shd/sharding.h), of which the last have padding.  A number is not
 * cut.  Returns the axes by which it is cut now and was not: bit a for axis a. */
uint32_t zero_cut(struct shd_sharding *sharding, const int64_t *shape,
                  const struct zero_axes *axes);

/* Whether a node is the name of a gradient where it is summed over microbatches, which is cut from
 * stage 2 on; before that nothing is asked of it, so that parts are added up as parts. */
bool zero_is_sum(const struct graph_node *node);

/* Whether gradients are scattered for each microbatch, or their sums once a step.  In a pipeline
 * stage 3 is PyTorch's FSDP, which has gradients of all microbatches summed whole
 * (set_requires_gradient_sync(False) in torch/distributed/pipelining/stage.py). */
bool zero_scatters_each(const struct graph *graph, int64_t stage);

#endif /* MODEL_ZERO_H */
