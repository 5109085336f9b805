/* The product over experts: one product for each expert and group of tokens, over the taken slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/kernel.h"
#include "kern/nest.h"

static bool sums_groups(const struct kern_grouped *p)
{
    return p->groups > 1 && !(p->einsum.c_has >> p->slot & 1);
}

/* The product of one expert and group, with n slots. */
static struct kern_einsum part_of(const struct kern_grouped *p, int64_t n)
{
    struct kern_einsum e = p->einsum;

    e.extent[p->expert] = 1;
    e.extent[p->slot] = n;
    return e;
}

/* The offset of an expert and group in an array. */
static int64_t part_at(const struct kern_grouped *p, uint32_t has, const int64_t *stride,
                       int64_t expert, int64_t group)
{
    int64_t at = has >> p->expert & 1 ? expert * stride[p->expert] : 0;

    return has >> p->slot & 1 ? at + group * p->capacity * stride[p->slot] : at;
}

static uint64_t result_elements(const struct kern_einsum *e)
{
    return kern_elements(e->ndims, e->extent, e->c_has);
}

/* Where the sum is over slots, an expert's groups form one product: their taken slots are packed
 * one group after the other, so that the sum is rounded once. */

/* Strides of a packed operand of one expert: slots outermost, so that taken slots are
 * contiguous. */
static void packed_strides(const struct kern_grouped *p, uint32_t has, int64_t *stride)
{
    int64_t next = 1;

    for (uint32_t d = p->einsum.ndims; d-- > 0;) {
        stride[d] = 0;
        if (!(has >> d & 1) || d == p->expert || d == p->slot)
            continue;
        stride[d] = next;
        next *= p->einsum.extent[d];
    }
    stride[p->slot] = next;
}

/* Pack an operand's taken slots; it must have slots. */
static void pack(const struct kern_grouped *p, uint32_t has, const int64_t *stride, int64_t expert,
                 const int32_t *counts, const char *from, char *to)
{
    int64_t packed[KERN_DIMS_MAX];
    const struct kern_einsum *e = &p->einsum;
    size_t size = kern_size(e->dtype);
    int64_t nexperts = e->extent[p->expert], done = 0;

    packed_strides(p, has, packed);
    for (int64_t group = 0; group < p->groups; group++) {
        int64_t n = counts[group * nexperts + expert], extent[KERN_DIMS_MAX];
        int64_t apart[KERN_DIMS_MAX], to_apart[KERN_DIMS_MAX];
        uint32_t ndims = 0;

        for (uint32_t d = 0; d < e->ndims; d++) {
            if (!(has >> d & 1) || d == p->expert)
                continue;
            extent[ndims] = d == p->slot ? n : e->extent[d];
            to_apart[ndims] = packed[d];
            apart[ndims++] = stride[d];
        }
        if (n > 0)
            kern_copy_box(size, ndims, extent, to + done * packed[p->slot] * (int64_t)size,
                          to_apart, from + part_at(p, has, stride, expert, group) * (int64_t)size,
                          apart);
        done += n;
    }
}

/* The product of one expert, with n packed slots. */
static struct kern_einsum packed_of(const struct kern_grouped *p, int64_t n)
{
    struct kern_einsum e = part_of(p, n);

    packed_strides(p, e.a_has, e.a_stride);
    packed_strides(p, e.b_has, e.b_stride);
    return e;
}

/* Elements of an operand that one expert has, over all slots. */
static uint64_t operand_elements(const struct kern_grouped *p, uint32_t has)
{
    return kern_elements(p->einsum.ndims, p->einsum.extent, has & ~(1u << p->expert));
}

static int64_t taken_here(const struct kern_grouped *p, const int32_t *counts, int64_t expert)
{
    int64_t nexperts = p->einsum.extent[p->expert], n = 0;

    for (int64_t group = 0; group < p->groups; group++)
        n += counts[group * nexperts + expert];
    return n;
}

/* Run products that sum over slots: both operands have slots, the result has none. */
static uint64_t run_summed(const struct kern_grouped *p, const struct kern_args *args)
{
    const struct kern_einsum *e = &p->einsum;
    size_t size = kern_size(e->dtype);
    char *a = args->workspace, *b = a + operand_elements(p, e->a_has) * size;
    uint64_t flops = 0;

    for (int64_t expert = 0; expert < e->extent[p->expert]; expert++) {
        int64_t n = taken_here(p, args->in[2], expert);
        struct kern_einsum part = packed_of(p, n);

        if (n == 0)
            continue;
        pack(p, e->a_has, e->a_stride, expert, args->in[2], args->in[0], a);
        pack(p, e->b_has, e->b_stride, expert, args->in[2], args->in[1], b);
        flops += kern_einsum_run(&part, a, b,
                                 (char *)args->out[0] +
                                     part_at(p, e->c_has, e->c_stride, expert, 0) * (int64_t)size,
                                 NULL, args->nthreads);
    }
    return flops;
}

