/* Reverse mode: the derivative of each op, and the backward walk that combines them (gradient.h).
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
#include <string.h>

#include "graph/ops/reverse.h"

/* How often a contribution counts: once along each dimension of `node` that the operand, `a` and
 * `b` all lack (b may be GRAPH_NONE), since it is constant there and is summed. */
static double times_broadcast(const struct graph *g, uint32_t node, uint32_t operand, uint32_t a,
                              uint32_t b)
{
    double times = 1;

    for (uint32_t d = 0; d < g->nodes[node].rank; d++) {
        uint32_t dim = g->nodes[node].dims[d];

        if (!graph_has_dim(&g->nodes[operand], dim) && !graph_has_dim(&g->nodes[a], dim) &&
            (b == GRAPH_NONE || !graph_has_dim(&g->nodes[b], dim)))
            times *= (double)g->dims[dim].size;
    }
    return times;
}

static uint32_t scaled(struct graph *g, const char *name, uint32_t node, double times)
{
    return times > 1 ? graph_map(g, name, KERN_SCALE, node, GRAPH_NONE, times) : node;
}

/* Sum a contribution over the dimensions of `node` that its operand lacks. */
static uint32_t sum_to(struct reverse *r, uint32_t contribution, uint32_t node, uint32_t operand)
{
    struct graph *g = r->graph;
    const char *name = reverse_name(g, node, operand);
    uint32_t keep[GRAPH_RANK_MAX], nkeep = 0;
    double times;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    times = times_broadcast(g, node, operand, contribution, GRAPH_NONE);
    for (uint32_t d = 0; d < g->nodes[contribution].rank; d++)
        if (graph_has_dim(&g->nodes[operand], g->nodes[contribution].dims[d]))
            keep[nkeep++] = g->nodes[contribution].dims[d];
    if (nkeep < g->nodes[contribution].rank)
        contribution = graph_reduce(g, name, SHD_SUM, contribution, keep, nkeep);
    return scaled(g, name, contribution, times);
}

/* adjoint * factor, summed over all but the operand's dimensions by one op. */
static uint32_t times_factor(struct reverse *r, uint32_t adjoint, uint32_t factor, uint32_t node,
                             uint32_t operand)
{
    struct graph *g = r->graph;
    const char *name = reverse_name(g, node, operand);
    uint32_t keep[GRAPH_RANK_MAX], nkeep = 0, nsummed = 0;
    double times;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    times = times_broadcast(g, node, operand, adjoint, factor);
    for (uint32_t d = 0; d < g->nodes[operand].rank; d++) {
        uint32_t dim = g->nodes[operand].dims[d];

        if (graph_has_dim(&g->nodes[adjoint], dim) || graph_has_dim(&g->nodes[factor], dim))
            keep[nkeep++] = dim;
    }
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < g->nodes[k ? factor : adjoint].rank; d++)
            nsummed += !graph_has_dim(&g->nodes[operand], g->nodes[k ? factor : adjoint].dims[d]);
    if (nsummed > 0)
        adjoint = graph_einsum(g, name, adjoint, factor, keep, nkeep);
    else
        adjoint = graph_map(g, name, KERN_MUL, adjoint, factor, 0);
    return scaled(g, name, adjoint, times);
}

/* The node that the backward phase reads in place of a forward value. */
static uint32_t value_of(const struct reverse *r, uint32_t node)
{
    return r->adjoints[node].again ? r->adjoints[node].again : node;
}

/* A factor of a product.  A factor that is itself a product with a smaller array, as a norm's
 * before its scale, is recomputed: forward, both products are one kernel, and the inner product's
 * derivative reads its factors anyway. */
static uint32_t factor_of(struct reverse *r, uint32_t factor)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[factor];
    uint32_t made;

    if (n.op != GRAPH_MAP || n.fn != KERN_MUL || n.phase == GRAPH_BACKWARD || n.stop_gradient ||
        n.stage != g->stage || r->adjoints[factor].again ||
        (g->nodes[n.inputs[0]].rank == n.rank && g->nodes[n.inputs[1]].rank == n.rank))
        return value_of(r, factor);
    made = graph_map(g, n.name, KERN_MUL, value_of(r, n.inputs[0]), value_of(r, n.inputs[1]), 0);
    if (made != GRAPH_NONE)
        r->adjoints[factor].again = made;
    return made;
}

