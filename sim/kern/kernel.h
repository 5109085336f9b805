/* kernel.h - a kernel as a value: what a program's op names and every reader calls alike.
 *
 * A kernel is described by plain data (its `desc`, one struct a kernel) that holds local extents
 * and strides.  What differs from device to device comes as offsets: for each of the kernel's
 * offset numbers the index, in the whole array, of the first element that the device has along some
 * dimension.  So a program stays one text for all devices.
 *
 * Thread class: as kern.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_KERNEL_H
#define KERN_KERNEL_H

#include <stdint.h>

#include "kern/attention.h"
#include "kern/experts.h"
#include "kern/kern.h"
#include "kern/select.h"

#define KERN_OUTPUTS_MAX 3 /* attention's gradient: dq, dk and dv */
#define KERN_OFFSETS_MAX 4 /* attention's, of documents */

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
    struct kern_rope rope;
    struct kern_causal causal;
    struct kern_embed embed;   /* look-up and gradient */
    struct kern_pick pick;     /* choice and gradient */
    struct kern_repeat repeat; /* copies and their sum */
    struct kern_window window; /* slice, pad, concatenation */
    struct kern_topk topk;
    struct kern_slots slots;
    struct kern_count count;
    struct kern_grouped grouped;
};

struct kern_cut;      /* cut.h */
struct kern_cut_nest; /* cut.h */
struct kern_error;    /* error.h */

/* What a kernel's flops depend on besides its extents, where they do. */
enum kern_uneven {
    KERN_BY_SIGHT,   /* which keys its queries see */
    KERN_BY_ROUTING, /* which tokens its experts got */
    KERN_NUNEVENS
};

struct kern_kernel {
    const char *name;
    /* Returns the flops that it did, counted by its loops as they go. */
    uint64_t (*run)(const union kern_desc *desc, const struct kern_args *args);
    /* What run() does at these offsets, in closed form: of a causal kernel, the tiles that it works
     * on; and the bytes that it reads and writes, each once. */
    uint64_t (*flops)(const union kern_desc *desc, const int64_t *offsets);
    uint64_t (*bytes)(const union kern_desc *desc, const int64_t *offsets);
    /* The same with nothing skipped for a mask, which no offset changes: the convention of model
     * flops.  NULL: flops() does not depend on offsets. */
    uint64_t (*dense_flops)(const union kern_desc *desc);
    /* Those of dense_flops() that the kernel whose gradient this is did before, as flash attention's
     * scores: no model flops.  NULL: none. */
    uint64_t (*again_flops)(const union kern_desc *desc);
    enum kern_uneven uneven; /* where there are dense_flops */
    bool (*skips)(const union kern_desc *desc); /* kern_skips(), of those that have dense_flops() */
    /* Take out of a description and offsets what only says which of all elements these are, and
     * return how much work that leaves: what is the same then takes the same time.  NULL: nothing
     * does. */
    uint64_t (*as_work)(union kern_desc *desc, int64_t *offsets);
    uint64_t (*workspace_bytes)(const union kern_desc *desc); /* NULL: none */
    /* Its rule of errors (error.h), for variances that begin as zeros; false: no memory. */
    bool (*error)(const union kern_desc *desc, struct kern_error *error);
    /* How its work can be cut in rows, and a part of them (cut.h).  One whose arrays lie in a nest of
     * dimensions says which that is, of a description that a part may then shrink; cut() and part()
     * of it add what the nest does not say, NULL: nothing.  NULL, all three: it is not cut. */
    struct kern_cut_nest (*nest)(union kern_desc *desc, struct kern_cut *arrays);
    void (*cut)(const union kern_desc *desc, int64_t wanted, struct kern_cut *out);
    void (*part)(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets);
};

/* dense_flops(), or flops() where these are the same. */
uint64_t kern_dense_flops(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Those of a model: kern_dense_flops() without again_flops(). */
uint64_t kern_model_flops(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Whether work is passed over at some offsets, so that flops depend on them. */
bool kern_skips(const struct kern_kernel *kernel, const union kern_desc *desc);

/* Make a description that of the same kernel on arrays of one type, but whole numbers. */
void kern_set_dtype(const struct kern_kernel *kernel, union kern_desc *desc, enum shd_dtype dtype);

extern const struct kern_kernel kern_kernel_einsum; /* in: a, b */
extern const struct kern_kernel kern_kernel_map;
extern const struct kern_kernel kern_kernel_reduce;
extern const struct kern_kernel kern_kernel_attention;      /* in: q, k, v, with a sight
                                                             * spans and positions, of one that
                                                             * goes on o and lse; out: o, lse */
extern const struct kern_kernel kern_kernel_attention_grad; /* in: q, k, v, o, lse, do, with a sight
                                                             * spans, positions; out: dq, dk, dv */
extern const struct kern_kernel kern_kernel_rope;
extern const struct kern_kernel kern_kernel_causal, kern_kernel_padding;
extern const struct kern_kernel kern_kernel_embed;      /* in: table, ids */
extern const struct kern_kernel kern_kernel_embed_grad; /* in: ids, g; out: d table */
extern const struct kern_kernel kern_kernel_pick;       /* in: x, ids */
extern const struct kern_kernel kern_kernel_pick_grad;  /* in: ids, g; out: d x */
extern const struct kern_kernel kern_kernel_repeat;
extern const struct kern_kernel kern_kernel_repeat_sum;
extern const struct kern_kernel kern_kernel_window; /* in: one, or two for a concatenation */

extern const struct kern_kernel kern_kernel_topk;  /* in: scores; out: ids */
extern const struct kern_kernel kern_kernel_slots; /* in: ids; out: slots, counts */
extern const struct kern_kernel kern_kernel_count; /* in: ids */
extern const struct kern_kernel kern_kernel_grouped; /* in: a, b, counts */

#endif /* KERN_KERNEL_H */
