/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/optimum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/busy.h"
#include "partition/search.h"
#include "partition/supply.h"
#include "partition/tally.h"

/* A value that an op makes: a result, or an alias of one. */
struct made {
    uint32_t node, result;
};

/* Partial placements up to some op, as many as have different states of the values to be read. */
struct layer {
    uint32_t nslots, *slots; /* nodes of these values */
    uint32_t n, room;
    uint32_t *states; /* nslots each */
    double *paid, *bound;
    uint32_t *parent, *way; /* in the layer before, and of the op between */
    uint32_t *index;        /* hash table of placements */
    uint32_t nindex;
};

struct finder {
    struct placement *p;
    struct placement_node *nodes; /* as they were in the beginning */
    bool *given;                  /* by node: its home is no choice */
    struct ways *ways;            /* by node */
    double **later;               /* by node and way: what follows, a part for each payer */
    struct supply *supplies;      /* by node; of live values */
    uint32_t *at;                 /* by node: its slot in a layer */
    struct made *made;            /* of the op at hand */
    uint32_t nmade;
    uint32_t *steps;      /* ops that read something, in order */
    struct layer *layers; /* one more than steps */
    uint32_t nsteps;
    double below;
    uint64_t nodes_max;
    struct optimum *out;
};

/* ---- setting up ---- */

/* The results of an op, with all their aliases. */
static void add_made(struct finder *f, uint32_t node, uint32_t result)
{
    const struct placement_node *n = &f->p->nodes[node];

    f->made[f->nmade++] = (struct made){node, result};
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(f->p, n->readers[r].node))
            add_made(f, n->readers[r].node, result);
}

static void list_made(struct finder *f, uint32_t node)
{
    f->nmade = 0;
    for (uint32_t r = 0; r < f->p->nodes[node].rule.nresults; r++)
        add_made(f, assign_result_node(f->p->graph, node, r), r);
}

static bool find_ways(struct finder *f, uint32_t *sums)
{
    struct placement *p = f->p;

    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        const struct graph_node *g = &p->graph->nodes[node];
        uint32_t of_operands[GRAPH_INPUTS_MAX] = {0};

        if (!placement_is_free(p, node))
            continue;
        for (uint32_t k = 0; k < g->ninputs; k++)
            of_operands[k] = sums[g->inputs[k]];
        if (!ways_init(&f->ways[node], p, node, of_operands))
            return false;
        f->out->proven &= !f->ways[node].incomplete;
        list_made(f, node);
        for (uint32_t i = 0; i < f->nmade; i++)
            sums[f->made[i].node] = f->ways[node].sums;
    }
    return true;
}

/* The homes that a value may have by the ways of the op that makes it, each once. */
static uint32_t list_homes(const struct ways *ways, uint32_t result, uint32_t *homes)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < ways->n; w++) {
        uint32_t i = 0;

        while (i < n && homes[i] != ways->list[w].homes[result])
            i++;
        homes[i] = ways->list[w].homes[result];
        n += i == n;
    }
    return n;
}

static struct supply_spec spec_of(const struct finder *f, uint32_t node)
{
    return (struct supply_spec){.node = node,
                                .given = f->given,
                                .ways = f->ways,
                                .later = f->later,
                                .nhomes = 1,
                                .homes = &f->nodes[node].home};
}

static uint32_t home_of(const struct supply *s, uint32_t number)
{
    uint32_t h = 0;

    while (s->homes[h] != number)
        h++;
    return h;
}

static double bound_of(const struct supply *s, uint32_t state)
{
    return state == SUPPLY_DONE ? 0 : s->states[state].bound;
}

/* What it takes at least to bring about the operands that lie where they do, if others pay for what
 * follows. */
