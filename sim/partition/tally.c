/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/tally.h"

#include <math.h>

#include "partition/carry.h"
#include "partition/slices.h"

/* Cost of doing something `times` times. */
static double cost_of_all(double cost, uint32_t times)
{
    return fmin(cost * times, PRICE_IMPOSSIBLE);
}

double tally_reshard(struct placement *p, uint32_t node, uint32_t from, uint32_t to, uint32_t times)
{
    return cost_of_all(price_reshard(p->price, node, from, to), times);
}

static bool is_there(const struct tally_versions *v, uint32_t i, uint32_t times)
{
    return v->times[i] == TALLY_ALWAYS || v->times[i] == times;
}

double tally_least(struct placement *p, uint32_t node, const struct tally_versions *v,
                   uint32_t need, uint32_t times)
{
    double least = PRICE_IMPOSSIBLE;

    for (uint32_t i = 0; i < v->count; i++)
        if (is_there(v, i, times))
            least = fmin(least, tally_reshard(p, node, v->numbers[i], need, times));
    return least;
}

static void add_version(struct placement *p, struct tally_versions *v, uint32_t number,
                        uint32_t times)
{
    if (v->count == VERSIONS_MAX) {
        p->limits.hits[LIMIT_VERSIONS]++;
        return;
    }
    v->numbers[v->count] = number;
    v->times[v->count++] = times;
}

double tally_bring(struct placement *p, uint32_t node, struct tally_versions *v, uint32_t need,
                   uint32_t times)
{
    double best = PRICE_IMPOSSIBLE;

    for (uint32_t i = 0; i < v->count && best > 0; i++)
        if (is_there(v, i, times))
            best = fmin(best, tally_reshard(p, node, v->numbers[i], need, times));
    if (best > 0)
        add_version(p, v, need, times);
    return best;
}

/* Cost of rows pulled by an op that moves rows, if all rows are alike: a device finds the fraction
 * 1 / (shards of the operand) of its rows on itself. */
static double cost_of_rows(const struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];
    const struct shd_sharding *from = price_sharding(p->price, n->needs[0]);
    const struct shd_sharding *to = price_sharding(p->price, n->home);
    const struct graph_node *ids = &p->graph->nodes[g->inputs[1]];
    double rows = 1, sources = 1;

    for (uint32_t d = 0; d < ids->rank; d++)
        rows *= (double)p->graph->dims[ids->dims[d]].size;
    for (size_t d = 0; d < 2; d++) {
        rows /= (double)shd_sharding_nshards(to, d);
        sources *= (double)shd_sharding_nshards(from, d);
    }
    if (sources <= 1)
        return 0;
    return price_fetch(
        p->price, from,
        rows * (1 - 1 / sources) * (double)p->graph->dims[g->dims[g->rank - 1]].size /
            (double)shd_sharding_nshards(to, g->rank - 1) * (double)shd_dtype_size(g->dtype));
}

double tally_rows(const struct placement *p, uint32_t reader, uint32_t operand)
{
    if (!placement_takes_home(p, reader, operand))
        return 0;
    return cost_of_all(rule_of(p->graph->nodes[reader].op)->moves_rows
                           ? cost_of_rows(p, reader)
                           : slices_cost(p, reader, operand),
                       placement_times(p, reader));
}

double tally_outputs(struct placement *p, uint32_t node, struct tally_versions *v)
{
    const struct placement_node *n = &p->nodes[node];
    double cost = 0;

    v->count = 0;
    add_version(p, v, n->home, TALLY_ALWAYS);
    if (n->gift != PLACEMENT_UNKNOWN)
        add_version(p, v, n->gift, TALLY_ALWAYS);
    for (uint32_t o = n->output; o != GRAPH_NONE; o = p->next_output[o])
        cost += tally_bring(p, node, v, placement_output_need(p, o), placement_times(p, node));
    return cost;
}

double tally_value(struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];
    struct tally_versions v;
    double cost;

    if (n->home == PLACEMENT_UNKNOWN)
        return 0;
    cost = tally_outputs(p, node, &v);
    for (uint32_t r = 0; r < n->nreaders; r++) {
        const struct placement_reader *reader = &n->readers[r];
        uint32_t need = p->nodes[reader->node].needs[reader->operand];

        if (need != PLACEMENT_UNKNOWN)
            cost += tally_bring(p, node, &v, need, placement_times(p, reader->node)) +
                    tally_rows(p, reader->node, reader->operand);
    }
    return cost;
}

