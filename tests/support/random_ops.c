/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "random_program.h"

#include <math.h>
#include <string.h>

#define NDIMS 5

uint32_t random_leaf(struct random_program *p, const uint32_t *dims, uint32_t rank)
{
    struct kern_source source = {.seed = (uint32_t)random_next(&p->random), .scale = 2};
    uint32_t node;

    if (random_chance(&p->random, 50))
        node = graph_input(p->graph, random_name(p, "x"), p->dtype, dims, rank, source);
    else
        node = graph_param(p->graph, random_name(p, "w"), p->dtype, dims, rank, source);
    random_keep(p, node, 1);
    if (node != GRAPH_NONE && random_chance(&p->random, 85))
        random_ask(p, node);
    return node;
}

/* The dimensions of a, then those that only b has. */
static uint32_t joined(const struct random_program *p, uint32_t a, uint32_t b,
                       uint32_t out[2 * GRAPH_RANK_MAX])
{
    const struct graph_node *x = &p->graph->nodes[a], *y = &p->graph->nodes[b];
    uint32_t rank = 0;

    for (uint32_t d = 0; d < x->rank; d++)
        out[rank++] = x->dims[d];
    for (uint32_t d = 0; d < y->rank; d++)
        if (!graph_has_dim(x, y->dims[d]))
            out[rank++] = y->dims[d];
    return rank;
}

/* Keep some of the dimensions, sometimes in another order. */
static uint32_t keep_some(struct random_program *p, uint32_t *dims, uint32_t rank, uint32_t percent)
{
    uint32_t kept = 0;

    for (uint32_t d = 0; d < rank; d++)
        if (random_chance(&p->random, percent))
            dims[kept++] = dims[d];
    if (kept > 1 && random_chance(&p->random, 40)) {
        uint32_t first = dims[0];

        dims[0] = dims[kept - 1];
        dims[kept - 1] = first;
    }
    return kept;
}

static void add_einsum(struct random_program *p)
{
    uint32_t a = random_pick(p), b = random_pick(p), dims[2 * GRAPH_RANK_MAX];
    uint32_t rank = joined(p, a, b, dims);
    double all = random_elements(p->graph, dims, rank), bound;

    if (all > RANDOM_ITERATIONS_MAX)
        return;
    rank = keep_some(p, dims, rank, 65);
    if (random_elements(p->graph, dims, rank) > RANDOM_ELEMENTS_MAX)
        return;
    bound = all / random_elements(p->graph, dims, rank) * p->bounds[a] * p->bounds[b];
    /* Sums of random signs grow with the square root of their length. */
    random_keep(p, graph_einsum(p->graph, random_name(p, "einsum"), a, b, dims, rank),
               bound > RANDOM_BOUND ? sqrt(bound) * RANDOM_BOUND : bound);
}

static void add_reduce(struct random_program *p)
{
    uint32_t a = random_pick(p), dims[GRAPH_RANK_MAX], rank = p->graph->nodes[a].rank;
    enum shd_reduce_op op = (enum shd_reduce_op)random_below(&p->random, 4);
    double bound = p->bounds[a];

    memcpy(dims, p->graph->nodes[a].dims, sizeof dims);
    rank = keep_some(p, dims, rank, 60);
    if (op == SHD_SUM)
        bound *= random_elements(p->graph, p->graph->nodes[a].dims, p->graph->nodes[a].rank) /
                 random_elements(p->graph, dims, rank);
    a = graph_reduce(p->graph, random_name(p, "reduce"), op, a, dims, rank);
    random_keep(p, a, bound > RANDOM_BOUND ? sqrt(bound) * RANDOM_BOUND : bound);
}

uint32_t random_positive(struct random_program *p, uint32_t a)
{
    a = graph_map(p->graph, random_name(p, "sigmoid"), KERN_SIGMOID, a, GRAPH_NONE, 0);
    random_keep(p, a, 1);
    a = graph_map(p->graph, random_name(p, "positive"), KERN_ADD_SCALAR, a, GRAPH_NONE, 0.5);
    return random_keep(p, a, 1.5);
}

