/* Making and checking tensors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include <math.h>

#include "kern/convert.h"
#include "kern/nest.h"

#define BLOCK 256

/* Row-major strides. */
static void strides_of(uint32_t rank, const int64_t *shape, int64_t *stride)
{
    int64_t n = 1;

    for (uint32_t d = rank; d-- > 0;) {
        stride[d] = n;
        n *= shape[d];
    }
}

/* A nest over a shard: array 0 is the shard, array 1 the whole array.  Returns the whole array's
 * index of the first element. */
static int64_t shard_nest(uint32_t rank, const int64_t *shape, const int64_t *offset,
                          const int64_t *extent, struct kern_nest *nest)
{
    int64_t local[KERN_DIMS_MAX], whole[KERN_DIMS_MAX], first = 0;

    *nest = (struct kern_nest){.narrays = 2};
    strides_of(rank, extent, local);
    strides_of(rank, shape, whole);
    for (uint32_t d = 0; d < rank; d++) {
        kern_nest_add(nest, extent[d], (const int64_t[]){local[d], whole[d]});
        first += offset[d] * whole[d];
    }
    kern_nest_simplify(nest, 0);
    return first;
}

static double rounded(enum shd_dtype dtype, double value)
{
    if (dtype == SHD_BF16)
        return (double)shd_bf16_to_f32(shd_bf16_from_f32((float)value));
    if (dtype == SHD_F16)
        return (double)shd_f16_to_f32(shd_f16_from_f32((float)value));
    return value;
}

/* Values at whole-array indexes first..first+n-1, stepping by `stride`. */
static void source_values(const struct kern_source *source, int64_t first, int64_t stride, size_t n,
                          double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t index = (uint64_t)first + (uint64_t)i * (uint64_t)stride;
        uint32_t u = (uint32_t)(index * 2654435761u + source->seed);

        if (source->index)
            out[i] = (double)index;
        else if (source->modulus > 0)
            out[i] = (double)((u >> 8) % source->modulus);
        else
            out[i] = rounded(source->rounded,
                             (double)(float)((u / 4294967296.0 - 0.5) * source->scale));
    }
}

void kern_fill(const struct kern_source *source, enum shd_dtype dtype, uint32_t rank,
               const int64_t *shape, const int64_t *offset, const int64_t *extent, void *out)
{
    struct kern_nest nest;
    struct kern_walk walk;
    double values[BLOCK];
    int64_t count, first;

    if (kern_elements(rank, extent, UINT32_MAX) == 0)
        return;
    first = shard_nest(rank, shape, offset, extent, &nest);
    count = kern_nest_count(&nest);
    kern_walk_init(&walk, &nest, 0);
    while (count > 0) {
        int64_t n = kern_walk_run(&walk);
        int64_t stride = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;

        n = n < BLOCK ? n : BLOCK;
        source_values(source, first + walk.offset[1], stride, (size_t)n, values);
        kern_store_f64(dtype, (char *)out + walk.offset[0] * (int64_t)kern_size(dtype), 1,
                       (size_t)n, values);
        kern_walk_advance(&walk, n);
        count -= n;
    }
}

static void compare_one(double got, double want, double *max_diff, double *max_want)
{
    double diff = fabs(got - want);

    if (got == want || (isnan(got) && isnan(want)))
        diff = 0;
    else if (!isfinite(got) || !isfinite(want))
        diff = INFINITY;
    if (diff > *max_diff)
        *max_diff = diff;
    if (fabs(want) > *max_want)
        *max_want = fabs(want);
}

void kern_compare(enum shd_dtype dtype, uint32_t rank, const int64_t *shape, const int64_t *offset,
                  const int64_t *extent, const void *got, const double *want, double *max_diff,
                  double *max_want)
{
    struct kern_nest nest;
    struct kern_walk walk;
    double values[BLOCK];
    int64_t count, first;

    if (kern_elements(rank, extent, UINT32_MAX) == 0)
        return;
    first = shard_nest(rank, shape, offset, extent, &nest);
    count = kern_nest_count(&nest);
    kern_walk_init(&walk, &nest, 0);
    while (count > 0) {
        int64_t n = kern_walk_run(&walk);
        int64_t stride = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;

        n = n < BLOCK ? n : BLOCK;
        kern_load_f64(dtype, (const char *)got + walk.offset[0] * (int64_t)kern_size(dtype), 1,
                      (size_t)n, values);
        for (int64_t i = 0; i < n; i++)
            compare_one(values[i], want[first + walk.offset[1] + i * stride], max_diff, max_want);
        kern_walk_advance(&walk, n);
        count -= n;
    }
}
