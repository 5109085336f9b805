/* An array rounded to codes of 8 or 4 bits, and back (kern/coded.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <math.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements at a time */

/* The codes' type, as numbers of float64 where everything is. */
static enum shd_dtype code_type(const struct kern_encode *e)
{
    return e->dtype == SHD_F64 ? SHD_F64 : e->grid.code;
}

/* The scale of element `i` of a row, whose amax is at `at`. */
static struct kern_scale scale_at(const struct kern_encode *e, const struct kern_args *args,
                                  int64_t row, int64_t i, int64_t at)
{
    double whole = 0;
    int64_t part;

    if (e->grid.scaling == KERN_SCALE_DOUBLE) {
        kern_grid_find(&e->parts, args->offsets, row, i, 1, &part);
        whole = kern_load_one(e->dtype, args->in[2], part);
    }
    return kern_scale_of(e->grid.code, e->grid.scaling,
                         (float)kern_load_one(e->dtype, args->in[1], at), (float)whole);
}

/* An element multiplied by its scale, in the type of the computation. */
static double scaled(const struct kern_encode *e, double x, float to)
{
    return e->dtype == SHD_F64 ? x * (double)to : (double)((float)x * to);
}

/* Round n elements of a row from `first` on, of which neighbours mostly share a scale. */
static void round_run(const struct kern_encode *e, const struct kern_args *args, int64_t row,
                      int64_t first, const int64_t *at, double *x, size_t n)
{
    for (size_t i = 0; i < n;) {
        int64_t group = at[i];
        struct kern_scale scale = scale_at(e, args, row, first + (int64_t)i, group);

        for (; i < n && at[i] == group; i++)
            x[i] = kern_code_round(e->grid.code, scaled(e, x[i], scale.to));
    }
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_encode *e = &desc->encode;
    int64_t rows = kern_grid_rows(&e->grid), width = kern_grid_width(&e->grid), at[BLOCK];
    size_t in_size = kern_size(e->dtype), out_size = kern_size(code_type(e));
    double x[BLOCK];

    for (int64_t row = 0; row < rows; row++)
        for (int64_t first = 0; first < width; first += BLOCK) {
            size_t n = (size_t)(width - first < BLOCK ? width - first : BLOCK);
            size_t from = (size_t)(row * width + first);

            kern_load_f64(e->dtype, (const char *)args->in[0] + from * in_size, 1, n, x);
            kern_grid_find(&e->grid, args->offsets, row, first, n, at);
            round_run(e, args, row, first, at, x, n);
            kern_store_f64(code_type(e), (char *)args->out[0] + from * out_size, 1, n, x);
        }
    return 0;
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_encode *e = &desc->encode;
    uint64_t n = kern_grid_elements(&e->grid);

    (void)offsets;
    return kern_sat_add(
        kern_sat_mul(kern_sat_add(n, e->grid.count + e->parts.count), kern_size(e->dtype)),
        kern_sat_mul(n, kern_size(code_type(e))));
}

/* Whether the scale may differ by a power of two, as amax may lie on either side of one. */
static bool may_jump(const struct kern_encode *e, float amax, double off)
{
    float low = kern_scale_of(e->grid.code, KERN_SCALE_POWER, (float)(amax - off), 0).to;
    float high = kern_scale_of(e->grid.code, KERN_SCALE_POWER, (float)(amax + off), 0).to;

    return e->grid.scaling == KERN_SCALE_POWER && !(low == high);
}

/* The variance of a code whose element is off by the standard deviation `x_off` and its amax by
 * `amax_off`.  An element that cannot reach the middle between two codes keeps its code.  Another
 * may be rounded either way, which adds half a step of codes to what the element is off. */
