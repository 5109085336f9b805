/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/busy.h"
#include "partition/supply.h"
#include "partition/tally.h"

/* A result of an op of the region, or an alias of a result. */
struct made {
    uint32_t node, result;
};

/* Partial placements up to an op, one for each combination of states of the values still to be
 * read. */
struct layer {
    uint32_t nslots, *slots; /* nodes of these values */
    uint32_t n, room;
    uint32_t *states; /* nslots each */
    double *paid, *bound;
    uint32_t *parent, *way; /* index in the layer before, and the way of the op between */
    uint32_t *index;        /* hash table of placements */
    uint32_t nindex;
};

/* Effort, in look-ups of a known price: of computing a price, of trying an assignment of an op, and
 * of extending a partial placement by one way. */
#define EFFORT_OF_PRICE 30.0
#define PRICES_MAX 1e15 /* more than any search computes */
#define EFFORT_OF_WAY 20.0
#define EFFORT_OF_TRY 2.0

/* Placement fields that region_find() overwrites, saved for restoring. */
struct kept {
    uint32_t home, needs[GRAPH_INPUTS_MAX];
    struct assign assign;
};

/* Nodes in ascending order, without repeats. */
struct list {
    uint32_t n, *nodes;
};

/* Roles of a node in the region, as bits. */
enum {
    ROLE_CHOOSES = 1, /* an op of the region */
    ROLE_VALUE = 2,   /* the node's value counts in the price */
    ROLE_MADE = 4,    /* made by an op of the region: its home is a choice */
    ROLE_READS = 8, /* a reader of such a value: an op, or a constraint with an asked sharding */
    ROLE_KEEPS = 16 /* an op outside that keeps the rules of the search so far */
};

struct region {
    struct placement *p;
    uint8_t *roles;     /* by node */
    bool *given;        /* by node: a value of the region with a fixed home */
    struct list around; /* all nodes with a role */
    struct list steps;  /* ops that read a value of the region */
    struct kept *kept;
    uint32_t nkept;
    bool *agrees;            /* by node: a heavy op that is cut by the axes its operands agree on */
    uint32_t *sums;          /* by node: axes over which the value may be partial */
    struct ways *ways;       /* by node; an op outside has its present way only */
    double **later;          /* by node and way: lower bound of downstream costs, divided among
                                the operands that count it */
    struct supply *supplies; /* by node; of the region's values */
    uint32_t *at;            /* by node: the value's slot in a layer */
    struct made *made;       /* values made by the current op */
    uint32_t nmade;
    struct layer *layers; /* one more than `steps` */
    double below;
    const struct region_limits *limits;
    struct region_best *out;
};

/* ---- the nodes of a region ---- */

static void add_role(struct region *f, uint32_t node, uint8_t role)
{
    if (!f->roles[node])
        f->around.nodes[f->around.n++] = node;
    f->roles[node] |= role;
}

/* Add a value with its readers.  Aliases of a value made in the region are added too, since their
 * home changes with the value's. */
static void add_value(struct region *f, uint32_t node, uint8_t made)
{
    const struct placement_node *n = &f->p->nodes[node];

    add_role(f, node, ROLE_VALUE | made);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (!placement_is_alias(f->p, n->readers[r].node))
            add_role(f, n->readers[r].node, ROLE_READS);
        else if (made)
            add_value(f, n->readers[r].node, made);
}

