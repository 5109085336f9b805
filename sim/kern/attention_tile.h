/* kern/attention_tile.h - what the forward and the backward kernel share: where rows lie, which
 * keys a query sees, and which item of work uses which part of the workspace.
 *
 * Work is cut into items that write to different places; item i is done in part i % nparts of the
 * workspace.  The number of parts depends on the shape only, so no result depends on the threads.
 *
 * In a tile of scores keys are rows and queries are columns: then a vector holds one score of each
 * of several queries, and maximum, sum and scaling need no exchange between its lanes.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_ATTENTION_TILE_H
#define KERN_ATTENTION_TILE_H

#include <assert.h>

#include "kern/isa.h"
#include "kern/kernel.h"
#include "kern/multiply.h"

/* Queries and keys of a tile.  There are more queries than keys, as a tile of keys is loaded for
 * each tile of queries. */
#define QTILE 128
#define KTILE 64

struct attention_run {
    const struct kern_attention *desc;
    const struct kern_args *args;
    int64_t nitems;
    int64_t nparts;
    char *workspace;
    uint64_t part_bytes;
    uint64_t (*item)(const struct attention_run *run, int64_t item, void *part); /* its flops */
};

static inline size_t attention_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Elements between two rows of head_dim in a tile. */
size_t attention_pitch(const struct kern_attention *a);

/* Scratch elements to bytes of the type that sums have. */
uint64_t attention_scratch_bytes(const struct kern_attention *a, uint64_t nelems);

/* Multiply-adds of one product of a kernel whose first query is `query0` in the whole: head_dim for
 * each (query, key) pair of the tiles that are worked on. */
uint64_t attention_work(const struct kern_attention *a, int64_t query0);

/* The same of all pairs, masked or not. */
uint64_t attention_dense_work(const struct kern_attention *a);

/* Bytes of some arrays of queries, of the keys that some query sees, of all keys, and of lse. */
uint64_t attention_array_bytes(const struct kern_attention *a, int64_t query0, uint64_t nqueries,
                               uint64_t nseen_keys, uint64_t nkeys, uint64_t nlse);

/* Workspace for up to parts_max parts. */
uint64_t attention_parts_bytes(uint64_t nitems, uint64_t parts_max, uint64_t part_bytes);

/* Do all items in a workspace of that size; returns their flops. */
uint64_t attention_run_items(struct attention_run *run, int64_t parts_max);

/* Of a product of two blocks; what pads them does not count. */
static inline uint64_t attention_product_flops(size_t m, size_t n, size_t depth)
{
    return 2 * (uint64_t)m * n * depth;
}

/* Element offsets of [batch][query][head] and [batch][key][kv_head]. */
static inline int64_t attention_q_at(const struct kern_attention *a, int64_t b, int64_t s,
                                     int64_t h)
{
    return ((b * a->queries + s) * a->heads + h) * a->head_dim;
}

static inline int64_t attention_kv_at(const struct kern_attention *a, int64_t b, int64_t t,
                                      int64_t g)
{
    return ((b * a->keys + t) * a->kv_heads + g) * a->head_dim;
}

/* The local key head of a local query head. */
static inline int64_t attention_kv_head(const struct attention_run *run, int64_t h)
{
    const int64_t *offsets = run->args->offsets;
    int64_t g =
        (offsets[KERN_ATTENTION_HEAD0] + h) / run->desc->repeat - offsets[KERN_ATTENTION_KV_HEAD0];

    assert(g >= 0 && g < run->desc->kv_heads);
    return g;
}

/* Keys that at least one of the queries before `end` of the whole sees. */
static inline int64_t attention_nvisible(const struct kern_attention *a, int64_t end)
{
    return !a->causal || end > a->keys ? a->keys : end;
}

/* How many queries of a tile, which begins at query s of the whole, do not see key t. */
static inline size_t attention_nblind(const struct kern_attention *a, int64_t s, int64_t t)
{
    int64_t n = t - s;

    return !a->causal || n < 0 ? 0 : n < QTILE ? (size_t)n : QTILE;
}

/* The columns of a tile that need not be computed, as none of the keys from t0 on is seen there. */
static inline size_t attention_nskipped(const struct kern_attention *a, int64_t s, int64_t t0)
{
    return attention_nblind(a, s, t0) / KERN_MULTIPLY_COLS * KERN_MULTIPLY_COLS;
}

#endif /* KERN_ATTENTION_TILE_H */