/* d fn(x) / dx at x, given y = fn(x), for a nonlinear function of one operand. */
static uint32_t slope(struct graph *g, const char *name, const struct graph_node *n, uint32_t y)
{
    uint32_t x = n->inputs[0], t;

    switch (n->fn) {
    case KERN_EXP:
        return y;
    case KERN_LOG:
        t = graph_map(g, name, KERN_FILL, x, GRAPH_NONE, 1);
        return graph_map(g, name, KERN_DIV, t, x, 0);
    case KERN_SQRT:
        t = graph_map(g, name, KERN_FILL, x, GRAPH_NONE, 0.5);
        return graph_map(g, name, KERN_DIV, t, y, 0);
    case KERN_RSQRT: /* -1/2 y^3 */
        t = graph_map(g, name, KERN_MUL, y, y, 0);
        t = graph_map(g, name, KERN_MUL, t, y, 0);
        return graph_map(g, name, KERN_SCALE, t, GRAPH_NONE, -0.5);
    case KERN_TANH: /* 1 - y^2 */
        t = graph_map(g, name, KERN_MUL, y, y, 0);
        t = graph_map(g, name, KERN_NEG, t, GRAPH_NONE, 0);
        return graph_map(g, name, KERN_ADD_SCALAR, t, GRAPH_NONE, 1);
    case KERN_SIGMOID: /* y - y^2 */
        t = graph_map(g, name, KERN_MUL, y, y, 0);
        return graph_map(g, name, KERN_SUB, y, t, 0);
    case KERN_RELU:
        return graph_map(g, name, KERN_STEP, x, GRAPH_NONE, 0);
    case KERN_GELU:
        return graph_map(g, name, KERN_GELU_GRAD, x, GRAPH_NONE, 0);
    case KERN_SILU:
        return graph_map(g, name, KERN_SILU_GRAD, x, GRAPH_NONE, 0);
    default:
        return graph_fail(g, SHD_EUNSUPPORTED, "'%s' has no derivative", kern_fns[n->fn].name);
    }
}

static void reverse_unary(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    const char *name = reverse_name(g, node, n.inputs[0]);

    switch (n.fn) {
    case KERN_COPY:
    case KERN_ADD_SCALAR:
        reverse_add(r, n.inputs[0], adjoint);
        return;
    case KERN_CONVERT:
        reverse_add(r, n.inputs[0], graph_convert(g, name, g->nodes[n.inputs[0]].dtype, adjoint));
        return;
    case KERN_NEG:
        reverse_add(r, n.inputs[0], graph_map(g, name, KERN_NEG, adjoint, GRAPH_NONE, 0));
        return;
    case KERN_SCALE:
        reverse_add(r, n.inputs[0], graph_map(g, name, KERN_SCALE, adjoint, GRAPH_NONE, n.scalar));
        return;
    case KERN_STEP: /* constant almost everywhere */
    case KERN_FINITE:
        return;
    default:
        reverse_add(
            r, n.inputs[0],
            graph_map(g, name, KERN_MUL, adjoint, slope(g, name, &n, value_of(r, node)), 0));
        return;
    }
}

/* y = a / b: da = g / b, db = -g * y / b.  A softmax divides exponentials by their sum; the slope
 * of exp, its value, is recomputed as y * b, since both y and b are read here. */
static void reverse_div(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1], da, db;

    da = graph_map(g, reverse_name(g, node, a), KERN_DIV, adjoint, b, 0);
    db = graph_map(g, reverse_name(g, node, b), KERN_NEG, da, GRAPH_NONE, 0);
    reverse_add(r, b, times_factor(r, db, node, node, b));
    reverse_add(r, a, sum_to(r, da, node, a));
    if (g->err.status == SHD_OK && g->nodes[a].op == GRAPH_MAP && g->nodes[a].fn == KERN_EXP &&
        g->nodes[a].rank == n.rank && g->nodes[b].rank < n.rank && g->nodes[a].stage == n.stage)
        r->adjoints[a].again = graph_map(g, g->nodes[a].name, KERN_MUL, node, b, 0);
}

/* y = max(a, b) or min(a, b): the gradient goes to the operand that y came from, to a if both are
 * equal. */
static void reverse_choice(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1], to_a, to_b;
    const char *name = reverse_name(g, node, a);

    to_a = graph_map(g, name, KERN_EQUAL, node, a, 0);
    to_b = graph_map(g, name, KERN_NEG, to_a, GRAPH_NONE, 0);
    to_b = graph_map(g, name, KERN_ADD_SCALAR, to_b, GRAPH_NONE, 1);
    reverse_add(r, a, times_factor(r, adjoint, to_a, node, a));
    reverse_add(r, b, times_factor(r, adjoint, to_b, node, b));
}