static void add_op(struct region *f, uint32_t node)
{
    const struct graph_node *g = &f->p->graph->nodes[node];

    add_role(f, node, ROLE_CHOOSES | ROLE_READS);
    for (uint32_t k = 0; k < g->ninputs; k++)
        add_value(f, g->inputs[k], 0);
    for (uint32_t r = 0; r < f->p->nodes[node].rule.nresults; r++)
        add_value(f, assign_result_node(f->p->graph, node, r), ROLE_MADE);
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void region_take(struct region *f, const uint32_t *nodes, uint32_t nnodes)
{
    for (uint32_t i = 0; i < f->around.n; i++)
        f->roles[f->around.nodes[i]] = 0;
    f->around.n = f->steps.n = 0;
    for (uint32_t i = 0; i < nnodes; i++)
        if (placement_is_free(f->p, nodes[i]))
            add_op(f, nodes[i]);
        else
            add_value(f, nodes[i], 0);
    qsort(f->around.nodes, f->around.n, sizeof *f->around.nodes, compare_nodes);
    for (uint32_t i = 0; i < f->around.n; i++) {
        uint32_t node = f->around.nodes[i];

        f->given[node] = (f->roles[node] & (ROLE_VALUE | ROLE_MADE)) == ROLE_VALUE &&
                         f->p->nodes[node].home != PLACEMENT_UNKNOWN;
        if (f->roles[node] & ROLE_READS)
            f->steps.nodes[f->steps.n++] = node;
    }
}

double region_price(struct region *f)
{
    double price = 0;

    for (uint32_t i = 0; i < f->around.n; i++) {
        uint32_t node = f->around.nodes[i];

        price += f->roles[node] & ROLE_VALUE ? tally_value(f->p, node) : 0;
        price += f->roles[node] & ROLE_CHOOSES ? tally_work(f->p, node) : 0;
    }
    return price;
}

/* ---- rules ---- */

/* Rules of the search for an op: axes that must share its work, axes over which its result must
 * stay partial, the least number of devices that share the work, and by factor the axes that must
 * cut it. */
struct rules {
    uint32_t busy, sums;
    int64_t sharers;
    uint32_t agreed[RULE_FACTORS_MAX];
};

static bool keeps(const struct way *way, const struct rules *rules)
{
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (rules->sums >> a & 1 && way->assign.place[a] != ASSIGN_PARTIAL)
            return false;
    return !(rules->busy & ~way->busy) && way->sharers >= rules->sharers &&
           busy_keeps_agreed(&way->assign, rules->agreed);
}

/* The rules for given homes of the operands. */
static struct rules rules_by(const struct region *f, uint32_t node,
                             const struct shd_sharding *const homes[GRAPH_INPUTS_MAX])
{
    const struct graph_node *g = &f->p->graph->nodes[node];
    struct rules rules = {.sharers = f->p->nodes[node].sharers};

    for (uint32_t k = 0; k < g->ninputs; k++) {
        if (busy_is_heavy(g->op))
            rules.busy |= busy_brought(&f->p->nodes[node].rule, k, homes[k]);
        if (assign_converts_sum(g) && homes[k]->partial_op == SHD_SUM)
            rules.sums |= homes[k]->partial;
    }
    if (f->agrees[node])
        busy_agreed(rules.agreed, &f->p->nodes[node].rule, homes);
    return rules;
}

/* The present homes of an op's operands. */
static void find_homes(const struct shd_sharding *homes[GRAPH_INPUTS_MAX], const struct region *f,
                       uint32_t node)
{
    const struct graph_node *g = &f->p->graph->nodes[node];

    for (uint32_t k = 0; k < g->ninputs; k++)
        homes[k] = price_sharding(f->p->price, f->p->nodes[g->inputs[k]].home);
}

/* Whether a way keeps the rules with the present homes of the operands. */
static bool keeps_now(const struct region *f, uint32_t node, const struct way *way)
{
    const struct shd_sharding *homes[GRAPH_INPUTS_MAX];
    struct rules rules;

    find_homes(homes, f, node);
    rules = rules_by(f, node, homes);
    return keeps(way, &rules);
}

/* ---- setting up ---- */

/* Whether a heavy op with an assignment is cut by the axes that its operands agree on. */
static bool agrees_now(const struct region *f, uint32_t node)
{
    const struct placement_node *n = &f->p->nodes[node];
    const struct shd_sharding *homes[GRAPH_INPUTS_MAX];
    uint32_t agreed[RULE_FACTORS_MAX];

    if (!busy_is_heavy(f->p->graph->nodes[node].op) || n->home == PLACEMENT_UNKNOWN)
        return false;
    find_homes(homes, f, node);
    busy_agreed(agreed, &n->rule, homes);
    return busy_keeps_agreed(&n->assign, agreed);
}

static void keep(struct region *f)
{
    for (uint32_t i = 0; i < f->around.n; i++) {
        const struct placement_node *n = &f->p->nodes[f->around.nodes[i]];
        struct kept *k = &f->kept[i];

        k->home = n->home;
        k->assign = n->assign;
        memcpy(k->needs, n->needs, sizeof k->needs);
        f->agrees[f->around.nodes[i]] = agrees_now(f, f->around.nodes[i]);
    }
}

static void put_back(struct region *f)
{
    for (uint32_t i = 0; i < f->around.n; i++) {
        struct placement_node *n = &f->p->nodes[f->around.nodes[i]];
        const struct kept *k = &f->kept[i];

        n->home = k->home;
        n->assign = k->assign;
        memcpy(n->needs, k->needs, sizeof n->needs);
    }
}

/* Add a result of an op and all its aliases. */
static void add_made(struct region *f, uint32_t node, uint32_t result)
{
    const struct placement_node *n = &f->p->nodes[node];

    f->made[f->nmade++] = (struct made){node, result};
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(f->p, n->readers[r].node))
            add_made(f, n->readers[r].node, result);
}

