/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "partition/partition.h"
#include "program/shard.h"
#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "trial/curve.h"
#include "trial/op_verdicts.h"

/* ---- the reference ---- */

static struct reference_opts reference_options(const struct verify_opts *opts, bool bounds)
{
    return (struct reference_opts){.nsteps = opts->nsteps ? opts->nsteps : 1,
                                   .bounds = bounds,
                                   .ndevices = opts->ndevices,
                                   .nthreads = opts->nthreads,
                                   .shared = opts->shared,
                                   .least = opts->least,
                                   .decisions = opts->decisions,
                                   .stop_request = opts->stop_request};
}

/* ---- the unsharded computation in the graph's own types ---- */

static bool has_16_bits(const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].dtype == SHD_BF16 || graph->nodes[n].dtype == SHD_F16)
            return true;
    return false;
}

/* Largest difference and largest element in this rank's piece of a result. */
static int measure(double out[2], const struct program_buffer *b, struct reference_array *got,
                   const struct reference_array *want, struct shd_error *err)
{
    struct pieces_move move = {.from = got->lies,
                               .to = want->lies,
                               .size = (uint32_t)shd_dtype_size(b->dtype),
                               .have = got->values};
    const int64_t n = (int64_t)pieces_elements(&want->lies, ranks_me()), start = 0;
    struct kern_difference d = {.ratio = 0};
    int status = SHD_OK;

    if (!pieces_same(&got->lies, &want->lies)) {
        status = pieces_move(&move, 1, err);
        if (status != SHD_OK)
            return status;
        free(got->values);
        got->values = move.got;
        got->lies = want->lies;
    }
    kern_compare(b->dtype, 1, &n, &start, &n, got->values, want->values, NULL, &d);
    out[0] = d.most;
    out[1] = d.size;
    return status;
}

/* Merge the measures of all ranks; each rank has a row of [result][2]. */
static void merge_measures(double *all, uint32_t nresults, bool shared)
{
    size_t row = (size_t)nresults * 2;

    if (!shared)
        return;
    memmove(all + row * (size_t)ranks_me(), all, row * sizeof *all);
    if (ranks_me() > 0)
        memset(all, 0, row * sizeof *all);
    ranks_merge(all, row * (size_t)ranks_count() * sizeof *all, RANKS_JOIN);
    for (int rank = 1; rank < ranks_count(); rank++)
        for (size_t i = 0; i < row; i++)
            all[i] = fmax(all[i], all[row * (size_t)rank + i]);
}

static int compare_results_of(struct verify_reference *ref, const struct program *program,
                              struct reference_results *got, bool shared, struct shd_error *err)
{
    size_t n = 2 * (size_t)ref->nresults * (size_t)ranks_count();
    double *all = calloc(n + 1, sizeof *all);
    int status = SHD_OK;

    ref->unsharded = calloc((size_t)ref->nresults + 1, sizeof *ref->unsharded);
    if (!all || !ref->unsharded)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the unsharded computation");
    for (uint32_t r = 0; r < ref->nresults && status == SHD_OK; r++)
        status = measure(all + 2 * (size_t)r, &program->buffers[program->results[r].buffer],
                         &got->arrays[r], &ref->last.arrays[r], err);
    if (status == SHD_OK)
        merge_measures(all, ref->nresults, shared);
    for (uint32_t r = 0; r < ref->nresults && status == SHD_OK; r++) {
        double most = all[2 * (size_t)r], size = all[2 * (size_t)r + 1];

        ref->unsharded[r] = size > 0 ? most / size : most;
    }
    free(all);
    return status;
}

static int compare_own_types(struct verify_reference *ref, const struct graph *graph,
                             const struct shd_mesh *mesh, const struct verify_opts *vopts,
                             struct shd_error *err)
{
    struct partition_request request = {.graph = graph, .mesh = mesh};
    struct reference_opts opts = reference_options(vopts, false);
    struct reference_results results = {.arrays = NULL};
    struct reference_work work;
    struct program *program = NULL;
    int status = partition_build(&program, &request, err);

