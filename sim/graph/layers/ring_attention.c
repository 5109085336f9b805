/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/ring_attention.h"

/* Keys or values moved by one block. */
static uint32_t next_block(struct graph *g, uint32_t x, uint32_t blocks)
{
    struct graph_node n;

    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    n = g->nodes[x];
    return graph_shift(g, n.name, x, n.dims[1], g->dims[n.dims[1]].size / blocks);
}

/* The next block is requested before the work on the current block, so that the transfer
 * overlaps. */
uint32_t layer_ring_attention(struct graph *graph, const char *name, const uint32_t qkv[3],
                              const struct attention_sight *sight,
                              const struct attention_scores *scores)
{
    uint32_t k = qkv[1], v = qkv[2], o = GRAPH_NONE;

    for (uint32_t step = 0; step < sight->blocks && graph->err.status == SHD_OK; step++) {
        bool more = step + 1 < sight->blocks;
        const struct graph_attention opts = {.scale = scores->scale,
                                             .cap = scores->cap,
                                             .spans = sight->spans,
                                             .positions = sight->positions[step],
                                             .sight = sight->sight,
                                             .blocks = sight->blocks,
                                             .shift = step,
                                             .before = o,
                                             .more = more,
                                             .sinks = more ? GRAPH_NONE : scores->sinks};
        uint32_t k_next = more ? next_block(graph, k, sight->blocks) : GRAPH_NONE;
        uint32_t v_next = more ? next_block(graph, v, sight->blocks) : GRAPH_NONE;

        o = graph_attention(graph, name, qkv[0], k, v, &opts);
        k = k_next;
        v = v_next;
    }
    return graph->err.status == SHD_OK ? o : GRAPH_NONE;
}