/* List the values that an op of the region makes. */
static void list_made(struct region *f, uint32_t node)
{
    f->nmade = 0;
    for (uint32_t r = 0; f->roles[node] & ROLE_CHOOSES && r < f->p->nodes[node].rule.nresults; r++)
        add_made(f, assign_result_node(f->p->graph, node, r), r);
}

static uint32_t sums_of(const struct region *f, uint32_t value)
{
    const struct shd_sharding *s;

    if (!f->given[value])
        return f->sums[value];
    s = price_sharding(f->p->price, f->p->nodes[value].home);
    return s->partial_op == SHD_SUM ? s->partial : 0;
}

static void spend(struct region *f, double effort)
{
    f->out->effort += effort;
    f->out->proven &= f->out->effort <= f->limits->effort;
}

/* Set up the supply of a value of the region. */
static bool find_supply(struct region *f, const struct supply_spec *spec)
{
    struct supply *s = &f->supplies[spec->node];
    uint64_t before = price_worked_out(f->p->price);
    bool good = supply_init(s, f->p, spec);

    f->out->proven &= !s->given_up;
    spend(f, (double)s->nneeds * (s->nneeds + s->nhomes) +
                 EFFORT_OF_PRICE * (double)(price_worked_out(f->p->price) - before));
    return good;
}

static bool find_way_outside(struct region *f, uint32_t node)
{
    if (!ways_init_one(&f->ways[node], f->p, node))
        return false;
    f->roles[node] &= (uint8_t)~ROLE_KEEPS;
    if (keeps_now(f, node, &f->ways[node].list[0]))
        f->roles[node] |= ROLE_KEEPS;
    return true;
}

static bool find_ways_of(struct region *f, uint32_t node)
{
    const struct graph_node *g = &f->p->graph->nodes[node];
    uint32_t of_operands[GRAPH_INPUTS_MAX] = {0};

    for (uint32_t k = 0; k < g->ninputs; k++)
        of_operands[k] = sums_of(f, g->inputs[k]);
    if (!ways_init(&f->ways[node], f->p, node, of_operands, &f->limits->ways))
        return false;
    f->out->proven &= !f->ways[node].incomplete;
    spend(f, EFFORT_OF_WAY * f->ways[node].tried);
    list_made(f, node);
    for (uint32_t i = 0; i < f->nmade; i++)
        f->sums[f->made[i].node] = f->ways[node].sums;
    return true;
}

/* List the ways of the ops outside first, while their present assignments stand. */
static bool find_ways(struct region *f)
{
    for (uint32_t i = 0; i < f->steps.n; i++) {
        uint32_t node = f->steps.nodes[i];

        if (!(f->roles[node] & ROLE_CHOOSES) && placement_is_free(f->p, node) &&
            !find_way_outside(f, node))
            return false;
    }
    for (uint32_t i = 0; i < f->steps.n && f->out->proven; i++)
        if (f->roles[f->steps.nodes[i]] & ROLE_CHOOSES && !find_ways_of(f, f->steps.nodes[i]))
            return false;
    return true;
}

/* List the homes that a value may have under the ways of its op, without repeats. */
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

static struct supply_spec spec_of(const struct region *f, uint32_t node)
{
    double left = (f->limits->effort - f->out->effort) / EFFORT_OF_PRICE;

