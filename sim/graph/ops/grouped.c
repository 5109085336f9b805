/* Op: the product of experts' arrays, which skips empty slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static bool listed(const uint32_t *dims, uint32_t rank, uint32_t dim)
{
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == dim)
            return true;
    return false;
}

/* Whether every dimension of an operand belongs to the result or to the other operand. */
static bool is_used(const struct graph_node *a, const struct graph_node *b, const uint32_t *dims,
                    uint32_t rank)
{
    for (uint32_t d = 0; d < a->rank; d++)
        if (!listed(dims, rank, a->dims[d]) && !graph_has_dim(b, a->dims[d]))
            return false;
    return true;
}

/* Whether dimensions begin with the experts, followed by the slots if present: so that an expert's
 * slots of a group are contiguous, as the kernel's error rule assumes. */
static bool in_order(const uint32_t *dims, uint32_t rank, uint32_t expert, uint32_t slot)
{
    return rank > 0 && dims[0] == expert &&
           (!listed(dims, rank, slot) || (rank > 1 && dims[1] == slot));
}

static bool check(struct graph *g, const struct graph_node *node, const char *name,
                  const uint32_t *dims, uint32_t rank)
{
    const struct graph_node *a = &g->nodes[node->inputs[0]], *b = &g->nodes[node->inputs[1]];
    const struct graph_node *counts = &g->nodes[node->inputs[2]];
    uint32_t expert = counts->rank == 2 ? counts->dims[1] : GRAPH_NONE;
    uint32_t slot = node->attr.experts.slot_dim;
    const struct kern_routing *routing = node->attr.experts.routing;

    if (a->dtype != b->dtype || a->dtype == SHD_I32 || counts->dtype != SHD_I32) {
        graph_fail(g, SHD_ETYPE, "'%s' needs two arrays of one type and int32 counts", name);
        return false;
    }
    if (expert == GRAPH_NONE || !in_order(a->dims, a->rank, expert, slot) ||
        !in_order(b->dims, b->rank, expert, slot) || !in_order(dims, rank, expert, slot) ||
        !graph_has_dim(a, slot) || (!listed(dims, rank, slot) && !graph_has_dim(b, slot)) ||
        !is_used(a, b, dims, rank) || !is_used(b, a, dims, rank)) {
        graph_fail(g, SHD_EINVAL,
                   "'%s' needs counts[group, expert] and arrays [expert, slot, ..] or [expert, ..]",
                   name);
        return false;
    }
    if (routing->experts != g->dims[expert].size ||
        g->dims[slot].size != g->dims[counts->dims[0]].size * routing->capacity) {
        graph_fail(g, SHD_EINVAL, "'%s' needs %" PRId64 " slots for each group", name,
                   routing->capacity);
        return false;
    }
    return true;
}

uint32_t graph_grouped(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                       uint32_t counts, const struct kern_routing *routing, uint32_t slot_dim,
                       const uint32_t *dims, uint32_t rank)
{
    struct graph_node node = {
        .op = GRAPH_GROUPED, .rank = rank, .ninputs = 3, .inputs = {a, b, counts}};

    if (!graph_usable(graph, a) || !graph_usable(graph, b) || !graph_usable(graph, counts) ||
        !routing)
        return GRAPH_NONE;
    node.dtype = graph->nodes[a].dtype;
    node.attr.experts.slot_dim = slot_dim;
    node.attr.experts.routing = routing;
    if (!check(graph, &node, name, dims, rank))
        return GRAPH_NONE;
    for (uint32_t d = 0; d < rank && d < GRAPH_RANK_MAX; d++) {
        node.dims[d] = dims[d];
        if (!graph_has_dim(&graph->nodes[a], dims[d]) && !graph_has_dim(&graph->nodes[b], dims[d]))
            return graph_fail(graph, SHD_EINVAL,
                              "'%s' has dimension '%s', which neither operand has", name,
                              dims[d] < graph->ndims ? graph->dims[dims[d]].name : "?");
    }
    node.attr.experts.expert_dim = graph->nodes[counts].dims[1];
    node.attr.experts.choice_dim = GRAPH_NONE;
    node.attr.experts.groups = (uint32_t)graph->dims[graph->nodes[counts].dims[0]].size;
    return graph_add(graph, &node, name);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];

    if (!graph_has_dim(&n, n.attr.experts.slot_dim)) {
        graph_fail(g, SHD_EUNSUPPORTED, "'%s' sums over slots, which has no derivative", n.name);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        const char *name = reverse_name(g, node, n.inputs[k]);
        struct graph_node x = g->nodes[n.inputs[k]];
        uint32_t dy;

        if (!r->adjoints[n.inputs[k]].wanted)
            continue;
        dy = reverse_shaped_like(g, adjoint, node, name);
        reverse_add(r, n.inputs[k],
                    graph_grouped(g, name, dy, reverse_operand(r, n.inputs[1 - k]), n.inputs[2],
                                  n.attr.experts.routing, n.attr.experts.slot_dim, x.dims, x.rank));
    }
}

static void need(struct padding *p, struct graph_node *n)
{
    padding_refuse(p, n, n->attr.experts.expert_dim, PADDING_COUNTS);
    padding_refuse(p, n, n->attr.experts.slot_dim, PADDING_COUNTS);
    padding_need_product(p, n);
}

/* For all slots: results of empty slots are never read. */
static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    graph_op_einsum.jax(out, graph, n);
}

const struct graph_op_row graph_op_grouped = {.name = "grouped product",
                                              .linear = KERN_LINEAR_IN_EACH,
                                              .reverse = reverse,
                                              .need = need,
                                              .made = padding_multiplied,
                                              .jax = jax};