static void add_binary(struct random_program *p)
{
    static const enum kern_fn fns[] = {KERN_ADD, KERN_ADD, KERN_SUB, KERN_MUL,
                                       KERN_DIV, KERN_MAX, KERN_MIN};
    enum kern_fn fn = fns[random_below(&p->random, 7)];
    uint32_t a = random_pick(p), b = random_pick(p), dims[2 * GRAPH_RANK_MAX], rank;
    double x = p->bounds[a], y;

    if (fn == KERN_ADD && random_chance(&p->random, 50))
        b = random_below(&p->random, 3); /* like a bias: leaves have the lowest numbers */
    y = p->bounds[b];
    rank = joined(p, a, b, dims);
    if (random_elements(p->graph, dims, rank) > RANDOM_ELEMENTS_MAX || (fn == KERN_SUB && a == b))
        return;
    if (fn == KERN_DIV) {
        b = random_positive(p, b);
        y = 2;
    }
    a = graph_map(p->graph, random_name(p, kern_fns[fn].name), fn, a, b, 0);
    random_keep(p, a, fn == KERN_MUL || fn == KERN_DIV ? x * y : x + y);
}

static void add_unary(struct random_program *p)
{
    static const enum kern_fn fns[] = {
        KERN_COPY,       KERN_NEG, KERN_TANH, KERN_SIGMOID, KERN_GELU,  KERN_SILU, KERN_SCALE,
        KERN_ADD_SCALAR, KERN_EXP, KERN_LOG,  KERN_SQRT,    KERN_RSQRT, KERN_FILL, KERN_RELU};
    static const enum kern_fn gelus[] = {KERN_GELU, KERN_GELU_EXACT, KERN_QUICK_GELU};
    static const enum kern_fn relus[] = {KERN_RELU, KERN_RELU_SQUARED};
    enum kern_fn drawn = fns[random_below(&p->random, 14)];
    /* Forms of a function take turns, so that the draws of a seed are the same for all. */
    enum kern_fn fn = drawn == KERN_GELU   ? gelus[p->graph->nnodes % 3]
                      : drawn == KERN_RELU ? relus[p->graph->nnodes % 2]
                                           : drawn;
    uint32_t a = random_pick(p);
    double bound = p->bounds[a] + 1;

    if (fn == KERN_EXP) {
        a = random_keep(p, graph_map(p->graph, random_name(p, "tanh"), KERN_TANH, a, GRAPH_NONE, 0), 1);
        bound = exp(1);
    }
    if (fn == KERN_LOG || fn == KERN_SQRT || fn == KERN_RSQRT) {
        a = random_positive(p, a);
        bound = 1.5;
    }
    a = graph_map(p->graph, random_name(p, kern_fns[fn].name), fn, a, GRAPH_NONE, 0.75);
    random_keep(p, a, fn == KERN_RELU_SQUARED ? bound * bound : bound);
}

static void add_constraint(struct random_program *p)
{
    uint32_t a = random_pick(p), node = graph_constraint(p->graph, random_name(p, "constraint"), a);

    random_keep(p, node, p->bounds[a]);
    if (node != GRAPH_NONE && random_chance(&p->random, 75))
        random_ask(p, node);
}

/* Convert to another type and back, with a function in between.  The random numbers are separate
 * ones, so that the rest of a program stays the same for its seed. */
static void add_types(struct random_program *p)
{
    static const enum shd_dtype types[] = {SHD_F32, SHD_F64, SHD_BF16, SHD_F16};
    struct random own = {p->seed ^ (p->graph->nnodes + UINT64_C(1)) * 0x9e3779b1u};
    uint32_t a = p->graph->nnodes - 1;
    double bound = p->bounds[a];

    if (p->graph->err.status != SHD_OK || !random_chance(&own, 6) ||
        p->graph->nodes[a].dtype != p->dtype || p->graph->nodes[a].op == GRAPH_EXTRA)
        return;
    a = graph_convert(p->graph, random_name(p, "to"), types[random_below(&own, 4)], a);
    if (random_chance(&own, 50))
        a = graph_map(p->graph, random_name(p, "scale"), KERN_SCALE, a, GRAPH_NONE, 0.75);
    random_keep(p, graph_convert(p->graph, random_name(p, "from"), p->dtype, a), bound);
}

