/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/mend.h"

#include <math.h>
#include <stdlib.h>

#include "partition/region.h"
#include "partition/tally.h"

/* Effort for a graph.  A small graph gets windows as large as itself, which takes a few hundredths
 * of a second.  A large graph may take hardly longer than without mending: the effort per op falls
 * with the number of ops, down to EFFORT_OF_OP. */
#define EFFORT_MAX 1e6
#define EFFORT_BY_OPS 5e7 /* divided by the number of ops */
#define EFFORT_OF_OP 2.0

/* Effort of adding up the reshards of one value, in look-ups of a known price. */
#define EFFORT_OF_VALUE 5

/* Window sizes in ops, tried in this order. */
static const uint32_t sizes[] = {3, 6, 12, 24, 48, 96};
#define OPS_MAX 96
#define NSIZES (sizeof sizes / sizeof sizes[0])

/* Above these numbers of assignments of an op, and of partial placements of a window, smaller
 * windows find more for the same effort. */
#define WAYS_TO_TRY 128
#define PARTIAL_MAX 1000

/* Centres with less than this part of the total cost are not worth the effort. */
#define PART_MIN 1e-4

struct window {
    uint32_t n, nodes[OPS_MAX];
};

/* An op to put a window around, with the reshard cost of its operands and results, added up over
 * all alike ops. */
struct centre {
    uint32_t node;
    double paid;
};

/* Cost of reshards, and of computing. */
struct cost {
    double moved, work;
};

struct mender {
    struct placement *p;
    struct region *region;
    struct centre *centres;
    uint32_t ncentres;
    uint32_t *sums, sum; /* by node: the last sum that counted the node */
    double total;        /* of the whole placement */
    double effort;       /* effort left */
    bool beside;         /* windows reach ops that share only parameters or inputs with them */
    bool changed;
};

/* ---- windows ---- */

static bool is_alike(const struct placement *p, uint32_t a, uint32_t b)
{
    return p->nodes[a].first_alike == p->nodes[b].first_alike;
}

/* Add an op to the window, unless an alike op is there: alike ops choose the same. */
static void add(struct window *w, const struct placement *p, uint32_t node, uint32_t size)
{
    if (!placement_is_free(p, node) || w->n == size)
        return;
    for (uint32_t i = 0; i < w->n; i++)
        if (is_alike(p, w->nodes[i], node))
            return;
    w->nodes[w->n++] = node;
}

/* The op that makes a value, behind aliases and extras. */
static uint32_t maker_of(const struct placement *p, uint32_t value)
{
    while (placement_is_alias(p, value))
        value = p->graph->nodes[value].inputs[0];
    return p->graph->nodes[value].op == GRAPH_EXTRA ? p->graph->nodes[value].inputs[0] : value;
}

static void add_readers(struct window *w, const struct placement *p, uint32_t value, uint32_t size)
{
    const struct placement_node *n = &p->nodes[value];

    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(p, n->readers[r].node))
            add_readers(w, p, n->readers[r].node, size);
        else
            add(w, p, n->readers[r].node, size);
}

/* Add the ops that make an op's operands, and the readers of its results. */
static void add_neighbours(struct window *w, const struct placement *p, uint32_t node,
                           uint32_t size)
{
    const struct graph_node *g = &p->graph->nodes[node];

    for (uint32_t k = 0; k < g->ninputs; k++)
        add(w, p, maker_of(p, g->inputs[k]), size);
    for (uint32_t r = 0; r < p->nodes[node].rule.nresults; r++)
        add_readers(w, p, assign_result_node(p->graph, node, r), size);
}

/* Add the other readers of an op's operands. */
static void add_beside(struct window *w, const struct placement *p, uint32_t node, uint32_t size)
{
    const struct graph_node *g = &p->graph->nodes[node];

    for (uint32_t k = 0; k < g->ninputs; k++)
        add_readers(w, p, g->inputs[k], size);
}

