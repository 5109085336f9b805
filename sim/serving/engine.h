/* engine.h - a trace of requests served by replicas of a model under a policy.
 *
 * Discrete events: steps end, cache transfers end, requests arrive; then every idle replica begins
 * its next step.  A request goes to the replica with the fewest requests, of several to the one with
 * the lowest number.  Nothing is random, and times are whole nanoseconds: the same trace always gives
 * the same outcome.
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

/* A step of one replica, passed to `watch` when the step begins. */
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
    /* Capacity of the KV cache of a replica, and of a replica that only prefills, in tokens. */
    uint64_t cache_tokens, prefill_cache_tokens;
    void (*watch)(void *arg, const struct serving_step *step); /* NULL: none */
    void *watch_arg;
};

/* A time between two tokens of a request that arrive in different steps, and how often it occurred.
 */
struct serving_gap {
    int64_t ns;
    uint64_t n;
};

struct serving_outcome {
    uint32_t nserved, nrefused;         /* requests; those larger than a cache are refused */
    struct serving_sequence *sequences; /* [request of the trace]; a refused request has made no
                                           tokens */
    struct serving_gap *gaps;           /* not sorted */
    uint32_t ngaps;
    int64_t span_ns;             /* from the first arrival to the last event */
    uint64_t ntokens;            /* made */
    uint64_t nsteps, nsequences; /* steps of all replicas, and the sum of their sequences */
    uint128 busy_ns;             /* sum of the times of all replicas' steps */
    uint128 page_ns;             /* integral over time of the pages in use */
    uint128 request_ns;          /* integral over time of the requests in the system */
    uint64_t npages;             /* of all replicas */
    double used_most;            /* largest fraction of a replica's pages ever in use */
    struct serving_counts counts;
};

/* Check a setup; its costs may be missing.  SHD_EINVAL: pages do not divide the blocks of prompts,
 * steps are too small for a draft's tokens, or a pool has no replicas. */
SHD_MUST_CHECK int serving_check(const struct serving_setup *setup, struct shd_error *err);

/* Serve the trace.  SHD_ENOMEM; SHD_EINVAL, as serving_check() says.  On success free *out with
 * serving_outcome_fini(). */
SHD_MUST_CHECK int serving_run(struct serving_outcome *out, const struct serving_setup *setup,
                               struct shd_error *err);
void serving_outcome_fini(struct serving_outcome *outcome);

#endif /* SERVING_ENGINE_H */
