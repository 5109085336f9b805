/* Tests graph/gradient.h: derivatives equal central finite differences, in float64.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/gradient.h"

#include <math.h>
#include <string.h>

#include "gradient_check.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- cases ---- */

enum shape { UNARY, BINARY, EINSUM, REDUCE, OTHER };

struct test_case {
    const char *what;
    enum shape shape;
    const char *x, *w, *y; /* dimensions; w NULL: x is both operands */
    int fn;                /* enum kern_fn, or enum shd_reduce_op */
    double shift;          /* added to x, or to w of a binary function */
    uint32_t (*build)(struct maker *m);
};

static uint32_t build_product_of_sums(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bd"), s = reduce(m, SHD_SUM, x, "b");

    return map2(m, KERN_MUL, s, map2(m, KERN_MUL, s, x));
}

static uint32_t build_used_thrice(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bc"), t = map1(m, KERN_TANH, x, 0);

    return map2(m, KERN_ADD, map2(m, KERN_MUL, t, x), map2(m, KERN_SUB, x, t));
}

static uint32_t build_sums_of_one(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bc");

    return map2(m, KERN_ADD, reduce(m, SHD_SUM, x, ""), reduce(m, SHD_SUM, x, ""));
}

static uint32_t build_constraints(struct maker *m)
{
    uint32_t x = graph_constraint(m->graph, "here", checked_leaf(m, "bc"));

    x = graph_constraint(m->graph, "there", map2(m, KERN_ADD, x, checked_leaf(m, "cd")));
    return graph_constraint(m->graph, "sum", reduce(m, SHD_SUM, x, "b"));
}

static uint32_t build_softmax(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bd"), e;

    e = map1(m, KERN_EXP, map2(m, KERN_SUB, x, reduce(m, SHD_MAX, x, "b")), 0);
    return map2(m, KERN_DIV, e, reduce(m, SHD_SUM, e, "b"));
}

static uint32_t build_norm(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bd"), v = reduce(m, SHD_MEAN, map2(m, KERN_MUL, x, x), "b");

    v = map1(m, KERN_RSQRT, map1(m, KERN_ADD_SCALAR, v, 1e-3), 0);
    return map2(m, KERN_MUL, map2(m, KERN_MUL, x, v), checked_leaf(m, "d"));
}

static uint32_t build_chain(struct maker *m)
{
    uint32_t x = checked_leaf(m, "abc"), w = checked_leaf(m, "cd"), h = einsum(m, x, w, "abd");

    h = map1(m, KERN_GELU, h, 0);
    return einsum(m, h, w, "abc");
}

static uint32_t build_gram(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bc");

    return einsum(m, einsum(m, x, x, "b"), x, "c");
}

static uint32_t build_broadcast_sum(struct maker *m)
{
    uint32_t x = checked_leaf(m, "b");

    return map2(m, KERN_ADD, x, checked_leaf(m, "bd"));
}

/* The numerator has fewer dimensions than the ratio, and a derivative that depends on its value. */
static uint32_t build_broadcast_ratio(struct maker *m)
{
    uint32_t x = checked_leaf(m, "b"), w = map1(m, KERN_ADD_SCALAR, checked_leaf(m, "bd"), 3);

    return map2(m, KERN_ADD, map2(m, KERN_DIV, map1(m, KERN_EXP, x, 0), w),
                map2(m, KERN_DIV, map1(m, KERN_TANH, x, 0), w));
}

static uint32_t build_unused(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bc");

    (void)checked_leaf(m, "d");
    return map1(m, KERN_SIGMOID, x, 0);
}

/* (1 + x^2)^w, with an exponent of fewer dimensions. */
static uint32_t build_power(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bd");

    x = map1(m, KERN_ADD_SCALAR, map2(m, KERN_MUL, x, x), 1);
    return map2(m, KERN_POW, x, checked_leaf(m, "d"));
}

static uint32_t build_choice(struct maker *m)
{
    uint32_t x = checked_leaf(m, "bc"), w = checked_leaf(m, "bc");

    return graph_select(m->graph, "select", map2(m, KERN_LESS, w, x), map2(m, KERN_MUL, x, w), w);
}

static uint32_t build_broadcast_choice(struct maker *m)
{
    uint32_t x = checked_leaf(m, "d"), w = checked_leaf(m, "b");

    return graph_select(m->graph, "select", map1(m, KERN_STEP, checked_leaf(m, "b"), 0), x, w);
}

