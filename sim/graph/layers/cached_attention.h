/* cached_attention.h - attention of new tokens to the keys and values that are kept of all tokens.
 *
 * The cache is the state of a step of serving: new tokens' keys and values are written to their
 * places in it, and what results is its next value.  Where the sequence of the cache is cut into
 * `parts`, every part is attended to where it lies, by all queries; the parts are merged by their
 * log-sum-exps ("flash decoding": Dao et al. 2023): with the largest, M, of them the result is
 * sum(e^(lse - M) o) / sum(e^(lse - M)).  So an output's size is sent and no key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_CACHED_ATTENTION_H
#define GRAPH_LAYERS_CACHED_ATTENTION_H

#include "graph/graph.h"
#include "graph/layers/ring_attention.h"

/* Shared state of the KV caches of layers that keep the same tokens. Lives as long as the graph. */
struct attention_cache {
    uint32_t dim;    /* of the tokens that are kept, which takes the place of the sequence */
    uint32_t fresh;  /* of the new tokens that are kept, the last ones: seq, if all are */
    uint32_t places; /* int32 [fresh], with pages [pools, rows, fresh]: where they are written */
    enum shd_dtype code;        /* keys and values are kept as codes of this type ... */
    enum kern_quant_type quant; /* ... or of these 4 bits, with scales of blocks of a row;
                                   SHD_NDTYPES, KERN_NQUANT_TYPES: as they are */
    int64_t block;              /* elements that have a scale; 0: the type's own */
    bool begins;                /* the cache is empty: new tokens attend to each other only */
    struct graph_kept kept; /* how tokens lie */
    uint32_t pools, rows;   /* with pages: dimensions in place of the batch, and `dim` is that of
                               slots */
    uint64_t seed;
    struct kern_source (*source)(uint64_t seed, const char *name, double scale); /* of caches that
                                                            earlier steps filled: random numbers */
};

/* Write rows[batch, seq, heads, width] of new tokens into the cache `name`, an input that shards
 * its heads like the parameter `like`; NULL: not sharded; the scales of codes of 4 bits are another
 * one, `name`/scales.  Returns what is kept afterwards, as attention reads it: [batch, cache,
 * heads, width]. */
uint32_t layer_cache(struct graph *graph, const char *name, uint32_t rows,
                     const struct attention_cache *cache, const char *like);

/* q[batch, seq, heads, head_dim] to what is kept, k[batch, cache, kv_heads, head_dim] and v[batch,
 * cache, kv_heads, value_dim], in sight->blocks parts.  Returns [batch, seq, heads, value_dim]. */
uint32_t layer_cached_attention(struct graph *graph, const char *name, const uint32_t qkv[3],
                                const struct attention_sight *sight,
                                const struct attention_scores *scores);

#endif /* GRAPH_LAYERS_CACHED_ATTENTION_H */
