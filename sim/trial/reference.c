/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/reference.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "run/ranks/ranks.h"
#include "trial/error_bounds.h"
#include "trial/reference_rows.h"

/* Arrays with fewer elements are computed whole by every rank: exchanging pieces would take
 * longer. */
#define LEAST 1024

/* Rows to cut an op into, per rank, so that shares are nearly equal. */
#define ROWS_EACH 16

/* ---- shares of an op ---- */

static bool is_small(const struct reference *ref, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (elements_of(buffer_of(ref, op->inputs[k])) >= ref->least)
            return false;
    for (uint32_t k = 0; k < op->noutputs; k++)
        if (elements_of(buffer_of(ref, op->outputs[k])) >= ref->least)
            return false;
    return true;
}

/* Cut an op that moves rows by their common width; every rank needs all ids. */
static struct kern_cut cut_of_rows(const struct reference *ref, const struct program_op *op)
{
    const struct program_buffer *in = buffer_of(ref, op->inputs[0]);
    const struct program_buffer *out = buffer_of(ref, op->outputs[0]);
    int64_t width = out->shape[out->rank - 1];
    struct kern_cut cut = {.rows = width, .least = 1};

    if (width == 0)
        return cut;
    cut.in[0] = (struct kern_cut_array){(int64_t)elements_of(in) / width, 1, 1};
    cut.out[0] = (struct kern_cut_array){(int64_t)elements_of(out) / width, 1, 1};
    return cut;
}

/* Cut a fill by rows of the outermost dimensions. */
static struct kern_cut cut_of_fill(const struct reference *ref, const struct program_op *op,
                                   int64_t wanted)
{
    const struct program_buffer *b = buffer_of(ref, op->outputs[0]);
    int64_t n = (int64_t)elements_of(b);
    struct kern_cut cut = {.rows = n > 0, .least = 1};

    for (uint32_t d = 0; d < b->rank && n > 0 && cut.rows < wanted; d++)
        cut.rows *= b->shape[d];
    if (n > 0)
        cut.out[0] = (struct kern_cut_array){1, 1, n / cut.rows};
    return cut;
}

static struct kern_cut cut_of(const struct reference *ref, const struct program_op *op)
{
    int64_t wanted = (int64_t)ref->nranks * ROWS_EACH;

    switch (op->kind) {
    case PROGRAM_FILL:
        return cut_of_fill(ref, op, wanted);
    case PROGRAM_ROWS:
        return cut_of_rows(ref, op);
    default:
        assert(op->kind == PROGRAM_KERNEL); /* a program of one device does not communicate */
        return kern_cut_of(op->kernel, op->desc, wanted);
    }
}

/* Decide how ranks share an op; every rank decides the same. */
static void deal(struct share *s, const struct reference *ref)
{
    uint64_t nparts;

    if (ref->nranks == 1 || is_small(ref, s->op))
        return;
    s->cut = cut_of(ref, s->op);
    nparts = s->cut.rows > 0 ? (uint64_t)(s->cut.rows / s->cut.least) : 0;
    s->nparts = nparts < ref->nranks ? (uint32_t)nparts : ref->nranks;
    if (s->nparts > 1)
        return;
    s->nparts = 1; /* one rank computes the op; the next op goes to another rank */
    s->rank = s->number % ref->nranks;
}

/* The pieces of an array that the ranks need for a share, or get from it. */
static struct pieces lies_as(const struct reference *ref, const struct share *s, uint32_t buffer,
                             const struct kern_cut_array *array)
{
    uint64_t n = elements_of(buffer_of(ref, buffer));

    if (s->nparts == 1)
        return pieces_with(n, s->rank);
    if (s->nparts == 0 || array->each == 0)
        return pieces_everywhere(n);
    return (struct pieces){.outer = (uint64_t)array->outer,
                           .rows = (uint64_t)(s->cut.rows * array->each),
                           .inner = (uint64_t)array->inner,
                           .each = (uint64_t)array->each,
                           .nparts = s->nparts,
                           .first = s->rank};
}

