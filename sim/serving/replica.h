/* replica.h - an instance of the model: the requests that wait for it, those in its batch, and what
 * its next step computes.  Policies (policy.h) are made of these calls.
 *
 * A request's sequence is its prompt and the tokens made so far.  The step that has computed all of
 * a sequence makes its next token, so that a token is in the cache after the step that follows its
 * own.
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

/* What a sequence holds of a cache. */
struct serving_hold {
    uint32_t pages;   /* of its own */
    uint32_t nblocks; /* at the begin of its prompt, shared with others */
};

struct serving_sequence {
    const struct trace_request *request;
    struct serving_hold hold;
    uint32_t computed; /* tokens in the cache */
    uint32_t made;     /* tokens made */
    uint32_t due;      /* tokens that the present step computes */
    uint32_t proposed; /* tokens of a draft that the present step verifies behind `due` */
    uint32_t nverified; /* steps that have verified proposals */
    uint32_t source; /* replica that holds the cache before the transfer; SERVING_NONE: this one */
    struct serving_hold source_hold;
    int64_t arrival_ns;        /* into the queue */
    int64_t begin_ns;          /* of the first step that computes something of it; -1: none has */
    int64_t first_ns, last_ns; /* when its first and its latest token were made */
};

struct serving_limits {
    uint32_t batch_max;  /* sequences in a batch */
    uint32_t tokens_max; /* tokens that a step computes; only a longer prompt alone has more */
    uint32_t page;       /* tokens of a page */
};

struct serving_counts {
    uint64_t npreempted;
    uint64_t ndropped; /* tokens lost to preemption, to be computed again */
    uint64_t nfound;   /* tokens of prompts that were found in a cache */
    uint64_t nlong;    /* steps of more tokens than `tokens_max` */
};

/* What all replicas share. */
struct serving_shared {
    struct serving_limits limits;
    struct serving_draft draft;
    const struct request_trace *trace;
    struct serving_sequence *sequences; /* [request] */
    struct serving_counts counts;
    /* The order of waiting, the least first; NULL: by arrival. */
    uint64_t (*rank)(const struct trace_request *request);
};

struct serving_replica {
    struct serving_shared *shared;
    struct serving_cache cache;
    uint32_t *waiting; /* [twice all requests]; those that wait are nwaiting from `first` on */
    uint32_t first, nwaiting;
    uint32_t *running; /* [batch_max], in the order of admission */
    uint32_t nrunning;
    uint32_t *coming; /* [batch_max] sequences with a place in the batch whose caches are not here
                         yet */
    uint32_t ncoming;
    uint32_t load;            /* requests that were sent here and have not left */
    bool busy;                /* in a step ... */
    struct serving_work work; /* ... which computes this */
    int64_t begin_ns, end_ns; /* of the step */
    int64_t link_free_ns;     /* when the next cache can leave from here */
};

/* SHD_ENOMEM.  End with replica_fini() either way. */
SHD_MUST_CHECK int replica_init(struct serving_replica *out, struct serving_shared *shared,
                                uint64_t cache_tokens, struct shd_error *err);
void replica_fini(struct serving_replica *replica);

struct serving_sequence *replica_sequence(const struct serving_replica *replica, uint32_t id);

/* Tokens that are to be computed before the next one is made. */
uint32_t sequence_length(const struct serving_sequence *sequence);
bool sequence_has_ended(const struct serving_sequence *sequence);

/* Tokens for which a request needs pages in the end, or before it: what is proposed has some, too.
 */
uint64_t request_tokens_most(const struct serving_shared *shared,
                             const struct trace_request *request);

/* Add a request to the replica's queue, at its place in the order of waiting. */
void replica_push(struct serving_replica *replica, uint32_t id);

/* The first that waits, or SERVING_NONE; and the tokens of it that are not in the cache. */
uint32_t replica_front(const struct serving_replica *replica);
uint32_t replica_front_tokens(const struct serving_replica *replica);

/* Whether the batch has a place. */
bool replica_has_place(const struct serving_replica *replica);

/* Take the first that waits into the batch, and up to `tokens_max` of its tokens into the next
 * step, with pages for at least `reserved` tokens.  False: there are too few pages. */
SHD_MUST_CHECK bool replica_admit(struct serving_replica *replica, uint32_t tokens_max,
                                  uint64_t reserved);

/* Take whole sequences into the batch and the next step, in their order, while there are places,
 * pages and tokens.  Whether there were any. */
bool replica_admit_whole(struct serving_replica *replica);

/* Take every sequence of the batch into the next step with what it lacks for its next token and
 * what is proposed to follow, the earliest admitted first, up to `*left` tokens together, which are
 * taken off.  Where pages lack, the last of the batch gives up its own, and waits again.  Whether
 * one did. */
bool replica_continue(struct serving_replica *replica, uint32_t *left);

/* Take the first that waits into the batch without computing anything of it: its cache will be
 * brought.  False: there are too few pages. */
SHD_MUST_CHECK bool replica_await(struct serving_replica *replica);

/* As a step begins: note the time for sequences of which it is the first to compute something. */
void replica_note_begin(const struct serving_replica *replica, int64_t now_ns);

/* After a step: count what was computed of a sequence as being in the cache. */
void replica_advance(struct serving_replica *replica, uint32_t id);

/* Give back what a sequence held here. */
void replica_release(struct serving_replica *replica, uint32_t id, struct serving_hold *hold);

#endif /* SERVING_REPLICA_H */
