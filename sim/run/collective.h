/* collective.h - execute a collective's schedule with the threads of its group.
 *
 * Every member arrives with a call, and the last one to arrive compares them.  A default algorithm
 * is then done in one pass over the memory of all members, by as many of their threads as there are
 * cores (fused.h).  With any other algorithm each member makes its own moves, step by step, and
 * reads straight from its peers' memory; the last member to arrive does a small call whole.  The
 * bits are the schedule's in any case.  Bytes are counted where they are copied, and are the
 * schedule's as long as the right ones are copied.  No call takes a lock, and none allocates,
 * except for a transport buffer that has to grow.
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

/* Where a schedule's elements lie.  Element i, with c = i / chunk and k = i % chunk, is at
 * (k / run) * stride + c * run + k % run elements from base.  So chunk c of an array
 * [outer][g * len][inner] cut along its middle dimension has chunk = outer * len * inner,
 * run = len * inner, stride = g * len * inner.  chunk 0: all in a row (run and stride unused).
 *
 * Of several arrays, none of them empty, each is the next of the one before: chunk c is the chunks
 * c of all of them, one after the other; an array that is not cut is one chunk. */
struct coll_view {
    void *base;
    uint64_t skip; /* of what came from another rank: elements before the first that is there */
    uint64_t chunk;
    uint64_t run;
    uint64_t stride;
    const struct coll_view *next; /* valid until the call returns; NULL behind the last */
};

struct coll_call {
    enum coll_kind kind;
    const struct coll_algo *algo; /* NULL: the run's choice for the kind */
    struct run_seat seat;
    enum shd_dtype dtype;   /* any type for copies; a computed one for reductions */
    enum shd_reduce_op red; /* only where the algorithm reduces */
    uint64_t count;         /* elements of the operand, see coll.h */
    uint32_t root;
    const uint32_t *source; /* permute; valid until the call returns */
    struct coll_view in, out;
    const char *where;       /* what it is for, in messages; may be NULL */
    uint64_t received_bytes; /* result: from other members */
    /* Set on the way: */
    void *tmp;             /* transport buffer */
    uint64_t pulled_bytes; /* of a pull phase: what the member publishes */
    uint64_t away_bytes;   /* that it received and another rank has counted */
};

/* Take part in a collective.  When it returns SHD_OK, IN may be used again.  SHD_EMISMATCH (all
 * members get it), SHD_ESTOPPED, SHD_ESTUCK, SHD_EINVAL, SHD_EUNSUPPORTED (algorithm or type),
 * SHD_ENOMEM. */
int run_collective(struct shd_device *dev, struct coll_call *call, struct shd_error *err);

/* A wait of the device in a call was given up: keep why, and return the status and the message. */
int run_give_up(struct shd_device *dev, const struct coll_call *call, struct shd_error *err);

/* SHD_OK, or what a device that was given up before gets for every further wait. */
int run_may_wait(const struct shd_device *dev, struct shd_error *err);

/* ---- a phase in which each member copies what it wants from its peers ---- */

struct run_pull {
    struct shd_device *dev;
    struct run_seat seat;
};

/* Copies what the member wants: reads its peers by run_pull_peer(), reports each copy by
 * run_pull_count(), and writes none of their memory. */
typedef int (*run_pull_fn)(struct run_pull *pull, void *arg, struct shd_error *err);

/* Publish `in` of so many bytes, wait for all members, call fn(arg), wait again.  `tag` must be
 * equal on all members (SHD_EMISMATCH).  Returns fn's status where that is not SHD_OK. */
int run_pull_phase(struct shd_device *dev, struct run_seat seat, const void *in,
                   uint64_t in_bytes, uint64_t tag, const char *where, run_pull_fn fn, void *arg, uint64_t *received_bytes,
                   struct shd_error *err);

/* The member at a position, of a group whose members are in the order of their positions. */
uint32_t run_pull_member(const struct run_pull *pull, int32_t position);

/* What member `member` published. */
const void *run_pull_peer(const struct run_pull *pull, uint32_t member);

/* Report that `bytes` were copied from a member, to where they belong (`right`) or astray
 * (tally.h).  What a member copies from itself counts only where it went astray. */
void run_pull_count(struct run_pull *pull, uint32_t member, uint64_t bytes, bool right);

#endif /* RUN_COLLECTIVE_H */
