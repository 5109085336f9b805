/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradient_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/gradient.h"
#include "graph/ops.h"
#include "../support/tap.h"

#define STEP 1e-5
#define TOLERANCE 1e-6

static const char *const names[LEAVES_MAX] = {"x", "w", "u", "y"};

uint32_t dims_of(struct graph *g, const char *letters, uint32_t *dims)
{
    uint32_t rank = 0;

    for (; letters && *letters; letters++) {
        const char name[2] = {*letters, '\0'};

        dims[rank++] = graph_dim(g, name, *letters - 'a' + 2);
    }
    return rank;
}

uint32_t leaf(struct maker *m, const char *name, const char *letters)
{
    struct kern_source source = {.seed = 0x85ebca6bu * (uint32_t)(unsigned char)name[0],
                                 .scale = 2};
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(m->graph, letters, dims), x, at;

    x = graph_input(m->graph, name, SHD_F64, dims, rank, source);
    if (m->nudge.by == 0 || strcmp(m->nudge.leaf, name) != 0)
        return x;
    at = graph_input(m->graph, "at", SHD_F64, dims, rank, (struct kern_source){.index = true});
    at = graph_map(
        m->graph, "here", KERN_EQUAL, at,
        graph_map(m->graph, "element", KERN_FILL, at, GRAPH_NONE, (double)m->nudge.element), 0);
    at = graph_map(m->graph, "by", KERN_SCALE, at, GRAPH_NONE, m->nudge.by);
    return graph_map(m->graph, "nudged", KERN_ADD, x, at, 0);
}

uint32_t checked_leaf(struct maker *m, const char *letters)
{
    uint32_t node;

    if (m->nleaves == LEAVES_MAX) {
        diag("more than %d leaves are checked", LEAVES_MAX);
        exit(99);
    }
    node = leaf(m, names[m->nleaves], letters);
    m->leaves[m->nleaves++] = node;
    return node;
}

uint32_t map1(struct maker *m, enum kern_fn fn, uint32_t x, double scalar)
{
    return graph_map(m->graph, kern_fns[fn].name, fn, x, GRAPH_NONE, scalar);
}

uint32_t map2(struct maker *m, enum kern_fn fn, uint32_t x, uint32_t w)
{
    return graph_map(m->graph, kern_fns[fn].name, fn, x, w, 0);
}

uint32_t einsum(struct maker *m, uint32_t x, uint32_t w, const char *letters)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(m->graph, letters, dims);

    return graph_einsum(m->graph, "einsum", x, w, dims, rank);
}

uint32_t reduce(struct maker *m, enum shd_reduce_op op, uint32_t x, const char *letters)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(m->graph, letters, dims);

    return graph_reduce(m->graph, "reduce", op, x, dims, rank);
}

/* ---- losses ---- */

enum loss { LOSS_SUM, LOSS_WEIGHTED, LOSS_PARTLY, NLOSSES };

static const char *const loss_names[NLOSSES] = {"summed", "weighted",
                                                "weighted along one dimension"};

static uint32_t add_loss(struct maker *m, uint32_t y, enum loss loss)
{
    char letters[GRAPH_RANK_MAX + 1] = "";
    const struct graph_node *n;

    if (y == GRAPH_NONE)
        return y;
    n = &m->graph->nodes[y];
    for (uint32_t d = 0; d < n->rank && (d == 0 || loss == LOSS_WEIGHTED); d++)
        letters[d] = m->graph->dims[n->dims[d]].name[0];
    if (loss != LOSS_SUM)
        y = map2(m, KERN_MUL, y, leaf(m, "ct", letters));
    return reduce(m, SHD_SUM, y, "");
}

struct expression {
    const char *what;
    gradient_build_fn build;
    const void *arg;
};

static uint32_t build_loss(const struct expression *c, enum loss loss, struct maker *m)
{
    m->graph = graph_create();
    return add_loss(m, c->build(m, c->arg), loss);
}

bool run_graph(struct step *step, const struct graph *graph)
{
    static struct shd_mesh *one; /* static, because programs keep a pointer to the mesh */
    struct partition_request request = {.graph = graph};

    memset(step, 0, sizeof *step);
    if (!one && shd_mesh_create(&one, NULL, NULL, 0, NULL) != SHD_OK)
        return false;
    request.mesh = one;
    return step_init(step, &request);
}

static double loss_at(const struct expression *c, enum loss loss, struct nudge nudge)
{
    struct maker m = {.nudge = nudge};
    uint32_t node = build_loss(c, loss, &m);
    struct step step;
    double value = NAN;

    graph_output(m.graph, GRAPH_LOSS, "loss", node, GRAPH_NONE);
    if (run_graph(&step, m.graph))
        value = step_value(&step, 0, 0);
    step_fini(&step);
    graph_destroy(m.graph);
    return value;
}