    if (status == SHD_OK)
        status = reference_compute(&results, NULL, &work, program, &opts, err);
    if (status == SHD_OK)
        status = compare_results_of(ref, program, &results, vopts->shared, err);
    reference_fini(&results);
    program_destroy(program);
    return status;
}

int verify_reference(struct verify_reference *out, const struct graph *graph,
                     const struct verify_opts *opts, struct shd_error *err)
{
    struct verify_reference ref = {.shared = opts->shared && ranks_count() > 1};
    struct reference_opts exact_opts = reference_options(opts, true);
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
        status = reference_compute(&ref.last, &ref.first, &ref.work, program, &exact_opts, err);
    ref.nresults = ref.last.n;
    if (status == SHD_OK && (opts->tolerance || has_16_bits(graph)))
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
    reference_fini(&reference->first);
    reference_fini(&reference->last);
    free(reference->unsharded);
    *reference = (struct verify_reference){.nresults = 0};
}

/* ---- the comparison ---- */

struct comparing {
    struct record *record;
    const struct verify_reference *reference;
    struct kern_difference *first, *last; /* [device][result], after the first step and the last */
    uint32_t nsteps;
    struct shd_error err; /* error of compare_together() */
};

static void compare_result(const struct comparing *c, uint32_t r, int32_t position,
                           const void *shard, const void *want, const double *allowed,
                           struct kern_difference *found)
{
    const struct program *program = c->record->program;
    const struct program_buffer *b = &program->buffers[program->results[r].buffer];

    if (program_holds(program, program_rank(program, position), &program->ops[b->first_op]))
        program_shard_compare(shard, b, position, want, allowed,
                              &found[(size_t)position * program->nresults + r]);
}

/* If each rank has the whole reference, every device's thread compares its own shards. */
static void compare_results(const struct comparing *c, const struct reference_results *want,
                            int32_t position, const void *const *shards,
                            struct kern_difference *found)
{
    for (uint32_t r = 0; r < want->n && !c->reference->shared; r++)
        compare_result(c, r, position, shards[r], want->arrays[r].values, want->arrays[r].allowed,
                       found);
}

/* If ranks share the reference, one thread of each rank compares the shards of all its devices:
 * ranks gather one result after the other. */
static int compare_all(const struct comparing *c, const struct reference_results *want,
                       const void *const *const *results, struct kern_difference *found,
                       struct shd_error *err)
{
    for (uint32_t r = 0; r < want->n; r++) {
        struct reference_whole whole;
        int status = reference_gather(&whole, &want->arrays[r], sizeof(double), err);

        if (status != SHD_OK)
            return status;
        for (int32_t d = 0; d < c->record->ndevices; d++)
            if (results[d])
                compare_result(c, r, d, results[d][r], whole.values, whole.allowed, found);
        reference_drop(&whole);
    }
    return SHD_OK;
}

/* A walk_together_fn: compare after the first and the last step. */
static void compare_together(void *arg, uint32_t step, const void *const *const *results)
{
    struct comparing *c = arg;
    int status = SHD_OK;

    if (step == 0 && c->reference->first.arrays)
        status = compare_all(c, &c->reference->first, results, c->first, &c->err);
    if (status == SHD_OK && step + 1 == c->nsteps)
        (void)compare_all(c, &c->reference->last, results, c->last, &c->err);
}

/* A walk_finish_fn: compare the results of the last step. */
static void compare_last(void *arg, int32_t position, const void *const *shards)
{
    const struct comparing *c = arg;

    compare_results(c, &c->reference->last, position, shards, c->last);
}

/* A walk_stepped_fn: keep the loss of each step and the norm of its gradients, and compare the
 * results of the first of several steps. */
static void end_trained_step(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    const struct comparing *c = arg;

    curve_keep(c->record, position, step, shards);
    if (step == 0)
        compare_results(c, &c->reference->first, position, shards, c->first);
}

static bool has_loss(const struct program *program)
{
    uint32_t r = 0;

    while (r < program->nresults && program->results[r].kind != PROGRAM_LOSS)
        r++;
    return r < program->nresults;
}

