/* Random programs: what is computed sharded equals what is computed whole, and the plan equals the
 * run.
 *
 * Each program has its own seed, so that one that fails can be made again by
 * SHD_TEST_SEED=<its seed> SHD_TEST_COUNT=1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "step.h"
#include "tap.h"
#include "trial/verify.h"

#define SEED 20260131u
#define NPROGRAMS 300
#define NPROGRAMS_SMALL 60
#define NDIMS 5
#define NODES_MAX 512
#define ELEMENTS_MAX 4096     /* of one array */
#define ITERATIONS_MAX 100000 /* of one op */
#define BOUND 4.0             /* values beyond it are scaled back */

/* ---- random numbers: splitmix64 ---- */

struct random {
    uint64_t state;
};

static uint64_t next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(struct random *r, uint32_t n)
{
    return (uint32_t)(next(r) >> 33) % n;
}

static bool chance(struct random *r, uint32_t percent)
{
    return below(r, 100) < percent;
}

/* ---- one program ---- */

struct random_program {
    struct random random;
    uint64_t seed;
    enum shd_dtype dtype;
    bool backward;
    struct shd_mesh *mesh;
    struct graph *graph;
    double bounds[NODES_MAX]; /* |value|, about, of each forward node */
    uint32_t nbounds;
    const struct shd_sharding *nodes[NODES_MAX], *outputs[NODES_MAX];
    struct shd_sharding *storage; /* of nodes, then of outputs */
    const struct coll_algo *algos[COLL_NKINDS];
    uint64_t memory_bytes; /* 0, or so little that nothing gathered is kept */
};

static void make_mesh(struct random_program *p)
{
    static const char *const names[] = {"p", "q", "r", "s"};
    uint32_t naxes = 1 + below(&p->random, 4);
    int32_t sizes[4], size = 1;

    for (uint32_t a = 0; a < naxes; a++) {
        do
            sizes[a] = 1 + (int32_t)below(&p->random, 4);
        while (size * sizes[a] > 16);
        size *= sizes[a];
    }
    if (shd_mesh_create(&p->mesh, names, sizes, naxes, NULL) != SHD_OK)
        abort();
}

/* Axes in random order on random dimensions that they divide. */
static void make_sharding(struct random_program *p, struct shd_sharding *s, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    uint32_t naxes = (uint32_t)shd_mesh_naxes(p->mesh), first = below(&p->random, 4);
    uint32_t stride = chance(&p->random, 50) ? 1 : naxes - 1;
    int64_t left[GRAPH_RANK_MAX];

    shd_sharding_init(s, p->mesh, n->rank);
    graph_shape(p->graph, node, left);
    for (uint32_t i = 0; i < naxes && n->rank > 0; i++) {
        uint32_t axis = (first + i * stride) % naxes, d = below(&p->random, n->rank);
        int32_t size = shd_mesh_axis_size(p->mesh, axis);

        if (chance(&p->random, 25) || left[d] % size)
            continue;
        left[d] /= size;
        s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)axis;
    }
}

static void ask_node(struct random_program *p, uint32_t node)
{
    make_sharding(p, &p->storage[node], node);
    p->nodes[node] = &p->storage[node];
}

static const char *new_name(struct random_program *p, const char *what)
{
    return graph_text(p->graph, "%s%u", what, p->graph->nnodes);
}

/* Note the bound of what was added, and scale it back when it is large. */
static uint32_t keep_bound(struct random_program *p, uint32_t node, double bound)
{
    while (p->nbounds < p->graph->nnodes)
        p->bounds[p->nbounds++] = bound;
    if (bound <= BOUND || node == GRAPH_NONE)
        return node;
    node = graph_map(p->graph, new_name(p, "scale"), KERN_SCALE, node, GRAPH_NONE, 1 / bound);
    return keep_bound(p, node, 1);
}

static void add_leaf(struct random_program *p)
{
    struct kern_source source = {.seed = (uint32_t)next(&p->random), .scale = 2};
    uint32_t dims[3], rank = chance(&p->random, 5) ? 0 : 1 + below(&p->random, 3);
    uint32_t start = below(&p->random, NDIMS), node;

    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (start + 2 * d) % NDIMS; /* 5 is prime: all different */
    if (chance(&p->random, 50))
        node = graph_input(p->graph, new_name(p, "x"), p->dtype, dims, rank, source);
    else
        node = graph_param(p->graph, new_name(p, "w"), p->dtype, dims, rank, source);
    keep_bound(p, node, 1);
    if (chance(&p->random, 85))
        ask_node(p, node);
}

