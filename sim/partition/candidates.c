/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/candidates.h"

#include <string.h>

#include "graph/ops.h"
#include "partition/busy.h"

/* Add an option for an axis, once.  Option 0 is ASSIGN_NONE, except for a sum that must stay
 * partial. */
static void add_option(struct candidates *cs, size_t axis, int place)
{
    for (uint32_t i = 0; i < cs->noptions[axis]; i++)
        if (cs->options[axis][i] == place)
            return;
    if (cs->noptions[axis] < CANDIDATES_OPTIONS_MAX)
        cs->options[axis][cs->noptions[axis]++] = (int8_t)place;
}

/* Add the mesh's order of axes, changed as little as needed for the sharding's order within each
 * dimension. */
static void add_order(struct candidates *cs, const struct shd_sharding *s)
{
    struct assign assign;

    assign_init(&assign);
    assign_take_order(&assign, s);
    for (uint32_t o = 0; o < cs->norders; o++)
        if (!memcmp(cs->orders[o], assign.order, sizeof assign.order))
            return;
    if (cs->norders < CANDIDATES_ORDERS_MAX)
        memcpy(cs->orders[cs->norders++], assign.order, sizeof assign.order);
}

/* Add the places that the axes have in a neighbour's sharding of an array; `factors` are the op's
 * factors of that array's dimensions. */
static void add_neighbour(const struct placement *p, struct candidates *cs, uint32_t node,
                          const int8_t *factors, uint32_t number)
{
    const struct rule *rule = &p->nodes[node].rule;
    const struct shd_sharding *s;
    bool tuple = false;

    if (number == PLACEMENT_UNKNOWN)
        return;
    s = price_sharding(p->price, number);
    for (uint32_t d = 0; d < s->rank; d++) {
        const struct rule_factor *f = &rule->factors[factors[d]];

        for (uint8_t a = 0; a < s->dims[d].naxes && !f->whole; a++)
            add_option(cs, s->dims[d].axes[a], f->follows == RULE_FREE ? factors[d] : f->follows);
        tuple |= s->dims[d].naxes > 1;
    }
    for (uint8_t a = 0; a < s->flat.naxes && rule->flat; a++) {
        add_option(cs, s->flat.axes[a], ASSIGN_FLAT);
        cs->flat_dims = s->flat_dims;
        tuple |= s->flat.naxes > 1;
    }
    if (tuple)
        add_order(cs, s);
}

/* A partial operand may be passed on as it is, or be scattered over any dimension: a reduce-scatter
 * moves half the bytes of an all-reduce. */
static void add_partial(const struct placement *p, struct candidates *cs, uint32_t node, uint32_t k)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];
    const struct shd_sharding *s = price_sharding(p->price, p->nodes[g->inputs[k]].home);
    bool passes = s->partial_op == SHD_SUM && graph_is_linear(p->graph, g, k);
    bool stays = passes && assign_converts_sum(g);

    for (size_t a = 0; a < shd_mesh_naxes(p->mesh); a++) {
        if (!(s->partial >> a & 1))
            continue;
        if (stays)
            cs->noptions[a] = 0;
        if (passes)
            add_option(cs, a, ASSIGN_PARTIAL);
        if (stays)
            continue;
        for (uint32_t d = 0; d < s->rank && p->scatters; d++) {
            const struct rule_factor *f = &n->rule.factors[n->rule.operand[k][d]];

            if (!f->whole && f->follows == RULE_FREE)
                add_option(cs, a, n->rule.operand[k][d]);
        }
    }
    if (s->partial && passes)
        cs->linear_operand = (uint8_t)k;
}

/* Add the shardings asked for a value or its aliases, as an output or by constraints; `factors` are
 * those of the op that makes the value. */
static void add_asked(struct placement *p, struct candidates *cs, uint32_t node, uint32_t value,
                      const int8_t *factors)
{
    const struct placement_node *n = &p->nodes[value];

    if (n->output != GRAPH_NONE && p->request->outputs && p->request->outputs[n->output])
        add_neighbour(p, cs, node, factors, placement_output_need(p, n->output));
    for (uint32_t i = 0; i < n->nreaders; i++)
        if (placement_is_alias(p, n->readers[i].node))
            add_asked(p, cs, node, n->readers[i].node, factors);
        else
            add_neighbour(p, cs, node, factors,
                          p->nodes[n->readers[i].node].needs[n->readers[i].operand]);
}

void candidates_find(struct placement *p, uint32_t node, struct candidates *cs)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];

    memset(cs, 0, sizeof *cs);
    for (int a = 0; a < SHD_MESH_AXES_MAX; a++) {
        cs->orders[0][a] = (uint8_t)a;
        add_option(cs, (size_t)a, ASSIGN_NONE);
    }
    cs->norders = 1;
    for (uint32_t k = 0; k < g->ninputs; k++) {
        uint32_t home = p->nodes[g->inputs[k]].home;

        add_neighbour(p, cs, node, n->rule.operand[k], home);
        if (home != PLACEMENT_UNKNOWN)
            cs->brought |= busy_brought(&n->rule, k, price_sharding(p->price, home));
    }
    for (uint32_t r = 0; r < n->rule.nresults; r++)
        add_asked(p, cs, node, assign_result_node(p->graph, node, r), n->rule.result[r]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        const struct placement_node *in = &p->nodes[g->inputs[k]];

        for (uint32_t r = 0; r < in->nreaders; r++)
            add_neighbour(p, cs, node, n->rule.operand[k],
                          p->nodes[in->readers[r].node].needs[in->readers[r].operand]);
        add_partial(p, cs, node, k);
    }
}