static const struct test_case cases[] = {
    {"copy", UNARY, "bc", NULL, NULL, KERN_COPY, 0, NULL},
    {"neg", UNARY, "bc", NULL, NULL, KERN_NEG, 0, NULL},
    {"exp", UNARY, "bc", NULL, NULL, KERN_EXP, 0, NULL},
    {"log", UNARY, "bc", NULL, NULL, KERN_LOG, 1.5, NULL},
    {"sqrt", UNARY, "bc", NULL, NULL, KERN_SQRT, 1.5, NULL},
    {"rsqrt", UNARY, "bc", NULL, NULL, KERN_RSQRT, 1.5, NULL},
    {"tanh", UNARY, "bc", NULL, NULL, KERN_TANH, 0, NULL},
    {"relu", UNARY, "bc", NULL, NULL, KERN_RELU, 0, NULL},
    {"sigmoid", UNARY, "bc", NULL, NULL, KERN_SIGMOID, 0, NULL},
    {"gelu", UNARY, "bc", NULL, NULL, KERN_GELU, 0, NULL},
    {"exact gelu", UNARY, "bc", NULL, NULL, KERN_GELU_EXACT, 0, NULL},
    {"silu", UNARY, "bc", NULL, NULL, KERN_SILU, 0, NULL},
    {"quick gelu", UNARY, "bc", NULL, NULL, KERN_QUICK_GELU, 0, NULL},
    {"relu squared", UNARY, "bc", NULL, NULL, KERN_RELU_SQUARED, 0, NULL},
    {"step", UNARY, "bc", NULL, NULL, KERN_STEP, 0, NULL},
    {"scale", UNARY, "bc", NULL, NULL, KERN_SCALE, 0, NULL},
    {"add_scalar", UNARY, "bc", NULL, NULL, KERN_ADD_SCALAR, 0, NULL},
    {"fill", UNARY, "bc", NULL, NULL, KERN_FILL, 0, NULL},
    {"sin", UNARY, "bc", NULL, NULL, KERN_SIN, 0, NULL},
    {"cos", UNARY, "bc", NULL, NULL, KERN_COS, 0, NULL},
    {"tan", UNARY, "bc", NULL, NULL, KERN_TAN, 0, NULL},
    {"exp2", UNARY, "bc", NULL, NULL, KERN_EXP2, 0, NULL},
    {"log1p", UNARY, "bc", NULL, NULL, KERN_LOG1P, 0, NULL},
    {"expm1", UNARY, "bc", NULL, NULL, KERN_EXPM1, 0, NULL},
    {"erf", UNARY, "bc", NULL, NULL, KERN_ERF, 0, NULL},
    {"erfc", UNARY, "bc", NULL, NULL, KERN_ERFC, 0, NULL},
    {"abs", UNARY, "bc", NULL, NULL, KERN_ABS, 0, NULL},
    {"sign", UNARY, "bc", NULL, NULL, KERN_SIGN, 0, NULL},
    {"floor", UNARY, "bc", NULL, NULL, KERN_FLOOR, 0.3, NULL},
    {"ceil", UNARY, "bc", NULL, NULL, KERN_CEIL, 0.3, NULL},
    {"round", UNARY, "bc", NULL, NULL, KERN_ROUND, 0.3, NULL},
    {"not", UNARY, "bc", NULL, NULL, KERN_NOT, 0, NULL},
    {"exp of a number", UNARY, "", NULL, NULL, KERN_EXP, 0, NULL},

    {"x + w", BINARY, "bc", "bc", NULL, KERN_ADD, 0, NULL},
    {"x + w, transposed", BINARY, "bc", "cb", NULL, KERN_ADD, 0, NULL},
    {"x[b] + w[b,d]", BINARY, "b", "bd", NULL, KERN_ADD, 0, NULL},
    {"x[b] + w[d]", BINARY, "b", "d", NULL, KERN_ADD, 0, NULL},
    {"x[b,d] - w[d]", BINARY, "bd", "d", NULL, KERN_SUB, 0, NULL},
    {"x - w[d,b]", BINARY, "", "db", NULL, KERN_SUB, 0, NULL},
    {"x - x", BINARY, "bc", NULL, NULL, KERN_SUB, 0, NULL},
    {"x * w", BINARY, "bc", "bc", NULL, KERN_MUL, 0, NULL},
    {"x * w, transposed", BINARY, "bc", "cb", NULL, KERN_MUL, 0, NULL},
    {"x[b,d] * w[d]", BINARY, "bd", "d", NULL, KERN_MUL, 0, NULL},
    {"x[d] * w[b,d]", BINARY, "d", "bd", NULL, KERN_MUL, 0, NULL},
    {"x[b] * w[d]", BINARY, "b", "d", NULL, KERN_MUL, 0, NULL},
    {"x * w[b,c]", BINARY, "", "bc", NULL, KERN_MUL, 0, NULL},
    {"x[a,b] * w[b,c]", BINARY, "ab", "bc", NULL, KERN_MUL, 0, NULL},
    {"x * x", BINARY, "bc", NULL, NULL, KERN_MUL, 0, NULL},
    {"x / w", BINARY, "bc", "bc", NULL, KERN_DIV, 2, NULL},
    {"x[b,d] / w[b]", BINARY, "bd", "b", NULL, KERN_DIV, 2, NULL},
    {"x[b] / w[b,d]", BINARY, "b", "bd", NULL, KERN_DIV, 2, NULL},
    {"x[a,b] / w[b,c]", BINARY, "ab", "bc", NULL, KERN_DIV, 2, NULL},
    {"x / w[c]", BINARY, "", "c", NULL, KERN_DIV, 2, NULL},
    {"max(x, w)", BINARY, "bc", "bc", NULL, KERN_MAX, 0, NULL},
    {"max(x[b,d], w[d])", BINARY, "bd", "d", NULL, KERN_MAX, 0, NULL},
    {"max(x[a,b], w[b,c])", BINARY, "ab", "bc", NULL, KERN_MAX, 0, NULL},
    {"min(x, w)", BINARY, "bc", "bc", NULL, KERN_MIN, 0, NULL},
    {"min(x[d], w[b,d])", BINARY, "d", "bd", NULL, KERN_MIN, 0, NULL},
    {"max(x, x)", BINARY, "bc", NULL, NULL, KERN_MAX, 0, NULL},
    {"equal(x, w)", BINARY, "bc", "bc", NULL, KERN_EQUAL, 0, NULL},
    {"not_equal(x, w)", BINARY, "bc", "bc", NULL, KERN_NOT_EQUAL, 0, NULL},
    {"less(x, w[c])", BINARY, "bc", "c", NULL, KERN_LESS, 0, NULL},
    {"less_equal(x, w)", BINARY, "bc", "bc", NULL, KERN_LESS_EQUAL, 0, NULL},
    {"and(x, w)", BINARY, "bc", "bc", NULL, KERN_AND, 0, NULL},
    {"or(x, w)", BINARY, "bc", "bc", NULL, KERN_OR, 0, NULL},
    {"xor(x, w)", BINARY, "bc", "bc", NULL, KERN_XOR, 0, NULL},
    {"atan2(x, w[c])", BINARY, "bc", "c", NULL, KERN_ATAN2, 0, NULL},
    {"rem(x, w)", BINARY, "bc", "bc", NULL, KERN_REM, 0.2, NULL},
    {"rem(x, w[c])", BINARY, "bc", "c", NULL, KERN_REM, 0.2, NULL},
    {"(1 + x^2)^w[d]", OTHER, NULL, NULL, NULL, 0, 0, build_power},
    {"select(x > w, x * w, w)", OTHER, NULL, NULL, NULL, 0, 0, build_choice},
    {"select(p[b], x[d], w[b])", OTHER, NULL, NULL, NULL, 0, 0, build_broadcast_choice},

    {"ab,bc->ac", EINSUM, "ab", "bc", "ac", 0, 0, NULL},
    {"ab,bc->ca", EINSUM, "ab", "bc", "ca", 0, 0, NULL},
    {"abc,cd->abd", EINSUM, "abc", "cd", "abd", 0, 0, NULL},
    {"abc,abd->acd", EINSUM, "abc", "abd", "acd", 0, 0, NULL},
    {"b,c->bc", EINSUM, "b", "c", "bc", 0, 0, NULL},
    {"bc,bc->", EINSUM, "bc", "bc", "", 0, 0, NULL},
    {"abc,cd->d: dimensions of one operand are summed first", EINSUM, "abc", "cd", "d", 0, 0, NULL},
    {"abc,bde->ce", EINSUM, "abc", "bde", "ce", 0, 0, NULL},
    {"bc,->bc", EINSUM, "bc", "", "bc", 0, 0, NULL},
    {"bc,->b", EINSUM, "bc", "", "b", 0, 0, NULL},
    {",->", EINSUM, "", "", "", 0, 0, NULL},
    {"bc,cb->bc", EINSUM, "bc", "cb", "bc", 0, 0, NULL},
    {"x with itself: bc,bc->b", EINSUM, "bc", NULL, "b", 0, 0, NULL},
    {"x with itself: bc,bc->cb", EINSUM, "bc", NULL, "cb", 0, 0, NULL},

    {"sum bcd->c", REDUCE, "bcd", NULL, "c", SHD_SUM, 0, NULL},
    {"sum bcd->dc", REDUCE, "bcd", NULL, "dc", SHD_SUM, 0, NULL},
    {"sum bc->bc", REDUCE, "bc", NULL, "bc", SHD_SUM, 0, NULL},
    {"sum bc->", REDUCE, "bc", NULL, "", SHD_SUM, 0, NULL},
    {"mean bcd->b", REDUCE, "bcd", NULL, "b", SHD_MEAN, 0, NULL},
    {"max bcd->b", REDUCE, "bcd", NULL, "b", SHD_MAX, 0, NULL},
    {"max bc->", REDUCE, "bc", NULL, "", SHD_MAX, 0, NULL},
    {"min bcd->db", REDUCE, "bcd", NULL, "db", SHD_MIN, 0, NULL},

    {"sum(x) * (sum(x) * x)", OTHER, NULL, NULL, NULL, 0, 0, build_product_of_sums},
    {"tanh(x) * x + (x - tanh(x))", OTHER, NULL, NULL, NULL, 0, 0, build_used_thrice},
    {"sum(x) + sum(x)", OTHER, NULL, NULL, NULL, 0, 0, build_sums_of_one},
    {"constraints", OTHER, NULL, NULL, NULL, 0, 0, build_constraints},
    {"softmax, its maximum subtracted", OTHER, NULL, NULL, NULL, 0, 0, build_softmax},
    {"a norm with a gain", OTHER, NULL, NULL, NULL, 0, 0, build_norm},
    {"two matmuls with one kernel", OTHER, NULL, NULL, NULL, 0, 0, build_chain},
    {"x's squares times x", OTHER, NULL, NULL, NULL, 0, 0, build_gram},
    {"x[b] + w[b,d] again", OTHER, NULL, NULL, NULL, 0, 0, build_broadcast_sum},
    {"exp(x[b]) / w[b,d] + tanh(x[b]) / w[b,d]", OTHER, NULL, NULL, NULL, 0, 0,
     build_broadcast_ratio},
    {"an array that the loss does not depend on", OTHER, NULL, NULL, NULL, 0, 0, build_unused},
};