/* A node, one of the last few more often than not. */
static uint32_t pick(struct random_program *p)
{
    uint32_t n = p->graph->nnodes;

    return chance(&p->random, 60) && n > 4 ? n - 1 - below(&p->random, 4) : below(&p->random, n);
}

static double elements(const struct graph *g, const uint32_t *dims, uint32_t rank)
{
    double count = 1;

    for (uint32_t d = 0; d < rank; d++)
        count *= (double)g->dims[dims[d]].size;
    return count;
}

/* The dimensions of a and then those only b has. */
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

/* Keep some of the dimensions, in another order now and then. */
static uint32_t keep_some(struct random_program *p, uint32_t *dims, uint32_t rank, uint32_t percent)
{
    uint32_t kept = 0;

    for (uint32_t d = 0; d < rank; d++)
        if (chance(&p->random, percent))
            dims[kept++] = dims[d];
    if (kept > 1 && chance(&p->random, 40)) {
        uint32_t first = dims[0];

        dims[0] = dims[kept - 1];
        dims[kept - 1] = first;
    }
    return kept;
}

static void add_einsum(struct random_program *p)
{
    uint32_t a = pick(p), b = pick(p), dims[2 * GRAPH_RANK_MAX];
    uint32_t rank = joined(p, a, b, dims);
    double all = elements(p->graph, dims, rank), bound;

    if (all > ITERATIONS_MAX)
        return;
    rank = keep_some(p, dims, rank, 65);
    if (elements(p->graph, dims, rank) > ELEMENTS_MAX)
        return;
    bound = all / elements(p->graph, dims, rank) * p->bounds[a] * p->bounds[b];
    /* Sums of random signs grow by the root. */
    keep_bound(p, graph_einsum(p->graph, new_name(p, "einsum"), a, b, dims, rank),
               bound > BOUND ? sqrt(bound) * BOUND : bound);
}

static void add_reduce(struct random_program *p)
{
    uint32_t a = pick(p), dims[GRAPH_RANK_MAX], rank = p->graph->nodes[a].rank;
    enum shd_reduce_op op = (enum shd_reduce_op)below(&p->random, 4);
    double bound = p->bounds[a];

    memcpy(dims, p->graph->nodes[a].dims, sizeof dims);
    rank = keep_some(p, dims, rank, 60);
    if (op == SHD_SUM)
        bound *= elements(p->graph, p->graph->nodes[a].dims, p->graph->nodes[a].rank) /
                 elements(p->graph, dims, rank);
    a = graph_reduce(p->graph, new_name(p, "reduce"), op, a, dims, rank);
    keep_bound(p, a, bound > BOUND ? sqrt(bound) * BOUND : bound);
}

/* sigmoid(x) + 1/2: positive and far from 0 */
static uint32_t make_positive(struct random_program *p, uint32_t a)
{
    a = graph_map(p->graph, new_name(p, "sigmoid"), KERN_SIGMOID, a, GRAPH_NONE, 0);
    keep_bound(p, a, 1);
    a = graph_map(p->graph, new_name(p, "positive"), KERN_ADD_SCALAR, a, GRAPH_NONE, 0.5);
    return keep_bound(p, a, 1.5);
}

static void add_binary(struct random_program *p)
{
    static const enum kern_fn fns[] = {KERN_ADD, KERN_ADD, KERN_SUB, KERN_MUL,
                                       KERN_DIV, KERN_MAX, KERN_MIN};
    enum kern_fn fn = fns[below(&p->random, 7)];
    uint32_t a = pick(p), b = pick(p), dims[2 * GRAPH_RANK_MAX], rank;
    double x = p->bounds[a], y;

    if (fn == KERN_ADD && chance(&p->random, 50))
        b = below(&p->random, 3); /* a bias, so to speak: leaves come first */
    y = p->bounds[b];
    rank = joined(p, a, b, dims);
    if (elements(p->graph, dims, rank) > ELEMENTS_MAX || (fn == KERN_SUB && a == b))
        return;
    if (fn == KERN_DIV) {
        b = make_positive(p, b);
        y = 2;
    }
    a = graph_map(p->graph, new_name(p, kern_fns[fn].name), fn, a, b, 0);
    keep_bound(p, a, fn == KERN_MUL || fn == KERN_DIV ? x * y : x + y);
}

