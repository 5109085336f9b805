/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/improve.h"

#include <string.h>

#include "graph/ops.h"
#include "partition/busy.h"
#include "partition/candidates.h"
#include "partition/tally.h"

struct best {
    bool found;
    double cost;
    struct assign assign;
};

static void consider(struct placement *p, uint32_t node, const struct assign *a, struct best *best)
{
    struct placement_node *n = &p->nodes[node];
    const struct assigned assigned = {p->graph, node, &n->rule, a, p->mesh};
    double cost;

    if (!assign_valid(&assigned) || busy_sharers(a, p->mesh) < n->sharers)
        return;
    n->assign = *a;
    placement_settle(p, node);
    cost = tally_near(p, node);
    if (best->found && cost >= best->cost)
        return;
    *best = (struct best){true, cost, *a};
}

static uint32_t first_digit(uint32_t axis, uint32_t busy)
{
    return busy >> axis & 1;
}

/* Try every combination of the axes' options, in every order of axes; axes in `busy` must cut a
 * factor. */
static void consider_all(struct placement *p, uint32_t node, const struct candidates *cs,
                         uint32_t busy, struct best *best)
{
    uint32_t digits[SHD_MESH_AXES_MAX], naxes = (uint32_t)shd_mesh_naxes(p->mesh), a;
    struct assign assign;

    for (a = 0; a < naxes; a++)
        digits[a] = first_digit(a, busy);
    for (uint32_t tried = 0; tried < COMBINATIONS_MAX; tried++) {
        assign_init(&assign);
        assign.linear_operand = cs->linear_operand;
        for (a = 0; a < naxes; a++)
            assign.place[a] = cs->options[a][digits[a]];
        if (memchr(assign.place, ASSIGN_FLAT, sizeof assign.place))
            assign.flat_dims = cs->flat_dims;
        for (uint32_t o = 0; o < cs->norders; o++) {
            memcpy(assign.order, cs->orders[o], sizeof assign.order);
            consider(p, node, &assign, best);
        }
        for (a = 0; a < naxes && ++digits[a] == cs->noptions[a]; a++)
            digits[a] = first_digit(a, busy);
        if (a == naxes)
            return;
    }
    p->limits.hits[LIMIT_COMBINATIONS]++;
}

/* Give a node, and all alike nodes, the best assignment with all other ops unchanged; true if its
 * shardings changed.  The present assignment wins ties.  If no candidate is shared by enough
 * devices, the node is assigned as by following. */
bool improve_node(struct placement *p, uint32_t node)
{
    struct placement_node *n = &p->nodes[node];
    struct best best = {.found = false};
    struct placement_node before = *n;
    struct candidates cs;
    uint32_t busy;

    candidates_find(p, node, &cs);
    busy = graph_op(p->graph->nodes[node].op)->heavy ? cs.brought : 0;
    if (before.home != PLACEMENT_UNKNOWN && busy_sharers(&n->assign, p->mesh) >= n->sharers &&
        !(busy & ~busy_axes(&n->assign, shd_mesh_naxes(p->mesh))))
        best = (struct best){true, tally_near(p, node), n->assign};
    consider_all(p, node, &cs, busy, &best);
    if (!best.found)
        consider_all(p, node, &cs, 0, &best);
    if (!best.found)
        best.assign = n->followed;
    n->assign = best.assign;
    placement_settle(p, node);
    if (before.home == PLACEMENT_UNKNOWN ||
        memcmp(&n->assign, &before.assign, sizeof n->assign) != 0)
        placement_settle_alike(p, node);
    return n->home != before.home || memcmp(n->needs, before.needs, sizeof n->needs) != 0;
}

bool improve_keeps_busy(const struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    uint32_t brought = 0;

    for (uint32_t k = 0; k < g->ninputs && graph_op(g->op)->heavy; k++)
        brought |= busy_brought(&p->nodes[node].rule, k,
                                price_sharding(p->price, p->nodes[g->inputs[k]].home));
    return !(brought & ~busy_axes(&p->nodes[node].assign, shd_mesh_naxes(p->mesh)));
}
