/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops.h"
#include "partition/region_work.h"
#include "partition/tally.h"

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

bool region_keeps(const struct way *way, const struct rules *rules)
{
    for (uint32_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (rules->sums >> a & 1 && way->assign.place[a] != ASSIGN_PARTIAL)
            return false;
    return !(rules->busy & ~way->busy) && way->sharers >= rules->sharers &&
           busy_keeps_agreed(&way->assign, rules->agreed);
}

struct rules region_rules_by(const struct region *f, uint32_t node,
                             const struct shd_sharding *const homes[GRAPH_INPUTS_MAX])
{
    const struct graph_node *g = &f->p->graph->nodes[node];
    struct rules rules = {.sharers = f->p->nodes[node].sharers};

    for (uint32_t k = 0; k < g->ninputs; k++) {
        if (graph_op(g->op)->heavy)
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
    rules = region_rules_by(f, node, homes);
    return region_keeps(way, &rules);
}

/* ---- setting up ---- */

/* Whether a heavy op with an assignment is cut by the axes that its operands agree on. */
static bool agrees_now(const struct region *f, uint32_t node)
{
    const struct placement_node *n = &f->p->nodes[node];
    const struct shd_sharding *homes[GRAPH_INPUTS_MAX];
    uint32_t agreed[RULE_FACTORS_MAX];

    if (!graph_op(f->p->graph->nodes[node].op)->heavy || n->home == PLACEMENT_UNKNOWN)
        return false;
    find_homes(homes, f, node);
    busy_agreed(agreed, &n->rule, homes);
    return busy_keeps_agreed(&n->assign, agreed);
}

void region_keep(struct region *f)
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

void region_put_back(struct region *f)
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

void region_list_made(struct region *f, uint32_t node)
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

void region_spend(struct region *f, double effort)
{
    f->out->effort += effort;
    f->out->proven &= f->out->effort <= f->limits->effort;
}

/* Set up the supply of a value of the region. */
static void find_supply(struct region *f, const struct supply_spec *spec)
{
    struct supply *s = &f->supplies[spec->node];
    uint64_t before = price_worked_out(f->p->price);

    supply_init(s, f->finding, f->p, spec);
    f->out->proven &= !s->given_up;
    region_spend(f, (double)s->nneeds * (s->nneeds + s->nhomes) +
                        EFFORT_OF_PRICE * (double)(price_worked_out(f->p->price) - before));
}

static void find_way_outside(struct region *f, uint32_t node)
{
    ways_init_one(&f->ways[node], f->finding, f->p, node);
    f->roles[node] &= (uint8_t)~ROLE_KEEPS;
    if (keeps_now(f, node, &f->ways[node].list[0]))
        f->roles[node] |= ROLE_KEEPS;
}

static void find_ways_of(struct region *f, uint32_t node)
{
    const struct graph_node *g = &f->p->graph->nodes[node];
    uint32_t of_operands[GRAPH_INPUTS_MAX] = {0};

    for (uint32_t k = 0; k < g->ninputs; k++)
        of_operands[k] = sums_of(f, g->inputs[k]);
    ways_init(&f->ways[node], f->finding, f->p, node, of_operands, &f->limits->ways);
    f->out->proven &= !f->ways[node].incomplete;
    region_spend(f, EFFORT_OF_WAY * f->ways[node].tried);
    region_list_made(f, node);
    for (uint32_t i = 0; i < f->nmade; i++)
        f->sums[f->made[i].node] = f->ways[node].sums;
}

void region_find_ways(struct region *f)
{
    for (uint32_t i = 0; i < f->steps.n; i++) {
        uint32_t node = f->steps.nodes[i];

        if (!(f->roles[node] & ROLE_CHOOSES) && placement_is_free(f->p, node))
            find_way_outside(f, node);
    }
    for (uint32_t i = 0; i < f->steps.n && f->out->proven; i++)
        if (f->roles[f->steps.nodes[i]] & ROLE_CHOOSES)
            find_ways_of(f, f->steps.nodes[i]);
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

uint32_t region_home_of(const struct supply *s, uint32_t number)
{
    uint32_t h = 0;

    while (s->homes[h] != number)
        h++;
    return h;
}

double region_bound_of(const struct supply *s, uint32_t state)
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
static void find_later(struct region *f, uint32_t node)
{
    const struct ways *ways = &f->ways[node];
    double *later = pool_array(f->finding, ways->n, sizeof *later);

    f->later[node] = later;
    region_list_made(f, node);
    for (uint32_t w = 0; w < ways->n; w++) {
        later[w] = ways->list[w].work + floor_of(f, node, &ways->list[w]);
        for (uint32_t i = 0; i < f->nmade; i++) {
            const struct supply *s = &f->supplies[f->made[i].node];
            uint32_t h = region_home_of(s, ways->list[w].homes[f->made[i].result]);

            later[w] += s->start_cost[h] + region_bound_of(s, s->start[h]);
        }
        later[w] = fmin(later[w], PRICE_IMPOSSIBLE) / supply_npayers(f->p, f->given, node);
    }
}

/* Set up the supplies of an op's results, whose readers all come later, then the op's downstream
 * costs. */
static void find_supplies_of_op(struct region *f, uint32_t node)
{
    const struct ways *ways = &f->ways[node];
    uint32_t *homes = pool_array(f->finding, ways->n, sizeof *homes);

    region_list_made(f, node);
    for (uint32_t i = 0; i < f->nmade; i++) {
        struct supply_spec spec = spec_of(f, f->made[i].node);

        spec.nhomes = list_homes(ways, f->made[i].result, homes);
        spec.homes = homes;
        find_supply(f, &spec);
    }
    pool_drop(f->finding, homes);
    if (f->out->proven)
        find_later(f, node);
}

void region_find_supplies(struct region *f)
{
    for (uint32_t i = f->around.n; i-- > 0 && f->out->proven;) {
        uint32_t node = f->around.nodes[i];
        struct supply_spec spec = spec_of(f, node);

        if (f->given[node])
            find_supply(f, &spec);
        if (f->roles[node] & ROLE_CHOOSES)
            find_supplies_of_op(f, node);
    }
}

void region_drop(struct region *f)
{
    for (uint32_t i = 0; i < f->around.n; i++) {
        uint32_t node = f->around.nodes[i];

        f->ways[node] = (struct ways){0};
        f->supplies[node] = (struct supply){.pool = NULL};
        f->later[node] = NULL;
    }
    memset(f->layers, 0, (f->steps.n + (size_t)1) * sizeof *f->layers);
    pool_drop(f->pool, f->finding);
}

struct region *region_create(struct pool *pool, struct placement *placement)
{
    struct region *f = pool_array(pool, 1, sizeof *f);
    size_t n = placement->graph->nnodes;

    *f = (struct region){.pool = pool,
                         .p = placement,
                         .roles = pool_array(pool, n, sizeof *f->roles),
                         .given = pool_array(pool, n, sizeof *f->given),
                         .around.nodes = pool_array(pool, n, sizeof *f->around.nodes),
                         .steps.nodes = pool_array(pool, n, sizeof *f->steps.nodes),
                         .kept = pool_array(pool, n, sizeof *f->kept),
                         .agrees = pool_array(pool, n, sizeof *f->agrees),
                         .sums = pool_array(pool, n, sizeof *f->sums),
                         .ways = pool_array(pool, n, sizeof *f->ways),
                         .later = pool_array(pool, n, sizeof *f->later),
                         .supplies = pool_array(pool, n, sizeof *f->supplies),
                         .at = pool_array(pool, n, sizeof *f->at),
                         .made = pool_array(pool, n, sizeof *f->made),
                         .layers = pool_array(pool, n + 1, sizeof *f->layers)};
    return f;
}
