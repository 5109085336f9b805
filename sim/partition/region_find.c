/* region_find.c - the cheapest placement of a region: ops one after another, with the best partial
 * placement for each combination of states of the values that are still to be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/region_work.h"

/* ---- layers ---- */

static uint64_t hash_states(const uint32_t *states, uint32_t n)
{
    uint64_t h = n;

    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ states[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static void grow_layer(struct layer *l, struct pool *pool)
{
    size_t room = l->room ? 2 * (size_t)l->room : 256, n = 2 * room;

    if (room > UINT32_MAX / 4)
        pool_fail(pool);
    l->states = pool_resize(pool, l->states, room * l->nslots, sizeof *l->states);
    l->paid = pool_resize(pool, l->paid, room, sizeof *l->paid);
    l->bound = pool_resize(pool, l->bound, room, sizeof *l->bound);
    l->parent = pool_resize(pool, l->parent, room, sizeof *l->parent);
    l->way = pool_resize(pool, l->way, room, sizeof *l->way);
    l->index = pool_resize(pool, l->index, n, sizeof *l->index);
    l->room = (uint32_t)room;
    l->nindex = (uint32_t)n;
    memset(l->index, 0xff, n * sizeof *l->index);
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t at = hash_states(l->states + (size_t)i * l->nslots, l->nslots);

        while (l->index[at & (n - 1)] != UINT32_MAX)
            at++;
        l->index[at & (n - 1)] = i;
    }
}

/* A partial placement that is being added to a layer. */
struct partial {
    double paid, bound;
    uint32_t parent, way;
    const uint32_t *states;
};

/* Add a partial placement, unless the layer has one with equal states that costs no more. */
static void add_partial(struct layer *l, struct pool *pool, const struct partial *x)
{
    uint64_t at = hash_states(x->states, l->nslots);
    uint32_t i;

    if (l->n == l->room)
        grow_layer(l, pool);
    for (; (i = l->index[at & (l->nindex - 1)]) != UINT32_MAX; at++)
        if (!memcmp(l->states + (size_t)i * l->nslots, x->states, l->nslots * sizeof *x->states))
            break;
    if (i != UINT32_MAX && l->paid[i] <= x->paid)
        return;
    if (i == UINT32_MAX) {
        i = l->n++;
        l->index[at & (l->nindex - 1)] = i;
        memcpy(l->states + (size_t)i * l->nslots, x->states, l->nslots * sizeof *x->states);
    }
    l->paid[i] = x->paid;
    l->bound[i] = x->bound;
    l->parent[i] = x->parent;
    l->way[i] = x->way;
}

/* The first layer: given values in their start states; only their outputs are paid. */
static void first_layer(struct region *f)
{
    struct layer *l = &f->layers[0];
    uint32_t *states = pool_array(f->finding, f->around.n, sizeof *states);
    struct partial x = {.states = states};

    l->slots = pool_array(f->finding, f->around.n, sizeof *l->slots);
    for (uint32_t i = 0; i < f->around.n; i++) {
        uint32_t node = f->around.nodes[i];
        const struct supply *s = &f->supplies[node];

        if (!f->given[node])
            continue;
        x.paid += s->start_cost[0];
        x.bound += region_bound_of(s, s->start[0]);
        if (s->start[0] == SUPPLY_DONE)
            continue;
        states[l->nslots] = s->start[0];
        l->slots[l->nslots++] = node;
    }
    add_partial(l, f->finding, &x);
}

/* ---- one op after another ---- */

#define OUTSIDE UINT32_MAX

/* An op to place next, with data common to all partial placements. */
struct step {
    uint32_t node;
    const struct ways *ways; /* NULL: a constraint with an asked sharding */
    uint32_t noperands;      /* without repeats */
    uint32_t operands[GRAPH_INPUTS_MAX], slots[GRAPH_INPUTS_MAX];
    uint32_t which[GRAPH_INPUTS_MAX]; /* by operand of the op: index in `operands`, or OUTSIDE */
    double *start_paid, *start_bound; /* by way: of the values made */
    uint32_t nmade, *starts;          /* by way, then by value made: its start state */
    uint32_t *from;                   /* by slot of the next layer: FROM_..., and an index */
};

enum { FROM_SLOT, FROM_OPERAND, FROM_MADE, FROM_KINDS };

static void find_operands(struct step *s, const struct region *f)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];

    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t i = 0;

        s->which[k] = OUTSIDE;
        if (!(f->roles[g->inputs[k]] & ROLE_VALUE))
            continue;
        while (i < s->noperands && s->operands[i] != g->inputs[k])
            i++;
        s->which[k] = i;
        if (i < s->noperands)
            continue;
        s->operands[i] = g->inputs[k];
        s->slots[i] = f->at[g->inputs[k]];
        s->noperands++;
    }
}

