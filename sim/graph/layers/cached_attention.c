/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/cached_attention.h"

#include <string.h>

#include "graph/layers/quantized.h"
#include "kern/quant.h"

/* More tokens than are kept of a sequence. */
#define SEQUENCE (UINT64_C(1) << 32)

/* What is kept of tokens before the first step: it depends on a token's place in its sequence, and
 * not on the order or the room in which tokens lie; but in pages it is what lies there. */
static struct kern_source content(const struct graph *g, const char *name,
                                  const struct graph_node *n, const struct attention_cache *cache)
{
    struct kern_source source = cache->source(cache->seed, name, cache->begins ? 0 : 2);

    if (cache->kept.pages)
        return source;
    source.order = cache->kept.order;
    source.inner = 1;
    for (uint32_t d = 2; d < n->rank; d++)
        source.inner *= g->dims[n->dims[d]].size;
    source.place.columns = (uint64_t)(source.order.extent * source.inner);
    source.place.row = SEQUENCE * (uint64_t)source.inner;
    source.place.first = (uint64_t)(cache->kept.from * source.inner);
    return source;
}

/* Rows[batch, seq, ..] by the pools in which they are kept: [pools, rows, seq, ..]. */
static uint32_t by_pool(struct graph *g, const char *name, uint32_t rows,
                        const struct attention_cache *cache)
{
    const struct graph_node n = g->nodes[rows];
    uint32_t dims[GRAPH_RANK_MAX] = {cache->pools, cache->rows};

    for (uint32_t d = 1; d < n.rank; d++)
        dims[d + 1] = n.dims[d];
    return graph_reshape(g, graph_text(g, "%s/rows", name), rows, dims, n.rank + 1);
}

/* Rows of the new tokens that are kept. */
static uint32_t fresh_rows(struct graph *g, const char *name, uint32_t rows,
                           const struct attention_cache *cache)
{
    uint32_t seq = g->nodes[rows].dims[1];

    if (cache->fresh == seq)
        return rows;
    return graph_slice(g, graph_text(g, "%s/fresh", name), rows, seq, cache->fresh,
                       g->dims[seq].size - g->dims[cache->fresh].size);
}

/* Rows as codes whose scale is 1: their greatest magnitude counts as the largest that a code is. */
static uint32_t as_codes(struct graph *g, const char *name, uint32_t rows, enum shd_dtype code)
{
    struct graph_codes codes = {
        GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, {.code = code, .scaling = KERN_SCALE_EXACT}};

    codes.amax = graph_input(g, graph_text(g, "%s/amax", name), g->nodes[rows].dtype, NULL, 0,
                             (struct kern_source){.offset = kern_code_largest(code)});
    graph_encode(g, graph_text(g, "%s/codes", name), rows, &codes);
    return codes.codes;
}

/* What earlier steps filled an array of codes with: any of them, under scales of a quarter, which
 * let values of e2m1 be within 1.5; or zeros. */
static void fill_codes(struct kern_source *source, enum shd_dtype dtype, bool scales, bool begins)
{
    static const uint8_t none = 0, quarter = 125; /* 127 - 2: the exponent of MXFP4's scale */

    source->scale = 0;
    if (dtype != SHD_U8)
        source->offset = begins ? 0 : 0.25;
    else if (scales || begins) {
        source->bytes = begins ? &none : &quarter;
        source->nbytes = 1;
    } else
        source->modulus = UINT8_MAX + 1;
}

