/* Rows of tokens in the unsharded computation (trial/reference_rows.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/reference_rows.h"

#include <string.h>

#include "kern/error.h"
#include "program/rows.h"

/* Elements of a row in this rank's share. */
static size_t row_width(const struct reference *ref, const struct share *s)
{
    const struct program_buffer *to = buffer_of(ref, s->op->outputs[0]);
    int64_t first;

    return (size_t)(s->nparts > 1 ? reference_own_rows(ref, s, &first) : to->shape[to->rank - 1]);
}

typedef void (*visit_row_fn)(void *arg, size_t from, size_t to, size_t n);

/* Visit the rows that ids and slots name: where each lies in the operand and in the result, in
 * elements. */
static void visit_rows(const struct reference *ref, const struct share *s, visit_row_fn fn,
                       void *arg)
{
    const struct program_op *op = s->op;
    const struct program_rows_arrays a = program_rows_arrays(ref->program, op);
    int64_t choices = a.tokens->rank == 4 ? a.choices : 1;
    size_t width = row_width(ref, s);
    struct program_rows_walk walk =
        program_rows_walk(ref->program, op, 0, s->operands[1].values, s->operands[2].values);
    struct program_rows_place at;

    while (program_rows_next(&walk, &at)) {
        int64_t choice = choices == 1 ? 0 : at.choice;
        size_t token = (size_t)((at.batch * a.tokens->shape[1] + at.seq) * choices + choice);
        size_t row = (size_t)(at.expert * a.experts->shape[1] + at.slot);

        fn(arg, (op->rows.combines ? row : token) * width,
           (op->rows.combines ? token : row) * width, width);
    }
}

/* Arrays between which rows are copied or added up. */
struct row_arrays {
    const char *from;
    char *to;
    size_t size; /* of an element */
    /* Of a sum's variances: the rows, and the roundings that each may go through. */
    const double *values;
    double roundings;
    enum shd_dtype type;
};

static void copy_row(void *arg, size_t from, size_t to, size_t n)
{
    const struct row_arrays *a = arg;

    memcpy(a->to + to * a->size, a->from + from * a->size, n * a->size);
}

static void sum_row(void *arg, size_t from, size_t to, size_t n)
{
    const struct row_arrays *a = arg;

    for (size_t i = 0; i < n; i++) {
        double x[KERN_LANES], sum[KERN_LANES];

        kern_load_f64(a->type, a->from + (from + i) * a->size, 1, 1, x);
        kern_load_f64(a->type, a->to + (to + i) * a->size, 1, 1, sum);
        sum[0] += x[0];
        kern_store_f64(a->type, a->to + (to + i) * a->size, 1, 1, sum);
    }
}

/* Add a term's variance, and that of rounding partial sums: as many as there are terms, each of
 * which is at most the sum of the terms' sizes, whose square is at most their number times the sum
 * of squares. */
static void sum_variance(void *arg, size_t from, size_t to, size_t n)
{
    const struct row_arrays *a = arg;

    for (size_t i = 0; i < n; i++) {
        double loss = a->roundings * kern_store_loss(a->type, a->values[from + i]);

        ((double *)a->to)[to + i] +=
            (a->from ? ((const double *)a->from)[from + i] : 0) + loss * loss;
    }
}

/* Add up the rows of each token, with their variances. */
static int sum_rows(struct reference *ref, const struct share *s, struct shd_error *err)
{
    uint32_t out = s->op->outputs[0];
    struct array *to = &ref->arrays[out];
    const struct operand *from = &s->operands[0];
    struct row_arrays a = {.from = from->values,
                           .to = to->values,
                           .size = size_of(ref, out),
                           .type = buffer_of(ref, out)->dtype};

    visit_rows(ref, s, sum_row, &a);
    if (!ref->opts->bounds || is_whole(ref, out))
        return SHD_OK;
    if (!reference_make_variances(ref, out))
        return reference_no_memory(err);
    a = (struct row_arrays){.from = (const char *)from->variances,
                            .to = (char *)to->variances,
                            .values = from->values,
                            .roundings = (double)buffer_of(ref, s->op->inputs[1])->shape[2],
                            .type = buffer_of(ref, out)->stored};
    visit_rows(ref, s, sum_variance, &a);
    return SHD_OK;
}

int reference_do_rows(struct reference *ref, const struct share *s, struct shd_error *err)
{
    struct array *to = &ref->arrays[s->op->outputs[0]];
    const struct operand *from = &s->operands[0];
    struct row_arrays a = {from->values, to->values, size_of(ref, s->op->outputs[0]), NULL, 0, 0};

    if (s->op->rows.sums)
        return sum_rows(ref, s, err);
    visit_rows(ref, s, copy_row, &a);
    if (!from->variances)
        return SHD_OK;
    if (!reference_make_variances(ref, s->op->outputs[0]))
        return reference_no_memory(err);
    a = (struct row_arrays){
        .from = (const char *)from->variances, .to = (char *)to->variances, .size = sizeof(double)};
    visit_rows(ref, s, copy_row, &a);
    return SHD_OK;
}
