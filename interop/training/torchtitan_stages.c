/* Assigns layers to stages as torchtitan does: by the names of modules, by the names of the layers
 * that begin a stage (until 2025), or evenly, where the embedding and the head count as layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "training/job.h"

#define LAYER "layers."
#define FIELD(name) offsetof(struct import_job, name)

/* The number in "layers.7"; -1: another name. */
static int64_t layer_number(const char *name, size_t length)
{
    size_t prefix = strlen(LAYER);

    if (length <= prefix || length > prefix + 6 || strncmp(name, LAYER, prefix) != 0 ||
        strspn(name + prefix, "0123456789") < length - prefix)
        return -1;
    return strtoll(name + prefix, NULL, 10);
}

/* Read [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]: layers in their order, the
 * embedding in the first stage, norm and head in the last. */
static void read_modules(struct import_job *job, int64_t of_model, struct diag *diag)
{
    const char *at = job->stage_modules.text;
    int64_t layers = 0, nstages = 0, in_stage = 0, ends = 0;
    bool opens, good = true;
    size_t length;

    for (const char *name; (name = import_next_name(&at, &length, &opens));) {
        int64_t number = layer_number(name, length);

        if (opens && nstages++ > 0) {
            import_job_add_stage(job, in_stage);
            in_stage = 0;
        }
        good &= number < 0 || number == layers;
        good &= strncmp(name, "tok_embeddings", length) != 0 || nstages == 1;
        if (number < 0 && strncmp(name, "tok_embeddings", length) != 0)
            ends = ends ? ends : nstages;
        layers += number >= 0;
        in_stage += number >= 0;
    }
    import_job_add_stage(job, in_stage);
    if (!good || layers != of_model || ends != nstages || nstages % job->stages)
        diag_error(diag, job->stage_modules.place,
                   "module_fqns_per_model_part: expected all layers in order, tok_embeddings in "
                   "the first part, norm and head in the last, in a multiple of %" PRId64 " parts",
                   job->stages);
    else
        job->virtual_stages = nstages / job->stages;
}

/* Read "layers.2, layers.4" or a list of these: each begins a stage. */
static void read_points(struct import_job *job, int64_t layers, struct diag *diag)
{
    const char *at = job->split_points.text;
    int64_t nstages = 1, before = 0;
    bool opens, good = true;
    size_t length;

    for (const char *name; (name = import_next_name(&at, &length, &opens)); nstages++) {
        int64_t number = layer_number(name, length);

        good &= number > before && number < layers;
        import_job_add_stage(job, number - before);
        before = number;
    }
    import_job_add_stage(job, layers - before);
    if (!good || nstages % job->stages)
        diag_error(diag, job->split_points.place,
                   "pipeline_parallel_split_points: expected the first layer of each stage but the "
                   "first, for a multiple of %" PRId64 " stages",
                   job->stages);
    else
        job->virtual_stages = nstages / job->stages;
}

/* Until April 2025: stages between the first and the last have one more while layers are left. */
static void split_in_the_middle(struct import_job *job, int64_t layers, int64_t nstages)
{
    int64_t left = layers % nstages, sum = 0;

    if (left == 0)
        return;
    for (int64_t i = 0; i + 1 < nstages; i++) {
        int64_t n = layers / nstages + (i > 0 && left > 0);

        left -= i > 0 && left > 0;
        import_job_add_stage(job, n);
        sum += n;
    }
    import_job_add_stage(job, layers - sum);
}

/* The first stages have one more of the layers, among which the ends of the model count. */
static void split_evenly(struct import_job *job, int64_t layers, int64_t nstages, struct diag *diag)
{
    static const size_t fields[] = {FIELD(first_less), FIELD(last_less), FIELD(stages),
                                    FIELD(old_stages), 0};
    int64_t units = layers + job->first_less + job->last_less;

    if (units / nstages < 1 || job->first_less > units / nstages ||
        job->last_less > units / nstages) {
        diag_error(diag, import_job_place_of(job, fields),
                   "%" PRId64 " layers, with %" PRId64 " for the embedding and %" PRId64
                   " for the head, do not fill %" PRId64 " stages",
                   layers, job->first_less, job->last_less, nstages);
        return;
    }
    for (int64_t i = 0; i < nstages; i++)
        import_job_add_stage(job, units / nstages + (i < units % nstages) -
                                      (i == 0 ? job->first_less : 0) -
                                      (i == nstages - 1 ? job->last_less : 0));
}

/* Stages of so many layers; rounded up to fill them. */
static void find_depth(struct import_job *job, int64_t layers, struct diag *diag)
{
    int64_t units = layers + job->first_less + job->last_less;
    int64_t nstages = (units + job->stage_depth - 1) / job->stage_depth;

    if (nstages % job->stages)
        diag_error(diag, import_job_place(job, FIELD(stage_depth)),
                   "pipeline_parallel_layers_per_stage %" PRId64 " makes %" PRId64
                   " stages; expected a multiple of %" PRId64 " ranks",
                   job->stage_depth, nstages, job->stages);
    else
        job->virtual_stages = nstages / job->stages;
}

/* Whether a list has a name. */
static bool has_names(const struct import_text *list)
{
    const char *at = list->text;
    size_t length;

    return import_next_name(&at, &length, NULL) != NULL;
}

/* Divide the layers by their number. */
static void split_by_counts(struct import_job *job, int64_t layers, struct diag *diag)
{
    if (job->stage_depth > 0)
        find_depth(job, layers, diag);
    if (diag->nerrors > 0)
        return;
    if (job->old_stages > 0 && job->stage_depth == 0)
        split_in_the_middle(job, layers, job->stages * job->virtual_stages);
    else
        split_evenly(job, layers, job->stages * job->virtual_stages, diag);
}

/* Layers of which every N-th is recomputed are counted over all stages of a rank: as in each stage,
 * which a scenario can say, if N divides the layers of all but a rank's last stage. */
static void compare_counts(struct import_job *job, int64_t layers)
{
    int64_t nstages = job->stages * job->virtual_stages, n = layers / nstages;
    const char *at = text_get(&job->stage_layers), *word;
    size_t length;

    for (int64_t i = 0; i < nstages - job->stages; i++) {
        if ((word = import_next_name(&at, &length, NULL)))
            n = strtoll(word, NULL, 10);
        if (n % job->recompute_every == 0)
            continue;
        text_addf(
            &job->notes,
            "# torchtitan counts every %" PRId64 " layers across the stages of a rank, the plan "
            "within each stage: a stage of %" PRId64 " layers may recompute other layers, and one "
            "more in torchtitan.\n",
            job->recompute_every, n);
        return;
    }
}

void import_job_split_as_torchtitan(struct import_job *job, struct diag *diag)
{
    int64_t layers = job->layers;

    if (job->stages == 1 || layers == 0 || diag->nerrors > 0)
        return;
    if (has_names(&job->stage_modules))
        read_modules(job, layers, diag);
    else if (has_names(&job->split_points))
        read_points(job, layers, diag);
    else
        split_by_counts(job, layers, diag);
    if (diag->nerrors == 0)
        compare_counts(job, layers);
}