/* Compare the gradient of one leaf, in some elements, with differences of losses. */
static bool check_leaf(const struct expression *c, enum loss loss, const struct step *step,
                       const char *name)
{
    uint32_t r = step_result(step, name);
    const struct program_buffer *b = &step->program->buffers[step->program->results[r].buffer];
    int64_t n = 1;

    for (uint32_t d = 0; d < b->rank; d++)
        n *= b->shape[d];
    for (int64_t i = 0; i<n; i += n> 5 ? n / 4 : 1) {
        double up = loss_at(c, loss, (struct nudge){name, i, STEP});
        double down = loss_at(c, loss, (struct nudge){name, i, -STEP});
        double want = (up - down) / (2 * STEP), got = step_value(step, r, i);

        if (fabs(got - want) <= TOLERANCE * fmax(1, fabs(want)))
            continue;
        diag("d loss / d %s[%lld] is %.9g, not %.9g", name, (long long)i, got, want);
        return false;
    }
    return true;
}

static void check_loss(const struct expression *c, enum loss loss)
{
    struct maker m = {.nudge = {NULL, 0, 0}};
    uint32_t node = build_loss(c, loss, &m), grads[LEAVES_MAX];
    struct step step;
    bool good;

    graph_gradient(m.graph, node, m.leaves, m.nleaves, grads);
    for (uint32_t i = 0; i < m.nleaves && m.graph->err.status == SHD_OK; i++)
        graph_output(m.graph, GRAPH_GRADIENT, names[i], grads[i], m.leaves[i]);
    good = run_graph(&step, m.graph);
    for (uint32_t i = 0; i < m.nleaves && good; i++)
        good = check_leaf(c, loss, &step, names[i]);
    ok(good, "%s, %s", c->what, loss_names[loss]);
    step_fini(&step);
    graph_destroy(m.graph);
}

/* ---- linearity ---- */

bool linear_seen[GRAPH_NOPS];

/* The largest (f(x) + f(y) - f(x + y))^2 of a node f, with new arrays y in place of its
 * floating-point operand `k`, or of all such operands (GRAPH_NONE). */
static uint32_t deviation(struct graph *g, uint32_t node, uint32_t k)
{
    struct graph_node n = g->nodes[node], y = n, both = n;
    uint32_t d;

    for (uint32_t i = 0; i < n.ninputs; i++) {
        struct graph_node x = g->nodes[n.inputs[i]];

        if (x.dtype == SHD_I32 || (k != GRAPH_NONE && k != i))
            continue;
        y.inputs[i] = graph_input(g, graph_text(g, "other/%u", g->nnodes), x.dtype, x.dims, x.rank,
                                  (struct kern_source){.seed = g->nnodes, .scale = 2});
        both.inputs[i] = graph_map(g, "both", KERN_ADD, n.inputs[i], y.inputs[i], 0);
    }
    d = graph_map(g, "apart", KERN_ADD, node, graph_add(g, &y, "of_other"), 0);
    d = graph_map(g, "off", KERN_SUB, d, graph_add(g, &both, "of_both"), 0);
    return graph_reduce(g, "most", SHD_MAX, graph_map(g, "square", KERN_MUL, d, d, 0), NULL, 0);
}

/* The largest deviation of the nodes that are linear by their op's row, but for those of whole
 * numbers alone. */
static uint32_t deviations(struct graph *g)
{
    uint32_t nnodes = g->nnodes, most = GRAPH_NONE;

    for (uint32_t node = 0; node < nnodes && g->err.status == SHD_OK; node++) {
        enum kern_linear linear = graph_linearity(&g->nodes[node]);
        bool all = linear == KERN_LINEAR_IN_ALL;

        if (g->nodes[node].ninputs == 1 && g->nodes[g->nodes[node].inputs[0]].dtype == SHD_I32)
            continue;
        for (uint32_t k = 0; k < g->nodes[node].ninputs && (k == 0 || !all); k++) {
            uint32_t d;

            if (!all && !graph_is_linear(g, &g->nodes[node], k))
                continue;
            linear_seen[g->nodes[node].op] = true;
            d = deviation(g, node, all ? GRAPH_NONE : k);
            most = most == GRAPH_NONE ? d : graph_map(g, "most", KERN_MAX, most, d, 0);
        }
    }
    return most;
}

/* What the rows of ops and functions say of linearity holds for an expression and its gradient. */
static void check_linearity(const struct expression *c)
{
    struct maker m = {.nudge = {NULL, 0, 0}};
    uint32_t node = build_loss(c, LOSS_WEIGHTED, &m), grads[LEAVES_MAX];
    struct step step;
    double off = NAN;

    graph_gradient(m.graph, node, m.leaves, m.nleaves, grads);
    m.graph->phase = GRAPH_BACKWARD;
    graph_output(m.graph, GRAPH_OUTPUT, "off", deviations(m.graph), GRAPH_NONE);
    if (run_graph(&step, m.graph))
        off = step_value(&step, 0, 0);
    ok(off < 1e-20, "%s, linear like the rows of its ops", c->what);
    step_fini(&step);
    graph_destroy(m.graph);
}

void check_gradient(const char *what, gradient_build_fn build, const void *arg)
{
    const struct expression c = {what, build, arg};

    for (int loss = 0; loss < NLOSSES; loss++)
        check_loss(&c, (enum loss)loss);
    check_linearity(&c);
}
