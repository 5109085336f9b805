/* offload.h - let arrays lie in the memory of the host: the copies between device and host, and
 * what is computed there.
 *
 * The request marks arguments and values (program_buffer.offloads).  What follows from the marks:
 *
 * - A marked argument lies on the host.
 * - Kernels of the update that read marked optimizer state, or what such a kernel computed, run on
 *   the host, as in ZeRO-Offload, and those before them whose results only the host reads, if no
 *   more bytes go there; all other ops run on the device.
 * - Where an op and its operand are not in the same memory, a copy brings the operand: one for the
 *   readers of a layer, freed after them; the next layer's readers get another.
 * - A marked value of the forward phase that the backward phase reads is copied to the host once it
 *   is made, and back for its readers.
 *
 * No option has code of its own: which arrays are marked decides all of it.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OFFLOAD_H
#define PARTITION_OFFLOAD_H

#include "base/pool.h"
#include "program/program.h"

/* Insert the copies, in the program's present order; does nothing if no buffer is marked.
 * Invalidates lifetimes.  Errors of program_add_op(). */
SHD_MUST_CHECK int offload_build(struct program *program, struct pool *pool, struct shd_error *err);

#endif /* PARTITION_OFFLOAD_H */