static double floor_of(struct finder *f, uint32_t node, const struct way *way)
{
    const struct graph_node *g = &f->p->graph->nodes[node];
    double cost = 0;

    for (uint32_t k = 0; k < g->ninputs; k++) {
        const struct placement_node *n = &f->p->nodes[g->inputs[k]];
        struct supply_spec spec = spec_of(f, g->inputs[k]);
        uint32_t r = 0;

        if (!f->given[g->inputs[k]] || supply_pays(f->p, f->given, node, k) ||
            placement_takes_home(f->p, node, k))
            continue;
        while (n->readers[r].node != node || n->readers[r].operand != k)
            r++;
        cost += supply_floor(f->p, &spec, r, way->needs[k]);
    }
    return cost;
}

/* What follows each way of an op whose results' supplies are known. */
static bool find_later(struct finder *f, uint32_t node)
{
    const struct ways *ways = &f->ways[node];
    double *later = malloc((ways->n + (size_t)1) * sizeof *later);

    f->later[node] = later;
    if (!later)
        return false;
    list_made(f, node);
    for (uint32_t w = 0; w < ways->n; w++) {
        later[w] = ways->list[w].work + floor_of(f, node, &ways->list[w]);
        for (uint32_t i = 0; i < f->nmade; i++) {
            const struct supply *s = &f->supplies[f->made[i].node];
            uint32_t h = home_of(s, ways->list[w].homes[f->made[i].result]);

            later[w] += s->start_cost[h] + bound_of(s, s->start[h]);
        }
        later[w] = fmin(later[w], PRICE_IMPOSSIBLE) / supply_npayers(f->p, f->given, node);
    }
    return true;
}

/* The supplies of what an op makes, whose readers are all behind it, then what follows it. */
static bool find_supplies_of_op(struct finder *f, uint32_t node)
{
    const struct ways *ways = &f->ways[node];
    uint32_t *homes = malloc((ways->n + (size_t)1) * sizeof *homes);
    bool good = homes != NULL;

    list_made(f, node);
    for (uint32_t i = 0; i < f->nmade && good; i++) {
        struct supply_spec spec = spec_of(f, f->made[i].node);

        spec.nhomes = list_homes(ways, f->made[i].result, homes);
        spec.homes = homes;
        good = supply_init(&f->supplies[f->made[i].node], f->p, &spec);
    }
    free(homes);
    return good && find_later(f, node);
}

static bool find_supplies(struct finder *f)
{
    for (uint32_t node = f->p->graph->nnodes; node-- > 0;) {
        struct supply_spec spec = spec_of(f, node);

        if (f->given[node] && !supply_init(&f->supplies[node], f->p, &spec))
            return false;
        if (placement_is_free(f->p, node) && !find_supplies_of_op(f, node))
            return false;
    }
    return true;
}

static void list_steps(struct finder *f)
{
    for (uint32_t node = 0; node < f->p->graph->nnodes; node++)
        if (placement_is_free(f->p, node) ||
            (f->given[node] && f->p->nodes[node].fixed && f->p->graph->nodes[node].ninputs > 0))
            f->steps[f->nsteps++] = node;
}

static bool init(struct finder *f)
{
    uint32_t nnodes = f->p->graph->nnodes, *sums = calloc(nnodes + (size_t)1, sizeof *sums);
    size_t n = (size_t)nnodes + 1;
    bool good;

    f->nodes = malloc(n * sizeof *f->nodes);
    if (f->nodes)
        memcpy(f->nodes, f->p->nodes, nnodes * sizeof *f->nodes);
    f->given = calloc(n, sizeof *f->given);
    f->ways = calloc(n, sizeof *f->ways);
    f->later = calloc(n, sizeof *f->later);
    f->supplies = calloc(n, sizeof *f->supplies);
    f->at = calloc(n, sizeof *f->at);
    f->made = malloc(n * sizeof *f->made);
    f->steps = malloc(n * sizeof *f->steps);
    f->layers = calloc(n, sizeof *f->layers);
    good = sums && f->nodes && f->given && f->ways && f->later && f->supplies && f->at && f->made &&
           f->steps && f->layers;
    if (good) {
        for (uint32_t node = 0; node < nnodes; node++)
            f->given[node] = f->p->nodes[node].live && f->p->nodes[node].home != PLACEMENT_UNKNOWN;
        list_steps(f);
        good = find_ways(f, sums) && (!f->out->proven || find_supplies(f));
    }
    free(sums);
    return good;
}

