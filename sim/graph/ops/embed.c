/* Op: look-up of rows by number.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

uint32_t graph_embed(struct graph *graph, const char *name, uint32_t table, uint32_t ids)
{
    struct graph_node node = {.op = GRAPH_EMBED, .ninputs = 2, .inputs = {table, ids}};
    const struct graph_node *t, *i;

    if (graph->err.status != SHD_OK || table == GRAPH_NONE || ids == GRAPH_NONE)
        return GRAPH_NONE;
    t = &graph->nodes[table];
    i = &graph->nodes[ids];
    if (t->rank < 1 || i->dtype != SHD_I32 || i->rank + t->rank - 1 > GRAPH_RANK_MAX)
        return graph_fail(graph, SHD_EINVAL, "'%s' needs table[rows, ...] and int32 ids", name);
    node.dtype = t->dtype;
    node.rank = i->rank + t->rank - 1;
    memcpy(node.dims, i->dims, i->rank * sizeof *i->dims);
    memcpy(node.dims + i->rank, t->dims + 1, (t->rank - 1) * sizeof *t->dims);
    node.attr.choice.dim = t->dims[0];
    return graph_add(graph, &node, name);
}

uint32_t graph_embed_add(struct graph *graph, const char *name, uint32_t x, uint32_t ids,
                         uint32_t dim)
{
    struct graph_node node = {.op = GRAPH_EMBED_GRAD, .ninputs = 2, .inputs = {ids, x}};
    const struct graph_node *from, *i;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || ids == GRAPH_NONE)
        return GRAPH_NONE;
    from = &graph->nodes[x];
    i = &graph->nodes[ids];
    if (i->dtype != SHD_I32 || i->rank > from->rank || dim >= graph->ndims ||
        memcmp(i->dims, from->dims, i->rank * sizeof *i->dims) != 0)
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs int32 ids over the first dimensions of '%s', the rows", name,
                          from->name);
    node.dtype = from->dtype;
    node.rank = 1 + from->rank - i->rank;
    node.dims[0] = dim;
    memcpy(node.dims + 1, from->dims + i->rank, (node.rank - 1) * sizeof *from->dims);
    node.attr.choice.dim = dim;
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    reverse_by_ids(r, node, adjoint, GRAPH_EMBED_GRAD);
}

static void reverse_add_rows(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    reverse_of_sums(r, node, adjoint, GRAPH_EMBED);
}

static void jax_add_rows(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct graph_node *ids = &graph->nodes[n->inputs[0]];

    text_addf(out, "add_rows($1, $0, %lld, %u)", (long long)graph->dims[n->attr.choice.dim].size,
              ids->rank);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph, (void)n;
    text_add(out, "jnp.take($0, $1, axis=0)");
}

/* An id in the padding is a valid id. */
const struct graph_op_row graph_op_embed = {.name = "embedding",
                                            .linear = KERN_LINEAR_IN_ALL,
                                            .reverse = reverse,
                                            .made = padding_kept,
                                            .jax = jax};

const struct graph_op_row graph_op_embed_grad = {.name = "embedding gradient",
                                                 .linear = KERN_LINEAR_IN_ALL,
                                                 .reverse = reverse_add_rows,
                                                 .need = padding_need_ids_grad,
                                                 .made = padding_ids_grad,
                                                 .jax = jax_add_rows};