/* Whether this rank computes any part of an op. */
static bool takes_part(const struct reference *ref, const struct share *s)
{
    int64_t first;

    if (s->nparts == 1)
        return s->rank == (uint32_t)ref->me;
    return s->nparts == 0 || reference_own_rows(ref, s, &first) > 0;
}

/* ---- operands ---- */

/* List operands in the kernel's order; an accumulating op also reads its result so far. */
static void list_operands(struct share *s)
{
    if (s->op->accumulates)
        s->buffers[s->noperands++] = s->op->outputs[0];
    for (uint32_t k = 0; k < s->op->ninputs; k++)
        s->buffers[s->noperands++] = s->op->inputs[k];
}

static bool is_inexact(const struct reference *ref, uint32_t buffer)
{
    return ref->opts->bounds && (ref->marks[buffer] & KERN_MARK_INEXACT);
}

/* What the verified run decided in place of an op: its routing, or the state that it left; NULL:
 * the op decides nothing. */
static const int32_t *decided(const struct reference *ref, const struct share *s)
{
    const struct decisions *d = ref->opts->decisions;
    const int32_t *ids = decisions_find(d, s->op, ref->times[s->number]);

    for (uint32_t r = 0; r < ref->program->nresults && !ids; r++) {
        const struct program_result *result = &ref->program->results[r];

        if (result->kind == PROGRAM_NEXT && result->buffer == s->op->outputs[0])
            ids = decisions_state(d, result->name, ref->times[s->number]);
    }
    return ids;
}

/* Whether a kernel's results get bounds: whole numbers only if something inexact may have chosen
 * them, and if the choice is not a decision that is imposed. */
static bool has_bounds(const struct reference *ref, const struct share *s)
{
    bool inexact = false;

    for (uint32_t k = 0; k < s->noperands; k++)
        inexact |= is_inexact(ref, s->buffers[k]);
    return ref->opts->bounds &&
           (!is_whole(ref, s->op->outputs[0]) ||
            (inexact && s->op->kernel != &kern_kernel_topk && !decided(ref, s)));
}

/* Add the moves of an operand: its values, and its variances if it has some. */
static bool add_moves(struct reference *ref, const struct share *s, uint32_t k,
                      struct pieces_move *moves, uint32_t *nmoves)
{
    uint32_t buffer = s->buffers[k];
    const struct array *a = &ref->arrays[buffer];
    struct pieces to = lies_as(ref, s, buffer, &s->cut.in[k]);

    assert(k < s->noperands);
    if (is_inexact(ref, buffer) && !reference_make_variances(ref, buffer))
        return false;
    if (pieces_same(&a->lies, &to))
        return true;
    moves[(*nmoves)++] = (struct pieces_move){
        .from = a->lies, .to = to, .size = size_of(ref, buffer), .have = a->values};
    if (is_inexact(ref, buffer))
        moves[(*nmoves)++] = (struct pieces_move){
            .from = a->lies, .to = to, .size = sizeof(double), .have = a->variances};
    return true;
}

/* Take what the moves of add_moves() brought, in the same order. */
static void take_moves(struct reference *ref, struct share *s, uint32_t k,
                       const struct pieces_move *moves, uint32_t *nmoves)
{
    uint32_t buffer = s->buffers[k];
    const struct array *a = &ref->arrays[buffer];
    struct pieces to = lies_as(ref, s, buffer, &s->cut.in[k]);
    struct operand *o = &s->operands[k];
    bool inexact = is_inexact(ref, buffer);

    assert(k < s->noperands);
    o->values = a->values;
    o->variances = inexact ? a->variances : NULL;
    s->marks[k] = ref->marks[buffer];
    if (pieces_same(&a->lies, &to))
        return;
    o->values = o->own[0] = moves[(*nmoves)++].got;
    if (inexact)
        o->variances = o->own[1] = moves[(*nmoves)++].got;
    o->bytes = elements_here(ref, &to) * (size_of(ref, buffer) + (inexact ? sizeof(double) : 0));
    reference_count_bytes(ref, o->bytes);
}