static void fini(struct finder *f)
{
    for (uint32_t node = 0; f->ways && node < f->p->graph->nnodes; node++)
        ways_fini(&f->ways[node]);
    for (uint32_t node = 0; f->supplies && node < f->p->graph->nnodes; node++)
        supply_fini(&f->supplies[node]);
    for (uint32_t node = 0; f->later && node < f->p->graph->nnodes; node++)
        free(f->later[node]);
    for (uint32_t i = 0; f->layers && i <= f->nsteps; i++) {
        free(f->layers[i].slots);
        free(f->layers[i].states);
        free(f->layers[i].paid);
        free(f->layers[i].bound);
        free(f->layers[i].parent);
        free(f->layers[i].way);
        free(f->layers[i].index);
    }
    free(f->nodes);
    free(f->given);
    free(f->ways);
    free(f->later);
    free(f->supplies);
    free(f->at);
    free(f->made);
    free(f->steps);
    free(f->layers);
}

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

static bool grow(void *array, size_t size)
{
    void **at = array, *more = realloc(*at, size);

    if (more)
        *at = more;
    return more != NULL;
}

static bool grow_layer(struct layer *l)
{
    size_t room = l->room ? 2 * (size_t)l->room : 256, n = 2 * room;

    if (room > UINT32_MAX / 4 || !grow(&l->states, (room * l->nslots + 1) * sizeof *l->states) ||
        !grow(&l->paid, room * sizeof *l->paid) || !grow(&l->bound, room * sizeof *l->bound) ||
        !grow(&l->parent, room * sizeof *l->parent) || !grow(&l->way, room * sizeof *l->way) ||
        !grow(&l->index, n * sizeof *l->index))
        return false;
    l->room = (uint32_t)room;
    l->nindex = (uint32_t)n;
    memset(l->index, 0xff, n * sizeof *l->index);
    for (uint32_t i = 0; i < l->n; i++) {
        uint64_t at = hash_states(l->states + (size_t)i * l->nslots, l->nslots);

        while (l->index[at & (n - 1)] != UINT32_MAX)
            at++;
        l->index[at & (n - 1)] = i;
    }
    return true;
}

/* A partial placement on its way into a layer. */
struct partial {
    double paid, bound;
    uint32_t parent, way;
    const uint32_t *states;
};

/* Keep it, unless one with the same states costs no more. */
static bool add_partial(struct layer *l, const struct partial *x)
{
    uint64_t at = hash_states(x->states, l->nslots);
    uint32_t i;

    if (l->n == l->room && !grow_layer(l))
        return false;
    for (; (i = l->index[at & (l->nindex - 1)]) != UINT32_MAX; at++)
        if (!memcmp(l->states + (size_t)i * l->nslots, x->states, l->nslots * sizeof *x->states))
            break;
    if (i != UINT32_MAX && l->paid[i] <= x->paid)
        return true;
    if (i == UINT32_MAX) {
        i = l->n++;
        l->index[at & (l->nindex - 1)] = i;
        memcpy(l->states + (size_t)i * l->nslots, x->states, l->nslots * sizeof *x->states);
    }
    l->paid[i] = x->paid;
    l->bound[i] = x->bound;
    l->parent[i] = x->parent;
    l->way[i] = x->way;
    return true;
}

/* The values that are given, nothing else paid but for their outputs. */
static bool first_layer(struct finder *f)
{
    uint32_t nnodes = f->p->graph->nnodes;
    struct layer *l = &f->layers[0];
    uint32_t *states = malloc((nnodes + (size_t)1) * sizeof *states);
    struct partial x = {.states = states};
    bool good;

    l->slots = malloc((nnodes + (size_t)1) * sizeof *l->slots);
    for (uint32_t node = 0; node < nnodes && states && l->slots; node++) {
        const struct supply *s = &f->supplies[node];

        if (!f->given[node])
            continue;
        x.paid += s->start_cost[0];
        x.bound += bound_of(s, s->start[0]);
        if (s->start[0] == SUPPLY_DONE)
            continue;
        states[l->nslots] = s->start[0];
        l->slots[l->nslots++] = node;
    }
    good = states && l->slots && add_partial(l, &x);
    free(states);
    return good;
}

