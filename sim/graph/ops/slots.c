/* Op: slots of tokens in the queues of experts, and counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"

/* The error in a routing; NULL: none. */
static const char *find_fault(const struct kern_routing_spec *s)
{
    uint32_t open = s->experts - (s->kind == KERN_ROUTING_EMPTY);
    bool rank = s->kind == KERN_ROUTING_HOT_RANK;
    bool shares = rank || s->kind == KERN_ROUTING_HOT_EXPERT;

    if (s->choices < 1 || s->experts < 1 || s->choices > open)
        return "a token cannot choose so many different experts";
    if (s->kept > 0 && s->kept < s->groups &&
        (s->experts % s->groups || s->experts / s->groups * s->kept < s->choices))
        return "the groups that a token may choose from have too few experts";
    if (s->capacity < 0)
        return "its capacity is negative";
    if (!(s->skew >= 0) || (shares && !(s->share >= 0 && s->share <= 1)))
        return "its skew is below 0, or its share not within 0..1";
    if ((rank && (s->ranks < 1 || s->experts % s->ranks || s->hot >= s->ranks)) ||
        (s->kind == KERN_ROUTING_RAGGED && (s->ranks < 1 || s->tokens % s->ranks)))
        return "ranks do not divide the experts or tokens";
    if (!rank && s->hot >= s->experts)
        return "there is no such expert";
    return NULL;
}

const struct kern_routing *graph_routing(struct graph *graph, const struct kern_routing_spec *spec)
{
    const char *fault = find_fault(spec);
    size_t room = fault ? 0 : kern_routing_room(spec);
    struct graph_routing *held;

    if (fault || room == 0) {
        graph_fail(graph, fault ? SHD_EINVAL : SHD_ERANGE,
                   "a routing of %" PRId64 " tokens to %" PRIu32 " of %" PRIu32 " experts: %s",
                   spec->tokens, spec->choices, spec->experts,
                   fault ? fault : "too many to be counted");
        return NULL;
    }
    held = graph_memory(graph, 1, sizeof *held);
    if (!held)
        return NULL;
    held->routing = kern_routing_hold(spec);
    if (!held->routing) {
        graph_fail(graph, SHD_ENOMEM, "no memory for a routing");
        return NULL;
    }
    held->next = graph->routings;
    graph->routings = held;
    return held->routing;
}

/* Copies of the experts of a routing, owned by the graph; NULL: no memory. */
static const struct kern_copies *make_copies(struct graph *graph,
                                             const struct kern_routing_spec *spec, uint32_t more,
                                             uint32_t devices)
{
    struct kern_copies *copies = graph_memory(graph, 1, sizeof *copies);
    uint64_t *loads = graph_memory(graph, spec->experts, sizeof *loads);
    uint32_t places = spec->experts + more;
    int32_t *room = graph_memory(graph, kern_copies_room(spec->experts, places), sizeof *room);

    if (!copies || !loads || !room)
        return NULL;
    if (kern_routing_shares(loads, spec) &&
        kern_copies_make(copies, loads, spec->experts, places, devices, room))
        return copies;
    graph_fail(graph, SHD_ENOMEM, "no memory for copies of experts");
    return NULL;
}

const struct kern_routing *graph_routing_to_copies(struct graph *graph,
                                                   const struct kern_routing *routing,
                                                   const struct kern_routing_spec *spec,
                                                   uint32_t more, uint32_t devices)
{
    const struct kern_copies *copies = routing ? make_copies(graph, spec, more, devices) : NULL;
    struct kern_routing *out = graph_memory(graph, 1, sizeof *out);
    int32_t *room;

    if (!copies || !out)
        return NULL;
    room = graph_memory(graph, kern_routing_copies_room(routing, copies->places), sizeof *room);
    if (!room)
        return NULL;
    kern_routing_to_copies(out, routing, spec, copies, room);
    return out;
}

/* Whether a routing fits the numbers of groups, tokens, choices and experts. */
static bool suits(const struct graph *g, const struct kern_routing *routing,
                  const struct graph_node *ids, int64_t groups, int64_t experts)
{
    int64_t tokens = 1;

    for (uint32_t d = 0; d + 1 < ids->rank; d++)
        tokens *= g->dims[ids->dims[d]].size;
    return g->dims[ids->dims[0]].size % groups == 0 && routing->tokens == tokens / groups &&
           routing->choices == g->dims[ids->dims[ids->rank - 1]].size &&
           routing->experts == experts;
}

uint32_t graph_slots(struct graph *graph, const char *name, uint32_t ids,
                     const struct kern_routing *routing, uint32_t group_dim, uint32_t expert_dim)
{
    struct graph_node node = {.op = GRAPH_SLOTS, .dtype = SHD_I32, .ninputs = 1, .inputs = {ids}};
    const struct graph_node *from;
    int64_t groups;
    uint32_t slots;

    if (graph->err.status != SHD_OK || ids == GRAPH_NONE || !routing)
        return GRAPH_NONE;
    from = &graph->nodes[ids];
    if (group_dim >= graph->ndims || expert_dim >= graph->ndims)
        return graph_fail(graph, SHD_EINVAL, "'%s' has a dimension that is not known", name);
    groups = graph->dims[group_dim].size;
    if (from->dtype != SHD_I32 || from->rank < 2 || groups < 1 ||
        !suits(graph, routing, from, groups, graph->dims[expert_dim].size))
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs int32 ids[batch, .., choice] of equal groups, as its routing",
                          name);
    node.rank = from->rank;
    memcpy(node.dims, from->dims, sizeof node.dims);
    node.attr.experts.expert_dim = expert_dim;
    node.attr.experts.slot_dim = GRAPH_NONE;
    node.attr.experts.choice_dim = from->dims[from->rank - 1];
    node.attr.experts.groups = (uint32_t)groups;
    node.attr.experts.routing = routing;
    node.stop_gradient = true;
    slots = graph_add(graph, &node, name);
    graph_add_extra(graph, slots, graph_text(graph, "%s/counts", name), SHD_I32,
                    (const uint32_t[]){group_dim, expert_dim}, 2);
    return slots;
}

uint32_t graph_count(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t ids,
                     uint32_t expert_dim)
{
    struct graph_node node = {
        .op = GRAPH_COUNT, .dtype = dtype, .rank = 1, .ninputs = 1, .inputs = {ids}};

    if (graph->err.status != SHD_OK || ids == GRAPH_NONE)
        return GRAPH_NONE;
    if (graph->nodes[ids].dtype != SHD_I32 || dtype == SHD_I32 ||
        (uint32_t)dtype >= SHD_NCOMPUTE_DTYPES || graph_has_dim(&graph->nodes[ids], expert_dim))
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs int32 ids, and a floating-point count per value", name);
    node.dims[0] = expert_dim;
    node.attr.choice.dim = expert_dim;
    node.stop_gradient = true;
    return graph_add(graph, &node, name);
}

static void jax_slots(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct kern_routing *routing = n->attr.experts.routing;

    (void)graph;
    text_addf(out, "queue($0, experts=%u, groups=%u, capacity=%lld, by_choice=%s)",
              routing->experts, n->attr.experts.groups, (long long)routing->capacity,
              routing->slot_major ? "True" : "False");
}

static void jax_count(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    text_addf(out, "count($0, %lld, \"%s\")", (long long)graph->dims[n->attr.choice.dim].size,
              shd_dtype_name(n->dtype));
}

const struct graph_op_row graph_op_slots = {
    .name = "slots", .need = padding_refuse_all, .jax = jax_slots};
const struct graph_op_row graph_op_count = {
    .name = "count", .need = padding_refuse_all, .jax = jax_count};