static void add_unary(struct random_program *p)
{
    static const enum kern_fn fns[] = {
        KERN_COPY,       KERN_NEG, KERN_TANH, KERN_SIGMOID, KERN_GELU,  KERN_SILU, KERN_SCALE,
        KERN_ADD_SCALAR, KERN_EXP, KERN_LOG,  KERN_SQRT,    KERN_RSQRT, KERN_FILL, KERN_RELU};
    enum kern_fn fn = fns[below(&p->random, 14)];
    uint32_t a = pick(p);
    double bound = p->bounds[a] + 1;

    if (fn == KERN_EXP) {
        a = keep_bound(p, graph_map(p->graph, new_name(p, "tanh"), KERN_TANH, a, GRAPH_NONE, 0), 1);
        bound = exp(1);
    }
    if (fn == KERN_LOG || fn == KERN_SQRT || fn == KERN_RSQRT) {
        a = make_positive(p, a);
        bound = 1.5;
    }
    a = graph_map(p->graph, new_name(p, kern_fns[fn].name), fn, a, GRAPH_NONE, 0.75);
    keep_bound(p, a, bound);
}

static void add_constraint(struct random_program *p)
{
    uint32_t a = pick(p), node = graph_constraint(p->graph, new_name(p, "constraint"), a);

    keep_bound(p, node, p->bounds[a]);
    if (node != GRAPH_NONE && chance(&p->random, 75))
        ask_node(p, node);
}

static void add_op(struct random_program *p)
{
    uint32_t what = below(&p->random, 100);

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

static void add_output(struct random_program *p, enum graph_output_kind kind, uint32_t node,
                       uint32_t of)
{
    uint32_t o = p->graph->noutputs;
    const char *name = node == GRAPH_NONE ? "" : graph_text(p->graph, "out%u", o);

    graph_output(p->graph, kind, name, node, of);
    if (p->graph->noutputs > o && chance(&p->random, 60)) {
        make_sharding(p, &p->storage[NODES_MAX + o], node);
        p->outputs[o] = &p->storage[NODES_MAX + o];
    }
}

static void add_gradients(struct random_program *p)
{
    uint32_t wrt[NODES_MAX], grads[NODES_MAX], nwrt = 0, loss = p->graph->nnodes - 1;

    loss = graph_reduce(p->graph, "loss", SHD_SUM, loss, NULL, 0);
    for (uint32_t n = 0; n < p->graph->nnodes; n++)
        if (p->graph->nodes[n].op <= GRAPH_PARAM)
            wrt[nwrt++] = n;
    graph_gradient(p->graph, loss, wrt, nwrt, grads);
    add_output(p, GRAPH_LOSS, loss, GRAPH_NONE);
    for (uint32_t i = 0; i < nwrt && p->graph->err.status == SHD_OK; i++)
        add_output(p, GRAPH_GRADIENT, grads[i], wrt[i]);
}

/* What nobody reads is a result, so that every node counts; and some that are read. */
static void add_results(struct random_program *p)
{
    const struct graph *g = p->graph;
    bool read[NODES_MAX] = {false};
    uint32_t nnodes = g->nnodes;

    for (uint32_t n = 0; n < nnodes; n++)
        for (uint32_t k = 0; k < g->nodes[n].ninputs; k++)
            read[g->nodes[n].inputs[k]] = true;
    for (uint32_t o = 0; o < g->noutputs; o++)
        read[g->outputs[o].node] = true;
    for (uint32_t n = 0; n < nnodes; n++)
        if (!read[n] || chance(&p->random, 10))
            add_output(p, GRAPH_OUTPUT, n, GRAPH_NONE);
}

static void ask_algos(struct random_program *p)
{
    static const char *const names[] = {"direct", "ring"};

    for (int kind = 0; kind < COLL_NKINDS; kind++)
        p->algos[kind] = coll_find((enum coll_kind)kind, names[below(&p->random, 2)]);
}

static struct random_program *make_program(uint64_t seed)
{
    static const int64_t sizes[] = {4, 6, 8, 12, 8, 12, 4, 3, 1};
    static const char *const names[NDIMS] = {"a", "b", "c", "d", "e"};
    struct random_program *p = calloc(1, sizeof *p);
    uint32_t target;

    if (!p || !(p->storage = calloc(2 * NODES_MAX, sizeof *p->storage)) ||
        !(p->graph = graph_create()))
        abort();
    p->seed = p->random.state = seed;
    p->dtype = chance(&p->random, 70) ? SHD_F64 : SHD_F32;
    /* Slopes jump and saturate: in float32 a gradient may be right and far from the exact one. */
    p->backward = p->dtype == SHD_F64 && chance(&p->random, 50);
    p->memory_bytes = chance(&p->random, 30);
    make_mesh(p);
    ask_algos(p);
    for (int d = 0; d < NDIMS; d++)
        (void)graph_dim(p->graph, names[d], sizes[below(&p->random, 9)]);
    for (uint32_t n = 3 + below(&p->random, 3); n > 0; n--)
        add_leaf(p);
    target = p->graph->nnodes + 8 + below(&p->random, 12);
    while (p->graph->nnodes < target && p->graph->err.status == SHD_OK)
        add_op(p);
    if (p->backward)
        add_gradients(p);
    add_results(p);
    /* A constraint's gradient is asked to lie as the constraint does. */
    for (uint32_t n = 0; n < p->graph->nnodes && p->graph->err.status == SHD_OK; n++)
        if (p->graph->nodes[n].op == GRAPH_CONSTRAINT &&
            p->graph->nodes[n].phase == GRAPH_BACKWARD && chance(&p->random, 75))
            ask_node(p, n);
    return p;
}

static void destroy_program(struct random_program *p)
{
    graph_destroy(p->graph);
    shd_mesh_destroy(p->mesh);
    free(p->storage);
    free(p);
}

/* ---- telling ---- */

static void print_dims(const struct graph *g, const struct graph_node *n, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t d = 0; d < n->rank; d++)
        used += (size_t)snprintf(out + used, size - used, "%s%s:%lld", d ? " " : "",
                                 g->dims[n->dims[d]].name, (long long)g->dims[n->dims[d]].size);
}

