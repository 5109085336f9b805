/* emit.h - from what was chosen to a program: ops on shards, and the steps between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_EMIT_H
#define PARTITION_EMIT_H

#include "partition/placement.h"

struct emit_opts {
    bool short_of_memory; /* what the request has kept if it fits is gathered again: less memory for
                             more bytes */
    bool splits; /* what only gradients of parameters come of is a part of its own
                    (PROGRAM_WEIGHTS) */
    uint32_t outer_axes; /* bit a: parameters that are gathered again are gathered over axis a of
                            the mesh once a microbatch, in a pipeline once a step, and stay sharded
                            over their other axes; 0: they are sharded as they begin */
};

/* Append everything to an empty program. */
SHD_MUST_CHECK int emit_program(struct program *program, struct placement *placement,
                                const struct emit_opts *opts, struct shd_error *err);

/* Parts of that, for whoever changes one op and asks what else changes; `inlined` as by
 * fuse_mark().  First, append the steps that bring one value from its home to all that read it, with
 * the ops that pull its rows, and nothing else: they are those of the whole program, made without
 * `short_of_memory`. */
SHD_MUST_CHECK int emit_steps(struct program *program, struct placement *placement,
                              const bool *inlined, uint32_t value, struct shd_error *err);

/* Second, the kernel of a node that works and is not inlined, without its arrays. */
SHD_MUST_CHECK int emit_kernel(struct program_op *out, const struct placement *placement,
                               const bool *inlined, uint32_t node, struct shd_error *err);

#endif /* PARTITION_EMIT_H */
