/* Tests partition/partition.h: well-known layouts get their well-known steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "../support/step.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NODES_MAX 128

/* A graph and the shardings asked for it. */
struct layout {
    struct shd_mesh *mesh;
    struct graph *graph;
    struct shd_sharding storage[2 * NODES_MAX];
    const struct shd_sharding *nodes[NODES_MAX], *outputs[NODES_MAX];
};

/* A layout on a mesh of up to two axes; a size of 0 means no axis. */
static struct layout *new_layout(const char *first, int32_t nfirst, const char *second,
                                 int32_t nsecond)
{
    struct layout *l = calloc(1, sizeof *l);
    const char *const names[2] = {first, second};
    const int32_t sizes[2] = {nfirst, nsecond};

    if (!l || !(l->graph = graph_create()) ||
        shd_mesh_create(&l->mesh, names, sizes, nsecond ? 2 : 1, NULL) != SHD_OK)
        abort();
    return l;
}

static void destroy_layout(struct layout *l)
{
    graph_destroy(l->graph);
    shd_mesh_destroy(l->mesh);
    free(l);
}

/* Bind a spec; NULL text: no sharding is asked. */
static const struct shd_sharding *bound(struct layout *l, uint32_t slot, const char *text,
                                        uint32_t rank)
{
    struct shd_spec *spec;

    if (!text)
        return NULL;
    if (shd_spec_parse(&spec, text, NULL) != SHD_OK ||
        shd_sharding_bind(&l->storage[slot], l->mesh, spec, rank, NULL) != SHD_OK)
        abort();
    shd_spec_destroy(spec);
    return &l->storage[slot];
}

/* Dimensions by their letters, with the sizes below. */
static uint32_t dims_of(struct graph *g, const char *letters, uint32_t *dims)
{
    static const struct {
        char letter;
        int64_t size;
    } sizes[] = {{'b', 256}, {'t', 16}, {'e', 32}, {'m', 64}, {'o', 6}};
    uint32_t rank = 0;

    for (; *letters; letters++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            if (sizes[i].letter == *letters) {
                const char name[2] = {*letters, '\0'};

                dims[rank++] = graph_dim(g, name, sizes[i].size);
            }
    return rank;
}

static uint32_t leaf(struct layout *l, const char *name, const char *letters, const char *spec)
{
    struct kern_source source = {.seed = (uint32_t)(unsigned char)name[0] << 24, .scale = 2};
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(l->graph, letters, dims), node;

    node = graph_param(l->graph, name, SHD_F32, dims, rank, source);
    l->nodes[node] = bound(l, node, spec, rank);
    return node;
}

static uint32_t einsum(struct layout *l, const char *name, uint32_t a, uint32_t b,
                       const char *letters)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(l->graph, letters, dims);

    return graph_einsum(l->graph, name, a, b, dims, rank);
}

static uint32_t reduce(struct layout *l, const char *name, enum shd_reduce_op op, uint32_t a,
                       const char *letters)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(l->graph, letters, dims);

    return graph_reduce(l->graph, name, op, a, dims, rank);
}

static uint32_t constrained(struct layout *l, const char *name, uint32_t a, const char *spec)
{
    uint32_t node = graph_constraint(l->graph, name, a);

    l->nodes[node] = bound(l, node, spec, l->graph->nodes[node].rank);
    return node;
}

static void output(struct layout *l, const char *name, uint32_t node, const char *spec)
{
    uint32_t o = l->graph->noutputs;

    graph_output(l->graph, GRAPH_OUTPUT, name, node, GRAPH_NONE);
    l->outputs[o] = bound(l, NODES_MAX + o, spec, l->graph->nodes[node].rank);
}

static int build(struct program **program, const struct layout *l, struct shd_error *err)
{
    struct partition_request request = {
        .graph = l->graph, .mesh = l->mesh, .nodes = l->nodes, .outputs = l->outputs};

    return partition_build(program, &request, err);
}

/* ---- counting ---- */

/* Print the steps of a phase (-1: all) in the order of their kinds, as "all-reduce 1, slice 2". */
static void steps_text(const struct program *program, int phase, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int kind = 0; kind < SHD_RESHARD_NKINDS; kind++) {
        int n = step_count(program, (enum shd_reshard_kind)kind, phase);

        if (n > 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s %d", used ? ", " : "",
                                     shd_reshard_kind_name((enum shd_reshard_kind)kind), n);
    }
}

static bool has_steps(const struct program *program, int phase, const char *want)
{
    char text[256];

    steps_text(program, phase, text, sizeof text);
    if (!strcmp(text, want))
        return true;
    diag("steps are \"%s\", not \"%s\"", text, want);
    return false;
}

