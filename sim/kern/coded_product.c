/* The product of two coded arrays (kern/coded.h): codes are multiplied back by their scales, and
 * the product is that of float32.
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

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements at a time */

/* One operand with its magnitudes. */
struct side {
    const struct kern_grid *grid;
    enum shd_dtype dtype; /* of the magnitudes */
    const int64_t *offsets;
    const void *codes, *amax, *whole;
};

static struct side side_of(const struct kern_coded *c, const struct kern_args *args, uint32_t k)
{
    const struct kern_grid *grid = k ? &c->b : &c->a;
    bool twofold = grid->scaling == KERN_SCALE_DOUBLE;

    return (struct side){grid,        c->dtype,        args->offsets,
                         args->in[k], args->in[2 + k], twofold ? args->in[4 + k] : NULL};
}

static float scale_at(const struct side *s, int64_t at)
{
    return kern_scale_of(s->grid->code, s->grid->scaling,
                         (float)kern_load_one(s->dtype, s->amax, at),
                         s->whole ? (float)kern_load_one(s->dtype, s->whole, 0) : 0)
        .from;
}

/* Decode elements [first, first + n) of a row, n at most BLOCK; in float32 unless everything is
 * float64. */
static void decode_run(const struct side *s, int64_t row, int64_t first, size_t n, double *out)
{
    enum shd_dtype type = s->dtype == SHD_F64 ? SHD_F64 : s->grid->code;
    size_t from = (size_t)(row * kern_grid_width(s->grid) + first);
    int64_t at[BLOCK];

    kern_load_f64(type, (const char *)s->codes + from * kern_size(type), 1, n, out);
    kern_grid_find(s->grid, s->offsets, row, first, n, at);
    for (size_t i = 0; i < n;) {
        int64_t group = at[i];
        float scale = scale_at(s, group);

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

/* The dimensions of the result, and those summed over; of c, a and b. */
static void nests_of(struct kern_nest *kept, struct kern_nest *gone, const struct kern_einsum *e)
{
    *kept = *gone = (struct kern_nest){.narrays = 3};
    for (uint32_t d = 0; d < e->ndims; d++) {
        bool a = e->a_has >> d & 1, b = e->b_has >> d & 1, c = e->c_has >> d & 1;
        const int64_t strides[] = {c ? e->c_stride[d] : 0, a ? e->a_stride[d] : 0,
                                   b ? e->b_stride[d] : 0};

        if (a || b || c)
            kern_nest_add(c ? kept : gone, e->extent[d], strides);
    }
}

/* The product without memory for the operands: slow, and right. */
static uint64_t run_bare(const struct kern_coded *c, const struct side *a, const struct side *b,
                         void *out)
{
    struct kern_nest kept, gone;
    struct kern_walk at, along;

    nests_of(&kept, &gone, &c->einsum);
    kern_walk_init(&at, &kept, 0);
    for (int64_t i = kern_nest_count(&kept); i > 0; i--, kern_walk_advance(&at, 1)) {
        double sum = 0;

        kern_walk_init(&along, &gone, 0);
        for (int64_t k = kern_nest_count(&gone); k > 0; k--, kern_walk_advance(&along, 1))
            sum += decode_one(a, at.offset[1] + along.offset[1]) *
                   decode_one(b, at.offset[2] + along.offset[2]);
        kern_store_f64(c->dtype, (char *)out + (size_t)at.offset[0] * kern_size(c->dtype), 1, 1,
                       &sum);
    }
    return kern_einsum_flops(&c->einsum);
}

static uint64_t elements_of(const struct kern_einsum *e)
{
    return kern_elements(e->ndims, e->extent, e->c_has);
}

/* Round float32 sums to the result's type. */
static void store(const struct kern_coded *c, const float *sums, void *out)
{
    kern_store_f32(c->dtype, out, 1, (size_t)elements_of(&c->einsum), sums);
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_coded *c = &desc->coded;
    const struct side a = side_of(c, args, 0), b = side_of(c, args, 1);
    struct kern_einsum e = c->einsum;
    bool direct = c->dtype == SHD_F64 || c->dtype == SHD_F32;
    void *x = decode(&a), *y = decode(&b);
    void *sums = direct ? args->out[0] : malloc((size_t)elements_of(&e) * sizeof(float) + 1);
    uint64_t flops;

    e.dtype = c->dtype == SHD_F64 ? SHD_F64 : SHD_F32;
    if (x && y && sums) {
        flops = kern_einsum_run(&e, x, y, sums, NULL, args->nthreads);
        if (!direct)
            store(c, sums, args->out[0]);
    } else {
        flops = run_bare(c, &a, &b, args->out[0]);
    }
    free(x);
    free(y);
    if (!direct)
        free(sums);
    return flops;
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_einsum_flops(&desc->coded.einsum);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_coded *c = &desc->coded;
    uint64_t codes = kern_sat_add(kern_grid_elements(&c->a), kern_grid_elements(&c->b));
    uint64_t wide = kern_sat_add(c->a.count, c->b.count);

    (void)offsets;
    wide = kern_sat_add(wide, elements_of(&c->einsum));
    return kern_sat_add(kern_sat_mul(codes, kern_size(c->dtype == SHD_F64 ? SHD_F64 : c->a.code)),
                        kern_sat_mul(wide, kern_size(c->dtype)));
}

/* Variances of decoded elements: of the code, and of a scale that follows from an amax with an
 * error. */
static double *decoded_variances(const struct side *s, const double *codes, const double *vc,
                                 const double *va)
{
    int64_t width = kern_grid_width(s->grid), at;
    uint64_t n = kern_grid_elements(s->grid);
    double *out = malloc((size_t)(n + 1) * sizeof *out);

    for (uint64_t i = 0; i < n && out; i++) {
        double scale, amax, value;

        kern_grid_find(s->grid, s->offsets, (int64_t)i / width, (int64_t)i % width, 1, &at);
        scale = (double)scale_at(s, at);
        amax = ((const double *)s->amax)[at];
        value = codes[i] * scale;
        out[i] = vc ? vc[i] * scale * scale : 0;
        if (va && amax > 0)
            out[i] += value * value * va[at] / (amax * amax);
    }
    return out;
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_coded *c = &desc->coded;
    union kern_desc product = {.einsum = c->einsum};
    const struct side a = side_of(c, e->args, 0), b = side_of(c, e->args, 1);
    double *x = decode(&a), *y = decode(&b);
    double *vx = decoded_variances(&a, a.codes, e->variances[0], e->variances[2]);
    double *vy = decoded_variances(&b, b.codes, e->variances[1], e->variances[3]);
    const void *in[] = {x, y};
    const double *variances[] = {vx, vy};
    struct kern_args args = *e->args;
    struct kern_error inner = *e;
    bool done = x && y && vx && vy;

    product.einsum.dtype = SHD_F64;
    args.in = in;
    inner.args = &args;
    inner.variances = variances;
    done = done && kern_einsum_error(&product, &inner);
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