/* ---- one op after another ---- */

/* An op, and what is the same for all partial placements. */
struct step {
    uint32_t node;
    const struct ways *ways; /* NULL: a constraint that is asked for */
    uint32_t noperands;      /* different ones */
    uint32_t operands[GRAPH_INPUTS_MAX], slots[GRAPH_INPUTS_MAX];
    uint32_t which[GRAPH_INPUTS_MAX]; /* by operand of the op */
    double *start_paid, *start_bound; /* by way: of what is made */
    uint32_t nmade, *starts;          /* by way, then by what is made: its state */
    uint32_t *from;                   /* by slot of the next layer: SLOT_..., and a number */
};

enum { FROM_SLOT, FROM_OPERAND, FROM_MADE, FROM_KINDS };

static void find_operands(struct step *s, const struct finder *f)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];

    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t i = 0;

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

static bool reads_later(const struct finder *f, uint32_t value, uint32_t node)
{
    const struct supply *s = &f->supplies[value];

    return s->nreaders > 0 && s->readers[s->nreaders - 1].node > node;
}

static void add_slot(struct step *s, struct layer *next, uint32_t node, uint32_t from)
{
    s->from[next->nslots] = from;
    next->slots[next->nslots++] = node;
}

/* Which values the next layer has, and where their states come from. */
static void find_slots(struct finder *f, struct step *s, const struct layer *now,
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
    for (uint32_t i = 0; i < f->nmade && s->ways; i++)
        if (f->supplies[f->made[i].node].nreaders > 0)
            add_slot(s, next, f->made[i].node, i * FROM_KINDS + FROM_MADE);
}

static void find_starts(struct finder *f, struct step *s)
{
    for (uint32_t w = 0; s->ways && w < s->ways->n; w++) {
        s->start_paid[w] = s->start_bound[w] = 0;
        for (uint32_t i = 0; i < f->nmade; i++) {
            const struct supply *made = &f->supplies[f->made[i].node];
            uint32_t h = home_of(made, s->ways->list[w].homes[f->made[i].result]);

            s->start_paid[w] += made->start_cost[h];
            s->start_bound[w] += bound_of(made, made->start[h]);
            s->starts[(size_t)w * f->nmade + i] = made->start[h];
        }
    }
}

static bool init_step(struct finder *f, struct step *s, uint32_t number)
{
    struct layer *now = &f->layers[number], *next = &f->layers[number + 1];
    size_t nways;

    memset(s, 0, sizeof *s);
    s->node = f->steps[number];
    s->ways = placement_is_free(f->p, s->node) ? &f->ways[s->node] : NULL;
    nways = s->ways ? s->ways->n : 1;
    f->nmade = 0;
    if (s->ways)
        list_made(f, s->node);
    for (uint32_t i = 0; i < now->nslots; i++)
        f->at[now->slots[i]] = i;
    find_operands(s, f);
    next->slots = malloc(((size_t)now->nslots + f->nmade + 1) * sizeof *next->slots);
    s->from = malloc(((size_t)now->nslots + f->nmade + 1) * sizeof *s->from);
    s->start_paid = calloc(nways + 1, sizeof *s->start_paid);
    s->start_bound = calloc(nways + 1, sizeof *s->start_bound);
    s->nmade = f->nmade;
    s->starts = malloc((nways * f->nmade + 1) * sizeof *s->starts);
    if (!next->slots || !s->from || !s->start_paid || !s->start_bound || !s->starts)
        return false;
    find_slots(f, s, now, next);
    find_starts(f, s);
    return true;
}