static uint32_t build_y(struct maker *m, const void *arg)
{
    const struct test_case *c = arg;
    uint32_t x, w;

    if (c->shape == OTHER)
        return c->build(m);
    x = checked_leaf(m, c->x);
    w = c->w ? checked_leaf(m, c->w) : x;
    if (c->shape == EINSUM)
        return einsum(m, x, w, c->y);
    if (c->shape == REDUCE)
        return reduce(m, (enum shd_reduce_op)c->fn, x, c->y);
    if (c->shape == BINARY)
        return map2(m, (enum kern_fn)c->fn, x,
                    c->shift != 0 ? map1(m, KERN_ADD_SCALAR, w, c->shift) : w);
    if (c->shift != 0)
        x = map1(m, KERN_ADD_SCALAR, x, c->shift);
    return map1(m, (enum kern_fn)c->fn, x, 0.75);
}

/* ---- what differences cannot see ---- */

/* All elements are 0, a tie of all. */
static void test_ties(void)
{
    struct maker m = {.graph = graph_create()};
    uint32_t dims[2], rank = dims_of(m.graph, "bc", dims), x, loss, grad;
    struct step step;
    double sum = 0, most = 0;

    x = graph_input(m.graph, "x", SHD_F64, dims, rank, (struct kern_source){.modulus = 1});
    loss = reduce(&m, SHD_SUM, reduce(&m, SHD_MAX, x, "b"), "");
    graph_gradient(m.graph, loss, &x, 1, &grad);
    graph_output(m.graph, GRAPH_GRADIENT, "x", grad, x);
    if (run_graph(&step, m.graph))
        for (int64_t i = 0; i < 12; i++) {
            sum += step_value(&step, 0, i);
            most = fmax(most, step_value(&step, 0, i));
        }
    ok(sum == 3 && most == 0.25, "equal maxima share the gradient");
    step_fini(&step);
    graph_destroy(m.graph);
}

