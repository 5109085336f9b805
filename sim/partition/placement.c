/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/placement.h"

#include <stdlib.h>
#include <string.h>

#include "program/program.h"

uint32_t placement_times(const struct placement *placement, uint32_t node)
{
    const struct graph *graph = placement->graph;

    return program_part_times(program_part_of_phase((uint8_t)graph->nodes[node].phase),
                              graph->microbatches);
}

uint32_t placement_output_need(struct placement *placement, uint32_t output)
{
    const struct shd_sharding *asked = NULL;
    struct shd_sharding whole;
    const struct graph_output *o = &placement->graph->outputs[output];
    uint32_t node = o->node;

    if (o->kind == GRAPH_NEXT)
        return placement->nodes[o->of].home;
    if (placement->request->outputs)
        asked = placement->request->outputs[output];
    if (asked) {
        shd_sharding_simplify(&whole, asked);
        return price_number(placement->price, &whole);
    }
    whole = *price_sharding(placement->price, placement->nodes[node].home);
    whole.partial = 0;
    whole.partial_op = 0;
    return price_number(placement->price, &whole);
}

bool placement_is_alias(const struct placement *p, uint32_t node)
{
    return p->graph->nodes[node].op == GRAPH_CONSTRAINT && !p->nodes[node].fixed;
}

bool placement_is_free(const struct placement *p, uint32_t node)
{
    return p->nodes[node].live && !p->nodes[node].fixed && p->nodes[node].works;
}

/* Complete the sharding that an op needs of an operand: dimensions that the op takes as they lie
 * keep their home axes, except for axes that the op places elsewhere. */
static void take_home(struct shd_sharding *s, const struct placement *p, uint32_t node, uint32_t k)
{
    const struct rule *rule = &p->nodes[node].rule;
    uint32_t number = p->nodes[p->graph->nodes[node].inputs[k]].home;
    const struct shd_sharding *home;
    uint32_t elsewhere;

    if (number == PLACEMENT_UNKNOWN)
        return;
    home = price_sharding(p->price, number);
    for (uint32_t d = 0; d < s->rank; d++)
        if (rule->factors[rule->operand[k][d]].as_it_lies)
            s->dims[d] = (struct shd_dim_axes){0};
    elsewhere = shd_sharding_axes(s) | s->partial;
    for (uint32_t d = 0; d < s->rank; d++)
        for (uint8_t i = 0;
             rule->factors[rule->operand[k][d]].as_it_lies && i < home->dims[d].naxes; i++)
            if (!(elsewhere >> home->dims[d].axes[i] & 1))
                s->dims[d].axes[s->dims[d].naxes++] = home->dims[d].axes[i];
}

static void settle_operand(struct placement *p, uint32_t node, uint32_t k)
{
    struct placement_node *n = &p->nodes[node];
    const struct assigned a = {p->graph, node, &n->rule, &n->assign, p->mesh};
    struct shd_sharding s;

    assign_operand(&s, &a, k);
    take_home(&s, p, node, k);
    n->needs[k] = price_number(p->price, &s);
}

bool placement_takes_home(const struct placement *p, uint32_t node, uint32_t k)
{
    return p->nodes[node].rule.takes_home >> k & 1;
}

void placement_settle_aliases(struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];

    for (uint32_t r = 0; r < n->nreaders; r++) {
        struct placement_node *alias = &p->nodes[n->readers[r].node];

        if (placement_takes_home(p, n->readers[r].node, n->readers[r].operand) &&
            alias->home != PLACEMENT_UNKNOWN)
            settle_operand(p, n->readers[r].node, n->readers[r].operand);
        if (!placement_is_alias(p, n->readers[r].node))
            continue;
        alias->home = alias->needs[0] = n->home;
        placement_settle_aliases(p, n->readers[r].node);
    }
}

