/* Op: the product of two arrays, summed over dimensions that the result lacks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    if (n.attr.renames.n > 0) {
        graph_fail(r->graph, SHD_EUNSUPPORTED, "'%s' renames dimensions and has no gradient",
                   n.name);
        return;
    }
    /* The later-made operand first: its gradient leads towards the input. */
    for (uint32_t k = 0; k < 2; k++)
        if (r->adjoints[n.inputs[k]].wanted)
            reverse_add(r, n.inputs[k],
                        reverse_product(r, adjoint, reverse_operand(r, n.inputs[1 - k]), node,
                                        n.inputs[k]));
}

/* Padding of a product that renames dimensions is zero in both operands, and so in the result. */
static void need(struct padding *p, struct graph_node *n)
{
    if (n->attr.renames.n == 0)
        padding_need_product(p, n);
    for (uint32_t k = 0; k < 2 && n->attr.renames.n > 0; k++)
        for (uint32_t d = 0; d < p->to->nodes[n->inputs[k]].rank; d++)
            if (padding_in(p, p->to->nodes[n->inputs[k]].dims[d]))
                padding_want(p, n, k, p->to->nodes[n->inputs[k]].dims[d], 0);
}

static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    return n->attr.renames.n > 0 ? padding_zero(p, n, d) : padding_multiplied(p, n, d);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph, (void)n;
    text_add(out, "jnp.einsum(\"$A,$B->$R\", $0, $1)");
}

const struct graph_op_row graph_op_einsum = {.name = "einsum",
                                             .linear = KERN_LINEAR_IN_EACH,
                                             .flat = true,
                                             .heavy = true,
                                             .reverse = reverse,
                                             .need = need,
                                             .made = made,
                                             .jax = jax};