static void test_chosen_first(void)
{
    struct maker m = {.graph = graph_create()};
    uint32_t dims[1], rank = dims_of(m.graph, "c", dims), leaves[2], loss, grads[2];
    struct step step;
    bool good;

    for (int i = 0; i < 2; i++)
        leaves[i] = graph_input(m.graph, i ? "w" : "x", SHD_F64, dims, rank,
                                (struct kern_source){.modulus = 1});
    loss = reduce(&m, SHD_SUM, map2(&m, KERN_MAX, leaves[0], leaves[1]), "");
    graph_gradient(m.graph, loss, leaves, 2, grads);
    for (int i = 0; i < 2; i++)
        graph_output(m.graph, GRAPH_GRADIENT, i ? "w" : "x", grads[i], leaves[i]);
    good = run_graph(&step, m.graph);
    for (int64_t i = 0; i < 4 && good; i++)
        good = step_value(&step, 0, i) == 1 && step_value(&step, 1, i) == 0;
    ok(good, "of equal operands the first gets the gradient");
    step_fini(&step);
    graph_destroy(m.graph);
}

static void test_nodes(void)
{
    struct maker m = {.graph = graph_create()};
    uint32_t x = checked_leaf(&m, "cb"), hidden, loss, grad, nforward;
    bool named = false, backward = true;

    hidden = graph_constraint(m.graph, "hidden", map1(&m, KERN_TANH, x, 0));
    loss = reduce(&m, SHD_SUM, map2(&m, KERN_MUL, hidden, hidden), "");
    nforward = m.graph->nnodes;
    graph_gradient(m.graph, loss, &x, 1, &grad);
    for (uint32_t n = nforward; n < m.graph->nnodes; n++) {
        const struct graph_node *node = &m.graph->nodes[n];

        backward &= node->phase == GRAPH_BACKWARD;
        named |= node->op == GRAPH_CONSTRAINT && !strcmp(node->name, "hidden") && node->rank == 2 &&
                 node->dims[0] == m.graph->nodes[hidden].dims[0];
    }
    ok(m.graph->err.status == SHD_OK && backward && m.graph->phase == GRAPH_FORWARD,
       "what is added is of the backward phase");
    ok(named, "a constraint's gradient has its name and dimensions");
    ok(m.graph->nodes[grad].rank == 2 &&
           !memcmp(m.graph->nodes[grad].dims, m.graph->nodes[x].dims, 2 * sizeof(uint32_t)),
       "a gradient has the dimensions of its array, in order");
    graph_destroy(m.graph);
}