static void dump(const struct random_program *p)
{
    char dims[256], sharding[256];

    for (uint32_t i = 0; i < p->graph->nnodes; i++) {
        const struct graph_node *n = &p->graph->nodes[i];

        print_dims(p->graph, n, dims, sizeof dims);
        sharding[0] = '\0';
        if (p->nodes[i])
            shd_sharding_print(p->nodes[i], sharding, sizeof sharding);
        diag("%3u %s %s %s(%d, %d) [%s] %s", i, n->name, graph_op_name(n->op),
             n->op == GRAPH_MAP ? kern_fns[n->fn].name : "",
             n->ninputs > 0 ? (int)n->inputs[0] : -1, n->ninputs > 1 ? (int)n->inputs[1] : -1, dims,
             sharding);
    }
    for (uint32_t o = 0; o < p->graph->noutputs; o++) {
        sharding[0] = '\0';
        if (p->outputs[o])
            shd_sharding_print(p->outputs[o], sharding, sizeof sharding);
        diag("%s = %u %s", p->graph->outputs[o].name, p->graph->outputs[o].node, sharding);
    }
}

static void dump_program(const struct program *program)
{
    char text[256];

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        shd_sharding_print(&program->buffers[op->outputs[0]].sharding, text, sizeof text);
        diag("%3u %s for %s: buffer %u = %s(%d, %d) %s", i, program_step_name(op), op->name,
             op->outputs[0], program->buffers[op->outputs[0]].name,
             op->ninputs > 0 ? (int)op->inputs[0] : -1, op->ninputs > 1 ? (int)op->inputs[1] : -1,
             text);
    }
}

/* ---- what occurred ---- */