static void reverse_binary(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1];

    switch (n.fn) {
    case KERN_ADD:
        reverse_add(r, a, sum_to(r, adjoint, node, a));
        reverse_add(r, b, sum_to(r, adjoint, node, b));
        return;
    case KERN_SUB:
        reverse_add(r, a, sum_to(r, adjoint, node, a));
        adjoint = graph_map(g, reverse_name(g, node, b), KERN_NEG, adjoint, GRAPH_NONE, 0);
        reverse_add(r, b, sum_to(r, adjoint, node, b));
        return;
    case KERN_MUL:
        reverse_add(r, a, times_factor(r, adjoint, factor_of(r, b), node, a));
        reverse_add(r, b, times_factor(r, adjoint, factor_of(r, a), node, b));
        return;
    case KERN_DIV:
        reverse_div(r, node, adjoint);
        return;
    case KERN_MAX:
    case KERN_MIN:
        reverse_choice(r, node, adjoint);
        return;
    case KERN_EQUAL: /* constant almost everywhere */
        return;
    case KERN_GATE:
        adjoint = graph_map(g, reverse_name(g, node, a), KERN_GATE, adjoint, b, 0);
        reverse_add(r, a, sum_to(r, adjoint, node, a));
        return;
    default:
        graph_fail(g, SHD_EUNSUPPORTED, "'%s' has no derivative", kern_fns[n.fn].name);
    }
}

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

static void reverse_einsum(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    /* The later-made operand first: its gradient leads towards the input. */
    reverse_add(r, n.inputs[0], times_factor(r, adjoint, n.inputs[1], node, n.inputs[0]));
    reverse_add(r, n.inputs[1], times_factor(r, adjoint, n.inputs[0], node, n.inputs[1]));
}

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

static void reverse_reduce(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    if (r->graph->nodes[node].reduce == SHD_SUM)
        reverse_add(r, r->graph->nodes[node].inputs[0], adjoint);
    else
        reverse_extreme(r, node, adjoint);
}

static void reverse_map(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    if (r->graph->nodes[node].ninputs == 2)
        reverse_binary(r, node, adjoint);
    else
        reverse_unary(r, node, adjoint);
}

static void reverse_constraint(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];

    reverse_add(
        r, n.inputs[0],
        graph_constraint(r->graph, n.name, reverse_shaped_like(r->graph, adjoint, node, n.name)));
}

static void reverse_nothing(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    (void)adjoint;
    graph_fail(r->graph, SHD_EUNSUPPORTED, "'%s' (%s) has no derivative",
               r->graph->nodes[node].name, graph_op_name(r->graph->nodes[node].op));
}

/* The derivative of each op; NULL: none (the op has no operands). */
static const reverse_fn derivatives[GRAPH_NOPS] = {
    [GRAPH_EINSUM] = reverse_einsum,          [GRAPH_MAP] = reverse_map,
    [GRAPH_REDUCE] = reverse_reduce,          [GRAPH_CONSTRAINT] = reverse_constraint,
    [GRAPH_EXTRA] = reverse_nothing,          [GRAPH_ATTENTION] = reverse_attention,
    [GRAPH_ATTENTION_GRAD] = reverse_nothing, [GRAPH_ROPE] = reverse_rope,
    [GRAPH_CAUSAL] = reverse_causal,          [GRAPH_EMBED] = reverse_embed,
    [GRAPH_EMBED_GRAD] = reverse_nothing,     [GRAPH_PICK] = reverse_pick,
    [GRAPH_PICK_GRAD] = reverse_nothing,      [GRAPH_REPEAT] = reverse_repeat,
    [GRAPH_REPEAT_SUM] = reverse_nothing,     [GRAPH_WINDOW] = reverse_window,
    [GRAPH_SHIFT] = reverse_shift,            [GRAPH_ACCUMULATE] = reverse_nothing,
    [GRAPH_TOPK] = reverse_nothing,           [GRAPH_SLOTS] = reverse_nothing,
    [GRAPH_COUNT] = reverse_nothing,          [GRAPH_GROUPED] = reverse_grouped,
    [GRAPH_DISPATCH] = reverse_dispatch,      [GRAPH_COMBINE] = reverse_combine,
};

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
    if (adjoint != GRAPH_NONE)
        derivatives[r->graph->nodes[node].op](r, node, adjoint);
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
    r.adjoints[loss].is = ADJOINT_ONE;
    for (uint32_t node = loss + 1; node-- > 0;)
        reverse_node(&r, node);
    for (uint32_t i = 0; i < nwrt; i++)
        grads[i] = gradient_of(&r, wrt[i]);
    graph->phase = phase;
    graph->stage = stage;
    free(r.adjoints);
}
