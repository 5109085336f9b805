/* Cutting kernels into rows (kern/cut.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/cut.h"

#include "kern/nest.h"

/* Least rows of a part: a dimension of one is dropped from a nest, and another loop order might be
 * chosen for the rest. */
#define LEAST_OF_NESTS 2

/* ---- nests ---- */

void kern_cut_add(struct kern_cut_nest *nest, uint32_t has, int64_t *stride,
                  struct kern_cut_array *array)
{
    nest->sides[nest->narrays].has = has;
    nest->sides[nest->narrays].stride = stride;
    nest->sides[nest->narrays++].array = array;
}

static bool side_has(const struct kern_cut_nest *nest, uint32_t side, uint32_t d)
{
    return nest->sides[side].has >> d & 1;
}

/* The dimension of the result, of more than one element, that is next inside a stride; ndims:
 * none. */
static uint32_t next_inside(const struct kern_cut_nest *nest, int64_t stride)
{
    const int64_t *strides = nest->sides[0].stride;
    uint32_t next = nest->ndims;

    for (uint32_t d = 0; d < nest->ndims; d++)
        if (side_has(nest, 0, d) && nest->extent[d] > 1 && strides[d] < stride &&
            (next == nest->ndims || strides[d] > strides[next]))
            next = d;
    return next;
}

/* Whether every array traverses the two dimensions as one. */
static bool are_one(const struct kern_cut_nest *nest, uint32_t outer, uint32_t inner)
{
    if ((nest->whole | nest->apart) >> outer & 1 || (nest->whole | nest->apart) >> inner & 1)
        return false;
    for (uint32_t i = 0; i < nest->narrays; i++) {
        const int64_t *stride = nest->sides[i].stride;

        if (side_has(nest, i, outer) != side_has(nest, i, inner) ||
            (side_has(nest, i, outer) && stride[outer] != stride[inner] * nest->extent[inner]))
            return false;
    }
    return true;
}

/* The cut that begins with an outermost dimension. */
static struct kern_cut cut_from(const struct kern_cut_nest *nest, uint32_t d, int64_t wanted)
{
    struct kern_cut cut = {.rows = nest->extent[d], .least = LEAST_OF_NESTS, .dim = d};

    while (cut.rows < wanted) {
        uint32_t next = next_inside(nest, nest->sides[0].stride[cut.dim]);

        if (next == nest->ndims || !are_one(nest, cut.dim, next))
            break;
        cut.merged |= 1u << cut.dim;
        cut.dim = next;
        cut.rows *= nest->extent[next];
    }
    return cut;
}

static void place_array(const struct kern_cut_nest *nest, uint32_t side, const struct kern_cut *cut)
{
    struct kern_cut_array *array = nest->sides[side].array;
    int64_t all = (int64_t)kern_elements(nest->ndims, nest->extent, nest->sides[side].has);

    *array = (struct kern_cut_array){.each = 0};
    if (!side_has(nest, side, cut->dim))
        return;
    array->inner = nest->sides[side].stride[cut->dim];
    array->each = 1;
    array->outer = all / (array->inner * cut->rows);
}

static void choose(const struct kern_cut_nest *nest, int64_t wanted, struct kern_cut *out)
{
    struct kern_cut best = {.rows = 0};
    uint32_t d = next_inside(nest, INT64_MAX);

    if (kern_elements(nest->ndims, nest->extent, UINT32_MAX) == 0)
        return;
    for (; d < nest->ndims && best.rows < wanted; d = next_inside(nest, nest->sides[0].stride[d])) {
        struct kern_cut cut = cut_from(nest, d, wanted);

        if (!(nest->whole >> d & 1) && cut.rows > best.rows)
            best = cut;
    }
    if (best.rows == 0)
        return;
    out->rows = best.rows;
    out->least = best.least;
    out->dim = best.dim;
    out->merged = best.merged;
    for (uint32_t i = 0; i < nest->narrays; i++)
        place_array(nest, i, out);
}

static void shrink(const struct kern_cut_nest *nest, const struct kern_cut *cut, int64_t count)
{
    for (uint32_t i = 0; i < nest->narrays; i++) {
        int64_t inner = side_has(nest, i, cut->dim) ? nest->sides[i].stride[cut->dim] : 0;

        for (uint32_t d = 0; d < nest->ndims && inner > 0; d++)
            if (d != cut->dim && side_has(nest, i, d) &&
                nest->sides[i].stride[d] >= inner * cut->rows)
                nest->sides[i].stride[d] = nest->sides[i].stride[d] / cut->rows * count;
    }
    for (uint32_t d = 0; d < nest->ndims; d++)
        if (cut->merged >> d & 1)
            nest->extent[d] = 1;
    nest->extent[cut->dim] = count;
}

/* ---- kernels ---- */

struct kern_cut kern_cut_of(const struct kern_kernel *kernel, const union kern_desc *desc,
                            int64_t wanted)
{
    struct kern_cut cut = {.rows = 0, .least = 1};
    union kern_desc copy = *desc;

    if (kernel->nest) {
        struct kern_cut_nest nest = kernel->nest(&copy, &cut);

        choose(&nest, wanted, &cut);
    }
    if (kernel->cut)
        kernel->cut(desc, wanted, &cut);
    return cut;
}

void kern_cut_part(const struct kern_kernel *kernel, union kern_desc *desc,
                   const struct kern_cut *cut, int64_t first, int64_t count,
                   int64_t offsets[KERN_OFFSETS_MAX])
{
    if (kernel->part)
        kernel->part(desc, cut, first, count, offsets);
    if (kernel->nest) {
        struct kern_cut arrays;
        struct kern_cut_nest nest = kernel->nest(desc, &arrays);

        shrink(&nest, cut, count);
    }
}

