/* emit.h - turn a placement into a program: ops on shards, and the steps between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_EMIT_H
#define PARTITION_EMIT_H

#include "partition/placement.h"

struct emit_opts {
    bool short_of_memory; /* gather again what PARTITION_KEPT_IF_FITS keeps: less memory for more
                             bytes */
    bool splits; /* ops that only gradients of parameters depend on become a part of their own
                    (PROGRAM_WEIGHTS) */
    uint32_t outer_axes; /* bit a: parameters that are gathered again are gathered over mesh axis
                            a once a microbatch (in a pipeline once a step) and stay sharded over
                            their other axes; 0: they keep their home sharding */
};

/* Emit all of a placement into an empty program. */
SHD_MUST_CHECK int emit_program(struct program *program, struct placement *placement,
                                const struct emit_opts *opts, struct shd_error *err);

/* Emit parts of the program, to price a change to one op; `inlined` as by fuse_mark(). emit_steps()
 * appends only the steps that bring one value from its home to all its readers, and the ops that
 * pull its rows.  They are the same as in the whole program without `short_of_memory`. */
SHD_MUST_CHECK int emit_steps(struct program *program, struct placement *placement,
                              const bool *inlined, uint32_t value, struct shd_error *err);

/* emit_kernel() makes the kernel of a node that works and is not inlined, without its buffers, and
 * in *desc the description that the op points to. */
SHD_MUST_CHECK int emit_kernel(struct program_op *out, union kern_desc *desc,
                               const struct placement *placement, const bool *inlined,
                               uint32_t node, struct shd_error *err);

#endif /* PARTITION_EMIT_H */
