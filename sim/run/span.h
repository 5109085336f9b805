/* span.h - a group whose members are on several ranks, and what these bring each other.
 *
 * The members on one rank meet at the group's barrier, and the last of them meets the other ranks.
 * Each rank sends the others a bundle, which has the calls of its members; small operands are in
 * it.  Then every rank has every call, and compares all of them as one rank would.  Larger operands
 * follow as parcels, each to the ranks that need it and no more of it than they need.  They lie in
 * memory of the host, and calls by proxy point at them, so that all else is done as on one rank:
 * each rank stores to its own members only, and counts what these receive.
 *
 * This is where it is kept; meet.h is how it is done.
 *
 * Thread class: owned by the last member of its rank to arrive, but for what is said to be for any
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_SPAN_H
#define RUN_SPAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "ranks/ranks.h"
#include "run/collective.h"

struct run_group;
struct wait_record;

/* What a rank tells of its members' calls. */
struct span_bundle {
    struct span_bundle *next;
    uint64_t group;  /* its hash */
    uint64_t number; /* of the call, 1 the first that the group makes */
    int from;        /* rank */
    const char *letter;
};

/* A member on another rank. */
struct span_proxy {
    struct coll_call call;
    char where[64];
    uint32_t *source;     /* permute */
    void *in, *out, *tmp; /* memory that stands for its; of small operands the bundle is */
    uint64_t in_room, out_room, tmp_room;
};

/* A run of members that follow each other on one rank. */
struct span_segment {
    uint32_t first, end;
    int rank;
};

struct span {
    struct run_group *group;
    int me;
    uint32_t nranks; /* that have members */
    int *ranks;      /* ascending */
    uint32_t nhere;
    uint32_t *here; /* members on this rank, ascending */
    uint32_t nsegments;
    struct span_segment *segments;
    struct span_proxy *proxies; /* by member */
    uint32_t *tags;             /* by rank of the run: of its parcels in the call at hand */

    uint64_t number; /* of the call at hand */
    void *packed;    /* operands in a row, to be sent */
    uint64_t packed_room;
    void *aside; /* an OUT in a row, where an all-reduce needs that (owners.h) */
    uint64_t aside_room;
    struct ranks_parcel *parcels;
    uint32_t nparcels, parcels_room;
    char *letter; /* to be sent, but for operands */
    uint64_t letter_room;
    struct ranks_part *parts; /* what is sent: that, and each operand */
    struct span_bundle *read; /* those of the call at hand */
    struct chain *chain; /* NULL until there is a reduction (chain.h) */

    pthread_mutex_t lock; /* guards what follows */
    struct span_bundle *bundles; /* that are not read yet */
    uint32_t nmissing;          /* bundles of the call at hand */
    struct wait_record *waiter; /* who waits for them */
    _Atomic uint32_t event;     /* moves when all are there, or something is to be looked at */
};

/* NULL: no memory. */
struct span *span_create(struct run_group *group);
void span_destroy(struct span *span); /* NULL is allowed; its chain is not destroyed with it */
void span_free_bundles(struct span_bundle *bundles);

/* A bundle has come, which the span keeps; any thread, with the run's lock held. */
void span_deliver(struct span *span, struct span_bundle *bundle);

/* Let who waits look again; any thread. */
void span_poke(struct span *span);

/* The rank of a member. */
int span_rank_of(const struct span *span, uint32_t member);

struct span_range {
    uint64_t at, end; /* elements; none where they are equal */
};

/* From the first to the last element of the chunks for the members of a rank, of `count`. */
struct span_range span_chunks(const struct span *span, uint64_t count, int rank);

/* In a pull phase, when no member will read what `member` of another rank published any more: free
 * the memory that stands for it. */
void span_forget(struct span *span, uint32_t member);

/* Start a parcel of the call at hand; wait for those that come to this rank, or for all. */
void span_send(struct span *span, int rank, uint32_t tag, const void *data, uint64_t bytes);
void span_receive(struct span *span, int rank, uint32_t tag, void *data, uint64_t bytes);
void span_finish_receives(struct span *span);
void span_finish(struct span *span);

/* Room for so many parcels, and for bytes; false: no memory. */
bool span_room_for_parcels(struct span *span, uint64_t n);
bool span_grow(void **memory, uint64_t *room, uint64_t bytes);

#endif /* RUN_SPAN_H */
