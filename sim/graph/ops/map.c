/* Op: an elementwise function of one or two arrays.  What is true of each function stands in
 * kern_fns; its derivative is here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* ---- derivatives ---- */

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
        return reverse_value(r, factor);
    made = graph_map(g, n.name, KERN_MUL, reverse_value(r, n.inputs[0]),
                     reverse_value(r, n.inputs[1]), 0);
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
    case KERN_GELU_EXACT:
        return graph_map(g, name, KERN_GELU_EXACT_GRAD, x, GRAPH_NONE, 0);
    case KERN_SILU:
        return graph_map(g, name, KERN_SILU_GRAD, x, GRAPH_NONE, 0);
    case KERN_QUICK_GELU:
        return graph_map(g, name, KERN_QUICK_GELU_GRAD, x, GRAPH_NONE, 0);
    case KERN_RELU_SQUARED:
        t = graph_map(g, name, KERN_RELU, x, GRAPH_NONE, 0);
        return graph_map(g, name, KERN_SCALE, t, GRAPH_NONE, 2);
    case KERN_SIN:
        return graph_map(g, name, KERN_COS, x, GRAPH_NONE, 0);
    case KERN_COS:
        t = graph_map(g, name, KERN_SIN, x, GRAPH_NONE, 0);
        return graph_map(g, name, KERN_NEG, t, GRAPH_NONE, 0);
    case KERN_TAN: /* 1 + y^2 */
        t = graph_map(g, name, KERN_MUL, y, y, 0);
        return graph_map(g, name, KERN_ADD_SCALAR, t, GRAPH_NONE, 1);
    case KERN_EXP2: /* ln(2) y */
        return graph_map(g, name, KERN_SCALE, y, GRAPH_NONE, 0.69314718055994531);
    case KERN_LOG1P:
        t = graph_map(g, name, KERN_FILL, x, GRAPH_NONE, 1);
        return graph_map(g, name, KERN_DIV, t,
                         graph_map(g, name, KERN_ADD_SCALAR, x, GRAPH_NONE, 1), 0);
    case KERN_EXPM1:
        return graph_map(g, name, KERN_ADD_SCALAR, y, GRAPH_NONE, 1);
    case KERN_ERF: /* 2/sqrt(pi) e^-x^2 */
    case KERN_ERFC:
        t = graph_map(g, name, KERN_NEG, graph_map(g, name, KERN_MUL, x, x, 0), GRAPH_NONE, 0);
        t = graph_map(g, name, KERN_EXP, t, GRAPH_NONE, 0);
        return graph_map(g, name, KERN_SCALE, t, GRAPH_NONE,
                         n->fn == KERN_ERF ? 1.1283791670955126 : -1.1283791670955126);
    case KERN_ABS:
        return graph_map(g, name, KERN_SIGN, x, GRAPH_NONE, 0);
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
        if (kern_is_whole(n.dtype) || kern_is_whole(g->nodes[n.inputs[0]].dtype))
            return; /* whole numbers have no gradient */
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
    case KERN_SIGN:
    case KERN_FLOOR:
    case KERN_CEIL:
    case KERN_ROUND:
    case KERN_NOT:
        return;
    default:
        reverse_add(
            r, n.inputs[0],
            graph_map(g, name, KERN_MUL, adjoint, slope(g, name, &n, reverse_value(r, node)), 0));
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
    reverse_add(r, b, reverse_product(r, db, node, node, b));
    reverse_add(r, a, reverse_sum_to(r, da, node, a));
    if (g->err.status == SHD_OK && r->adjoints[a].wanted && g->nodes[a].op == GRAPH_MAP &&
        g->nodes[a].fn == KERN_EXP && g->nodes[a].rank == n.rank && g->nodes[b].rank < n.rank &&
        g->nodes[a].stage == n.stage)
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
    reverse_add(r, a, reverse_product(r, adjoint, to_a, node, a));
    reverse_add(r, b, reverse_product(r, adjoint, to_b, node, b));
}

/* The derivative of a product by one operand: reads the other operand. */
static void add_product(struct reverse *r, uint32_t adjoint, uint32_t factor, uint32_t node,
                        uint32_t operand)
{
    if (r->adjoints[operand].wanted)
        reverse_add(r, operand, reverse_product(r, adjoint, factor_of(r, factor), node, operand));
}

