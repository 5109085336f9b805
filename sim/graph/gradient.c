/* Reverse mode: the backward walk that combines the derivatives of ops (gradient.h).
 *
 * An adjoint (d loss / d value) may lack dimensions of its value: then it is constant along them.
 * So the gradient of a sum is never written out.  If such an adjoint is to be summed over a
 * dimension that it lacks, it is multiplied by the dimension's size instead.
 *
 * Forward values that the backward phase reads are kept until then.  A value that a single
 * multiplication makes from values that are kept anyway is recomputed instead (struct adjoint).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/gradient.h"

#include <stdlib.h>

#include "graph/ops/reverse.h"

/* Derivative at the constant 1, which passes through sums; a product's gradient is then the other
 * factor.  Returns whether the op is such a sum or product. */
static bool reverse_one(struct reverse *r, uint32_t node)
{
    struct graph_node n = r->graph->nodes[node];
    bool same_dims = n.ninputs == 2 && r->graph->nodes[n.inputs[0]].rank == n.rank &&
                     r->graph->nodes[n.inputs[1]].rank == n.rank;

    if ((n.op == GRAPH_REDUCE && n.reduce == SHD_SUM) || n.op == GRAPH_CONSTRAINT) {
        reverse_add_one(r, n.inputs[0]);
        return true;
    }
    if (n.op == GRAPH_MAP && n.fn == KERN_MUL && same_dims) {
        reverse_add(r, n.inputs[0], n.inputs[1]);
        reverse_add(r, n.inputs[1], n.inputs[0]);
        return true;
    }
    return false;
}

static void reverse_node(struct reverse *r, uint32_t node)
{
    const struct graph_node *n = &r->graph->nodes[node];
    uint32_t adjoint;

    if (r->adjoints[node].is == ADJOINT_ZERO || n->ninputs == 0 || n->stop_gradient)
        return;
    r->graph->stage = n->stage;
    if (r->adjoints[node].is == ADJOINT_ONE && reverse_one(r, node))
        return;
    adjoint = reverse_adjoint(r, node);
    if (adjoint == GRAPH_NONE)
        return;
    n = &r->graph->nodes[node]; /* an adjoint that was written out may have moved the nodes */
    if (graph_op(n->op)->reverse)
        graph_op(n->op)->reverse(r, node, adjoint);
    else
        graph_fail(r->graph, SHD_EUNSUPPORTED, "'%s' (%s) has no derivative", n->name,
                   graph_op(n->op)->name);
}

/* Mark the nodes that something in `wrt` leads to: no other adjoint is computed. */
static void mark_wanted(struct reverse *r, uint32_t loss, const uint32_t *wrt, uint32_t nwrt)
{
    for (uint32_t i = 0; i < nwrt; i++)
        r->adjoints[wrt[i]].wanted = true;
    for (uint32_t node = 0; node <= loss; node++) {
        r->adjoints[node].unpacks = graph_op(r->graph->nodes[node].op)->unpacks;
        for (uint32_t k = 0;
             k < r->graph->nodes[node].ninputs && !r->graph->nodes[node].stop_gradient; k++)
            r->adjoints[node].wanted |= r->adjoints[r->graph->nodes[node].inputs[k]].wanted;
    }
}

static uint32_t gradient_of(struct reverse *r, uint32_t of)
{
    struct graph *g = r->graph;
    const char *name = graph_text(g, "grad(%s)", g->nodes[of].name);

    g->stage = g->nodes[of].stage;
    if (r->adjoints[of].is == ADJOINT_ZERO)
        return graph_map(g, name, KERN_FILL, of, GRAPH_NONE, 0);
    return reverse_shaped_like(g, reverse_adjoint(r, of), of, name);
}

void graph_gradient(struct graph *graph, uint32_t loss, const uint32_t *wrt, uint32_t nwrt,
                    uint32_t *grads)
{
    struct reverse r = {.graph = graph};
    enum graph_phase phase = graph->phase;
    uint32_t stage = graph->stage;

    if (graph->err.status != SHD_OK)
        return;
    r.adjoints = calloc(graph->nnodes, sizeof *r.adjoints);
    if (!r.adjoints) {
        graph_fail(graph, SHD_ENOMEM, "no memory for the backward computation");
        return;
    }
    graph->phase = GRAPH_BACKWARD;
    mark_wanted(&r, loss, wrt, nwrt);
    r.adjoints[loss].is = ADJOINT_ONE;
    for (uint32_t node = loss + 1; node-- > 0;)
        reverse_node(&r, node);
    for (uint32_t i = 0; i < nwrt; i++)
        grads[i] = gradient_of(&r, wrt[i]);
    graph->phase = phase;
    graph->stage = stage;
    free(r.adjoints);
}
