/* Tests graph/graph.h: graphs that are built, graphs that are refused, and passes that renumber
 * nodes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/optimizer/early.h"
#include "graph/recompute.h"

#include <string.h>

#include "base/text.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct kern_source source = {.seed = 1, .scale = 2};

/* x[b:2, c:3] and w[c:3, d:4] in float32, i[b:2] in int32. */
struct fixture {
    struct graph *graph;
    uint32_t b, c, d;
    uint32_t x, w, i;
};

static struct fixture fixture(void)
{
    struct fixture f = {.graph = graph_create()};

    f.b = graph_dim(f.graph, "b", 2);
    f.c = graph_dim(f.graph, "c", 3);
    f.d = graph_dim(f.graph, "d", 4);
    f.x = graph_input(f.graph, "x", SHD_F32, (uint32_t[]){f.b, f.c}, 2, source);
    f.w = graph_param(f.graph, "w", SHD_F32, (uint32_t[]){f.c, f.d}, 2, source);
    f.i = graph_input(f.graph, "i", SHD_I32, &f.b, 1, source);
    return f;
}

static bool has_dims(const struct graph *g, uint32_t node, const uint32_t *dims, uint32_t rank)
{
    return node < g->nnodes && g->nodes[node].rank == rank &&
           (rank == 0 || !memcmp(g->nodes[node].dims, dims, rank * sizeof *dims));
}

static void test_dims(void)
{
    struct fixture f = fixture();
    int64_t shape[GRAPH_RANK_MAX];

    ok(graph_dim(f.graph, "b", 2) == f.b && f.graph->ndims == 3, "a dimension is added once");
    ok(graph_find_dim(f.graph, "d") == f.d && graph_find_dim(f.graph, "e") == GRAPH_NONE,
       "a dimension is found by name");
    graph_shape(f.graph, f.w, shape);
    ok(shape[0] == 3 && shape[1] == 4, "the shape of an array");
    ok(graph_has_dim(&f.graph->nodes[f.w], f.d) && !graph_has_dim(&f.graph->nodes[f.w], f.b),
       "whether an array has a dimension");
    graph_destroy(f.graph);
    graph_destroy(NULL);
}

static void test_einsum(void)
{
    struct fixture f = fixture();
    struct graph *g = f.graph;
    uint32_t y = graph_einsum(g, "y", f.x, f.w, (uint32_t[]){f.d, f.b}, 2), nnodes = g->nnodes;

    ok(has_dims(g, y, (uint32_t[]){f.d, f.b}, 2) && g->nodes[y].op == GRAPH_EINSUM &&
           g->nodes[y].dtype == SHD_F32,
       "einsum: the result's dimensions in any order");
    y = graph_einsum(g, "z", f.x, f.w, &f.d, 1);
    ok(g->nnodes == nnodes + 2 && g->nodes[y - 1].op == GRAPH_REDUCE &&
           has_dims(g, y - 1, &f.c, 1) && g->nodes[y].inputs[0] == y - 1 &&
           g->nodes[y].inputs[1] == f.w,
       "einsum: dimensions of only one operand are summed first");
    y = graph_einsum(g, "square", f.x, f.x, &f.b, 1);
    ok(g->nodes[y].inputs[0] == f.x && g->nodes[y].inputs[1] == f.x, "einsum: x with itself");
    ok(graph_status(g, NULL) == SHD_OK, "einsum: no error");
    graph_destroy(g);
}

static void test_map(void)
{
    struct fixture f = fixture();
    struct graph *g = f.graph;
    uint32_t y = graph_map(g, "y", KERN_ADD, f.x, f.w, 0);

    ok(has_dims(g, y, (uint32_t[]){f.b, f.c, f.d}, 3),
       "map: a's dimensions, then those only b has");
    y = graph_map(g, "scaled", KERN_SCALE, f.x, GRAPH_NONE, 3);
    ok(has_dims(g, y, (uint32_t[]){f.b, f.c}, 2) && g->nodes[y].ninputs == 1 &&
           g->nodes[y].scalar == 3,
       "map: of one operand and a number");
    y = graph_map(g, "filled", KERN_FILL, f.x, GRAPH_NONE, 3);
    ok(g->nodes[y].ninputs == 0 && has_dims(g, y, (uint32_t[]){f.b, f.c}, 2),
       "map: fill takes the dimensions of an array and reads nothing");
    graph_destroy(g);
}

