/* Loop nests over strided arrays (kern/nest.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/nest.h"

#include <assert.h>

void kern_nest_add(struct kern_nest *nest, int64_t extent, const int64_t *strides)
{
    if (extent == 1)
        return;
    assert(nest->narrays <= KERN_NEST_ARRAYS_MAX && nest->ndims < KERN_DIMS_MAX);
    nest->extent[nest->ndims] = extent;
    for (uint32_t a = 0; a < nest->narrays; a++)
        nest->stride[a][nest->ndims] = strides[a];
    nest->ndims++;
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* Whether dimension d belongs outside dimension e. */
static bool is_outer(const struct kern_nest *nest, uint32_t first, uint32_t d, uint32_t e)
{
    for (uint32_t i = 0; i < nest->narrays; i++) {
        uint32_t a = (first + i) % nest->narrays;
        int64_t sd = magnitude(nest->stride[a][d]), se = magnitude(nest->stride[a][e]);

        if (sd != se)
            return sd > se;
    }
    return false;
}

static void swap_dims(struct kern_nest *nest, uint32_t d, uint32_t e)
{
    int64_t t = nest->extent[d];

    nest->extent[d] = nest->extent[e];
    nest->extent[e] = t;
    for (uint32_t a = 0; a < nest->narrays; a++) {
        t = nest->stride[a][d];
        nest->stride[a][d] = nest->stride[a][e];
        nest->stride[a][e] = t;
    }
}

static bool mergeable(const struct kern_nest *nest, uint32_t outer, uint32_t inner)
{
    for (uint32_t a = 0; a < nest->narrays; a++) {
        if (nest->stride[a][outer] != nest->stride[a][inner] * nest->extent[inner])
            return false;
    }
    return true;
}

static void copy_dim(struct kern_nest *nest, uint32_t to, uint32_t from)
{
    nest->extent[to] = nest->extent[from];
    for (uint32_t a = 0; a < nest->narrays; a++)
        nest->stride[a][to] = nest->stride[a][from];
}

void kern_nest_simplify(struct kern_nest *nest, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < nest->ndims; i++) {
        for (uint32_t d = i; d > 0 && is_outer(nest, first, d, d - 1); d--)
            swap_dims(nest, d, d - 1);
    }
    for (uint32_t d = 0; d < nest->ndims; d++) {
        if (n > 0 && mergeable(nest, n - 1, d)) {
            int64_t outer = nest->extent[n - 1];

            copy_dim(nest, n - 1, d);
            nest->extent[n - 1] *= outer;
        } else {
            copy_dim(nest, n++, d);
        }
    }
    nest->ndims = n;
}

int64_t kern_nest_count(const struct kern_nest *nest)
{
    int64_t count = 1;

    for (uint32_t d = 0; d < nest->ndims; d++)
        count *= nest->extent[d];
    return count;
}

void kern_walk_init(struct kern_walk *walk, const struct kern_nest *nest, int64_t start)
{
    walk->nest = nest;
    for (uint32_t a = 0; a < nest->narrays; a++)
        walk->offset[a] = 0;
    for (uint32_t d = nest->ndims; d-- > 0;) {
        int64_t i = start % nest->extent[d];

        start /= nest->extent[d];
        walk->index[d] = i;
        for (uint32_t a = 0; a < nest->narrays; a++)
            walk->offset[a] += i * nest->stride[a][d];
    }
}

int64_t kern_walk_run(const struct kern_walk *walk)
{
    uint32_t n = walk->nest->ndims;

    return n ? walk->nest->extent[n - 1] - walk->index[n - 1] : 1;
}

void kern_walk_advance(struct kern_walk *walk, int64_t n)
{
    const struct kern_nest *nest = walk->nest;

    for (uint32_t d = nest->ndims; d-- > 0;) {
        for (uint32_t a = 0; a < nest->narrays; a++)
            walk->offset[a] += n * nest->stride[a][d];
        walk->index[d] += n;
        if (walk->index[d] < nest->extent[d])
            return;
        walk->index[d] = 0;
        for (uint32_t a = 0; a < nest->narrays; a++)
            walk->offset[a] -= nest->extent[d] * nest->stride[a][d];
        n = 1;
    }
}

void kern_nest_offsets(const struct kern_nest *nest, int64_t start, size_t n, int64_t *first,
                       int64_t *second)
{
    uint32_t inner = nest->ndims ? nest->ndims - 1 : 0;
    int64_t step[2] = {nest->stride[0][inner], nest->stride[1][inner]};
    struct kern_walk walk;

    kern_walk_init(&walk, nest, start);
    for (size_t i = 0; i < n;) {
        size_t left = (size_t)kern_walk_run(&walk), run = left < n - i ? left : n - i;

        for (size_t j = 0; j < run; j++, i++) {
            first[i] = walk.offset[0] + (int64_t)j * step[0];
            second[i] = walk.offset[1] + (int64_t)j * step[1];
        }
        kern_walk_advance(&walk, (int64_t)run);
    }
}

bool kern_offsets_are_linear(const int64_t *offset, size_t n, int64_t *stride)
{
    *stride = n > 1 ? offset[1] - offset[0] : 1;
    for (size_t i = 2; i < n; i++) {
        if (offset[i] - offset[i - 1] != *stride)
            return false;
    }
    return true;
}

bool kern_offsets_are_unit(const int64_t *offset, size_t n)
{
    int64_t stride;

    return kern_offsets_are_linear(offset, n, &stride) && stride == 1;
}

uint64_t kern_parallel(kern_task_fn fn, void *arg, int64_t ntasks, int nthreads)
{
    uint64_t flops = 0;

#ifdef _OPENMP
    if (nthreads > 1 && ntasks > 1) {
#pragma omp parallel for schedule(dynamic) num_threads(nthreads) reduction(+ : flops)
        for (int64_t task = 0; task < ntasks; task++)
            flops += fn(arg, task);
        return flops;
    }
#else
    (void)nthreads;
#endif
    for (int64_t task = 0; task < ntasks; task++)
        flops += fn(arg, task);
    return flops;
}

uint64_t kern_sat_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t kern_sat_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t kern_elements(uint32_t ndims, const int64_t *extent, uint32_t has)
{
    uint64_t count = 1;

    for (uint32_t d = 0; d < ndims; d++) {
        if ((has >> d & 1) && extent[d] <= 0)
            return 0; /* before a product that would overflow */
    }
    for (uint32_t d = 0; d < ndims; d++) {
        if (has >> d & 1)
            count = kern_sat_mul(count, (uint64_t)extent[d]);
    }
    return count;
}