static int bring_operands(struct reference *ref, struct share *s, struct shd_error *err)
{
    struct pieces_move moves[2 * PROGRAM_INPUTS_MAX];
    uint32_t nmoves = 0, n = 0;
    int status = SHD_OK;

    list_operands(s);
    for (uint32_t k = s->op->accumulates; k < s->noperands; k++)
        if (!add_moves(ref, s, k, moves, &nmoves))
            return reference_no_memory(err);
    if (nmoves > 0)
        status = pieces_move(moves, nmoves, err);
    for (uint32_t k = s->op->accumulates; k < s->noperands && status == SHD_OK; k++)
        take_moves(ref, s, k, moves, &n);
    return status;
}

static void drop_operands(struct reference *ref, struct share *s)
{
    for (uint32_t k = 0; k < s->noperands; k++) {
        free(s->operands[k].own[0]);
        free(s->operands[k].own[1]);
        ref->live_bytes -= s->operands[k].bytes;
    }
}

/* ---- results ---- */

static int make_results(struct reference *ref, const struct share *s, struct shd_error *err)
{
    int status = SHD_OK;

    if (s->op->accumulates && !s->first)
        return SHD_OK;
    for (uint32_t k = 0; k < s->op->noutputs && status == SHD_OK; k++)
        status = reference_make_array(ref, s->op->outputs[k],
                            lies_as(ref, s, s->op->outputs[k], &s->cut.out[k]), err);
    return status;
}

static void do_fill(const struct reference *ref, const struct share *s)
{
    const struct program_buffer *b = buffer_of(ref, s->op->outputs[0]);
    const struct pieces *lies = &ref->arrays[s->op->outputs[0]].lies;
    const int64_t shape[] = {(int64_t)lies->outer, (int64_t)lies->rows, (int64_t)lies->inner};
    struct kern_source source = s->op->source;
    uint64_t first, n = pieces_rows(lies, ref->me, &first);

    source.step = ref->step;
    source.microbatch = ref->microbatch;
    kern_fill(&source, b->dtype, 3, shape, (const int64_t[]){0, (int64_t)first, 0},
              (const int64_t[]){shape[0], (int64_t)n, shape[2]},
              ref->arrays[s->op->outputs[0]].values);
}

/* Mean square of a whole array. */
static int find_square(double *out, const struct reference *ref, uint32_t buffer,
                       struct shd_error *err)
{
    const struct array *a = &ref->arrays[buffer];
    struct pieces_move move = {.from = a->lies,
                               .to = pieces_everywhere(elements_of(buffer_of(ref, buffer))),
                               .size = sizeof(double),
                               .have = a->values};
    int status = SHD_OK;

    if (!pieces_same(&move.from, &move.to))
        status = pieces_move(&move, 1, err);
    if (status == SHD_OK)
        *out = kern_mean_square(move.got ? move.got : a->values, move.to.rows);
    free(move.got);
    return status;
}

/* A kernel's arguments for this rank's share. */
struct part {
    union kern_desc desc;
    int64_t offsets[KERN_OFFSETS_MAX];
    const void *in[PROGRAM_INPUTS_MAX];
    const double *off[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX];
    void *workspace;
    struct kern_args args;
};

static int part_init(struct part *p, const struct reference *ref, const struct share *s,
                     struct shd_error *err)
{
    const struct program_op *op = s->op;
    const struct kern_kernel *kernel = op->kernel;
    uint64_t workspace_bytes = 0;
    int64_t first;