static void test_errors(void)
{
    static const enum kern_fn fns[] = {KERN_GELU_GRAD, KERN_GELU_EXACT_GRAD, KERN_SILU_GRAD,
                                       KERN_QUICK_GELU_GRAD};

    for (size_t i = 0; i < COUNT(fns); i++) {
        struct maker m = {.graph = graph_create()};
        uint32_t x = checked_leaf(&m, "bc"), grad = 0, loss;
        struct shd_error err;

        loss = reduce(&m, SHD_SUM, map1(&m, fns[i], x, 0), "");
        graph_gradient(m.graph, loss, &x, 1, &grad);
        ok(graph_status(m.graph, &err) == SHD_EUNSUPPORTED &&
               strstr(err.text, kern_fns[fns[i]].name),
           "no derivative: %s", kern_fns[fns[i]].name);
        graph_gradient(m.graph, loss, &x, 1, &grad);
        ok(m.graph->err.status == SHD_EUNSUPPORTED, "a graph with an error is unchanged");
        graph_destroy(m.graph);
    }
}

int main(void)
{
    plan(0);
    for (size_t i = 0; i < COUNT(cases); i++)
        check_gradient(cases[i].what, build_y, &cases[i]);
    test_ties();
    test_chosen_first();
    test_nodes();
    test_errors();
    return done();
}
