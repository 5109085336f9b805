/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/improve.h"
#include "partition/tally.h"

#define SWEEPS_MAX 8
#define SHARES_MAX 4
#define GAIN_MIN 0.02

uint32_t choose_output_need(struct choose *choose, uint32_t output)
{
    const struct shd_sharding *asked = NULL;
    struct shd_sharding whole;
    uint32_t node = choose->graph->outputs[output].node;

    if (choose->request->outputs)
        asked = choose->request->outputs[output];
    if (asked) {
        shd_sharding_simplify(&whole, asked);
        return price_number(choose->price, &whole);
    }
    whole = *price_sharding(choose->price, choose->nodes[node].home);
    whole.partial = 0;
    whole.partial_op = 0;
    return price_number(choose->price, &whole);
}

bool choose_is_alias(const struct choose *c, uint32_t node)
{
    return c->graph->nodes[node].op == GRAPH_CONSTRAINT && !c->nodes[node].fixed;
}

bool choose_is_free(const struct choose *c, uint32_t node)
{
    return c->nodes[node].live && !c->nodes[node].fixed && c->nodes[node].works;
}

/* ---- the search ---- */

/* Revisit all nodes, backwards and forwards in turn, as long as something changes. */
static void sweep(struct choose *c)
{
    uint32_t nnodes = c->graph->nnodes;

    for (int n = 0; n < SWEEPS_MAX; n++) {
        bool changed = false;

        for (uint32_t i = 0; i < nnodes; i++) {
            uint32_t node = n % 2 ? i : nnodes - 1 - i;

            if (choose_is_free(c, node))
                changed |= choose_improve(c, node);
        }
        if (!changed)
            break;
    }
}

/* A constraint says where the value lies.  Its gradient starts there too, a good guess, but may
 * move: what a forward gather brought together, the backward step can scatter. */
static void free_gradients(struct choose *c)
{
    for (uint32_t node = 0; node < c->graph->nnodes; node++) {
        struct choose_node *n = &c->nodes[node];

        if (!n->live || !n->fixed || c->graph->nodes[node].op != GRAPH_CONSTRAINT ||
            c->graph->nodes[node].phase != GRAPH_BACKWARD)
            continue;
        n->fixed = false;
        choose_settle_aliases(c, c->graph->nodes[node].inputs[0]);
    }
}

static void search_once(struct choose *c, bool free)
{
    for (uint32_t node = 0; node < c->graph->nnodes; node++)
        if (c->nodes[node].fixed)
            choose_settle_aliases(c, node);
    for (uint32_t node = 0; node < c->graph->nnodes; node++)
        if (choose_is_free(c, node))
            choose_improve(c, node);
    sweep(c);
    if (free) {
        free_gradients(c);
        sweep(c);
    }
    for (int n = 0; n < SHARES_MAX && share_all(c); n++)
        sweep(c);
}

/* The search only ever goes downhill, so where it ends depends on what it may do on the way: go
 * with and without scattering partial values to where nobody asked for them, and with and without
 * moving the gradients of constraints; keep the best.  People expect a constraint's gradient to lie
 * where the constraint does: it moves for a gain of GAIN_MIN only. */
static int search(struct choose *c, struct shd_error *err)
{
    size_t bytes = c->graph->nnodes * sizeof *c->nodes;
    struct choose_node *start = malloc(bytes + 1), *best = malloc(bytes + 1);
    double lowest = INFINITY;

    for (int way = 0; start && best && way < 4; way++) {
        double cost;

        memcpy(way == 0 ? start : c->nodes, way == 0 ? c->nodes : start, bytes);
        c->scatters = way & 1;
        search_once(c, way & 2);
        cost = tally_total(c);
        if (way & 2)
            cost *= 1 + GAIN_MIN;
        if (cost >= lowest)
            continue;
        lowest = cost;
        memcpy(best, c->nodes, bytes);
    }
    if (start && best)
        memcpy(c->nodes, best, bytes);
    free(start);
    free(best);
    if (lowest == INFINITY)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", c->graph->nnodes);
    return SHD_OK;
}

/* ---- setting up ---- */

static void mark_live(struct choose *c)
{
    for (uint32_t o = 0; o < c->graph->noutputs; o++)
        c->nodes[c->graph->outputs[o].node].live = true;
    for (uint32_t node = c->graph->nnodes; node-- > 0;)
        for (uint32_t k = 0; c->nodes[node].live && k < c->graph->nodes[node].ninputs; k++)
            c->nodes[c->graph->nodes[node].inputs[k]].live = true;
}

/* Extras come with the op that is their operand and read nothing of it. */
static bool reads(const struct choose *c, uint32_t node)
{
    return c->nodes[node].live && c->graph->nodes[node].op != GRAPH_EXTRA;
}

