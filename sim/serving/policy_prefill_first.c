/* prefill-first - sequences enter and leave the batch with every step (Orca, Yu et al. 2022); whole
 * prompts go first, in steps of their own in which nobody decodes, as in vLLM before version 1
 * (Kwon et al. 2023).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

static void form(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max;

    if (!replica_admit_whole(r))
        (void)replica_continue(r, &left);
}

const struct serving_policy serving_prefill_first = {
    .name = "prefill-first",
    .desc = "continuous batching; new prefills interrupt decoding",
    .form = form,
};
