/* static - a batch is kept until its last sequence has ended, as serving systems did before Orca
 * (Yu et al. 2022).  Sequences that have ended are computed on with the others.
 *
 * As nothing is preempted, a sequence gets pages for all its tokens at once; how many these will be
 * is taken as known, and prompts are not padded to the longest: static batches of real systems are
 * slower.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

/* Admit sequences without computing anything of them. */
static void fill_batch(struct serving_replica *r)
{
    while (replica_front(r) != SERVING_NONE && replica_has_place(r)) {
        const struct trace_request *q = replica_sequence(r, replica_front(r))->request;

        if (!replica_admit(r, 0, request_tokens_most(r->shared, q)))
            return;
    }
}

/* Compute prompts, as many as go into a step. */
static bool prefill(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max;
    bool any = false;

    for (uint32_t i = 0; i < r->nrunning; i++) {
        struct serving_sequence *s = replica_sequence(r, r->running[i]);
        uint32_t tokens = sequence_length(s) - s->computed;

        if (s->made > 0)
            continue;
        if (any && tokens > left)
            break;
        s->due = tokens;
        left -= tokens < left ? tokens : left;
        any = true;
    }
    return any;
}

static void form(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max;

    if (r->nrunning == 0)
        fill_batch(r);
    if (!prefill(r))
        (void)replica_continue(r, &left);
}

const struct serving_policy serving_static = {
    .name = "static",
    .desc = "a batch runs until its last sequence has finished",
    .form = form,
    .keeps_batch = true,
};