/* ---- comparisons, selections, whole numbers ---- */

static uint32_t mapped(struct random_program *p, enum kern_fn fn, uint32_t a, uint32_t b,
                       double scalar)
{
    return graph_map(p->graph, random_name(p, kern_fns[fn].name), fn, a, b, scalar);
}

static uint32_t filled(struct random_program *p, uint32_t like, double value)
{
    return mapped(p, KERN_FILL, like, GRAPH_NONE, value);
}

static uint32_t compared(struct random_program *p, struct random *own, uint32_t a)
{
    static const enum kern_fn fns[] = {KERN_LESS, KERN_LESS_EQUAL, KERN_NOT_EQUAL, KERN_EQUAL};

    return mapped(p, fns[random_below(own, 4)], a, filled(p, a, 0.125), 0);
}

static uint32_t curved(struct random_program *p, struct random *own, uint32_t a)
{
    static const enum kern_fn fns[] = {KERN_SIN,   KERN_COS,   KERN_ERF,  KERN_ERFC,  KERN_ABS,
                                       KERN_SIGN,  KERN_FLOOR, KERN_CEIL, KERN_ROUND, KERN_NOT,
                                       KERN_EXPM1, KERN_EXP2,  KERN_TAN};

    a = mapped(p, KERN_TANH, a, GRAPH_NONE, 0);
    return mapped(p, fns[random_below(own, 13)], a, GRAPH_NONE, 0);
}

static uint32_t of_two(struct random_program *p, struct random *own, uint32_t a)
{
    static const enum kern_fn fns[] = {KERN_POW, KERN_ATAN2, KERN_REM};
    uint32_t b = filled(p, a, 0.75);

    b = mapped(p, KERN_ADD, b, mapped(p, KERN_SIGMOID, a, GRAPH_NONE, 0), 0);
    if (random_chance(own, 20))
        return mapped(p, KERN_LOG1P, b, GRAPH_NONE, 0);
    return random_chance(own, 50) ? mapped(p, KERN_POW, b, a, 0)
                                  : mapped(p, fns[random_below(own, 3)], b, b, 0);
}

static uint32_t chosen(struct random_program *p, struct random *own, uint32_t a)
{
    static const enum kern_fn fns[] = {KERN_AND, KERN_OR, KERN_XOR};
    uint32_t b = filled(p, a, 0.5), condition = compared(p, own, a);

    condition = mapped(p, fns[random_below(own, 3)], condition, compared(p, own, a), 0);
    if (random_chance(own, 50))
        condition = graph_convert(p->graph, random_name(p, "truth"), SHD_I32, condition);
    return random_chance(own, 50)
               ? graph_select(p->graph, random_name(p, "select"), condition, a, b)
               : graph_select(p->graph, random_name(p, "select"), condition, b, a);
}

/* What an array has in words of 32 bits, as fractions again. */
static uint32_t in_words(struct random_program *p, struct random *own, uint32_t a)
{
    static const enum kern_fn fns[] = {KERN_BIT_AND,     KERN_BIT_OR, KERN_BIT_XOR, KERN_SHIFT_LEFT,
                                       KERN_SHIFT_RIGHT, KERN_REM,    KERN_MAX,     KERN_MUL};

    a = mapped(p, KERN_SCALE, a, GRAPH_NONE, 64);
    a = graph_convert(p->graph, random_name(p, "whole"), SHD_I32, a);
    if (random_chance(own, 30))
        a = mapped(p, KERN_BIT_NOT, a, GRAPH_NONE, 0);
    a = mapped(p, fns[random_below(own, 8)], a, filled(p, a, 5), 0);
    if (p->graph->nodes[a].rank > 0 && random_chance(own, 50))
        a = graph_reduce(p->graph, random_name(p, "most"),
                         random_chance(own, 50) ? SHD_MIN : SHD_SUM, a, p->graph->nodes[a].dims,
                         p->graph->nodes[a].rank - 1);
    a = mapped(p, KERN_BIT_AND, a, filled(p, a, 255), 0);
    a = graph_convert(p->graph, random_name(p, "fraction"), p->dtype, a);
    return mapped(p, KERN_SCALE, a, GRAPH_NONE, 1.0 / 256);
}

