/* Why one device has more pairs of attention than others, from the description of what queries see;
 * and the balance under another order of tokens, by the closed form that plans use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/attention.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define EVEN 1.05          /* most / mean, as ATTENTION_EVEN */
#define WORTH_TELLING 0.95 /* orders that leave the slowest device more than this are omitted */
#define TRIED_MAX 65536    /* steps times devices; above this no other order is tried */

/* The device with the most pairs, and what its queries see. */
struct viewed {
    const struct record *record;
    const struct attention_row *row;
    const struct program_op *op;
    struct kern_sight sight;
    int64_t query, nqueries; /* the device's queries, in memory order */
    int64_t batch;           /* the first row of the batch */
};

/* The sight of an attention; a causal mask without a sight is one in the order of the arrays. */
static struct kern_sight sight_of(const struct program *program, const struct program_op *op)
{
    const struct program_buffer *q = &program->buffers[op->inputs[0]];

    if (op->desc->attention.sight)
        return *op->desc->attention.sight;
    return (struct kern_sight){.order = {KERN_CONTIGUOUS, 1, q->shape[1]},
                               .causal = op->desc->attention.causal};
}

static struct viewed view(const struct attention_row *row, const struct record *record)
{
    const struct program *program = record->program;
    const struct program_op *op = &program->ops[row->ops[0]];
    int64_t offsets[KERN_OFFSETS_MAX] = {0};

    program_op_offsets(program, op, record_row(record, row->doers[row->most]).first, offsets);
    return (struct viewed){.record = record,
                           .row = row,
                           .op = op,
                           .sight = sight_of(program, op),
                           .query = offsets[KERN_ATTENTION_QUERY0],
                           .nqueries = op->desc->attention.queries,
                           .batch = offsets[KERN_ATTENTION_BATCH0]};
}

/* ---- documents ---- */

/* A document, and the pairs that are seen by the device's queries in the document. */
struct document {
    int64_t row, first, last;
    uint64_t pairs;
};

/* Add what the device's queries of a row see to the sum of their document, which is kept where the
 * document begins. */
static uint64_t add_pairs(const struct viewed *v, int64_t row, uint64_t *sums)
{
    const struct kern_sight *s = &v->sight;
    uint64_t all = 0;

    for (int64_t i = v->query; i < v->query + v->nqueries; i++) {
        int64_t position = kern_order_position(&s->order, i);
        struct kern_span span = kern_sight_span(s, row, position);
        uint64_t seen = (uint64_t)(span.last - span.first + 1);

        sums[s->first[row * s->order.extent + position]] += seen;
        all += seen;
    }
    return all;
}

/* The document with most of what the device's queries see; *all is the sum of all.  false: no
 * memory. */
static bool find_document(struct document *out, uint64_t *all, const struct viewed *v)
{
    const struct kern_sight *s = &v->sight;
    int64_t extent = s->order.extent;
    uint64_t *sums = malloc((size_t)extent * sizeof *sums);

    *out = (struct document){.pairs = 0};
    *all = 0;
    for (int64_t b = 0; sums && b < v->op->desc->attention.batch && b < s->rows; b++) {
        int64_t row = (v->batch + b) % s->rows;

        for (int64_t p = 0; p < extent; p++)
            sums[p] = 0;
        *all += add_pairs(v, row, sums);
        for (int64_t p = 0; p < extent; p++)
            if (sums[p] > out->pairs)
                *out = (struct document){row, p, s->last[row * extent + p], sums[p]};
    }
    free(sums);
    return sums != NULL;
}

static void add_document(const struct viewed *v, struct text *out)
{
    struct document d;
    uint64_t all;

    if (!find_document(&d, &all, v)) {
        out->failed = true;
        return;
    }
    text_addf(out,
              "%.0f %% of what its tokens see is in a document of %" PRId64
              " tokens (sequence %" PRId64 ", from token %" PRId64 " on)",
              all > 0 ? 100 * (double)d.pairs / (double)all : 0, d.last - d.first + 1, d.row,
              d.first);
}

/* ---- another order ---- */

/* The devices' work if tokens were dealt in some order. */
struct dealt {
    double most;    /* flops of the device with the most work */
    double slowest; /* the most flops in each step of a ring, summed; without a ring equal to
                       `most` */
    double times;   /* `most` / mean */
};

static double flops_dealt(const struct viewed *v, const struct kern_sight *sight, uint32_t step,
                          int32_t position)
{
    const struct program_op *op = &v->record->program->ops[v->row->ops[step]];
    int64_t offsets[KERN_OFFSETS_MAX] = {0};
    union kern_desc desc = *op->desc;

    desc.attention.causal = false; /* the sight has the mask */
    desc.attention.sight = sight;
    program_op_offsets(v->record->program, op, position, offsets);
    return (double)op->kernel->flops(&desc, offsets);
}