static void test_reduce(void)
{
    struct fixture f = fixture();
    struct graph *g = f.graph;
    uint32_t y = graph_reduce(g, "max", SHD_MAX, f.x, &f.c, 1);

    ok(has_dims(g, y, &f.c, 1) && g->nodes[y].reduce == SHD_MAX, "reduce: keeps what is listed");
    y = graph_reduce(g, "all", SHD_SUM, f.x, NULL, 0);
    ok(has_dims(g, y, NULL, 0), "reduce: to one number");
    y = graph_reduce(g, "mean", SHD_MEAN, f.x, &f.b, 1);
    ok(g->nodes[y].op == GRAPH_MAP && g->nodes[y].fn == KERN_SCALE &&
           g->nodes[y].scalar == 1.0 / 3 && g->nodes[y - 1].reduce == SHD_SUM,
       "reduce: a mean is a sum and a scaling");
    graph_destroy(g);
}

static void test_rest(void)
{
    struct fixture f = fixture();
    struct graph *g = f.graph, *copy;
    char name[] = "here";
    uint32_t y = graph_constraint(g, name, f.x);

    name[0] = 'X';
    ok(!strcmp(g->nodes[y].name, "here") && g->nodes[y].op == GRAPH_CONSTRAINT &&
           has_dims(g, y, (uint32_t[]){f.b, f.c}, 2),
       "constraint: a copy of the array, with a name");
    g->phase = GRAPH_BACKWARD;
    y = graph_map(g, "late", KERN_NEG, y, GRAPH_NONE, 0);
    ok(g->nodes[y].phase == GRAPH_BACKWARD && g->nodes[f.x].phase == GRAPH_FORWARD,
       "nodes are of the phase they were added in");
    graph_output(g, GRAPH_OUTPUT, "out", y, GRAPH_NONE);
    graph_output(g, GRAPH_GRADIENT, "w", f.w, f.w);
    ok(g->noutputs == 2 && g->outputs[0].node == y && g->outputs[1].of == f.w &&
           !strcmp(g->outputs[1].name, "w"),
       "outputs, in order");
    copy = graph_in_dtype(g, SHD_F64);
    ok(copy->nnodes == g->nnodes && copy->nodes[y].dtype == SHD_F64 &&
           copy->nodes[f.i].dtype == SHD_I32 && copy->nodes[f.x].source.rounded == SHD_F32 &&
           g->nodes[y].dtype == SHD_F32,
       "in another type: whole numbers stay, and data is as it was rounded");
    graph_destroy(copy);
    ok(!strcmp(graph_op(GRAPH_EINSUM)->name, "einsum") &&
           !strcmp(graph_phase_name(GRAPH_BACKWARD), "backward"),
       "names of ops and phases");
    graph_destroy(g);
}

/* ---- what is refused ---- */

static uint32_t bad_resized_dim(struct fixture *f)
{
    return graph_dim(f->graph, "b", 5);
}

static uint32_t bad_negative_dim(struct fixture *f)
{
    return graph_dim(f->graph, "e", -1);
}

static uint32_t bad_unknown_dim(struct fixture *f)
{
    return graph_input(f->graph, "y", SHD_F32, (uint32_t[]){99}, 1, source);
}

static uint32_t bad_dim_twice(struct fixture *f)
{
    return graph_param(f->graph, "y", SHD_F32, (uint32_t[]){f->b, f->b}, 2, source);
}

static uint32_t bad_name_twice(struct fixture *f)
{
    return graph_input(f->graph, "w", SHD_F32, &f->b, 1, source);
}

