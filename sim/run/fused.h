/* fused.h - the default algorithms on shared memory: the same sums and copies, in one pass.
 *
 * What a default schedule leaves in the OUTs is a list of pieces: a range of one member's IN, or of
 * the reduction of all INs in group order, that goes to one member's OUT or to all OUTs.  Pieces
 * are cut into tasks, each done by whichever thread has a core: a block is reduced in the
 * first-level cache and stored from there into every OUT that is to have it, past the caches when
 * all of it would not fit.  Bits and in-place rules are the schedule's.
 *
 * Bytes are counted beside each copy, as the default algorithm would have moved them.  To read an
 * IN into a reduction counts as received by the member that reduces these elements (the one that
 * gets them; where all do, the owner of their chunk) from that IN's member; to store a reduction
 * into an OUT, as received by the OUT's member from the one that reduced; to copy an IN to an OUT,
 * from the one's member to the other's.  Each element is looked up where it comes from and goes to
 * (count.h): one that OUT is not to hold there counts as astray.  So the count is
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
    uint64_t slice;    /* elements of a piece that are done at a time */
    uint64_t nslices;  /* of the longest piece */
    uint64_t per_task; /* slices, of this piece and the next ones */
    uint32_t ntasks;
    uint32_t nthreads; /* that are worth their waking; 1: the last to arrive does it alone */
    bool stream;       /* stores go past the caches */
};

/* Whether this is how an algorithm's calls are done. */
bool fused_serves(const struct coll_algo *algo);

/* Cut the call that all members of a group have made. */
void fused_prepare(struct fused_job *job, const struct run_group *group, uint32_t ncores);

void fused_task(const struct fused_job *job, const struct run_group *group, uint32_t task);

/* ---- a reduction that goes from rank to rank (chain.h) ---- */

struct count;

/* A range of the elements that one member, or all, are to have the reduction of. */
struct fused_range {
    const struct fused_job *job; /* its shape */
    const struct run_group *group;
    const struct coll_call *call; /* of a member on this rank: others' may not be there yet */
    struct count *count;
    uint64_t piece; /* of fused_npieces(), each with its own count */
    uint64_t at, nelems;
};

uint64_t fused_npieces(enum coll_kind kind, const struct coll_shape *shape);
uint64_t fused_piece_count(enum coll_kind kind, const struct coll_shape *shape, uint64_t piece);

/* Combine the range of the members from `first` to `end` into `sum`, which they begin when the
 * first of all is among them. */
void fused_fold(const struct fused_range *range, uint32_t first, uint32_t end, void *sum);

/* What is to be done when the last member is in. */
void fused_finish(const struct fused_range *range, void *sum);

/* Store the reduction into the OUT of each member on this rank that is to have it. */
void fused_store(const struct fused_range *range, const void *sum);

/* Where the first of these members has its elements, all in a row; NULL: nowhere, or not so. */
void *fused_place(const struct fused_range *range);

#endif /* RUN_FUSED_H */
