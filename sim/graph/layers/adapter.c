/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/adapter.h"

/* The other operand of a product of two arrays. */
static const struct graph_node *other_of(const struct graph *graph,
                                         const struct graph_node *product,
                                         const struct graph_node *kernel)
{
    const struct graph_node *first = &graph->nodes[product->inputs[0]];

    return first == kernel ? &graph->nodes[product->inputs[1]] : first;
}

struct adapter_shape adapter_shape(const struct graph *graph, const struct graph_node *product,
                                   const struct graph_node *kernel, uint32_t rank_dim)
{
    const struct graph_node *x = other_of(graph, product, kernel);
    struct adapter_shape s = {.inputs = 1};
    uint32_t nshared = 0, nout = 0, out[GRAPH_RANK_MAX];

    for (uint32_t d = 0; d < kernel->rank; d++)
        if (graph_has_dim(product, kernel->dims[d]) && graph_has_dim(x, kernel->dims[d]))
            s.a_dims[nshared] = s.b_dims[nshared] = kernel->dims[d], nshared++;
    s.a_rank = s.b_rank = nshared;
    for (uint32_t d = 0; d < kernel->rank; d++) {
        uint32_t dim = kernel->dims[d];

        if (!graph_has_dim(product, dim)) {
            s.a_dims[s.a_rank++] = dim;
            s.inputs *= (double)graph->dims[dim].size;
        } else if (!graph_has_dim(x, dim)) {
            out[nout++] = dim;
        }
    }
    if (s.a_rank == nshared || nout == 0 || kernel->rank == GRAPH_RANK_MAX)
        return (struct adapter_shape){.a_rank = 0};
    s.a_dims[s.a_rank++] = s.b_dims[s.b_rank++] = rank_dim;
    for (uint32_t d = 0; d < nout; d++)
        s.b_dims[s.b_rank++] = out[d];
    return s;
}

/* The product `like` with other operands, or another shape. */
static uint32_t product_like(struct graph *g, const struct graph_node *like, const char *name,
                             uint32_t x, uint32_t weights, const uint32_t *dims, uint32_t rank)
{
    if (like->op == GRAPH_GROUPED)
        return graph_grouped(g, name, x, weights, like->inputs[2], like->attr.experts.routing,
                             like->attr.experts.slot_dim, dims, rank);
    return graph_einsum(g, name, x, weights, dims, rank);
}

uint32_t layer_adapter(struct graph *graph, uint32_t y, uint32_t k, uint32_t a, uint32_t b,
                       double factor)
{
    uint32_t dims[GRAPH_RANK_MAX + 1], rank = 0, x, low;
    struct graph_node n;
    const char *name;

    if (!graph_usable(graph, y) || !graph_usable(graph, a) || !graph_usable(graph, b))
        return GRAPH_NONE;
    n = graph->nodes[y];
    x = n.inputs[1 - k];
    name = n.name;
    for (uint32_t d = 0; d < n.rank; d++)
        if (graph_has_dim(&graph->nodes[x], n.dims[d]))
            dims[rank++] = n.dims[d];
    dims[rank++] = graph->nodes[a].dims[graph->nodes[a].rank - 1];
    low = product_like(graph, &n, graph_text(graph, "%s/lora_a", name), x, a, dims, rank);
    low = product_like(graph, &n, graph_text(graph, "%s/lora_b", name), low, b, n.dims, n.rank);
    if (factor != 1)
        low = graph_map(graph, graph_text(graph, "%s/lora/scaled", name), KERN_SCALE, low,
                        GRAPH_NONE, factor);
    return graph_map(graph, graph_text(graph, "%s/lora/sum", name), KERN_ADD, y, low, 0);
}