/* Write rows into one array of a cache. */
static uint32_t keep(struct graph *g, const char *name, uint32_t rows,
                     const struct attention_cache *cache, const char *like, bool scales)
{
    struct graph_node n;
    struct kern_source source;
    uint32_t input, kept;

    if (g->err.status != SHD_OK || rows == GRAPH_NONE)
        return GRAPH_NONE;
    n = g->nodes[rows];
    n.dims[1] = cache->dim;
    if (cache->kept.pages) {
        n.dims[0] = cache->pools;
        rows = by_pool(g, name, rows, cache);
    }
    source = content(g, name, &n, cache);
    if (cache->quant != KERN_NQUANT_TYPES)
        fill_codes(&source, n.dtype, scales, cache->begins);
    input = graph_input(g, name, n.dtype, n.dims, n.rank, source);
    if (input == GRAPH_NONE)
        return GRAPH_NONE;
    g->nodes[input].base = like;
    g->nodes[input].kept = &cache->kept;
    kept =
        graph_append(g, graph_text(g, "%s/append", name), input, rows, cache->places, cache->dim);
    graph_output(g, GRAPH_NEXT, name, kept, input);
    return kept;
}

/* Keep rows as codes of 4 bits. */
static uint32_t keep_codes(struct graph *g, const char *name, uint32_t rows,
                           const struct attention_cache *cache, const char *like)
{
    const struct graph_node n = g->nodes[rows];
    int64_t width = g->dims[n.dims[n.rank - 1]].size;
    int64_t box = cache->block > 0 ? cache->block : quantized_block(cache->quant);
    uint32_t codes, scales, dims[GRAPH_RANK_MAX];

    while (cache->block == 0 && width % box != 0)
        box /= 2;
    codes = graph_quantize(g, graph_text(g, "%s/codes", name), cache->quant, rows, box);
    if (codes == GRAPH_NONE || g->err.status != SHD_OK)
        return GRAPH_NONE;
    scales =
        keep(g, graph_text(g, "%s/scales", name), g->nodes[codes].extras[0], cache, like, true);
    codes = keep(g, name, codes, cache, like, false);
    if (codes == GRAPH_NONE || cache->begins)
        return codes;
    memcpy(dims, g->nodes[codes].dims, sizeof dims);
    dims[n.rank - 1] = n.dims[n.rank - 1];
    return graph_restore(g, graph_text(g, "%s/restored", name), cache->quant, n.dtype, codes,
                         scales, dims, n.rank);
}

uint32_t layer_cache(struct graph *graph, const char *name, uint32_t rows,
                     const struct attention_cache *cache, const char *like)
{
    if (graph->err.status != SHD_OK || rows == GRAPH_NONE)
        return GRAPH_NONE;
    rows = fresh_rows(graph, name, rows, cache);
    if (rows == GRAPH_NONE)
        return GRAPH_NONE;
    if (cache->quant != KERN_NQUANT_TYPES)
        return keep_codes(graph, name, rows, cache, like);
    if (cache->code != SHD_NDTYPES)
        rows = as_codes(graph, name, rows, cache->code);
    return keep(graph, name, rows, cache, like, false);
}

/* q for each part: [batch, parts * seq, heads, head_dim]. */
static uint32_t for_each_part(struct graph *g, const char *name, uint32_t q, uint32_t parts,
                              uint32_t queries)
{
    const struct graph_node n = g->nodes[q];
    const uint32_t by_part[5] = {n.dims[0], parts, n.dims[1], n.dims[2], n.dims[3]};
    const uint32_t joined[4] = {n.dims[0], queries, n.dims[2], n.dims[3]};
    uint32_t ones = graph_input(g, graph_text(g, "%s/ones", name), n.dtype, &parts, 1,
                                (struct kern_source){.offset = 1});

    q = graph_map(g, graph_text(g, "%s/q", name), KERN_MUL, q, ones, 0);
    q = graph_transpose(g, graph_text(g, "%s/q", name), q, by_part, 5);
    return graph_reshape(g, graph_text(g, "%s/q", name), q, joined, 4);
}

/* x[batch, parts * seq, ..] as [batch, parts, seq, ..]. */
static uint32_t by_part(struct graph *g, const char *name, uint32_t x, uint32_t parts, uint32_t seq)
{
    struct graph_node n;
    uint32_t dims[GRAPH_RANK_MAX], rank = 0;

    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    n = g->nodes[x];
    dims[rank++] = n.dims[0];
    dims[rank++] = parts;
    dims[rank++] = seq;
    for (uint32_t d = 2; d < n.rank; d++)
        dims[rank++] = n.dims[d];
    return graph_reshape(g, name, x, dims, rank);
}

