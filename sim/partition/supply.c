/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/supply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops.h"
#include "base/array.h"
#include "partition/busy.h"
#include "partition/tally.h"

/* ---- downstream costs of a reader ---- */

static bool is_repeated(const struct graph_node *g, uint32_t k)
{
    for (uint32_t j = 0; j < k; j++)
        if (g->inputs[j] == g->inputs[k])
            return true;
    return false;
}

uint32_t supply_npayers(const struct placement *p, const bool *given, uint32_t reader)
{
    const struct graph_node *g = &p->graph->nodes[reader];
    uint32_t n = 0;

    for (uint32_t k = 0; k < g->ninputs; k++)
        n += !given[g->inputs[k]] && !is_repeated(g, k);
    return n ? n : 1;
}

bool supply_pays(const struct placement *p, const bool *given, uint32_t reader, uint32_t k)
{
    const struct graph_node *g = &p->graph->nodes[reader];
    bool any = false;

    if (is_repeated(g, k))
        return false;
    for (uint32_t j = 0; j < g->ninputs; j++)
        any |= !given[g->inputs[j]];
    return any ? !given[g->inputs[k]] : k == 0;
}

/* ---- readers ---- */

static uint32_t find_or_add(struct supply *s, uint32_t number, uint32_t times)
{
    for (uint32_t i = 0; i < s->nneeds; i++)
        if (s->needs[i] == number && s->times[i] == times)
            return i;
    s->needs[s->nneeds] = number;
    s->times[s->nneeds] = times;
    return s->nneeds++;
}

/* Reshard cost between two needed shardings; impossible if they are used at different frequencies
 * (per step, per microbatch). */
static double cost_between(const struct supply *s, struct placement *p, uint32_t from, uint32_t to)
{
    return s->times[from] == s->times[to]
               ? tally_reshard(p, s->node, s->needs[from], s->needs[to], s->times[to])
               : PRICE_IMPOSSIBLE;
}

/* Number of readers without aliases, which cost nothing. */
static uint32_t count_readers(const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];
    uint32_t count = 0;

    for (uint32_t r = 0; r < n->nreaders; r++)
        count += !placement_is_alias(p, n->readers[r].node);
    return count;
}

static uint32_t nways_of(const struct supply_reader *r)
{
    return r->ways ? r->ways->n : 1;
}

/* Sharding number that a reader needs under a way, with the value's home as set in the placement.
 */
static uint32_t number_of(struct placement *p, const struct supply_reader *r, uint32_t way,
                          double *rows)
{
    struct placement_node *n = &p->nodes[r->node];

    *rows = 0;
    if (!r->ways)
        return n->home;
    if (!r->by_home)
        return r->ways->list[way].needs[r->operand];
    n->assign = r->ways->list[way].assign;
    placement_settle(p, r->node);
    *rows = tally_rows(p, r->node, r->operand);
    return n->needs[r->operand];
}

/* What a reader sees of a value's home besides reshard prices: the axes that must share its work,
 * the partial sum that it must pass on, or the whole home. */
static uint32_t sight_of(const struct placement *p, const struct supply_reader *r, bool agrees,
                         uint32_t home)
{
    const struct graph_node *g = &p->graph->nodes[r->node];
    const struct shd_sharding *s = price_sharding(p->price, home);

    if (r->by_home || agrees)
        return home;
    if (r->ways && graph_op(g->op)->heavy)
        return busy_brought(&p->nodes[r->node].rule, r->operand, s);
    if (r->ways && assign_converts_sum(g) && s->partial_op == SHD_SUM)
        return s->partial;
    return 0;
}

static void init_reader(struct supply_reader *r, struct placement *p, const struct supply *s,
                        const struct supply_spec *spec, const struct placement_reader *at)
{
    size_t n;

    r->node = at->node;
    r->operand = at->operand;
    r->times = placement_times(p, at->node);
    r->ways = spec->ways[at->node].n ? &spec->ways[at->node] : NULL;
    r->by_home = placement_takes_home(p, at->node, at->operand);
    if (r->ways && supply_pays(p, spec->given, at->node, at->operand))
        r->later = spec->later[at->node];
    n = (r->by_home ? s->nhomes : (size_t)1) * nways_of(r);
    r->needs = pool_array(s->pool, n, sizeof *r->needs);
    r->rows = r->by_home ? pool_array(s->pool, n, sizeof *r->rows) : NULL;
    r->sight = pool_array(s->pool, s->nhomes, sizeof *r->sight);
}