static bool reads_later(const struct region *f, uint32_t value, uint32_t node)
{
    const struct supply *s = &f->supplies[value];

    return s->nreaders > 0 && s->readers[s->nreaders - 1].node > node;
}

static void add_slot(struct step *s, struct layer *next, uint32_t node, uint32_t from)
{
    s->from[next->nslots] = from;
    next->slots[next->nslots++] = node;
}

/* Find the values in the next layer, and where their states come from. */
static void find_slots(struct region *f, struct step *s, const struct layer *now,
                       struct layer *next)
{
    for (uint32_t i = 0; i < now->nslots; i++) {
        uint32_t from = i * FROM_KINDS + FROM_SLOT;

        for (uint32_t k = 0; k < s->noperands; k++)
            if (s->operands[k] == now->slots[i])
                from = k * FROM_KINDS + FROM_OPERAND;
        if (reads_later(f, now->slots[i], s->node))
            add_slot(s, next, now->slots[i], from);
    }
    for (uint32_t i = 0; i < f->nmade; i++)
        if (f->supplies[f->made[i].node].nreaders > 0)
            add_slot(s, next, f->made[i].node, i * FROM_KINDS + FROM_MADE);
}

static void find_starts(struct region *f, struct step *s)
{
    for (uint32_t w = 0; s->ways && w < s->ways->n; w++) {
        s->start_paid[w] = s->start_bound[w] = 0;
        for (uint32_t i = 0; i < f->nmade; i++) {
            const struct supply *made = &f->supplies[f->made[i].node];
            uint32_t h = region_home_of(made, s->ways->list[w].homes[f->made[i].result]);

            s->start_paid[w] += made->start_cost[h];
            s->start_bound[w] += region_bound_of(made, made->start[h]);
            s->starts[(size_t)w * f->nmade + i] = made->start[h];
        }
    }
}

static void init_step(struct region *f, struct step *s, struct pool *pool, uint32_t number)
{
    struct layer *now = &f->layers[number], *next = &f->layers[number + 1];
    size_t nways, nslots;

    memset(s, 0, sizeof *s);
    s->node = f->steps.nodes[number];
    s->ways = f->ways[s->node].n > 0 ? &f->ways[s->node] : NULL;
    nways = s->ways ? s->ways->n : 1;
    region_list_made(f, s->node);
    nslots = (size_t)now->nslots + f->nmade;
    for (uint32_t i = 0; i < now->nslots; i++)
        f->at[now->slots[i]] = i;
    find_operands(s, f);
    next->slots = pool_array(f->finding, nslots, sizeof *next->slots);
    s->from = pool_array(pool, nslots, sizeof *s->from);
    s->start_paid = pool_array(pool, nways, sizeof *s->start_paid);
    s->start_bound = pool_array(pool, nways, sizeof *s->start_bound);
    s->nmade = f->nmade;
    s->starts = pool_array(pool, nways * f->nmade, sizeof *s->starts);
    find_slots(f, s, now, next);
    find_starts(f, s);
}

/* The rules for an op, with the homes of a partial placement. */
static struct rules rules_of(const struct region *f, const struct step *s, const uint32_t *states)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];
    const struct shd_sharding *homes[GRAPH_INPUTS_MAX];

    if (!s->ways)
        return (struct rules){0};
    for (uint32_t k = 0; k < g->ninputs; k++) {
        const struct supply *v = &f->supplies[g->inputs[k]];

        homes[k] = price_sharding(f->p->price,
                                  s->which[k] == OUTSIDE
                                      ? f->p->nodes[g->inputs[k]].home
                                      : v->homes[v->states[states[s->slots[s->which[k]]]].home]);
    }
    return region_rules_by(f, s->node, homes);
}

static bool can_keep(const struct region *f, const struct step *s, const struct rules *rules)
{
    bool any = f->roles[s->node] & ROLE_KEEPS;

    for (uint32_t w = 0; s->ways && w < s->ways->n && !any; w++)
        any = region_keeps(&s->ways->list[w], rules);
    return any;
}

/* The rules that apply: all, if some way keeps them; else only the number of sharing devices; else
 * none.  An op outside keeps all if it keeps them so far. */
static struct rules rules_that_count(const struct region *f, const struct step *s,
                                     const uint32_t *states)
{
    struct rules rules = rules_of(f, s, states);

    if (can_keep(f, s, &rules))
        return rules;
    rules = (struct rules){.sharers = rules.sharers};
    return can_keep(f, s, &rules) ? rules : (struct rules){0};
}

/* Let an op read its operands by a way: update the operands' states, the price paid and the
 * bound. */
