/* Rows rounded to codes of few bits, with a scale of each block (quant.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/kernel.h"
#include "kern/nest.h"

#define SCALE_ROUNDOFF 0x1p-23 /* of a scale in float32 and of a division by it */

static int64_t blocks_of(const struct kern_quantize *k)
{
    return k->width / k->box;
}

static void store_one(enum shd_dtype dtype, void *base, int64_t at, double value)
{
    kern_store_f64(dtype, (char *)base + (size_t)at * kern_size(dtype), 1, 1, &value);
}

static double load(const struct kern_quantize *k, const void *x, int64_t row, int64_t i)
{
    return kern_load_one(k->dtype, x, row * k->width + i);
}

/* The largest size in a block; NaN stays. */
static double most_of(const struct kern_quantize *k, const void *x, int64_t row, int64_t block)
{
    double most = 0;

    for (int64_t i = block * k->box; i < (block + 1) * k->box; i++) {
        double size = fabs(load(k, x, row, i));

        if (size > most || size != size)
            most = size;
    }
    return most;
}

/* The scale that is stored of a block, as a number. */
static double stored_scale(const struct kern_quantize *k, const void *scales, int64_t at)
{
    double kept = kern_load_one(k->scale_dtype, scales, at);

    return k->type == KERN_MXFP4 ? kern_quant_scale(kept) : kept;
}

struct quantize_run {
    const struct kern_quantize *desc;
    const struct kern_args *args;
};

static uint64_t round_row(void *arg, int64_t row)
{
    const struct quantize_run *task = arg;
    const struct kern_quantize *k = task->desc;
    const void *x = task->args->in[0];
    uint8_t *codes = (uint8_t *)task->args->out[0] + row * (k->width / 2);
    void *scales = task->args->out[1];

    for (int64_t b = 0; b < blocks_of(k); b++) {
        int64_t at = row * blocks_of(k) + b, first = b * k->box;
        double scale = kern_quant_scale_of(k->type, most_of(k, x, row, b));

        store_one(k->scale_dtype, scales, at, kern_quant_kept_scale(k->type, scale));
        scale = stored_scale(k, scales, at);
        for (int64_t i = first; i < first + k->box; i += 2)
            codes[i / 2] = (uint8_t)(kern_quant_code(k->type, load(k, x, row, i), scale) << 4 |
                                     kern_quant_code(k->type, load(k, x, row, i + 1), scale));
    }
    return 0;
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    struct quantize_run task = {&desc->quantize, args};

    return kern_parallel(round_row, &task, desc->quantize.rows, args->nthreads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_quantize *k = &desc->quantize;
    uint64_t n = kern_elements(2, (const int64_t[]){k->rows, k->width}, 3);
    uint64_t nscales = kern_elements(2, (const int64_t[]){k->rows, blocks_of(k)}, 3);

    (void)offsets;
    return kern_sat_add(kern_sat_add(kern_sat_mul(n, kern_size(k->dtype)), n / 2),
                        kern_sat_mul(nscales, kern_size(k->scale_dtype)));
}

/* ---- errors ---- */

/* A block whose elements are off. */
struct rounding {
    const struct kern_quantize *desc;
    const void *x;
    const double *off;     /* variances of x */
    double most, most_off; /* the largest size, and its deviation */
    double scale;
    bool jumps; /* the scale may be another power of two, ... */
    bool lost;  /* ... or any */
};

/* The larger of two variances; NaN means unknown and is ignored. */
static double larger(double a, double b)
{
    return a != a || b <= a ? a : b;
}

/* A largest size is off by no more than the element that is off most. */
static void look_at_block(struct rounding *r, int64_t row, int64_t block)
{
    const struct kern_quantize *k = r->desc;
    double low, high, most_off = 0;

    for (int64_t i = block * k->box; i < (block + 1) * k->box; i++)
        most_off = larger(most_off, r->off[row * k->width + i]);
    r->most = most_of(k, r->x, row, block);
    r->most_off = sqrt(most_off);
    low = kern_quant_scale_of(k->type, fmax(0, r->most - KERN_ERROR_ALLOWED * r->most_off));
    high = kern_quant_scale_of(k->type, r->most + KERN_ERROR_ALLOWED * r->most_off);
    r->jumps = k->type == KERN_MXFP4 && !(low == high);
    r->lost = !isfinite(r->most_off) || (r->jumps && !(high <= 2 * low));
}

/* The variance of a scale as it is kept: of an exponent, or of a number. */
static double variance_of_scale(const struct rounding *r)
{
    double each = r->scale * SCALE_ROUNDOFF, off = r->most > 0 ? r->most_off / r->most : 0;

    if (r->lost)
        return INFINITY;
    if (r->desc->type == KERN_MXFP4)
        return r->jumps ? 1 : 0;
    return each * each + r->scale * r->scale * off * off;
}

/* The most by which the code of an element may be another one's: nothing, if it cannot reach the
 * middle between two levels; more than a neighbour's: infinity. */
static double code_off(const struct rounding *r, double x, double variance)
{
    const struct kern_quantize *k = r->desc;
    const float *levels = kern_quant_levels(k->type);
    double off = sqrt(variance) + fabs(x) * SCALE_ROUNDOFF, apart, step;
    unsigned low, high;

    if (!(r->scale > 0) || !isfinite(variance))
        return variance == 0 ? 0 : INFINITY;
    off += r->most > 0 ? fabs(x) * r->most_off / r->most : 0;
    low = kern_quant_code(k->type, x - KERN_ERROR_ALLOWED * off, r->scale);
    high = kern_quant_code(k->type, x + KERN_ERROR_ALLOWED * off, r->scale);
    apart = fabs((double)levels[high] - (double)levels[low]);
    step = fmax(kern_quant_step(k->type, high), kern_quant_step(k->type, low));
    return apart <= step ? fabs((double)high - (double)low) : INFINITY;
}

static void bound_row(const struct kern_error *e, const struct kern_quantize *k, int64_t row)
{
    struct rounding r = {.desc = k, .x = e->args->in[0], .off = e->variances[0]};

    for (int64_t b = 0; b < blocks_of(k); b++) {
        int64_t at = row * blocks_of(k) + b, first = row * k->width + b * k->box;

        look_at_block(&r, row, b);
        r.scale = stored_scale(k, e->args->out[1], at);
        e->out[1][at] = variance_of_scale(&r);
        for (int64_t i = first; i < first + k->box; i += 2) {
            double upper = code_off(&r, load(k, r.x, 0, i), r.off[i]);
            double lower = code_off(&r, load(k, r.x, 0, i + 1), r.off[i + 1]);

            upper *= KERN_QUANT_LEVELS;
            e->out[0][i / 2] = r.jumps || r.lost ? INFINITY : upper * upper + lower * lower;
        }
    }
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    e->kept = true;
    for (int64_t row = 0; row < desc->quantize.rows && e->variances[0]; row++)
        bound_row(e, &desc->quantize, row);
    return true;
}

const struct kern_kernel kern_kernel_quantize = {
    .name = "quantize", .run = run, .bytes = bytes, .error = error};
