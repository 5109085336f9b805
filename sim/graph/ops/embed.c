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
    if (t->rank != 2 || i->dtype != SHD_I32 || i->rank >= GRAPH_RANK_MAX ||
        graph_has_dim(i, t->dims[0]) || graph_has_dim(i, t->dims[1]))
        return graph_fail(graph, SHD_EINVAL, "'%s' needs table[rows, width] and int32 ids", name);
    node.dtype = t->dtype;
    node.rank = i->rank + 1;
    memcpy(node.dims, i->dims, i->rank * sizeof *i->dims);
    node.dims[i->rank] = t->dims[1];
    node.attr.choice.dim = t->dims[0];
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    reverse_by_ids(r, node, adjoint, GRAPH_EMBED_GRAD);
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
                                                 .need = padding_need_ids_grad,
                                                 .made = padding_ids_grad};
