/* emit.h - from what was chosen to a program: ops on shards, and the steps between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_EMIT_H
#define PARTITION_EMIT_H

#include "partition/placement.h"

/* Append everything to an empty program.  With `regather` what was gathered in one phase is
 * gathered again in the next, not kept: less memory for more bytes.  With `splits` what only
 * gradients of parameters come of is a part of its own (PROGRAM_WEIGHTS). */
SHD_MUST_CHECK int emit_program(struct program *program, struct placement *placement, bool regather,
                                bool splits, struct shd_error *err);

/* Parts of that, for whoever changes one op and asks what else changes; `inlined` as by
 * fuse_mark().  First, append the steps that bring one value from its home to all that read it, with
 * the ops that pull its rows, and nothing else: they are those of the whole program, made without
 * `regather`. */
SHD_MUST_CHECK int emit_steps(struct program *program, struct placement *placement,
                              const bool *inlined, uint32_t value, struct shd_error *err);

/* Second, the kernel of a node that works and is not inlined, without its arrays. */
SHD_MUST_CHECK int emit_kernel(struct program_op *out, const struct placement *placement,
                               const bool *inlined, uint32_t node, struct shd_error *err);

#endif /* PARTITION_EMIT_H */
