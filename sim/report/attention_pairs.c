/* The pairs of query and key of attention on each device, counted or planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/attention.h"

#include <stdlib.h>
#include <string.h>

/* ---- ops ---- */

static bool is_told(const struct program_op *op)
{
    return program_op_skips(op) && op->kernel->uneven == KERN_BY_SIGHT && op->dense_flops > 0;
}

/* Whether an attention is the next step of the ring that another is of: keys were moved by one. */
static bool goes_on(const struct program_op *a, const struct program_op *b)
{
    int64_t by = a->desc->attention.shift - b->desc->attention.shift;

    return !strcmp(a->name, b->name) && a->kernel == b->kernel && a->phase == b->phase &&
           (by == 1 || by == -1);
}

/* The next op that is told, from i on. */
static uint32_t next_told(const struct program *program, uint32_t i)
{
    while (i < program->nops && !is_told(&program->ops[i]))
        i++;
    return i;
}

/* ---- one row ---- */

static uint64_t flops_of_pair(const struct program_op *op)
{
    const struct kern_attention *a = &op->desc->attention;
    uint64_t pairs = (uint64_t)a->batch * (uint64_t)a->heads * (uint64_t)a->queries *
                     (uint64_t)(a->keys / a->blocks);

    return op->dense_flops / pairs;
}

static bool allocate(struct attention_row *row, const struct record *record)
{
    size_t n = (size_t)record->nrows + 1;

    row->ops = calloc(row->nsteps, sizeof *row->ops);
    row->doers = calloc(n, sizeof *row->doers);
    row->pairs = calloc(n * row->nsteps, sizeof *row->pairs);
    row->all = calloc(n, sizeof *row->all);
    return row->ops && row->doers && row->pairs && row->all;
}

static void find_doers(struct attention_row *row, const struct record *record)
{
    const struct program *program = record->program;

    for (uint32_t i = 0; i < record->nrows; i++)
        if (program_holds(program, program_rank(program, record_row(record, i).first),
                          &program->ops[row->ops[0]]))
            row->doers[row->ndoers++] = i;
}

/* Flops of a row; of a plan, where they depend on some axes only, those of the first row alike. */
static uint128 flops_in(const struct record *record, uint32_t op, uint32_t row)
{
    uint32_t axes = program_flops_axes(record->program, &record->program->ops[op]);

    if (record->classes && record->program->stage_axis < 0)
        row = program_classes_project(record->classes, row, axes);
    return record_flops_in(record, op, row);
}

static void count_pairs(struct attention_row *row, const struct record *record)
{
    double all = 0, weight = 0, longest = 0; /* the sum of what is most in each step */

    for (uint32_t s = 0; s < row->nsteps; s++) {
        uint128 *pairs = row->pairs + (size_t)s * row->ndoers, most = 0;

        for (uint32_t d = 0; d < row->ndoers; d++) {
            pairs[d] = flops_in(record, row->ops[s], row->doers[d]) / row->pair_flops;
            row->all[d] += pairs[d];
            most = pairs[d] > most ? pairs[d] : most;
        }
        longest += (double)most;
    }
    for (uint32_t d = 0; d < row->ndoers; d++) {
        double ndevices = record_row(record, row->doers[d]).ndevices;

        all += (double)row->all[d] * ndevices;
        weight += ndevices;
        if (row->all[d] > row->all[row->most])
            row->most = d;
    }
    row->mean = weight > 0 ? all / weight : 0;
    row->times = row->mean > 0 ? (double)row->all[row->most] / row->mean : 1;
    row->lockstep = longest > 0 ? row->mean / longest : 1;
}

/* The time of all steps in a replay, mean / max; where there is none, -1. */
static double busy_balance(const struct attention_row *row, const struct record *record)
{
    double most = 0, all = 0;

    if (!record->replay)
        return -1;
    for (uint32_t d = 0; d < row->ndoers; d++) { /* a row is a device */
        double ns = 0;

        for (uint32_t s = 0; s < row->nsteps; s++) {
            size_t at = (size_t)row->doers[d] * record->program->nops + row->ops[s];

            ns += (double)record->times[at].cpu_ns * record->program->ops[row->ops[s]].times;
        }
        most = ns > most ? ns : most;
        all += ns;
    }
    return most > 0 ? all / row->ndoers / most : 1;
}

/* Describe the attention that begins at op i; *next is the first op after the attention. */
static bool describe(struct attention_row *row, const struct record *record, uint32_t i,
                     uint32_t *next)
{
    const struct program *program = record->program;
    const struct program_op *ops = program->ops;
    struct text where = TEXT_INIT;
    uint32_t last = i, n;

    *row = (struct attention_row){.count = 1, .nsteps = 1, .phase = ops[i].phase};
    for (n = next_told(program, i + 1); n < program->nops && goes_on(&ops[last], &ops[n]);
         n = next_told(program, n + 1)) {
        row->nsteps++;
        last = n;
    }
    *next = n;
    row->pair_flops = flops_of_pair(&ops[i]);
    text_add_any_layer(&where, ops[i].name);
    row->where = text_take(&where);
    if (!row->where || !allocate(row, record))
        return false;
    for (uint32_t s = 0, op = i; s < row->nsteps; s++, op = next_told(program, op + 1))
        row->ops[s] = op;
    find_doers(row, record);
    count_pairs(row, record);
    row->busy = busy_balance(row, record);
    return true;
}

static void free_row(struct attention_row *row)
{
    free(row->where);
    free(row->ops);
    free(row->doers);
    free(row->pairs);
    free(row->all);
}

/* ---- all ---- */

static bool alike(const struct attention_row *a, const struct attention_row *b)
{
    return !strcmp(a->where, b->where) && a->phase == b->phase && a->nsteps == b->nsteps &&
           a->pair_flops == b->pair_flops && a->ndoers == b->ndoers &&
           !memcmp(a->pairs, b->pairs, (size_t)a->nsteps * a->ndoers * sizeof *a->pairs);
}

static void add_row(struct attention *x, struct attention_row *row)
{
    for (uint32_t r = 0; r < x->nrows; r++)
        if (alike(&x->rows[r], row)) {
            x->rows[r].count++;
            free_row(row);
            return;
        }
    x->rows[x->nrows++] = *row;
}

int attention_init(struct attention *out, const struct record *record, struct shd_error *err)
{
    const struct program *program = record->program;
    struct attention x = {.nrows = 0};
    uint32_t n = 0, i = next_told(program, 0);
    bool good;

    for (uint32_t k = i; k < program->nops; k = next_told(program, k + 1))
        n++;
    x.rows = calloc((size_t)n + 1, sizeof *x.rows);
    good = x.rows != NULL;
    while (good && i < program->nops && record->ndevices > 1) {
        struct attention_row row;

        good = describe(&row, record, i, &i);
        if (good)
            add_row(&x, &row);
        else
            free_row(&row);
    }
    if (good) {
        *out = x;
        return SHD_OK;
    }
    attention_fini(&x);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the report");
}

void attention_fini(struct attention *attention)
{
    for (uint32_t r = 0; attention->rows && r < attention->nrows; r++)
        free_row(&attention->rows[r]);
    free(attention->rows);
    *attention = (struct attention){.nrows = 0};
}

bool attention_is_even(const struct attention_row *row)
{
    return row->times < ATTENTION_EVEN;
}