    *p = (struct part){.desc = *op->desc};
    if (s->nparts > 1) {
        int64_t n = reference_own_rows(ref, s, &first);

        kern_cut_part(kernel, &p->desc, &s->cut, first, n, p->offsets);
    }
    for (uint32_t k = 0; k < s->noperands; k++) {
        p->in[k] = s->operands[k].values;
        p->off[k] = s->operands[k].variances;
    }
    for (uint32_t k = 0; k < op->noutputs; k++)
        p->out[k] = ref->arrays[op->outputs[k]].values;
    if (op->accumulates)
        p->in[0] = p->out[0];
    if (kernel->workspace_bytes && takes_part(ref, s))
        workspace_bytes = kernel->workspace_bytes(&p->desc);
    p->workspace = malloc(workspace_bytes + 1);
    p->args = (struct kern_args){p->in, p->out, p->workspace, p->offsets, ref->opts->nthreads};
    return p->workspace ? SHD_OK : reference_no_memory(err);
}

/* Replace an op's decision by the recorded one. */
static int impose(struct reference *ref, const struct share *s, struct shd_error *err)
{
    const int32_t *ids = decided(ref, s);
    struct array *a = &ref->arrays[s->op->outputs[0]];
    struct pieces_move move = {
        .from = pieces_everywhere(elements_of(buffer_of(ref, s->op->outputs[0]))),
        .to = a->lies,
        .size = sizeof *ids,
        .have = ids};
    int status;

    if (!ids)
        return SHD_OK;
    status = pieces_move(&move, 1, err);
    if (status != SHD_OK)
        return status;
    free(a->values);
    a->values = move.got;
    return SHD_OK;
}

/* The mean squares of whole arrays that a kernel's error rule needs. */
static int find_squares(double *out, const struct reference *ref, const struct share *s,
                        struct shd_error *err)
{
    const struct program_op *op = s->op;
    double parts = ref->opts->ndevices, added;
    int squared = -1, status = SHD_OK;

    *out = 0;
    if (op->kernel == &kern_kernel_map)
        squared = kern_map_squared(op->desc, parts);
    if (op->accumulates && bound_adds_parts(ref->program, op, parts)) {
        status = find_square(out, ref, op->outputs[0], err);
        if (status == SHD_OK)
            status = find_square(&added, ref, op->inputs[0], err);
        *out = status == SHD_OK ? 2 * *out + added : 0;
    } else if (!op->accumulates && squared >= 0) {
        status = find_square(out, ref, op->inputs[squared], err);
    }
    return status;
}

static int find_variances(struct reference *ref, const struct share *s, const struct part *p,
                          double square, struct shd_error *err)
{
    const struct program_op *op = s->op;
    struct bound_op bound = {.program = ref->program,
                             .op = op,
                             .desc = &p->desc,
                             .args = &p->args,
                             .parts = ref->opts->ndevices,
                             .marks = s->marks,
                             .square = &square,
                             .in = p->off};
    double *out[PROGRAM_OUTPUTS_MAX];

    for (uint32_t k = 0; k < op->noutputs; k++) {
        if (!reference_make_variances(ref, op->outputs[k]))
            return reference_no_memory(err);
        out[k] = ref->arrays[op->outputs[k]].variances;
        bound.n[k] = elements_here(ref, &ref->arrays[op->outputs[k]].lies);
    }
    if (op->accumulates)
        bound_accumulate(out[0], &bound, square);
    else if (takes_part(ref, s) && !bound_kernel(out, &bound))
        return reference_no_memory(err);
    return SHD_OK;
}

static int do_kernel(struct reference *ref, const struct share *s, struct shd_error *err)
{
    bool bounds = has_bounds(ref, s);
    double square = 0;
    struct part p;
    int status = part_init(&p, ref, s, err);

    if (status == SHD_OK && takes_part(ref, s))
        ref->work.flops += s->op->kernel->run(&p.desc, &p.args);
    if (status == SHD_OK)
        status = impose(ref, s, err);
    if (status == SHD_OK && bounds)
        status = find_squares(&square, ref, s, err);
    if (status == SHD_OK && bounds)
        status = find_variances(ref, s, &p, square, err);
    free(p.workspace);
    return status;
}

/* ---- order of ops and steps ---- */

