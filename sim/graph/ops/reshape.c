/* Op: the elements of an array, in the order of storage, under other dimensions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static double elements_of(const struct graph *graph, const uint32_t *dims, uint32_t rank)
{
    double count = 1;

    for (uint32_t d = 0; d < rank; d++)
        count *= (double)graph->dims[dims[d]].size;
    return count;
}

uint32_t graph_reshape(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                       uint32_t rank)
{
    struct graph_node node;

    if (!graph_usable(graph, x))
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_RESHAPE, x);
    if (elements_of(graph, dims, rank) != elements_of(graph, node.dims, node.rank))
        return graph_fail(graph, SHD_EINVAL, "'%s' has %.0f elements, and its operand '%s' %.0f",
                          name, elements_of(graph, dims, rank), graph->nodes[x].name,
                          elements_of(graph, node.dims, node.rank));
    node.rank = rank;
    for (uint32_t d = 0; d < rank; d++)
        node.dims[d] = dims[d];
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    struct graph_node x = r->graph->nodes[n.inputs[0]];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    reverse_add(r, n.inputs[0], graph_reshape(r->graph, name, adjoint, x.dims, x.rank));
}

static void need(struct padding *p, struct graph_node *n)
{
    padding_refuse_all(p, n);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_add(out, "jnp.reshape($0, (");
    for (uint32_t d = 0; d < n->rank; d++)
        text_addf(out, "%lld, ", (long long)graph->dims[n->dims[d]].size);
    text_add(out, "))");
}

const struct graph_op_row graph_op_reshape = {.name = "reshape",
                                              .linear = KERN_LINEAR_IN_ALL,
                                              .passes_sums = true,
                                              .reverse = reverse,
                                              .need = need,
                                              .jax = jax};
