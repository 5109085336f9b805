/* bucket.h - collectives that can wait for a later one of their kind are made with it.
 *
 * One collective over several arrays (the gradients of several parameters, say) costs one latency
 * and one meeting of the devices; bytes are the same.  XLA combines so, and PyTorch's DDP.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BUCKET_H
#define PARTITION_BUCKET_H

#include "program/program.h"

/* Bytes of all operands on a device from which on nothing is added: what waits is not moved while
 * there is work beside it, and a latency saved is worth less the more bytes there are.  DDP's
 * bucket_cap_mb has the same default. */
#define BUCKET_BYTES_MAX (UINT64_C(25) << 20)

/* Merge what may be merged in a program whose lifetimes are set, and for what is written over what;
 * lifetimes are right again afterwards.  Peak memory does not grow.  SHD_ENOMEM, also when there
 * was none for a text of the program. */
SHD_MUST_CHECK int bucket_collectives(struct program *program, struct shd_error *err);

#endif /* PARTITION_BUCKET_H */
