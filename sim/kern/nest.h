/* kern/nest.h - a loop nest over several strided arrays at once, simplified and walked in runs.
 *
 * Thread class: owned by one thread; a finished nest may be read by many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_NEST_H
#define KERN_NEST_H

#include <stddef.h>
#include <stdint.h>

#include "kern/kern.h"

#define KERN_NEST_ARRAYS_MAX (KERN_MAP_INPUTS_MAX + 1)

struct kern_nest {
    uint32_t ndims;
    uint32_t narrays;
    int64_t extent[KERN_DIMS_MAX];
    int64_t stride[KERN_NEST_ARRAYS_MAX][KERN_DIMS_MAX]; /* [array][dimension] */
};

/* Append a dimension; extent 1 is dropped. */
void kern_nest_add(struct kern_nest *nest, int64_t extent, const int64_t *strides);

/* Order dimensions by falling stride of `first` (ties by the other arrays), then merge neighbours
 * that every array traverses as one.  The set of visited offsets does not change. */
void kern_nest_simplify(struct kern_nest *nest, uint32_t first);

/* The product of the extents. */
int64_t kern_nest_count(const struct kern_nest *nest);

/* The state of a walk: a row-major index, and the offset of each array there. */
struct kern_walk {
    const struct kern_nest *nest;
    int64_t index[KERN_DIMS_MAX];
    int64_t offset[KERN_NEST_ARRAYS_MAX];
};

void kern_walk_init(struct kern_walk *walk, const struct kern_nest *nest, int64_t start);

/* Elements left in the innermost dimension; 1 for an empty nest. */
int64_t kern_walk_run(const struct kern_walk *walk);

/* Move by n <= kern_walk_run() elements. */
void kern_walk_advance(struct kern_walk *walk, int64_t n);

/* Offsets of the first two arrays for n elements from `start`. */
void kern_nest_offsets(const struct kern_nest *nest, int64_t start, size_t n, int64_t *first,
                       int64_t *second);

/* Whether n offsets are a constant *stride apart (1 for a single one), and whether that is 1. */
bool kern_offsets_are_linear(const int64_t *offset, size_t n, int64_t *stride);
bool kern_offsets_are_unit(const int64_t *offset, size_t n);

/* Run fn(arg, task) for tasks 0..ntasks-1 on up to nthreads threads, each task once.  Each task
 * returns its flops, counted where they are done; returns their sum. */
typedef uint64_t (*kern_task_fn)(void *arg, int64_t task);
uint64_t kern_parallel(kern_task_fn fn, void *arg, int64_t ntasks, int nthreads);

/* Products and sums that saturate at UINT64_MAX; a negative extent counts as 0. */
uint64_t kern_sat_mul(uint64_t a, uint64_t b);
uint64_t kern_sat_add(uint64_t a, uint64_t b);
/* Elements of an array with the dimensions in `has`. */
uint64_t kern_elements(uint32_t ndims, const int64_t *extent, uint32_t has);

#endif /* KERN_NEST_H */
