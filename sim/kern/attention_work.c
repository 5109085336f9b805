/* The amount of work in attention, computed without the arrays that define visibility: the same
 * tiles and groups of columns as in the kernels (attention_tile.h).
 *
 * Causal attention without a sight has a closed form.  With a sight, tiles of keys form runs in
 * which positions grow evenly, so that the tiles that a group of queries sees are consecutive: the
 * time is that of the tiles of queries times the runs of keys, not of the pairs of tiles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/attention_tile.h"

#include "kern/convert.h"
#include "kern/nest.h"
#include "kern/pairs.h"

/* ---- causal without a sight ---- */

/* Query-key pairs that the tile of queries from local query s0 on works on, for one head: all keys
 * that its last query sees, without the columns skipped near the diagonal.  After the first key
 * tile that is only partly visible there are at most three tiles. */
static uint64_t tile_pairs(const struct kern_attention *a, int64_t query0, int64_t s0)
{
    int64_t nq = a->queries - s0 < QTILE ? a->queries - s0 : QTILE;
    int64_t s = query0 + s0, nkeys = attention_nvisible(a, s + nq);
    uint64_t pairs = kern_sat_mul((uint64_t)nkeys, (uint64_t)nq);

    for (int64_t t0 = s / KTILE * KTILE; t0 < nkeys; t0 += KTILE) {
        int64_t nk = nkeys - t0 < KTILE ? nkeys - t0 : KTILE;

        pairs -= (uint64_t)nk * attention_nskipped(a, s, t0);
        if (nk < KTILE)
            break; /* before t0 overflows */
    }
    return pairs;
}

/* Pairs of all tiles of queries, for one head.  While keys last, each tile has QTILE keys more than
 * the one before, and the same diagonal; then the last key may cut one short, and later tiles see
 * all keys. */
static uint64_t all_pairs(const struct kern_attention *a, int64_t query0)
{
    int64_t whole = a->queries / QTILE, growing = (a->keys - query0) / QTILE;
    uint64_t pairs = 0, n;

    growing = growing < 0 ? 0 : growing < whole ? growing : whole;
    n = (uint64_t)growing;
    if (growing > 0)
        pairs = kern_sat_add(kern_sat_mul(n, tile_pairs(a, query0, 0)),
                             kern_sat_mul(kern_sat_mul(n % 2 ? n : n / 2, n % 2 ? n / 2 : n - 1),
                                          (uint64_t)QTILE * QTILE));
    for (int64_t i = growing; i < whole && i < growing + 1; i++)
        pairs = kern_sat_add(pairs, tile_pairs(a, query0, i * QTILE));
    if (whole > growing + 1)
        pairs = kern_sat_add(
            pairs, kern_sat_mul((uint64_t)(whole - growing - 1) * QTILE, (uint64_t)a->keys));
    if (a->queries > whole * QTILE)
        pairs = kern_sat_add(pairs, tile_pairs(a, query0, whole * QTILE));
    return pairs;
}

/* ---- with a sight ---- */

/* Minimum and maximum position of n tokens from an index on. */
static struct kern_span positions_of(const struct kern_order *order, int64_t index, int64_t n)
{
    struct kern_span all = {order->extent, -1};

    while (n > 0) {
        struct kern_run run = kern_order_run(order, index);
        int64_t count = run.count < n ? run.count : n;
        int64_t most = run.position + (count - 1) * run.step;

        all.first = run.position < all.first ? run.position : all.first;
        all.last = most > all.last ? most : all.last;
        index += count;
        n -= count;
    }
    return all;
}

/* What n queries from an index on see together; of queries of their own, from a position on.  The
 * ends of spans do not fall with the position. */
static struct kern_span seen_of(const struct kern_sight *sight, int64_t row, int64_t index,
                                int64_t n)
{
    struct kern_span at = {index, index + n - 1};

    if (sight->queries.count == 0)
        at = positions_of(&sight->order, index, n);

    return (struct kern_span){kern_sight_span(sight, row, at.first).first,
                              kern_sight_span(sight, row, at.last).last};
}

/* `n` tiles of `nk` keys each: the positions of tile j lie from least + j * step to most + j *
 * step.
 */
struct key_tiles {
    int64_t n, nk;
    int64_t least, most, step;
};

/* The tiles of keys that begin at an index, of `left` keys in a block: as many as have evenly
 * growing positions, or one. */
static struct key_tiles key_tiles_at(const struct kern_order *order, int64_t index, int64_t left)
{
    struct kern_run run = kern_order_run(order, index);
    int64_t even = run.count < left ? run.count : left, nk = left < KTILE ? left : KTILE;
    struct kern_span one;

    if (even >= KTILE)
        return (struct key_tiles){even / KTILE, KTILE, run.position,
                                  run.position + (KTILE - 1) * run.step, KTILE * run.step};
    one = positions_of(order, index, nk);
    return (struct key_tiles){1, nk, one.first, one.last, 0};
}

