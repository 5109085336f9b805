/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/alike.h"
#include "partition/busy.h"
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
    bool frees_gradients; /* the gradients of constraints may be sharded otherwise than the
                             constraints */
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

/* A constraint says how the value is sharded.  Its gradient starts there too, a good guess, but may
 * move: what a forward gather brought together, the backward step can scatter. */
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

static int mend_more(struct placement *p, double total, struct best *best, struct shd_error *err)
{
    int status = mend_placement(p, &total, err);

    take_if_better(best, p, total * search_part(p));
    return status;
}

/* Mend the best, as it is and with gradients of constraints let go. */
static int mend_best(struct placement *p, struct best *best, struct shd_error *err)
{
    int status;

    place_best(p, best);
    status = mend_more(p, best->price / search_part(p), best, err);
    if (status == SHD_OK && !p->gradients_free && search_free_gradients(p))
        status = mend_more(p, tally_total(p), best, err);
    place_best(p, best);
    return status;
}

/* A sum that is passed on is no work shared. */
static void share_as_followed(struct placement_node *out, const struct placement_node *followed,
                              const struct shd_mesh *mesh)
{
    out->followed = followed->assign;
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (out->followed.place[a] == ASSIGN_PARTIAL)
            out->followed.place[a] = ASSIGN_NONE;
    out->sharers = busy_sharers(&out->followed, mesh);
}

/* Place all ops by following, and find how many devices are to share the work of each, there and
 * in `start`: the nodes as they were. */
static int follow_first(struct placement *p, struct placement_node *start, struct shd_error *err)
{
    int status = follow_placement(p, err);

    for (uint32_t node = 0; node < p->graph->nnodes && status == SHD_OK; node++)
        if (placement_is_free(p, node) && busy_is_heavy(p->graph->nodes[node].op)) {
            share_as_followed(&start[node], &p->nodes[node], p->mesh);
            share_as_followed(&p->nodes[node], &p->nodes[node], p->mesh);
        }
    return status;
}

static size_t bytes_of(const struct placement *p)
{
    return p->graph->nnodes * sizeof *p->nodes;
}

static int no_memory(const struct placement *p, struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", p->graph->nnodes);
}

int search_find_sharers(struct placement *p, struct shd_error *err)
{
    struct placement_node *start = malloc(bytes_of(p) + 1);
    int status;

    if (!start)
        return no_memory(p, err);
    memcpy(start, p->nodes, bytes_of(p));
    status = follow_first(p, start, err);
    memcpy(p->nodes, start, bytes_of(p));
    free(start);
    return status;
}

/* Where tactics start. */
struct starts {
    struct placement_node *unknown, *followed;
};

static int find_starts(struct starts *starts, struct placement *p, struct shd_error *err)
{
    int status = alike_link(p, err);

    if (status != SHD_OK)
        return status;
    memcpy(starts->unknown, p->nodes, bytes_of(p));
    status = follow_first(p, starts->unknown, err);
    memcpy(starts->followed, p->nodes, bytes_of(p));
    return status;
}

static int search_from(struct placement *p, const struct starts *starts, struct best *best,
                       struct shd_error *err)
{
    for (size_t t = 0; t < NTACTICS && !price_failed(p->price); t++) {
        memcpy(p->nodes, tactics[t].follows ? starts->followed : starts->unknown, bytes_of(p));
        p->gradients_free = false;
        search_by(p, &tactics[t], best);
        if (!price_failed(p->price))
            take_if_better(best, p, search_price(p));
    }
    if (best->price == INFINITY)
        return no_memory(p, err);
    return mend_best(p, best, err);
}

int search_placement(struct placement *p, struct shd_error *err)
{
    struct starts starts = {malloc(bytes_of(p) + 1), malloc(bytes_of(p) + 1)};
    struct best best = {malloc(bytes_of(p) + 1), INFINITY, false};
    int status;

    if (starts.unknown && starts.followed && best.nodes) {
        status = find_starts(&starts, p, err);
        if (status == SHD_OK)
            status = search_from(p, &starts, &best, err);
    } else {
        status = no_memory(p, err);
    }
    free(starts.unknown);
    free(starts.followed);
    free(best.nodes);
    return status;
}
