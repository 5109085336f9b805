/* The largest magnitudes of an array's groups, from which scales follow (kern/coded.h).
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

#define BLOCK 256 /* elements at a time */

/* Zero is the least magnitude, and NaN stays. */
static void fold(double *most, double value)
{
    double size = fabs(value);

    if (size > *most || size != size)
        *most = size;
}

static void store_one(enum shd_dtype dtype, void *base, int64_t at, double value)
{
    kern_store_f64(dtype, (char *)base + (size_t)at * kern_size(dtype), 1, 1, &value);
}

/* Fold n consecutive elements, of which neighbours mostly share a group. */
static void fold_run(const struct kern_amax *a, void *out, const int64_t *at, const double *x,
                     size_t n)
{
    for (size_t i = 0; i < n;) {
        int64_t group = at[i];
        double most = kern_load_one(a->dtype, out, group);

        for (; i < n && at[i] == group; i++)
            fold(&most, x[i]);
        store_one(a->dtype, out, group, most);
    }
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_amax *a = &desc->amax;
    int64_t rows = kern_grid_rows(&a->grid), width = kern_grid_width(&a->grid), at[BLOCK];
    double x[BLOCK];

    memset(args->out[0], 0, (size_t)a->grid.count * kern_size(a->dtype));
    for (int64_t row = 0; row < rows; row++)
        for (int64_t first = 0; first < width; first += BLOCK) {
            size_t n = (size_t)(width - first < BLOCK ? width - first : BLOCK);
            const char *from = args->in[0];

            from += (size_t)(row * width + first) * kern_size(a->dtype);
            kern_load_f64(a->dtype, from, 1, n, x);
            kern_grid_find(&a->grid, args->offsets, row, first, n, at);
            fold_run(a, args->out[0], at, x, n);
        }
    return 0;
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_amax *a = &desc->amax;

    (void)offsets;
    return kern_sat_mul(kern_sat_add(kern_grid_elements(&a->grid), a->grid.count),
                        kern_size(a->dtype));
}

/* A largest magnitude is off by no more than the element that is off most. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_amax *a = &desc->amax;
    const double *v = e->variances[0];
    int64_t rows = kern_grid_rows(&a->grid), width = kern_grid_width(&a->grid), at;

    e->kept = true;
    for (int64_t row = 0; row < rows && v; row++)
        for (int64_t i = 0; i < width; i++) {
            double one = v[row * width + i];

            kern_grid_find(&a->grid, e->args->offsets, row, i, 1, &at);
            if (one > e->out[0][at] || one != one)
                e->out[0][at] = one;
        }
    return true;
}

const struct kern_kernel kern_kernel_amax = {
    .name = "amax", .run = run, .bytes = bytes, .as_work = kern_coded_as_work, .error = error};