void placement_settle(struct placement *p, uint32_t node)
{
    struct placement_node *n = &p->nodes[node];
    const struct assigned a = {p->graph, node, &n->rule, &n->assign, p->mesh};
    struct shd_sharding s;

    for (uint32_t k = 0; k < p->graph->nodes[node].ninputs; k++)
        settle_operand(p, node, k);
    for (uint32_t r = 0; r < n->rule.nresults; r++) {
        uint32_t result = assign_result_node(p->graph, node, r);

        assign_result(&s, &a, r);
        p->nodes[result].home = price_number(p->price, &s);
        placement_settle_aliases(p, result);
    }
}

/* Settle a node as an alike one is: equal rules and assignments give equal shardings, unless
 * operands are taken as they lie.  Layers are many, and far apart in memory. */
static void settle_like(struct placement *p, uint32_t node, uint32_t like)
{
    struct placement_node *n = &p->nodes[node];
    const struct placement_node *l = &p->nodes[like];

    n->assign = l->assign;
    if (n->rule.takes_home || memcmp(&n->rule, &l->rule, sizeof n->rule) != 0) {
        placement_settle(p, node);
        return;
    }
    memcpy(n->needs, l->needs, sizeof n->needs);
    for (uint32_t r = 0; r < n->rule.nresults; r++) {
        uint32_t result = assign_result_node(p->graph, node, r);
        uint32_t home = p->nodes[assign_result_node(p->graph, like, r)].home;

        if (p->nodes[result].home == home)
            continue;
        p->nodes[result].home = home;
        placement_settle_aliases(p, result);
    }
}

void placement_settle_alike(struct placement *p, uint32_t node)
{
    placement_settle(p, node);
    for (uint32_t n = p->nodes[node].next_alike; n != node; n = p->nodes[n].next_alike)
        settle_like(p, n, node);
}

/* ---- setting up ---- */

/* Mark the nodes that are computed or kept: outputs and what they are computed from.  A parameter
 * with a next value is kept even if no op reads it, as one whose next value is computed from its
 * master copy alone. */
static void mark_live(struct placement *p)
{
    for (uint32_t o = 0; o < p->graph->noutputs; o++) {
        p->nodes[p->graph->outputs[o].node].live = true;
        if (p->graph->outputs[o].kind == GRAPH_NEXT)
            p->nodes[p->graph->outputs[o].of].live = true;
    }
    for (uint32_t node = p->graph->nnodes; node-- > 0;) {
        p->nodes[node].live |= p->graph->nodes[node].unread;
        for (uint32_t k = 0; p->nodes[node].live && k < p->graph->nodes[node].ninputs; k++)
            p->nodes[p->graph->nodes[node].inputs[k]].live = true;
    }
}

/* Whether a node reads its operands.  Extras are results of the op that is their operand, and read
 * nothing. */
static bool reads(const struct placement *p, uint32_t node)
{
    return p->nodes[node].live && p->graph->nodes[node].op != GRAPH_EXTRA;
}

static void list_readers(struct placement *p)
{
    const struct graph *g = p->graph;
    size_t total = 0;

    for (uint32_t node = 0; node < g->nnodes; node++)
        total += g->nodes[node].ninputs;
    p->readers = pool_array(p->pool, total, sizeof *p->readers);
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(p, node) && k < g->nodes[node].ninputs; k++)
            p->nodes[g->nodes[node].inputs[k]].nreaders++;
    total = 0;
    for (uint32_t node = 0; node < g->nnodes; node++) {
        p->nodes[node].readers = p->readers + total;
        total += p->nodes[node].nreaders;
        p->nodes[node].nreaders = 0;
    }
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(p, node) && k < g->nodes[node].ninputs; k++) {
            struct placement_node *in = &p->nodes[g->nodes[node].inputs[k]];

            in->readers[in->nreaders++] = (struct placement_reader){node, k};
        }
}

