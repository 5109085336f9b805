/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "program/rows.h"
#include "trial/elements.h"

/* Data that its own type cannot hold exactly: whole numbers in 16 bits. */
static bool fill_variances(double **out, const struct program_buffer *b, const double *values)
{
    uint64_t n = elements_of(b);

    for (uint64_t i = 0; i < n; i++) {
        double lost = values[i] - kern_round(b->stored, values[i]);

        if (lost == 0)
            continue;
        if (!*out && !(*out = calloc(n + 1, sizeof **out)))
            return false;
        (*out)[i] = lost * lost;
    }
    return true;
}

/* Whether nothing is known of some element of an operand.  What is infinite then may be so by that
 * element. */
static bool has_unknown(const struct program_buffer *buffers, const struct program_op *op,
                        const double *const *variances)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        for (uint64_t i = 0; variances[k] && i < elements_of(&buffers[op->inputs[k]]); i++)
            if (isinf(variances[k][i]))
                return true;
    return false;
}

static bool run_rule(struct bound *bound, const struct program_op *op, const struct kern_args *args)
{
    const struct program_buffer *buffers = bound->program->buffers;
    const double *in[PROGRAM_INPUTS_MAX];
    double *out[PROGRAM_OUTPUTS_MAX];
    struct kern_error error = {.args = args,
                               .variances = in,
                               .out = out,
                               .type = buffers[op->outputs[0]].stored,
                               .parts = bound->parts};
    bool unknown;

    for (uint32_t k = 0; k < op->ninputs; k++)
        in[k] = bound->variances[op->inputs[k]];
    unknown = has_unknown(buffers, op, in);
    for (uint32_t k = 0; k < op->noutputs; k++) {
        out[k] = calloc(elements_of(&buffers[op->outputs[k]]) + 1, sizeof *out[k]);
        bound->variances[op->outputs[k]] = out[k];
        if (!out[k])
            return false;
    }
    if (!op->kernel->error(&op->desc, &error))
        return false;
    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *b = &buffers[op->outputs[k]];
        const double *values = args->out[k];

        for (uint64_t i = 0; i < elements_of(b); i++)
            out[k][i] = unknown && !isfinite(values[i])
                            ? INFINITY
                            : kern_stored_variance(b->stored, error.kept, values[i], out[k][i]);
    }
    return true;
}

static bool kernel_variances(struct bound *bound, const struct program_op *op,
                             const void *const *shards)
{
    const int64_t offsets[KERN_OFFSETS_MAX] = {0}; /* the arrays are whole */
    const void *in[PROGRAM_INPUTS_MAX];
    void *out[PROGRAM_OUTPUTS_MAX], *workspace = malloc(op->workspace_bytes + 1);
    const struct kern_args args = {in, out, workspace, offsets, bound->nthreads};
    bool done = workspace != NULL;

    for (uint32_t k = 0; k < op->ninputs; k++)
        in[k] = shards[op->inputs[k]];
    for (uint32_t k = 0; k < op->noutputs; k++)
        out[k] = (void *)(uintptr_t)shards[op->outputs[k]]; /* read only */
    done = done && run_rule(bound, op, &args);
    free(workspace);
    return done;
}

/* Copies are off as far as what they are copies of; rows that nobody came to are exact zeros. */
static bool rows_variances(struct bound *bound, const struct program_op *op,
                           const void *const *shards)
{
    const double *from = bound->variances[op->inputs[0]];
    const struct program_rows_arrays a = program_rows_arrays(bound->program, op);
    int64_t width = a.to->shape[a.to->rank - 1], choices = a.tokens->rank == 4 ? a.choices : 1;
    struct program_rows_walk walk =
        program_rows_walk(bound->program, op, 0, shards[op->inputs[1]], shards[op->inputs[2]]);
    struct program_rows_place at;
    double *to;

    if (!from)
        return true;
    to = bound->variances[op->outputs[0]] = calloc(elements_of(a.to) + 1, sizeof *to);
    while (to && program_rows_next(&walk, &at)) {
        int64_t choice = choices == 1 ? 0 : at.choice;
        int64_t token = (at.batch * a.tokens->shape[1] + at.seq) * choices + choice;
        int64_t row = at.expert * a.experts->shape[1] + at.slot;

        memcpy(to + (op->rows.combines ? token : row) * width,
               from + (op->rows.combines ? row : token) * width, (size_t)width * sizeof *to);
    }
    return to != NULL;
}

/* The parts of a value, each rounded to another type, may be as large as an array's elements are on
 * the whole: what is added here, squared, to the elements' own sizes.  In its own type a part was
 * rounded when it was made, and that is known. */
static double square_of_parts(const struct bound *bound, uint32_t to, uint32_t from,
                              const double *sums, const double *added)
{
    const struct program_buffer *b = &bound->program->buffers[to];

    if (b->stored == bound->program->buffers[from].stored || bound->parts <= 1)
        return 0;
    return 2 * kern_mean_square(sums, elements_of(b)) + kern_mean_square(added, elements_of(b));
}

