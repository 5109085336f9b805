/* bucket.h - merge collectives with a later collective of the same kind, as buckets.
 *
 * One collective over several arrays (the gradients of several parameters, say) costs one latency
 * and one synchronization; bytes are the same.  XLA's combiner and PyTorch's DDP do the same.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BUCKET_H
#define PARTITION_BUCKET_H

#include "base/pool.h"
#include "program/program.h"

/* A bucket grows until its operands reach this many bytes on a device.  A delayed collective does
 * not overlap with computation meanwhile, and the latency saved matters less the more bytes there
 * are.  DDP's bucket_cap_mb has the same default. */
#define BUCKET_BYTES_MAX (UINT64_C(25) << 20)

/* Merge collectives of a program whose lifetimes and in-place updates are set; lifetimes are valid
 * again afterwards.  Peak memory does not grow. */
void bucket_collectives(struct program *program, struct pool *pool);

#endif /* PARTITION_BUCKET_H */
