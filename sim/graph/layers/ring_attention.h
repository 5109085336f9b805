/* ring_attention.h - attention whose keys come a block at a time, from neighbour to neighbour.
 *
 * Queries, keys and values are cut into n equal blocks alike.  In step t every block of queries
 * attends to the keys that began t blocks before it, and goes on from what it has seen so far
 * by the running log-sum-exp; meanwhile keys and values move on by one block.  After n steps each
 * query has seen all.  On an axis of n devices that shards the sequence a device holds two blocks
 * of keys at any time, and receives 2(n - 1) blocks, in the backward phase 4(n - 1)
 * (graph/ops/attention_reverse.c).  Liu et al. 2023, "Ring attention with blockwise transformers".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_RING_ATTENTION_H
#define GRAPH_LAYERS_RING_ATTENTION_H

#include "graph/graph.h"

/* What is seen of a sequence, as data; tokens lie in the order of `sight`.  All of it lives as long
 * as the graph. */
struct attention_sight {
    const struct kern_sight *sight;
    uint32_t spans;            /* of struct graph_attention */
    const uint32_t *positions; /* of the tokens moved on by 0, 1, ... blocks, for each of them */
    uint32_t blocks;           /* at least 1: the keys are all there; else they go around */
};

/* q[batch, seq, heads, head_dim] to k, v[batch, seq, kv_heads, head_dim], of one `seq`, which the
 * blocks divide, at least 2 of them.  Returns o[batch, seq, heads, head_dim]. */
uint32_t layer_ring_attention(struct graph *graph, const char *name, const uint32_t qkv[3],
                              const struct attention_sight *sight, double scale);

#endif /* GRAPH_LAYERS_RING_ATTENTION_H */
