/* Ops: dispatch of tokens to rows of experts, and combine, its transpose and so its derivative.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"
#include "kern/routing.h"

/* Check that ids, slots, routing and the experts' rows fit together. */
static bool check_ids(struct graph *graph, const char *name, const struct graph_node *node)
{
    const struct graph_node *ids = &graph->nodes[node->inputs[1]];
    const struct graph_node *slots = &graph->nodes[node->inputs[2]];
    const struct kern_routing *r = node->attr.experts.routing;
    const struct graph_dim *dims = graph->dims;
    int64_t groups = node->attr.experts.groups;

    if (ids->dtype != SHD_I32 || slots->dtype != SHD_I32 || ids->rank != 3 || slots->rank != 3 ||
        memcmp(ids->dims, slots->dims, 3 * sizeof *ids->dims) != 0)
        graph_fail(graph, SHD_EINVAL, "'%s' needs int32 ids and slots [batch, seq, choice]", name);
    else if (groups < 1 || dims[ids->dims[0]].size % groups ||
             dims[ids->dims[0]].size / groups * dims[ids->dims[1]].size != r->tokens ||
             dims[ids->dims[2]].size != r->choices)
        graph_fail(graph, SHD_EINVAL,
                   "'%s': a routing of %lld tokens with %u choices each does not "
                   "fit the ids in %lld groups",
                   name, (long long)r->tokens, r->choices, (long long)groups);
    else if (dims[node->attr.experts.expert_dim].size != r->experts ||
             dims[node->attr.experts.slot_dim].size != groups * r->capacity)
        graph_fail(graph, SHD_EINVAL, "'%s' needs rows of %u experts with %lld slots each", name,
                   r->experts, (long long)(groups * r->capacity));
    return graph->err.status == SHD_OK;
}

static bool usable(const struct graph *graph, uint32_t src, uint32_t ids, uint32_t slots)
{
    return graph_usable(graph, src) && graph_usable(graph, ids) && graph_usable(graph, slots);
}

/* Whether tokens have the dimensions of their ids: [batch, seq, width] or [batch, seq, choice,
 * width].
 */
static bool lies_as_ids(const struct graph_node *src, const struct graph_node *ids)
{
    return (src->rank == 3 || src->rank == 4) && ids->rank == 3 &&
           !memcmp(src->dims, ids->dims, (src->rank - 1) * sizeof *src->dims) &&
           !graph_has_dim(ids, src->dims[src->rank - 1]);
}

uint32_t graph_dispatch(struct graph *graph, const char *name, uint32_t src, uint32_t ids,
                        uint32_t slots, uint32_t expert_dim, uint32_t slot_dim, uint32_t groups,
                        const struct kern_routing *routing)
{
    struct graph_node node = {.op = GRAPH_DISPATCH, .rank = 3, .ninputs = 3};

    if (!usable(graph, src, ids, slots))
        return GRAPH_NONE;
    node.inputs[0] = src;
    node.inputs[1] = ids;
    node.inputs[2] = slots;
    if (!lies_as_ids(&graph->nodes[src], &graph->nodes[ids]) || expert_dim >= graph->ndims ||
        slot_dim >= graph->ndims)
        return graph_fail(
            graph, SHD_EINVAL,
            "'%s' needs tokens of the same batch and sequence as their ids, with a width", name);
    node.dtype = graph->nodes[src].dtype;
    node.dims[0] = expert_dim;
    node.dims[1] = slot_dim;
    node.dims[2] = graph->nodes[src].dims[graph->nodes[src].rank - 1];
    node.attr.experts.expert_dim = expert_dim;
    node.attr.experts.slot_dim = slot_dim;
    node.attr.experts.choice_dim = graph->nodes[ids].dims[2];
    node.attr.experts.groups = groups;
    node.attr.experts.routing = routing;
    if (!check_ids(graph, name, &node))
        return GRAPH_NONE;
    graph->dims[slot_dim].routing = routing;
    graph->dims[slot_dim].experts = expert_dim;
    return graph_add(graph, &node, name);
}

