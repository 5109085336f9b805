/* The product of two coded arrays (kern/coded.h), perhaps of experts' rows: codes are multiplied
 * back by their scales, and the product is that of float32.
 *
 * A device's matrix unit does this in registers, so the decoded operands are no memory of the
 * device: they lie in memory of the host, or where there is none each element is decoded anew.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"
#include "kern/quant.h"

#define BLOCK 256 /* elements at a time */

/* One operand with its magnitudes. */
struct side {
    const struct kern_grid *grid, *parts;
    enum shd_dtype dtype;  /* of the product ... */
    enum shd_dtype scales; /* ... and of the groups' magnitudes */
    const int64_t *offsets;
    const void *codes, *amax, *whole;
};

static struct side side_of(const struct kern_coded *c, const struct kern_args *args, uint32_t k)
{
    const struct kern_grid *grid = k ? &c->b : &c->a;
    bool kept = grid->scaling == KERN_SCALE_KEPT && c->dtype != SHD_F64;

    return (struct side){grid,
                         k ? &c->b_parts : &c->a_parts,
                         c->dtype,
                         kept ? SHD_F8E4M3 : c->dtype,
                         args->offsets,
                         args->in[k],
                         args->in[2 + k],
                         kern_scaling_is_twofold(grid->scaling) ? args->in[4 + k] : NULL};
}

/* The scale of element `i` of a row, whose amax is at `at`. */
static float scale_at(const struct side *s, int64_t row, int64_t i, int64_t at)
{
    double whole = 0;
    int64_t part;

    if (s->whole) {
        kern_grid_find(s->parts, s->offsets, row, i, 1, &part);
        whole = kern_load_one(s->dtype, s->whole, part);
    }
    return kern_scale_of(s->grid->code, s->grid->scaling,
                         (float)kern_load_one(s->scales, s->amax, at), (float)whole)
        .from;
}

/* Where the codes of a row lie, two to a byte: in the same halves of successive bytes, or along the
 * row. */
struct halves {
    int64_t byte; /* of the row's first element */
    bool along, second;
};

static struct halves halves_of_row(const struct kern_grid *g, int64_t row)
{
    uint32_t last = g->ndims - 1;
    struct halves out = {.along = g->pair_dim == last};
    int64_t bytes = out.along ? g->extent[last] / 2 : g->extent[last]; /* of a place of dimension d */

    for (uint32_t d = last; d-- > 0;) {
        int64_t at = row % g->extent[d];
        bool paired = d == g->pair_dim;

        row /= g->extent[d];
        out.second |= paired && at % 2 == 1;
        out.byte += (paired ? at / 2 : at) * bytes;
        bytes *= paired ? g->extent[d] / 2 : g->extent[d];
    }
    return out;
}

static double load_half(const struct halves *row, const uint8_t *codes, int64_t i)
{
    bool second = row->along ? i % 2 == 1 : row->second;
    unsigned byte = codes[row->byte + (row->along ? i / 2 : i)];

    return (double)kern_quant_levels(KERN_MXFP4)[byte >> (second ? 0 : 4) & 15];
}

/* Load the codes of elements [first, first + n) of a row as numbers. */
static void load_codes(const struct side *s, int64_t row, int64_t first, size_t n, double *out)
{
    enum shd_dtype type = s->dtype == SHD_F64 ? SHD_F64 : s->grid->code;
    int64_t width = kern_grid_width(s->grid);

    if (s->grid->pairs) {
        struct halves halves = halves_of_row(s->grid, row);

        for (size_t i = 0; i < n; i++)
            out[i] = load_half(&halves, s->codes, first + (int64_t)i);
        return;
    }
    kern_load_f64(type, (const char *)s->codes + (size_t)(row * width + first) * kern_size(type), 1,
                  n, out);
}

/* Decode elements [first, first + n) of a row, n at most BLOCK; in float32 unless everything is
 * float64. */