/* Partition the layout, compare its steps with the expected ones, and free the layout. */
static void expect(struct layout *l, const char *what, const char *forward, const char *backward)
{
    struct program *program;
    struct shd_error err;
    int status = build(&program, l, &err);

    if (ok(status == SHD_OK, "%s: is partitioned", what)) {
        ok(has_steps(program, GRAPH_FORWARD, forward), "%s: forward \"%s\"", what, forward);
        if (backward)
            ok(has_steps(program, GRAPH_BACKWARD, backward), "%s: backward \"%s\"", what, backward);
        program_destroy(program);
    } else {
        diag("%s", err.text);
    }
    destroy_layout(l);
}

/* ---- layouts of a feed-forward layer ---- */

struct mlp {
    const char *batch; /* the letter of the batch dimension: b many tokens, t few */
    const char *x, *in, *up, *down, *hidden, *out; /* specs; NULL: not asked */
};

/* Ask for the gradient of each constraint the sharding of the constraint.  `in` is left out: x is
 * gathered there, and its gradient may be scattered at once. */
static void ask_gradients(struct layout *l)
{
    const struct graph_node *nodes = l->graph->nodes;

    for (uint32_t n = 0; n < l->graph->nnodes; n++)
        for (uint32_t of = 0; of < n && nodes[n].op == GRAPH_CONSTRAINT; of++)
            if (nodes[of].op == GRAPH_CONSTRAINT && !strcmp(nodes[of].name, nodes[n].name) &&
                strcmp(nodes[n].name, "in") != 0)
                l->nodes[n] = l->nodes[of];
}

static struct layout *mlp_layout(struct layout *l, const struct mlp *s)
{
    static const char *const names[3] = {"x", "up", "down"};
    uint32_t wrt[3], grads[3], h, y, ct, loss;
    const char *const specs[3] = {s->x, s->up, s->down};
    const char *be = graph_text(l->graph, "%se", s->batch);
    const char *bm = graph_text(l->graph, "%sm", s->batch);

    wrt[0] = leaf(l, "x", be, s->x);
    wrt[1] = leaf(l, "up", "em", s->up);
    wrt[2] = leaf(l, "down", "me", s->down);
    ct = leaf(l, "ct", be, s->out);
    h = constrained(l, "in", wrt[0], s->in);
    h = constrained(l, "hidden", einsum(l, "up", h, wrt[1], bm), s->hidden);
    h = graph_map(l->graph, "gelu", KERN_GELU, h, GRAPH_NONE, 0);
    y = constrained(l, "out", einsum(l, "down", h, wrt[2], be), s->out);
    output(l, "y", y, NULL);
    loss = reduce(l, "loss", SHD_SUM, graph_map(l->graph, "product", KERN_MUL, y, ct, 0), "");
    graph_gradient(l->graph, loss, wrt, 3, grads);
    for (int i = 0; i < 3; i++)
        output(l, names[i], grads[i], specs[i]);
    ask_gradients(l);
    return l;
}

static void test_mlp(void)
{
    static const struct mlp tensor = {"t", "[]", NULL, "[null, tp]", "[tp]", "[null, tp]", "[]"};
    static const struct mlp sequence = {"t",    "[tp]",       "[]",  "[null, tp]",
                                        "[tp]", "[null, tp]", "[tp]"};
    static const struct mlp data = {"b", "[dp]", NULL, "[]", "[]", "[dp]", "[dp]"};
    static const struct mlp sharded = {"b", "[dp]", NULL, "[dp]", "[dp]", "[dp]", "[dp]"};
    static const struct mlp both = {"b", "[dp]", NULL, "[null, tp]", "[tp]", "[dp, tp]", "[dp]"};
    static const struct mlp alone = {"b", "[]", NULL, "[]", "[]", NULL, NULL};

    expect(mlp_layout(new_layout("tp", 4, NULL, 0), &tensor), "columns, then rows", "all-reduce 1",
           "all-reduce 1");
    expect(mlp_layout(new_layout("tp", 4, NULL, 0), &sequence), "columns, rows, sharded between",
           "all-gather 1, reduce-scatter 1", "all-gather 1, reduce-scatter 1");
    expect(mlp_layout(new_layout("dp", 4, NULL, 0), &data), "data parallel", "", "all-reduce 1");
    expect(mlp_layout(new_layout("dp", 4, NULL, 0), &sharded), "fully sharded", "all-gather 2",
           "reduce-scatter 1");
    expect(mlp_layout(new_layout("dp", 2, "tp", 4), &both), "data and tensor parallel",
           "all-reduce 1", "all-reduce 2");
    expect(mlp_layout(new_layout("dp", 4, NULL, 0), &alone), "nothing asked for", "", "");
    expect(mlp_layout(new_layout("tp", 1, NULL, 0), &tensor), "an axis of size 1", "", "");
}

/* ---- single ops ---- */

