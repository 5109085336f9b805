/* moments.h - what the memory of a rank's devices is for, at each op of a step.
 *
 * A moment is an op for a microbatch, when all that it reads and writes is there.  Of microbatches
 * that are done in a row the first two have moments: the others are like the second.
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
    uint128 uses[PROGRAM_NUSES]; /* bytes, with the op's workspace */
};

struct program_moments {
    const struct program *program; /* not owned */
    struct program_moment *each;   /* in the order of the step, without the arguments' */
    size_t n;
    uint64_t *base; /* by op: where its actions begin in `when`; program_number_actions() */
    uint32_t *when; /* [action]: its moment, or PROGRAM_NONE */
};

/* Walk a step of a rank.  SHD_ENOMEM; free with program_moments_fini() either way. */
SHD_MUST_CHECK int program_moments_init(struct program_moments *out, const struct program *program,
                                        uint32_t rank, struct shd_error *err);
void program_moments_fini(struct program_moments *moments);

/* The moment that an op's action for a microbatch is like; NULL: the rank does no such op. */
const struct program_moment *program_moments_find(const struct program_moments *moments,
                                                  uint32_t op, uint32_t microbatch);

/* Whether a step has microbatches that have no moments, for the first two stand for all. */
bool program_moments_are_of_two(const struct program *program);

/* The order in which uses lie on one another in drawings, the lowest first: from what stays through
 * a step to what lives an op.  A use's place in it is the number of its colour in all of them. */
extern const enum program_use program_use_order[PROGRAM_NUSES];

/* All bytes at a moment. */
uint128 program_moment_bytes(const struct program_moment *moment);

#endif /* PROGRAM_MOMENTS_H */
