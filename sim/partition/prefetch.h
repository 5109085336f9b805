/* prefetch.h - parameters are gathered some layers before the one that reads them.
 *
 * Ops are issued in the program's order, and the network takes its transfers in that order: a
 * gather that stands right before its reader waits behind the transfers of the layer before, such
 * as the scatters of its gradients, which wait for these.  Some layers earlier it runs beside
 * computations; the gathered copy takes memory for longer.  PyTorch's FSDP has backward_prefetch
 * and forward_prefetch, of one layer.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PREFETCH_H
#define PARTITION_PREFETCH_H

#include "program/program.h"

/* Move what gathers parameters to the begin of the layer that is `layers` before its reader's in
 * its phase, or of the first of the phase; the names of ops say their layer (graph/layer_name.h),
 * and what is of none between two layers counts as one.  With 0 nothing moves.  Lifetimes are to be
 * set anew.  SHD_ENOMEM. */
SHD_MUST_CHECK int prefetch_gathers(struct program *program, uint32_t layers,
                                    struct shd_error *err);

#endif /* PARTITION_PREFETCH_H */
