/* Op: repetition along a dimension, such as key heads for their query heads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* x with one dimension replaced by another. */
static uint32_t replace(struct graph *graph, const char *name, enum graph_op op, uint32_t x,
                        uint32_t old, uint32_t new, const union graph_attr *attr)
{
    struct graph_node node = graph_like(graph, op, x);

    node.attr = *attr;
    node.dims[graph_place(&node, old)] = new;
    return graph_add(graph, &node, name);
}

uint32_t graph_repeat(struct graph *graph, const char *name, uint32_t x, uint32_t from_dim,
                      uint32_t to_dim)
{
    union graph_attr attr = {.repeat = {from_dim, to_dim}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (!graph_has_dim(&graph->nodes[x], from_dim) || to_dim >= graph->ndims)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension to repeat", name,
                          graph->nodes[x].name);
    if (graph->dims[from_dim].size < 1 || graph->dims[to_dim].size % graph->dims[from_dim].size)
        return graph_fail(graph, SHD_EINDIVISIBLE, "'%s': %lld does not divide by %lld", name,
                          (long long)graph->dims[to_dim].size,
                          (long long)graph->dims[from_dim].size);
    return replace(graph, name, GRAPH_REPEAT, x, from_dim, to_dim, &attr);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (adjoint != GRAPH_NONE)
        reverse_add(r, n.inputs[0],
                    replace(r->graph, name, GRAPH_REPEAT_SUM, adjoint, n.attr.repeat.to_dim,
                            n.attr.repeat.from_dim, &n.attr));
}

/* The result's dimensions are in the operand's order. */
static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return p->rows[n->inputs[0]].at[d];
}

static struct within made_sum(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return padding_is_zero(made(p, n, d)) ? padding_zero(p, n, d) : padding_unknown;
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "jnp.repeat($0, %lld, axis=%u)",
              (long long)(graph->dims[n->attr.repeat.to_dim].size /
                          graph->dims[n->attr.repeat.from_dim].size),
              graph_place(n, n->attr.repeat.to_dim));
}

const struct graph_op_row graph_op_repeat = {
    .name = "repeat", .linear = KERN_LINEAR_IN_ALL, .reverse = reverse, .made = made, .jax = jax};

const struct graph_op_row graph_op_repeat_sum = {
    .name = "repeat sum", .linear = KERN_LINEAR_IN_ALL, .passes_sums = true, .made = made_sum};
