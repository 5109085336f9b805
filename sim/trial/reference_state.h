/* reference_state.h - the state of the running unsharded computation: this rank's pieces of arrays,
 * their marks, and the rank's share of an op.  Private to the files of reference.h.
 *
 * Thread class: owned by one thread of a rank; functions on all ranks are called by all together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_REFERENCE_STATE_H
#define TRIAL_REFERENCE_STATE_H

#include "kern/convert.h"
#include "kern/cut.h"
#include "trial/elements.h"
#include "trial/reference.h"

struct array {
    struct pieces lies;
    void *values;      /* this rank's piece; NULL: the array is not alive */
    double *variances; /* by element of the piece; NULL: the piece is exact */
};

struct reference {
    const struct program *program;
    const struct reference_opts *opts;
    uint32_t nranks;
    int me;
    uint64_t least;
    struct array *arrays; /* by buffer */
    uint8_t *marks;       /* by buffer: marks of whole arrays (enum kern_mark) ... */
    bool unsettled;       /* ... unless set: then of this rank's pieces only */
    uint32_t *times;      /* [op]: how often the op ran so far */
    uint32_t step, microbatch;
    uint64_t live_bytes;
    struct reference_work work;
};

/* An operand, in the region that the current op reads. */
struct operand {
    const void *values;
    const double *variances;
    void *own[2]; /* memory of values and variances that were moved from other pieces */
    uint64_t bytes;
};

/* This rank's share of an op. */
struct share {
    const struct program_op *op;
    uint32_t number;
    bool first; /* first microbatch */
    struct kern_cut cut;
    uint32_t nparts; /* ranks that share the op; 0: every rank computes all of it */
    uint32_t rank;   /* the first of these ranks */
    uint32_t noperands;
    uint32_t buffers[PROGRAM_INPUTS_MAX]; /* operands in the kernel's order */
    struct operand operands[PROGRAM_INPUTS_MAX];
    uint8_t marks[PROGRAM_INPUTS_MAX];
};

static inline const struct program_buffer *buffer_of(const struct reference *ref, uint32_t buffer)
{
    return &ref->program->buffers[buffer];
}

static inline uint32_t size_of(const struct reference *ref, uint32_t buffer)
{
    return (uint32_t)shd_dtype_size(buffer_of(ref, buffer)->dtype);
}

static inline uint64_t elements_here(const struct reference *ref, const struct pieces *pieces)
{
    return pieces_elements(pieces, ref->me);
}

static inline bool is_whole(const struct reference *ref, uint32_t buffer)
{
    return kern_is_whole(buffer_of(ref, buffer)->dtype);
}

/* Set an out-of-memory error; returns SHD_ENOMEM. */
int reference_no_memory(struct shd_error *err);

/* Count bytes that were allocated, for the peak. */
void reference_count_bytes(struct reference *ref, uint64_t bytes);

void reference_free_array(struct reference *ref, uint32_t buffer);

/* Allocate a result, zeroed.  SHD_ENOMEM. */
SHD_MUST_CHECK int reference_make_array(struct reference *ref, uint32_t buffer, struct pieces lies,
                                        struct shd_error *err);

/* Allocate an array's variances, zero, unless it has some; false: no memory. */
SHD_MUST_CHECK bool reference_make_variances(struct reference *ref, uint32_t buffer);

/* Set the marks of an op's result from this rank's piece. */
void reference_mark(struct reference *ref, uint32_t buffer);

/* Merge the marks of all ranks, if these may differ. */
void reference_settle_marks(struct reference *ref);

/* Number of the op's rows that this rank computes; *first: the first row. */
int64_t reference_own_rows(const struct reference *ref, const struct share *s, int64_t *first);

#endif /* TRIAL_REFERENCE_STATE_H */
