/* shortest - as prefill-first, but of those that wait the one with the fewest tokens goes
 * first.  The tokens that will be made are taken as known, so that this is a bound for systems that
 * guess them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/policy.h"

static void form(struct serving_replica *r)
{
    serving_prefill_first.form(r);
}

static uint64_t rank(const struct trace_request *request)
{
    return (uint64_t)request->prompt + request->output;
}

const struct serving_policy serving_shortest = {
    .name = "shortest",
    .desc = "prefill-first, shortest request first (assumes known lengths)",
    .form = form,
    .rank = rank,
};
