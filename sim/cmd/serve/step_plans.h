/* step_plans.h - the costs of serving (serving/costs.h) from plans: a scenario's prefill and decode
 * planned at a grid of sizes, and at some sizes between, to see how well these are told.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SERVE_STEP_PLANS_H
#define CMD_SERVE_STEP_PLANS_H

#include <stdbool.h>

#include "cost/traits.h"
#include "command/chosen.h"
#include "serving/tables.h"

/* A replica's devices for a kind of step.  Devices that share sequences are a group: the sizes of
 * the axes that shard the batch multiply to the number of groups, and a group has its own batch and
 * cache. */
struct step_devices {
    uint32_t ngroups;
    bool together; /* groups communicate, so that they step together */
    int32_t ndevices;
    uint64_t cache_tokens; /* of a group */
};

struct step_plans {
    /* The largest steps of a group asked for: sequences that decode, tokens of a prefill, and
     * tokens of a sequence. */
    uint32_t batch_max, tokens_max, context_max;
    uint32_t nreplicas, nprefill; /* between which caches travel */
    struct text text;             /* the scenario's, read once: TEXT_INIT */
    /* What was planned. */
    struct serving_tables tables; /* decodes and prefills, each of the devices that they are on */
    bool apart;                   /* the prefill has devices of its own */
    struct step_devices decode, prefill;
    int64_t pieces; /* of which a prefill has a multiple of tokens: the cache is cut into such */
    struct serving_draft draft;
    char cluster[64];
    double token_bytes; /* of the cache, on the device that decodes with most */
    uint32_t nplans;
    struct trust_of_all trust; /* of the planned steps, against measured ones */
    double margin; /* part of a device's memory that caches leave free (hardware/margin.h) */
    double error; /* the largest of steps between the planned ones, as a fraction */
};

/* Read the scenario: whether its prefill is apart, and what a draft proposes.  Errors are printed;
 * returns the exit status. End with step_plans_fini() either way, when copies of `chosen` are no
 * longer used. */
int step_plans_begin(struct step_plans *plans, struct chosen *chosen);
void step_plans_fini(struct step_plans *plans);

/* Plan.  Errors are printed; returns the exit status: CMD_FAILED if the model leaves no room for a
 * cache. */
int step_plans_make(struct step_plans *plans, const struct chosen *chosen);

#endif /* CMD_SERVE_STEP_PLANS_H */