/* The place of the largest along the last dimension. */
static uint32_t place_of(struct random_program *p, struct random *own, uint32_t a)
{
    struct graph *g = p->graph;
    struct graph_node n = g->nodes[a];
    uint32_t dim = n.rank > 0 ? n.dims[n.rank - 1] : 0, at;

    if (n.rank == 0)
        return compared(p, own, a);
    at = graph_input(g, random_name(p, "iota"), SHD_I32, &dim, 1,
                     (struct kern_source){.index = true});
    a = mapped(p, KERN_EQUAL, a,
               graph_reduce(g, random_name(p, "max"), SHD_MAX, a, n.dims, n.rank - 1), 0);
    a = graph_select(g, random_name(p, "places"), a, at, filled(p, at, (double)g->dims[dim].size));
    a = graph_reduce(g, random_name(p, "place"), SHD_MIN, a, n.dims, n.rank - 1);
    a = graph_convert(g, random_name(p, "fraction"), p->dtype, a);
    return mapped(p, KERN_SCALE, a, GRAPH_NONE, 1 / (double)(g->dims[dim].size + 1));
}

/* Functions that jump, and whole numbers.  The random numbers are separate ones, as above. */
static void add_numbers(struct random_program *p)
{
    static uint32_t (*const made[])(struct random_program *, struct random *,
                                    uint32_t) = {curved, of_two, chosen, in_words, place_of};
    struct random own = {p->seed ^ (p->graph->nnodes + UINT64_C(7)) * 0x85ebca6bu};
    uint32_t a = p->graph->nnodes - 1;

    if (p->graph->err.status != SHD_OK || !random_chance(&own, 20) ||
        p->graph->nodes[a].dtype != p->dtype || p->graph->nodes[a].op == GRAPH_EXTRA)
        return;
    a = made[random_below(&own, 5)](p, &own, a);
    random_keep(p, a, p->bounds[p->nbounds - 1] + 3);
}

void random_op(struct random_program *p)
{
    uint32_t what = random_below(&p->random, 100);

    add_types(p);
    add_numbers(p);
    if (what < 35)
        add_einsum(p);
    else if (what < 60)
        add_binary(p);
    else if (what < 75)
        add_unary(p);
    else if (what < 90)
        add_reduce(p);
    else
        add_constraint(p);
}

static void add_leaf(struct random_program *p)
{
    uint32_t dims[3], rank = random_chance(&p->random, 5) ? 0 : 1 + random_below(&p->random, 3);
    uint32_t start = random_below(&p->random, NDIMS);

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (start + 2 * d) % NDIMS; /* 5 is prime, so all dimensions differ */
    random_leaf(p, dims, rank);
}

struct random_program *random_ops_program(uint64_t seed)
{
    static const int64_t sizes[] = {4, 6, 8, 12, 8, 12, 4, 3, 1};
    static const char *const names[NDIMS] = {"a", "b", "c", "d", "e"};
    struct random_program *p = random_program_create(seed);
    uint32_t target;

    for (int d = 0; d < NDIMS; d++)
        (void)graph_dim(p->graph, names[d], sizes[random_below(&p->random, 9)]);
    for (uint32_t n = 3 + random_below(&p->random, 3); n > 0; n--)
        add_leaf(p);
    target = p->graph->nnodes + 8 + random_below(&p->random, 12);
    while (p->graph->nnodes < target && p->graph->err.status == SHD_OK)
        random_op(p);
    random_program_finish(p);
    return p;
}
