/* moments.h - what the memory of a rank's devices is used for at each op of a step.
 *
 * A moment is an op for one microbatch, while all buffers that it reads and writes are live.  Of
 * several microbatches in one turn only the first two have moments: the others are like the second.
 *
 * Thread class: immutable once filled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_MOMENTS_H
#define PROGRAM_MOMENTS_H

#include <stdbool.h>

#include "program/program.h"

struct program_moment {
    uint32_t op, microbatch;
    uint128 uses[PROGRAM_NUSES]; /* bytes, including the op's workspace */
};

struct program_moments {
    const struct program *program; /* not owned */
    struct program_moment *each;   /* in step order, without arguments */
    size_t n;
    uint64_t *base; /* by op: index of its first action in `when`; program_number_actions() */
    uint32_t *when; /* [action]: index of its moment, or PROGRAM_NONE */
};

/* Walk a step of a rank.  SHD_ENOMEM; free with program_moments_fini() either way. */
SHD_MUST_CHECK int program_moments_init(struct program_moments *out, const struct program *program,
                                        uint32_t rank, struct shd_error *err);
void program_moments_fini(struct program_moments *moments);

/* The moment that represents an op for a microbatch; NULL if the rank does not do the op. */
const struct program_moment *program_moments_find(const struct program_moments *moments,
                                                  uint32_t op, uint32_t microbatch);

/* Whether some microbatches of a step have no moments of their own: there are more than two, in one
 * turn. */
bool program_moments_are_of_two(const struct program *program);

/* The order in which drawings stack uses, from the bottom: from what stays through a step to what
 * lives for one op.  A use's index here is also its colour number in every drawing. */
extern const enum program_use program_use_order[PROGRAM_NUSES];

/* Total bytes at a moment. */
uint128 program_moment_bytes(const struct program_moment *moment);

#endif /* PROGRAM_MOMENTS_H */
