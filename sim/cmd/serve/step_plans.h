/* step_plans.h - the costs of serving (serving/costs.h) from plans: a scenario's prefill and decode
 * planned at a grid of sizes, and at some sizes in between, to measure the interpolation error.
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
    bool together; /* groups run collectives together, hence step in lockstep */
    int32_t ndevices;
    uint64_t cache_tokens; /* of a group */
};

struct step_plans {
    /* Largest steps of a group to plan for: decoding sequences, tokens of a prefill, and tokens of a
     * sequence. */
    uint32_t batch_max, tokens_max, context_max;
    uint32_t nreplicas, nprefill; /* caches are transferred between these */
    struct text text;             /* the scenario's, read once: TEXT_INIT */
    /* What was planned. */
    struct serving_tables tables; /* decodes and prefills, each on its own devices */
    bool apart;                   /* the prefill has devices of its own */
    struct step_devices decode, prefill;
    int64_t pieces; /* a prefill's tokens are a multiple: the cache is sharded into pieces */
    struct serving_draft draft;
    char cluster[64];
    double token_bytes; /* of the cache, on the decode device with the most */
    uint32_t nplans;
    struct trust_of_all trust; /* expected error of the planned steps */
    double margin; /* part of a device's memory that caches leave free (hardware/margin.h) */
    double error; /* largest interpolation error of a step, as a fraction */
};

/* Read the scenario: whether its prefill is disaggregated, and its draft.  Errors are printed; returns
 * the exit status. End with step_plans_fini() either way, when copies of `chosen` are no
 * longer used. */
int step_plans_begin(struct step_plans *plans, struct chosen *chosen);
void step_plans_fini(struct step_plans *plans);

/* Plan.  Errors are printed; returns the exit status: CMD_FAILED if the model leaves no room for a
 * cache. */
int step_plans_make(struct step_plans *plans, const struct chosen *chosen);

#endif /* CMD_SERVE_STEP_PLANS_H */
