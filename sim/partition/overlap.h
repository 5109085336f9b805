/* overlap.h - reorder ops so that transfers overlap with computation: gathers of parameters move
 * some layers earlier, readers of summed gradients move one layer later.
 *
 * Ops are issued in the program's order, and the network takes transfers in that order.  A gather
 * placed right before its reader waits for the previous layer's transfers, such as reduce-scatters
 * of its gradients, which wait for these gradients.  Some layers earlier the gather overlaps with
 * computation, while the gathered copy takes memory for longer.  PyTorch's FSDP has
 * backward_prefetch and forward_prefetch, of one layer.  Likewise, an op that accumulates a
 * scattered gradient would make all later computations wait for the reduce-scatter, which is done
 * one layer later.  FSDP and Megatron overlap it with the next layer, too.  Copies between the
 * device and its host overlap in the same way: what comes from the host comes ahead of its reader,
 * and what goes there has the time of the next layer to do so.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OVERLAP_H
#define PARTITION_OVERLAP_H

#include "base/pool.h"
#include "program/program.h"

/* How many layers ahead of their readers transfers move; 0: they stay. */
struct overlap_layers {
    uint32_t gathers; /* of parameters */
    uint32_t host;    /* copies from the host, ahead of their reader or of the gather that reads
                         them */
};

/* Move gathers of parameters to the start of the layer so many before their reader's in its phase,
 * or to the start of the phase's first layer; and copies from the host likewise.  Move kernels of
 * the backward phase that read summed gradients, do not shrink them, and that only such kernels and
 * the update wait for, to the end of the phase's next layer; and copies of values of the forward
 * phase to the host, so that a layer's values leave while the next layer is computed.  Layers are
 * those of layer_groups.h.  Invalidates lifetimes. */
void overlap_transfers(struct program *program, const struct overlap_layers *layers,
                       struct pool *pool);

#endif /* PARTITION_OVERLAP_H */