static uint64_t run_each(const struct kern_grouped *p, const struct kern_args *args)
{
    const struct kern_einsum *e = &p->einsum;
    const int32_t *counts = args->in[2];
    int64_t nexperts = e->extent[p->expert], size = (int64_t)kern_size(e->dtype);
    uint64_t flops = 0;

    for (int64_t i = 0; i < nexperts * p->groups; i++) {
        int64_t expert = i / p->groups, group = i % p->groups;
        int64_t n = counts[group * nexperts + expert];
        struct kern_einsum part = part_of(p, n);

        if (n == 0)
            continue;
        flops += kern_einsum_run(
            &part,
            (const char *)args->in[0] + part_at(p, e->a_has, e->a_stride, expert, group) * size,
            (const char *)args->in[1] + part_at(p, e->b_has, e->b_stride, expert, group) * size,
            (char *)args->out[0] + part_at(p, e->c_has, e->c_stride, expert, group) * size, NULL,
            args->nthreads);
    }
    return flops;
}

/* Run all products.  The result starts as zeros. */
static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_grouped *p = &desc->grouped;

    memset(args->out[0], 0, result_elements(&p->einsum) * kern_size(p->einsum.dtype));
    return sums_groups(p) ? run_summed(p, args) : run_each(p, args);
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    const struct kern_grouped *p = &desc->grouped;

    if (!sums_groups(p))
        return 0;
    return kern_sat_mul(
        kern_sat_add(operand_elements(p, p->einsum.a_has), operand_elements(p, p->einsum.b_has)),
        kern_size(p->einsum.dtype));
}

static uint64_t flops_of_slot(const struct kern_grouped *p)
{
    struct kern_einsum part = part_of(p, 1);

    return kern_einsum_flops(&part);
}

/* Taken slots in a group, of experts [first, first + n). */
static uint64_t taken(const struct kern_grouped *p, int64_t first, int64_t n)
{
    uint64_t sum = 0;

    for (int64_t i = first; i < first + n && i < p->routing->experts; i++)
        sum += (uint64_t)p->routing->counts[i];
    return sum;
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_grouped *p = &desc->grouped;
    uint64_t slots = taken(p, offsets[0], p->einsum.extent[p->expert]);

    return kern_sat_mul(flops_of_slot(p), kern_sat_mul(slots, (uint64_t)p->groups));
}

/* Flops of kept tokens, spread evenly over all experts. */
static uint64_t dense_flops(const union kern_desc *desc)
{
    const struct kern_grouped *p = &desc->grouped;
    uint64_t slots = kern_sat_mul(taken(p, 0, p->routing->experts), (uint64_t)p->groups);
    uint64_t nexperts = (uint64_t)p->einsum.extent[p->expert];

    return kern_sat_mul(flops_of_slot(p), kern_sat_mul(slots, nexperts) / p->routing->experts);
}

static bool skips(const union kern_desc *desc)
{
    (void)desc;
    return true;
}

double kern_grouped_part(const struct kern_grouped *p, uint32_t has, const int64_t *offsets)
{
    int64_t n = p->einsum.extent[p->expert];
    double all = (double)n * (double)(has >> p->slot & 1 ? p->capacity : 1);

    if (n == 0 || all == 0)
        return 0;
    return (has >> p->slot & 1 ? (double)taken(p, offsets[0], n)
                               : kern_routing_named(p->routing, offsets[0], n, p->groups)) /
           all;
}

static uint64_t part_bytes(const struct kern_grouped *p, uint32_t has, const int64_t *offsets)
{
    uint64_t all = kern_sat_mul(kern_elements(p->einsum.ndims, p->einsum.extent, has),
                                kern_size(p->einsum.dtype));
    double part = kern_grouped_part(p, has, offsets);

    return part < 1 ? (uint64_t)llround((double)all * part) : all;
}

/* Rows that are taken, and of weights those of experts that tokens name.  A result without slots,
 * the weights' gradient, is written whole. */
static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_grouped *p = &desc->grouped;
    const struct kern_einsum *e = &p->einsum;
    uint64_t read =
        kern_sat_add(part_bytes(p, e->a_has, offsets), part_bytes(p, e->b_has, offsets));

    return kern_sat_add(read, e->c_has >> p->slot & 1
                                  ? part_bytes(p, e->c_has, offsets)
                                  : kern_sat_mul(result_elements(e), kern_size(e->dtype)));
}

/* ---- errors ---- */

/* A part of an array of doubles, NULL without an array. */
static double *shifted(const double *x, int64_t at)
{
    return x ? (double *)(uintptr_t)(x + at) : NULL;
}

/* The rule of products, for n contiguous slots in the operands `in` and variances `off`, for the
 * result from element c on. */
