/* Codes, their scales, and where magnitudes lie (kern/coded.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/coded.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/kernel.h"
#include "kern/nest.h"

/* torchao's smallest amax: an array of zeros gets a finite scale. */
#define AMAX_LEAST 1e-12

/* The exponents of e8m0, the type of scales that are powers of two. */
#define POWER_MAX 127

double kern_code_largest(enum shd_dtype code)
{
    return code == SHD_F8E4M3 ? 448 : code == SHD_F8E5M2 ? 57344 : 6;
}

double kern_code_round(enum shd_dtype code, double value)
{
    double largest = kern_code_largest(code), rounded;
    uint8_t bits;

    if (fabs(value) > largest) /* false for NaN */
        return copysign(largest, value);
    kern_store_moved(code, &bits, 1, 1, &value);
    kern_load_moved(code, &bits, 1, 1, &rounded);
    return rounded;
}

static struct kern_scale exact(double largest, float amax)
{
    float to = (float)(largest / (amax < AMAX_LEAST ? AMAX_LEAST : (double)amax));

    return (struct kern_scale){to, 1 / to};
}

/* 2^-e for the smallest e with amax <= largest * 2^e. */
static struct kern_scale power(double largest, float amax)
{
    int e = -POWER_MAX;
    double part;

    if (!isfinite(amax))
        return (struct kern_scale){NAN, NAN};
    if (amax > 0) {
        part = frexp((double)amax / largest, &e);
        e -= part == 0.5;
    }
    e = e < -POWER_MAX ? -POWER_MAX : e > POWER_MAX ? POWER_MAX : e;
    return (struct kern_scale){ldexpf(1, -e), ldexpf(1, e)};
}

static struct kern_scale twofold(double largest, float amax, float whole)
{
    float outer = whole / (float)(largest * 448);
    double inner;

    if (whole == 0)
        return (struct kern_scale){0, 0};
    inner = (double)(amax / (float)largest / outer);
    inner = kern_code_round(SHD_F8E4M3, inner < 0x1p-6 ? 0x1p-6 : inner);
    return (struct kern_scale){1 / outer / (float)inner, outer * (float)inner};
}

struct kern_scale kern_scale_of(enum shd_dtype code, enum kern_scaling scaling, float amax,
                                float whole)
{
    double largest = kern_code_largest(code);

    switch (scaling) {
    case KERN_SCALE_POWER:
        return power(largest, amax);
    case KERN_SCALE_DOUBLE:
        return twofold(largest, amax, whole);
    case KERN_SCALE_KEPT:
        return (struct kern_scale){1 / (amax * whole), amax * whole};
    default:
        return exact(largest, amax);
    }
}

double kern_decoded_variance(double code, double from, double amax, double code_variance,
                             double amax_variance)
{
    double value = code * from;

    return code_variance * from * from +
           (amax > 0 ? value * value * amax_variance / (amax * amax) : amax_variance);
}

int64_t kern_grid_width(const struct kern_grid *grid)
{
    return grid->ndims ? grid->extent[grid->ndims - 1] : 1;
}

int64_t kern_grid_rows(const struct kern_grid *grid)
{
    int64_t rows = 1;

    for (uint32_t d = 0; d + 1 < grid->ndims; d++)
        rows *= grid->extent[d];
    return rows;
}

int64_t kern_blocks(int64_t size, int64_t each, int64_t period)
{
    return size / period * ((period + each - 1) / each);
}

/* How far along a dimension the magnitude of its element i lies, in strides. */
static int64_t place(const struct kern_grid *grid, const int64_t *offsets, uint32_t d, int64_t i)
{
    for (uint32_t k = 0; k < grid->ncoarse; k++) {
        const struct kern_coarse *c = &grid->coarse[k];
        int64_t first = offsets[c->at] * (grid->pairs && grid->pair_dim == d ? 2 : 1);

        if (c->dim == d)
            return kern_blocks(first + i, c->each, c->period) + (first + i) % c->period / c->each -
                   offsets[c->at + 1];
    }
    return i;
}

void kern_grid_find(const struct kern_grid *grid, const int64_t *offsets, int64_t row,
                    int64_t first, size_t n, int64_t *at)
{
    uint32_t last = grid->ndims ? grid->ndims - 1 : 0;
    int64_t base = 0;

    for (uint32_t d = last; d-- > 0;) {
        base += grid->stride[d] * place(grid, offsets, d, row % grid->extent[d]);
        row /= grid->extent[d];
    }
    for (size_t i = 0; i < n; i++) {
        at[i] = base;
        if (grid->ndims && grid->stride[last])
            at[i] += grid->stride[last] * place(grid, offsets, last, first + (int64_t)i);
    }
}

uint64_t kern_grid_elements(const struct kern_grid *grid)
{
    return kern_elements(grid->ndims, grid->extent, UINT32_MAX);
}

uint64_t kern_coded_as_work(union kern_desc *desc, int64_t *offsets)
{
    (void)desc;
    memset(offsets, 0, KERN_OFFSETS_MAX * sizeof *offsets);
    return 0;
}
