/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradient_check.h"

#include <math.h>
#include <string.h>

#include "graph/gradient.h"
#include "tap.h"

#define STEP 1e-5
#define TOLERANCE 1e-6

static const char *const names[LEAVES_MAX] = {"x", "w", "u"};

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
    uint32_t node = leaf(m, names[m->nleaves], letters);

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

void check_gradient(const char *what, gradient_build_fn build, const void *arg)
{
    const struct expression c = {what, build, arg};

    for (int loss = 0; loss < NLOSSES; loss++)
        check_loss(&c, (enum loss)loss);
}