/* Add the flops of one step to each doer's sum, and the step's largest to `slowest`. */
static void deal_step(struct dealt *out, const struct viewed *v, const struct kern_sight *sight,
                      uint32_t step, double *flops)
{
    double most = 0;

    for (uint32_t d = 0; d < v->row->ndoers; d++) {
        double of_step = flops_dealt(v, sight, step, record_row(v->record, v->row->doers[d]).first);

        most = of_step > most ? of_step : most;
        flops[d] += of_step;
    }
    out->slowest += most;
}

/* false: no memory. */
static bool deal(struct dealt *out, const struct viewed *v, enum kern_order_kind kind,
                 int64_t parts)
{
    struct kern_sight sight = v->sight;
    double *flops = calloc(v->row->ndoers, sizeof *flops), all = 0, weight = 0;

    if (!flops)
        return false;
    *out = (struct dealt){.times = 1};
    sight.pairs = NULL; /* the counted pairs are those of the present order */
    sight.order.kind = kind;
    sight.order.parts = parts;
    for (uint32_t s = 0; s < v->row->nsteps; s++)
        deal_step(out, v, &sight, s, flops);
    for (uint32_t d = 0; d < v->row->ndoers; d++) {
        double ndevices = record_row(v->record, v->row->doers[d]).ndevices;

        out->most = flops[d] > out->most ? flops[d] : out->most;
        all += flops[d] * ndevices;
        weight += ndevices;
    }
    if (all > 0)
        out->times = out->most * weight / all;
    free(flops);
    return true;
}

/* The slowest device's work as a part of its work in `now`: at the end of the ring or summed over
 * its steps, whichever is larger. */
static double left(const struct dealt *dealt, const struct dealt *now)
{
    return fmax(dealt->most / now->most, dealt->slowest / now->slowest);
}

/* Whether queries and keys are the same tokens, which can be dealt in another order. */
static bool is_of_one_sequence(const struct viewed *v)
{
    const struct program_buffer *k = &v->record->program->buffers[v->op->inputs[1]];

    return v->op->desc->attention.sight || k->shape[1] == v->sight.order.extent;
}

/* The order that leaves the slowest device the least work, if worth telling; -1: none. */
static int find_order(struct dealt *best, double *least, const struct viewed *v, int64_t parts)
{
    const struct kern_order *order = &v->sight.order;
    struct dealt now, dealt;
    int which = -1;

    *least = WORTH_TELLING;
    if (!deal(&now, v, order->kind, order->parts) || now.most == 0)
        return -1;
    for (int kind = KERN_CONTIGUOUS; kind < KERN_NORDERS; kind++) {
        if (kind == (int)order->kind ||
            order->extent % kern_order_unit((enum kern_order_kind)kind, parts) ||
            !deal(&dealt, v, (enum kern_order_kind)kind, parts) || left(&dealt, &now) >= *least)
            continue;
        *least = left(&dealt, &now);
        *best = dealt;
        which = kind;
    }
    return which;
}

static void add_better_order(const struct viewed *v, struct text *out)
{
    const struct program_buffer *q = &v->record->program->buffers[v->op->inputs[0]];
    int64_t parts = shd_sharding_nshards(&q->sharding, 1);
    struct dealt best;
    double least;
    int which;

    if (parts == 1 || !is_of_one_sequence(v) ||
        (uint64_t)v->row->ndoers * v->row->nsteps > TRIED_MAX)
        return;
    which = find_order(&best, &least, v, parts);
    if (which >= 0)
        text_addf(out, "; order %s would give %sthe slowest %.0f %% less",
                  kern_order_name((enum kern_order_kind)which),
                  best.times < EVEN ? "all nearly equal work, and " : "", 100 * (1 - least));
}

/* ---- the sentence ---- */

static void add_reason(const struct viewed *v, struct text *out)
{
    const struct kern_sight *s = &v->sight;
    bool in_place = s->order.kind == KERN_CONTIGUOUS;

    if (s->rows > 0)
        add_document(v, out);
    else if (in_place && s->window == 0 && v->query + v->nqueries == s->order.extent)
        text_add(out, "it has the last tokens of each sequence, which attend to the most keys");
    else if (in_place && s->window > 0 && v->query + 1 >= s->window)
        text_addf(out,
                  "each of its tokens attends to %" PRId64
                  ", tokens at the beginning of a sequence to fewer",
                  s->window);
    else
        text_add(out, "more of its tiles of scores have an unmasked pair");
}

void attention_why(const struct attention_row *row, const struct record *record, struct text *out)
{
    struct viewed v = view(row, record);
    int32_t position = record_row(record, row->doers[row->most]).first;

    if (attention_is_even(row)) {
        text_add(out, "devices have nearly equal work");
        return;
    }
    text_addf(out, "device %d has %.1fx the mean of attention: ",
              (int)shd_mesh_device_id(record->program->mesh, position), row->times);
    add_reason(&v, out);
    add_better_order(&v, out);
}
