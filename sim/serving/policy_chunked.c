/* chunked - a step has a budget of tokens: all sequences that decode come first, and chunks of
 * prompts fill it (Sarathi-Serve, Agrawal et al. 2024; vLLM from version 1 on).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

static void form(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max;

    if (replica_continue(r, &left))
        return;
    while (left > 0 && replica_front(r) != SERVING_NONE && replica_has_place(r)) {
        if (!replica_admit(r, left, 0))
            return;
        left -= replica_sequence(r, r->running[r->nrunning - 1])->due;
    }
}

const struct serving_policy serving_chunked = {
    .name = "chunked",
    .desc = "continuous batching; prefill chunks fill up decode steps",
    .form = form,
};
