/* kern/cut.h - a kernel's work in rows that can be done apart, each with the bits that it has in
 * the whole.
 *
 * A kernel is cut along a dimension that its results have, so that no sum is cut: the loops of an
 * element are those that they were.  An operand is needed cut alike, or whole.  Along which
 * dimension, a kernel chooses by how many rows are wanted: the outermost ones, as their rows lie
 * behind one another, until there are so many.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_CUT_H
#define KERN_CUT_H

#include "kern/kernel.h"

/* An array that lies as [outer][rows * each][inner]: `each` of its own rows are one of the
 * kernel's. 0: it is not cut. */
struct kern_cut_array {
    int64_t outer, each, inner;
};

struct kern_cut {
    int64_t rows;  /* less than 2: the kernel is not cut */
    int64_t least; /* rows of a part, that it is computed as it is in the whole */
    struct kern_cut_array in[KERN_MAP_INPUTS_MAX], out[KERN_OUTPUTS_MAX];
    uint32_t dim;    /* the kernel's own: which of its dimensions it is, ... */
    uint32_t merged; /* ... and (a bit each) those outside it that are one with it */
};

/* How a kernel's work can be cut, in `wanted` rows or more if it can. */
struct kern_cut kern_cut_of(const struct kern_kernel *kernel, const union kern_desc *desc,
                            int64_t wanted);

/* Make a description of whole arrays that of `count` rows from `first` on, whose arrays hold no
 * more than these; `offsets`, so far 0, are its. */
void kern_cut_part(const struct kern_kernel *kernel, union kern_desc *desc,
                   const struct kern_cut *cut, int64_t first, int64_t count,
                   int64_t offsets[KERN_OFFSETS_MAX]);

/* ---- for kernels ---- */

/* Dimensions that arrays have or lack; the first array is a result. */
struct kern_cut_nest {
    uint32_t ndims, narrays;
    int64_t *extent;
    struct {
        uint32_t has; /* a bit each; other strides are not read */
        int64_t *stride;
        struct kern_cut_array *array;
    } sides[KERN_MAP_INPUTS_MAX + 1];
    uint32_t whole; /* dimensions that are not cut, a bit each, ... */
    uint32_t apart; /* ... and those that are cut only by themselves */
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
