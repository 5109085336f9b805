/* Assigns layers to stages as Megatron-LM does: the same number to each, unless options give a
 * layout, or the layers of a pipeline's first or last rank, or count the embedding or the loss as a
 * layer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/stage_layout.h"
#include "timetable/timetable.h"
#include "training/job.h"

#define STAGES_MAX 65536
#define FIELD(name) offsetof(struct import_job, name)

/* Find the number of virtual stages from --num-layers-per-virtual-pipeline-stage. */
static void find_virtual(struct import_job *job, int64_t units, struct diag *diag)
{
    int64_t of_stages = job->stages * job->stage_depth;

    if (job->stage_depth == 0)
        return;
    if (units == 0 || units % of_stages)
        diag_error(diag, import_job_place(job, FIELD(stage_depth)),
                   "--num-layers-per-virtual-pipeline-stage %" PRId64 " times %" PRId64
                   " stages does not divide %" PRId64 " layers; expected a divisor, or "
                   "--num-virtual-stages-per-pipeline-rank",
                   job->stage_depth, job->stages, units);
    else
        job->virtual_stages = units / of_stages;
}

void import_job_add_stage(struct import_job *job, int64_t layers)
{
    text_addf(&job->stage_layers, "%s%" PRId64, job->stage_layers.length > 0 ? ", " : "", layers);
}

/* Add stages in which the embedding and the loss count as a layer each. */
static void count_ends(struct import_job *job, int64_t units, int64_t nstages, struct diag *diag)
{
    if (units % nstages) {
        diag_error(diag, import_job_place(job, FIELD(stages)),
                   "%" PRId64 " layers (embedding and loss counted as asked) are not a multiple of "
                   "%" PRId64 " stages",
                   units, nstages);
        return;
    }
    for (int64_t i = 0; i < nstages; i++)
        import_job_add_stage(job, units / nstages - (i == 0 && job->count_embedding) -
                                      (i == nstages - 1 && job->count_loss));
}

/* Add stages with given layers of the first and the last rank; the ranks between share the rest. */
static void give_ends(struct import_job *job, int64_t nstages, struct diag *diag)
{
    int64_t each = nstages / job->stages; /* stages of a rank */
    int64_t between = job->stages - (job->first_depth > 0) - (job->last_depth > 0);
    int64_t rest = job->layers - job->first_depth - job->last_depth;
    static const size_t ends[] = {FIELD(first_depth), FIELD(last_depth), 0};

    if (rest < 0 || job->first_depth % each || job->last_depth % each ||
        (between > 0 ? rest % (between * each) : rest) != 0) {
        diag_error(diag, import_job_place_of(job, ends),
                   "%" PRId64 " layers on the first rank, %" PRId64 " on the last and %" PRId64 " "
                   "shared evenly by the others do not fill %" PRId64 " stages",
                   job->first_depth, job->last_depth, rest, nstages);
        return;
    }
    for (int64_t i = 0; i < nstages; i++) {
        int64_t rank = i % job->stages;
        int64_t layers = between > 0 ? rest / between : 0;

        if (rank == 0 && job->first_depth > 0)
            layers = job->first_depth;
        else if (rank == job->stages - 1 && job->last_depth > 0)
            layers = job->last_depth;
        import_job_add_stage(job, layers / each);
    }
}

/* Add the stages of a layout such as "Et*3|(tt|)*2L". */
static void give_layout(struct import_job *job, const int64_t *layers, size_t nstages,
                        struct diag *diag)
{
    struct place place = job->stage_layout.place;
    int64_t sum = 0;

    for (size_t i = 0; i < nstages; i++) {
        import_job_add_stage(job, layers[i]);
        sum += layers[i];
    }
    if (nstages % (size_t)job->stages)
        diag_error(diag, place,
                   "--pipeline-model-parallel-layout has %zu stages; expected a multiple of "
                   "--pipeline-model-parallel-size %" PRId64,
                   nstages, job->stages);
    else if (job->layers > 0 && sum != job->layers)
        diag_error(diag, place,
                   "--pipeline-model-parallel-layout has %" PRId64 " layers; expected the %" PRId64
                   " of --num-layers",
                   sum, job->layers);
    else if (job->virtual_stages > 0 || job->stage_depth > 0 || job->count_embedding ||
             job->count_loss || job->first_depth > 0 || job->last_depth > 0 || job->embedding_alone)
        diag_error(diag, place,
                   "--pipeline-model-parallel-layout excludes other options that split layers; "
                   "expected it alone");
    job->virtual_stages = (int64_t)nstages / job->stages;
}

static void read_layout(struct import_job *job, struct diag *diag)
{
    struct shd_error err;
    int64_t *layers = NULL;
    size_t nstages = 0;
    int status = stage_layout_parse(&layers, &nstages, job->stage_layout.text, &err);

    if (status == SHD_ENOMEM)
        diag_no_memory(diag);
    else if (status != SHD_OK)
        diag_error(diag, job->stage_layout.place, "--pipeline-model-parallel-layout: %s", err.text);
    else
        give_layout(job, layers, nstages, diag);
    free(layers);
}

/* Add a first stage with the embedding alone; the others share the layers. */
static void leave_first(struct import_job *job, int64_t nstages, struct diag *diag)
{
    if (nstages != job->stages || job->layers % (nstages - 1)) {
        diag_error(diag, import_job_place_named(job, "--standalone-embedding-stage"),
                   "--standalone-embedding-stage: %" PRId64
                   " layers are not a multiple of the %" PRId64
                   " later stages, or ranks have several stages",
                   job->layers, nstages - 1);
        return;
    }
    for (int64_t i = 0; i < nstages; i++)
        import_job_add_stage(job, i == 0 ? 0 : job->layers / (nstages - 1));
}

static bool is_set(const struct import_job *job)
{
    return job->count_embedding || job->count_loss || job->first_depth > 0 || job->last_depth > 0 ||
           job->embedding_alone;
}

void import_job_find_stages(struct import_job *job, struct diag *diag)
{
    bool counts = job->count_embedding || job->count_loss;
    bool gives = job->first_depth > 0 || job->last_depth > 0;
    int64_t units = job->layers + job->count_embedding + job->count_loss;
    int64_t nstages;

    if (job->stages > 1 && job->stage_layout.text)
        read_layout(job, diag);
    else if (job->stages > 1)
        find_virtual(job, units, diag);
    nstages = job->virtual_stages > 0 ? job->virtual_stages : 1;
    job->schedule = timetable_made_for(TIMETABLE_IN_MEGATRON, nstages)->name;
    if (job->schedule_group == 0)
        job->schedule_group = job->stages;
    nstages *= job->stages;
    if (job->stages == 1 || nstages > STAGES_MAX || job->stage_layout.text || !is_set(job))
        return;
    if (job->layers == 0)
        diag_error(diag, job->end, "stages of unequal layers need --num-layers");
    else if (counts + gives + job->embedding_alone > 1)
        diag_error(diag, job->end,
                   "explicit layers of the first or last stage exclude counting the embedding or "
                   "the loss as a layer; remove one of the two");
    else if (job->embedding_alone)
        leave_first(job, nstages, diag);
    else if (counts)
        count_ends(job, units, nstages, diag);
    else
        give_ends(job, nstages, diag);
}