static void find_needs(struct supply_reader *r, struct placement *p, struct supply *s,
                       const struct supply_spec *spec)
{
    uint32_t nhomes = r->by_home ? s->nhomes : 1, nways = nways_of(r);

    for (uint32_t h = 0; h < s->nhomes; h++) {
        p->nodes[s->node].home = s->homes[h];
        r->sight[h] = sight_of(p, r, spec->agrees[r->node], s->homes[h]);
        for (uint32_t w = 0; h < nhomes && w < nways; w++) {
            double rows;

            r->needs[h * nways + w] = find_or_add(s, number_of(p, r, w, &rows), r->times);
            if (r->rows)
                r->rows[h * nways + w] = rows;
        }
    }
}

static void mark_last(struct supply *s)
{
    for (uint32_t i = 0; i < s->nreaders; i++) {
        const struct supply_reader *r = &s->readers[i];
        uint32_t n = nways_of(r) * (r->by_home ? s->nhomes : 1);

        for (uint32_t w = 0; w < n; w++)
            s->last[r->needs[w]] = i;
    }
}

static bool may_go_on(struct supply *s, const struct placement *p)
{
    s->given_up |= price_worked_out(p->price) > s->prices_max;
    return !s->given_up;
}

/* Lower bound of each need's cost after a reader.  A need that the reader may itself have had costs
 * nothing; prices are looked up only for needs that a later reader may have. */
static void find_relief(struct supply *s, struct placement *p, uint32_t reader)
{
    const struct supply_reader *r = &s->readers[reader];
    uint32_t n = nways_of(r) * (r->by_home ? s->nhomes : 1);

    for (uint32_t m = 0; m < s->nneeds; m++)
        r->relief[m] = PRICE_IMPOSSIBLE;
    for (uint32_t w = 0; w < n; w++)
        r->relief[r->needs[w]] = 0;
    for (uint32_t m = 0; m < s->nneeds && may_go_on(s, p); m++)
        for (uint32_t w = 0; w < n && s->last[m] > reader && r->relief[m] > 0; w++)
            r->relief[m] = fmin(r->relief[m], cost_between(s, p, r->needs[w], m));
}

static void find_between(struct supply *s, struct placement *p)
{
    for (uint32_t i = 0; i < s->nneeds && may_go_on(s, p); i++)
        for (uint32_t j = 0; j < s->nneeds; j++)
            s->between[i * s->nneeds + j] = s->last[j] > 0 && i != j ? cost_between(s, p, i, j) : 0;
}

static void init_readers(struct supply *s, struct placement *p, const struct supply_spec *spec)
{
    const struct placement_node *n = &p->nodes[s->node];
    size_t most = 0;

    s->readers = pool_array(s->pool, count_readers(p, s->node), sizeof *s->readers);
    for (uint32_t r = 0; r < n->nreaders; r++) {
        struct supply_reader *reader = &s->readers[s->nreaders];

        if (placement_is_alias(p, n->readers[r].node))
            continue;
        s->nreaders++;
        init_reader(reader, p, s, spec, &n->readers[r]);
        most += (size_t)nways_of(reader) * (reader->by_home ? s->nhomes : 1);
    }
    s->needs = pool_array(s->pool, most, sizeof *s->needs);
    s->times = pool_array(s->pool, most, sizeof *s->times);
    for (uint32_t r = 0; r < s->nreaders; r++)
        find_needs(&s->readers[r], p, s, spec);
}

static void init_prices(struct supply *s, struct placement *p)
{
    size_t n = s->nneeds;

    s->last = pool_array(s->pool, n, sizeof *s->last);
    mark_last(s);
    if (s->nreaders > 1) {
        s->between = pool_array(s->pool, n * n, sizeof *s->between);
        find_between(s, p);
    }
    for (uint32_t r = 0; r < s->nreaders; r++) {
        s->readers[r].relief = pool_array(s->pool, n, sizeof *s->readers[r].relief);
        find_relief(s, p, r);
    }
}

