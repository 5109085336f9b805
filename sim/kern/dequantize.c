/* Floats of codes and their blocks' scales (quant.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <string.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements made at a time */
#define LARGEST 7 /* the code of e2m1's largest level */

/* Where the elements of a row, the last dimension, have their codes and scales. */
struct row {
    const struct kern_dequantize *desc;
    const float *levels; /* NULL: codes are their own */
    const int64_t *offsets;
    int64_t codes, scales; /* of the row's first element */
    bool second;           /* all its codes are the second ones of their bytes */
};

/* The scale's index along a dimension. */
static int64_t scale_index(const struct row *r, uint32_t d, int64_t i)
{
    const struct kern_dequantize *k = r->desc;

    for (uint32_t b = 0; b < k->nboxed; b++)
        if (k->boxed[b] == d)
            return (i + r->offsets[2 * b]) / k->box[d] - r->offsets[2 * b + 1];
    return i;
}

/* Index of the scale of the element with `i` along the last dimension. */
static int64_t scale_of(const struct row *r, int64_t i)
{
    return r->scales + scale_index(r, r->desc->ndims - 1, i);
}

/* Index of the code of that element; *second: it is the second of a byte. */
static int64_t code_index(const struct row *r, int64_t i, bool *second)
{
    bool pairs = r->levels && r->desc->pair_dim == r->desc->ndims - 1;

    *second = pairs ? i % 2 : r->second;
    return r->codes + (pairs ? i / 2 : i);
}

/* The code of an element with levels. */
static unsigned code_of(const struct row *r, const void *codes, int64_t i)
{
    bool second;
    int64_t at = code_index(r, i, &second);

    return (unsigned)((const uint8_t *)codes)[at] >> (second ? 0 : 4) & 15;
}

static double level_of(const struct row *r, const void *codes, int64_t i)
{
    bool second;

    return r->levels ? (double)r->levels[code_of(r, codes, i)]
                     : ((const int8_t *)codes)[code_index(r, i, &second)];
}

/* The scale of that element. */
static double scale_at(const struct row *r, const void *scales, int64_t i)
{
    double kept = kern_load_one(r->desc->scale_dtype, scales, scale_of(r, i));

    return r->desc->type == KERN_MXFP4 ? kern_quant_scale(kept) : kept;
}

static struct row rows_of(const struct kern_dequantize *desc, const int64_t *offsets)
{
    return (struct row){.desc = desc, .levels = kern_quant_levels(desc->type), .offsets = offsets};
}

/* Begin the row of number `n`. */
static void set_row(struct row *r, int64_t n)
{
    const struct kern_dequantize *k = r->desc;
    uint32_t last = k->ndims - 1;
    int64_t codes = 1, scales = k->scales[last]; /* elements of a place of the dimension */

    r->codes = r->scales = 0;
    r->second = false;
    for (uint32_t d = last + 1; d-- > 0;) {
        int64_t extent = k->extent[d], at = d < last ? n % extent : 0;
        bool pairs = r->levels && d == k->pair_dim;

        if (d < last) {
            n /= extent;
            r->scales += scale_index(r, d, at) * scales;
            scales *= k->scales[d];
        }
        r->second |= pairs && at % 2;
        r->codes += (pairs ? at / 2 : at) * codes;
        codes *= pairs ? extent / 2 : extent;
    }
}

static int64_t width_of(const struct kern_dequantize *k)
{
    return k->extent[k->ndims - 1];
}

struct dequantize_run {
    const struct kern_dequantize *desc;
    const struct kern_args *args;
};

static uint64_t make_row(void *arg, int64_t n)
{
    const struct dequantize_run *task = arg;
    const struct kern_args *args = task->args;
    struct row r = rows_of(task->desc, args->offsets);
    const struct kern_dequantize *k = r.desc;
    int64_t width = width_of(k);
    size_t size = kern_size(k->dtype);
    double values[BLOCK], scale = 0;
    int64_t of = -1; /* index of the current scale; neighbouring elements share a scale */

    set_row(&r, n);
    for (int64_t i = 0; i < width; i++) {
        if (scale_of(&r, i) != of) {
            of = scale_of(&r, i);
            scale = scale_at(&r, args->in[1], i);
        }
        values[i % BLOCK] = level_of(&r, args->in[0], i) * scale;
        if (k->dtype != SHD_F64)
            values[i % BLOCK] = (double)(float)values[i % BLOCK];
        if (i % BLOCK == BLOCK - 1 || i == width - 1)
            kern_store_f64(k->dtype,
                           (char *)args->out[0] + (size_t)(n * width + i - i % BLOCK) * size, 1,
                           (size_t)(i % BLOCK + 1), values);
    }
    return 0;
}

static uint64_t nelems(const struct kern_dequantize *k, const int64_t *extent)
{
    return kern_elements(k->ndims, extent, UINT32_MAX);
}

static int64_t nrows(const struct kern_dequantize *k)
{
    return width_of(k) > 0 ? (int64_t)(nelems(k, k->extent) / (uint64_t)width_of(k)) : 0;
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    struct dequantize_run task = {&desc->dequantize, args};

    return kern_parallel(make_row, &task, nrows(&desc->dequantize), args->nthreads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_dequantize *k = &desc->dequantize;
    uint64_t n = nelems(k, k->extent);

    (void)offsets;
    return kern_sat_add(
        kern_sat_add(kern_sat_mul(n, kern_size(k->dtype)), kern_quant_levels(k->type) ? n / 2 : n),
        kern_sat_mul(nelems(k, k->scales), kern_size(k->scale_dtype)));
}

/* The variance of a level whose code may be a neighbour's.  Where the scale may be another power of
 * two, too, the same value was rounded with either: to within half the largest step of each. */
static double level_variance(const struct row *r, const struct kern_error *e, int64_t i, bool jumps)
{
    bool second;
    double variance, step;

    if (!r->levels || !e->variances[0])
        return 0;
    variance = e->variances[0][code_index(r, i, &second)];
    if (variance == 0 || (isinf(variance) && !jumps))
        return variance;
    step = kern_quant_step(r->desc->type, jumps ? LARGEST : code_of(r, e->args->in[0], i));
    return step * step / 4;
}

/* The error of a scale times its level, that of the level, and the rounding of the product. */
static double variance_of(const struct row *r, const struct kern_error *e, int64_t i,
                          double roundoff)
{
    double level = level_of(r, e->args->in[0], i), scale = scale_at(r, e->args->in[1], i);
    double off = e->variances[1] ? e->variances[1][scale_of(r, i)] : 0;
    bool jumps = r->desc->type == KERN_MXFP4 && off > 0;
    double of_level = level_variance(r, e, i, jumps);

    if (isinf(off))
        return INFINITY;
    return (jumps ? 0 : level * level * off) + (of_level > 0 ? scale * scale * of_level : 0) +
           roundoff * roundoff * level * level * scale * scale;
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    struct row r = rows_of(&desc->dequantize, e->args->offsets);
    double roundoff = kern_compute_roundoff(e->type);
    int64_t width = width_of(r.desc);

    for (int64_t n = nrows(r.desc); n-- > 0;) {
        set_row(&r, n);
        for (int64_t i = 0; i < width; i++)
            e->out[0][n * width + i] = variance_of(&r, e, i, roundoff);
    }
    return true;
}

const struct kern_kernel kern_kernel_dequantize = {
    .name = "dequantize", .run = run, .bytes = bytes, .error = error};
