/* ring_attention.h - ring attention: keys and values move from device to device, one block at a
 * time.
 *
 * Queries, keys and values are cut alike into n equal blocks.  In step t every block of queries
 * attends to the keys that started t blocks before it, and merges the result into what it has by
 * the running log-sum-exp; meanwhile keys and values move by one block.  After n steps each query
 * has seen all keys.  On an axis of n devices that shards the sequence, a device holds two blocks
 * of keys at any time, and receives 2(n - 1) blocks, in the backward phase 4(n - 1)
 * (graph/ops/attention_reverse.c).  Liu et al. 2023, "Ring attention with blockwise transformers".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_RING_ATTENTION_H
#define GRAPH_LAYERS_RING_ATTENTION_H

#include "graph/graph.h"

/* Data-defined mask of a sequence whose tokens are in the order of `sight`.  All of it lives as
 * long as the graph. */
struct attention_sight {
    const struct kern_sight *sight;
    uint32_t spans;            /* as in struct graph_attention */
    const uint32_t *positions; /* [0, 1, ...]: positions of the tokens moved by that many blocks */
    uint32_t blocks;           /* at least 1: all keys are present; more: keys move around a ring,
                                  or a cache lies in as many parts */
    uint32_t table;            /* as in struct graph_attention; GRAPH_NONE: no pages */
    uint32_t queries; /* [seq]: positions of queries of their own (kern/sight.h); GRAPH_NONE: those
                         of the tokens */
};

/* What scores become before the softmax. */
struct attention_scores {
    double scale, cap; /* as in struct graph_attention */
    uint32_t sinks;    /* [heads], or GRAPH_NONE */
};

/* q[batch, seq, heads, head_dim] to k, v[batch, seq, kv_heads, head_dim], with a common `seq` that
 * is divided into at least 2 blocks.  Returns o[batch, seq, heads, head_dim]. */
uint32_t layer_ring_attention(struct graph *graph, const char *name, const uint32_t qkv[3],
                              const struct attention_sight *sight,
                              const struct attention_scores *scores);

#endif /* GRAPH_LAYERS_RING_ATTENTION_H */
