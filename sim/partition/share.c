/* Moves of several readers at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/improve.h"

#include "partition/tally.h"

#define TOGETHER_MAX 16 /* readers of one value */
#define AFFECTED_MAX 256

/* Nodes whose costs a move may change, each once. */
struct affected {
    uint32_t n;
    uint32_t nodes[AFFECTED_MAX];
};

static void affect(struct affected *set, uint32_t node)
{
    for (uint32_t i = 0; i < set->n; i++)
        if (set->nodes[i] == node)
            return;
    if (set->n < AFFECTED_MAX)
        set->nodes[set->n++] = node;
}

/* A value and its aliases; those beyond the room are left out, the move is judged without them. */
static void affect_named(struct affected *set, const struct choose *c, uint32_t node)
{
    const struct choose_node *n = &c->nodes[node];

    affect(set, node);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (choose_is_alias(c, n->readers[r].node))
            affect_named(set, c, n->readers[r].node);
}

static void find_affected(struct affected *set, const struct choose *c, uint32_t node)
{
    const struct choose_node *n = &c->nodes[node];

    set->n = 0;
    affect(set, node);
    for (uint32_t r = 0; r < n->nreaders; r++) {
        const struct graph_node *reader = &c->graph->nodes[n->readers[r].node];

        affect_named(set, c, n->readers[r].node);
        for (uint32_t k = 0; k < reader->ninputs; k++)
            affect(set, reader->inputs[k]);
        for (uint32_t x = 0; x < reader->nextras; x++)
            affect_named(set, c, reader->extras[x]);
    }
}

static double affected_cost(struct choose *c, const struct affected *set)
{
    double cost = 0;

    for (uint32_t i = 0; i < set->n; i++)
        cost += tally_value(c, set->nodes[i]) + tally_work(c, set->nodes[i]);
    return cost;
}

/* Let all readers of a value choose as if it lay in another sharding as well; keep that when it
 * pays for bringing the value there once.  One by one each would find its own way around. */
static bool share(struct choose *c, uint32_t node, const struct shd_sharding *as)
{
    struct choose_node *n = &c->nodes[node];
    struct assign before[TOGETHER_MAX];
    struct affected set;
    double cost;
    bool better;

    find_affected(&set, c, node);
    cost = affected_cost(c, &set);
    for (uint32_t r = 0; r < n->nreaders; r++)
        before[r] = c->nodes[n->readers[r].node].assign;
    n->gift = price_number(c->price, as);
    for (uint32_t r = 0; r < n->nreaders; r++)
        if (choose_is_free(c, n->readers[r].node))
            choose_improve(c, n->readers[r].node);
    n->gift = CHOOSE_UNKNOWN;
    better = affected_cost(c, &set) < cost * (1 - 1e-12);
    for (uint32_t r = 0; r < n->nreaders && !better; r++)
        if (choose_is_free(c, n->readers[r].node)) {
            c->nodes[n->readers[r].node].assign = before[r];
            choose_settle(c, n->readers[r].node);
        }
    return better;
}

/* The same sharding without an axis; false when the axis cuts nothing. */
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

/* Every value with several readers: its home less one of the axes that cut it, or combined. */
bool share_all(struct choose *c)
{
    bool changed = false;

    for (uint32_t node = 0; node < c->graph->nnodes; node++) {
        const struct choose_node *n = &c->nodes[node];
        struct shd_sharding home, as;

        if (!n->live || n->home == CHOOSE_UNKNOWN || n->nreaders < 2 || n->nreaders > TOGETHER_MAX)
            continue;
        home = *price_sharding(c->price, n->home);
        if (home.partial) {
            as = home;
            as.partial = as.partial_op = 0;
            changed |= share(c, node, &as);
        }
        for (size_t a = 0; a < shd_mesh_naxes(c->mesh); a++)
            if (without_axis(&as, &home, a))
                changed |= share(c, node, &as);
    }
    return changed;
}
