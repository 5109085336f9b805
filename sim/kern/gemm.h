/* kern/gemm.h - an einsum with its dimensions sorted by role, and three ways to compute it.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_GEMM_H
#define KERN_GEMM_H

#include "kern/nest.h"

/* c[batch,m,n] = sum over k of a[batch,m,k] * b[batch,k,n], each role a nest of any number of
 * dimensions.  A dimension summed over that one operand lacks is in `k` with stride 0. */
struct kern_gemm {
    enum shd_dtype dtype;
    struct kern_nest batch; /* arrays a, b, c */
    struct kern_nest m;     /* arrays a, c */
    struct kern_nest n;     /* arrays b, c */
    struct kern_nest k;     /* arrays a, b */
};

/* Products with fewer multiply-adds are not worth packing in large blocks. */
#define KERN_PACKED_WORK_MIN (32.0 * 32 * 32)

/* float and double, any strides, packed in memory of its own (packed_room.h).  False, with nothing
 * done, for other types, for little work, and without memory; else *flops is the work done. */
bool kern_gemm_packed(const struct kern_gemm *g, const void *a, const void *b, void *c,
                      int nthreads, uint64_t *flops);

/* If neither operand has a dimension of its own there is no matrix product: sums of a[i] * b[i], at
 * the speed of memory.  False, with nothing done, for layouts that it cannot traverse in rows; else
 * *flops is the work done. */
bool kern_gemm_dot(const struct kern_gemm *g, const void *a, const void *b, void *c, int nthreads,
                   uint64_t *flops);

/* Any strides and types; packs blocks on the stack (less than 56 KiB in all).  Returns the flops.
 */
uint64_t kern_gemm_own(const struct kern_gemm *g, const void *a, const void *b, void *c,
                       int nthreads);

#endif /* KERN_GEMM_H */
