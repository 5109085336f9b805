/* costs.h - how long a step of a replica takes: with how much its cache holds, all that the
 * simulation of serving knows of a model and its devices.
 *
 * Whoever provides the costs puts this struct first in a struct of its own.
 *
 * Thread class: immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_COSTS_H
#define SERVING_COSTS_H

#include <stdint.h>

/* What a draft proposes to follow the latest token of a sequence.  A step that adds this token
 * verifies all that is proposed, and makes one token more than are right. */
struct serving_draft {
    uint32_t tokens; /* 0: there is no draft */
    double accepted; /* of them, in a step, on average */
};

/* What a step computes.  A sequence that adds one token to a cache, with what is proposed behind
 * it, decodes: it reads the whole cache for few queries.  Others prefill: a prompt, a chunk of one,
 * or what was lost of a sequence. */
struct serving_work {
    uint32_t ndecodes;       /* sequences that decode */
    uint64_t decode_context; /* tokens in their caches before the step, together */
    uint32_t nprefills;      /* sequences that prefill */
    uint64_t prefill_tokens; /* tokens of the others */
    uint64_t prefill_pairs;  /* pairs of a query and a key that it sees, of the others together */
};

struct serving_costs {
    /* Of a step in which there is something to compute; at least 1. */
    int64_t (*step_ns)(const struct serving_costs *costs, const struct serving_work *work);
    /* To bring the cache of a sequence of so many tokens to another replica. */
    int64_t (*transfer_ns)(const struct serving_costs *costs, uint64_t tokens);
};

/* Pairs of `n` new tokens and the tokens that they see: `context` ones before them, and themselves
 * up to each. */
static inline uint64_t serving_pairs(uint64_t n, uint64_t context)
{
    return n * context + n * (n + 1) / 2;
}

#endif /* SERVING_COSTS_H */