static void read_operands(struct region *f, const struct step *s, uint32_t way,
                          uint32_t states[GRAPH_INPUTS_MAX], struct partial *x)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];

    for (uint32_t i = 0; i < s->noperands; i++)
        x->bound -= region_bound_of(&f->supplies[s->operands[i]], states[i]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t i = s->which[k];
        struct supply *v;
        double rows;
        uint32_t need;

        if (i == OUTSIDE)
            continue;
        v = &f->supplies[s->operands[i]];
        need = supply_need(v, states[i], way, &rows);

        x->paid += v->states[states[i]].costs[need] + rows;
        if (x->paid >= f->below)
            return;
        states[i] = supply_read(v, states[i], need);
    }
    for (uint32_t i = 0; i < s->noperands; i++)
        x->bound += region_bound_of(&f->supplies[s->operands[i]], states[i]);
}

static uint32_t state_from(const struct step *s, uint32_t from, const uint32_t *now,
                           const uint32_t *operands, uint32_t way)
{
    uint32_t i = from / FROM_KINDS;

    if (from % FROM_KINDS == FROM_SLOT)
        return now[i];
    return from % FROM_KINDS == FROM_OPERAND ? operands[i] : s->starts[(size_t)way * s->nmade + i];
}

/* Extend a partial placement by one way; `states` has room for a state of the next layer. */
static void try_way(struct region *f, const struct step *s, uint32_t number, uint32_t parent,
                    uint32_t way, uint32_t *states)
{
    struct layer *now = &f->layers[number], *next = &f->layers[number + 1];
    const uint32_t *before = now->states + (size_t)parent * now->nslots;
    struct partial x = {now->paid[parent] + s->start_paid[way],
                        now->bound[parent] + s->start_bound[way], parent, way, states};
    uint32_t operands[GRAPH_INPUTS_MAX];

    if (s->ways)
        x.paid += s->ways->list[way].work;
    for (uint32_t i = 0; i < s->noperands; i++)
        operands[i] = before[s->slots[i]];
    read_operands(f, s, way, operands, &x);
    if (x.paid + x.bound >= f->below || x.paid >= f->below)
        return;
    for (uint32_t i = 0; i < next->nslots; i++)
        states[i] = state_from(s, s->from[i], before, operands, way);
    add_partial(next, f->finding, &x);
}

static void try_all(struct region *f, const struct step *s, uint32_t number, uint32_t *states)
{
    struct layer *now = &f->layers[number];

    for (uint32_t i = 0; i < now->n; i++) {
        const struct rules rules = rules_that_count(f, s, now->states + (size_t)i * now->nslots);
        uint32_t nways = s->ways ? s->ways->n : 1;

        region_spend(f, EFFORT_OF_TRY * nways);
        f->out->proven &= ++f->out->nodes <= f->limits->nodes;
        if (!f->out->proven)
            return;
        for (uint32_t w = 0; w < nways; w++)
            if (!s->ways || region_keeps(&s->ways->list[w], &rules))
                try_way(f, s, number, i, w, states);
    }
}

static void take_step(struct region *f, uint32_t number)
{
    struct pool *pool = pool_in(f->finding);
    struct layer *now = &f->layers[number];
    struct step s;

    init_step(f, &s, pool, number);
    try_all(f, &s, number, pool_array(pool, f->layers[number + 1].nslots, sizeof(uint32_t)));
    pool_drop(f->finding, pool);
    /* Free what only extending needs; parents and ways stay for backtracking. */
    pool_drop(f->finding, now->states);
    pool_drop(f->finding, now->index);
    pool_drop(f->finding, now->bound);
}

/* Assign the ways that led to the single placement of the last layer. */
static void place_found(struct region *f)
{
    uint32_t at = 0;

    for (uint32_t i = f->steps.n; i > 0; i--) {
        uint32_t node = f->steps.nodes[i - 1], way = f->layers[i].way[at];

        if (f->roles[node] & ROLE_CHOOSES)
            f->p->nodes[node].assign = f->ways[node].list[way].assign;
        at = f->layers[i].parent[at];
    }
    for (uint32_t i = 0; i < f->steps.n; i++)
        if (f->roles[f->steps.nodes[i]] & ROLE_CHOOSES)
            placement_settle(f->p, f->steps.nodes[i]);
}

static void find(struct region *f)
{
    region_find_ways(f);
    if (f->out->proven)
        region_find_supplies(f);
    if (!f->out->proven)
        return;
    first_layer(f);
    for (uint32_t i = 0; i < f->steps.n && f->out->proven; i++)
        take_step(f, i);
    f->out->found = f->out->proven && f->layers[f->steps.n].n > 0;
    if (f->out->found)
        f->out->price = f->layers[f->steps.n].paid[0];
}

void region_find(struct region_best *out, struct region *region, double below,
                 const struct region_limits *limits)
{
    *out = (struct region_best){.proven = true};
    region->out = out;
    region->limits = limits;
    region->below = fmin(below, PRICE_IMPOSSIBLE) * (1 - REGION_ROUNDING);
    region->finding = pool_in(region->pool);
    region_keep(region);
    find(region);
    region_put_back(region);
    if (out->found)
        place_found(region);
    region_drop(region);
}
