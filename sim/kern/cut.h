/* kern/cut.h - cutting a kernel's work into rows that can be computed separately, with the same
 * bits as in the whole.
 *
 * A kernel is cut along a dimension of its results, so that no sum is cut: each element's loops
 * stay the same.  An operand is cut alike, or needed whole.  The kernel chooses the dimension by
 * the number of rows wanted: the outermost ones, whose rows are consecutive in memory, until there
 * are enough.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_CUT_H
#define KERN_CUT_H

#include "kern/kernel.h"

/* An array laid out as [outer][rows * each][inner], with `each` rows for one row of the kernel. 0:
 * not cut. */
struct kern_cut_array {
    int64_t outer, each, inner;
};

struct kern_cut {
    int64_t rows;  /* less than 2: the kernel is not cut */
    int64_t least; /* minimum rows of a part for the same bits as in the whole */
    struct kern_cut_array in[KERN_MAP_INPUTS_MAX], out[KERN_OUTPUTS_MAX];
    uint32_t dim;    /* for the kernel: the dimension that is cut, ... */
    uint32_t merged; /* ... and a bit mask of outer dimensions merged with it */
};

/* How to cut a kernel's work into `wanted` rows, or more, if possible. */
struct kern_cut kern_cut_of(const struct kern_kernel *kernel, const union kern_desc *desc,
                            int64_t wanted);

/* Reduce a description of whole arrays to `count` rows from `first` on, with arrays of just these
 * rows; sets `offsets`, which must be 0. */
void kern_cut_part(const struct kern_kernel *kernel, union kern_desc *desc,
                   const struct kern_cut *cut, int64_t first, int64_t count,
                   int64_t offsets[KERN_OFFSETS_MAX]);

/* ---- for kernels ---- */

/* Dimensions that arrays have or lack; the first array is a result. */
struct kern_cut_nest {
    uint32_t ndims, narrays;
    int64_t *extent;
    struct {
        uint32_t has; /* bit mask; strides of other dimensions are not read */
        int64_t *stride;
        struct kern_cut_array *array;
    } sides[KERN_MAP_INPUTS_MAX + 1];
    uint32_t whole; /* bit mask of dimensions that must not be cut, ... */
    uint32_t apart; /* ... and dimensions that must not be merged */
};

/* Append an array. */
void kern_cut_add(struct kern_cut_nest *nest, uint32_t has, int64_t *stride,
                  struct kern_cut_array *array);

struct kern_cut_nest kern_einsum_nest(union kern_desc *desc, struct kern_cut *arrays);
struct kern_cut_nest kern_map_nest(union kern_desc *desc, struct kern_cut *arrays);
struct kern_cut_nest kern_reduce_nest(union kern_desc *desc, struct kern_cut *arrays);
void kern_attention_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out);
void kern_attention_grad_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out);
void kern_attention_part(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                         int64_t count, int64_t *offsets);

#endif /* KERN_CUT_H */