/* x[e,b] w[b,m] with b over tp gives a partial sum that is smaller than its operands. */
static uint32_t partial_product(struct layout *l, const char *suffix)
{
    const char *x = graph_text(l->graph, "x%s", suffix), *w = graph_text(l->graph, "w%s", suffix);

    return einsum(l, "product", leaf(l, x, "eb", "[null, tp]"), leaf(l, w, "bm", "[tp]"), "em");
}

static void test_partial(void)
{
    struct layout *l = new_layout("tp", 4, NULL, 0);
    uint32_t y = partial_product(l, "");

    output(l, "y", y, "[]");
    expect(l, "a partial sum wanted whole", "all-reduce 1", NULL);

    l = new_layout("tp", 4, NULL, 0);
    output(l, "y", partial_product(l, ""), "[null, tp]");
    expect(l, "a partial sum wanted sharded", "reduce-scatter 1", NULL);

    l = new_layout("tp", 4, NULL, 0);
    output(l, "y", partial_product(l, ""), NULL);
    expect(l, "a result is never partial", "all-reduce 1", NULL);

    l = new_layout("tp", 4, NULL, 0);
    y = partial_product(l, "");
    output(l, "y", graph_map(l->graph, "biased", KERN_ADD, y, leaf(l, "bias", "m", "[]"), 0), "[]");
    expect(l, "a bias on a partial sum", "all-reduce 1", NULL);

    l = new_layout("tp", 4, NULL, 0);
    y = partial_product(l, "");
    y = graph_map(l->graph, "sum", KERN_ADD, y, partial_product(l, "2"), 0);
    output(l, "y", graph_map(l->graph, "half", KERN_SCALE, y, GRAPH_NONE, 0.5), "[]");
    expect(l, "partial sums are added, scaled and then summed", "all-reduce 1", NULL);

    l = new_layout("tp", 4, NULL, 0);
    y = partial_product(l, "");
    output(l, "y", graph_map(l->graph, "square", KERN_MUL, y, y, 0), "[]");
    expect(l, "a partial sum is whole before it is squared", "all-reduce 1", NULL);
}

static void test_extremes(void)
{
    struct layout *l = new_layout("tp", 4, NULL, 0);
    struct program *program = NULL;
    bool combined = false;
    int status;

    output(l, "y", reduce(l, "max", SHD_MAX, leaf(l, "x", "be", "[null, tp]"), "b"), "[]");
    status = build(&program, l, NULL);
    for (uint32_t i = 0; status == SHD_OK && i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_RESHARD)
            combined = program->ops[i].reshard.kind == SHD_RESHARD_ALL_REDUCE &&
                       program->ops[i].reshard.from.partial_op == SHD_MAX;
    ok(combined && has_steps(program, -1, "all-reduce 1"), "maxima are combined as maxima");
    program_destroy(program);
    destroy_layout(l);
}

static void test_moves(void)
{
    static const struct {
        const char *what, *from, *to, *steps;
    } moves[] = {
        {"the same sharding", "[tp]", "[tp]", ""},
        {"whole to sharded", "[]", "[tp]", "slice 1"},
        {"sharded to whole", "[tp]", "[]", "all-gather 1"},
        {"one dimension to another", "[tp]", "[null, tp]", "all-to-all 1"},
        {"one axis to another", "[dp]", "[tp]", "exchange 1"},
        {"a tuple turned round", "[[dp, tp]]", "[[tp, dp]]", "permute 1"},
        {"a tuple's minor axis dropped", "[[dp, tp]]", "[dp]", "all-gather 1"},
    };

    for (size_t i = 0; i < COUNT(moves); i++) {
        struct layout *l = new_layout("dp", 2, "tp", 4);
        uint32_t x = leaf(l, "x", "be", moves[i].from);

        output(l, "y", constrained(l, "there", x, moves[i].to), NULL);
        expect(l, moves[i].what, moves[i].steps, NULL);
    }
}

/* ---- the program ---- */

