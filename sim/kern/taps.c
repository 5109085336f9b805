/* Windows of a dimension, each of several taps, as a convolution multiplies and a pooling reduces
 * them; and the sum that takes the taps back to their elements.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define WIDTH 256 /* elements summed at a time, on the stack */

struct taps_run {
    const struct kern_taps *taps;
    const char *in;
    char *out;
    int64_t window0, element0; /* first of the device */
};

static struct taps_run run_of(const struct kern_taps *t, const struct kern_args *args)
{
    int64_t first = args->offsets[0];

    return (struct taps_run){.taps = t,
                             .in = args->in[0],
                             .out = args->out[0],
                             .window0 = first,
                             .element0 = t->around ? first * t->stride - t->low : args->offsets[1]};
}

/* The device's element for a tap of one of its windows; negative: it has none. */
static int64_t element_of(const struct taps_run *run, int64_t window, int64_t tap)
{
    const struct kern_taps *t = run->taps;
    int64_t at = (run->window0 + window) * t->stride + tap * t->dilation - t->low;

    if (at < 0 || at >= t->held || at - run->element0 >= t->extent)
        return -1;
    return at - run->element0;
}

static void fill(const struct kern_taps *t, char *out)
{
    const double lanes[KERN_LANES] = {t->fill};
    size_t size = kern_size(t->dtype);

    if (t->dtype == SHD_I32)
        *(int32_t *)(void *)out = (int32_t)t->fill;
    else
        kern_store_f64(t->dtype, out, 1, 1, lanes);
    for (int64_t i = 1; i < t->inner; i++)
        memcpy(out + (size_t)i * size, out, size);
}

/* The windows of one row. */
static uint64_t copy_row(void *arg, int64_t row)
{
    const struct taps_run *run = arg;
    const struct kern_taps *t = run->taps;
    size_t bytes = (size_t)t->inner * kern_size(t->dtype);
    char *out = run->out + (size_t)(row * t->windows * t->taps) * bytes;

    for (int64_t w = 0; w < t->windows; w++)
        for (int64_t k = 0; k < t->taps; k++, out += bytes) {
            int64_t at = element_of(run, w, k);

            if (at < 0)
                fill(t, out);
            else
                memcpy(out, run->in + (size_t)(row * t->extent + at) * bytes, bytes);
        }
    return 0;
}

static uint64_t run_taps(const union kern_desc *desc, const struct kern_args *args)
{
    struct taps_run run = run_of(&desc->taps, args);

    if (desc->taps.inner == 0)
        return 0;
    return kern_parallel(copy_row, &run, desc->taps.outer, args->nthreads);
}

static uint64_t elements(const struct kern_taps *t)
{
    const int64_t extent[] = {t->outer, t->windows, t->taps, t->inner};

    return kern_elements(4, extent, 15);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_taps *t = &desc->taps;
    const int64_t extent[] = {t->outer, t->extent, t->inner};

    (void)offsets;
    return kern_sat_mul(kern_sat_add(elements(t), kern_elements(3, extent, 7)),
                        kern_size(t->dtype));
}

/* Variances move with the elements; the fill is exact. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    struct kern_taps t = desc->taps;
    struct taps_run run = run_of(&t, e->args);

    e->kept = true;
    if (!e->variances[0])
        return true;
    t.dtype = SHD_F64;
    t.fill = 0;
    run.in = (const char *)e->variances[0];
    run.out = (char *)e->out[0];
    for (int64_t row = 0; row < t.outer && t.inner > 0; row++)
        copy_row(&run, row);
    return true;
}

static void cut_rows(const struct kern_taps *t, struct kern_cut *out, struct kern_cut_array *array,
                     struct kern_cut_array *windows)
{
    out->rows = t->extent * t->windows * t->taps * t->inner > 0 ? t->outer : 0;
    *array = (struct kern_cut_array){1, 1, t->extent * t->inner};
    *windows = (struct kern_cut_array){1, 1, t->windows * t->taps * t->inner};
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_rows(&desc->taps, out, &out->in[0], &out->out[0]);
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->taps.outer = count;
}

const struct kern_kernel kern_kernel_taps = {
    .name = "windows", .run = run_taps, .bytes = bytes, .error = error, .cut = cut, .part = part};

/* ---- the sum ---- */

#define ADD_TAPS(name, T, load, store)                                                             \
    static void name(const struct taps_run *run, int64_t row, int64_t at, int64_t first, size_t n) \
    {                                                                                              \
        const struct kern_taps *t = run->taps;                                                     \
        int64_t size = (int64_t)kern_size(t->dtype);                                               \
        T sum[WIDTH] = {0}, more[WIDTH + KERN_LANES];                                              \
                                                                                                   \
        for (int64_t k = 0; k < t->taps; k++) {                                                    \
            int64_t w = run->element0 + at + t->low - k * t->dilation;                             \
                                                                                                   \
            if (w < 0 || w % t->stride || w / t->stride < run->window0 ||                          \
                w / t->stride - run->window0 >= t->windows)                                        \
                continue;                                                                          \
            w = w / t->stride - run->window0;                                                      \
            load(t->dtype,                                                                         \
                 run->in + (((row * t->windows + w) * t->taps + k) * t->inner + first) * size, 1,  \
                 n, more);                                                                         \
            for (size_t i = 0; i < n; i++)                                                         \
                sum[i] += more[i];                                                                 \
        }                                                                                          \
        store(t->dtype, run->out + ((row * t->extent + at) * t->inner + first) * size, 1, n, sum); \
    }

ADD_TAPS(add_f32, float, kern_load_f32, kern_store_f32)
ADD_TAPS(add_f64, double, kern_load_f64, kern_store_f64)

static uint64_t sum_row(void *arg, int64_t row)
{
    const struct taps_run *run = arg;
    const struct kern_taps *t = run->taps;

    for (int64_t at = 0; at < t->extent; at++)
        for (int64_t first = 0; first < t->inner; first += WIDTH) {
            size_t n = (size_t)(t->inner - first < WIDTH ? t->inner - first : WIDTH);
            bool is = run->element0 + at >= 0 && run->element0 + at < t->held;
            char *out = run->out +
                        (size_t)((row * t->extent + at) * t->inner + first) * kern_size(t->dtype);

            if (!is)
                memset(out, 0, n * kern_size(t->dtype));
            else if (t->dtype == SHD_F64)
                add_f64(run, row, at, first, n);
            else
                add_f32(run, row, at, first, n);
        }
    /* Taps outside of the device's elements count, too: which they are only offsets know. */
    return (uint64_t)(t->windows * t->taps * t->inner);
}

static uint64_t run_sum(const union kern_desc *desc, const struct kern_args *args)
{
    struct taps_run run = run_of(&desc->taps, args);

    if (desc->taps.inner == 0)
        return 0;
    return kern_parallel(sum_row, &run, desc->taps.outer, args->nthreads);
}

static uint64_t sum_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return elements(&desc->taps);
}

static bool sum_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_taps *t = &desc->taps;

    return kern_error_added(&kern_kernel_taps_sum, desc, e, 0, elements(t),
                            (uint64_t)(t->outer * t->extent * t->inner), (double)t->taps,
                            kern_compute_roundoff(e->type));
}

static void sum_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_rows(&desc->taps, out, &out->out[0], &out->in[0]);
}

const struct kern_kernel kern_kernel_taps_sum = {.name = "sum of windows",
                                                 .run = run_sum,
                                                 .flops = sum_flops,
                                                 .bytes = bytes,
                                                 .error = sum_error,
                                                 .cut = sum_cut,
                                                 .part = part};
