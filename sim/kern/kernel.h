/* kernel.h - a kernel as a value, which an op of a program names and all readers call alike.
 *
 * Plain data describe a kernel (its `desc`, one struct for each kernel): local extents and strides.
 * What differs from device to device are offsets: for each of the kernel's offset numbers the
 * index, in the whole array, of the device's first element along some dimension.  So one program
 * serves all devices.
 *
 * Thread class: as kern.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_KERNEL_H
#define KERN_KERNEL_H

#include <stdint.h>

#include "kern/attention.h"
#include "kern/coded.h"
#include "kern/copies.h"
#include "kern/experts.h"
#include "kern/kern.h"
#include "kern/linear_attention.h"
#include "kern/quant.h"
#include "kern/select.h"

#define KERN_OUTPUTS_MAX 6 /* of linear attention: a gradient for each operand */
#define KERN_OFFSETS_MAX 40 /* a product of codes in blocks, and of devices' parts */

struct kern_args {
    const void *const *in;
    void *const *out;
    void *workspace;
    const int64_t *offsets;
    int nthreads;
};

union kern_desc {
    struct kern_einsum einsum;
    struct kern_map map;
    struct kern_reduce reduce;
    struct kern_attention attention; /* forward and gradient */
    struct kern_linear_attention linear_attention; /* forward and gradient */
    struct kern_rope rope;
    struct kern_causal causal;
    struct kern_embed embed;   /* look-up and gradient */
    struct kern_pick pick;     /* choice and gradient */
    struct kern_repeat repeat; /* copies and their sum */
    struct kern_window window; /* slice, pad, concatenation */
    struct kern_taps taps;     /* windows and the sum of their taps */
    struct kern_overlaps overlaps;
    struct kern_append append;
    struct kern_scan scan; /* and its carry */
    struct kern_quantize quantize;
    struct kern_dequantize dequantize;
    struct kern_topk topk;
    struct kern_deal deal;
    struct kern_slots slots;
    struct kern_count count;
    struct kern_grouped grouped;
    struct kern_amax amax;
    struct kern_encode encode;
    struct kern_coded coded;
};

struct kern_cut;      /* cut.h */
struct kern_cut_nest; /* cut.h */
struct kern_error;    /* error.h */

/* What a kernel's flops depend on, besides its extents. */
enum kern_uneven {
    KERN_BY_SIGHT,   /* the keys that its queries see */
    KERN_BY_ROUTING, /* the tokens that its experts got */
    KERN_NUNEVENS
};

struct kern_kernel {
    const char *name;
    /* Returns the flops done, counted by its loops. */
    uint64_t (*run)(const union kern_desc *desc, const struct kern_args *args);
    /* The flops of run() at these offsets, in closed form (for a causal kernel, of the tiles that
     * it works on; NULL: none, it moves or compares); and the bytes that it reads and writes, each
     * once. */
    uint64_t (*flops)(const union kern_desc *desc, const int64_t *offsets);
    uint64_t (*bytes)(const union kern_desc *desc, const int64_t *offsets);
    /* flops() with nothing skipped for a mask, independent of offsets: the convention of model
     * flops.  NULL: flops() does not depend on offsets. */
    uint64_t (*dense_flops)(const union kern_desc *desc);
    /* The part of dense_flops() that repeats work of the forward kernel, as flash attention repeats
     * its scores: not model flops.  NULL: none. */
    uint64_t (*again_flops)(const union kern_desc *desc);
    enum kern_uneven uneven; /* set if there is dense_flops() */
    bool (*skips)(const union kern_desc *desc); /* kern_skips(), if there is dense_flops() */
    /* Remove from a description and offsets everything that only says which elements of the whole
     * these are, and return the amount of work: equal results then take equal time.  NULL: nothing
     * is removed. */
    uint64_t (*as_work)(union kern_desc *desc, int64_t *offsets);
    uint64_t (*workspace_bytes)(const union kern_desc *desc); /* NULL: none */
    /* The kernel's error rule (error.h), for variances that begin as zeros; false: no memory. */
    bool (*error)(const union kern_desc *desc, struct kern_error *error);
    /* How to cut the work into rows, and how to reduce it to some of them (cut.h).  If the arrays
     * form a nest of dimensions, nest() returns it for a description that a part may shrink; cut()
     * and part() then only add what the nest does not determine, NULL: nothing.  All three NULL:
     * not cut. */
    struct kern_cut_nest (*nest)(union kern_desc *desc, struct kern_cut *arrays);
    void (*cut)(const union kern_desc *desc, int64_t wanted, struct kern_cut *out);
    void (*part)(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets);
};

