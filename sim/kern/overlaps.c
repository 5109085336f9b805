/* The sum of arrays that overlap along a dimension: a device's own part and what its neighbours
 * have for its elements.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

#define WIDTH 256 /* elements summed at a time, on the stack */

struct overlaps_run {
    const struct kern_overlaps *o;
    const void *const *in;
    char *out;
};

/* Where an input has the elements of a place of the result; negative: nowhere. */
static int64_t place_in(const struct kern_overlaps *o, uint32_t k, int64_t at)
{
    return at < o->at[k] || at - o->at[k] >= o->count[k] ? -1 : at - o->at[k];
}

static uint64_t add_row(void *arg, int64_t row)
{
    const struct overlaps_run *run = arg;
    const struct kern_overlaps *o = run->o;
    size_t size = kern_size(o->dtype);
    double sum[WIDTH], more[WIDTH + KERN_LANES];
    uint64_t flops = 0;

    for (int64_t at = 0; at < o->extent; at++)
        for (int64_t first = 0; first < o->inner; first += WIDTH) {
            size_t n = (size_t)(o->inner - first < WIDTH ? o->inner - first : WIDTH);

            for (size_t i = 0; i < n; i++)
                sum[i] = 0;
            for (uint32_t k = 0; k < o->ninputs; k++) {
                int64_t from = place_in(o, k, at);

                if (from < 0)
                    continue;
                kern_load_f64(o->dtype,
                              (const char *)run->in[k] +
                                  (size_t)((row * o->count[k] + from) * o->inner + first) * size,
                              1, n, more);
                for (size_t i = 0; i < n; i++)
                    sum[i] += more[i];
                flops += n;
            }
            kern_store_f64(o->dtype,
                           run->out + (size_t)((row * o->extent + at) * o->inner + first) * size, 1,
                           n, sum);
        }
    return flops;
}

static uint64_t run_overlaps(const union kern_desc *desc, const struct kern_args *args)
{
    struct overlaps_run run = {&desc->overlaps, args->in, args->out[0]};

    if (desc->overlaps.inner == 0)
        return 0;
    return kern_parallel(add_row, &run, desc->overlaps.outer, args->nthreads);
}

/* Elements of an input that are for a place of the result. */
static uint64_t shared(const struct kern_overlaps *o, uint32_t k)
{
    int64_t first = o->at[k] > 0 ? o->at[k] : 0, end = o->at[k] + o->count[k];
    const int64_t extent[] = {o->outer, (end < o->extent ? end : o->extent) - first, o->inner};

    return extent[1] > 0 ? kern_elements(3, extent, 7) : 0;
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    uint64_t n = 0;

    (void)offsets;
    for (uint32_t k = 0; k < desc->overlaps.ninputs; k++)
        n = kern_sat_add(n, shared(&desc->overlaps, k));
    return n;
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_overlaps *o = &desc->overlaps;
    const int64_t extent[] = {o->outer, o->extent, o->inner};

    return kern_sat_mul(kern_sat_add(flops(desc, offsets), kern_elements(3, extent, 7)),
                        kern_size(o->dtype));
}

/* Sums are of float64, so that only the result is rounded. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_overlaps *o = &desc->overlaps;

    for (int64_t row = 0; row < o->outer; row++)
        for (int64_t at = 0; at < o->extent; at++)
            for (uint32_t k = 0; k < o->ninputs; k++) {
                int64_t from = place_in(o, k, at);

                for (int64_t i = 0; from >= 0 && e->variances[k] && i < o->inner; i++)
                    e->out[0][(row * o->extent + at) * o->inner + i] +=
                        (double)o->ninputs *
                        e->variances[k][(row * o->count[k] + from) * o->inner + i];
            }
    return true;
}

const struct kern_kernel kern_kernel_overlaps = {
    .name = "sum of halos", .run = run_overlaps, .flops = flops, .bytes = bytes, .error = error};