static uint32_t combine(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                        uint32_t slots, uint32_t groups, const struct kern_routing *routing,
                        bool sums)
{
    struct graph_node node = {.op = GRAPH_COMBINE, .rank = sums ? 3 : 4, .ninputs = 3};
    const struct graph_node *src;

    if (!usable(graph, rows, ids, slots))
        return GRAPH_NONE;
    node.inputs[0] = rows;
    node.inputs[1] = ids;
    node.inputs[2] = slots;
    src = &graph->nodes[rows];
    if (src->rank != 3 || graph->nodes[ids].rank != 3)
        return graph_fail(graph, SHD_EINVAL, "'%s' needs rows [expert, slot, width]", name);
    node.dtype = src->dtype;
    memcpy(node.dims, graph->nodes[ids].dims, (node.rank - 1) * sizeof *node.dims);
    node.dims[node.rank - 1] = src->dims[2];
    node.attr.experts.expert_dim = src->dims[0];
    node.attr.experts.slot_dim = src->dims[1];
    node.attr.experts.choice_dim = graph->nodes[ids].dims[2];
    node.attr.experts.groups = groups;
    node.attr.experts.sums = sums;
    node.attr.experts.routing = routing;
    return check_ids(graph, name, &node) ? graph_add(graph, &node, name) : GRAPH_NONE;
}

uint32_t graph_combine(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                       uint32_t slots, uint32_t groups, const struct kern_routing *routing)
{
    return combine(graph, name, rows, ids, slots, groups, routing, false);
}

uint32_t graph_combine_sums(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                            uint32_t slots, uint32_t groups, const struct kern_routing *routing)
{
    return combine(graph, name, rows, ids, slots, groups, routing, true);
}

void graph_dispatch_sums(struct graph *graph, uint32_t node)
{
    if (graph->err.status == SHD_OK && node != GRAPH_NONE)
        graph->nodes[node].attr.experts.sums = true;
}

/* The gradient of a token that went to several experts is the sum of what they return. */
static void reverse_dispatch(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node], src = g->nodes[n.inputs[0]];
    const char *name = reverse_name(g, node, n.inputs[0]);
    bool sums = n.attr.experts.sums;
    uint32_t back = combine(g, name, reverse_shaped_like(g, adjoint, node, name), n.inputs[1],
                            n.inputs[2], n.attr.experts.groups, n.attr.experts.routing, sums);

    if (back == GRAPH_NONE)
        return;
    g->nodes[back].gradient_of = n.inputs[0]; /* takes the sharding of the dispatched tokens */
    if (src.rank == 3 && !sums)
        back = graph_reduce(g, name, SHD_SUM, back, src.dims, src.rank);
    reverse_add(r, n.inputs[0], back);
}

static void reverse_combine(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    const char *name = reverse_name(g, node, n.inputs[0]);
    uint32_t back =
        graph_dispatch(g, name, reverse_shaped_like(g, adjoint, node, name), n.inputs[1],
                       n.inputs[2], n.attr.experts.expert_dim, n.attr.experts.slot_dim,
                       n.attr.experts.groups, n.attr.experts.routing);

    if (n.attr.experts.sums)
        graph_dispatch_sums(g, back);
    reverse_add(r, n.inputs[0], back);
}

static void need(struct padding *p, struct graph_node *n)
{
    const struct graph_node *ids = &p->to->nodes[n->inputs[1]];

    for (uint32_t d = 0; d < ids->rank; d++)
        padding_refuse(p, n, ids->dims[d], PADDING_COUNTS);
    padding_refuse(p, n, n->attr.experts.expert_dim, PADDING_COUNTS);
    padding_refuse(p, n, n->attr.experts.slot_dim, PADDING_COUNTS);
}

static void jax_dispatch(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct kern_routing *routing = n->attr.experts.routing;

    (void)graph;
    text_addf(out, "dispatch($0, $1, $2, experts=%u, groups=%u, capacity=%lld, sharding=$G)",
              routing->experts, n->attr.experts.groups, (long long)routing->capacity);
}

static void jax_combine(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph;
    text_addf(out, "combine($0, $1, $2, groups=%u, sharding=$G)%s", n->attr.experts.groups,
              n->attr.experts.sums ? ".sum(axis=2)" : "");
}

const struct graph_op_row graph_op_dispatch = {.name = "dispatch",
                                               .linear = KERN_LINEAR_IN_ALL,
                                               .passes_sums = true,
                                               .reverse = reverse_dispatch,
                                               .need = need,
                                               .made = padding_zero_kept,
                                               .jax = jax_dispatch};

const struct graph_op_row graph_op_combine = {.name = "combine",
                                              .linear = KERN_LINEAR_IN_ALL,
                                              .passes_sums = true,
                                              .reverse = reverse_combine,
                                              .need = need,
                                              .made = padding_zero_kept,
                                              .jax = jax_combine};
