/* figures.h - figures of a served trace: throughput, percentiles of latencies, and the use of caches
 * and batches.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_FIGURES_H
#define SERVING_FIGURES_H

#include "serving/engine.h"

/* Seconds.  Percentile p is the smallest value that is not below p percent of the values.  NAN: no
 * values. */
struct serving_times {
    double p50, p90, p99, mean;
};

/* Latency limits of a request (SLO); 0: no limit. */
struct serving_goal {
    int64_t first_ns; /* TTFT: to the first token */
    int64_t token_ns; /* TPOT: each further token, averaged over a request */
};

/* Rates and fractions are 0 if no request could be served. */
struct serving_figures {
    double span_s;
    double tokens_per_s, requests_per_s;
    struct serving_times first;   /* TTFT: from arrival to the first token */
    struct serving_times queue;   /* the part of `first` before the prompt's first step */
    struct serving_times gap;     /* ITL: between successive tokens of a request, over all gaps */
    struct serving_times token;   /* TPOT: each further token, averaged over a request */
    struct serving_times latency; /* from arrival to the last token */
    double used_mean, used_most;  /* fractions of the pages */
    double batch;                 /* mean sequences of a step */
    double busy;                  /* fraction of the time in which a replica is in a step */
    double good;                  /* fraction of all requests, also refused ones, that meet the goal */
    double good_per_s;
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int serving_figures_of(struct serving_figures *out,
                                      const struct serving_setup *setup,
                                      const struct serving_outcome *outcome,
                                      const struct serving_goal *goal, struct shd_error *err);

#endif /* SERVING_FIGURES_H */
