/* overlap.h - ops are moved so that transfers run beside computations: what gathers parameters
 * comes some layers earlier, and what reads the sums of gradients a layer later.
 *
 * Ops are issued in the program's order, and the network takes its transfers in that order.  A
 * gather that stands right before its reader waits behind the transfers of the layer before, such
 * as the scatters of its gradients, which wait for these; some layers earlier it runs beside
 * computations, and the gathered copy takes memory for longer.  PyTorch's FSDP has
 * backward_prefetch and forward_prefetch, of one layer.  Likewise what adds a scattered gradient
 * to those of the microbatches before would keep all computations behind it waiting for the
 * scatter; a layer later that is done.  FSDP and Megatron do it beside the next layer, too.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OVERLAP_H
#define PARTITION_OVERLAP_H

#include "program/program.h"

/* Move what gathers parameters to the begin of the layer that is `layers` before its reader's in
 * its phase, or of the first of the phase; 0: gathers stay.  Move computations of the backward
 * phase that read sums of gradients, are no smaller than these, and that only such and the update
 * wait for, to the end of the next layer in the phase.  The names of ops say their layer
 * (graph/layer_name.h), and what is of none between two layers counts as one.  Lifetimes are to be
 * set anew.  SHD_ENOMEM. */
SHD_MUST_CHECK int overlap_transfers(struct program *program, uint32_t layers,
                                     struct shd_error *err);

#endif /* PARTITION_OVERLAP_H */