/* y = a^b: da = g b a^(b-1), db = g y ln(a), and 0 where a is 0. */
static void reverse_pow(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1], t, zero;
    const char *name = reverse_name(g, node, a);

    if (r->adjoints[a].wanted) {
        t = graph_map(g, name, KERN_ADD_SCALAR, b, GRAPH_NONE, -1);
        t = graph_map(g, name, KERN_POW, reverse_value(r, a), t, 0);
        t = graph_map(g, name, KERN_MUL, t, b, 0);
        reverse_add(r, a, reverse_product(r, adjoint, t, node, a));
    }
    if (!r->adjoints[b].wanted)
        return;
    name = reverse_name(g, node, b);
    zero = graph_map(g, name, KERN_NOT, a, GRAPH_NONE, 0);
    t = graph_map(g, name, KERN_LOG, graph_map(g, name, KERN_ADD, a, zero, 0), GRAPH_NONE, 0);
    t = graph_map(g, name, KERN_MUL, reverse_value(r, node), t, 0);
    reverse_add(r, b, reverse_product(r, adjoint, t, node, b));
}

/* The angle of (b, a): da = g b / (a^2 + b^2), db = -g a / (a^2 + b^2). */
static void reverse_atan2(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1], t;
    const char *name = reverse_name(g, node, a);

    t = graph_map(g, name, KERN_ADD, graph_map(g, name, KERN_MUL, a, a, 0),
                  graph_map(g, name, KERN_MUL, b, b, 0), 0);
    if (r->adjoints[a].wanted)
        reverse_add(r, a,
                    reverse_product(r, adjoint, graph_map(g, name, KERN_DIV, b, t, 0), node, a));
    if (!r->adjoints[b].wanted)
        return;
    name = reverse_name(g, node, b);
    t = graph_map(g, name, KERN_DIV, graph_map(g, name, KERN_NEG, a, GRAPH_NONE, 0), t, 0);
    reverse_add(r, b, reverse_product(r, adjoint, t, node, b));
}

/* y = a - b trunc(a / b) */
static void reverse_rem(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1], t;
    const char *name = reverse_name(g, node, b);

    reverse_add(r, a, reverse_sum_to(r, adjoint, node, a));
    if (!r->adjoints[b].wanted)
        return;
    t = graph_map(g, name, KERN_SUB, node, a, 0); /* -b trunc(a / b), to be rounded */
    t = graph_map(g, name, KERN_ROUND, graph_map(g, name, KERN_DIV, t, b, 0), GRAPH_NONE, 0);
    reverse_add(r, b, reverse_product(r, adjoint, t, node, b));
}

static void reverse_binary(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t a = n.inputs[0], b = n.inputs[1];

    switch (n.fn) {
    case KERN_ADD:
        reverse_add(r, a, reverse_sum_to(r, adjoint, node, a));
        reverse_add(r, b, reverse_sum_to(r, adjoint, node, b));
        return;
    case KERN_SUB:
        reverse_add(r, a, reverse_sum_to(r, adjoint, node, a));
        adjoint = graph_map(g, reverse_name(g, node, b), KERN_NEG, adjoint, GRAPH_NONE, 0);
        reverse_add(r, b, reverse_sum_to(r, adjoint, node, b));
        return;
    case KERN_MUL:
        add_product(r, adjoint, b, node, a);
        add_product(r, adjoint, a, node, b);
        return;
    case KERN_DIV:
        reverse_div(r, node, adjoint);
        return;
    case KERN_MAX:
    case KERN_MIN:
        reverse_choice(r, node, adjoint);
        return;
    case KERN_ATAN2:
        reverse_atan2(r, node, adjoint);
        return;
    case KERN_POW:
        reverse_pow(r, node, adjoint);
        return;
    case KERN_REM:
        reverse_rem(r, node, adjoint);
        return;
    case KERN_EQUAL: /* constant almost everywhere */
    case KERN_NOT_EQUAL:
    case KERN_LESS:
    case KERN_LESS_EQUAL:
    case KERN_AND:
    case KERN_OR:
    case KERN_XOR:
        return;
    case KERN_GATE:
        adjoint = graph_map(g, reverse_name(g, node, a), KERN_GATE, adjoint, b, 0);
        reverse_add(r, a, reverse_sum_to(r, adjoint, node, a));
        return;
    default:
        graph_fail(g, SHD_EUNSUPPORTED, "'%s' has no derivative", kern_fns[n.fn].name);
    }
}

