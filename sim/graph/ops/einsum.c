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

    /* The later-made operand first: its gradient leads towards the input. */
    for (uint32_t k = 0; k < 2; k++)
        if (r->adjoints[n.inputs[k]].wanted)
            reverse_add(r, n.inputs[k],
                        reverse_product(r, adjoint, reverse_operand(r, n.inputs[1 - k]), node,
                                        n.inputs[k]));
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
                                             .need = padding_need_product,
                                             .made = padding_multiplied,
                                             .jax = jax};
