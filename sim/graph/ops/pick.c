/* Op: the element at each label, for cross-entropy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

uint32_t graph_pick(struct graph *graph, const char *name, uint32_t x, uint32_t ids, uint32_t dim)
{
    struct graph_node node = {.op = GRAPH_PICK, .ninputs = 2, .inputs = {x, ids}};
    const struct graph_node *from, *i;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || ids == GRAPH_NONE)
        return GRAPH_NONE;
    from = &graph->nodes[x];
    i = &graph->nodes[ids];
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->dims[d] != dim)
            node.dims[node.rank++] = from->dims[d];
    if (node.rank + 1 != from->rank || i->dtype != SHD_I32 || i->rank < node.rank ||
        memcmp(i->dims, node.dims, node.rank * sizeof *node.dims) != 0 || graph_has_dim(i, dim))
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs int32 ids with the dimensions of '%s' except the indexed "
                          "one, then any further dimensions",
                          name, from->name);
    node.rank = i->rank;
    memcpy(node.dims, i->dims, sizeof node.dims);
    node.dtype = from->dtype;
    node.attr.choice.dim = dim;
    return graph_add(graph, &node, name);
}

uint32_t graph_pick_add(struct graph *graph, const char *name, uint32_t x, uint32_t ids,
                        uint32_t dim, uint32_t nchoices)
{
    struct graph_node node;
    const struct graph_node *i;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || ids == GRAPH_NONE)
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_PICK_GRAD, x);
    i = &graph->nodes[ids];
    if (i->dtype != SHD_I32 || i->rank != node.rank || nchoices > node.rank ||
        memcmp(i->dims, node.dims, i->rank * sizeof *i->dims) != 0 || dim >= graph->ndims ||
        graph_has_dim(i, dim))
        return graph_fail(graph, SHD_EINVAL, "'%s' needs int32 ids of the dimensions of '%s'", name,
                          graph->nodes[x].name);
    node.ninputs = 2;
    node.inputs[0] = ids;
    node.inputs[1] = x;
    node.rank -= nchoices;
    if (node.rank == GRAPH_RANK_MAX)
        return graph_fail(graph, SHD_ERANGE, "'%s' has more than %d dimensions", name,
                          GRAPH_RANK_MAX);
    node.dims[node.rank++] = dim;
    node.attr.choice.dim = dim;
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    reverse_by_ids(r, node, adjoint, GRAPH_PICK_GRAD);
}

static void reverse_pick_add(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    reverse_of_sums(r, node, adjoint, GRAPH_PICK);
}

static void jax_pick_add(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "pick_add($1, $0, %lld, %u, axis=%u)",
              (long long)graph->dims[n->attr.choice.dim].size, n->rank - 1,
              graph_place(n, n->attr.choice.dim));
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "pick($0, $1, axis=%u)",
              graph_place(&graph->nodes[n->inputs[0]], n->attr.choice.dim));
}

const struct graph_op_row graph_op_pick = {.name = "pick",
                                           .linear = KERN_LINEAR_IN_ALL,
                                           .reverse = reverse,
                                           .made = padding_kept,
                                           .jax = jax};

const struct graph_op_row graph_op_pick_grad = {.name = "pick gradient",
                                                .linear = KERN_LINEAR_IN_ALL,
                                                .reverse = reverse_pick_add,
                                                .need = padding_need_ids_grad,
                                                .made = padding_ids_grad,
                                                .jax = jax_pick_add};
