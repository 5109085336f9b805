/* kern_data.h - shared by the tests of kern: elements of any computed type as doubles, arrays with
 * strides, and a seeded generator.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_KERN_DATA_H
#define TESTS_KERN_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <shd/dtype.h>

#include "kern/kern.h"

/* gcc's thread sanitizer does not see how libgomp synchronizes its threads. */
#if defined(__SANITIZE_THREAD__)
#define TEST_THREADS 1
#else
#define TEST_THREADS 2
#endif

static inline double get_elem(enum shd_dtype dtype, const void *base, int64_t i)
{
    switch (dtype) {
    case SHD_F32:
        return (double)((const float *)base)[i];
    case SHD_F64:
        return ((const double *)base)[i];
    case SHD_BF16:
        return (double)shd_bf16_to_f32(((const uint16_t *)base)[i]);
    case SHD_F16:
        return (double)shd_f16_to_f32(((const uint16_t *)base)[i]);
    default:
        return ((const int32_t *)base)[i];
    }
}

static inline void set_elem(enum shd_dtype dtype, void *base, int64_t i, double value)
{
    switch (dtype) {
    case SHD_F32:
        ((float *)base)[i] = (float)value;
        break;
    case SHD_F64:
        ((double *)base)[i] = value;
        break;
    case SHD_BF16:
        ((uint16_t *)base)[i] = shd_bf16_from_f32((float)value);
        break;
    case SHD_F16:
        ((uint16_t *)base)[i] = shd_f16_from_f32((float)value);
        break;
    default:
        ((int32_t *)base)[i] = (int32_t)value;
    }
}

/* The value after rounding to the type. */
static inline double rounded(enum shd_dtype dtype, double value)
{
    double space;

    set_elem(dtype, &space, 0, value);
    return get_elem(dtype, &space, 0);
}

static uint64_t random_state = 20240607;

static inline uint32_t random_below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % n);
}

/* The number of random cases: fewer under sanitizers, which make them slow. */
static inline int random_count(int normal)
{
    return small_size() ? normal / 8 + 1 : normal;
}

/* Random strides for the dimensions in `has`, row-major or in a random order, sometimes with gaps;
 * returns the number of elements that the array spans. */
static inline int64_t random_strides(uint32_t ndims, const int64_t *extent, uint32_t has,
                                     int64_t *stride)
{
    uint32_t order[KERN_DIMS_MAX];
    int64_t span = 1 + (random_below(8) == 0);

    for (uint32_t d = 0; d < ndims; d++)
        order[d] = ndims - 1 - d;
    for (uint32_t d = random_below(2) ? ndims : 0; d > 1; d--) {
        uint32_t e = random_below(d), t = order[d - 1];

        order[d - 1] = order[e];
        order[e] = t;
    }
    for (uint32_t i = 0; i < ndims; i++) {
        uint32_t d = order[i];

        stride[d] = 0;
        if (!(has >> d & 1))
            continue;
        stride[d] = span;
        span *= extent[d] > 0 ? extent[d] : 1;
        span += random_below(8) == 0;
    }
    return span;
}

/* An array of integers in -most..most. */
static inline void *random_array(enum shd_dtype dtype, int64_t count, int most)
{
    void *array = malloc((size_t)count * 8);

    for (int64_t i = 0; i < count; i++)
        set_elem(dtype, array, i, (int)random_below(2 * (uint32_t)most + 1) - most);
    return array;
}

/* An array of fractions whose sums are not exact. */
static inline void *random_fractions(enum shd_dtype dtype, int64_t count)
{
    void *array = malloc((size_t)count * 8);

    for (int64_t i = 0; i < count; i++)
        set_elem(dtype, array, i, ((double)random_below(200001) - 1e5) / 29989.0);
    return array;
}

#define DTYPES(dtype) for (enum shd_dtype dtype = 0; dtype < SHD_NCOMPUTE_DTYPES; dtype++)

#endif /* TESTS_KERN_DATA_H */