static void decode_run(const struct side *s, int64_t row, int64_t first, size_t n, double *out)
{
    int64_t at[BLOCK];

    load_codes(s, row, first, n, out);
    kern_grid_find(s->grid, s->offsets, row, first, n, at);
    for (size_t i = 0; i < n;) {
        int64_t group = at[i];
        float scale = scale_at(s, row, first + (int64_t)i, group);

        for (; i < n && at[i] == group; i++)
            out[i] = s->dtype == SHD_F64 ? out[i] * (double)scale : (double)((float)out[i] * scale);
    }
}

static double decode_one(const struct side *s, int64_t at)
{
    int64_t width = kern_grid_width(s->grid);
    double value;

    decode_run(s, at / width, at % width, 1, &value);
    return value;
}

/* A whole operand decoded, in float32 or float64; NULL: no memory. */
static void *decode(const struct side *s)
{
    enum shd_dtype type = s->dtype == SHD_F64 ? SHD_F64 : SHD_F32;
    int64_t rows = kern_grid_rows(s->grid), width = kern_grid_width(s->grid);
    char *out = malloc((size_t)(rows * width) * kern_size(type) + 1);
    double x[BLOCK];

    for (int64_t row = 0; row < rows && out; row++)
        for (int64_t first = 0; first < width; first += BLOCK) {
            size_t n = (size_t)(width - first < BLOCK ? width - first : BLOCK);

            decode_run(s, row, first, n, x);
            kern_store_f64(type, out + (size_t)(row * width + first) * kern_size(type), 1, n, x);
        }
    return out;
}

/* Counts of experts' arrays, which are the last operand; NULL: not of experts. */
static const int32_t *counts_of(const struct kern_coded *c, const struct kern_args *args)
{
    return c->product.routing ? args->in[kern_scaling_is_twofold(c->a.scaling) ? 6 : 4] : NULL;
}

/* The dimensions of the result, and those summed over; of c, a, b, and of the number of an expert's
 * slot. */
static void nests_of(struct kern_nest *kept, struct kern_nest *gone, const struct kern_coded *p)
{
    const struct kern_einsum *e = &p->product.einsum;

    *kept = *gone = (struct kern_nest){.narrays = 4};
    for (uint32_t d = 0; d < e->ndims; d++) {
        bool a = e->a_has >> d & 1, b = e->b_has >> d & 1, c = e->c_has >> d & 1;
        int64_t slots = e->extent[p->product.slot];
        int64_t number = d == p->product.expert ? slots : d == p->product.slot ? 1 : 0;
        const int64_t strides[] = {c ? e->c_stride[d] : 0, a ? e->a_stride[d] : 0,
                                   b ? e->b_stride[d] : 0, number};

        if (a || b || c)
            kern_nest_add(c ? kept : gone, e->extent[d], strides);
    }
}

/* Whether a slot is taken; arrays that are not of experts have no slots. */
static bool is_taken(const struct kern_grouped *p, const int32_t *counts, int64_t number)
{
    int64_t slots = p->einsum.extent[p->slot], slot = number % slots;

    return !counts || slot % p->capacity <
                          counts[slot / p->capacity * p->einsum.extent[p->expert] + number / slots];
}

/* The product without memory for the operands: slow, and right. */
static uint64_t run_bare(const struct kern_coded *c, const struct side *a, const struct side *b,
                         const int32_t *counts, void *out)
{
    struct kern_nest kept, gone;
    struct kern_walk at, along;
    uint64_t flops = 0;

    nests_of(&kept, &gone, c);
    kern_walk_init(&at, &kept, 0);
    for (int64_t i = kern_nest_count(&kept); i > 0; i--, kern_walk_advance(&at, 1)) {
        double sum = 0;

        kern_walk_init(&along, &gone, 0);
        for (int64_t k = kern_nest_count(&gone); k > 0; k--, kern_walk_advance(&along, 1)) {
            if (!is_taken(&c->product, counts, at.offset[3] + along.offset[3]))
                continue;
            sum += decode_one(a, at.offset[1] + along.offset[1]) *
                   decode_one(b, at.offset[2] + along.offset[2]);
            flops += 2;
        }
        kern_store_f64(c->dtype, (char *)out + (size_t)at.offset[0] * kern_size(c->dtype), 1, 1,
                       &sum);
    }
    return flops;
}