    return (struct supply_spec){.node = node,
                                .given = f->given,
                                .agrees = f->agrees,
                                .ways = f->ways,
                                .later = f->later,
                                .prices_max = price_worked_out(f->p->price) +
                                              (uint64_t)fmin(fmax(left, 0), PRICES_MAX),
                                .nhomes = 1,
                                .homes = &f->p->nodes[node].home};
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

/* Lower bound on resharding operands whose sharding is given, when another operand carries the
 * downstream cost. */
static double floor_of(struct region *f, uint32_t node, const struct way *way)
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

/* For each way of an op, bound the downstream cost; the supplies of its results must be known. */
static bool find_later(struct region *f, uint32_t node)
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

/* Set up the supplies of an op's results, whose readers all come later, then the op's downstream
 * costs. */
static bool find_supplies_of_op(struct region *f, uint32_t node)
{
    const struct ways *ways = &f->ways[node];
    uint32_t *homes = malloc((ways->n + (size_t)1) * sizeof *homes);
    bool good = homes != NULL;

    list_made(f, node);
    for (uint32_t i = 0; i < f->nmade && good; i++) {
        struct supply_spec spec = spec_of(f, f->made[i].node);

        spec.nhomes = list_homes(ways, f->made[i].result, homes);
        spec.homes = homes;
        good = find_supply(f, &spec);
    }
    free(homes);
    return good && (!f->out->proven || find_later(f, node));
}

static bool find_supplies(struct region *f)
{
    for (uint32_t i = f->around.n; i-- > 0 && f->out->proven;) {
        uint32_t node = f->around.nodes[i];
        struct supply_spec spec = spec_of(f, node);

        if (f->given[node] && !find_supply(f, &spec))
            return false;
        if (f->roles[node] & ROLE_CHOOSES && !find_supplies_of_op(f, node))
            return false;
    }
    return true;
}

static void drop(struct region *f)
{
    for (uint32_t i = 0; i < f->around.n; i++) {
        uint32_t node = f->around.nodes[i];

        ways_fini(&f->ways[node]);
        supply_fini(&f->supplies[node]);
        free(f->later[node]);
        f->later[node] = NULL;
    }
    for (uint32_t i = 0; i <= f->steps.n; i++) {
        free(f->layers[i].slots);
        free(f->layers[i].states);
        free(f->layers[i].paid);
        free(f->layers[i].bound);
        free(f->layers[i].parent);
        free(f->layers[i].way);
        free(f->layers[i].index);
        memset(&f->layers[i], 0, sizeof f->layers[i]);
    }
}

struct region *region_create(struct placement *placement)
{
    struct region *f = calloc(1, sizeof *f);
    size_t n = (size_t)placement->graph->nnodes + 1;