static void test_program(void)
{
    struct layout *l = new_layout("dp", 2, "tp", 1);
    uint32_t x = leaf(l, "x", "be", "[[tp, dp]]"), y, unread;
    struct program *program = NULL;
    bool reads_unread = false, explained = true;
    char text[64];

    unread = leaf(l, "unread", "be", "[dp]");
    (void)graph_map(l->graph, "dead", KERN_NEG, unread, GRAPH_NONE, 0);
    y = graph_map(l->graph, "y", KERN_NEG, x, GRAPH_NONE, 0);
    output(l, "first", y, "[null, dp]");
    output(l, "x itself", x, NULL);
    output(l, "second", y, "[null, [tp, dp]]");
    if (!ok(build(&program, l, NULL) == SHD_OK, "a program of three results"))
        return;
    for (uint32_t i = 0; i < program->nops; i++) {
        reads_unread |=
            !strcmp(program->ops[i].name, "unread") || !strcmp(program->ops[i].name, "dead");
        explained &= (program->ops[i].why != NULL) == program_communicates(&program->ops[i]);
    }
    ok(!reads_unread, "what no result depends on is left out");
    ok(explained, "exactly the communicating steps have a reason");
    ok(program->nresults == 3 && !strcmp(program->results[0].name, "x itself") &&
           !strcmp(program->results[1].name, "first"),
       "results come as their nodes do");
    ok(program->results[1].buffer == program->results[2].buffer,
       "shardings that differ in axes of size 1 are the same");
    shd_sharding_print(&program->buffers[program->results[1].buffer].sharding, text, sizeof text);
    ok(!strcmp(text, "[{}, {dp}]"), "a result lies as asked: %s", text);
    ok(program->ops[0].kind == PROGRAM_FILL &&
           program->buffers[program->ops[0].outputs[0]].argument,
       "arguments are filled first");
    program_destroy(program);
    destroy_layout(l);
}

/* If no operand brings an axis, an op is sharded as its result is asked to be. */
static void test_asked(void)
{
    static const char *const specs[] = {"[tp]", "[null, tp]"};

    for (uint32_t d = 0; d < COUNT(specs); d++) {
        struct layout *l = new_layout("tp", 4, NULL, 0);
        uint32_t x = leaf(l, "x", "be", "[]");
        struct program *program = NULL;
        int64_t local = 0;

        x = graph_map(l->graph, "y", KERN_NEG, x, GRAPH_NONE, 0);
        output(l, "y", constrained(l, "asked", x, specs[d]), NULL);
        if (build(&program, l, NULL) != SHD_OK)
            abort();
        for (uint32_t i = 0; i < program->nops; i++)
            if (program->ops[i].kind == PROGRAM_KERNEL)
                local = program->buffers[program->ops[i].outputs[0]].local[d];
        ok(local == (d ? 32 : 256) / 4, "asked of a result, %s: the op has %lld of it", specs[d],
           (long long)local);
        program_destroy(program);
        destroy_layout(l);
    }
}

static void test_algos(void)
{
    struct layout *l = new_layout("tp", 4, NULL, 0);
    const struct coll_algo *algos[COLL_NKINDS] = {NULL};
    struct partition_request request = {
        .graph = l->graph, .mesh = l->mesh, .nodes = l->nodes, .algos = algos};
    struct program *program = NULL;
    bool ring = false;

    output(l, "y", partial_product(l, ""), NULL);
    algos[COLL_ALL_REDUCE] = coll_find(COLL_ALL_REDUCE, "ring");
    if (!ok(partition_build(&program, &request, NULL) == SHD_OK, "algorithms asked for"))
        return;
    for (uint32_t i = 0; i < program->nops; i++) {
        struct coll_shape shape;
        const struct coll_algo *algo = program_algo(program, &program->ops[i], &shape);

        ring |= algo == algos[COLL_ALL_REDUCE] && shape.nmembers == 4;
    }
    ok(ring, "the algorithm asked for is taken");
    program_destroy(program);
    destroy_layout(l);
}

static void expect_error(struct layout *l, int status, const char *says, const char *what)
{
    struct program *program = NULL;
    struct shd_error err = {0};
    int got = build(&program, l, &err);

    if (!ok(got == status && !program && strstr(err.text, says), "refused: %s", what))
        diag("%d: %s", got, err.text);
    program_destroy(program);
    destroy_layout(l);
}

static void test_errors(void)
{
    struct layout *l = new_layout("tp", 4, NULL, 0);

    output(l, "y", leaf(l, "odd one", "ob", "[tp]"), NULL);
    expect_error(l, SHD_EINDIVISIBLE, "'odd one'", "an argument that does not divide");

    l = new_layout("tp", 4, NULL, 0);
    output(l, "y", constrained(l, "odd place", leaf(l, "x", "bo", NULL), "[null, tp]"), NULL);
    expect_error(l, SHD_EINDIVISIBLE, "'odd place'", "a constraint that does not divide");

    l = new_layout("tp", 4, NULL, 0);
    output(l, "odd result", leaf(l, "x", "bo", NULL), "[null, tp]");
    expect_error(l, SHD_EINDIVISIBLE, "'odd result'", "a result that does not divide");

    l = new_layout("tp", 4, NULL, 0);
    (void)graph_fail(l->graph, SHD_EUNSUPPORTED, "no such thing");
    expect_error(l, SHD_EUNSUPPORTED, "no such thing", "a graph that has an error");
}

int main(void)
{
    plan(0);
    test_mlp();
    test_partial();
    test_extremes();
    test_moves();
    test_program();
    test_asked();
    test_algos();
    test_errors();
    return done();
}