static uint64_t elements_of(const struct kern_einsum *e)
{
    return kern_elements(e->ndims, e->extent, e->c_has);
}

/* The product of decoded operands, in their type. */
static union kern_desc decoded_product(const struct kern_coded *c, enum shd_dtype type)
{
    union kern_desc desc = {.grouped = c->product};

    desc.einsum.dtype = type;
    return desc;
}

/* The kernel of decoded operands. */
static const struct kern_kernel *kernel_of(const struct kern_coded *c)
{
    return c->product.routing ? &kern_kernel_grouped : &kern_kernel_einsum;
}

/* Multiply decoded operands; false: no memory to do it in. */
static bool multiply(uint64_t *flops, const struct kern_coded *c, const void *a, const void *b,
                     const struct kern_args *args, void *sums)
{
    const struct kern_kernel *kernel = kernel_of(c);
    const union kern_desc desc = decoded_product(c, c->dtype == SHD_F64 ? SHD_F64 : SHD_F32);
    const void *in[] = {a, b, counts_of(c, args)};
    bool packs = c->product.routing && kernel->workspace_bytes(&desc) > 0;
    void *workspace = packs ? malloc(kernel->workspace_bytes(&desc)) : NULL;
    const struct kern_args inner = {in, &sums, workspace, args->offsets, args->nthreads};

    if (!a || !b || !sums || (packs && !workspace))
        return false;
    *flops = kernel->run(&desc, &inner);
    free(workspace);
    return true;
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_coded *c = &desc->coded;
    const struct side a = side_of(c, args, 0), b = side_of(c, args, 1);
    bool direct = c->dtype == SHD_F64 || c->dtype == SHD_F32;
    void *x = decode(&a), *y = decode(&b);
    uint64_t elements = elements_of(&c->product.einsum), flops = 0;
    void *sums = direct ? args->out[0] : malloc((size_t)elements * sizeof(float) + 1);

    if (!multiply(&flops, c, x, y, args, sums))
        flops = run_bare(c, &a, &b, counts_of(c, args), args->out[0]);
    else if (!direct)
        kern_store_f32(c->dtype, args->out[0], 1, (size_t)elements, sums);
    free(x);
    free(y);
    if (!direct)
        free(sums);
    return flops;
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    const union kern_desc product = decoded_product(&desc->coded, desc->coded.dtype);

    return kern_flops(kernel_of(&desc->coded), &product, offsets);
}

static uint64_t dense_flops(const union kern_desc *desc)
{
    const union kern_desc product = decoded_product(&desc->coded, desc->coded.dtype);

    return kern_dense_flops(kernel_of(&desc->coded), &product);
}

static bool skips(const union kern_desc *desc)
{
    (void)desc;
    return true;
}

/* Elements that a product touches of an array with these dimensions, as experts' products do. */
static uint64_t touched(const struct kern_coded *c, uint64_t elements, uint32_t has,
                        const int64_t *offsets)
{
    double part = c->product.routing ? kern_grouped_part(&c->product, has, offsets) : 1;

    return part < 1 ? (uint64_t)llround((double)elements * part) : elements;
}