/* If steps have state, watch each step; those that learn have a loss in each. */
static int watch_training(struct comparing *c, struct walk_opts *run, struct shd_error *err)
{
    if (!program_has_state(c->record->program))
        return SHD_OK;
    run->stepped = end_trained_step;
    run->stepped_arg = c;
    if (!has_loss(c->record->program))
        return SHD_OK;
    return record_train(c->record, run->repeats ? run->repeats : 1, err);
}

/* Check of a result: the worse of the comparisons after the first and the last step.  An error of
 * the first step grows in later ones, so `relative` is taken from the last step. */
static struct record_check check_of(const struct comparing *c, uint32_t r)
{
    uint32_t n = c->record->program->nresults;
    enum program_result_kind kind = c->record->program->results[r].kind;
    struct record_check last = record_check_of(c->record, c->last, n, r), first;
    if (kind != PROGRAM_LOSS && kind != PROGRAM_NEXT && program_has_state(c->record->program))
        last.infinite = last.nan = 0;
    if (kind == PROGRAM_OUTPUT)
        last.infinite = 0;
    if (!c->reference->first.arrays)
        return last;
    first = record_check_of(c->record, c->first, n, r);
    first.infinite = last.infinite; /* infinities and NaNs persist */
    first.nan = last.nan;
    first.nopen_first = last.nopen_first = first.nopen;
    first.nopen = last.nopen;
    first.relative = last.relative;
    first.most = last.most;
    first.largest = last.largest;
    first.widest = last.widest;
    first.after_first = true;
    return first.error > last.error ? first : last;
}

/* Merge the comparisons that each rank made on its own devices. */
static void gather(const struct comparing *c, const struct spread *spread)
{
    uint64_t row = c->record->program->nresults * sizeof *c->first;

    spread_merge_rows(spread, c->first, row);
    spread_merge_rows(spread, c->last, row);
    curve_gather(c->record, spread);
}

/* Whether an array is 0 in exact arithmetic, like the gradient of keys' biases: then the
 * reference's values are float64 rounding errors.  Errors are about proportional to the unit
 * roundoff, so float64's bounds are those of the array's type times the ratio of the two roundoffs.
 * Without bounds, a zero shows in the unsharded run of the same types, whose error exceeds the
 * reference by about that ratio; half of the digits (its square root) suffice, and the usual number
 * of deviations is allowed. */
static void find_zero(struct record_check *check, enum shd_dtype dtype, double unsharded)
{
    double finer = kern_store_roundoff(SHD_F64) / kern_store_roundoff(dtype);

    if (check->widest > 0) {
        check->zero = check->largest <= check->widest * finer;
    } else if (unsharded * sqrt(finer) > 1) {
        check->zero = true;
        check->widest = KERN_ERROR_ALLOWED * unsharded * check->largest;
    }
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
        find_zero(&record->checks[r],
                  record->program->buffers[record->program->results[r].buffer].dtype,
                  record->checks[r].unsharded);
    }
}

int verify_run(struct record *record, const struct verify_reference *reference,
               const struct walk_opts *opts, struct shd_error *err)
{
    struct comparing c = {.record = record,
                          .reference = reference,
                          .nsteps = opts->repeats ? opts->repeats : 1,
                          .err = {SHD_OK, ""}};
    size_t cells = (size_t)record->ndevices * record->program->nresults + 1;
    struct walk_opts run = *opts;
    int status;

    c.first = calloc(cells, 2 * sizeof *c.first);
    if (!c.first)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the comparison");
    c.last = c.first + cells;
    run.finish = compare_last;
    run.finish_arg = &c;
    if (reference->shared) {
        run.together = compare_together;
        run.together_arg = &c;
    }
    status = watch_training(&c, &run, err);
    if (status == SHD_OK)
        status = walk_run(record, &run, err);
    if (status == SHD_OK && c.err.status != SHD_OK)
        status = shd_error_set(err, c.err.status, "%s", c.err.text);
    if (status == SHD_OK) {
        gather(&c, opts->spread);
        fill_checks(record, &c);
    }
    free(c.first);
    run = *opts;
    run.together = NULL; /* saw the results already */
    return status == SHD_OK ? steps_verify(record, &run, err) : status;
}