static double local_elements(const struct graph_node *array, const int8_t *factors,
                             const int64_t *extents)
{
    return (double)rule_product(factors, extents, 0, array->rank);
}

/* Cost of passing elements between devices in a shift. */
static double cost_of_shift(const struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    struct shd_reshard_step step;
    int64_t shape[GRAPH_RANK_MAX];

    if (p->nodes[node].home == PLACEMENT_UNKNOWN)
        return 0;
    graph_shape(p->graph, node, shape);
    if (shd_reshard_shift(&step, price_sharding(p->price, p->nodes[node].home), shape, g->dtype,
                          (int)graph_place(g, g->attr.shift.dim), g->attr.shift.by, NULL) != SHD_OK)
        return PRICE_IMPOSSIBLE;
    return step.kind == SHD_RESHARD_SLICE ? 0 : price_step(p->price, &step, shape, g->dtype);
}

/* Cost of a kernel's flops and touched bytes.  Only repeated work matters, so the extents of the
 * loop are accurate enough for every kernel. */
static double cost_of_kernel(const struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    const struct placement_node *n = &p->nodes[node];
    const struct assigned a = {p->graph, node, &n->rule, &n->assign, p->mesh};
    int64_t extents[RULE_FACTORS_MAX];
    bool coded = g->op == GRAPH_CODED || g->op == GRAPH_CODED_GROUPED;
    enum shd_dtype dtype = coded ? g->attr.coded.coding[0].code : g->dtype;
    double flops = g->op == GRAPH_EINSUM || g->op == GRAPH_CODED ? 2 : 1, touched;

    assign_extents(extents, &a);
    touched = local_elements(g, n->rule.result[0], extents);
    for (uint32_t k = 0; k < g->ninputs; k++)
        touched += local_elements(&p->graph->nodes[g->inputs[k]], n->rule.operand[k], extents);
    for (uint32_t f = 0; f < n->rule.nfactors; f++)
        if (n->rule.factors[f].follows == RULE_FREE)
            flops *= (double)extents[f];
    if (rule_of(g->op)->moves_rows)
        flops = 0;
    return price_work(p->price, dtype, flops, touched * (double)shd_dtype_size(dtype));
}

double tally_work(const struct placement *p, uint32_t node)
{
    if (!p->nodes[node].works)
        return 0;
    return cost_of_all(p->graph->nodes[node].op == GRAPH_SHIFT
                           ? cost_of_shift(p, node)
                           : cost_of_kernel(p, node) + halo_cost(p, node) + carry_cost(p, node),
                       placement_times(p, node));
}

/* Cost of a value and its aliases. */
static double named_cost(struct placement *p, uint32_t node)
{
    const struct placement_node *n = &p->nodes[node];
    double cost = tally_value(p, node);

    for (uint32_t r = 0; r < n->nreaders; r++)
        if (placement_is_alias(p, n->readers[r].node))
            cost += named_cost(p, n->readers[r].node);
    return cost;
}

/* Add up all costs that change when the assignment of `node` changes. */
double tally_near(struct placement *p, uint32_t node)
{
    const struct graph_node *g = &p->graph->nodes[node];
    double cost = named_cost(p, node) + tally_work(p, node);

    for (uint32_t x = 0; x < g->nextras; x++)
        cost += named_cost(p, g->extras[x]);
    for (uint32_t k = 0; k < g->ninputs; k++) {
        bool seen = false;

        for (uint32_t j = 0; j < k; j++)
            seen |= g->inputs[j] == g->inputs[k];
        if (!seen)
            cost += tally_value(p, g->inputs[k]);
    }
    return cost;
}

double tally_total(struct placement *placement)
{
    double cost = 0;

    for (uint32_t n = 0; n < placement->graph->nnodes; n++)
        if (placement->nodes[n].live)
            cost += tally_value(placement, n) + tally_work(placement, n);
    return cost;
}
