/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/verify.h"

#include <math.h>
#include <stdlib.h>

#include "partition/partition.h"
#include "ranks/spread.h"
#include "trial/bound.h"
#include "trial/collect.h"
#include "trial/curve.h"
#include "trial/steps.h"

/* ---- the reference ---- */

/* How far each result may be off. */
static int keep_bounds(struct verify_results *out, const struct bound *bound, uint32_t nresults,
                       struct shd_error *err)
{
    int status = SHD_OK;

    out->allowed = calloc((size_t)nresults + 1, sizeof *out->allowed);
    if (!out->allowed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for error bounds");
    for (uint32_t r = 0; r < nresults && status == SHD_OK; r++)
        status = bound_result(&out->allowed[r], bound, r, err);
    return status;
}

/* The reference while it runs. */
struct running {
    struct verify_reference *ref;
    uint32_t nsteps;
    const struct verify_opts *opts;
    uint32_t *times; /* [op]: that it was done so far */
    struct bound bound;
    struct collect results; /* of the step at hand */
    struct shd_error err;   /* of keeping the first step's results */
};

static int collect_into(struct verify_results *out, struct collect *results,
                        const struct program *program, struct shd_error *err)
{
    int status = collect_init(results, program, err);

    if (status == SHD_OK)
        out->wholes = results->wholes;
    return status;
}

/* A walk_stepped_fn.  What the first of several steps leaves is kept beside what the last one
 * does. */
static void end_step(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    struct running *run = arg;
    struct verify_reference *ref = run->ref;
    struct collect first;

    if (step == 0 && run->nsteps > 1) {
        if (collect_into(&ref->first, &first, run->bound.program, &run->err) == SHD_OK)
            collect_finish(&first, position, shards);
        if (run->err.status == SHD_OK)
            (void)keep_bounds(&ref->first, &run->bound, ref->nresults, &run->err);
    }
    bound_stepped(&run->bound, position, step, shards);
}

/* A walk_observe_fn: decide as the run did, then look at what may be off. */
static void end_op(void *arg, int32_t position, uint32_t op, const void *const *shards)
{
    struct running *run = arg;

    decisions_impose(run->opts->decisions, run->bound.program, op, run->times[op]++, shards);
    bound_observe(&run->bound, position, op, shards);
}

static int walk_reference(struct running *run, const struct verify_opts *vopts,
                          struct shd_error *err)
{
    struct walk_opts opts = {.nthreads = vopts->nthreads,
                             .stop_request = vopts->stop_request,
                             .repeats = vopts->nsteps,
                             .finish = collect_finish,
                             .finish_arg = &run->results,
                             .observe = end_op,
                             .observe_arg = run,
                             .stepped = end_step,
                             .stepped_arg = run};
    struct record *record;
    int status = record_create(&record, run->bound.program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    status = walk_run(record, &opts, err);
    if (status == SHD_OK && run->err.status != SHD_OK)
        status = shd_error_set(err, run->err.status, "%s", run->err.text);
    record_destroy(record);
    return status;
}

static int run_reference(struct verify_reference *ref, const struct program *program,
                         const struct verify_opts *vopts, struct shd_error *err)
{
    struct running run = {
        .ref = ref, .nsteps = vopts->nsteps, .opts = vopts, .err = {SHD_OK, ""}};
    int status =
        bound_init(&run.bound, program, vopts->nsteps, vopts->ndevices, vopts->nthreads, err);

    ref->nresults = program->nresults;
    run.times = calloc((size_t)program->nops + 1, sizeof *run.times);
    if (status == SHD_OK && !run.times)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the reference");
    if (status == SHD_OK)
        status = collect_into(&ref->last, &run.results, program, err);
    if (status == SHD_OK)
        status = walk_reference(&run, vopts, err);
    if (status == SHD_OK)
        status = keep_bounds(&ref->last, &run.bound, ref->nresults, err);
    free(run.times);
    bound_fini(&run.bound);
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

/* The unsharded computation in the graph's own types, while it runs. */
struct in_own_types {
    const struct program *program;
    const struct decisions *decisions;
    uint32_t *times; /* as above */
};

/* A walk_observe_fn. */
static void decide_alike(void *arg, int32_t position, uint32_t op, const void *const *shards)
{
    const struct in_own_types *run = arg;

    (void)position;
    decisions_impose(run->decisions, run->program, op, run->times[op]++, shards);
}

static int run_in_own_types(struct verify_reference *ref, const struct program *program,
                            const struct verify_opts *vopts, struct shd_error *err)
{
    struct collect results = {.wholes = NULL};
    struct in_own_types run = {program, vopts->decisions,
                               calloc((size_t)program->nops + 1, sizeof *run.times)};
    struct walk_opts opts = {.observe = decide_alike,
                             .observe_arg = &run,
                             .nthreads = vopts->nthreads,
                             .stop_request = vopts->stop_request,
                             .repeats = vopts->nsteps,
                             .finish = collect_finish,
                             .finish_arg = &results};
    struct record *record = NULL;
    int status = SHD_OK;

    ref->unsharded = calloc((size_t)ref->nresults + 1, sizeof *ref->unsharded);
    if (!ref->unsharded || !run.times)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the unsharded computation");
    if (status == SHD_OK)
        status = record_create(&record, program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK)
        status = collect_init(&results, program, err);
    if (status == SHD_OK)
        status = walk_run(record, &opts, err);
    for (uint32_t r = 0; status == SHD_OK && r < ref->nresults; r++)
        ref->unsharded[r] = relative_error(&program->buffers[program->results[r].buffer],
                                           results.wholes[r], ref->last.wholes[r]);
    collect_fini(&results);
    record_destroy(record);
    free(run.times);
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

static void free_results(struct verify_results *results, uint32_t n)
{
    for (uint32_t r = 0; results->wholes && r < n; r++)
        free(results->wholes[r]);
    for (uint32_t r = 0; results->allowed && r < n; r++)
        free(results->allowed[r]);
    free(results->wholes);
    free(results->allowed);
}

void verify_reference_fini(struct verify_reference *reference)
{
    free_results(&reference->first, reference->nresults);
    free_results(&reference->last, reference->nresults);
    free(reference->unsharded);
    *reference = (struct verify_reference){.nresults = 0};
}

/* ---- the comparison ---- */

struct comparing {
    struct record *record;
    const struct verify_reference *reference;
    struct kern_difference *first, *last; /* [device][result], after the first step and the last */
};

static void compare_results(const struct comparing *c, const struct verify_results *want,
                            int32_t position, const void *const *shards,
                            struct kern_difference *found)
{
    const struct program *program = c->record->program;

    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_buffer *b = &program->buffers[program->results[r].buffer];
        int64_t offset[SHD_RANK_MAX];

        if (!program_holds(program, program_rank(program, position), &program->ops[b->first_op]))
            continue;
        shd_sharding_offset(&b->sharding, b->shape, position, offset);
        kern_compare(b->dtype, b->rank, b->shape, offset, b->local, shards[r], want->wholes[r],
                     want->allowed[r], &found[(size_t)position * program->nresults + r]);
    }
}

/* A walk_finish_fn. */
static void compare_last(void *arg, int32_t position, const void *const *shards)
{
    const struct comparing *c = arg;

    compare_results(c, &c->reference->last, position, shards, c->last);
}

/* A walk_stepped_fn: keep the loss of each step and the norm of its gradients, and compare what the
 * first of several leaves. */
static void end_trained_step(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    const struct comparing *c = arg;

    curve_keep(c->record, position, step, shards);
    if (step == 0 && c->reference->first.wholes)
        compare_results(c, &c->reference->first, position, shards, c->first);
}

/* Where steps leave something to the next, look at each. */
static int watch_training(struct comparing *c, struct walk_opts *run, struct shd_error *err)
{
    if (!program_has_state(c->record->program))
        return SHD_OK;
    run->stepped = end_trained_step;
    run->stepped_arg = c;
    return record_train(c->record, run->repeats ? run->repeats : 1, err);
}

/* Of one result: the worse of both comparisons.  What is off in the first step grows from there, so
 * `relative` is of the last. */
static struct record_check check_of(const struct comparing *c, uint32_t r)
{
    uint32_t n = c->record->program->nresults;
    struct record_check last = record_check_of(c->record, c->last, n, r), first;

    if (!c->reference->first.wholes)
        return last;
    first = record_check_of(c->record, c->first, n, r);
    first.nopen_first = last.nopen_first = first.nopen;
    first.nopen = last.nopen;
    first.relative = last.relative;
    first.after_first = true;
    return first.error > last.error ? first : last;
}

/* Each rank compares what its own devices have. */
static void gather(const struct comparing *c, const struct spread *spread)
{
    uint64_t row = c->record->program->nresults * sizeof *c->first;

    spread_merge_rows(spread, c->first, row);
    spread_merge_rows(spread, c->last, row);
    curve_gather(c->record, spread);
}

static void fill_checks(struct record *record, const struct comparing *c)
{
    record->nchecks = record->program->nresults;
    record->verified = true;
    record->beside_unsharded = c->reference->unsharded != NULL;
    for (uint32_t r = 0; r < record->nchecks; r++) {
        record->checks[r] = check_of(c, r);
        record->checks[r].kind = record->program->results[r].kind;
        record->checks[r].name = record->program->results[r].name;
        if (c->reference->unsharded)
            record->checks[r].unsharded = c->reference->unsharded[r];
    }
}

int verify_run(struct record *record, const struct verify_reference *reference,
               const struct walk_opts *opts, struct shd_error *err)
{
    struct comparing c = {.record = record, .reference = reference};
    size_t cells = (size_t)record->ndevices * record->program->nresults + 1;
    struct walk_opts run = *opts;
    int status;

    c.first = calloc(cells, 2 * sizeof *c.first);
    if (!c.first)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    c.last = c.first + cells;
    run.finish = compare_last;
    run.finish_arg = &c;
    status = watch_training(&c, &run, err);
    if (status == SHD_OK)
        status = walk_run(record, &run, err);
    if (status == SHD_OK) {
        gather(&c, opts->spread);
        fill_checks(record, &c);
    }
    free(c.first);
    return status == SHD_OK ? steps_verify(record, opts, err) : status;
}