static bool part_error(struct kern_einsum product, const struct kern_error *e,
                       const void *const in[2], const double *const off[2], int64_t c)
{
    void *results[] = {shifted(e->args->out[0], c)};
    double *outs[] = {shifted(e->out[0], c)};
    const struct kern_args args = {in, results, NULL, e->args->offsets, e->args->nthreads};
    struct kern_error part = {
        .args = &args, .variances = off, .out = outs, .type = e->type, .parts = e->parts};
    union kern_desc desc = {.einsum = product};

    return kern_einsum_error(&desc, &part);
}

static bool each_error(const struct kern_grouped *p, const struct kern_error *e)
{
    const struct kern_einsum *all = &p->einsum;
    const int32_t *counts = e->args->in[2];
    int64_t nexperts = all->extent[p->expert];
    bool done = true;

    for (int64_t i = 0; i < nexperts * p->groups && done; i++) {
        int64_t expert = i / p->groups, group = i % p->groups;
        int64_t n = counts[group * nexperts + expert];
        int64_t a = part_at(p, all->a_has, all->a_stride, expert, group);
        int64_t b = part_at(p, all->b_has, all->b_stride, expert, group);
        const void *in[] = {shifted(e->args->in[0], a), shifted(e->args->in[1], b)};
        const double *off[] = {shifted(e->variances[0], a), shifted(e->variances[1], b)};

        if (n > 0)
            done = part_error(part_of(p, n), e, in, off,
                              part_at(p, all->c_has, all->c_stride, expert, group));
    }
    return done;
}

/* An operand's values or variances, packed like the kernel's; NULL: none, or no memory. */
static double *packed(const struct kern_grouped *p, uint32_t has, const int64_t *stride,
                      int64_t expert, const int32_t *counts, const double *from, bool *failed)
{
    double *to = from ? malloc((operand_elements(p, has) + 1) * sizeof *to) : NULL;

    *failed |= from && !to;
    if (to)
        pack(p, has, stride, expert, counts, (const char *)from, (char *)to);
    return to;
}

static bool summed_error(const struct kern_grouped *p, const struct kern_error *e)
{
    const struct kern_einsum *all = &p->einsum;
    const int32_t *counts = e->args->in[2];
    bool failed = false;

    for (int64_t expert = 0; expert < all->extent[p->expert] && !failed; expert++) {
        int64_t n = taken_here(p, counts, expert);
        double *own[4] = {
            packed(p, all->a_has, all->a_stride, expert, counts, e->args->in[0], &failed),
            packed(p, all->b_has, all->b_stride, expert, counts, e->args->in[1], &failed),
            packed(p, all->a_has, all->a_stride, expert, counts, e->variances[0], &failed),
            packed(p, all->b_has, all->b_stride, expert, counts, e->variances[1], &failed)};
        const void *in[] = {own[0], own[1]};
        const double *off[] = {own[2], own[3]};

        if (!failed && n > 0)
            failed = !part_error(packed_of(p, n), e, in, off,
                                 part_at(p, all->c_has, all->c_stride, expert, 0));
        for (int k = 0; k < 4; k++)
            free(own[k]);
    }
    return !failed;
}

/* Apply the rule; its arrays are float64. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    struct kern_grouped p = desc->grouped;

    p.einsum.dtype = SHD_F64;
    return sums_groups(&p) ? summed_error(&p, e) : each_error(&p, e);
}

/* ---- parts ---- */

/* The nest to cut: experts, or a dimension of each expert's product. */
static struct kern_cut_nest nest_of(union kern_desc *desc, struct kern_cut *arrays)
{
    struct kern_grouped *p = &desc->grouped;
    struct kern_einsum *e = &p->einsum;
    struct kern_cut_nest nest = {
        .ndims = e->ndims, .extent = e->extent, .whole = 1u << p->slot, .apart = 1u << p->expert};

    kern_cut_add(&nest, e->c_has, e->c_stride, &arrays->out[0]);
    kern_cut_add(&nest, e->a_has, e->a_stride, &arrays->in[0]);
    kern_cut_add(&nest, e->b_has, e->b_stride, &arrays->in[1]);
    return nest;
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_grouped *p = &desc->grouped;

    (void)wanted;
    if (out->rows == 0 || out->dim != p->expert)
        return;
    out->in[2] = (struct kern_cut_array){p->groups, 1, 1}; /* counts */
    out->least = 1;                                        /* experts are multiplied one by one */
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)count;
    if (cut->dim == desc->grouped.expert)
        offsets[0] = first;
}

const struct kern_kernel kern_kernel_grouped = {.name = "grouped",
                                                .run = run,
                                                .flops = flops,
                                                .bytes = bytes,
                                                .dense_flops = dense_flops,
                                                .skips = skips,
                                                .uneven = KERN_BY_ROUTING,
                                                .workspace_bytes = workspace_bytes,
                                                .error = error,
                                                .nest = nest_of,
                                                .cut = cut,
                                                .part = part};