/* flops(), and dense_flops() or else flops(). */
uint64_t kern_flops(const struct kern_kernel *kernel, const union kern_desc *desc,
                    const int64_t *offsets);
uint64_t kern_dense_flops(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Model flops: kern_dense_flops() without again_flops(). */
uint64_t kern_model_flops(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Whether work is skipped at some offsets, so that flops depend on them. */
bool kern_skips(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Change the type of all arrays in a description, except integers. */
void kern_set_dtype(const struct kern_kernel *kernel, union kern_desc *desc, enum shd_dtype dtype);

extern const struct kern_kernel kern_kernel_einsum; /* in: a, b */
extern const struct kern_kernel kern_kernel_map;
extern const struct kern_kernel kern_kernel_reduce;
extern const struct kern_kernel kern_kernel_attention;      /* in: q, k, v; with a sight also
                                                               spans and positions; when
                                                               continuing also o and lse; with
                                                               sinks also these; out: o, lse */
extern const struct kern_kernel kern_kernel_attention_grad; /* in: q, k, v, o, lse, do; with a
                                                               sight also spans and positions;
                                                               out: dq, dk, dv */
extern const struct kern_kernel kern_kernel_linear_attention, kern_kernel_linear_attention_grad;
extern const struct kern_kernel kern_kernel_rope;
extern const struct kern_kernel kern_kernel_causal, kern_kernel_padding;
extern const struct kern_kernel kern_kernel_embed;      /* in: table, ids */
extern const struct kern_kernel kern_kernel_embed_grad; /* in: ids, g; out: d table */
extern const struct kern_kernel kern_kernel_pick;       /* in: x, ids */
extern const struct kern_kernel kern_kernel_pick_grad;  /* in: ids, g; out: d x */
extern const struct kern_kernel kern_kernel_repeat;
extern const struct kern_kernel kern_kernel_repeat_sum;
extern const struct kern_kernel kern_kernel_window; /* in: one array, or two for a concatenation */
extern const struct kern_kernel kern_kernel_taps, kern_kernel_taps_sum, kern_kernel_overlaps;
extern const struct kern_kernel kern_kernel_append; /* in: array, rows, places; out may be the
                                                       array */
extern const struct kern_kernel kern_kernel_scan;  /* in: x, [a] */
extern const struct kern_kernel kern_kernel_carry; /* in: the device's own scan, the last rows of
                                                      scans before (shards - 1 rows); of a
                                                      recurrence also the products of a, and their
                                                      last rows */
extern const struct kern_kernel kern_kernel_quantize;   /* out: codes, scales */
extern const struct kern_kernel kern_kernel_dequantize; /* in: codes, scales */

extern const struct kern_kernel kern_kernel_topk;  /* in: scores; out: ids */
extern const struct kern_kernel kern_kernel_deal;  /* in: ids; out: places */
extern const struct kern_kernel kern_kernel_slots; /* in: ids; out: slots, counts */
extern const struct kern_kernel kern_kernel_count; /* in: ids */
extern const struct kern_kernel kern_kernel_grouped; /* in: a, b, counts */

extern const struct kern_kernel kern_kernel_amax, kern_kernel_encode, kern_kernel_decode;
extern const struct kern_kernel kern_kernel_coded, kern_kernel_coded_grouped;

#endif /* KERN_KERNEL_H */
