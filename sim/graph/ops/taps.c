/* Ops: windows of a dimension, and the sum that takes them back; each is the other's derivative.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static bool check(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                  uint32_t window_dim, uint32_t tap_dim, const struct graph_taps *how)
{
    if (!graph_usable(graph, x))
        return false;
    if (dim >= graph->ndims || window_dim >= graph->ndims || tap_dim >= graph->ndims ||
        tap_dim == dim || how->stride < 1 || how->dilation < 1)
        graph_fail(graph, SHD_EINVAL,
                   "'%s': windows of '%s' need three dims and steps of 1 or more", name,
                   graph->nodes[x].name);
    return graph->err.status == SHD_OK;
}

static void set_taps(struct graph_node *node, uint32_t dim, uint32_t window_dim, uint32_t tap_dim,
                     const struct graph_taps *how)
{
    node->attr.taps.dim = dim;
    node->attr.taps.window_dim = window_dim;
    node->attr.taps.tap_dim = tap_dim;
    node->attr.taps.how = *how;
}

uint32_t graph_windows(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                       uint32_t window_dim, uint32_t tap_dim, const struct graph_taps *how)
{
    struct graph_node node;
    uint32_t at;

    if (!check(graph, name, x, dim, window_dim, tap_dim, how))
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_TAPS, x);
    at = graph_place(&node, dim);
    if (at == node.rank || node.rank == GRAPH_RANK_MAX)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dim of windows, or has too many",
                          name, graph->nodes[x].name);
    memmove(node.dims + at + 2, node.dims + at + 1, (node.rank - at - 1) * sizeof *node.dims);
    node.dims[at] = window_dim;
    node.dims[at + 1] = tap_dim;
    node.rank++;
    set_taps(&node, dim, window_dim, tap_dim, how);
    if (!kern_is_whole(node.dtype))
        node.attr.taps.how.fill = kern_round(node.dtype, how->fill);
    return graph_add(graph, &node, name);
}

uint32_t graph_windows_add(struct graph *graph, const char *name, uint32_t x, uint32_t window_dim,
                           uint32_t tap_dim, uint32_t dim, const struct graph_taps *how)
{
    struct graph_node node;
    uint32_t at;

    if (!check(graph, name, x, dim, window_dim, tap_dim, how))
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_TAPS_SUM, x);
    at = graph_place(&node, window_dim);
    if (at + 1 >= node.rank || node.dims[at + 1] != tap_dim || kern_is_whole(node.dtype))
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs floating-point values of '%s', with taps after windows", name,
                          graph->nodes[x].name);
    node.dims[at] = dim;
    memmove(node.dims + at + 1, node.dims + at + 2, (node.rank - at - 2) * sizeof *node.dims);
    node.rank--;
    set_taps(&node, dim, window_dim, tap_dim, how);
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    reverse_add(r, n.inputs[0],
                graph_windows_add(r->graph, name, adjoint, n.attr.taps.window_dim,
                                  n.attr.taps.tap_dim, n.attr.taps.dim, &n.attr.taps.how));
}

static void reverse_sum(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    n.attr.taps.how.fill = 0;
    reverse_add(r, n.inputs[0],
                graph_windows(r->graph, name, adjoint, n.attr.taps.dim, n.attr.taps.window_dim,
                              n.attr.taps.tap_dim, &n.attr.taps.how));
}

/* Elements in the padding are none: they count as `fill`. */
static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    if (n->dims[d] == n->attr.taps.window_dim || n->dims[d] == n->attr.taps.tap_dim ||
        n->attr.taps.how.fill != 0)
        return padding_unknown;
    return padding_zero_kept(p, n, d);
}

static void need_sum(struct padding *p, struct graph_node *n)
{
    padding_want(p, n, 0, n->attr.taps.window_dim, 0);
    padding_want(p, n, 0, n->attr.taps.tap_dim, 0);
}

static struct within made_sum(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return n->dims[d] == n->attr.taps.dim ? padding_zero(p, n, d) : padding_zero_kept(p, n, d);
}

static void add_how(struct text *out, const struct graph_node *n, uint32_t axis)
{
    text_addf(out, ", axis=%u, stride=%lld, dilation=%lld, low=%lld", axis,
              (long long)n->attr.taps.how.stride, (long long)n->attr.taps.how.dilation,
              (long long)n->attr.taps.how.low);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "windows($0, %lld, %lld", (long long)graph->dims[n->attr.taps.window_dim].size,
              (long long)graph->dims[n->attr.taps.tap_dim].size);
    add_how(out, n, graph_place(n, n->attr.taps.window_dim));
    text_addf(out, ", fill=float(\"%g\"))", n->attr.taps.how.fill);
}

static void jax_sum(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "add_windows($0, %lld", (long long)graph->dims[n->attr.taps.dim].size);
    add_how(out, n, graph_place(n, n->attr.taps.dim));
    text_add(out, ")");
}

const struct graph_op_row graph_op_taps = {
    .name = "windows", .linear = KERN_LINEAR_IN_ALL, .reverse = reverse, .made = made, .jax = jax};

const struct graph_op_row graph_op_taps_sum = {.name = "sum of windows",
                                               .linear = KERN_LINEAR_IN_ALL,
                                               .reverse = reverse_sum,
                                               .need = need_sum,
                                               .made = made_sum,
                                               .jax = jax_sum};
