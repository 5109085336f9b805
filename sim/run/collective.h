/* collective.h - executing a collective's schedule with the threads of its group.
 *
 * Every member arrives with a call, and the last one to arrive compares all calls.  A default
 * algorithm is then executed in one pass over the memory of all members, by as many of their
 * threads as there are cores (fused.h).  With any other algorithm each member makes its own moves,
 * step by step, and reads directly from its peers' memory; a small call is executed by the last
 * member to arrive.  The resulting bits are the schedule's in any case.  Bytes are counted where
 * they are copied, and equal the schedule's as long as the right ones are copied.  No call takes a
 * lock, and none allocates, except to enlarge a transport buffer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_COLLECTIVE_H
#define RUN_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/sharding.h>

#include "coll/coll.h"
#include "run/group.h"

/* The layout of a schedule's elements.  Element i, with c = i / chunk and k = i % chunk, is at (k /
 * run) * stride + c * run + k % run elements from base.  So chunk c of an array [outer][g *
 * len][inner] cut along its middle dimension has chunk = outer * len * inner, run = len * inner,
 * stride = g * len * inner. chunk 0: all elements are contiguous (run and stride unused).
 *
 * Several arrays, none of them empty, are linked by `next`: chunk c is the concatenation of all
 * arrays' chunks c; an array that is not cut is one chunk. */
struct coll_view {
    void *base;
    uint64_t skip; /* for data from elsewhere: leading elements that are not present */
    uint64_t chunk;
    uint64_t run;
    uint64_t stride;
    const struct coll_view *next; /* valid until the call returns; NULL after the last */
};

struct coll_call {
    enum coll_kind kind;
    const struct coll_algo *algo; /* NULL: the run's choice for the kind */
    struct run_seat seat;
    enum shd_dtype dtype;   /* any type for copies; a type with arithmetic for reductions */
    enum shd_reduce_op red; /* only if the algorithm reduces */
    uint64_t count;         /* elements of the operand, see coll.h */
    uint32_t root;
    const uint32_t *source; /* permute; valid until the call returns */
    struct coll_view in, out;
    const char *where;       /* its purpose, for messages; may be NULL */
    uint64_t received_bytes; /* result: from other members */
    /* Set during the call: */
    void *tmp;             /* transport buffer */
    uint64_t pulled_bytes; /* pull phase: bytes that the member publishes */
    uint64_t away_bytes;   /* received bytes that were counted elsewhere (away.h) */
};

/* Take part in a collective.  When it returns SHD_OK, IN may be reused.  SHD_EMISMATCH (for all
 * members), SHD_ESTOPPED, SHD_ESTUCK, SHD_EINVAL, SHD_EUNSUPPORTED (algorithm or type),
 * SHD_ENOMEM. */
int run_collective(struct shd_device *dev, struct coll_call *call, struct shd_error *err);

/* Called by the last member to arrive, when all members' calls match and the group's way is set:
 * execute the call, or leave it to the members' threads.  Returns how many of them are to share
 * *ntasks tasks. */
uint32_t run_execute(struct run_group *group, uint32_t *ntasks);

/* Record why a device's wait in a call was given up, and return the status and the message. */
int run_give_up(struct shd_device *dev, const struct coll_call *call, struct shd_error *err);

/* SHD_OK, or the error that a device gets for every further wait once one was given up. */
int run_may_wait(const struct shd_device *dev, struct shd_error *err);

/* ---- a phase in which each member copies what it needs from its peers ---- */

struct run_pull {
    struct shd_device *dev;
    struct run_seat seat;
};

/* Copies what the member needs: reads its peers through run_pull_peer(), reports each copy to
 * run_pull_count(), and does not write to peers' memory. */
typedef int (*run_pull_fn)(struct run_pull *pull, void *arg, struct shd_error *err);

/* Publish `in_bytes` of `in`, wait for all members, call fn(arg), wait again.  `tag` must be equal
 * on all members (SHD_EMISMATCH).  Returns fn's status where that is not SHD_OK. */
int run_pull_phase(struct shd_device *dev, struct run_seat seat, const void *in,
                   uint64_t in_bytes, uint64_t tag, const char *where, run_pull_fn fn, void *arg, uint64_t *received_bytes,
                   struct shd_error *err);

/* The member at a position, in a group whose members are in the order of their positions. */
uint32_t run_pull_member(const struct run_pull *pull, int32_t position);

/* The memory that `member` published. */
const void *run_pull_peer(const struct run_pull *pull, uint32_t member);

/* Report that `bytes` were copied from a member, to the right place (`right`) or astray (tally.h).
 * Copies from the member itself count only if they went astray. */
void run_pull_count(struct run_pull *pull, uint32_t member, uint64_t bytes, bool right);

#endif /* RUN_COLLECTIVE_H */
