/* engine.h - a trace of requests served by replicas of a model under a policy.
 *
 * Time passes in events: steps end, caches have been brought, requests arrive; then every replica
 * that is idle begins its next step.  A request goes to the replica with the fewest requests, the
 * lowest of several.  Nothing is random, and times are whole nanoseconds, so that the same trace
 * gives the same outcome.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_ENGINE_H
#define SERVING_ENGINE_H

#include "base/uint128.h"
#include "serving/costs.h"
#include "serving/policy.h"

/* A step of one replica, told to `watch` when the step begins. */
struct serving_step {
    uint32_t replica;
    int64_t begin_ns, end_ns;
    const struct serving_replica *state; /* `due` and `proposed` of its running sequences are set */
    const struct serving_work *work;
};

struct serving_setup {
    const struct request_trace *trace;
    const struct serving_policy *policy;
    struct serving_limits limits;
    struct serving_draft draft;
    uint32_t concurrency; /* requests in the system at most: the next arrives when one has ended, and
                             not before its time in the trace; 0: any number */
    uint32_t nreplicas;
    uint32_t nprefill; /* replicas that only prefill; read under a disaggregated policy */
    /* Number of successive replicas that begin their steps together, because they are parts of one
     * model and wait for each other in every step; the second is for replicas that only prefill.
     * 0 and 1: each replica begins alone. */
    uint32_t together, prefill_together;
    const struct serving_costs *costs;
    /* Tokens of all sequences that a replica has room for, and one that only prefills. */
    uint64_t cache_tokens, prefill_cache_tokens;
    void (*watch)(void *arg, const struct serving_step *step); /* NULL: nobody looks */
    void *watch_arg;
};

/* A time between two tokens of a request that do not come together, and how many times it was seen.
 */
struct serving_gap {
    int64_t ns;
    uint64_t n;
};

struct serving_outcome {
    uint32_t nserved, nrefused;         /* requests; one that no replica has room for is refused */
    struct serving_sequence *sequences; /* [request of the trace]; one that was refused has made
                                           nothing */
    struct serving_gap *gaps;           /* not sorted */
    uint32_t ngaps;
    int64_t span_ns;             /* from the first arrival to the last event */
    uint64_t ntokens;            /* made */
    uint64_t nsteps, nsequences; /* steps of all replicas, and sequences in these */
    uint128 busy_ns;             /* of all replicas' steps */
    uint128 page_ns;             /* pages in use times how long */
    uint128 request_ns;          /* requests that had arrived and not ended, times how long */
    uint64_t npages;             /* of all replicas */
    double used_most;            /* the largest part of a replica's pages in use at any time */
    struct serving_counts counts;
};

/* Whether a setup can be served, for which it needs no costs.  SHD_EINVAL: pages do not divide the
 * blocks of prompts, steps are too small for what a draft proposes, or a pool has no replicas. */
SHD_MUST_CHECK int serving_check(const struct serving_setup *setup, struct shd_error *err);

/* Serve the trace.  SHD_ENOMEM; SHD_EINVAL, as serving_check() says.  On success free *out with
 * serving_outcome_fini(). */
SHD_MUST_CHECK int serving_run(struct serving_outcome *out, const struct serving_setup *setup,
                               struct shd_error *err);
void serving_outcome_fini(struct serving_outcome *outcome);

#endif /* SERVING_ENGINE_H */
