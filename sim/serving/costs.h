/* costs.h - how long a step of a replica takes.  These times and the capacity of the KV cache are all
 * that the simulation of serving knows of a model and its devices.
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

/* Speculative decoding: the tokens that a draft model proposes after the latest token of a sequence.
 * A decode step verifies all proposed tokens, and makes one token more than it accepts. */
struct serving_draft {
    uint32_t tokens; /* proposed in a step; 0: no draft */
    double accepted; /* accepted tokens of a step, on average */
};

/* The work of a step.  A sequence decodes if it adds one token, with the proposed tokens after it, to
 * a cache: it reads the whole cache for few queries.  Other sequences prefill: a prompt, a chunk of
 * a prompt, or the tokens of a preempted sequence. */
struct serving_work {
    uint32_t ndecodes;       /* sequences that decode */
    uint64_t decode_context; /* sum of the tokens in their caches before the step */
    uint32_t nprefills;      /* sequences that prefill */
    uint64_t prefill_tokens; /* new tokens of all sequences that prefill */
    uint64_t prefill_pairs;  /* sum of their pairs of a query and a visible key */
};

struct serving_costs {
    /* Duration of a step with work; at least 1. */
    int64_t (*step_ns)(const struct serving_costs *costs, const struct serving_work *work);
    /* Time to transfer the KV cache of a sequence of `tokens` tokens to another replica. */
    int64_t (*transfer_ns)(const struct serving_costs *costs, uint64_t tokens);
};

/* Pairs of `n` new tokens and the tokens visible to each: the `context` tokens before, and the new
 * tokens up to itself. */
static inline uint64_t serving_pairs(uint64_t n, uint64_t context)
{
    return n * context + n * (n + 1) / 2;
}

#endif /* SERVING_COSTS_H */
