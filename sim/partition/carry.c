/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/carry.h"

#include "partition/affected.h"
#include "partition/improve.h"
#include "partition/tally.h"

/* Ops that were given another assignment, with the one they had. */
struct changed {
    uint32_t n;
    uint32_t nodes[CARRY_MAX];
    struct assign before[CARRY_MAX];
    bool forced[CARRY_MAX];
};

struct carry {
    struct placement *p;
    struct affected affected;
    double before; /* what these cost */
    struct changed changed;
    uint32_t nwishes, next; /* a queue: ops that are to lie so */
    struct improve_wish wishes[CARRY_MAX];
};

static void affect(struct carry *c, uint32_t node)
{
    if (affected_add(&c->affected, node))
        c->before += tally_value(c->p, node) + tally_work(c->p, node);
}

static void affect_named(struct carry *c, uint32_t node)
{
    const struct placement_node *n = &c->p->nodes[node];

    affect(c, node);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(c->p, n->readers[r].node))
            affect_named(c, n->readers[r].node);
}

/* Note what a change of an op will change, before that; false: there is no room. */
static bool prepare(struct carry *c, uint32_t node, bool forced)
{
    const struct graph_node *g = &c->p->graph->nodes[node];
    struct changed *ch = &c->changed;

    for (uint32_t i = 0; i < ch->n; i++)
        if (ch->nodes[i] == node) {
            bool free = !ch->forced[i];

            ch->forced[i] |= forced;
            return free;
        }
    if (ch->n == CARRY_MAX)
        return false;
    for (uint32_t r = 0; r < c->p->nodes[node].rule.nresults; r++)
        affect_named(c, assign_result_node(c->p->graph, node, r));
    for (uint32_t k = 0; k < g->ninputs; k++)
        affect(c, g->inputs[k]);
    ch->nodes[ch->n] = node;
    ch->before[ch->n] = c->p->nodes[node].assign;
    ch->forced[ch->n++] = forced;
    return !c->affected.full;
}

static void undo(struct carry *c)
{
    for (uint32_t i = c->changed.n; i-- > 0;) {
        c->p->nodes[c->changed.nodes[i]].assign = c->changed.before[i];
        placement_settle_alike(c->p, c->changed.nodes[i]);
    }
}

static void wish(struct carry *c, const struct improve_wish *w)
{
    if (c->nwishes < CARRY_MAX && placement_is_free(c->p, w->node))
        c->wishes[c->nwishes++] = *w;
}

/* The wish that the op which makes a value, whatever this is called, leaves it so. */
static struct improve_wish wish_of_value(const struct placement *p, uint32_t value, uint32_t number)
{
    struct improve_wish w = {.number = number};

    while (placement_is_alias(p, value))
        value = p->graph->nodes[value].inputs[0];
    w.node = p->graph->nodes[value].op == GRAPH_EXTRA ? p->graph->nodes[value].inputs[0] : value;
    while (assign_result_node(p->graph, w.node, w.array) != value)
        w.array++;
    return w;
}

/* The makers of what an op reads are to lie as it needs that. */
static void wish_upwards(struct carry *c, uint32_t node)
{
    const struct graph_node *g = &c->p->graph->nodes[node];

    for (uint32_t k = 0; k < g->ninputs; k++) {
        const struct improve_wish w = wish_of_value(c->p, g->inputs[k], c->p->nodes[node].needs[k]);

        if (w.number != c->p->nodes[g->inputs[k]].home)
            wish(c, &w);
    }
}

/* The readers of a value are to take it as it lies. */
static void wish_downwards(struct carry *c, uint32_t value)
{
    const struct placement_node *n = &c->p->nodes[value];

    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(c->p, n->readers[r].node))
            wish_downwards(c, n->readers[r].node);
        else if (c->p->nodes[n->readers[r].node].needs[n->readers[r].operand] != n->home)
            wish(c,
                 &(struct improve_wish){n->readers[r].node, true, n->readers[r].operand, n->home});
}

/* The free readers of a value choose again, but those that were made to lie as they do. */
static void follow(struct carry *c, uint32_t value)
{
    const struct placement_node *n = &c->p->nodes[value];

    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(c->p, n->readers[r].node))
            follow(c, n->readers[r].node);
        else if (placement_is_free(c->p, n->readers[r].node) &&
                 prepare(c, n->readers[r].node, false))
            (void)improve_node(c->p, n->readers[r].node);
}

