/* fused.h - the default algorithms on shared memory: the same sums and copies, in one pass.
 *
 * The result of a default schedule in the OUTs is a list of pieces: a range of one member's IN, or
 * of the reduction of all INs in group order, that goes to one member's OUT or to all OUTs.  Pieces
 * are cut into tasks, each executed by any thread that has a core: it reduces a block in the
 * first-level cache and stores it from there into every destination OUT, past the caches if the
 * data would not fit.  Bits and in-place rules are the schedule's.
 *
 * Bytes are counted at each copy, as the default algorithm would have moved them.  Reading an IN
 * into a reduction counts as received, from that IN's member, by the member that reduces these
 * elements (the one that gets them; where all do, the owner of their chunk).  Storing a reduction
 * into an OUT counts as received by the OUT's member from the reducing member; copying an IN to an
 * OUT, by the OUT's member from the IN's member.  Each element's source and destination are looked
 * up (count.h): an element that OUT should not hold there counts as astray.  So the count equals
 * the schedule's if, and only if, the right pieces of the right members go to the right places,
 * once each.
 *
 * Thread class: fused_prepare() by one thread; tasks by several at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_FUSED_H
#define RUN_FUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/coll.h"

struct run_group;

/* A call cut into tasks. */
struct fused_job {
    struct coll_shape shape;
    uint64_t npieces;
    uint64_t slice;    /* elements of a piece done at a time */
    uint64_t nslices;  /* of the longest piece */
    uint64_t per_task; /* slices per task, of one or several consecutive pieces */
    uint32_t ntasks;
    uint32_t nthreads; /* threads worth waking; 1: the last member to arrive does all */
    bool stream;       /* stores bypass the caches */
};

/* Whether calls of an algorithm are executed this way. */
bool fused_serves(const struct coll_algo *algo);

/* Cut the call that all members of a group have made into tasks. */
void fused_prepare(struct fused_job *job, const struct run_group *group, uint32_t ncores);

void fused_task(const struct fused_job *job, const struct run_group *group, uint32_t task);

/* ---- a reduction block by block, when some members are away ---- */

struct count;

/* A range of elements whose reduction goes to one member, or to all. */
struct fused_range {
    const struct fused_job *job; /* for its shape */
    const struct run_group *group;
    const struct coll_call *call; /* the call of a member here: others may not have arrived */
    struct count *count;
    uint64_t piece; /* of fused_npieces(), each with its own element count */
    uint64_t at, nelems;
};

uint64_t fused_npieces(enum coll_kind kind, const struct coll_shape *shape);
uint64_t fused_piece_count(enum coll_kind kind, const struct coll_shape *shape, uint64_t piece);

/* Combine the operands of the members from `first` to `end` into `sum`; member 0's operand
 * initialises it. */
void fused_fold(const struct fused_range *range, uint32_t first, uint32_t end, void *sum);

/* Finish the sum after the last member's operand. */
void fused_finish(const struct fused_range *range, void *sum);

/* Store the reduction into the OUT of each destination member that is here. */
void fused_store(const struct fused_range *range, const void *sum);

/* The contiguous memory of the range in the OUT of the first destination member that is here;
 * NULL: there is none, or it is not contiguous. */
void *fused_place(const struct fused_range *range);

#endif /* RUN_FUSED_H */