static int list_readers(struct choose *c, struct shd_error *err)
{
    const struct graph *g = c->graph;
    size_t total = 0;

    for (uint32_t node = 0; node < g->nnodes; node++)
        total += g->nodes[node].ninputs;
    c->readers = malloc((total + 1) * sizeof *c->readers);
    if (!c->readers)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", g->nnodes);
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(c, node) && k < g->nodes[node].ninputs; k++)
            c->nodes[g->nodes[node].inputs[k]].nreaders++;
    total = 0;
    for (uint32_t node = 0; node < g->nnodes; node++) {
        c->nodes[node].readers = c->readers + total;
        total += c->nodes[node].nreaders;
        c->nodes[node].nreaders = 0;
    }
    for (uint32_t node = 0; node < g->nnodes; node++)
        for (uint32_t k = 0; reads(c, node) && k < g->nodes[node].ninputs; k++) {
            struct choose_node *in = &c->nodes[g->nodes[node].inputs[k]];

            in->readers[in->nreaders++] = (struct choose_reader){node, k};
        }
    return SHD_OK;
}

/* Leaves and constraints: what was asked for, where something was. */
static int set_fixed(struct choose *c, uint32_t node, struct shd_error *err)
{
    const struct graph_node *g = &c->graph->nodes[node];
    struct choose_node *n = &c->nodes[node];
    const struct shd_sharding *asked = c->request->nodes ? c->request->nodes[node] : NULL;
    struct shd_sharding whole;
    struct shd_error why;
    int64_t shape[GRAPH_RANK_MAX];

    if (g->op > GRAPH_PARAM && (g->op != GRAPH_CONSTRAINT || !asked))
        return SHD_OK;
    if (!asked) {
        shd_sharding_init(&whole, c->mesh, g->rank);
        asked = &whole;
    }
    graph_shape(c->graph, node, shape);
    if (shd_sharding_check(asked, shape, &why) != SHD_OK)
        return shd_error_set(err, why.status, "'%s': %s", g->name, why.text);
    shd_sharding_simplify(&whole, asked);
    n->fixed = true;
    n->home = price_number(c->price, &whole);
    if (g->op == GRAPH_CONSTRAINT)
        n->needs[0] = n->home;
    return SHD_OK;
}

static int check_outputs(const struct choose *c, struct shd_error *err)
{
    for (uint32_t o = 0; c->request->outputs && o < c->graph->noutputs; o++) {
        const struct shd_sharding *asked = c->request->outputs[o];
        int64_t shape[GRAPH_RANK_MAX];
        struct shd_error why;

        graph_shape(c->graph, c->graph->outputs[o].node, shape);
        if (asked && shd_sharding_check(asked, shape, &why) != SHD_OK)
            return shd_error_set(err, why.status, "'%s': %s", c->graph->outputs[o].name, why.text);
    }
    return SHD_OK;
}

static void set_rule(struct choose *c, uint32_t node)
{
    const struct rule_op *row = rule_of(c->graph->nodes[node].op);

    if (!row)
        return;
    row->rule(&c->nodes[node].rule, c->graph, node);
    c->nodes[node].works = row->lower || row->fuses;
}

static int set_up(struct choose *c, struct shd_error *err)
{
    const struct graph *g = c->graph;
    int status;

    c->price = price_create(g);
    c->nodes = calloc((size_t)g->nnodes + 1, sizeof *c->nodes);
    if (!c->price || !c->nodes)
        return shd_error_set(err, SHD_ENOMEM, "no memory to partition %u ops", g->nnodes);
    for (uint32_t node = 0; node < g->nnodes; node++) {
        c->nodes[node].home = CHOOSE_UNKNOWN;
        c->nodes[node].gift = CHOOSE_UNKNOWN;
        c->nodes[node].output = GRAPH_NONE;
        for (int k = 0; k < GRAPH_INPUTS_MAX; k++)
            c->nodes[node].needs[k] = CHOOSE_UNKNOWN;
        set_rule(c, node);
        assign_init(&c->nodes[node].assign);
    }
    for (uint32_t o = g->noutputs; o-- > 0;)
        c->nodes[g->outputs[o].node].output = o;
    mark_live(c);
    for (uint32_t node = 0; node < g->nnodes; node++) {
        status = set_fixed(c, node, err);
        if (status != SHD_OK)
            return status;
    }
    status = check_outputs(c, err);
    return status == SHD_OK ? list_readers(c, err) : status;
}

int choose_init(struct choose *out, const struct partition_request *request, struct shd_error *err)
{
    struct choose c = {.graph = request->graph, .mesh = request->mesh, .request = request};
    int status = set_up(&c, err);

    if (status == SHD_OK)
        status = search(&c, err);
    if (status != SHD_OK) {
        choose_fini(&c);
        return status;
    }
    *out = c;
    return SHD_OK;
}

void choose_fini(struct choose *choose)
{
    price_destroy(choose->price);
    free(choose->nodes);
    free(choose->readers);
    memset(choose, 0, sizeof *choose);
}