/* Bytes of an operand with these dimensions, and its magnitudes. */
static uint64_t side_bytes(const struct kern_coded *c, bool second, const int64_t *offsets)
{
    const struct kern_grid *g = second ? &c->b : &c->a, *parts = second ? &c->b_parts : &c->a_parts;
    bool kept = g->scaling == KERN_SCALE_KEPT && c->dtype != SHD_F64;
    uint32_t has = second ? c->product.einsum.b_has : c->product.einsum.a_has;
    uint64_t codes = touched(c, kern_grid_elements(g), has, offsets);
    size_t each = kern_size(c->dtype == SHD_F64 && !g->pairs ? SHD_F64 : g->code);

    codes = g->pairs ? codes / 2 : kern_sat_mul(codes, each);
    codes = kern_sat_add(codes, kern_sat_mul(touched(c, parts->count, has, offsets),
                                             kern_size(c->dtype)));
    return kern_sat_add(codes, kern_sat_mul(touched(c, g->count, has, offsets),
                                            kern_size(kept ? SHD_F8E4M3 : c->dtype)));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_coded *c = &desc->coded;
    const struct kern_einsum *e = &c->product.einsum;
    bool rows = c->product.routing && e->c_has >> c->product.slot & 1;
    uint64_t made = rows ? touched(c, elements_of(e), e->c_has, offsets) : elements_of(e);

    return kern_sat_add(kern_sat_mul(made, kern_size(c->dtype)),
                        kern_sat_add(side_bytes(c, false, offsets), side_bytes(c, true, offsets)));
}

/* Which experts a device has decides what it does; where magnitudes lie does not. */
static uint64_t as_work_of_experts(union kern_desc *desc, int64_t *offsets)
{
    (void)desc;
    memset(offsets + 1, 0, (KERN_OFFSETS_MAX - 1) * sizeof *offsets);
    return 0;
}

/* Variances of decoded elements: of the code, and of a scale that follows from an amax with an
 * error. */
static double *decoded_variances(const struct side *s, const double *vc, const double *va)
{
    int64_t width = kern_grid_width(s->grid), at;
    uint64_t n = kern_grid_elements(s->grid);
    double *out = malloc((size_t)(n + 1) * sizeof *out);

    for (uint64_t i = 0; i < n && out; i++) {
        double scale, code;

        kern_grid_find(s->grid, s->offsets, (int64_t)i / width, (int64_t)i % width, 1, &at);
        scale = (double)scale_at(s, (int64_t)i / width, (int64_t)i % width, at);
        load_codes(s, (int64_t)i / width, (int64_t)i % width, 1, &code);
        out[i] = kern_decoded_variance(code, scale, ((const double *)s->amax)[at],
                                       vc && !s->grid->pairs ? vc[i] : 0, va ? va[at] : 0);
    }
    return out;
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_coded *c = &desc->coded;
    const union kern_desc product = decoded_product(c, SHD_F64);
    const struct side a = side_of(c, e->args, 0), b = side_of(c, e->args, 1);
    double *x = decode(&a), *y = decode(&b);
    double *vx = decoded_variances(&a, e->variances[0], e->variances[2]);
    double *vy = decoded_variances(&b, e->variances[1], e->variances[3]);
    const void *in[] = {x, y, counts_of(c, e->args)};
    const double *variances[] = {vx, vy, NULL};
    struct kern_args args = *e->args;
    struct kern_error inner = *e;
    bool done = x && y && vx && vy;

    args.in = in;
    inner.args = &args;
    inner.variances = variances;
    done = done && kernel_of(c)->error(&product, &inner);
    free(x);
    free(y);
    free(vx);
    free(vy);
    return done;
}

const struct kern_kernel kern_kernel_coded = {.name = "coded product",
                                              .run = run,
                                              .flops = flops,
                                              .bytes = bytes,
                                              .as_work = kern_coded_as_work,
                                              .error = error};

const struct kern_kernel kern_kernel_coded_grouped = {.name = "coded grouped",
                                                      .run = run,
                                                      .flops = flops,
                                                      .dense_flops = dense_flops,
                                                      .skips = skips,
                                                      .uneven = KERN_BY_ROUTING,
                                                      .bytes = bytes,
                                                      .as_work = as_work_of_experts,
                                                      .error = error};

bool kern_multiplies_codes(const struct kern_kernel *kernel)
{
    return kernel == &kern_kernel_coded || kernel == &kern_kernel_coded_grouped;
}