double supply_floor(struct placement *p, const struct supply_spec *spec, uint32_t reader,
                    uint32_t need)
{
    const struct placement_node *n = &p->nodes[spec->node];
    uint32_t times = placement_times(p, n->readers[reader].node);
    struct tally_versions v;
    double least;

    (void)tally_outputs(p, spec->node, &v);
    least = tally_least(p, spec->node, &v, need, times);
    for (uint32_t i = 0; i < reader && least > 0; i++) {
        const struct supply_reader r = {
            .node = n->readers[i].node,
            .operand = n->readers[i].operand,
            .times = placement_times(p, n->readers[i].node),
            .ways = spec->ways[n->readers[i].node].n ? &spec->ways[n->readers[i].node] : NULL,
            .by_home = placement_takes_home(p, n->readers[i].node, n->readers[i].operand)};

        if (placement_is_alias(p, r.node) || r.times != times)
            continue;
        for (uint32_t w = 0; w < nways_of(&r); w++) {
            double rows;

            least =
                fmin(least, tally_reshard(p, spec->node, number_of(p, &r, w, &rows), need, times));
        }
    }
    return least;
}

/* ---- states of a value ---- */

/* Lower bound for a reader: the cost of the cheapest source. */
static double bound_of_reader(const struct supply_reader *r, uint32_t home, const double *costs)
{
    uint32_t nways = nways_of(r), at = r->by_home ? home * nways : 0;
    double least = INFINITY;

    for (uint32_t w = 0; w < nways; w++)
        least = fmin(least, costs[r->needs[at + w]] + (r->rows ? r->rows[at + w] : 0) +
                                (r->later ? r->later[w] : 0));
    return least;
}

/* Lower bound for all remaining readers; overwrites `costs`. */
static double bound_of(const struct supply *s, uint32_t reader, uint32_t home, double *costs)
{
    double bound = 0;

    for (uint32_t r = reader; r < s->nreaders; r++) {
        bound += bound_of_reader(&s->readers[r], home, costs);
        for (uint32_t m = 0; m < s->nneeds; m++)
            costs[m] = fmin(costs[m], s->readers[r].relief[m]);
    }
    return fmin(bound, PRICE_IMPOSSIBLE);
}

/* The bound of the readers from each one on, for each home, where no need costs anything: a value
 * that all readers take as it is may have as many as there are parameters. */
static void find_floors(struct supply *s)
{
    double *costs = pool_array(s->pool, s->nneeds, sizeof *costs);

    s->floors = pool_array(s->pool, (s->nreaders + (size_t)1) * s->nhomes, sizeof *s->floors);
    for (uint32_t r = s->nreaders; r-- > 0;)
        for (uint32_t h = 0; h < s->nhomes; h++)
            s->floors[(size_t)r * s->nhomes + h] = bound_of_reader(&s->readers[r], h, costs) +
                                                   s->floors[((size_t)r + 1) * s->nhomes + h];
    pool_drop(s->pool, costs);
}

static bool costs_nothing(const struct supply *s, const double *costs)
{
    for (uint32_t m = 0; m < s->nneeds; m++)
        if (costs[m] > 0)
            return false;
    return true;
}

