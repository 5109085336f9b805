/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/optimizer/optimizer.h"
#include "kern/convert.h"
#include "partition/partition.h"
#include "trial/bound.h"
#include "trial/collect.h"
#include "trial/steps.h"

/* ---- the reference ---- */

/* How far each result may be off. */
static int keep_bounds(struct verify_reference *ref, const struct bound *bound,
                       struct shd_error *err)
{
    int status = SHD_OK;

    ref->allowed = calloc((size_t)ref->nresults + 1, sizeof *ref->allowed);
    if (!ref->allowed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for error bounds");
    for (uint32_t r = 0; r < ref->nresults && status == SHD_OK; r++)
        status = bound_result(&ref->allowed[r], bound, r, err);
    return status;
}

static int run_reference(struct verify_reference *ref, const struct program *program,
                         const struct verify_opts *vopts, struct shd_error *err)
{
    struct collect results;
    struct bound bound = {.variances = NULL};
    struct walk_opts opts = {.nthreads = vopts->nthreads,
                             .stop_request = vopts->stop_request,
                             .repeats = vopts->nsteps,
                             .finish = collect_finish,
                             .finish_arg = &results,
                             .observe = bound_observe,
                             .observe_arg = &bound,
                             .stepped = bound_stepped,
                             .stepped_arg = &bound};
    struct record *record;
    int status = record_create(&record, program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    status = bound_init(&bound, program, vopts->nsteps, vopts->ndevices, vopts->nthreads, err);
    if (status == SHD_OK)
        status = collect_init(&results, program, err);
    if (status == SHD_OK) {
        ref->nresults = program->nresults;
        ref->results = results.wholes;
        status = walk_run(record, &opts, err);
    }
    if (status == SHD_OK)
        status = keep_bounds(ref, &bound, err);
    bound_fini(&bound);
    record_destroy(record);
    return status;
}

/* ---- the same in 16 bits ---- */

static bool has_16_bits(const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].dtype == SHD_BF16 || graph->nodes[n].dtype == SHD_F16)
            return true;
    return false;
}

static double relative_error(const struct program_buffer *b, const void *got, const double *want)
{
    static const int64_t start[PROGRAM_RANK_MAX] = {0};
    struct kern_difference d = {.ratio = 0};

    kern_compare(b->dtype, b->rank, b->shape, start, b->shape, got, want, NULL, &d);
    return d.size > 0 ? d.most / d.size : d.most;
}

static int run_in_own_types(struct verify_reference *ref, const struct program *program,
                            const struct verify_opts *vopts, struct shd_error *err)
{
    struct collect results = {.wholes = NULL};
    struct walk_opts opts = {.nthreads = vopts->nthreads,
                             .stop_request = vopts->stop_request,
                             .repeats = vopts->nsteps,
                             .finish = collect_finish,
                             .finish_arg = &results};
    struct record *record = NULL;
    int status = SHD_OK;

    ref->unsharded = calloc((size_t)ref->nresults + 1, sizeof *ref->unsharded);
    if (!ref->unsharded)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the unsharded computation");
    status = record_create(&record, program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK)
        status = collect_init(&results, program, err);
    if (status == SHD_OK)
        status = walk_run(record, &opts, err);
    for (uint32_t r = 0; status == SHD_OK && r < ref->nresults; r++)
        ref->unsharded[r] = relative_error(&program->buffers[program->results[r].buffer],
                                           results.wholes[r], ref->results[r]);
    collect_fini(&results);
    record_destroy(record);
    return status;
}

static int compare_own_types(struct verify_reference *ref, const struct graph *graph,
                             const struct shd_mesh *mesh, const struct verify_opts *opts,
                             struct shd_error *err)
{
    struct partition_request request = {.graph = graph, .mesh = mesh};
    struct program *program = NULL;
    int status = partition_build(&program, &request, err);

    if (status == SHD_OK)
        status = run_in_own_types(ref, program, opts, err);
    program_destroy(program);
    return status;
}

