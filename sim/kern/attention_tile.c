/* Tiles of attention: visible keys, workspace and items (kern/attention_tile.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/attention_tile.h"

#include "kern/convert.h"
#include "kern/nest.h"

/* A cache line, which multiply.h requires of rows. */
#define ALIGNMENT 64

/* ---- keys that a tile of queries sees ---- */

/* Set what each query and each group of a tile sees, from the spans of its queries. */
static void read_spans(struct attention_tile *tile, const int32_t *spans)
{
    for (size_t j = 0; j < QTILE; j++) {
        struct kern_span *group = &tile->groups[j / KERN_MULTIPLY_COLS];

        tile->first[j] = j < tile->nq ? spans[2 * j] : 0;
        tile->last[j] = j < tile->nq ? spans[2 * j + 1] : INT32_MAX;
        if (j % KERN_MULTIPLY_COLS == 0)
            *group = (struct kern_span){INT32_MAX, -1};
        if (j >= tile->nq)
            continue;
        group->first = tile->first[j] < group->first ? tile->first[j] : group->first;
        group->last = tile->last[j] > group->last ? tile->last[j] : group->last;
    }
}

void attention_tile_init(struct attention_tile *tile, const struct attention_run *run, int64_t b,
                         int64_t block, int64_t s)
{
    const struct kern_attention *a = run->desc;
    int64_t left = attention_block_queries(a) - s, row;

    tile->b = b;
    tile->block = block;
    tile->s0 = block * attention_block_queries(a) + s;
    tile->nq = (size_t)(left < QTILE ? left : QTILE);
    tile->t0 = block * attention_block_keys(a);
    tile->nkeys = attention_nvisible(a, run->args->offsets[KERN_ATTENTION_QUERY0] + tile->s0 +
                                            (int64_t)tile->nq);
    if (!run->spans)
        return;
    row = a->sight->rows > 0 ? b : 0;
    read_spans(tile, run->spans + 2 * (row * a->queries + tile->s0));
}

/* The hull of the tile of keys that begins at the device's key t. */
static struct attention_hull hull_at(const struct attention_run *run,
                                     const struct attention_tile *tile, int64_t t)
{
    int64_t ntiles = attention_tiles(attention_block_keys(run->desc), KTILE);

    return run->hulls[tile->block * ntiles + (t - tile->t0) / KTILE];
}

struct attention_columns attention_columns_of(const struct attention_run *run,
                                              const struct attention_tile *tile, int64_t t)
{
    int64_t s = run->args->offsets[KERN_ATTENTION_QUERY0] + tile->s0;

    if (run->spans) {
        struct attention_hull hull = hull_at(run, tile, t);

        return attention_seen(tile->groups, tile->nq, hull.least, hull.most);
    }
    return (struct attention_columns){attention_nskipped(run->desc, s, t), tile->nq};
}

bool attention_is_masked(const struct attention_run *run, const struct attention_tile *tile,
                         struct attention_columns columns, int64_t t, size_t nk)
{
    int64_t s = run->args->offsets[KERN_ATTENTION_QUERY0] + tile->s0;
    struct attention_hull hull;

    if (!run->spans)
        return attention_nblind(run->desc, s, t + (int64_t)nk - 1) > columns.from;
    hull = hull_at(run, tile, t);
    for (size_t j = columns.from; j < columns.end; j++)
        if (tile->first[j] > hull.least || tile->last[j] < hull.most)
            return true;
    return false;
}

/* ---- bytes ---- */

uint64_t attention_scratch_bytes(const struct kern_attention *a, uint64_t nelems)
{
    return kern_sat_mul(nelems, kern_size(kern_attention_sums(a->dtype)));
}

static uint64_t nhulls(const struct kern_attention *a)
{
    return a->sight ? (uint64_t)(a->blocks * attention_tiles(attention_block_keys(a), KTILE)) : 0;
}

uint64_t attention_workspace_bytes(const struct kern_attention *a, uint64_t nitems,
                                   uint64_t parts_max, uint64_t part_bytes)
{
    uint64_t nparts = nitems < parts_max ? nitems : parts_max;
    uint64_t hulls = kern_sat_mul(nhulls(a), sizeof(struct attention_hull));

    if (nparts == 0)
        return 0;
    return kern_sat_add(kern_sat_add(kern_sat_mul(nparts, part_bytes), ALIGNMENT), hulls);
}

/* ---- items ---- */

static void read_positions(struct attention_run *run)
{
    const struct kern_attention *a = run->desc;
    int64_t nkeys = attention_block_keys(a), ntiles = attention_tiles(nkeys, KTILE);

    for (int64_t i = 0; i < a->blocks * ntiles; i++) {
        int64_t t = i % ntiles * KTILE, end = t + KTILE < nkeys ? t + KTILE : nkeys;
        const int32_t *positions = run->positions + i / ntiles * nkeys;
        struct attention_hull hull = {INT32_MAX, -1};

        for (; t < end; t++) {
            hull.least = positions[t] < hull.least ? positions[t] : hull.least;
            hull.most = positions[t] > hull.most ? positions[t] : hull.most;
        }
        run->hulls[i] = hull;
    }
}

static uint64_t part_task(void *arg, int64_t part)
{
    const struct attention_run *run = arg;
    uint64_t flops = 0;

    for (int64_t item = part; item < run->nitems; item += run->nparts)
        flops += run->item(run, item, run->workspace + (uint64_t)part * run->part_bytes);
    return flops;
}

uint64_t attention_run_items(struct attention_run *run, int64_t parts_max)
{
    uintptr_t at = (uintptr_t)run->args->workspace;

    if (run->nitems == 0)
        return 0;
    run->nparts = run->nitems < parts_max ? run->nitems : parts_max;
    run->workspace = (char *)run->args->workspace + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
    run->hulls = (void *)(run->workspace + (uint64_t)run->nparts * run->part_bytes);
    if (run->positions)
        read_positions(run);
    return kern_parallel(part_task, run, run->nparts, run->args->nthreads);
}
