/* Op: scans along a dimension; the derivative is a scan the other way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

uint32_t graph_scan(struct graph *graph, const char *name, enum kern_scan_fn fn, uint32_t x,
                    uint32_t a, uint32_t dim, bool reverse)
{
    bool linear = fn == KERN_SCAN_LINEAR;
    struct graph_node node;
    const struct graph_node *by;

    if (!graph_usable(graph, x) || (linear && !graph_usable(graph, a)))
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_SCAN, x);
    by = linear ? &graph->nodes[a] : &node;
    if (!graph_has_dim(&node, dim) || by->rank != node.rank || by->dtype != node.dtype ||
        memcmp(by->dims, node.dims, node.rank * sizeof *node.dims) != 0)
        return graph_fail(
            graph, SHD_EINVAL,
            "'%s' scans '%s' along a dimension that it lacks, or with factors of other dimensions",
            name, graph->nodes[x].name);
    node.ninputs = linear ? 2 : 1;
    node.inputs[1] = linear ? a : 0;
    node.attr.scan.dim = dim;
    node.attr.scan.fn = fn;
    node.attr.scan.reverse = reverse;
    return graph_add(graph, &node, name);
}

/* The element `by` places on along a scan's dimension; 0 behind the end. */
static uint32_t moved(struct graph *g, const char *name, uint32_t x, uint32_t dim, int64_t by)
{
    const struct graph_taps how = {.stride = 1, .dilation = 1, .low = -by};
    uint32_t one = graph_dim(g, "one", 1), dims[GRAPH_RANK_MAX], rank;

    if (!graph_usable(g, x))
        return GRAPH_NONE;
    rank = g->nodes[x].rank;
    memcpy(dims, g->nodes[x].dims, sizeof dims);
    return graph_reduce(g, name, SHD_SUM, graph_windows(g, name, x, dim, dim, one, &how), dims,
                        rank);
}

/* Of h[t] = a[t] h[t-1] + x[t]: d x is l[t] = g[t] + a[t+1] l[t+1], and d a is l[t] h[t-1].  A
 * product is the same with x for a, and 1 before the first. */
static void reverse_linear(struct reverse *r, const struct graph_node *n, uint32_t node,
                           uint32_t adjoint, uint32_t a)
{
    struct graph *g = r->graph;
    bool product = n->attr.scan.fn == KERN_SCAN_PROD;
    const char *name = reverse_name(g, node, a);
    uint32_t dim = n->attr.scan.dim, l, before;
    int64_t on = n->attr.scan.reverse ? -1 : 1;

    l = graph_scan(g, name, KERN_SCAN_LINEAR, adjoint, moved(g, name, reverse_value(r, a), dim, on),
                   dim, !n->attr.scan.reverse);
    if (!product)
        reverse_add(r, n->inputs[0], l);
    if (!r->adjoints[a].wanted)
        return;
    before = moved(g, name, reverse_value(r, node), dim, -on);
    if (product) { /* 1 in place of 0 before the first: the 1 of windows that are filled with it */
        uint32_t ones = graph_map(g, name, KERN_FILL, node, GRAPH_NONE, 1);

        ones = moved(g, name, ones, dim, -on);
        ones = graph_map(g, name, KERN_NEG, ones, GRAPH_NONE, 0);
        ones = graph_map(g, name, KERN_ADD_SCALAR, ones, GRAPH_NONE, 1);
        before = graph_map(g, name, KERN_ADD, before, ones, 0);
    }
    reverse_add(r, a, graph_map(g, name, KERN_MUL, l, before, 0));
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (n.attr.scan.fn == KERN_SCAN_SUM)
        reverse_add(r, n.inputs[0],
                    graph_scan(r->graph, name, KERN_SCAN_SUM, adjoint, GRAPH_NONE, n.attr.scan.dim,
                               !n.attr.scan.reverse));
    else if (n.attr.scan.fn == KERN_SCAN_LINEAR)
        reverse_linear(r, &n, node, adjoint, n.inputs[1]);
    else if (n.attr.scan.fn == KERN_SCAN_PROD)
        reverse_linear(r, &n, node, adjoint, n.inputs[0]);
    else
        graph_fail(r->graph, SHD_EUNSUPPORTED,
                   "'%s' is a cumulative maximum or minimum, which has no derivative here", n.name);
}

/* In reverse the padding comes first. */
static void need(struct padding *p, struct graph_node *n)
{
    static const double none[] = {[KERN_SCAN_SUM] = 0,
                                  [KERN_SCAN_PROD] = 1,
                                  [KERN_SCAN_MAX] = -INFINITY,
                                  [KERN_SCAN_MIN] = INFINITY,
                                  [KERN_SCAN_LINEAR] = 0};

    for (uint32_t k = 0; k < n->ninputs && n->attr.scan.reverse; k++)
        if (padding_in(p, n->attr.scan.dim))
            padding_want(p, n, k, n->attr.scan.dim, none[n->attr.scan.fn]);
}

static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return n->dims[d] == n->attr.scan.dim || n->ninputs > 1 ? padding_unknown
                                                            : padding_zero_kept(p, n, d);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    static const char *const calls[] = {[KERN_SCAN_SUM] = "jax.lax.cumsum($0",
                                        [KERN_SCAN_PROD] = "jax.lax.cumprod($0",
                                        [KERN_SCAN_MAX] = "jax.lax.cummax($0",
                                        [KERN_SCAN_MIN] = "jax.lax.cummin($0",
                                        [KERN_SCAN_LINEAR] = "recurrence($1, $0"};

    (void)graph;
    text_addf(out, "%s, axis=%u, reverse=%s)", calls[n->attr.scan.fn],
              graph_place(n, n->attr.scan.dim), n->attr.scan.reverse ? "True" : "False");
}

const struct graph_op_row graph_op_scan = {.name = "scan",
                                           .linear = KERN_LINEAR_IN_ALL,
                                           .passes_sums = true,
                                           .reverse = reverse,
                                           .need = need,
                                           .made = made,
                                           .jax = jax};