/* The first tile after tile j at which a group begins or ceases to see keys. */
static int64_t next_change(const struct key_tiles *tiles, const struct kern_span *groups, size_t nq,
                           int64_t j)
{
    int64_t next = tiles->n;

    for (size_t g = 0; g * KERN_MULTIPLY_COLS < nq; g++) {
        /* a tile is seen if most + j * step >= first and least + j * step <= last */
        int64_t before = groups[g].first - tiles->most, until = groups[g].last - tiles->least;
        int64_t begin = before > 0 ? attention_tiles(before, tiles->step) : 0;
        int64_t end = until >= 0 ? until / tiles->step + 1 : 0;

        next = begin > j && begin < next ? begin : next;
        next = end > j && end < next ? end : next;
    }
    return next;
}

static uint64_t ncolumns(struct attention_columns columns)
{
    return columns.end > columns.from ? columns.end - columns.from : 0;
}

/* Pairs of a tile of queries with such tiles of keys. */
static uint64_t pairs_with(const struct key_tiles *tiles, const struct kern_span *groups, size_t nq)
{
    int64_t further = (tiles->n - 1) * tiles->step;
    struct attention_columns at = attention_seen(groups, nq, tiles->least, tiles->most);
    struct attention_columns last =
        attention_seen(groups, nq, tiles->least + further, tiles->most + further);
    uint64_t pairs = 0;

    if (tiles->n == 1 || (at.from == 0 && at.end == nq && last.from == 0 && last.end == nq))
        return (uint64_t)(tiles->n * tiles->nk) * ncolumns(at);
    for (int64_t j = 0, next; j < tiles->n; j = next) {
        next = next_change(tiles, groups, nq, j);
        at = attention_seen(groups, nq, tiles->least + j * tiles->step,
                            tiles->most + j * tiles->step);
        pairs += (uint64_t)((next - j) * tiles->nk) * ncolumns(at);
    }
    return pairs;
}

/* The positions of one of the device's blocks, with its keys moved on. */
static struct kern_blocks blocks_at(const struct kern_attention *a, const int64_t *offsets,
                                    int64_t row, int64_t block)
{
    int64_t nqueries = attention_block_queries(a), nkeys = attention_block_keys(a);
    int64_t query = offsets[KERN_ATTENTION_QUERY0] + block * nqueries;
    int64_t all = a->sight->order.extent / nkeys, key = query / nqueries - a->shift;
    const struct kern_step_queries *own = &a->sight->queries;

    if (own->count > 0)
        query = kern_sight_query(a->sight, own->last_step, query % own->count);
    return (struct kern_blocks){row, query, nqueries, (key % all + all) % all * nkeys, nkeys};
}

static uint64_t pairs_of_tile(const struct kern_attention *a, const struct kern_blocks *b,
                              int64_t s)
{
    int64_t nq = b->nqueries - s < QTILE ? b->nqueries - s : QTILE;
    struct kern_span groups[ATTENTION_GROUPS];
    struct key_tiles tiles;
    uint64_t pairs = 0;

    for (int64_t j = 0; j < nq; j += KERN_MULTIPLY_COLS) {
        int64_t n = nq - j < KERN_MULTIPLY_COLS ? nq - j : KERN_MULTIPLY_COLS;

        groups[j / KERN_MULTIPLY_COLS] = seen_of(a->sight, b->row, b->query + s + j, n);
    }
    for (int64_t t = 0; t < b->nkeys; t += tiles.n * tiles.nk) {
        tiles = key_tiles_at(&a->sight->order, b->key + t, b->nkeys - t);
        pairs += pairs_with(&tiles, groups, (size_t)nq);
    }
    return pairs;
}

static uint64_t pairs_of_blocks(const struct kern_attention *a, const struct kern_blocks *b)
{
    uint64_t pairs = 0;

    if (kern_pairs_find(a->sight->pairs, b, &pairs))
        return pairs;
    for (int64_t s = 0; s < b->nqueries; s += QTILE)
        pairs += pairs_of_tile(a, b, s);
    kern_pairs_add(a->sight->pairs, b, pairs);
    return pairs;
}

/* Keys of a block at positions between the first and the last that some of its queries see. */
static uint64_t keys_seen(const struct kern_attention *a, const struct kern_blocks *b)
{
    struct kern_span seen = seen_of(a->sight, b->row, b->query, b->nqueries);
    uint64_t n = 0;

    for (int64_t t = 0, count; t < b->nkeys; t += count) {
        struct kern_run run = kern_order_run(&a->sight->order, b->key + t);
        int64_t from = seen.first - run.position, until = seen.last - run.position;
        int64_t begin = from > 0 ? attention_tiles(from, run.step) : 0;
        int64_t end = until >= 0 ? until / run.step + 1 : 0;

        count = run.count < b->nkeys - t ? run.count : b->nkeys - t;
        end = end < count ? end : count;
        n += end > begin ? (uint64_t)(end - begin) : 0;
    }
    return n;
}

/* The sum of a figure over all rows of the batch and blocks on the device.  Rows with the same
 * documents have equal figures. */