static bool pays(struct carry *c)
{
    double after = 0;

    for (uint32_t i = 0; i < c->changed.n; i++)
        if (!improve_keeps_busy(c->p, c->changed.nodes[i]))
            return false;
    for (uint32_t i = 0; i < c->affected.n; i++)
        after += tally_value(c->p, c->affected.nodes[i]) + tally_work(c->p, c->affected.nodes[i]);
    return after < c->before * (1 - 1e-12);
}

/* Fulfil wishes, and those that they bring about, until it pays. */
static bool carry(struct carry *c)
{
    for (; c->next < c->nwishes; c->next++) {
        const struct improve_wish w = c->wishes[c->next];

        if (!prepare(c, w.node, true) || !improve_as_wished(c->p, &w))
            continue;
        if (pays(c))
            return true;
        for (uint32_t r = 0; r < c->p->nodes[w.node].rule.nresults; r++)
            follow(c, assign_result_node(c->p->graph, w.node, r));
        if (pays(c))
            return true;
        wish_upwards(c, w.node);
        for (uint32_t r = 0; r < c->p->nodes[w.node].rule.nresults; r++)
            wish_downwards(c, assign_result_node(c->p->graph, w.node, r));
    }
    return false;
}

/* What pays around one layer is done in all that are alike, and judged by the whole, whose cost is
 * kept in *total: to add it up takes a walk over all ops. */
static bool carry_from(struct placement *p, const struct improve_wish *first, double *total)
{
    struct carry c = {.p = p, .nwishes = 1, .wishes = {*first}};

    if (!placement_is_free(p, first->node))
        return false;
    if (carry(&c)) {
        double after = tally_total(p);

        if (after < *total * (1 - 1e-12)) {
            *total = after;
            return true;
        }
    }
    p->limits.hits[LIMIT_CARRY] += c.changed.n == CARRY_MAX || c.affected.full;
    undo(&c);
    return false;
}

static bool carry_to(struct placement *p, uint32_t value, uint32_t number, double *total)
{
    const struct improve_wish w = wish_of_value(p, value, number);

    return number != p->nodes[value].home && carry_from(p, &w, total);
}

/* All that is needed of a value elsewhere than at its home, one after another. */
static bool carry_needs(struct placement *p, uint32_t node, double *total)
{
    const struct placement_node *n = &p->nodes[node];
    bool changed = false;

    for (uint32_t o = n->output; o < p->graph->noutputs; o++)
        if (p->graph->outputs[o].node == node)
            changed |= carry_to(p, node, placement_output_need(p, o), total);
    for (uint32_t r = 0; r < n->nreaders; r++) {
        uint32_t reader = n->readers[r].node, k = n->readers[r].operand;

        changed |= carry_to(p, node, p->nodes[reader].needs[k], total);
        if (p->nodes[reader].needs[k] != n->home)
            changed |= carry_from(p, &(struct improve_wish){reader, true, k, n->home}, total);
    }
    return changed;
}

/* A value that is brought somewhere else may be less, cut by one more axis. */
static bool carry_cuts(struct placement *p, uint32_t node, double *total)
{
    const struct graph_node *g = &p->graph->nodes[node];
    bool changed = false;

    for (uint8_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
        for (uint32_t d = 0; d < g->rank; d++) {
            struct shd_sharding s = *price_sharding(p->price, p->nodes[node].home);
            int64_t parts = shd_mesh_axis_size(p->mesh, a) * shd_sharding_nshards(&s, d);

            if (parts == shd_sharding_nshards(&s, d) || p->graph->dims[g->dims[d]].size % parts ||
                (shd_sharding_axes(&s) | s.partial) >> a & 1)
                continue;
            s.dims[d].axes[s.dims[d].naxes++] = a;
            changed |= carry_to(p, node, price_number(p->price, &s), total);
        }
    return changed;
}

bool carry_all(struct placement *p)
{
    double total;
    bool changed = false;

    if (p->graph->nnodes > CARRY_GRAPH_MAX) {
        p->limits.hits[LIMIT_CARRY]++;
        return false;
    }
    total = tally_total(p);

    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        const struct placement_node *n = &p->nodes[node];

        if (n->live && n->stands_for && n->home != PLACEMENT_UNKNOWN && tally_value(p, node) > 0) {
            changed |= carry_needs(p, node, &total);
            changed |= carry_cuts(p, node, &total);
        }
    }
    return changed;
}
