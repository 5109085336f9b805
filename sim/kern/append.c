/* Rows written into an array that otherwise stays as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

/* Elements of the array and of the rows, for one of its outer indices. */
static size_t array_elems(const struct kern_append *a)
{
    return (size_t)(a->extent * a->inner);
}

static size_t row_elems(const struct kern_append *a)
{
    return (size_t)(a->rows * a->inner);
}

/* Put rows of elements of `size` bytes to their places. */
static void put(const struct kern_append *a, const struct kern_args *args, char *out,
                const char *rows, size_t size)
{
    const int32_t *places = args->in[KERN_APPEND_PLACES];
    size_t bytes = (size_t)a->inner * size;

    for (int64_t o = 0; o < a->outer; o++) {
        const int32_t *at = places + (a->by_outer ? o * a->rows : 0);

        for (int64_t r = 0; r < a->rows; r++) {
            int64_t place = at[r] - args->offsets[0];

            if (place >= 0 && place < a->extent)
                memcpy(out + (size_t)o * array_elems(a) * size + (size_t)place * bytes,
                       rows + (size_t)o * row_elems(a) * size + (size_t)r * bytes, bytes);
        }
    }
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_append *a = &desc->append;
    size_t size = kern_size(a->dtype);

    if (args->out[0] != args->in[KERN_APPEND_ARRAY])
        memcpy(args->out[0], args->in[KERN_APPEND_ARRAY], (size_t)a->outer * array_elems(a) * size);
    put(a, args, args->out[0], args->in[KERN_APPEND_ROWS], size);
    return 0;
}

/* The rows are read and written; the array is the state of a step, which they are written into. */
static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_append *a = &desc->append;
    const int64_t extent[] = {a->outer, a->rows, a->inner};
    uint64_t places = kern_elements(2, (const int64_t[]){a->by_outer ? a->outer : 1, a->rows}, 3);

    (void)offsets;
    return kern_sat_add(kern_sat_mul(kern_elements(3, extent, 7), 2 * kern_size(a->dtype)),
                        kern_sat_mul(places, sizeof(int32_t)));
}

/* Variances move with the elements; an exact operand has none. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_append *a = &desc->append;
    size_t n = (size_t)a->outer * array_elems(a), nrows = (size_t)a->outer * row_elems(a);
    const double *rows = e->variances[KERN_APPEND_ROWS];
    double *none = rows ? NULL : kern_zeroed(nrows, sizeof *none);

    if (!rows && !none)
        return false;
    e->kept = true;
    if (e->variances[KERN_APPEND_ARRAY])
        memcpy(e->out[0], e->variances[KERN_APPEND_ARRAY], n * sizeof *e->out[0]);
    put(a, e->args, (char *)e->out[0], (const char *)(rows ? rows : none), sizeof *rows);
    free(none);
    return true;
}

const struct kern_kernel kern_kernel_append = {
    .name = "append", .run = run, .bytes = bytes, .error = error};