/* What is added to a sum over microbatches may be off, as the sum was; and each addition rounds, in
 * the parts that devices add up apart. */
static bool accumulate_variances(struct bound *bound, const struct program_op *op,
                                 const void *const *shards)
{
    uint32_t to = op->outputs[0], from = op->inputs[0];
    const struct program_buffer *b = &bound->program->buffers[to];
    const double *sums = shards[to], *added = shards[from], *off = bound->variances[from];
    double *variances = bound->variances[to], store = kern_store_roundoff(b->stored);
    double least = kern_store_loss(b->stored, 0);
    double parts = square_of_parts(bound, to, from, sums, added);

    if (!variances)
        variances = bound->variances[to] = calloc(elements_of(b) + 1, sizeof *variances);
    if (!variances)
        return false;
    for (uint64_t i = 0; i < elements_of(b); i++) {
        double before = sums[i] - added[i], all = sqrt(variances[i]) + (off ? sqrt(off[i]) : 0);
        double sizes = before * before + added[i] * added[i] + sums[i] * sums[i] + parts;
        double rounding = bound->parts * (store * store * sizes + least * least);

        variances[i] = isfinite(sums[i])
                           ? kern_stored_variance(b->stored, true, sums[i], all * all + rounding)
                           : all * all;
    }
    return true;
}

static double *allowed_of(const double *variance, uint64_t n)
{
    double *allowed = malloc((n + 1) * sizeof *allowed);

    for (uint64_t i = 0; allowed && i < n; i++)
        allowed[i] = KERN_ERROR_ALLOWED * sqrt(variance[i]) * KERN_ERROR_SLACK;
    return allowed;
}

static void forget(struct bound *bound, uint32_t buffer)
{
    free(bound->variances[buffer]);
    bound->variances[buffer] = NULL;
}

void bound_observe(void *arg, int32_t position, uint32_t i, const void *const *shards)
{
    struct bound *bound = arg;
    const struct program_op *op = &bound->program->ops[i];
    const struct program_buffer *b = &bound->program->buffers[op->outputs[0]];
    uint32_t dead[PROGRAM_DEAD_MAX];
    bool exact = b->dtype == SHD_I32, done = true;

    (void)position;
    if (bound->failed)
        return;
    if (!exact && op->kind == PROGRAM_FILL)
        forget(bound, op->outputs[0]); /* of other data before */
    if (!exact && op->kind == PROGRAM_FILL)
        done = fill_variances(&bound->variances[op->outputs[0]], b, shards[op->outputs[0]]);
    else if (op->accumulates)
        done = accumulate_variances(bound, op, shards);
    else if (!exact && op->kind == PROGRAM_KERNEL)
        done = kernel_variances(bound, op, shards);
    else if (!exact && op->kind == PROGRAM_ROWS)
        done = rows_variances(bound, op, shards);
    bound->failed = !done;
    for (uint32_t d = program_dead_buffers(bound->program, i, dead); d-- > 0;)
        forget(bound, dead[d]);
}

void bound_stepped(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    struct bound *bound = arg;
    const struct program *program = bound->program;

    (void)position;
    (void)shards;
    if (step + 1 >= bound->nsteps || bound->failed)
        return;
    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];

        if (result->kind != PROGRAM_NEXT)
            continue;
        forget(bound, result->of);
        bound->variances[result->of] = bound->variances[result->buffer];
        bound->variances[result->buffer] = NULL;
    }
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (!program->buffers[b].argument)
            forget(bound, b);
}

int bound_init(struct bound *out, const struct program *program, uint32_t nsteps, int32_t ndevices,
               int nthreads, struct shd_error *err)
{
    struct bound bound = {
        .program = program, .nsteps = nsteps, .parts = ndevices, .nthreads = nthreads};

    bound.variances = calloc((size_t)program->nbuffers + 1, sizeof *bound.variances);
    if (!bound.variances)
        return shd_error_set(err, SHD_ENOMEM, "no memory for error bounds");
    *out = bound;
    return SHD_OK;
}

void bound_fini(struct bound *bound)
{
    for (uint32_t b = 0; bound->variances && b < bound->program->nbuffers; b++)
        free(bound->variances[b]);
    free(bound->variances);
    bound->variances = NULL;
}

int bound_result(double **allowed, const struct bound *bound, uint32_t result,
                 struct shd_error *err)
{
    uint32_t buffer = bound->program->results[result].buffer;
    const double *variance = bound->variances[buffer];

    *allowed = NULL;
    if (!bound->failed && !variance)
        return SHD_OK;
    if (!bound->failed)
        *allowed = allowed_of(variance, elements_of(&bound->program->buffers[buffer]));
    return *allowed ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for error bounds");
}
