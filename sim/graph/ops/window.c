/* Ops: slices, padding, reversal and concatenation along one dimension, each of which takes
 * elements from places to places; the derivative takes them back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* Add a node that puts parts of one or two arrays at places of a result with `to_dim` in place of
 * their dimension. */
static uint32_t place(struct graph *graph, const char *name, const uint32_t *inputs,
                      uint32_t ninputs, const union graph_attr *attr)
{
    struct graph_node node = graph_like(graph, GRAPH_WINDOW, inputs[0]);

    node.ninputs = ninputs;
    node.attr = *attr;
    memcpy(node.inputs, inputs, ninputs * sizeof *inputs);
    node.dims[graph_place(&node, attr->window.dim[0])] = attr->window.to_dim;
    return graph_add(graph, &node, name);
}

uint32_t graph_slice(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                     uint32_t to_dim, int64_t start)
{
    union graph_attr attr = {.window = {.to_dim = to_dim, .dim = {dim}, .from = {start}}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (!graph_has_dim(&graph->nodes[x], dim) || to_dim >= graph->ndims || start < 0 ||
        start > graph->dims[dim].size - graph->dims[to_dim].size)
        return graph_fail(graph, SHD_ERANGE, "'%s' reaches outside of '%s'", name,
                          graph->nodes[x].name);
    attr.window.count[0] = graph->dims[to_dim].size;
    return place(graph, name, &x, 1, &attr);
}

/* How many elements from `at` on lie in [0, size). */
static int64_t reach(int64_t at, int64_t step, int64_t size)
{
    if (at < 0 || at >= size)
        return 0;
    return step > 0 ? (size - 1 - at) / step + 1 : at / -step + 1;
}

uint32_t graph_placed(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                      uint32_t to_dim, const struct graph_placing *p)
{
    union graph_attr attr = {.window = {.to_dim = to_dim,
                                        .dim = {dim},
                                        .from = {p->from},
                                        .to = {p->to},
                                        .from_step = {p->from_step},
                                        .to_step = {p->to_step},
                                        .fill = p->fill}};
    int64_t there, here;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    if (!graph_has_dim(&graph->nodes[x], dim) || to_dim >= graph->ndims || !p->from_step ||
        !p->to_step)
        return graph_fail(graph, SHD_EINVAL, "'%s' places '%s' along a dimension that it lacks",
                          name, graph->nodes[x].name);
    if (!kern_is_whole(graph->nodes[x].dtype))
        attr.window.fill = kern_round(graph->nodes[x].dtype, p->fill);
    there = reach(p->from, p->from_step, graph->dims[dim].size);
    here = reach(p->to, p->to_step, graph->dims[to_dim].size);
    attr.window.count[0] = there < here ? there : here;
    if (attr.window.count[0] == 0)
        return graph_fail(graph, SHD_ERANGE, "'%s' has no element of '%s'", name,
                          graph->nodes[x].name);
    return place(graph, name, &x, 1, &attr);
}

/* Whether two arrays have equal dimensions in equal order, except for the joined ones. */
static bool joinable(const struct graph_node *a, uint32_t a_dim, const struct graph_node *b,
                     uint32_t b_dim)
{
    if (a->rank != b->rank || a->dtype != b->dtype || !graph_has_dim(a, a_dim))
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->dims[d] == a_dim ? b->dims[d] != b_dim : a->dims[d] != b->dims[d])
            return false;
    return true;
}

uint32_t graph_concat(struct graph *graph, const char *name, uint32_t a, uint32_t a_dim, uint32_t b,
                      uint32_t b_dim, uint32_t to_dim)
{
    union graph_attr attr = {.window = {.to_dim = to_dim, .dim = {a_dim, b_dim}}};
    const uint32_t inputs[2] = {a, b};

    if (graph->err.status != SHD_OK || a == GRAPH_NONE || b == GRAPH_NONE)
        return GRAPH_NONE;
    if (to_dim >= graph->ndims || !joinable(&graph->nodes[a], a_dim, &graph->nodes[b], b_dim) ||
        graph->dims[a_dim].size + graph->dims[b_dim].size != graph->dims[to_dim].size)
        return graph_fail(graph, SHD_EINVAL, "'%s' joins arrays that do not fit together", name);
    attr.window.count[0] = graph->dims[a_dim].size;
    attr.window.count[1] = graph->dims[b_dim].size;
    attr.window.to[1] = attr.window.count[0];
    return place(graph, name, inputs, 2, &attr);
}

/* Gradients take the way back: from places in the result to places in the operands. */
static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    adjoint = reverse_shaped_like(r->graph, adjoint, node, n.name);
    if (adjoint == GRAPH_NONE)
        return;
    for (uint32_t k = 0; k < n.ninputs; k++) {
        union graph_attr back = {.window = {.to_dim = n.attr.window.dim[k],
                                            .dim = {n.attr.window.to_dim},
                                            .from = {n.attr.window.to[k]},
                                            .to = {n.attr.window.from[k]},
                                            .count = {n.attr.window.count[k]},
                                            .from_step = {n.attr.window.to_step[k]},
                                            .to_step = {n.attr.window.from_step[k]}}};

        reverse_add(r, n.inputs[k],
                    place(r->graph, reverse_name(r->graph, node, n.inputs[k]), &adjoint, 1, &back));
    }
}

/* A window's places are numbers, which exclude the padding. */
static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    if (n->dims[d] == n->attr.window.to_dim)
        return (struct within){true, n->attr.window.fill};
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (!padding_is_zero(padding_within(p, n->inputs[k], n->dims[d])))
            return padding_unknown;
    return n->attr.window.fill == 0 ? padding_zero(p, n, d) : padding_unknown;
}

/* Slices of the operands, each placed into zeros. */
static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    for (uint32_t k = 0; k < n->ninputs; k++) {
        int64_t from = n->attr.window.from_step[k], to = n->attr.window.to_step[k];

        text_addf(out, "%swindow($%u, axis=%u, first=%lld, to=%lld, count=%lld, size=%lld",
                  k ? " + " : "", k, graph_place(n, n->attr.window.to_dim),
                  (long long)n->attr.window.from[k], (long long)n->attr.window.to[k],
                  (long long)n->attr.window.count[k],
                  (long long)graph->dims[n->attr.window.to_dim].size);
        if (from != 0)
            text_addf(out, ", step=%lld, apart=%lld, fill=float(\"%g\")", (long long)from,
                      (long long)to, n->attr.window.fill);
        text_add(out, ")");
    }
}

const struct graph_op_row graph_op_window = {
    .name = "window", .linear = KERN_LINEAR_IN_ALL, .reverse = reverse, .made = made, .jax = jax};
