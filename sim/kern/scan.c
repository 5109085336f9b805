/* Scans along a dimension: cumulative sums, products, maxima, and first-order recurrences; and how
 * a device continues those of the shards before its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <math.h>
#include <stdlib.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define WIDTH 128 /* elements scanned side by side, on the stack */

struct scan_run {
    const struct kern_scan *s;
    const void *const *in;
    char *out;
    int64_t shard; /* of the device, for a carry */
};

/* Element `i` behind the start of row `t` of outer index `o`. */
static size_t at(const struct kern_scan *s, int64_t extent, int64_t o, int64_t t, int64_t i)
{
    return (size_t)((o * extent + t) * s->inner + i) * kern_size(s->dtype);
}

/* h = a * h + x, or h combined with x. */
static double step(enum kern_scan_fn fn, double h, double x, double a)
{
    switch (fn) {
    case KERN_SCAN_SUM:
        return h + x;
    case KERN_SCAN_PROD:
        return h * x;
    case KERN_SCAN_MAX:
        return x > h || isnan(x) ? x : h;
    case KERN_SCAN_MIN:
        return x < h || isnan(x) ? x : h;
    default:
        return a * h + x;
    }
}

static double neutral(enum kern_scan_fn fn)
{
    return fn == KERN_SCAN_PROD  ? 1
           : fn == KERN_SCAN_MAX ? -INFINITY
           : fn == KERN_SCAN_MIN ? INFINITY
                                 : 0;
}

