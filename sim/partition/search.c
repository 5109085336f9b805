/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/alike.h"
#include "partition/follow.h"
#include "partition/improve.h"
#include "partition/mend.h"
#include "partition/share.h"
#include "partition/tally.h"

/* Where a search starts and what it may do on its way downhill. */
struct tactic {
    const char *name;
    bool follows;  /* starts from where the axes are brought, not from the cheapest op by op */
    bool scatters; /* partial sums may be scattered to where nobody asked for them */
    bool frees_gradients; /* the gradients of constraints may lie elsewhere than the constraints */
};

/* The first of equals is taken. */
static const struct tactic tactics[] = {
    {"as asked", false, false, false},         {"scatter sums", false, true, false},
    {"move gradients", false, false, true},    {"scatter sums, move gradients", false, true, true},
    {"from what follows", true, false, false},
};

/* A constraint's gradient moves for a gain of 2 % only. */
#define FREE_HANDICAP 0.02

#define NTACTICS (sizeof tactics / sizeof tactics[0])

/* Revisit all nodes, backwards and forwards in turn, as long as something changes. */
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

/* A constraint says where the value lies.  Its gradient starts there too, a good guess, but may
 * move: what a forward gather brought together, the backward step can scatter. */
void search_free_gradients(struct placement *p)
{
    p->gradients_free = true;
    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        struct placement_node *n = &p->nodes[node];

        if (!n->live || !n->fixed || p->graph->nodes[node].op != GRAPH_CONSTRAINT ||
            p->graph->nodes[node].phase != GRAPH_BACKWARD)
            continue;
        n->fixed = false;
        placement_settle_aliases(p, p->graph->nodes[node].inputs[0]);
    }
}

/* Each op in the order of the data takes what is cheapest for it. */
static void start_cheapest(struct placement *p)
{
    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (placement_is_free(p, node) && p->nodes[node].first_alike)
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

/* A pass may end dearer than it began: an op that takes what is cheapest for itself can bring an
 * axis to one that then has to keep it busy. */
static void keep(struct best *best, struct placement *p)
{
    double price = search_price(p);

    for (uint32_t node = 0; node < p->graph->nnodes; node++)
        if (price >= best->price || (placement_is_free(p, node) && !improve_keeps_busy(p, node)))
            return;
    *best = (struct best){best->nodes, price, p->gradients_free};
    memcpy(best->nodes, p->nodes, p->graph->nnodes * sizeof *p->nodes);
}

static int search_by(struct placement *p, const struct tactic *tactic, struct best *best,
                     struct shd_error *err)
{
    int rounds = 0, status = SHD_OK;

    p->scatters = tactic->scatters;
    if (tactic->follows)
        status = follow_placement(p, err);
    else
        start_cheapest(p);
    if (status != SHD_OK)
        return status;
    sweep(p);
    if (tactic->frees_gradients) {
        search_free_gradients(p);
        sweep(p);
    }
    while (rounds < SHARES_MAX && share_all(p)) {
        keep(best, p);
        sweep(p);
        rounds++;
    }
    p->limits.hits[LIMIT_SHARES] += rounds == SHARES_MAX;
    return SHD_OK;
}

static void take_if_better(struct best *best, struct placement *p)
{
    double price = search_price(p);

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

/* Mend the best, as it is and with gradients of constraints let go. */
static int mend_best(struct placement *p, struct best *best, struct shd_error *err)
{
    double effort = mend_effort(p->graph), half = effort / 2;
    int status;

    place_best(p, best);
    status = mend_placement(p, &half, err);
    take_if_better(best, p);
    if (status == SHD_OK && !p->gradients_free) {
        effort = effort / 2 + half;
        search_free_gradients(p);
        status = mend_placement(p, &effort, err);
        take_if_better(best, p);
    }
    place_best(p, best);
    return status;
}

int search_placement(struct placement *p, struct shd_error *err)
{
    size_t bytes = p->graph->nnodes * sizeof *p->nodes;
    struct placement_node *start = malloc(bytes + 1);
    struct best best = {malloc(bytes + 1), INFINITY, false};
    int status = alike_link(p, err);

    if (start && best.nodes && status == SHD_OK)
        memcpy(start, p->nodes, bytes);
    for (size_t t = 0; start && best.nodes && status == SHD_OK && t < NTACTICS; t++) {
        memcpy(p->nodes, start, bytes);
        p->gradients_free = false;
        status = search_by(p, &tactics[t], &best, err);
        if (price_failed(p->price))
            break;
        take_if_better(&best, p);
    }
    if (best.price < INFINITY) {
        place_best(p, &best);
        if (status == SHD_OK)
            status = mend_best(p, &best, err);
    }
    free(start);
    free(best.nodes);
    if (status == SHD_OK && best.price == INFINITY)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", p->graph->nnodes);
    return status;
}
