/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "kern/attention_tile.h"

#include "kern/convert.h"
#include "kern/multiply.h"
#include "kern/nest.h"

/* A cache line: what multiply.h asks of rows. */
#define ALIGNMENT 64

size_t attention_pitch(const struct kern_attention *a)
{
    return attention_round_up((size_t)a->head_dim, KERN_MULTIPLY_COLS);
}

uint64_t attention_scratch_bytes(const struct kern_attention *a, uint64_t nelems)
{
    return kern_sat_mul(nelems, a->dtype == SHD_F64 ? sizeof(double) : sizeof(float));
}

/* (query, key) pairs that the tile of queries from local query s0 on works on, of one head: all
 * keys that its last query sees, but for the columns that are skipped near the diagonal.  Past the
 * first key tile that is not seen whole there are at most three. */
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

/* Pairs of all tiles of queries, of one head.  While its keys last, a tile has QTILE keys more than
 * the one before, and the same diagonal; then one may be cut short by the last key, and those after
 * it see all keys. */
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

uint64_t attention_work(const struct kern_attention *a, int64_t query0)
{
    const int64_t extent[] = {a->batch, a->heads, a->head_dim};

    if (!a->causal || attention_dense_work(a) == 0)
        return attention_dense_work(a);
    return kern_sat_mul(kern_elements(3, extent, 7), all_pairs(a, query0));
}

uint64_t attention_dense_work(const struct kern_attention *a)
{
    const int64_t extent[] = {a->batch, a->heads, a->queries, a->keys, a->head_dim};

    return kern_elements(5, extent, 31);
}

uint64_t attention_array_bytes(const struct kern_attention *a, int64_t query0, uint64_t nqueries,
                               uint64_t nseen_keys, uint64_t nkeys, uint64_t nlse)
{
    int64_t seen = a->queries > 0 ? attention_nvisible(a, query0 + a->queries) : 0;
    const int64_t q[] = {a->batch, a->queries, a->heads, a->head_dim};
    const int64_t k[] = {a->batch, a->keys, a->kv_heads, a->head_dim};
    const int64_t s[] = {a->batch, seen, a->kv_heads, a->head_dim};
    uint64_t count = kern_sat_mul(nqueries, kern_elements(4, q, 15));
    uint64_t lse = kern_sat_mul(nlse, kern_elements(3, q, 7));

    count = kern_sat_add(count, kern_sat_mul(nseen_keys, kern_elements(4, s, 15)));
    count = kern_sat_add(count, kern_sat_mul(nkeys, kern_elements(4, k, 15)));
    return kern_sat_add(kern_sat_mul(count, kern_size(a->dtype)), attention_scratch_bytes(a, lse));
}

uint64_t attention_parts_bytes(uint64_t nitems, uint64_t parts_max, uint64_t part_bytes)
{
    uint64_t nparts = nitems < parts_max ? nitems : parts_max;

    return nparts ? kern_sat_add(kern_sat_mul(nparts, part_bytes), ALIGNMENT) : 0;
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
    return kern_parallel(part_task, run, run->nparts, run->args->nthreads);
}