/* A selection's gradient goes to the operand that was chosen. */
static void reverse_select(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t condition = n.inputs[2];

    for (uint32_t k = 0; k < 2; k++) {
        const char *name = reverse_name(g, node, n.inputs[k]);
        uint32_t chosen = condition;

        if (!r->adjoints[n.inputs[k]].wanted)
            continue;
        if (k == 1)
            chosen = graph_map(g, name, KERN_NOT, condition, GRAPH_NONE, 0);
        reverse_add(r, n.inputs[k],
                    reverse_sum_to(r, graph_map(g, name, KERN_GATE, adjoint, chosen, 0), node,
                                   n.inputs[k]));
    }
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    if (r->graph->nodes[node].ninputs == 3)
        reverse_select(r, node, adjoint);
    else if (r->graph->nodes[node].ninputs == 2)
        reverse_binary(r, node, adjoint);
    else
        reverse_unary(r, node, adjoint);
}

/* ---- padding ---- */

/* Value of an elementwise function at known operands. */
static double value_at(const struct graph_node *n, const struct within *operands)
{
    struct kern_map map = {.ninputs = n->ninputs, .ninstrs = 1};
    const void *in[KERN_OPERANDS_MAX];
    double out = NAN;
    int32_t whole = 0;

    map.instrs[0] =
        (struct kern_instr){.fn = n->fn == KERN_CONVERT ? KERN_COPY : n->fn, .scalar = n->scalar};
    for (uint32_t k = 0; k < KERN_OPERANDS_MAX; k++) {
        map.in_dtype[k] = SHD_F64;
        map.instrs[0].src[k] = (uint8_t)k;
        in[k] = &operands[k].value;
    }
    map.dtype = n->dtype == SHD_I32 ? SHD_I32 : SHD_F64;
    kern_map_run(&map, in, n->dtype == SHD_I32 ? (void *)&whole : &out, 1);
    return n->dtype == SHD_I32 ? whole : out;
}

/* What is infinite in the padding of a maximum's operand must not be multiplied: a sum of products
 * takes what is not known for finite. */
static void need(struct padding *p, struct graph_node *n)
{
    uint32_t noperands = n->fn == KERN_MUL ? 2 : n->fn == KERN_DIV ? 1 : 0;

    for (uint32_t k = 0; k < noperands; k++)
        for (uint32_t d = 0; d < n->rank; d++) {
            struct within w = padding_within(p, n->inputs[k], n->dims[d]);

            if (padding_in(p, n->dims[d]) && w.known && !isfinite(w.value))
                padding_want(p, n, k, n->dims[d], 0);
        }
}

static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    struct within operands[KERN_OPERANDS_MAX] = {padding_unknown, padding_unknown, padding_unknown};
    bool all = true;

    for (uint32_t k = 0; k < n->ninputs; k++) {
        operands[k] = padding_within(p, n->inputs[k], n->dims[d]);
        all = all && operands[k].known;
    }
    if (all || n->fn == KERN_FILL)
        return (struct within){true, value_at(n, operands)};
    if (n->fn == KERN_MUL)
        return padding_product(operands[0], operands[1]);
    if ((n->fn == KERN_DIV && padding_is_zero(operands[0])) ||
        (n->fn == KERN_GATE && (padding_is_zero(operands[0]) || padding_is_zero(operands[1]))))
        return padding_zero(p, n, d);
    if (n->fn == KERN_SELECT && operands[2].known)
        return operands[operands[2].value != 0 ? 0 : 1];
    if ((n->fn == KERN_ADD || n->fn == KERN_SUB) && operands[0].known && isinf(operands[0].value))
        return operands[0];
    return padding_unknown;
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    if (n->fn != KERN_FILL) {
        text_add(out, kern_fns[n->fn].jax);
        return;
    }
    text_add(out, "jnp.full((");
    for (uint32_t d = 0; d < n->rank; d++)
        text_addf(out, "%lld, ", (long long)graph->dims[n->dims[d]].size);
    text_addf(out, "), %s)", kern_fns[n->fn].jax);
}

const struct graph_op_row graph_op_map = {.name = "map",
                                          .passes_sums = true,
                                          .flat = true,
                                          .reverse = reverse,
                                          .need = need,
                                          .made = made,
                                          .jax = jax};
