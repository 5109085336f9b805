/* Op: sum, maximum or minimum over dimensions that the result lacks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* y = max of x over some dimensions: equal maxima share the gradient. */
static void reverse_extreme(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    const char *name = reverse_name(g, node, n.inputs[0]);
    uint32_t chosen = graph_map(g, name, KERN_EQUAL, n.inputs[0], node, 0);
    uint32_t count = graph_reduce(g, name, SHD_SUM, chosen, n.dims, n.rank);
    uint32_t share = graph_map(g, name, KERN_DIV, adjoint, count, 0);

    reverse_add(r, n.inputs[0], graph_map(g, name, KERN_MUL, chosen, share, 0));
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    if (r->graph->nodes[node].reduce == SHD_SUM)
        reverse_add(r, r->graph->nodes[node].inputs[0], adjoint);
    else
        reverse_extreme(r, node, adjoint);
}

/* Neutral element of a reduction: 0 for a sum, an infinity for a maximum or minimum. */
static double left_out(enum shd_reduce_op op)
{
    return op == SHD_MAX ? -INFINITY : op == SHD_MIN ? INFINITY : 0;
}

static void need(struct padding *p, struct graph_node *n)
{
    padding_want_summed(p, n, 0, left_out(n->reduce));
}

static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return n->reduce == SHD_SUM ? padding_zero_kept(p, n, d) : padding_kept(p, n, d);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph;
    text_addf(out, "reduced(jnp.%s, $0, \"$A\", \"$R\")",
              n->reduce == SHD_SUM   ? "sum"
              : n->reduce == SHD_MAX ? "max"
                                     : "min");
}

const struct graph_op_row graph_op_reduce = {.name = "reduce",
                                             .linear = KERN_LINEAR_IN_ALL,
                                             .passes_sums = true,
                                             .flat = true,
                                             .reverse = reverse,
                                             .need = need,
                                             .made = made,
                                             .jax = jax};