/* ---- einsum, map and reduce ---- */

struct kern_cut_nest kern_einsum_nest(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_einsum *e = &desc->einsum;
    struct kern_cut_nest nest = {.ndims = e->ndims, .extent = e->extent};

    kern_cut_add(&nest, e->c_has, e->c_stride, &arrays->out[0]);
    kern_cut_add(&nest, e->a_has, e->a_stride, &arrays->in[0]);
    kern_cut_add(&nest, e->b_has, e->b_stride, &arrays->in[1]);
    return nest;
}

/* The dimensions with a nonzero stride: an operand is broadcast along the others. */
static uint32_t not_zero(uint32_t ndims, const int64_t *stride)
{
    uint32_t has = 0;

    for (uint32_t d = 0; d < ndims; d++)
        has |= (uint32_t)(stride[d] != 0) << d;
    return has;
}

struct kern_cut_nest kern_map_nest(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_map *m = &desc->map;
    struct kern_cut_nest nest = {.ndims = m->ndims, .extent = m->extent};

    kern_cut_add(&nest, not_zero(m->ndims, m->out_stride), m->out_stride, &arrays->out[0]);
    for (uint32_t i = 0; i < m->ninputs; i++)
        kern_cut_add(&nest, not_zero(m->ndims, m->in_stride[i]), m->in_stride[i], &arrays->in[i]);
    return nest;
}

struct kern_cut_nest kern_reduce_nest(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_reduce *r = &desc->reduce;
    struct kern_cut_nest nest = {.ndims = r->ndims, .extent = r->extent};

    kern_cut_add(&nest, r->out_has, r->out_stride, &arrays->out[0]);
    kern_cut_add(&nest, UINT32_MAX, r->in_stride, &arrays->in[0]);
    return nest;
}

/* ---- attention: rows of the batch, or key heads with the query heads that read them ---- */

static void cut_heads(const struct kern_attention *a, struct kern_cut_array *array, bool queries,
                      int64_t width)
{
    array->outer = a->batch * (queries ? a->queries : a->keys);
    array->each = queries ? a->repeat : 1;
    array->inner = width;
}

static void cut_batch(const struct kern_attention *a, struct kern_cut_array *array, bool queries,
                      int64_t width)
{
    *array = (struct kern_cut_array){
        1, 1, (queries ? a->queries * a->heads : a->keys * a->kv_heads) * width};
}

static void cut_array(const struct kern_attention *a, const struct kern_cut *cut,
                      struct kern_cut_array *array, bool queries, int64_t width)
{
    (cut->dim ? cut_heads : cut_batch)(a, array, queries, width);
}

static void choose_attention(const struct kern_attention *a, int64_t wanted, struct kern_cut *out)
{
    out->dim = a->batch < wanted && a->kv_heads > a->batch; /* 1: the heads */
    out->rows = out->dim ? a->kv_heads : a->batch;
    if (a->queries == 0 || a->keys == 0 || a->head_dim == 0 || a->value_dim == 0)
        out->rows = 0;
    cut_array(a, out, &out->in[0], true, a->head_dim);
    cut_array(a, out, &out->in[1], false, a->head_dim);
    cut_array(a, out, &out->in[2], false, a->value_dim);
}

/* Cut the spans of each row of the batch, if there are documents. */
static void cut_spans(const struct kern_attention *a, const struct kern_cut *cut,
                      struct kern_cut_array *spans)
{
    if (!cut->dim && a->sight->rows > 0)
        *spans = (struct kern_cut_array){1, 1, 2 * a->queries};
}

void kern_attention_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_attention *a = &desc->attention;
    uint32_t next = 3;

    if (a->pages)
        return; /* any row of the batch may read any page of its pool */
    choose_attention(a, wanted, out);
    if (a->sight) {
        cut_spans(a, out, &out->in[next]);
        next += 2;
    }
    if (a->goes_on) {
        cut_array(a, out, &out->in[next], true, a->value_dim);
        cut_array(a, out, &out->in[next + 1], true, 1);
    }
    if (a->sinks && out->dim)
        out->in[kern_attention_sinks(a)] = (struct kern_cut_array){1, a->repeat, 1};
    cut_array(a, out, &out->out[0], true, a->value_dim);
    cut_array(a, out, &out->out[1], true, 1);
}

void kern_attention_grad_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_attention *a = &desc->attention;

    choose_attention(a, wanted, out);
    cut_array(a, out, &out->in[3], true, a->value_dim);
    cut_array(a, out, &out->in[4], true, 1);
    cut_array(a, out, &out->in[5], true, a->value_dim);
    if (a->sight)
        cut_spans(a, out, &out->in[6]);
    cut_array(a, out, &out->out[0], true, a->head_dim);
    cut_array(a, out, &out->out[1], false, a->head_dim);
    cut_array(a, out, &out->out[2], false, a->value_dim);
}

void kern_attention_part(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                         int64_t count, int64_t *offsets)
{
    struct kern_attention *a = &desc->attention;

    if (cut->dim) {
        a->kv_heads = count;
        a->heads = count * a->repeat;
        offsets[KERN_ATTENTION_HEAD0] = first * a->repeat;
        offsets[KERN_ATTENTION_KV_HEAD0] = first;
    } else {
        a->batch = count;
        offsets[KERN_ATTENTION_BATCH0] = first;
    }
}
