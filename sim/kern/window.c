/* Slice, pad, reversal and concatenation along one dimension.
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

#define ROWS 64 /* rows in one task */

struct window_run {
    const struct kern_window *window;
    const void *const *in;
    char *out;
};

static int64_t ncovered(const struct kern_window *w)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < w->ninputs; i++)
        n += w->count[i];
    return n;
}

static int64_t step_of(int64_t step)
{
    return step ? step : 1;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* The same work on a device's arrays alone. */
static struct kern_window on_device(const struct kern_window *w, const int64_t *offsets)
{
    struct kern_window own = *w;

    for (uint32_t i = 0; i < w->ninputs && w->cut; i++) {
        int64_t step = step_of(w->to_step[i]), begin = offsets[0] - w->to[i];
        int64_t first = quotient_up(begin, step), end = quotient_up(begin + w->out_extent, step);
        int64_t k = first > 0 ? first : 0;

        end = end < w->count[i] ? end : w->count[i];
        own.from[i] = k - first;
        own.from_step[i] = 1;
        own.to[i] = k * step - begin;
        own.count[i] = end > k ? end - k : 0;
    }
    own.cut = false;
    return own;
}

/* Copy an input's elements along the dimension; `size` is in bytes. */
static void copy(const struct kern_window *w, uint32_t i, char *out, const char *in, size_t size)
{
    int64_t from = step_of(w->from_step[i]), to = step_of(w->to_step[i]);
    int64_t run = from == 1 && to == 1 ? w->count[i] : 1; /* elements that lie together */

    for (int64_t k = 0; k < w->count[i]; k += run)
        memcpy(out + (size_t)(w->to[i] + k * to) * size,
               in + (size_t)(w->from[i] + k * from) * size, (size_t)run * size);
}

static void fill_gaps(const struct kern_window *w, char *out)
{
    const double lanes[KERN_LANES] = {w->fill};
    int64_t n = w->out_extent * w->inner;
    size_t size = kern_size(w->dtype);

    if (w->fill == 0) {
        memset(out, 0, (size_t)n * size);
        return;
    }
    if (w->dtype == SHD_I32)
        *(int32_t *)(void *)out = (int32_t)w->fill;
    else
        kern_store_f64(w->dtype, out, 1, 1, lanes);
    for (int64_t i = 1; i < n; i++)
        memcpy(out + (size_t)i * size, out, size);
}

static uint64_t task(void *arg, int64_t id)
{
    const struct window_run *run = arg;
    const struct kern_window *w = run->window;
    size_t elem = (size_t)w->inner * kern_size(w->dtype);
    int64_t end = w->outer - id * ROWS < ROWS ? w->outer : (id + 1) * ROWS;
    bool gaps = ncovered(w) < w->out_extent;

    for (int64_t row = id * ROWS; row < end; row++) {
        char *out = run->out + (size_t)(row * w->out_extent) * elem;

        if (gaps)
            fill_gaps(w, out);
        for (uint32_t i = 0; i < w->ninputs; i++)
            copy(w, i, out, (const char *)run->in[i] + (size_t)(row * w->in_extent[i]) * elem,
                 elem);
    }
    return 0;
}

static uint64_t run_window(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_window own = on_device(&desc->window, args->offsets);
    struct window_run run = {.window = &own, .in = args->in, .out = args->out[0]};

    if (desc->window.inner == 0 || desc->window.out_extent == 0)
        return 0;
    return kern_parallel(task, &run, (desc->window.outer + ROWS - 1) / ROWS, args->nthreads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_window own = on_device(&desc->window, offsets), *w = &own;
    const int64_t extent[] = {w->outer, w->inner};
    uint64_t along = kern_elements(1, &w->out_extent, 1);

    for (uint32_t i = 0; i < w->ninputs; i++)
        along = kern_sat_add(along, kern_elements(1, &w->count[i], 1));
    return kern_sat_mul(kern_sat_mul(along, kern_elements(2, extent, 3)), kern_size(w->dtype));
}

/* Variances move with the elements; an exact operand has none. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_window own = on_device(&desc->window, e->args->offsets), *w = &own;

    e->kept = true;
    for (uint32_t i = 0; i < w->ninputs; i++)
        for (int64_t row = 0; row < w->outer && e->variances[i]; row++)
            copy(w, i, (char *)(e->out[0] + row * w->out_extent * w->inner),
                 (const char *)(e->variances[i] + row * w->in_extent[i] * w->inner),
                 (size_t)w->inner * sizeof(double));
    return true;
}

/* Cut what is outside the dimension, or inside it. */
static struct kern_cut_array cut_array(const struct kern_window *w, bool inside, int64_t extent)
{
    return inside ? (struct kern_cut_array){w->outer * extent, 1, 1}
                  : (struct kern_cut_array){1, 1, extent * w->inner};
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_window *w = &desc->window;

    out->dim = w->outer < wanted && w->inner > w->outer;
    out->rows = out->dim ? w->inner : w->outer;
    out->out[0] = cut_array(w, out->dim, w->out_extent);
    if (w->outer * w->inner * w->out_extent == 0)
        out->rows = 0;
    for (uint32_t i = 0; i < w->ninputs; i++) {
        out->in[i] = cut_array(w, out->dim, w->in_extent[i]);
        if (w->in_extent[i] == 0)
            out->rows = 0;
    }
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)first, (void)offsets;
    *(cut->dim ? &desc->window.inner : &desc->window.outer) = count;
}

const struct kern_kernel kern_kernel_window = {
    .name = "window", .run = run_window, .bytes = bytes, .error = error, .cut = cut, .part = part};
