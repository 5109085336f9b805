/* The sizes of a job's published model, on which the rules for its parameters depend (job.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published.h"
#include "training/job.h"

static void take(struct import_job *job, const struct scenario_model *m)
{
    job->layers = m->layers;
    job->experts = m->moe.experts;
    job->shared = m->moe.shared;
    job->first_dense = m->moe.first_dense;
    job->every = m->moe.every;
    job->mtp = m->mtp;
    job->latent = m->mla.kv_rank > 0;
    job->unbiased = !m->bias;
    job->qkv_bias = m->attention_bias != SCENARIO_BIAS_NONE;
    job->untied = !m->tied;
}

void import_job_take_model(struct import_job *job, struct diag *diag)
{
    struct scenario_model model;
    struct nearest nearest;
    size_t n;

    nearest_init(&nearest, job->size);
    if (!scenario_find_model(&n, job->size, &nearest))
        diag_error(diag, job->end, "--model %.60s is not a published model%s", job->size,
                   nearest_hint(&nearest).text);
    else if (published_model(&model, n, INT32_MAX, diag))
        take(job, &model);
}