/* 1000 names are taken; using the first one again fails, also in a copy of the graph. */
static uint32_t bad_name_of_many(struct fixture *f)
{
    struct graph *copy;

    for (uint32_t i = 0; i < 1000; i++)
        (void)graph_param(f->graph, graph_text(f->graph, "many%u", i), SHD_F32, &f->b, 1, source);
    copy = graph_in_dtype(f->graph, SHD_F64);
    if (copy && copy->err.status == SHD_OK)
        (void)graph_input(copy, "new", SHD_F32, &f->b, 1, source);
    if (!copy || copy->err.status != SHD_OK)
        graph_fail(f->graph, SHD_EUNSUPPORTED, "a name that is new was refused");
    else if (graph_input(copy, "many1", SHD_F32, &f->b, 1, source) != GRAPH_NONE)
        graph_fail(f->graph, SHD_EUNSUPPORTED, "the copy has a name twice");
    graph_destroy(copy);
    return graph_param(f->graph, "many0", SHD_F32, &f->b, 1, source);
}

static uint32_t many_dims(struct fixture *f, uint32_t dims[GRAPH_RANK_MAX + 1])
{
    for (uint32_t d = 0; d <= GRAPH_RANK_MAX; d++)
        dims[d] = graph_dim(f->graph, graph_text(f->graph, "many%u", d), 1);
    return GRAPH_RANK_MAX + 1;
}

static uint32_t bad_leaf_rank(struct fixture *f)
{
    uint32_t dims[GRAPH_RANK_MAX + 1], rank = many_dims(f, dims);

    return graph_input(f->graph, "y", SHD_F32, dims, rank, source);
}

static uint32_t bad_map_rank(struct fixture *f)
{
    uint32_t dims[GRAPH_RANK_MAX + 1], rank = many_dims(f, dims);

    return graph_map(f->graph, "y", KERN_ADD, f->x,
                     graph_input(f->graph, "v", SHD_F32, dims, rank - 1, source), 0);
}

static uint32_t bad_einsum_rank(struct fixture *f)
{
    uint32_t dims[GRAPH_RANK_MAX + 1], rank = many_dims(f, dims), v;

    v = graph_input(f->graph, "v", SHD_F32, dims, rank - 1, source);
    dims[rank - 1] = f->b;
    return graph_einsum(f->graph, "y", v, f->x, dims, rank);
}

static uint32_t bad_size(struct fixture *f)
{
    uint32_t dims[3];

    for (uint32_t d = 0; d < 3; d++)
        dims[d] = graph_dim(f->graph, graph_text(f->graph, "large%u", d), INT64_C(1) << 30);
    return graph_input(f->graph, "y", SHD_F32, dims, 3, source);
}

static uint32_t bad_einsum_dim(struct fixture *f)
{
    return graph_einsum(f->graph, "y", f->x, f->x, &f->d, 1);
}

static uint32_t bad_einsum_twice(struct fixture *f)
{
    return graph_einsum(f->graph, "y", f->x, f->x, (uint32_t[]){f->b, f->b}, 2);
}

static uint32_t bad_einsum_type(struct fixture *f)
{
    return graph_einsum(f->graph, "y", f->x, f->i, &f->b, 1);
}

static uint32_t bad_map_type(struct fixture *f)
{
    return graph_map(f->graph, "y", KERN_ADD, f->x, f->i, 0);
}

static uint32_t bad_reduce_dim(struct fixture *f)
{
    return graph_reduce(f->graph, "y", SHD_SUM, f->x, &f->d, 1);
}

static uint32_t bad_reduce_twice(struct fixture *f)
{
    return graph_reduce(f->graph, "y", SHD_SUM, f->x, (uint32_t[]){f->b, f->b}, 2);
}

static uint32_t bad_own(struct fixture *f)
{
    return graph_fail(f->graph, SHD_EUNSUPPORTED, "no %s", "such layer");
}

