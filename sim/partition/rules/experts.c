/* Sharding rules of mixture-of-experts ops: choice of experts and copies, slots in queues, counts,
 * and products of dispatched rows.
 *
 * A group's queues go through all its tokens: only the batch is cut, and only between groups.  A
 * group's counts and slots are sharded with the group: cut between groups, whole inside.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rules/experts.h"

/* ---- choice ---- */

/* scores[tokens..., classes] -> ids[tokens..., choice] */
static void rule_topk_of(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    out->factors[rule_find(out, graph, node, n->attr.topk.dim)].whole = true;
    out->factors[out->result[0][n->rank - 1]].whole = true;
}

static void lower_topk(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                       uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    (void)op;
    desc->topk =
        (struct kern_topk){.dtype = graph->nodes[n->inputs[0]].dtype,
                           .tokens = rule_product(rule->result[0], extents, 0, n->rank - 1),
                           .classes = extents[rule_find(rule, graph, node, n->attr.topk.dim)],
                           .choices = extents[rule->result[0][n->rank - 1]],
                           .groups = n->attr.topk.limits.groups,
                           .kept = n->attr.topk.limits.kept,
                           .by_largest = n->attr.topk.limits.by_largest,
                           .smallest = n->attr.topk.limits.smallest};
}

/* ---- copies ---- */

/* ids[batch, seq, choice] -> places of the same dimensions; each token is dealt out by itself. */
static void lower_deal(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                       uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const int8_t *at = rule->result[0];

    desc->deal = (struct kern_deal){.dtype = SHD_I32,
                                    .rows = extents[at[0]],
                                    .seq = extents[at[1]],
                                    .choices = extents[at[2]],
                                    .whole = graph->dims[n->dims[1]].size,
                                    .tokens = n->attr.experts.routing->tokens,
                                    .copies = n->attr.experts.routing->copies};
    op->noffsets = 2;
    op->offsets[0] = (struct program_offset){op->outputs[0], 0};
    op->offsets[1] = (struct program_offset){op->outputs[0], 1};
}

/* ---- queues ---- */

/* ids[batch, .., choice] -> slots of the same dimensions, counts[group, expert] */
static void rule_slots_of(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    for (uint32_t f = 0; f < out->nfactors; f++)
        out->factors[f].whole = true;
    out->factors[out->result[0][0]].whole = false;
    out->factors[out->result[0][0]].size = n->attr.experts.groups;
    out->result[1][0] = out->result[0][0];
}

static void lower_slots(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                        uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct kern_routing *routing = n->attr.experts.routing;

    (void)op;
    desc->slots = (struct kern_slots){.dtype = SHD_I32,
                                      .groups = extents[rule->result[0][0]],
                                      .tokens = routing->tokens,
                                      .choices = routing->choices,
                                      .experts = routing->experts,
                                      .capacity = routing->capacity,
                                      .slot_major = routing->slot_major};
}

/* ---- counts ---- */

/* ids[tokens..., choice] -> [classes], partial over axes that cut the ids. */
static void lower_count(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                        uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t rank = graph->nodes[n->inputs[0]].rank;

    desc->count = (struct kern_count){.dtype = n->dtype,
                                      .ids = rule_product(rule->operand[0], extents, 0, rank),
                                      .classes = extents[rule->result[0][0]]};
    op->noffsets = 1;
    op->offsets[0] = (struct program_offset){op->outputs[0], 0};
}

/* ---- products ---- */

/* The counts' dimension of groups is the rows' dimension of slots, counted in groups. */
void experts_cut_slots(struct rule *out, const struct graph *graph, uint32_t node,
                       const struct graph_experts *experts)
{
    int slot = rule_find(out, graph, node, experts->slot_dim);

    out->factors[slot].size = experts->groups;
    out->operand[out->noperands - 1][0] = (int8_t)slot;
    out->nfactors--; /* the factor of the counts' groups by name */
}

static void rule_grouped_of(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_by_names(out, graph, node);
    experts_cut_slots(out, graph, node, &graph->nodes[node].attr.experts);
}

void experts_lower_product(struct kern_grouped *out, struct program_op *op,
                           const struct graph *graph, uint32_t node,
                           const struct graph_experts *experts, const struct rule *rule,
                           const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node], *a = &graph->nodes[n->inputs[0]];
    int slot = rule_find(rule, graph, node, experts->slot_dim);
    struct kern_einsum *e = &out->einsum;

    e->ndims = rule->nfactors;
    for (uint32_t f = 0; f < rule->nfactors; f++)
        e->extent[f] = extents[f];
    e->extent[slot] *= experts->routing->capacity;
    e->a_has = rule_factor_strides(e->a_stride, a->rank, rule->operand[0], e->extent);
    e->b_has = rule_factor_strides(e->b_stride, graph->nodes[n->inputs[1]].rank, rule->operand[1],
                                   e->extent);
    e->c_has = rule_factor_strides(e->c_stride, n->rank, rule->result[0], e->extent);
    out->expert = (uint32_t)rule_find(rule, graph, node, experts->expert_dim);
    out->slot = (uint32_t)slot;
    out->groups = extents[slot];
    out->capacity = experts->routing->capacity;
    out->routing = experts->routing;
    op->offsets[op->noffsets++] =
        (struct program_offset){op->inputs[0], graph_place(a, experts->expert_dim)};
}

static void lower_grouped(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                          uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    desc->grouped.einsum.dtype = n->dtype;
    experts_lower_product(&desc->grouped, op, graph, node, &n->attr.experts, rule, extents);
}

const struct rule_op rule_topk = {
    .rule = rule_topk_of, .kernel = &kern_kernel_topk, .lower = lower_topk};
const struct rule_op rule_deal = {
    .rule = rule_by_names, .kernel = &kern_kernel_deal, .lower = lower_deal};
const struct rule_op rule_slots = {
    .rule = rule_slots_of, .kernel = &kern_kernel_slots, .lower = lower_slots};
const struct rule_op rule_count = {
    .rule = rule_by_names, .kernel = &kern_kernel_count, .lower = lower_count};
const struct rule_op rule_grouped = {
    .rule = rule_grouped_of, .kernel = &kern_kernel_grouped, .lower = lower_grouped};