static struct {
    unsigned steps[SHD_RESHARD_NKINDS];
    unsigned passed;   /* partial operands of ops */
    unsigned summed;   /* partial sums made */
    unsigned extremes; /* partial maxima and minima made */
    unsigned tuples;   /* arrays with a dimension over several axes */
    unsigned turned;   /* of them with axes in another order than the mesh's */
    unsigned rings;    /* steps by a ring */
    unsigned ones;     /* meshes with an axis of size 1 */
    unsigned naxes[5]; /* meshes by number of axes */
    unsigned backward, f32, ops;
} seen;

static void count_buffer(const struct program_buffer *b)
{
    for (uint32_t d = 0; d < b->rank; d++) {
        const struct shd_dim_axes *t = &b->sharding.dims[d];

        seen.tuples += t->naxes > 1;
        seen.turned += t->naxes > 1 && t->axes[0] > t->axes[1];
    }
    seen.summed += b->sharding.partial && b->sharding.partial_op == SHD_SUM;
    seen.extremes += b->sharding.partial && b->sharding.partial_op != SHD_SUM;
}

static void count_program(const struct random_program *p, const struct program *program)
{
    struct coll_shape shape;

    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        const struct coll_algo *algo = program_algo(program, op, &shape);

        count_buffer(&program->buffers[op->outputs[0]]);
        seen.rings += algo && !strcmp(algo->name, "ring");
        if (op->kind == PROGRAM_RESHARD)
            seen.steps[op->reshard.kind]++;
        for (uint32_t k = 0; k < op->ninputs && op->kind != PROGRAM_RESHARD; k++)
            seen.passed += program->buffers[op->inputs[k]].sharding.partial != 0;
    }
    for (size_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
        if (shd_mesh_axis_size(p->mesh, a) == 1) {
            seen.ones++;
            break;
        }
    seen.naxes[shd_mesh_naxes(p->mesh)]++;
    seen.backward += p->backward;
    seen.f32 += p->dtype == SHD_F32;
    seen.ops += program->nops;
}

/* ---- the properties ---- */

static double largest(const double *values, const struct program_buffer *b)
{
    double most = 0;
    int64_t n = 1;

    for (uint32_t d = 0; d < b->rank; d++)
        n *= b->shape[d];
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* Errors relative to the largest value of the result, which may be what is left of a difference of
 * larger ones: then relative to the largest of all (in float64, to a thousandth of it). */
static bool verified(const struct record *run, const struct verify_reference *reference,
                     enum shd_dtype dtype)
{
    const struct program *program = run->program;
    double tolerance = dtype == SHD_F64 ? 1e-9 : 1e-4, part = dtype == SHD_F64 ? 1e-3 : 1, all = 0;
    bool good = true;

    for (uint32_t r = 0; r < program->nresults; r++)
        all = fmax(all,
                   largest(reference->results[r], &program->buffers[program->results[r].buffer]));
    for (uint32_t r = 0; r < program->nresults; r++) {
        double most = largest(reference->results[r], &program->buffers[program->results[r].buffer]);
        double error = run->checks[r].error;

        if (error == 0 || error * most <= tolerance * fmax(most, all * part))
            continue;
        diag("%s is off by %g of %g (largest of all: %g)", program->results[r].name, error, most,
             all);
        good = false;
    }
    return good && run->nchecks == program->nresults;
}

static bool check_results(const struct random_program *p, struct step *step)
{
    struct verify_reference reference;
    struct walk_opts opts = {.nthreads = 0};
    struct shd_error err;
    struct record *run;
    int status = verify_reference(&reference, p->graph, 1, NULL, &err);
    bool good = false;

    if (status != SHD_OK) {
        diag("reference: %s", err.text);
        return false;
    }
    status = record_create(&run, step->program, RECORD_EXECUTED, true, &err);
    if (status == SHD_OK) {
        status = verify_run(run, &reference, &opts, &err);
        if (status == SHD_OK)
            good = verified(run, &reference, p->dtype);
        if (good && step_disagreement(step->planned, run)) {
            diag("a second run differs in %s", step_disagreement(step->planned, run));
            good = false;
        }
        record_destroy(run);
    }
    if (status != SHD_OK)
        diag("run: %s", err.text);
    verify_reference_fini(&reference);
    return good;
}

static bool check_same_bits(const struct step *step)
{
    struct collect again;
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = &again};
    struct record *run;
    bool same = false;

    if (record_create(&run, step->program, RECORD_EXECUTED, false, NULL) != SHD_OK)
        return false;
    if (collect_init(&again, step->program, NULL) == SHD_OK) {
        same = walk_run(run, &opts, NULL) == SHD_OK && step_same_bits(&step->results, &again);
        collect_fini(&again);
    }
    record_destroy(run);
    if (!same)
        diag("a second run has other bits");
    return same;
}