static void fini_step(struct step *s)
{
    free(s->from);
    free(s->start_paid);
    free(s->start_bound);
    free(s->starts);
}

/* The rules of the search: what must be kept busy, and what must stay a sum. */
struct rules {
    uint32_t busy, sums;
};

static bool keeps(const struct way *way, const struct rules *rules)
{
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (rules->sums >> a & 1 && way->assign.place[a] != ASSIGN_PARTIAL)
            return false;
    return !(rules->busy & ~way->busy);
}

/* As they are for a partial placement; where no way keeps them they do not count. */
static struct rules rules_of(const struct finder *f, const struct step *s, const uint32_t *states)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];
    struct rules rules = {0, 0};
    bool any = false;

    for (uint32_t k = 0; k < g->ninputs && s->ways; k++) {
        const struct supply *v = &f->supplies[g->inputs[k]];
        const struct shd_sharding *home =
            price_sharding(f->p->price, v->homes[v->states[states[s->slots[s->which[k]]]].home]);

        if (busy_is_heavy(g->op))
            rules.busy |= busy_brought(&f->p->nodes[s->node].rule, k, home);
        if (assign_converts_sum(g) && home->partial_op == SHD_SUM)
            rules.sums |= home->partial;
    }
    for (uint32_t w = 0; s->ways && w < s->ways->n && !any; w++)
        any = keeps(&s->ways->list[w], &rules);
    return any ? rules : (struct rules){0, 0};
}

/* Let an op read its operands by a way: their states afterwards, what was paid, and how the bound
 * changes. */
static bool read_operands(struct finder *f, const struct step *s, uint32_t way,
                          uint32_t states[GRAPH_INPUTS_MAX], struct partial *x)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];

    for (uint32_t i = 0; i < s->noperands; i++)
        x->bound -= bound_of(&f->supplies[s->operands[i]], states[i]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t i = s->which[k], next;
        struct supply *v = &f->supplies[s->operands[i]];
        double rows;
        uint32_t need = supply_need(v, states[i], way, &rows);

        x->paid += v->states[states[i]].costs[need] + rows;
        if (x->paid >= f->below)
            return true;
        if (!supply_read(v, states[i], need, &next))
            return false;
        states[i] = next;
    }
    for (uint32_t i = 0; i < s->noperands; i++)
        x->bound += bound_of(&f->supplies[s->operands[i]], states[i]);
    return true;
}

static uint32_t state_from(const struct step *s, uint32_t from, const uint32_t *now,
                           const uint32_t *operands, uint32_t way)
{
    uint32_t i = from / FROM_KINDS;

    if (from % FROM_KINDS == FROM_SLOT)
        return now[i];
    return from % FROM_KINDS == FROM_OPERAND ? operands[i] : s->starts[(size_t)way * s->nmade + i];
}

/* Go on from one partial placement by one way; `states` has room for those of the next layer. */
static bool try_way(struct finder *f, const struct step *s, uint32_t number, uint32_t parent,
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
    if (!read_operands(f, s, way, operands, &x))
        return false;
    if (x.paid + x.bound >= f->below || x.paid >= f->below)
        return true;
    for (uint32_t i = 0; i < next->nslots; i++)
        states[i] = state_from(s, s->from[i], before, operands, way);
    return add_partial(next, &x);
}

static bool try_all(struct finder *f, const struct step *s, uint32_t number, uint32_t *states)
{
    struct layer *now = &f->layers[number];

    for (uint32_t i = 0; i < now->n; i++) {
        const struct rules rules = rules_of(f, s, now->states + (size_t)i * now->nslots);
        uint32_t nways = s->ways ? s->ways->n : 1;

        if (++f->out->nodes > f->nodes_max) {
            f->out->proven = false;
            return true;
        }
        for (uint32_t w = 0; w < nways; w++)
            if ((!s->ways || keeps(&s->ways->list[w], &rules)) &&
                !try_way(f, s, number, i, w, states))
                return false;
    }
    return true;
}