static double variance(const struct kern_encode *e, double x, double x_off, struct kern_scale scale,
                       float amax, double amax_off)
{
    double t = x * (double)scale.to, code = kern_code_round(e->grid.code, t), off, low, high, step;
    double jump = may_jump(e, amax, KERN_ERROR_ALLOWED * amax_off) ? code * code : 0;

    off = x_off * (double)scale.to + (amax > 0 ? fabs(t) * amax_off / amax : 0);
    if (e->grid.scaling == KERN_SCALE_DOUBLE && amax_off > 0)
        off += fabs(t) * 0x1p-4; /* the inner scale may be the next number of e4m3 */
    off += fabs(t) * 0x1p-24;    /* the scaled element is rounded to float32 */
    low = kern_code_round(e->grid.code, t - KERN_ERROR_ALLOWED * off);
    high = kern_code_round(e->grid.code, t + KERN_ERROR_ALLOWED * off);
    step = fmax(fabs(low - code), fabs(high - code));
    if (step == 0)
        return jump;
    step = fmin(step, 2 * kern_store_loss(e->grid.code, code));
    return jump + off * off + step * step / 4;
}

static bool error(const union kern_desc *desc, struct kern_error *out)
{
    const struct kern_encode *e = &desc->encode;
    const double *x = out->args->in[0], *amax = out->args->in[1];
    const double *vx = out->variances[0], *va = out->variances[1];
    int64_t width = kern_grid_width(&e->grid), at;

    out->kept = true;
    for (int64_t i = 0; i < (int64_t)kern_grid_elements(&e->grid); i++) {
        double v;

        kern_grid_find(&e->grid, out->args->offsets, i / width, i % width, 1, &at);
        v = variance(e, x[i], sqrt(vx ? vx[i] : 0),
                     scale_at(e, out->args, i / width, i % width, at), (float)amax[at],
                     sqrt(va ? va[at] : 0));
        out->out[0][i] = v == v ? v : KERN_ERROR_UNKNOWN;
    }
    return true;
}

/* ---- back ---- */

/* What n codes of a row stand for, from `first` on. */
static void restore_run(const struct kern_encode *e, const struct kern_args *args, int64_t row,
                        int64_t first, const int64_t *at, double *x, size_t n)
{
    for (size_t i = 0; i < n;) {
        int64_t group = at[i];
        struct kern_scale scale = scale_at(e, args, row, first + (int64_t)i, group);

        for (; i < n && at[i] == group; i++)
            x[i] = scaled(e, x[i], scale.from);
    }
}

static uint64_t restore(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_encode *e = &desc->encode;
    int64_t rows = kern_grid_rows(&e->grid), width = kern_grid_width(&e->grid), at[BLOCK];
    size_t in_size = kern_size(code_type(e)), out_size = kern_size(e->dtype);
    double x[BLOCK];

    for (int64_t row = 0; row < rows; row++)
        for (int64_t first = 0; first < width; first += BLOCK) {
            size_t n = (size_t)(width - first < BLOCK ? width - first : BLOCK);
            size_t from = (size_t)(row * width + first);

            kern_load_f64(code_type(e), (const char *)args->in[0] + from * in_size, 1, n, x);
            kern_grid_find(&e->grid, args->offsets, row, first, n, at);
            restore_run(e, args, row, first, at, x, n);
            kern_store_f64(e->dtype, (char *)args->out[0] + from * out_size, 1, n, x);
        }
    return 0;
}

static bool restore_error(const union kern_desc *desc, struct kern_error *out)
{
    const struct kern_encode *e = &desc->encode;
    const double *codes = out->args->in[0], *amax = out->args->in[1];
    const double *vc = out->variances[0], *va = out->variances[1];
    int64_t width = kern_grid_width(&e->grid), at;

    for (int64_t i = 0; i < (int64_t)kern_grid_elements(&e->grid); i++) {
        double from;

        kern_grid_find(&e->grid, out->args->offsets, i / width, i % width, 1, &at);
        from = (double)scale_at(e, out->args, i / width, i % width, at).from;
        out->out[0][i] =
            kern_decoded_variance(codes[i], from, amax[at], vc ? vc[i] : 0, va ? va[at] : 0);
    }
    return true;
}

const struct kern_kernel kern_kernel_decode = {.name = "decode",
                                               .run = restore,
                                               .bytes = bytes,
                                               .as_work = kern_coded_as_work,
                                               .error = restore_error};

const struct kern_kernel kern_kernel_encode = {
    .name = "encode", .run = run, .bytes = bytes, .as_work = kern_coded_as_work, .error = error};
