/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition.h"
#include "trial/collect.h"

/* ---- the reference ---- */

static int run_reference(struct verify_reference *ref, const struct program *program, int nthreads,
                         const int *stop_request, struct shd_error *err)
{
    struct collect results;
    struct walk_opts opts = {.nthreads = nthreads,
                             .stop_request = stop_request,
                             .finish = collect_finish,
                             .finish_arg = &results};
    struct record *record;
    int status = record_create(&record, program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    status = collect_init(&results, program, err);
    if (status == SHD_OK) {
        status = walk_run(record, &opts, err);
        ref->nresults = program->nresults;
        ref->results = results.wholes;
    }
    record_destroy(record);
    return status;
}

int verify_reference(struct verify_reference *out, const struct graph *graph, int nthreads,
                     const int *stop_request, struct shd_error *err)
{
    struct verify_reference ref = {0, NULL};
    struct graph *exact = graph_in_dtype(graph, SHD_F64);
    struct shd_mesh *mesh = NULL;
    struct program *program = NULL;
    struct partition_request request = {.graph = exact};
    int status = SHD_OK;

    if (!exact)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the reference's graph");
    if (status == SHD_OK)
        status = shd_mesh_create(&mesh, NULL, NULL, 0, err);
    request.mesh = mesh;
    if (status == SHD_OK)
        status = partition_build(&program, &request, err);
    if (status == SHD_OK)
        status = run_reference(&ref, program, nthreads, stop_request, err);
    program_destroy(program);
    shd_mesh_destroy(mesh);
    graph_destroy(exact);
    if (status == SHD_OK)
        *out = ref;
    else
        verify_reference_fini(&ref);
    return status;
}

void verify_reference_fini(struct verify_reference *reference)
{
    for (uint32_t r = 0; reference->results && r < reference->nresults; r++)
        free(reference->results[r]);
    free(reference->results);
    *reference = (struct verify_reference){0, NULL};
}

/* ---- the comparison ---- */

struct comparing {
    const struct program *program;
    const struct verify_reference *reference;
    double *diffs, *wants; /* [device][result] */
};

static void compare_results(void *arg, int32_t position, const void *const *shards)
{
    const struct comparing *c = arg;

    for (uint32_t r = 0; r < c->program->nresults; r++) {
        const struct program_buffer *b = &c->program->buffers[c->program->results[r].buffer];
        size_t at = (size_t)position * c->program->nresults + r;
        int64_t offset[SHD_RANK_MAX];

        shd_sharding_offset(&b->sharding, b->shape, position, offset);
        kern_compare(b->dtype, b->rank, b->shape, offset, b->local, shards[r],
                     c->reference->results[r], &c->diffs[at], &c->wants[at]);
    }
}

static void fill_checks(struct record *record, const struct comparing *c)
{
    uint32_t n = c->program->nresults;

    record->nchecks = n;
    record->verified = true;
    for (uint32_t r = 0; r < n; r++) {
        double diff = 0, want = 0;

        for (int32_t d = 0; d < record->ndevices; d++) {
            diff = fmax(diff, c->diffs[(size_t)d * n + r]);
            want = fmax(want, c->wants[(size_t)d * n + r]);
        }
        record->checks[r] = (struct record_check){
            c->program->results[r].kind, c->program->results[r].name, diff == 0 ? 0 : diff / want};
    }
}

int verify_run(struct record *record, const struct verify_reference *reference,
               const struct walk_opts *opts, struct shd_error *err)
{
    struct comparing c = {record->program, reference, NULL, NULL};
    size_t cells = (size_t)record->ndevices * record->program->nresults + 1;
    struct walk_opts run = *opts;
    int status;

    c.diffs = calloc(2 * cells, sizeof *c.diffs);
    if (!c.diffs)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    c.wants = c.diffs + cells;
    run.finish = compare_results;
    run.finish_arg = &c;
    status = walk_run(record, &run, err);
    if (status == SHD_OK)
        fill_checks(record, &c);
    free(c.diffs);
    return status;
}