/* What is only needed to go on; parents and ways stay, to go back by. */
static void drop_states(struct layer *l)
{
    free(l->states);
    free(l->index);
    free(l->bound);
    l->states = l->index = NULL;
    l->bound = NULL;
}

static bool take_step(struct finder *f, uint32_t number)
{
    struct step s;
    uint32_t *states = NULL;
    bool good = init_step(f, &s, number);

    if (good) {
        states = malloc((f->layers[number + 1].nslots + (size_t)1) * sizeof *states);
        good = states && try_all(f, &s, number, states);
    }
    drop_states(&f->layers[number]);
    free(states);
    fini_step(&s);
    return good;
}

/* Give the ops the ways that led to the only placement of the last layer. */
static void place_found(struct finder *f)
{
    uint32_t at = 0;

    memcpy(f->p->nodes, f->nodes, f->p->graph->nnodes * sizeof *f->nodes);
    for (uint32_t i = f->nsteps; i > 0; i--) {
        uint32_t node = f->steps[i - 1], way = f->layers[i].way[at];

        if (placement_is_free(f->p, node))
            f->p->nodes[node].assign = f->ways[node].list[way].assign;
        at = f->layers[i].parent[at];
    }
    for (uint32_t i = 0; i < f->nsteps; i++)
        if (placement_is_free(f->p, f->steps[i]))
            placement_settle(f->p, f->steps[i]);
}

static bool find(struct finder *f)
{
    if (!f->out->proven)
        return true;
    if (!first_layer(f))
        return false;
    for (uint32_t i = 0; i < f->nsteps && f->out->proven; i++)
        if (!take_step(f, i))
            return false;
    f->out->found = f->out->proven && f->layers[f->nsteps].n > 0;
    if (f->out->found)
        f->out->price = f->layers[f->nsteps].paid[0];
    return true;
}

int optimum_find(struct optimum *out, struct placement *placement, double below, uint64_t nodes_max,
                 struct shd_error *err)
{
    struct finder f = {.p = placement,
                       .below = fmin(below, PRICE_IMPOSSIBLE) * (1 - OPTIMUM_ROUNDING),
                       .nodes_max = nodes_max,
                       .out = out};
    bool good;

    *out = (struct optimum){.proven = true};
    good = init(&f) && find(&f) && !price_failed(placement->price);
    if (good && out->found)
        place_found(&f);
    else if (f.nodes)
        memcpy(placement->nodes, f.nodes, placement->graph->nnodes * sizeof *f.nodes);
    fini(&f);
    if (!good)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the best placement of %u ops",
                             placement->graph->nnodes);
    return SHD_OK;
}

/* ---- beside the search ---- */

/* The optimum of one of the two kinds, where it is below what is known. */
static int compare_kind(struct optimum_gap *gap, const struct partition_request *request,
                        bool gradients_free, uint64_t nodes_max, struct shd_error *err)
{
    struct placement p;
    struct optimum best;
    int status = placement_init(&p, request, err);
    double part;

    if (status != SHD_OK)
        return status;
    if (gradients_free)
        search_free_gradients(&p);
    part = search_part(&p);
    status = optimum_find(&best, &p, gap->optimum / part, nodes_max, err);
    placement_fini(&p);
    if (status != SHD_OK)
        return status;
    gap->nodes += best.nodes;
    gap->proven &= best.proven;
    if (best.found)
        gap->optimum = best.price * part;
    return SHD_OK;
}

int optimum_compare(struct optimum_gap *out, const struct partition_request *request,
                    uint64_t nodes_max, struct shd_error *err)
{
    struct optimum_gap gap = {.proven = true};
    struct placement p;
    int status = placement_init(&p, request, err);

    if (status != SHD_OK)
        return status;
    status = search_placement(&p, err);
    gap.searched = gap.optimum = search_price(&p);
    placement_fini(&p);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, false, nodes_max, err);
    if (status == SHD_OK)
        status = compare_kind(&gap, request, true, nodes_max, err);
    if (status == SHD_OK)
        *out = gap;
    return status;
}
