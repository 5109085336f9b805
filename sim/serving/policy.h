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
    /* Choose what the next step of a replica computes: `due` of sequences in its batch.  None: the
     * replica waits for the next event. */
    void (*form)(struct serving_replica *replica);
    /* The same of replicas that only decode, while those of form() only prefill; NULL: every
     * replica does both. */
    void (*form_decode)(struct serving_replica *replica);
    /* As in struct serving_shared. */
    uint64_t (*rank)(const struct trace_request *request);
    bool keeps_batch; /* a sequence that has ended keeps its place until all of the batch have, and
                         is computed like the others in steps that decode */
};

/* All policies, ended by NULL; and the one of this name, or NULL. */
extern const struct serving_policy *const serving_policies[];
const struct serving_policy *policy_find(const char *name);

extern const struct serving_policy serving_static;
extern const struct serving_policy serving_prefill_first;
extern const struct serving_policy serving_chunked;
extern const struct serving_policy serving_shortest;
extern const struct serving_policy serving_disaggregated;

#endif /* SERVING_POLICY_H */