static const struct {
    const char *what;
    uint32_t (*build)(struct fixture *f);
    int status;
    const char *says;
} refused[] = {
    {"a dimension of another size", bad_resized_dim, SHD_EINVAL, "'b' has size 2, not 5"},
    {"a dimension of negative size", bad_negative_dim, SHD_EINVAL, "'e' has size -1"},
    {"a missing dimension", bad_unknown_dim, SHD_EINVAL, "'y'"},
    {"a dimension twice", bad_dim_twice, SHD_EINVAL, "'y' has dimension 'b' twice"},
    {"a name twice", bad_name_twice, SHD_EINVAL, "two arrays named 'w'"},
    {"one of many names twice", bad_name_of_many, SHD_EINVAL, "two arrays named 'many0'"},
    {"an array of too many dimensions", bad_leaf_rank, SHD_ERANGE, "13 dimensions"},
    {"a map of too many dimensions", bad_map_rank, SHD_ERANGE, "'y'"},
    {"an einsum of too many dimensions", bad_einsum_rank, SHD_ERANGE, "'y' has 13 dimensions"},
    {"an array that is too large", bad_size, SHD_ERANGE, ""},
    {"einsum: a dimension of neither operand", bad_einsum_dim, SHD_EINVAL, "'d'"},
    {"einsum: a dimension twice", bad_einsum_twice, SHD_EINVAL, "twice"},
    {"einsum: different types", bad_einsum_type, SHD_ETYPE, "float32 by int32"},
    {"map: different types", bad_map_type, SHD_ETYPE, "float32 and int32"},
    {"reduce: a dimension that the array lacks", bad_reduce_dim, SHD_EINVAL, "'x'"},
    {"reduce: a dimension twice", bad_reduce_twice, SHD_EINVAL, "twice"},
    {"a builder's own error", bad_own, SHD_EUNSUPPORTED, "no such layer"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct fixture f = fixture();
        uint32_t node = refused[i].build(&f), nnodes = f.graph->nnodes;
        struct shd_error err;

        if (!ok(node == GRAPH_NONE && graph_status(f.graph, &err) == refused[i].status &&
                    strstr(err.text, refused[i].says),
                "refused: %s", refused[i].what))
            diag("%d: %s", f.graph->err.status, f.graph->err.text);
        node = graph_map(f.graph, "later", KERN_NEG, node, GRAPH_NONE, 0);
        node = node == GRAPH_NONE ? graph_input(f.graph, "y2", SHD_F32, &f.b, 1, source) : node;
        graph_output(f.graph, GRAPH_OUTPUT, "out", f.x, GRAPH_NONE);
        (void)graph_fail(f.graph, SHD_ENOMEM, "later");
        ok(node == GRAPH_NONE && f.graph->nnodes == nnodes && f.graph->noutputs == 0 &&
               f.graph->err.status == refused[i].status,
           "the first error stays, and nothing is added: %s", refused[i].what);
        graph_destroy(f.graph);
    }
}

/* ---- passes that give nodes other numbers ---- */

/* A step by hand: products of two layers, backward values that read them, gradients that are
 * converted, placed and summed, and an update with state.  A node that refers to another one ends
 * its own name with ':' and the name of the other. */
static struct graph *make_step(void)
{
    struct fixture f = fixture();
    struct graph *g = f.graph;
    uint32_t dims[] = {f.b, f.d}, y, tanh_y, seen, gradient, half, placed, sum, state, v;

    y = graph_einsum(g, "y", f.x, f.w, dims, 2);
    tanh_y = graph_map(g, "tanh", KERN_TANH, y, GRAPH_NONE, 0);
    g->phase = GRAPH_BACKWARD;
    seen = graph_map(g, "seen", KERN_MUL, tanh_y, y, 0);
    gradient = graph_einsum(g, "gradient:w", f.x, seen, (uint32_t[]){f.c, f.d}, 2);
    g->nodes[gradient].gradient_of = f.w;
    v = graph_param(g, "v", SHD_F32, &f.b, 1, source);
    (void)graph_map(g, "last", KERN_NEG, seen, GRAPH_NONE, 0); /* belongs to no gradient */
    half = graph_map(g, "half:w", KERN_COPY, gradient, GRAPH_NONE, 0);
    g->nodes[half].gradient_of = f.w;
    placed = graph_constraint(g, "placed:w", half);
    g->nodes[placed].state_of = g->nodes[placed].gradient_of = f.w;
    sum = graph_accumulate(g, "sum", SHD_F32, placed);
    g->phase = GRAPH_OPTIMIZER;
    state = graph_param(g, "state:w", SHD_F32, (uint32_t[]){f.c, f.d}, 2, source);
    g->nodes[state].state_of = f.w;
    state = graph_param(g, "state:v", SHD_F32, &f.b, 1, source);
    g->nodes[state].state_of = g->nodes[state].gradient_of = v;
    graph_output(g, GRAPH_NEXT, "state:v", state, v);
    state--;
    sum = graph_map(g, "next", KERN_ADD, sum, state, 0);
    graph_output(g, GRAPH_NEXT, "next", sum, f.w);
    return g;
}