/* Fill a window with the nearest ops around one. */
static void look_around(struct window *w, const struct placement *p, uint32_t node, uint32_t size)
{
    w->n = 0;
    add(w, p, node, size);
    for (uint32_t i = 0; i < w->n; i++)
        add_neighbours(w, p, w->nodes[i], size);
}

/* Fill up a window with ops that share only parameters or inputs with its ops, and the ops around
 * these; false if no op was added. */
static bool look_beside(struct window *w, const struct placement *p, uint32_t size)
{
    uint32_t n = w->n, around = n;

    for (uint32_t i = 0; i < w->n && w->n < size; i++) {
        add_beside(w, p, w->nodes[i], size);
        while (around < w->n)
            add_neighbours(w, p, w->nodes[around++], size);
    }
    return w->n > n;
}

/* ---- cost of a window, with all alike ops ---- */

static double value_cost(struct mender *m, uint32_t node)
{
    if (m->sums[node] == m->sum)
        return 0;
    m->sums[node] = m->sum;
    m->effort -= EFFORT_OF_VALUE;
    return tally_value(m->p, node);
}

/* Cost of a value and its aliases. */
static double named_cost(struct mender *m, uint32_t node)
{
    const struct placement_node *n = &m->p->nodes[node];
    double cost = value_cost(m, node);

    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(m->p, n->readers[r].node))
            cost += named_cost(m, n->readers[r].node);
    return cost;
}

static double moved_around(struct mender *m, uint32_t node)
{
    const struct graph_node *g = &m->p->graph->nodes[node];
    double cost = 0;

    for (uint32_t k = 0; k < g->ninputs; k++)
        cost += value_cost(m, g->inputs[k]);
    for (uint32_t r = 0; r < m->p->nodes[node].rule.nresults; r++)
        cost += named_cost(m, assign_result_node(m->p->graph, node, r));
    return cost;
}

/* Add up the costs that change when the window's ops and their alike ops change, each once. */
static struct cost window_cost(struct mender *m, const struct window *w)
{
    struct cost cost = {0, 0};

    m->sum++;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t node = w->nodes[i];

        do {
            cost.moved += moved_around(m, node);
            cost.work += tally_work(m->p, node);
            node = m->p->nodes[node].next_alike;
        } while (node != w->nodes[i]);
    }
    return cost;
}

/* ---- mending ---- */

static void place(struct mender *m, const struct window *w, const struct assign *assigns)
{
    for (uint32_t i = 0; i < w->n; i++) {
        m->p->nodes[w->nodes[i]].assign = assigns[i];
        placement_settle_alike(m->p, w->nodes[i]);
    }
}

/* Without a cluster, bytes are to be minimized: less work does not justify more bytes.  With a
 * cluster both are seconds and add up. */
static bool is_better(const struct mender *m, struct cost now, struct cost before)
{
    if (!m->p->request->hardware && now.moved > before.moved)
        return false;
    return now.moved + now.work < (before.moved + before.work) * (1 - REGION_ROUNDING);
}

/* Apply a window's new assignments to all alike ops, if that lowers their cost in sum; else restore
 * the old ones. */
static void take(struct mender *m, const struct window *w, const struct assign *before)
{
    struct assign found[OPS_MAX];
    struct cost cost, now;

    for (uint32_t i = 0; i < w->n; i++)
        found[i] = m->p->nodes[w->nodes[i]].assign;
    place(m, w, before);
    cost = window_cost(m, w);
    place(m, w, found);
    now = window_cost(m, w);
    if (is_better(m, now, cost)) {
        m->total += now.moved + now.work - (cost.moved + cost.work);
        m->changed = true;
    } else {
        place(m, w, before);
    }
}

/* Find the best placement of a window over some axes; halve the window until the search is small
 * enough to complete. */
