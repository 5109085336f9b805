/* replica.h - an instance of the model: its waiting requests, its batch, and the work of its next
 * step.  Policies (policy.h) are made of these calls.
 *
 * A request's sequence is its prompt and the tokens made so far.  A step that has computed the whole
 * sequence makes the next token.  This token enters the cache in the following step.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_REPLICA_H
#define SERVING_REPLICA_H

#include "serving/cache.h"
#include "serving/costs.h"
#include "serving/trace.h"

#define SERVING_NONE UINT32_MAX

/* Pages and blocks of a cache that a sequence holds. */
struct serving_hold {
    uint32_t pages;   /* not shared */
    uint32_t nblocks; /* leading blocks of the prompt, shared between sequences */
};

struct serving_sequence {
    const struct trace_request *request;
    struct serving_hold hold;
    uint32_t computed; /* tokens in the cache */
    uint32_t made;     /* tokens made */
    uint32_t due;      /* tokens that the current step computes */
    uint32_t proposed; /* a draft's tokens that the current step verifies after `due` */
    uint32_t nverified; /* steps that have verified proposals */
    uint32_t source; /* replica that holds the cache before the transfer; SERVING_NONE: this one */
    struct serving_hold source_hold;
    int64_t arrival_ns;        /* into the queue */
    int64_t begin_ns;          /* of the first step with work of the sequence; -1: none so far */
    int64_t first_ns, last_ns; /* times of the first and of the latest token */
};

struct serving_limits {
    uint32_t batch_max;  /* sequences in a batch */
    uint32_t tokens_max; /* tokens of a step; only a single longer prompt exceeds the limit */
    uint32_t page;       /* tokens of a page */
};

struct serving_counts {
    uint64_t npreempted;
    uint64_t ndropped; /* tokens lost to preemption, to be computed again */
    uint64_t nfound;   /* tokens of prompts found in a cache (prefix hits) */
    uint64_t nlong;    /* steps of more tokens than `tokens_max` */
};

/* State that all replicas share. */
struct serving_shared {
    struct serving_limits limits;
    struct serving_draft draft;
    const struct request_trace *trace;
    struct serving_sequence *sequences; /* [request] */
    struct serving_counts counts;
    /* Priority in the queue, the lowest value first; NULL: by arrival. */
    uint64_t (*rank)(const struct trace_request *request);
};

struct serving_replica {
    struct serving_shared *shared;
    struct serving_cache cache;
    uint32_t *waiting; /* [twice all requests]; the queue is waiting[first .. first + nwaiting - 1] */
    uint32_t first, nwaiting;
    uint32_t *running; /* [batch_max], in the order of admission */
    uint32_t nrunning;
    uint32_t *coming; /* [batch_max] sequences with a place in the batch whose caches are not here
                         yet */
    uint32_t ncoming;
    uint32_t load;            /* requests sent to this replica that have not left */
    bool busy;                /* in a step ... */
    struct serving_work work; /* ... with this work */
    int64_t begin_ns, end_ns; /* of the step */
    int64_t link_free_ns;     /* when the next cache transfer can begin */
};

/* SHD_ENOMEM.  End with replica_fini() either way. */
SHD_MUST_CHECK int replica_init(struct serving_replica *out, struct serving_shared *shared,
                                uint64_t cache_tokens, struct shd_error *err);
void replica_fini(struct serving_replica *replica);

struct serving_sequence *replica_sequence(const struct serving_replica *replica, uint32_t id);

/* Length of the sequence: tokens to compute before the next token is made. */
uint32_t sequence_length(const struct serving_sequence *sequence);
bool sequence_has_ended(const struct serving_sequence *sequence);

/* Most tokens for which a request ever needs pages, including a draft's proposed tokens.
 */
uint64_t request_tokens_most(const struct serving_shared *shared,
                             const struct trace_request *request);

/* Add a request to the replica's queue, by its priority. */
void replica_push(struct serving_replica *replica, uint32_t id);

/* The first waiting request, or SERVING_NONE; and the number of its tokens outside the cache. */
uint32_t replica_front(const struct serving_replica *replica);
uint32_t replica_front_tokens(const struct serving_replica *replica);

/* Whether the batch has a place. */
bool replica_has_place(const struct serving_replica *replica);

/* Admit the first waiting request to the batch, and up to `tokens_max` of its tokens to the next
 * step, with pages for at least `reserved` tokens.  False: too few pages. */
SHD_MUST_CHECK bool replica_admit(struct serving_replica *replica, uint32_t tokens_max,
                                  uint64_t reserved);

/* Admit whole waiting sequences to the batch and the next step, in the queue's order, while places,
 * pages and tokens last.  False: none was admitted. */
bool replica_admit_whole(struct serving_replica *replica);

/* Add every sequence of the batch to the next step, the earliest admitted first: with the tokens
 * missing for its next token, and a draft's proposed tokens.  All together take at most *left tokens
 * and reduce *left.  If pages run out, the last sequence of the batch is preempted: it frees its
 * pages and waits again.  Returns whether a sequence was preempted. */
bool replica_continue(struct serving_replica *replica, uint32_t *left);

/* Admit the first waiting request without work in the next step: its KV cache will be transferred
 * from another replica.  False: too few pages. */
SHD_MUST_CHECK bool replica_await(struct serving_replica *replica);

/* At the begin of a step: set `begin_ns` of the sequences whose first step it is. */
void replica_note_begin(const struct serving_replica *replica, int64_t now_ns);

/* After a step: count the computed tokens of a sequence as cached. */
void replica_advance(struct serving_replica *replica, uint32_t id);

/* Free the pages and blocks that a sequence holds on this replica. */
void replica_release(struct serving_replica *replica, uint32_t id, struct serving_hold *hold);

#endif /* SERVING_REPLICA_H */