static void load(const struct kern_scan *s, const void *in, size_t byte, size_t n, double *out)
{
    const char *from = (const char *)in + byte;

    if (s->dtype != SHD_I32) {
        kern_load_f64(s->dtype, from, 1, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = ((const int32_t *)(const void *)from)[i];
}

/* Whole numbers wrap. */
static double wrapped(const struct kern_scan *s, double x)
{
    return s->dtype == SHD_I32 && isfinite(x) ? (double)(int32_t)(uint32_t)(int64_t)x : x;
}

static void store(const struct kern_scan *s, char *to, size_t n, const double *in)
{
    if (s->dtype != SHD_I32) {
        kern_store_f64(s->dtype, to, 1, n, in);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((int32_t *)(void *)to)[i] = (int32_t)in[i];
}

static uint64_t scan_row(void *arg, int64_t o)
{
    const struct scan_run *run = arg;
    const struct kern_scan *s = run->s;
    double h[WIDTH + KERN_LANES], x[WIDTH + KERN_LANES], a[WIDTH + KERN_LANES] = {0};

    for (int64_t i = 0; i < s->inner; i += WIDTH) {
        size_t n = (size_t)(s->inner - i < WIDTH ? s->inner - i : WIDTH);

        for (size_t k = 0; k < n; k++)
            h[k] = neutral(s->fn);
        for (int64_t r = 0; r < s->extent; r++) {
            size_t byte = at(s, s->extent, o, s->reverse ? s->extent - 1 - r : r, i);

            load(s, run->in[0], byte, n, x);
            if (s->fn == KERN_SCAN_LINEAR)
                load(s, run->in[1], byte, n, a);
            for (size_t k = 0; k < n; k++)
                h[k] = wrapped(s, step(s->fn, h[k], x[k], a[k]));
            store(s, run->out + byte, n, h);
        }
    }
    return (uint64_t)(s->extent * s->inner) * (s->fn == KERN_SCAN_LINEAR ? 2 : 1);
}

static uint64_t run_scan(const union kern_desc *desc, const struct kern_args *args)
{
    struct scan_run run = {&desc->scan, args->in, args->out[0], 0};

    return kern_parallel(scan_row, &run, desc->scan.outer, args->nthreads);
}

static uint64_t elements(const struct kern_scan *s)
{
    const int64_t extent[] = {s->outer, s->extent, s->inner};

    return kern_elements(3, extent, 7);
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_sat_mul(elements(&desc->scan), desc->scan.fn == KERN_SCAN_LINEAR ? 2 : 1);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_scan *s = &desc->scan;

    (void)offsets;
    return kern_sat_mul(elements(s), (s->fn == KERN_SCAN_LINEAR ? 3 : 2) * kern_size(s->dtype));
}

/* Deviation of an element of an operand; 0 of an exact one. */
static double off(const struct kern_error *e, uint32_t k, int64_t place)
{
    return e->variances[k] ? sqrt(e->variances[k][place]) : 0;
}

/* Errors of one sequence are taken as of one sign, and roundings as of the size of a scan of
 * absolute values, which bounds what parts of the sequence come to before they are joined. */
static void sequence_error(const struct kern_scan *s, const struct kern_error *e, int64_t o,
                           int64_t i)
{
    const double *x = e->args->in[0], *a = s->fn == KERN_SCAN_LINEAR ? e->args->in[1] : NULL;
    double unit =
        kern_compute_roundoff(e->type) + (e->parts > 1 ? kern_store_roundoff(e->type) : 0);
    double size = 0, dev = 0, rounds = s->fn == KERN_SCAN_MAX || s->fn == KERN_SCAN_MIN ? 0 : 3;

    for (int64_t r = 0; r < s->extent; r++) {
        int64_t t = s->reverse ? s->extent - 1 - r : r;
        int64_t p = (o * s->extent + t) * s->inner + i;

        if (s->fn == KERN_SCAN_MAX || s->fn == KERN_SCAN_MIN) {
            dev = fmax(dev, off(e, 0, p));
        } else if (s->fn == KERN_SCAN_PROD) {
            dev = r == 0 ? off(e, 0, p) : fabs(x[p]) * dev + (size + dev) * off(e, 0, p);
            size = r == 0 ? fabs(x[p]) : fabs(x[p]) * size;
        } else {
            double by = a ? fabs(a[p]) : 1;

            dev = by * dev + (a ? (size + dev) * off(e, 1, p) : 0) + off(e, 0, p);
            size = by * size + fabs(x[p]);
        }
        dev += rounds * unit * size;
        e->out[0][p] = dev * dev;
    }
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_scan *s = &desc->scan;

    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++)
            sequence_error(s, e, o, i);
    return true;
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_scan *s = &desc->scan;
    const struct kern_cut_array rows = {1, 1, s->extent * s->inner};

    (void)wanted;
    out->rows = s->extent * s->inner > 0 ? s->outer : 0;
    out->in[0] = out->out[0] = rows;
    if (s->fn == KERN_SCAN_LINEAR)
        out->in[1] = rows;
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->scan.outer = count;
}

const struct kern_kernel kern_kernel_scan = {.name = "scan",
                                             .run = run_scan,
                                             .flops = flops,
                                             .bytes = bytes,
                                             .error = error,
                                             .cut = cut,
                                             .part = part};

/* ---- the carry ---- */

/* What the scans of the shards before come to: row r of `lasts` is of shard - (shards - 1) + r, or
 * of shard + 1 + r in reverse. */
static void fold(const struct scan_run *run, int64_t o, int64_t i, size_t n, double *h)
{
    const struct kern_scan *s = run->s;
    int64_t rows = s->shards - 1, first = s->reverse ? run->shard + 1 : run->shard - rows;
    double x[WIDTH + KERN_LANES], a[WIDTH + KERN_LANES] = {0};

    for (size_t k = 0; k < n; k++)
        h[k] = neutral(s->fn);
    for (int64_t r = 0; r < rows; r++) {
        int64_t row = s->reverse ? rows - 1 - r : r;

        if (first + row < 0 || first + row >= s->shards)
            continue;
        load(s, run->in[1], at(s, rows, o, row, i), n, x);
        if (s->fn == KERN_SCAN_LINEAR)
            load(s, run->in[3], at(s, rows, o, row, i), n, a);
        for (size_t k = 0; k < n; k++)
            h[k] = wrapped(s, step(s->fn, h[k], x[k], a[k]));
    }
}

static uint64_t carry_row(void *arg, int64_t o)
{
    const struct scan_run *run = arg;
    const struct kern_scan *s = run->s;
    double h[WIDTH + KERN_LANES], x[WIDTH + KERN_LANES], a[WIDTH + KERN_LANES] = {0};

    for (int64_t i = 0; i < s->inner; i += WIDTH) {
        size_t n = (size_t)(s->inner - i < WIDTH ? s->inner - i : WIDTH);

        fold(run, o, i, n, h);
        for (int64_t t = 0; t < s->extent; t++) {
            size_t byte = at(s, s->extent, o, t, i);

            load(s, run->in[0], byte, n, x);
            if (s->fn == KERN_SCAN_LINEAR)
                load(s, run->in[2], byte, n, a);
            for (size_t k = 0; k < n; k++)
                x[k] = wrapped(s, step(s->fn, h[k], x[k], a[k]));
            store(s, run->out + byte, n, x);
        }
    }
    return (uint64_t)((s->extent + s->shards - 1) * s->inner) * (s->fn == KERN_SCAN_LINEAR ? 2 : 1);
}

static uint64_t run_carry(const union kern_desc *desc, const struct kern_args *args)
{
    struct scan_run run = {&desc->scan, args->in, args->out[0], args->offsets[0]};

    return kern_parallel(carry_row, &run, desc->scan.outer, args->nthreads);
}

static uint64_t lasts(const struct kern_scan *s)
{
    const int64_t extent[] = {s->outer, s->shards - 1, s->inner};

    return kern_elements(3, extent, 7);
}

/* Rows of shards that are not before the device's count, too. */
static uint64_t carry_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_sat_mul(kern_sat_add(elements(&desc->scan), lasts(&desc->scan)),
                        desc->scan.fn == KERN_SCAN_LINEAR ? 2 : 1);
}

static uint64_t carry_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_scan *s = &desc->scan;
    uint64_t arrays = s->fn == KERN_SCAN_LINEAR ? 2 : 1;

    (void)offsets;
    return kern_sat_mul(
        kern_sat_add(kern_sat_mul(elements(s), arrays + 1), kern_sat_mul(lasts(s), arrays)),
        kern_size(s->dtype));
}

/* All is computed in float64 from what was given; only the result is rounded. */
static bool carry_error(const union kern_desc *desc, struct kern_error *e)
{
    (void)desc, (void)e;
    return true;
}

const struct kern_kernel kern_kernel_carry = {.name = "carry",
                                              .run = run_carry,
                                              .flops = carry_flops,
                                              .bytes = carry_bytes,
                                              .error = carry_error};