static void mend(struct mender *m, const struct window *around, uint32_t axes)
{
    struct window w = *around;
    struct region_best best = {.proven = false};
    struct assign before[OPS_MAX];

    for (uint32_t i = 0; i < w.n; i++)
        before[i] = m->p->nodes[w.nodes[i]].assign;
    for (; w.n > 0 && m->effort > 0; w.n /= 2) {
        const struct region_limits limits = {{axes, WAYS_MAX}, PARTIAL_MAX, m->effort};

        region_take(m->region, w.nodes, w.n);
        region_find(&best, m->region, region_price(m->region), &limits);
        m->effort -= best.effort;
        if (best.proven)
            break;
    }
    if (best.found)
        take(m, &w, before);
}

static bool is_small(const struct mender *m, const struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (ways_estimate(m->p, w->nodes[i], WAYS_ALL_AXES) > WAYS_TO_TRY)
            return false;
    return true;
}

/* Mend a window over all axes at once; over each pair of axes if all axes are too many. */
static void mend_around(struct mender *m, uint32_t node, uint32_t size)
{
    size_t naxes = shd_mesh_naxes(m->p->mesh);
    struct window w;

    look_around(&w, m->p, node, size);
    if (m->beside && !look_beside(&w, m->p, size))
        return;
    if (is_small(m, &w)) {
        mend(m, &w, WAYS_ALL_AXES);
        return;
    }
    for (size_t a = 0; a < naxes; a++)
        for (size_t b = a + 1; b < naxes; b++)
            if (shd_mesh_axis_size(m->p->mesh, a) > 1 && shd_mesh_axis_size(m->p->mesh, b) > 1)
                mend(m, &w, 1u << a | 1u << b);
}

static int compare_centres(const void *a, const void *b)
{
    const struct centre *x = a, *y = b;

    if (x->paid != y->paid)
        return x->paid > y->paid ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static double paid_around(struct placement *p, uint32_t node)
{
    double paid = tally_near(p, node) - tally_work(p, node);
    uint32_t count = 1;

    for (uint32_t n = p->nodes[node].next_alike; n != node; n = p->nodes[n].next_alike)
        count++;
    return paid * count;
}

/* List the centres, the most expensive first. */
static void list_centres(struct mender *m)
{
    double least = m->total * PART_MIN;

    m->ncentres = 0;
    for (uint32_t node = 0; node < m->p->graph->nnodes; node++) {
        struct centre c = {node, 0};

        if (!placement_is_free(m->p, node) || !m->p->nodes[node].stands_for)
            continue;
        c.paid = paid_around(m->p, node);
        if (c.paid > least)
            m->centres[m->ncentres++] = c;
    }
    qsort(m->centres, m->ncentres, sizeof *m->centres, compare_centres);
}

/* Mend windows of one size around all centres. */
static void mend_by(struct mender *m, uint32_t size)
{
    list_centres(m);
    for (uint32_t i = 0; i < m->ncentres && m->effort > 0; i++)
        mend_around(m, m->centres[i].node, size);
}

/* Mend with windows of all sizes, repeatedly while something changes. */
static void mend_all(struct mender *m)
{
    m->changed = true;
    while (m->changed && m->effort > 0) {
        m->changed = false;
        for (size_t s = 0; s < NSIZES && m->effort > 0; s++)
            mend_by(m, sizes[s]);
    }
}

/* Effort available for a graph. */
static double effort_for(const struct graph *graph)
{
    double n = graph->nnodes + 1.0;

    return fmin(EFFORT_MAX, EFFORT_BY_OPS / n) + EFFORT_OF_OP * n;
}

void mend_placement(struct placement *p, double *total)
{
    struct pool *pool = pool_in(p->pool);
    struct mender m = {.p = p,
                       .region = region_create(pool, p),
                       .centres = pool_array(pool, p->graph->nnodes, sizeof *m.centres),
                       .sums = pool_array(pool, p->graph->nnodes, sizeof *m.sums),
                       .total = *total,
                       .effort = effort_for(p->graph)};

    mend_all(&m);
    m.beside = true; /* with the effort left */
    mend_all(&m);
    *total = m.total;
    pool_drop(p->pool, pool);
}
