/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/placement_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops.h"
#include "partition/alike.h"
#include "partition/busy.h"
#include "partition/follow.h"
#include "partition/improve.h"
#include "partition/mend.h"
#include "partition/share.h"
#include "partition/tally.h"

/* A tactic: where a search starts, and which moves it may make while descending. */
struct tactic {
    const char *name;
    bool follows;  /* starts from the placement by following, not from each op's cheapest
                      assignment */
    bool scatters; /* partial sums may be scattered to shardings that nobody asked for */
    bool frees_gradients; /* gradients of constraints need not have the constraint's sharding */
};

/* Of tactics with equal results the first is taken. */
static const struct tactic tactics[] = {
    {"as asked", false, false, false},         {"scatter sums", false, true, false},
    {"move gradients", false, false, true},    {"scatter sums, move gradients", false, true, true},
    {"from what follows", true, false, false},
};

/* Price penalty for moving gradients of constraints: only a gain above 2 % pays. */
#define FREE_HANDICAP 0.02

#define NTACTICS (sizeof tactics / sizeof tactics[0])

/* Revisit all nodes, backwards and forwards in turn, until nothing changes. */
static void sweep(struct placement *p)
{
    uint32_t nnodes = p->graph->nnodes;
    bool changed = true;

    for (int n = 0; n < SWEEPS_MAX && changed; n++) {
        changed = false;
        for (uint32_t i = 0; i < nnodes; i++) {
            uint32_t node = n % 2 ? i : nnodes - 1 - i;

            if (placement_is_free(p, node) && p->nodes[node].stands_for)
                changed |= improve_node(p, node);
        }
    }
    p->limits.hits[LIMIT_SWEEPS] += changed;
}

/* Free the gradients of constraints: each keeps its constraint's sharding as a start, but may move.
 * What a forward gather joined, the backward phase can scatter. */
bool search_free_gradients(struct placement *p)
{
    bool any = false;

    p->gradients_free = true;
    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        struct placement_node *n = &p->nodes[node];

        if (!n->live || !n->fixed || p->graph->nodes[node].op != GRAPH_CONSTRAINT ||
            p->graph->nodes[node].phase != GRAPH_BACKWARD)
            continue;
        n->fixed = false;
        placement_settle_aliases(p, p->graph->nodes[node].inputs[0]);
        any = true;
    }
    return any;
}

/* Start: each op, in graph order, takes its cheapest assignment. */
static void start_cheapest(struct placement *p)
{
    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (placement_is_free(p, node) && p->nodes[node].first_alike == node)
            improve_node(p, node);
}

double search_part(const struct placement *p)
{
    return p->gradients_free ? 1 + FREE_HANDICAP : 1;
}

double search_price(struct placement *p)
{
    return tally_total(p) * search_part(p);
}

/* The cheapest placement so far. */
struct best {
    struct placement_node *nodes;
    double price;
    bool gradients_free;
};

/* Keep a placement if it is the cheapest so far and keeps the axes busy.  A pass may end with a
 * higher cost: an op that takes its own cheapest assignment can bring an axis to another op, which
 * must then share its work over the axis. */
static void keep(struct best *best, struct placement *p)
{
    double price = search_price(p);

    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (price >= best->price || (placement_is_free(p, node) && !improve_keeps_busy(p, node)))
            return;
    *best = (struct best){best->nodes, price, p->gradients_free};
    memcpy(best->nodes, p->nodes, p->graph->nnodes * sizeof *p->nodes);
}

static void search_by(struct placement *p, const struct tactic *tactic, struct best *best)
{
    int rounds = 0;

    p->scatters = tactic->scatters;
    if (!tactic->follows)
        start_cheapest(p);
    sweep(p);
    if (tactic->frees_gradients) {
        (void)search_free_gradients(p);
        sweep(p);
    }
    while (rounds < SHARES_MAX && share_all(p)) {
        keep(best, p);
        sweep(p);
        rounds++;
    }
    p->limits.hits[LIMIT_SHARES] += rounds == SHARES_MAX;
}

static void take_if_better(struct best *best, struct placement *p, double price)
{
    if (price >= best->price)
        return;
    *best = (struct best){best->nodes, price, p->gradients_free};
    memcpy(best->nodes, p->nodes, p->graph->nnodes * sizeof *p->nodes);
}

static void place_best(struct placement *p, const struct best *best)
{
    memcpy(p->nodes, best->nodes, p->graph->nnodes * sizeof *p->nodes);
    p->gradients_free = best->gradients_free;
}

static void mend_more(struct placement *p, double total, struct best *best)
{
    mend_placement(p, &total);
    take_if_better(best, p, total * search_part(p));
}

/* Mend the best placement, then once more with gradients of constraints freed. */
static void mend_best(struct placement *p, struct best *best)
{
    place_best(p, best);
    mend_more(p, best->price / search_part(p), best);
    if (!p->gradients_free && search_free_gradients(p))
        mend_more(p, tally_total(p), best);
    place_best(p, best);
}

/* Record the assignment by following and its number of sharers.  Passing a partial sum on shares no
 * work. */
static void share_as_followed(struct placement_node *out, const struct placement_node *followed,
                              const struct shd_mesh *mesh)
{
    out->followed = followed->assign;
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (out->followed.place[a] == ASSIGN_PARTIAL)
            out->followed.place[a] = ASSIGN_NONE;
    out->sharers = busy_sharers(&out->followed, mesh);
}

/* Place all ops by following, and record how many devices must share each heavy op's work, there
 * and in `start`, the nodes before following. */
static void follow_first(struct placement *p, struct placement_node *start)
{
    follow_placement(p);
    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (placement_is_free(p, node) && graph_op(p->graph->nodes[node].op)->heavy) {
            share_as_followed(&start[node], &p->nodes[node], p->mesh);
            share_as_followed(&p->nodes[node], &p->nodes[node], p->mesh);
        }
}

static size_t bytes_of(const struct placement *p)
{
    return p->graph->nnodes * sizeof *p->nodes;
}

void search_find_sharers(struct placement *p)
{
    struct placement_node *start = pool_array(p->pool, p->graph->nnodes, sizeof *start);

    memcpy(start, p->nodes, bytes_of(p));
    follow_first(p, start);
    memcpy(p->nodes, start, bytes_of(p));
}

void search_placement(struct placement *p)
{
    struct pool *pool = pool_in(p->pool);
    uint32_t n = p->graph->nnodes;
    /* The placements that tactics start from. */
    struct placement_node *unknown = pool_array(pool, n, sizeof *unknown);
    struct placement_node *followed = pool_array(pool, n, sizeof *followed);
    struct best best = {pool_array(pool, n, sizeof *best.nodes), INFINITY, false};

    alike_link(p);
    memcpy(unknown, p->nodes, bytes_of(p));
    follow_first(p, unknown);
    memcpy(followed, p->nodes, bytes_of(p));
    for (size_t t = 0; t < NTACTICS; t++) {
        memcpy(p->nodes, tactics[t].follows ? followed : unknown, bytes_of(p));
        p->gradients_free = false;
        search_by(p, &tactics[t], &best);
        take_if_better(&best, p, search_price(p));
    }
    mend_best(p, &best);
    pool_drop(p->pool, pool);
}