    if (!f)
        return NULL;
    f->p = placement;
    f->roles = calloc(n, sizeof *f->roles);
    f->given = calloc(n, sizeof *f->given);
    f->around.nodes = malloc(n * sizeof *f->around.nodes);
    f->steps.nodes = malloc(n * sizeof *f->steps.nodes);
    f->kept = malloc(n * sizeof *f->kept);
    f->agrees = calloc(n, sizeof *f->agrees);
    f->sums = calloc(n, sizeof *f->sums);
    f->ways = calloc(n, sizeof *f->ways);
    f->later = calloc(n, sizeof *f->later);
    f->supplies = calloc(n, sizeof *f->supplies);
    f->at = calloc(n, sizeof *f->at);
    f->made = malloc(n * sizeof *f->made);
    f->layers = calloc(n, sizeof *f->layers);
    if (f->roles && f->given && f->around.nodes && f->steps.nodes && f->kept && f->agrees &&
        f->sums && f->ways && f->later && f->supplies && f->at && f->made && f->layers)
        return f;
    region_destroy(f);
    return NULL;
}

void region_destroy(struct region *f)
{
    if (!f)
        return;
    free(f->roles);
    free(f->given);
    free(f->around.nodes);
    free(f->steps.nodes);
    free(f->kept);
    free(f->agrees);
    free(f->sums);
    free(f->ways);
    free(f->later);
    free(f->supplies);
    free(f->at);
    free(f->made);
    free(f->layers);
    free(f);
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

/* A partial placement that is being added to a layer. */
struct partial {
    double paid, bound;
    uint32_t parent, way;
    const uint32_t *states;
};

/* Add a partial placement, unless the layer has one with equal states that costs no more. */
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

/* The first layer: given values in their start states; only their outputs are paid. */
static bool first_layer(struct region *f)
{
    struct layer *l = &f->layers[0];
    uint32_t *states = malloc((f->around.n + (size_t)1) * sizeof *states);
    struct partial x = {.states = states};
    bool good;

    l->slots = malloc((f->around.n + (size_t)1) * sizeof *l->slots);
    for (uint32_t i = 0; i < f->around.n && states && l->slots; i++) {
        uint32_t node = f->around.nodes[i];
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
            uint32_t h = home_of(made, s->ways->list[w].homes[f->made[i].result]);

            s->start_paid[w] += made->start_cost[h];
            s->start_bound[w] += bound_of(made, made->start[h]);
            s->starts[(size_t)w * f->nmade + i] = made->start[h];
        }
    }
}

static bool init_step(struct region *f, struct step *s, uint32_t number)
{
    struct layer *now = &f->layers[number], *next = &f->layers[number + 1];
    size_t nways;

    memset(s, 0, sizeof *s);
    s->node = f->steps.nodes[number];
    s->ways = f->ways[s->node].n > 0 ? &f->ways[s->node] : NULL;
    nways = s->ways ? s->ways->n : 1;
    f->nmade = 0;
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
    return rules_by(f, s->node, homes);
}

static bool can_keep(const struct region *f, const struct step *s, const struct rules *rules)
{
    bool any = f->roles[s->node] & ROLE_KEEPS;

    for (uint32_t w = 0; s->ways && w < s->ways->n && !any; w++)
        any = keeps(&s->ways->list[w], rules);
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
static bool read_operands(struct region *f, const struct step *s, uint32_t way,
                          uint32_t states[GRAPH_INPUTS_MAX], struct partial *x)
{
    const struct graph_node *g = &f->p->graph->nodes[s->node];

    for (uint32_t i = 0; i < s->noperands; i++)
        x->bound -= bound_of(&f->supplies[s->operands[i]], states[i]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t i = s->which[k], next;
        struct supply *v;
        double rows;
        uint32_t need;

        if (i == OUTSIDE)
            continue;
        v = &f->supplies[s->operands[i]];
        need = supply_need(v, states[i], way, &rows);

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

/* Extend a partial placement by one way; `states` has room for a state of the next layer. */
static bool try_way(struct region *f, const struct step *s, uint32_t number, uint32_t parent,
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

static bool try_all(struct region *f, const struct step *s, uint32_t number, uint32_t *states)
{
    struct layer *now = &f->layers[number];

    for (uint32_t i = 0; i < now->n; i++) {
        const struct rules rules = rules_that_count(f, s, now->states + (size_t)i * now->nslots);
        uint32_t nways = s->ways ? s->ways->n : 1;

        spend(f, EFFORT_OF_TRY * nways);
        f->out->proven &= ++f->out->nodes <= f->limits->nodes;
        if (!f->out->proven)
            return true;
        for (uint32_t w = 0; w < nways; w++)
            if ((!s->ways || keeps(&s->ways->list[w], &rules)) &&
                !try_way(f, s, number, i, w, states))
                return false;
    }
    return true;
}

/* Free what only extending needs; parents and ways stay for backtracking. */
static void drop_states(struct layer *l)
{
    free(l->states);
    free(l->index);
    free(l->bound);
    l->states = l->index = NULL;
    l->bound = NULL;
}

static bool take_step(struct region *f, uint32_t number)
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

static bool find(struct region *f)
{
    if (!find_ways(f))
        return false;
    if (!f->out->proven)
        return true;
    if (!find_supplies(f) || (f->out->proven && !first_layer(f)))
        return false;
    for (uint32_t i = 0; i < f->steps.n && f->out->proven; i++)
        if (!take_step(f, i))
            return false;
    f->out->found = f->out->proven && f->layers[f->steps.n].n > 0;
    if (f->out->found)
        f->out->price = f->layers[f->steps.n].paid[0];
    return true;
}

bool region_find(struct region_best *out, struct region *region, double below,
                 const struct region_limits *limits)
{
    bool good;

    *out = (struct region_best){.proven = true};
    region->out = out;
    region->limits = limits;
    region->below = fmin(below, PRICE_IMPOSSIBLE) * (1 - REGION_ROUNDING);
    keep(region);
    good = find(region) && !price_failed(region->p->price);
    put_back(region);
    if (good && out->found)
        place_found(region);
    drop(region);
    return good;
}
