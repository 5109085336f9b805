/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/op_ways.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "graph/ops.h"
#include "partition/busy.h"
#include "partition/tally.h"

/* Whether an axis may cut arrays: it has several devices and is not the axis of stages. */
static bool may_cut(const struct placement *p, size_t axis)
{
    const struct program_stages *stages = p->request->stages;

    return shd_mesh_axis_size(p->mesh, axis) > 1 && !(stages && (size_t)stages->axis == axis);
}

struct maker {
    struct ways *ways;
    struct placement *p;
    uint32_t node;
    uint32_t naxes;                  /* axes that may move ... */
    uint8_t axes[SHD_MESH_AXES_MAX]; /* ... and their numbers */
    uint32_t sums;                   /* axes over which the linear operand is partial */
    struct assign assign;            /* the assignment under construction */
    uint32_t max;
    struct pool *pool;
};

static bool is_same(const struct way *a, const struct way *b)
{
    return !memcmp(a->homes, b->homes, sizeof a->homes) &&
           !memcmp(a->needs, b->needs, sizeof a->needs);
}

static void keep(struct maker *m, const struct way *way)
{
    struct ways *ways = m->ways;

    for (uint32_t i = 0; i < ways->n; i++)
        if (is_same(&ways->list[i], way)) {
            if (way->work < ways->list[i].work)
                ways->list[i] = *way;
            return;
        }
    if (ways->n == m->max) {
        ways->incomplete = true;
        return;
    }
    pool_make_room(m->pool, &ways->list, ways->n, sizeof *ways->list);
    ways->list[ways->n++] = *way;
}

/* Read the needs and homes of an op's present assignment. */
static void read_way(struct way *way, const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];

    memset(way, 0, sizeof *way);
    way->assign = n->assign;
    for (uint32_t k = 0; k < p->graph->nodes[node].ninputs; k++)
        way->needs[k] = n->needs[k];
    for (uint32_t r = 0; r < n->rule.nresults; r++)
        way->homes[r] = p->nodes[assign_result_node(p->graph, node, r)].home;
    way->busy = busy_axes(&n->assign, shd_mesh_naxes(p->mesh));
    way->sharers = busy_sharers(&n->assign, p->mesh);
}

/* Add the current assignment as a way, if valid and new. */
static void add_way(struct maker *m)
{
    struct placement *p = m->p;
    struct placement_node *n = &p->nodes[m->node];
    const struct assigned assigned = {p->graph, m->node, &n->rule, &m->assign, p->mesh};
    struct way way;
    const struct shd_sharding *home;

    m->ways->incomplete |= ++m->ways->tried > WAYS_TRIED_MAX;
    if (m->ways->incomplete || !assign_valid(&assigned))
        return;
    n->assign = m->assign;
    placement_settle(p, m->node);
    read_way(&way, p, m->node);
    way.work = tally_work(p, m->node);
    home = price_sharding(p->price, way.homes[0]);
    if (home->partial_op == SHD_SUM)
        m->ways->sums |= home->partial;
    keep(m, &way);
}

static bool has_tuple(const struct maker *m)
{
    uint32_t seen = 0;

    for (size_t a = 0; a < shd_mesh_naxes(m->p->mesh); a++) {
        int8_t place = m->assign.place[a];

        if (!may_cut(m->p, a) || place < 0)
            continue;
        if (seen >> place & 1)
            return true;
        seen |= 1u << place;
    }
    return false;
}

/* Try every order of the axes from position `at` on. */
static void add_orders(struct maker *m, uint32_t at)
{
    uint8_t *order = m->assign.order;

    if (at + 1 >= m->naxes) {
        add_way(m);
        return;
    }
    for (uint32_t i = at; i < m->naxes; i++) {
        uint8_t a = order[m->axes[at]], b = order[m->axes[i]];

        order[m->axes[at]] = b;
        order[m->axes[i]] = a;
        add_orders(m, at + 1);
        order[m->axes[at]] = a;
        order[m->axes[i]] = b;
    }
}

/* Try every place of the axes from number `at` on. */
static void add_places(struct maker *m, uint32_t at)
{
    const struct rule *rule = &m->p->nodes[m->node].rule;
    uint8_t axis;

    if (at == m->naxes)
        add_orders(m, has_tuple(m) ? 0 : m->naxes);
    if (at == m->naxes || m->ways->incomplete)
        return;
    axis = m->axes[at];
    for (int place = ASSIGN_PARTIAL; place < (int)rule->nfactors; place++) {
        if (place == ASSIGN_PARTIAL && !(m->sums >> axis & 1))
            continue;
        if (place >= 0 && (rule->factors[place].whole || rule->factors[place].follows != RULE_FREE))
            continue;
        m->assign.place[axis] = (int8_t)place;
        add_places(m, at + 1);
    }
}

/* Whether an axis that may not move passes a partial sum on, which fixes the linear operand. */
static bool passes_sum(const struct maker *m)
{
    for (size_t a = 0; a < shd_mesh_naxes(m->p->mesh); a++)
        if (m->assign.place[a] == ASSIGN_PARTIAL)
            return true;
    return false;
}

/* Start from an assignment with movable axes unplaced and all others as they are. */
static void start(struct maker *m, const struct ways_limits *limits)
{
    const struct assign *now = &m->p->nodes[m->node].assign;

    assign_init(&m->assign);
    for (uint8_t a = 0; a < shd_mesh_naxes(m->p->mesh); a++) {
        if (!may_cut(m->p, a))
            continue;
        if (limits->axes >> a & 1)
            m->axes[m->naxes++] = a;
        else
            m->assign.place[a] = now->place[a];
    }
    if (limits->axes != WAYS_ALL_AXES)
        memcpy(m->assign.order, now->order, sizeof m->assign.order);
    if (passes_sum(m))
        m->assign.linear_operand = now->linear_operand;
}

void ways_init(struct ways *out, struct pool *pool, struct placement *placement, uint32_t node,
               const uint32_t sums[GRAPH_INPUTS_MAX], const struct ways_limits *limits)
{
    const struct graph_node *g = &placement->graph->nodes[node];
    struct maker m = {.ways = out, .p = placement, .node = node, .max = limits->ways, .pool = pool};
    bool fixed;

    memset(out, 0, sizeof *out);
    start(&m, limits);
    fixed = passes_sum(&m);
    add_places(&m, 0);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        if (fixed && k != m.assign.linear_operand)
            continue;
        m.sums = graph_is_linear(m.p->graph, g, k) ? sums[k] : 0;
        m.assign.linear_operand = (uint8_t)k;
        if (m.sums)
            add_places(&m, 0);
    }
}

double ways_estimate(const struct placement *p, uint32_t node, uint32_t axes)
{
    const struct rule *rule = &p->nodes[node].rule;
    double places = 1, estimate = 1;

    for (uint32_t f = 0; f < rule->nfactors; f++)
        places += !rule->factors[f].whole && rule->factors[f].follows == RULE_FREE;
    for (uint8_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
        if (axes >> a & 1 && may_cut(p, a))
            estimate *= places;
    return estimate;
}

void ways_init_one(struct ways *out, struct pool *pool, struct placement *placement, uint32_t node)
{
    *out = (struct ways){.n = 1, .list = pool_array(pool, 1, sizeof *out->list)};
    read_way(&out->list[0], placement, node);
}
