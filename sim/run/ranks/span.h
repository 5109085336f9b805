/* span.h - a group whose members are on several ranks, and the data that these exchange.
 *
 * The members on one rank meet at the group's barrier, and the last of them meets the other ranks.
 * Each rank sends the others a bundle with the calls of its members and small operands.  Then every
 * rank has every call, and compares all of them as a single rank would.  Larger operands follow as
 * parcels, to the ranks that need them and only as much as they need.  They are in host memory, and
 * proxy calls point to them, so that the rest works as on one rank: each rank stores to its own
 * members only, and counts what these receive.
 *
 * This file keeps the state; meet.h executes calls.
 *
 * Thread class: owned by the last member of its rank to arrive, except for what is said to be for
 * any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_SPAN_H
#define RUN_RANKS_SPAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "run/ranks/ranks.h"
#include "run/collective.h"

struct remote;
struct run_group;
struct wait_record;

/* A rank's calls by its members. */
struct span_bundle {
    struct span_bundle *next;
    uint64_t group;  /* the group's hash */
    uint64_t number; /* of the call; the group's first call is 1 */
    int from;        /* rank */
    const char *letter;
};

/* Memory that is only enlarged. */
struct span_room {
    void *at;
    uint64_t bytes;
};

/* A member on another rank. */
struct span_proxy {
    struct coll_call call;
    char where[64];
    uint32_t *source;     /* permute */
    struct span_room in, out,
        tmp; /* stand-ins for its memory; small operands remain in the bundle */
};

/* Consecutive members on the same rank. */
struct span_segment {
    uint32_t first, end;
    int rank;
};

struct span {
    struct remote *remote;
    struct run_group *group; /* its event moves when all bundles have arrived, too */
    int me;
    uint32_t nranks; /* ranks with members */
    int *ranks;      /* ascending */
    uint32_t nhere;
    uint32_t *here; /* members on this rank, ascending */
    uint32_t nsegments;
    struct span_segment *segments;
    struct span_proxy *proxies; /* by member */
    uint32_t *tags;             /* by rank of the run: its parcels' tags in the current call */

    uint64_t number; /* of the current call */
    struct span_room packed;  /* operands packed for sending */
    struct span_room aside;   /* a contiguous OUT, if an all-reduce needs one (owners.h) */
    struct span_room parcels; /* struct ranks_parcel[nparcels] */
    uint32_t nparcels;
    struct span_room letter;  /* outgoing, without operands */
    struct ranks_part *parts; /* outgoing: the letter, and each operand */
    struct span_bundle *read; /* bundles of the current call */
    struct chain *chain; /* NULL until there is a reduction (chain.h) */

    pthread_mutex_t lock; /* guards the following fields */
    struct span_bundle *bundles; /* not read yet */
    struct wait_record *waiter;  /* the wait for those of the current call; NULL: all have come, or
                                    the wait was given up */
};

/* The span of a group with members on other ranks. */
static inline struct span *span_of(const struct run_group *group)
{
    return group->away;
}

/* NULL: no memory. */
struct span *span_create(struct remote *remote, struct run_group *group);
void span_destroy(struct span *span); /* NULL is allowed; does not destroy its chain */
void span_free_bundles(struct span_bundle *bundles);

/* Deliver a bundle, which the span then owns; any thread, with the run's lock held. */
void span_deliver(struct span *span, struct span_bundle *bundle);

/* The rank of a member. */
int span_rank_of(const struct span *span, uint32_t member);

struct span_range {
    uint64_t at, end; /* elements (in an exchange: bytes); empty if equal */
};

/* All of a member's operand, and the bytes of an element. */
struct span_range span_operand(const struct coll_call *call, uint32_t member);
size_t span_elem_bytes(const struct coll_call *call);

/* The range from the first to the last element of the chunks that a rank's members own, of `count`
 * elements. */
struct span_range span_chunks(const struct span *span, uint64_t count, int rank);

/* In a pull phase, free the stand-in memory of `member` on another rank, once no member reads it
 * any more. */
void span_forget(struct span *span, uint32_t member);

/* Start a parcel of the current call; wait for those that this rank receives, or for all. */
void span_send(struct span *span, int rank, uint32_t tag, const void *data, uint64_t bytes);
void span_receive(struct span *span, int rank, uint32_t tag, void *data, uint64_t bytes);
void span_finish_receives(struct span *span);
void span_finish(struct span *span);

/* Reserve room, whose content is lost; false: no memory. */
bool span_grow(struct span_room *room, uint64_t bytes);

/* The number of bundles that have come for the current call.  Called with the lock held. */
uint32_t span_count_bundles(const struct span *span);

#endif /* RUN_RANKS_SPAN_H */