/* Set the home of a leaf or constraint to its asked sharding; a leaf without one is replicated. */
static int set_fixed(struct placement *p, uint32_t node, struct shd_error *err)
{
    const struct graph_node *g = &p->graph->nodes[node];
    struct placement_node *n = &p->nodes[node];
    const struct shd_sharding *asked = p->request->nodes ? p->request->nodes[node] : NULL;
    struct shd_sharding whole;
    struct shd_error why;
    int64_t shape[GRAPH_RANK_MAX];

    if (g->op > GRAPH_PARAM && (g->op != GRAPH_CONSTRAINT || !asked))
        return SHD_OK;
    if (!asked) {
        shd_sharding_init(&whole, p->mesh, g->rank);
        asked = &whole;
    }
    graph_shape(p->graph, node, shape);
    if (shd_sharding_check(asked, shape, &why) != SHD_OK)
        return shd_error_set(err, why.status, "'%s': %s", g->name, why.text);
    shd_sharding_simplify(&whole, asked);
    n->fixed = true;
    n->home = price_number(p->price, &whole);
    if (g->op == GRAPH_CONSTRAINT)
        n->needs[0] = n->home;
    return SHD_OK;
}

static int check_outputs(const struct placement *p, struct shd_error *err)
{
    for (uint32_t o = 0; p->request->outputs && o < p->graph->noutputs; o++) {
        const struct shd_sharding *asked = p->request->outputs[o];
        int64_t shape[GRAPH_RANK_MAX];
        struct shd_error why;

        graph_shape(p->graph, p->graph->outputs[o].node, shape);
        if (asked && shd_sharding_check(asked, shape, &why) != SHD_OK)
            return shd_error_set(err, why.status, "'%s': %s", p->graph->outputs[o].name, why.text);
    }
    return SHD_OK;
}

static void set_rule(struct placement *p, uint32_t node)
{
    const struct rule_op *row = rule_of(p->graph->nodes[node].op);

    if (!row->rule)
        return;
    row->rule(&p->nodes[node].rule, p->graph, node);
    rule_find_flat(&p->nodes[node].rule, p->graph, node);
    rule_find_home(&p->nodes[node].rule, p->graph, node);
    p->nodes[node].works = row->lower || row->fuses;
}

int placement_init(struct placement *p, struct pool *pool, const struct partition_request *request,
                   struct shd_error *err)
{
    const struct program_stages *stages = request->stages;
    const struct graph *g = request->graph;
    int status = SHD_OK;

    *p = (struct placement){.pool = pool,
                            .graph = g,
                            .mesh = request->mesh,
                            .request = request,
                            .price = price_create(pool, g, request->mesh,
                                                  stages ? UINT32_C(1) << stages->axis : 0,
                                                  request->algos, request->hardware),
                            .nodes = pool_array(pool, g->nnodes, sizeof *p->nodes),
                            .next_output = pool_array(pool, g->noutputs, sizeof *p->next_output)};
    for (uint32_t node = 0; node < g->nnodes; node++) {
        p->nodes[node].home = PLACEMENT_UNKNOWN;
        p->nodes[node].gift = PLACEMENT_UNKNOWN;
        p->nodes[node].output = GRAPH_NONE;
        p->nodes[node].next_alike = node;
        p->nodes[node].first_alike = node;
        p->nodes[node].stands_for = true;
        for (int k = 0; k < GRAPH_INPUTS_MAX; k++)
            p->nodes[node].needs[k] = PLACEMENT_UNKNOWN;
        set_rule(p, node);
        assign_init(&p->nodes[node].assign);
    }
    for (uint32_t o = g->noutputs; o-- > 0;) {
        p->next_output[o] = p->nodes[g->outputs[o].node].output;
        p->nodes[g->outputs[o].node].output = o;
    }
    mark_live(p);
    for (uint32_t node = 0; status == SHD_OK && node < g->nnodes; node++)
        status = set_fixed(p, node, err);
    if (status == SHD_OK)
        status = check_outputs(p, err);
    list_readers(p);
    for (uint32_t node = 0; status == SHD_OK && node < g->nnodes; node++)
        if (p->nodes[node].fixed)
            placement_settle_aliases(p, node);
    return status;
}