/* o[batch, parts, seq, heads, value_dim] and lse[batch, parts, seq, heads] of parts, as one. */
static uint32_t merged(struct graph *g, const char *name, uint32_t o, uint32_t lse, uint32_t sinks)
{
    uint32_t dims[4], most, weights, sum;

    if (g->err.status != SHD_OK || o == GRAPH_NONE || lse == GRAPH_NONE)
        return GRAPH_NONE;
    dims[0] = g->nodes[o].dims[0];
    for (int d = 1; d < 4; d++)
        dims[d] = g->nodes[o].dims[d + 1];
    most = graph_reduce(g, graph_text(g, "%s/most", name), SHD_MAX, lse, dims, 3);
    if (sinks != GRAPH_NONE) {
        sinks = graph_convert(g, graph_text(g, "%s/sinks", name), g->nodes[lse].dtype, sinks);
        most = graph_map(g, graph_text(g, "%s/most", name), KERN_MAX, most, sinks, 0);
    }
    weights = graph_map(g, graph_text(g, "%s/weights", name), KERN_SUB, lse, most, 0);
    weights = graph_map(g, graph_text(g, "%s/weights", name), KERN_EXP, weights, GRAPH_NONE, 0);
    sum = graph_reduce(g, graph_text(g, "%s/sum", name), SHD_SUM, weights, dims, 3);
    if (sinks != GRAPH_NONE) {
        sinks = graph_map(g, graph_text(g, "%s/sinks", name), KERN_SUB, most, sinks, 0);
        sinks = graph_map(g, graph_text(g, "%s/sinks", name), KERN_NEG, sinks, GRAPH_NONE, 0);
        sinks = graph_map(g, graph_text(g, "%s/sinks", name), KERN_EXP, sinks, GRAPH_NONE, 0);
        sum = graph_map(g, graph_text(g, "%s/sum", name), KERN_ADD, sum, sinks, 0);
    }
    o = graph_einsum(g, graph_text(g, "%s/merge", name), o, weights, dims, 4);
    return graph_map(g, graph_text(g, "%s/merged", name), KERN_DIV, o, sum, 0);
}

uint32_t layer_cached_attention(struct graph *graph, const char *name, const uint32_t qkv[3],
                                const struct attention_sight *sight,
                                const struct attention_scores *scores)
{
    struct graph_attention opts = {.scale = scores->scale,
                                   .cap = scores->cap,
                                   .spans = sight->spans,
                                   .positions = sight->positions[0],
                                   .sight = sight->sight,
                                   .table = sight->table,
                                   .blocks = sight->blocks,
                                   .before = GRAPH_NONE,
                                   .more = sight->blocks > 1,
                                   .sinks = sight->blocks > 1 ? GRAPH_NONE : scores->sinks};
    uint32_t q = qkv[0], o, lse, parts, seq;
    enum shd_dtype dtype;

    if (graph->err.status != SHD_OK || q == GRAPH_NONE)
        return GRAPH_NONE;
    if (sight->blocks == 1)
        return graph_attention(graph, name, q, qkv[1], qkv[2], &opts);
    dtype = graph->nodes[q].dtype;
    seq = graph->nodes[q].dims[1];
    parts = graph_dim(graph, "cache_parts", sight->blocks);
    q = for_each_part(graph, name, q, parts, graph->nodes[sight->spans].dims[0]);
    o = graph_attention(graph, name, q, qkv[1], qkv[2], &opts);
    if (o == GRAPH_NONE)
        return GRAPH_NONE;
    lse = by_part(graph, graph_text(graph, "%s/lse", name), graph->nodes[o].extras[0], parts, seq);
    o = by_part(graph, graph_text(graph, "%s/parts", name), o, parts, seq);
    o = merged(graph, name, o, lse, scores->sinks);
    return graph_convert(graph, graph_text(graph, "%s/out", name), dtype, o);
}
