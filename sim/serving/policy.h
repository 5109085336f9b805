/* policy.h - how a replica's batches are formed: a row and a file for each policy.
 *
 * Thread class: tables are immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVING_POLICY_H
#define SERVING_POLICY_H

#include "serving/replica.h"

struct serving_policy {
    const char *name;
    const char *desc; /* one line */
    /* Choose the next step's work: `due` of the sequences in the replica's batch.  Without work, the
     * replica waits for the next event. */
    void (*form)(struct serving_replica *replica);
    /* Like form(), for replicas that only decode, while replicas of form() only prefill; NULL: every
     * replica does both. */
    void (*form_decode)(struct serving_replica *replica);
    /* As in struct serving_shared. */
    uint64_t (*rank)(const struct trace_request *request);
    bool keeps_batch; /* static batching: a finished sequence keeps its place, and is computed in
                         decode steps, until the whole batch has finished */
};

/* All policies, ended by NULL; and the policy of this name, or NULL. */
extern const struct serving_policy *const serving_policies[];
const struct serving_policy *policy_find(const char *name);

extern const struct serving_policy serving_static;
extern const struct serving_policy serving_prefill_first;
extern const struct serving_policy serving_chunked;
extern const struct serving_policy serving_shortest;
extern const struct serving_policy serving_disaggregated;

#endif /* SERVING_POLICY_H */
