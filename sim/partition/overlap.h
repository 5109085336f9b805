/* overlap.h - reorder ops so that transfers overlap with computation: gathers of parameters move
 * some layers earlier, readers of summed gradients move one layer later.
 *
 * Ops are issued in the program's order, and the network takes transfers in that order.  A gather
 * placed right before its reader waits for the previous layer's transfers, such as reduce-scatters
 * of its gradients, which wait for these gradients.  Some layers earlier the gather overlaps with
 * computation, while the gathered copy takes memory for longer.  PyTorch's FSDP has
 * backward_prefetch and forward_prefetch, of one layer.  Likewise, an op that accumulates a
 * scattered gradient would make all later computations wait for the reduce-scatter, which is done
 * one layer later.  FSDP and Megatron overlap it with the next layer, too.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OVERLAP_H
#define PARTITION_OVERLAP_H

#include "program/program.h"

/* Move gathers of parameters to the start of the layer `layers` before their reader's in its phase,
 * or to the start of the phase's first layer; 0: gathers stay.  Move kernels of the backward phase
 * that read summed gradients, do not shrink them, and that only such kernels and the update wait
 * for, to the end of the phase's next layer.  Layers are known by the names of ops
 * (graph/layer_name.h); ops between two layers count as a layer.  Invalidates lifetimes.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int overlap_transfers(struct program *program, uint32_t layers,
                                     struct shd_error *err);

#endif /* PARTITION_OVERLAP_H */