static uint64_t sum_of(const struct kern_attention *a, const int64_t *offsets,
                       uint64_t (*figure)(const struct kern_attention *,
                                          const struct kern_blocks *))
{
    int64_t rows = a->sight->rows < 1 ? 1 : a->sight->rows, first = 0;
    uint64_t sum = 0;

    if (a->sight->rows > 0)
        first = offsets[KERN_ATTENTION_BATCH0];
    for (int64_t b = 0; b < a->batch && b < rows; b++)
        for (int64_t block = 0; block < a->blocks; block++) {
            struct kern_blocks blocks = blocks_at(a, offsets, (first + b) % rows, block);
            uint64_t times = (uint64_t)((a->batch - b + rows - 1) / rows);

            sum = kern_sat_add(sum, kern_sat_mul(times, figure(a, &blocks)));
        }
    return sum;
}

/* ---- figures ---- */

uint64_t attention_dense_pairs(const struct kern_attention *a)
{
    const int64_t extent[] = {a->batch, a->heads, a->queries, attention_block_keys(a)};

    return kern_elements(4, extent, 15);
}

uint64_t attention_pairs(const struct kern_attention *a, const int64_t *offsets)
{
    const int64_t extent[] = {a->batch, a->heads};

    if (attention_dense_pairs(a) == 0 || (!a->causal && !a->sight))
        return attention_dense_pairs(a);
    if (a->sight)
        return kern_sat_mul((uint64_t)a->heads, sum_of(a, offsets, pairs_of_blocks));
    return kern_sat_mul(kern_elements(2, extent, 3), all_pairs(a, offsets[KERN_ATTENTION_QUERY0]));
}

/* Causal attention without a sight skips work at offset 0 if it does anywhere: there the first
 * query sees the fewest keys. */
bool attention_skips(const union kern_desc *desc)
{
    const struct kern_attention *a = &desc->attention;
    const int64_t none[KERN_ATTENTION_NOFFSETS] = {0};

    if (a->sight)
        return a->sight->causal || a->sight->window > 0 || a->sight->chunk > 0 ||
               a->sight->rows > 0;
    return attention_pairs(a, none) != attention_dense_pairs(a);
}

uint64_t attention_as_work(union kern_desc *desc, int64_t *offsets)
{
    struct kern_attention *a = &desc->attention;
    uint64_t pairs = attention_pairs(a, offsets);

    if (!a->sight)
        return pairs;
    if (a->sight->rows > 0)
        offsets[KERN_ATTENTION_BATCH0] = 0;
    offsets[KERN_ATTENTION_QUERY0] = 0;
    a->shift = 0;
    a->sight = NULL;
    return pairs;
}

/* Key rows of one head that some query sees, over the whole batch. */
static uint64_t seen_keys(const struct kern_attention *a, const int64_t *offsets)
{
    int64_t seen = attention_nvisible(a, offsets[KERN_ATTENTION_QUERY0] + a->queries);

    if (attention_dense_pairs(a) == 0)
        return 0;
    if (a->sight)
        return sum_of(a, offsets, keys_seen);
    return kern_elements(3, (const int64_t[]){a->batch, a->blocks, seen}, 7);
}

/* Bytes of spans and positions. */
static uint64_t sight_bytes(const struct kern_attention *a)
{
    int64_t rows = a->sight && a->sight->rows > 0 ? a->batch : 1;

    int64_t entries = a->pages ? a->batch * (a->keys / a->pages->page) : 0;

    if (!a->sight)
        return 0;
    return sizeof(int32_t) * (uint64_t)(2 * rows * a->queries + a->keys + entries);
}

uint64_t attention_array_bytes(const struct kern_attention *a, const int64_t *offsets,
                               const struct attention_counts *counts)
{
    uint64_t queries = kern_elements(3, (const int64_t[]){a->batch, a->queries, a->heads}, 7);
    uint64_t keys = kern_elements(3, (const int64_t[]){a->batch, a->keys, a->kv_heads}, 7);
    uint64_t seen = kern_sat_mul(seen_keys(a, offsets), (uint64_t)a->kv_heads);
    uint64_t rows = kern_sat_add(kern_sat_mul(counts->seen, seen), kern_sat_mul(counts->all, keys));
    uint64_t widths = (uint64_t)a->head_dim + (a->one ? 0 : (uint64_t)a->value_dim), sums, all;

    all = kern_sat_add(kern_sat_mul(kern_sat_mul(counts->q, queries), (uint64_t)a->head_dim),
                       kern_sat_mul(kern_sat_mul(counts->o, queries), (uint64_t)a->value_dim));
    all = kern_sat_add(kern_sat_mul(all, kern_size(a->dtype)),
                       kern_sat_mul(kern_sat_mul(rows, widths), kern_size(kern_attention_kept(a))));
    sums = kern_sat_add(
        kern_sat_mul(counts->sums, queries),
        kern_sat_mul(kern_sat_mul(counts->o_of_sums, queries), (uint64_t)a->value_dim));
    all = kern_sat_add(all, attention_scratch_bytes(a, sums));
    return kern_sat_add(all, sight_bytes(a));
}
