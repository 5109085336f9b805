/* Op: a place where a sharding may be asked for by name; its derivative is such a place, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    reverse_add(
        r, n.inputs[0],
        graph_constraint(r->graph, n.name, reverse_shaped_like(r->graph, adjoint, node, n.name)));
}

const struct graph_op_row graph_op_constraint = {.name = "constraint",
                                                 .linear = KERN_LINEAR_IN_ALL,
                                                 .flat = true,
                                                 .reverse = reverse,
                                                 .made = padding_kept};
