/* figures.h - what serving a trace comes to: throughput, latencies at percentiles, and how full
 * caches and batches were.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_FIGURES_H
#define SERVING_FIGURES_H

#include "serving/engine.h"

/* Seconds; the percentile of n values is the smallest that at least so many percent of them do not
 * exceed.  NAN: there are none. */
struct serving_times {
    double p50, p90, p99, mean;
};

/* What a request should not exceed; 0: anything is good. */
struct serving_goal {
    int64_t first_ns; /* to the first token */
    int64_t token_ns; /* a token after the first, on average over a request */
};

/* Rates and parts are 0 where no request could be served. */
struct serving_figures {
    double span_s;
    double tokens_per_s, requests_per_s;
    struct serving_times first;   /* from arrival to the first token */
    struct serving_times queue;   /* of it, until the first step that computes some of the prompt */
    struct serving_times gap;     /* between two tokens of a request, over all of them */
    struct serving_times token;   /* a token after the first, on average over a request */
    struct serving_times latency; /* from arrival to the last token */
    double used_mean, used_most;  /* parts of the pages */
    double batch;                 /* sequences of a step, on average */
    double busy;                  /* part of the time in which a replica is in a step */
    double good;                  /* part of all requests that meet the goal; refused ones do not */
    double good_per_s;
};

/* SHD_ENOMEM. */
SHD_MUST_CHECK int serving_figures_of(struct serving_figures *out,
                                      const struct serving_setup *setup,
                                      const struct serving_outcome *outcome,
                                      const struct serving_goal *goal, struct shd_error *err);

#endif /* SERVING_FIGURES_H */
