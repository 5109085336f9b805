/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/share.h"

#include "partition/affected.h"
#include "partition/improve.h"
#include "partition/tally.h"

/* Add a value and its aliases. */
static void affect_named(struct affected *set, const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];

    (void)affected_add(set, node);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(p, n->readers[r].node))
            affect_named(set, p, n->readers[r].node);
}

static void find_affected(struct affected *set, const struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];

    set->n = 0;
    set->full = false;
    (void)affected_add(set, node);
    for (uint32_t r = 0; r < n->nreaders; r++) {
        const struct graph_node *reader = &p->graph->nodes[n->readers[r].node];

        affect_named(set, p, n->readers[r].node);
        for (uint32_t k = 0; k < reader->ninputs; k++)
            (void)affected_add(set, reader->inputs[k]);
        for (uint32_t x = 0; x < reader->nextras; x++)
            affect_named(set, p, reader->extras[x]);
    }
}

static double affected_cost(struct placement *p, const struct affected *set)
{
    double cost = 0;

    for (uint32_t i = 0; i < set->n; i++)
        cost += tally_value(p, set->nodes[i]) + tally_work(p, set->nodes[i]);
    return cost;
}

/* Let all readers of a value choose while a copy in another sharding costs nothing; keep their
 * choices if they pay for one reshard to that sharding.  One by one, each reader would find its own
 * way around the reshard. */
static bool share(struct placement *p, uint32_t node, const struct shd_sharding *as)
{
    struct placement_node *n = &p->nodes[node];
    struct assign before[TOGETHER_MAX];
    struct affected set;
    double cost;
    bool better;

    find_affected(&set, p, node);
    p->limits.hits[LIMIT_AFFECTED] += set.full;
    cost = affected_cost(p, &set);
    for (uint32_t r = 0; r < n->nreaders; r++)
        before[r] = p->nodes[n->readers[r].node].assign;
    n->gift = price_number(p->price, as);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_free(p, n->readers[r].node))
            improve_node(p, n->readers[r].node);
    n->gift = PLACEMENT_UNKNOWN;
    better = affected_cost(p, &set) < cost * (1 - 1e-12);
    for (uint32_t r = 0; r < n->nreaders && !better; r++)
        if (placement_is_free(p, n->readers[r].node)) {
            p->nodes[n->readers[r].node].assign = before[r];
            placement_settle_alike(p, n->readers[r].node);
        }
    return better;
}

/* The same sharding without an axis; false if the axis shards nothing. */
static bool without_axis(struct shd_sharding *out, const struct shd_sharding *s, size_t axis)
{
    bool cuts = false;

    shd_sharding_init(out, s->mesh, s->rank);
    for (uint32_t d = 0; d < s->rank; d++)
        for (uint8_t a = 0; a < s->dims[d].naxes; a++)
            if (s->dims[d].axes[a] == axis)
                cuts = true;
            else
                out->dims[d].axes[out->dims[d].naxes++] = s->dims[d].axes[a];
    return cuts;
}

/* Try every value with several readers: with its home combined, and with its home less one axis. */
bool share_all(struct placement *p)
{
    bool changed = false;

    for (uint32_t node = 0; node < p->graph->nnodes; node++) {
        const struct placement_node *n = &p->nodes[node];
        struct shd_sharding home, as;

        if (!n->live || !n->stands_for || n->home == PLACEMENT_UNKNOWN || n->nreaders < 2)
            continue;
        if (n->nreaders > TOGETHER_MAX) {
            p->limits.hits[LIMIT_TOGETHER]++;
            continue;
        }
        home = *price_sharding(p->price, n->home);
        if (home.partial) {
            as = home;
            as.partial = as.partial_op = 0;
            changed |= share(p, node, &as);
        }
        for (size_t a = 0; a < shd_mesh_naxes(p->mesh); a++)
            if (without_axis(&as, &home, a))
                changed |= share(p, node, &as);
    }
    return changed;
}