static void test_program(uint64_t seed, bool twice)
{
    struct random_program *p = make_program(seed);
    struct partition_request request = {.graph = p->graph,
                                        .mesh = p->mesh,
                                        .nodes = p->nodes,
                                        .outputs = p->outputs,
                                        .algos = p->algos,
                                        .memory_bytes = p->memory_bytes};
    struct step step;
    const char *differs = NULL;
    char mesh[128];
    bool good = step_init(&step, &request);

    if (good) {
        count_program(p, step.program);
        differs = step_disagreement(step.planned, step.executed);
        if (differs)
            diag("plan and run differ in %s", differs);
        good = check_results(p, &step) && !differs;
        if (twice)
            good = check_same_bits(&step) && good;
    }
    shd_mesh_print(p->mesh, mesh, sizeof mesh);
    ok(good, "seed %llu: %u nodes%s in %s on %s", (unsigned long long)seed, p->graph->nnodes,
       p->backward ? " with gradients" : "", shd_dtype_name(p->dtype), mesh);
    if (!good) {
        dump(p);
        if (step.program)
            dump_program(step.program);
    }
    step_fini(&step);
    destroy_program(p);
}

static void tell_seen(void)
{
    for (int kind = 0; kind < SHD_RESHARD_NKINDS; kind++)
        diag("%s: %u", shd_reshard_kind_name((enum shd_reshard_kind)kind), seen.steps[kind]);
    diag("steps by a ring: %u; partial sums %u, read by ops %u; partial extremes %u", seen.rings,
         seen.summed, seen.passed, seen.extremes);
    diag("dimensions over several axes: %u, in another order than the mesh's %u", seen.tuples,
         seen.turned);
    diag("meshes of 1 to 4 axes: %u %u %u %u, with axes of size 1: %u", seen.naxes[1],
         seen.naxes[2], seen.naxes[3], seen.naxes[4], seen.ones);
    diag("ops: %u; programs with gradients: %u, in float32: %u", seen.ops, seen.backward, seen.f32);
}

static void test_seen(void)
{
    for (int kind = 0; kind < SHD_RESHARD_NKINDS; kind++)
        if (kind != SHD_RESHARD_PERMUTE && kind != SHD_RESHARD_EXCHANGE)
            ok(seen.steps[kind] > 0, "occurred: %s",
               shd_reshard_kind_name((enum shd_reshard_kind)kind));
    ok(seen.steps[SHD_RESHARD_PERMUTE] + seen.steps[SHD_RESHARD_EXCHANGE] > 0,
       "occurred: permute or exchange");
    ok(seen.summed > 0 && seen.passed > 0, "occurred: partial sums that ops pass on");
    ok(seen.extremes > 0, "occurred: partial maxima or minima");
    ok(seen.tuples > 0 && seen.turned > 0, "occurred: tuples of axes, in any order");
    ok(seen.rings > 0, "occurred: rings");
    ok(seen.ones > 0 && seen.naxes[1] && seen.naxes[2] && seen.naxes[3] && seen.naxes[4],
       "occurred: meshes of 1 to 4 axes, some of size 1");
    ok(seen.backward > 0 && seen.f32 > 0, "occurred: gradients, float32");
}

static unsigned long from_env(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

int main(void)
{
    const char *size = getenv("SHD_TEST_SIZE");
    bool small = size && !strcmp(size, "small");
    unsigned long seed = from_env("SHD_TEST_SEED", SEED);
    unsigned long count = from_env("SHD_TEST_COUNT", small ? NPROGRAMS_SMALL : NPROGRAMS);

    plan(0);
    diag("SHD_TEST_SEED=%lu, %lu programs", seed, count);
    for (unsigned long i = 0; i < count; i++)
        test_program(seed + i, i % 3 == 0);
    tell_seen();
    if (count >= NPROGRAMS)
        test_seen();
    return done();
}
