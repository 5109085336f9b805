/* disaggregated - some replicas only prefill, and make the first token; the others only decode,
 * from caches that are brought to them (Splitwise, Patel et al. 2024; DistServe, Zhong et al.
 * 2024).
 *
 * A replica that decodes asks for a cache when it has pages for it, and until the cache is there it
 * lies in both.  What it preempts it computes again itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

static void form_prefill(struct serving_replica *r)
{
    (void)replica_admit_whole(r);
}

static void form_decode(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max, id = replica_front(r);

    while (id != SERVING_NONE && replica_sequence(r, id)->source != SERVING_NONE &&
           replica_has_place(r) && replica_await(r))
        id = replica_front(r);
    if (id != SERVING_NONE && replica_sequence(r, id)->source == SERVING_NONE &&
        replica_has_place(r) && replica_admit(r, replica_front_tokens(r), 0))
        return;
    (void)replica_continue(r, &left);
}

const struct serving_policy serving_disaggregated = {
    .name = "disaggregated",
    .desc = "prefill replicas send KV caches to decode replicas",
    .form = form_prefill,
    .form_decode = form_decode,
};