static int do_share(struct reference *ref, struct share *s, struct shd_error *err)
{
    uint32_t out = s->op->outputs[0];
    struct array *a = &ref->arrays[out];

    switch (s->op->kind) {
    case PROGRAM_FILL:
        do_fill(ref, s);
        if (ref->opts->bounds && !is_whole(ref, out) &&
            !bound_fill(&a->variances, buffer_of(ref, out), a->values,
                        elements_here(ref, &a->lies)))
            return reference_no_memory(err);
        reference_count_bytes(ref, a->variances ? elements_here(ref, &a->lies) * sizeof(double) : 0);
        return SHD_OK;
    case PROGRAM_ROWS:
        return reference_do_rows(ref, s, err);
    default:
        return do_kernel(ref, s, err);
    }
}

static int do_op(struct reference *ref, uint32_t i, bool first, struct shd_error *err)
{
    struct share s = {.op = &ref->program->ops[i], .number = i, .first = first};
    uint32_t dead[PROGRAM_DEAD_MAX];
    int status = SHD_OK;

    if (ref->opts->stop_request && __atomic_load_n(ref->opts->stop_request, __ATOMIC_RELAXED))
        return shd_error_set(err, SHD_ESTOPPED, "stopped by request");
    reference_settle_marks(ref);
    deal(&s, ref);
    status = bring_operands(ref, &s, err);
    if (status == SHD_OK)
        status = make_results(ref, &s, err);
    if (status == SHD_OK)
        status = do_share(ref, &s, err);
    drop_operands(ref, &s);
    for (uint32_t k = 0; k < s.op->noutputs && status == SHD_OK; k++)
        reference_mark(ref, s.op->outputs[k]);
    ref->times[i]++;
    for (uint32_t d = program_dead_buffers(ref->program, i, dead); d-- > 0;)
        reference_free_array(ref, dead[d]);
    return status;
}

/* Refill arguments that change from step to step or from microbatch to microbatch. */
static int refill(struct reference *ref, struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t i = 0; i < ref->program->first_op && status == SHD_OK; i++)
        if (kern_source_changes(&ref->program->ops[i].source))
            status = do_op(ref, i, true, err);
    return status;
}

static int do_step(struct reference *ref, struct shd_error *err)
{
    struct program_walk actions = program_walk_begin(ref->program, 0);
    struct program_action a;
    int status = SHD_OK;

    while (status == SHD_OK && program_walk_next(&actions, &a)) {
        if (a.begins && a.microbatch != ref->microbatch) {
            ref->microbatch = a.microbatch;
            status = refill(ref, err);
        }
        if (status == SHD_OK)
            status = do_op(ref, a.op, a.first, err);
    }
    return status;
}

/* Results of kind PROGRAM_NEXT replace their arguments for the next step. */
static int begin_next(struct reference *ref, struct shd_error *err)
{
    const struct program *program = ref->program;

    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];

        if (result->kind != PROGRAM_NEXT)
            continue;
        reference_free_array(ref, result->of);
        ref->arrays[result->of] = ref->arrays[result->buffer];
        ref->marks[result->of] = ref->marks[result->buffer];
        ref->arrays[result->buffer] = (struct array){.values = NULL};
    }
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (!program->buffers[b].argument)
            reference_free_array(ref, b);
    ref->step++;
    ref->microbatch = 0;
    return refill(ref, err);
}

/* ---- results ---- */

void reference_fini(struct reference_results *results)
{
    for (uint32_t r = 0; results->arrays && r < results->n; r++) {
        free(results->arrays[r].values);
        free(results->arrays[r].allowed);
    }
    free(results->arrays);
    *results = (struct reference_results){.arrays = NULL};
}

/* Keep a result: as doubles, or in its own type if there are no bounds. */
static bool keep_result(struct reference_array *out, struct reference *ref, uint32_t buffer)
{
    const struct array *a = &ref->arrays[buffer];
    uint64_t n = elements_here(ref, &a->lies);

    out->lies = a->lies;
    out->values = malloc(n * sizeof(double) + 1);
    if (!out->values)
        return false;
    if (ref->opts->bounds)
        kern_load_f64(buffer_of(ref, buffer)->dtype, a->values, 1, n, out->values);
    else
        memcpy(out->values, a->values, n * size_of(ref, buffer));
    if (!is_inexact(ref, buffer))
        return true;
    if (reference_make_variances(ref, buffer))
        out->allowed = bound_allowed(a->variances, n);
    return out->allowed != NULL;
}