static bool is_named(const struct graph *g, uint32_t node, const char *name)
{
    return node < g->nnodes && !strcmp(g->nodes[node].name, name);
}

/* List the names in order, with "*" after recomputed nodes, and the operands of each node; false
 * if a reference is wrong. */
static bool refers(const struct graph *g, struct text *names)
{
    bool good = g->noutputs == 2 && is_named(g, g->outputs[0].node, "state:v") &&
                is_named(g, g->outputs[0].of, "v") && is_named(g, g->outputs[1].node, "next") &&
                is_named(g, g->outputs[1].of, "w");

    for (uint32_t n = 0; n < g->nnodes; n++) {
        const struct graph_node *node = &g->nodes[n];
        const char *of = strchr(node->name, ':');

        text_addf(names, "%s%s", node->name, node->again ? "*" : "");
        for (uint32_t k = 0; k < node->ninputs; k++)
            text_addf(names, "%s%s%s", k ? "," : "(", g->nodes[node->inputs[k]].name,
                      g->nodes[node->inputs[k]].again ? "*" : "");
        text_add(names, node->ninputs ? ") " : " ");
        if (!of && (node->gradient_of != GRAPH_NONE || node->state_of != GRAPH_NONE))
            good = false;
        if (of && node->gradient_of != GRAPH_NONE && !is_named(g, node->gradient_of, of + 1))
            good = false;
        if (of && node->state_of != GRAPH_NONE && !is_named(g, node->state_of, of + 1))
            good = false;
        for (uint32_t k = 0; k < node->ninputs; k++)
            good &= node->inputs[k] < n;
    }
    return good;
}

static void test_renumbered(void)
{
    static const char *const want[] = {
        "x w i y(x,w) tanh(y) seen(tanh,y) gradient:w(x,seen) half:w(gradient:w) "
        "placed:w(half:w) sum(placed:w) v last(seen) state:w state:v next(sum,state:w) ",
        "x w i y(x,w) tanh(y) y*(x,w) tanh*(y*) seen(tanh*,y*) gradient:w(x,seen) v last(seen) "
        "half:w(gradient:w) placed:w(half:w) sum(placed:w) state:w state:v next(sum,state:w) ",
    };
    static const char *const what[] = {"nodes computed from a gradient follow it",
                                       "recomputed nodes come before their reader"};

    for (int pass = 0; pass < 2; pass++) {
        struct graph *g = make_step();
        struct text names = TEXT_INIT;
        bool again[32] = {false}, good;

        for (uint32_t n = 0; n < g->nnodes; n++)
            again[n] = is_named(g, n, "y") || is_named(g, n, "tanh");
        if (pass)
            recompute_clone(g, again, NULL, NULL);
        else
            graph_sum_early(g);
        good = graph_status(g, NULL) == SHD_OK && refers(g, &names);
        if (!ok(good && !strcmp(text_get(&names), want[pass]),
                "renumbered: %s, and all references hold", what[pass]))
            diag("%s", text_get(&names));
        text_fini(&names);
        graph_destroy(g);
    }
}

int main(void)
{
    plan(0);
    test_dims();
    test_einsum();
    test_map();
    test_reduce();
    test_rest();
    test_refused();
    test_renumbered();
    return done();
}