int verify_reference(struct verify_reference *out, const struct graph *graph,
                     const struct verify_opts *opts, struct shd_error *err)
{
    struct verify_reference ref = {.nresults = 0};
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
        status = run_reference(&ref, program, opts, err);
    if (status == SHD_OK && has_16_bits(graph))
        status = compare_own_types(&ref, graph, mesh, opts, err);
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
    for (uint32_t r = 0; reference->allowed && r < reference->nresults; r++)
        free(reference->allowed[r]);
    free(reference->results);
    free(reference->allowed);
    free(reference->unsharded);
    *reference = (struct verify_reference){.nresults = 0};
}

/* ---- the comparison ---- */

struct comparing {
    const struct program *program;
    const struct verify_reference *reference;
    struct kern_difference *found; /* [device][result] */
};

static void compare_results(void *arg, int32_t position, const void *const *shards)
{
    const struct comparing *c = arg;

    for (uint32_t r = 0; r < c->program->nresults; r++) {
        const struct program_buffer *b = &c->program->buffers[c->program->results[r].buffer];
        int64_t offset[SHD_RANK_MAX];

        shd_sharding_offset(&b->sharding, b->shape, position, offset);
        kern_compare(b->dtype, b->rank, b->shape, offset, b->local, shards[r],
                     c->reference->results[r], c->reference->allowed[r],
                     &c->found[(size_t)position * c->program->nresults + r]);
    }
}

/* Numbers without dimensions are the same on all devices. */
static double number_of(const struct program_buffer *b, const void *shard)
{
    double number[1 + KERN_LANES];

    kern_load_f64(b->dtype, shard, 1, 1, number);
    return number[0];
}

/* A walk_stepped_fn: keep the loss of each step, and the norm of its gradients. */
static void keep_numbers(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    struct record *record = arg;
    const struct program *program = record->program;

    for (uint32_t r = 0; position == 0 && r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];
        const struct program_buffer *b = &program->buffers[result->buffer];

        if (result->kind == PROGRAM_LOSS)
            record->training.losses[step] = number_of(b, shards[r]);
        else if (result->kind == PROGRAM_OUTPUT && !strcmp(result->name, OPTIMIZER_NORM))
            record->training.grad_norms[step] = number_of(b, shards[r]);
    }
}

/* Where steps leave something to the next, have the walk keep their numbers. */
static int watch_training(struct record *record, struct walk_opts *run, struct shd_error *err)
{
    if (!program_has_state(record->program))
        return SHD_OK;
    run->stepped = keep_numbers;
    run->stepped_arg = record;
    return record_train(record, run->repeats ? run->repeats : 1, err);
}

static void fill_checks(struct record *record, const struct comparing *c)
{
    record->nchecks = c->program->nresults;
    record->verified = true;
    record->beside_unsharded = c->reference->unsharded != NULL;
    for (uint32_t r = 0; r < record->nchecks; r++) {
        record->checks[r] = record_check_of(record, c->found, record->nchecks, r);
        record->checks[r].kind = c->program->results[r].kind;
        record->checks[r].name = c->program->results[r].name;
        if (c->reference->unsharded)
            record->checks[r].unsharded = c->reference->unsharded[r];
    }
}

int verify_run(struct record *record, const struct verify_reference *reference,
               const struct walk_opts *opts, struct shd_error *err)
{
    struct comparing c = {record->program, reference, NULL};
    size_t cells = (size_t)record->ndevices * record->program->nresults + 1;
    struct walk_opts run = *opts;
    int status;

    c.found = calloc(cells, sizeof *c.found);
    if (!c.found)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    run.finish = compare_results;
    run.finish_arg = &c;
    status = watch_training(record, &run, err);
    if (status == SHD_OK)
        status = walk_run(record, &run, err);
    if (status == SHD_OK)
        fill_checks(record, &c);
    free(c.found);
    return status == SHD_OK ? steps_verify(record, opts, err) : status;
}