/* Keep copies of the results: those that replace arguments are needed by the next step. */
static int keep_results(struct reference_results *out, struct reference *ref, bool last,
                        struct shd_error *err)
{
    const struct program *program = ref->program;

    reference_settle_marks(ref);
    out->n = program->nresults;
    out->arrays = calloc((size_t)program->nresults + 1, sizeof *out->arrays);
    for (uint32_t r = 0; r < program->nresults; r++) {
        uint32_t buffer = program->results[r].buffer, later = r + 1;

        if (!out->arrays || !keep_result(&out->arrays[r], ref, buffer))
            return reference_no_memory(err);
        while (later < program->nresults && program->results[later].buffer != buffer)
            later++;
        if (last && later == program->nresults)
            reference_free_array(ref, buffer);
    }
    return SHD_OK;
}

static int compute(struct reference *ref, struct reference_results *last,
                   struct reference_results *first, struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t i = 0; i < ref->program->first_op && status == SHD_OK; i++)
        status = do_op(ref, i, true, err);
    for (uint32_t step = 0; step < ref->opts->nsteps && status == SHD_OK; step++) {
        if (step > 0)
            status = begin_next(ref, err);
        if (status == SHD_OK)
            status = do_step(ref, err);
        if (status == SHD_OK && step == 0 && first && ref->opts->nsteps > 1)
            status = keep_results(first, ref, false, err);
    }
    return status == SHD_OK ? keep_results(last, ref, true, err) : status;
}

int reference_compute(struct reference_results *last, struct reference_results *first,
                      struct reference_work *work, const struct program *program,
                      const struct reference_opts *opts, struct shd_error *err)
{
    struct reference ref = {.program = program,
                            .opts = opts,
                            .nranks = opts->shared ? (uint32_t)ranks_count() : 1,
                            .me = ranks_me(),
                            .least = opts->least ? opts->least : LEAST};
    int status = SHD_OK;

    assert(program->nframes == 0 && program->nranks == 1); /* the program has no pipeline stages */
    ref.arrays = calloc((size_t)program->nbuffers + 1, sizeof *ref.arrays);
    ref.marks = calloc((size_t)program->nbuffers + 1, sizeof *ref.marks);
    ref.times = calloc((size_t)program->nops + 1, sizeof *ref.times);
    status =
        ref.arrays && ref.marks && ref.times ? compute(&ref, last, first, err) : reference_no_memory(err);
    for (uint32_t b = 0; ref.arrays && b < program->nbuffers; b++)
        reference_free_array(&ref, b);
    free(ref.arrays);
    free(ref.marks);
    free(ref.times);
    *work = ref.work;
    return status;
}

int reference_gather(struct reference_whole *out, const struct reference_array *array,
                     uint32_t size, struct shd_error *err)
{
    struct pieces to = pieces_everywhere(array->lies.outer * array->lies.rows * array->lies.inner);
    struct pieces_move moves[] = {
        {.from = array->lies, .to = to, .size = size, .have = array->values},
        {.from = array->lies, .to = to, .size = sizeof(double), .have = array->allowed}};
    int status;

    *out = (struct reference_whole){.values = array->values, .allowed = array->allowed};
    if (pieces_same(&array->lies, &to))
        return SHD_OK;
    status = pieces_move(moves, array->allowed ? 2 : 1, err);
    if (status != SHD_OK)
        return status;
    out->values = out->own[0] = moves[0].got;
    out->own[1] = moves[1].got;
    if (array->allowed)
        out->allowed = moves[1].got;
    return SHD_OK;
}

void reference_drop(struct reference_whole *whole)
{
    free(whole->own[0]);
    free(whole->own[1]);
    *whole = (struct reference_whole){.values = NULL};
}