static uint64_t hash_state(const struct supply *s, uint32_t reader, uint32_t home,
                           const double *costs)
{
    uint64_t h = ((uint64_t)reader << 32) + home;

    for (uint32_t m = 0; m < s->nneeds; m++) {
        uint64_t bits;

        memcpy(&bits, &costs[m], sizeof bits);
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static void add_state(struct supply *s, uint32_t reader, uint32_t home, const double *costs)
{
    size_t n = s->nneeds;
    struct supply_state t = {.reader = reader,
                             .home = home,
                             .costs = pool_array(s->pool, n, sizeof *t.costs),
                             .next = pool_array(s->pool, n, sizeof *t.next)};

    pool_make_room(s->pool, &s->states, s->nstates, sizeof *s->states);
    memcpy(t.costs, costs, n * sizeof *t.costs);
    t.bound = costs_nothing(s, costs)
                  ? fmin(s->floors[(size_t)reader * s->nhomes + home], PRICE_IMPOSSIBLE)
                  : bound_of(s, reader, home, t.costs);
    memcpy(t.costs, costs, n * sizeof *t.costs);
    for (size_t m = 0; m < n; m++)
        t.next[m] = SUPPLY_DONE;
    s->states[s->nstates++] = t;
}

/* Lowest-numbered home that all remaining readers treat like `home`. */
static uint32_t same_home(const struct supply *s, uint32_t reader, uint32_t home)
{
    for (uint32_t h = 0; h < home; h++) {
        bool same = true;

        for (uint32_t r = reader; r < s->nreaders && same; r++)
            same = s->readers[r].sight[h] == s->readers[r].sight[home];
        if (same)
            return h;
    }
    return home;
}

/* Find or add a state; costs of needs that no remaining reader can have become 0. */
static uint32_t find_state(struct supply *s, uint32_t reader, uint32_t home, double *costs)
{
    struct map_walk walk;
    uint64_t hash;
    uint32_t found;

    if (reader == s->nreaders)
        return SUPPLY_DONE;
    home = same_home(s, reader, home);
    for (uint32_t m = 0; m < s->nneeds; m++)
        if (s->last[m] < reader)
            costs[m] = 0;
    hash = hash_state(s, reader, home, costs);
    walk = map_find(&s->numbers, hash);
    while ((found = map_next(&walk)) != MAP_NONE) {
        const struct supply_state *t = &s->states[found];

        if (t->reader == reader && t->home == home &&
            memcmp(t->costs, costs, s->nneeds * sizeof *costs) == 0)
            return found;
    }
    map_add_in(&s->numbers, s->pool, hash, s->nstates);
    add_state(s, reader, home, costs);
    return s->nstates - 1;
}

uint32_t supply_read(struct supply *s, uint32_t state, uint32_t need)
{
    const struct supply_state t = s->states[state];
    double *costs;

    if (t.next[need] != SUPPLY_DONE || t.reader + 1 == s->nreaders)
        return t.next[need];
    costs = pool_array(s->pool, s->nneeds, sizeof *costs);
    for (uint32_t m = 0; m < s->nneeds; m++)
        costs[m] =
            t.costs[need] == 0 ? t.costs[m] : fmin(t.costs[m], s->between[need * s->nneeds + m]);
    t.next[need] = find_state(s, t.reader + 1, t.home, costs);
    pool_drop(s->pool, costs);
    return t.next[need];
}

uint32_t supply_need(const struct supply *s, uint32_t state, uint32_t way, double *rows)
{
    const struct supply_state *t = &s->states[state];
    const struct supply_reader *r = &s->readers[t->reader];
    uint32_t at = (r->by_home ? t->home * nways_of(r) : 0) + way;

    *rows = r->rows ? r->rows[at] : 0;
    return r->needs[at];
}

static void find_starts(struct supply *s, struct placement *p)
{
    double *costs = pool_array(s->pool, s->nneeds, sizeof *costs);

    for (uint32_t h = 0; h < s->nhomes && may_go_on(s, p); h++) {
        struct tally_versions v;

        p->nodes[s->node].home = s->homes[h];
        s->start_cost[h] = tally_outputs(p, s->node, &v);
        for (uint32_t m = 0; m < s->nneeds; m++)
            costs[m] = tally_least(p, s->node, &v, s->needs[m], s->times[m]);
        s->start[h] = find_state(s, 0, h, costs);
    }
    pool_drop(s->pool, costs);
}

void supply_init(struct supply *s, struct pool *pool, struct placement *p,
                 const struct supply_spec *spec)
{
    uint32_t home = p->nodes[spec->node].home;

    *s = (struct supply){.pool = pool,
                         .node = spec->node,
                         .nhomes = spec->nhomes,
                         .prices_max = spec->prices_max,
                         .homes = pool_array(pool, spec->nhomes, sizeof *s->homes),
                         .start = pool_array(pool, spec->nhomes, sizeof *s->start),
                         .start_cost = pool_array(pool, spec->nhomes, sizeof *s->start_cost)};
    memcpy(s->homes, spec->homes, spec->nhomes * sizeof *s->homes);
    init_readers(s, p, spec);
    init_prices(s, p);
    find_floors(s);
    find_starts(s, p);
    p->nodes[spec->node].home = home;
}
