/* kern/attention_tile.h - what the forward and the backward kernel share: where rows lie, which
 * keys a tile of queries sees, and which item of work uses which part of the workspace.
 *
 * Work is cut into items that write to different places; item i is done in part i % nparts of the
 * workspace.  The number of parts depends on the shape only, so no result depends on the threads.
 *
 * In a tile of scores keys are rows and queries are columns: then a vector holds one score of each
 * of several queries, and maximum, sum and scaling need no exchange between its lanes.
 *
 * With a sight, a group of columns works on a tile of keys if the positions between the first and
 * the last that some query of the group sees, and those between the least and the most of the keys,
 * have one in common.  Kernels find both in the arrays, plans in the sight (attention_work.c).
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

#define ATTENTION_GROUPS (QTILE / KERN_MULTIPLY_COLS) /* of columns, in a tile */

/* Minimum and maximum of the positions of a tile's keys. */
struct attention_hull {
    int32_t least, most;
};

struct attention_run {
    const struct kern_attention *desc;
    const struct kern_args *args;
    const int32_t *spans, *positions; /* NULL: no sight */
    const int32_t *table;             /* NULL: no pages */
    int64_t nitems;
    int64_t nparts;
    char *workspace;
    uint64_t part_bytes;
    struct attention_hull *hulls; /* of the tiles of keys, block after block */
    uint64_t (*item)(const struct attention_run *run, int64_t item, void *part); /* returns its
                                                                                    flops */
};

/* A tile of queries in one block. */
struct attention_tile {
    int64_t b, block;
    int64_t s0; /* first query, in the device's array */
    size_t nq;
    int64_t t0, nkeys; /* keys of the block that may be seen, in the device's array */
    struct kern_span groups[ATTENTION_GROUPS]; /* union of what the queries of each group see */
    int32_t first[QTILE], last[QTILE];         /* what each query sees; beyond nq everything */
};

/* The columns of a tile to compute; none if end <= from.  `from` is the start of a group.
 */
struct attention_columns {
    size_t from, end;
};

static inline size_t attention_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static inline int64_t attention_tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile;
}

static inline int64_t attention_block_queries(const struct kern_attention *a)
{
    return a->queries / a->blocks;
}

static inline int64_t attention_block_keys(const struct kern_attention *a)
{
    return a->keys / a->blocks;
}

/* Elements between rows of head_dim, or value_dim, in a tile. */
static inline size_t attention_pitch(int64_t width)
{
    return attention_round_up((size_t)width, KERN_MULTIPLY_COLS);
}

/* Bytes of scratch elements, in the type of sums. */
uint64_t attention_scratch_bytes(const struct kern_attention *a, uint64_t nelems);

/* Query-key pairs that are computed, over all heads and rows of the batch; and all pairs in blocks,
 * masked or not. */
uint64_t attention_pairs(const struct kern_attention *a, const int64_t *offsets);
uint64_t attention_dense_pairs(const struct kern_attention *a);

/* Whether some pairs are skipped at some offsets. */
bool attention_skips(const union kern_desc *desc);

/* as_work() of kernel.h: with a sight, removes everything but the number of pairs. */
uint64_t attention_as_work(union kern_desc *desc, int64_t *offsets);

/* How often arrays of each shape are read or written. */
struct attention_counts {
    uint64_t q, o;            /* arrays like q, and like o */
    uint64_t seen, all;       /* pairs of arrays like k and v: with visible keys, and with all
                                 keys */
    uint64_t sums, o_of_sums; /* arrays like lse; arrays like o, in lse's type */
};

uint64_t attention_array_bytes(const struct kern_attention *a, const int64_t *offsets,
                               const struct attention_counts *counts);

/* Workspace for up to parts_max parts, and for hulls. */
uint64_t attention_workspace_bytes(const struct kern_attention *a, uint64_t nitems,
                                   uint64_t parts_max, uint64_t part_bytes);

/* Execute all items in a workspace of that size; returns their flops. */
uint64_t attention_run_items(struct attention_run *run, int64_t parts_max);

/* Set up the tile of queries that begins at query s of a block. */
void attention_tile_init(struct attention_tile *tile, const struct attention_run *run, int64_t b,
                         int64_t block, int64_t s);

/* The columns of a tile that work on the nk keys from the device's key t on; and whether one of
 * them does not see all of these keys. */
struct attention_columns attention_columns_of(const struct attention_run *run,
                                              const struct attention_tile *tile, int64_t t);
bool attention_is_masked(const struct attention_run *run, const struct attention_tile *tile,
                         struct attention_columns columns, int64_t t, size_t nk);

/* The columns of groups that see positions in this range: from the first such group to the last. */
static inline struct attention_columns attention_seen(const struct kern_span *groups, size_t nq,
                                                      int64_t least, int64_t most)
{
    struct attention_columns columns = {nq, 0};
    size_t group = 0;

    for (size_t j = 0; j < nq; j += KERN_MULTIPLY_COLS, group++) {
        if (groups[group].first > most || groups[group].last < least)
            continue;
        columns.from = columns.from < j ? columns.from : j;
        columns.end = j + KERN_MULTIPLY_COLS < nq ? j + KERN_MULTIPLY_COLS : nq;
    }
    return columns;
}

/* Flops of a product of two blocks, without padding. */
static inline uint64_t attention_product_flops(size_t m, size_t n, size_t depth)
{
    return 2 * (uint64_t)m * n * depth;
}

/* Rows of [batch][query][head] and [batch][key][kv_head]. */
static inline int64_t attention_q_row(const struct kern_attention *a, int64_t b, int64_t s,
                                      int64_t h)
{
    return (b * a->queries + s) * a->heads + h;
}

static inline int64_t attention_kv_row(const struct attention_run *run, int64_t b, int64_t t,
                                       int64_t g)
{
    return kern_attention_key(run->desc, run->table, b, t) * run->desc->kv_heads + g;
}

/* How many of n keys from the device's key t on lie one after the other. */
static inline size_t attention_together(const struct kern_attention *a, int64_t t, size_t n)
{
    int64_t left = a->pages ? a->pages->page - t % a->pages->page : INT64_MAX;

    return (int64_t)n < left ? n : (size_t)left;
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

/* Keys that at least one query before `end` of the whole sees, without a sight. */
static inline int64_t attention_nvisible(const struct kern_attention *a, int64_t end)
{
    int64_t nkeys = attention_block_keys(a);

    return !a->causal || end > nkeys ? nkeys : end;
}

/* How many queries of a tile, which begins at query s of the whole, do not see key t. */
static inline size_t attention_nblind(const struct kern_attention *a, int64_t s, int64_t t)
{
    int64_t n = t - s;

    return !a->causal || n < 0 ? 0 : n < QTILE ? (size_t)n : QTILE;
}

/* Columns of a tile that need not be computed, as they see no key from t0 on. */
static inline size_t attention_nskipped(const struct kern_attention *a, int64_t s, int64_t t0)
{
    return attention_nblind(a, s, t0) / KERN_MULTIPLY_COLS * KERN_MULTIPLY_COLS;
}

#endif /* KERN_ATTENTION_TILE_H */
