/* Op: rotary position embedding; its derivative rotates back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

static uint32_t rotate(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       const union graph_attr *attr)
{
    struct graph_node node = graph_like(graph, GRAPH_ROPE, x);

    node.attr = *attr;
    if (positions != GRAPH_NONE)
        node.inputs[node.ninputs++] = positions;
    return graph_add(graph, &node, name);
}

static uint32_t embed(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                      const union graph_attr *attr)
{
    uint32_t position_dim = attr->rope.position_dim, pair_dim = attr->rope.pair_dim;

    if (!graph_has_dim(&graph->nodes[x], position_dim) ||
        !graph_has_dim(&graph->nodes[x], pair_dim) || position_dim == pair_dim)
        return graph_fail(graph, SHD_EINVAL, "'%s': '%s' lacks the dimension of positions or pairs",
                          name, graph->nodes[x].name);
    if (graph->dims[pair_dim].size < 2 * attr->rope.rotation->npairs)
        return graph_fail(graph, SHD_EINVAL,
                          "'%s': '%s' has %lld elements, fewer than %lld pairs need", name,
                          graph->dims[pair_dim].name, (long long)graph->dims[pair_dim].size,
                          (long long)attr->rope.rotation->npairs);
    return rotate(graph, name, x, positions, attr);
}

uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, const struct kern_rotation *rotation)
{
    const union graph_attr attr = {.rope = {position_dim, pair_dim, position0, rotation, false}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    return embed(graph, name, x, GRAPH_NONE, &attr);
}

uint32_t graph_rope_at(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       uint32_t pair_dim, const struct kern_rotation *rotation)
{
    union graph_attr attr = {.rope = {0, pair_dim, 0, rotation, false}};

    if (graph->err.status != SHD_OK || x == GRAPH_NONE || positions == GRAPH_NONE)
        return GRAPH_NONE;
    if (graph->nodes[positions].rank != 1 || graph->nodes[positions].dtype != SHD_I32)
        return graph_fail(graph, SHD_EINVAL, "'%s' needs integers positions[seq], not '%s'", name,
                          graph->nodes[positions].name);
    attr.rope.position_dim = graph->nodes[positions].dims[0];
    return embed(graph, name, x, positions, &attr);
}

struct kern_rotation *graph_rotation_pairs(struct graph *graph, int64_t npairs, double theta,
                                           bool interleaved)
{
    struct kern_rotation *out = graph_memory(graph, 1, sizeof *out);

    if (!out)
        return NULL;
    *out =
        (struct kern_rotation){npairs, interleaved, 1, theta, graph_numbers(graph, (size_t)npairs)};
    for (int64_t i = 0; out->frequencies && i < npairs; i++)
        out->frequencies[i] = pow(theta, -(double)i / (double)npairs);
    return out->frequencies ? out : NULL;
}

struct kern_rotation *graph_rotation(struct graph *graph, uint32_t x, uint32_t pair_dim,
                                     double theta, bool interleaved)
{
    int64_t width;

    if (graph->err.status != SHD_OK || x == GRAPH_NONE)
        return NULL;
    width = graph->dims[pair_dim].size;
    if (width % 2) {
        graph_fail(graph, SHD_EINDIVISIBLE, "'%s' has %lld elements, not pairs",
                   graph->dims[pair_dim].name, (long long)width);
        return NULL;
    }
    return graph_rotation_pairs(graph, width / 2, theta, interleaved);
}

static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph_node n = r->graph->nodes[node];
    const char *name = reverse_name(r->graph, node, n.inputs[0]);

    n.attr.rope.inverse = !n.attr.rope.inverse;
    adjoint = reverse_shaped_like(r->graph, adjoint, node, name);
    if (adjoint != GRAPH_NONE)
        reverse_add(r, n.inputs[0],
                    rotate(r->graph, name, adjoint, n.ninputs > 1 ? n.inputs[1] : GRAPH_NONE,
                           &n.attr));
}

static void need(struct padding *p, struct graph_node *n)
{
    padding_refuse(p, n, n->attr.rope.pair_dim, PADDING_LOOKS_ACROSS);
}

static void jax_frequencies(struct text *out, const struct kern_rotation *r)
{
    if (r->theta > 0) {
        text_addf(out, "%.17g ** (-jnp.arange(%lld) / %lld)", r->theta, (long long)r->npairs,
                  (long long)r->npairs);
        return;
    }
    text_add(out, "jnp.array([");
    for (int64_t i = 0; i < r->npairs; i++)
        text_addf(out, "%s%.17g", i ? ", " : "", r->frequencies[i]);
    text_add(out, "])");
}

/* The rotation back is that by the negative positions. */
static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct kern_rotation *r = n->attr.rope.rotation;
    long long first = n->attr.rope.position0;

    text_add(out, n->attr.rope.inverse ? "rope($0, -" : "rope($0, ");
    if (n->ninputs > 1)
        text_add(out, "$1");
    else
        text_addf(out, "jnp.arange(%lld, %lld)", first,
                  first + (long long)graph->dims[n->attr.rope.position_dim].size);
    text_addf(out, ", axis=%u, pairs=%u, frequencies=", graph_place(n, n->attr.rope.position_dim),
              graph_place(n, n->attr.rope.pair_dim));
    jax_frequencies(out, r);
    if (r->factor != 1)
        text_addf(out, ", factor=%.17g", r->factor);
    text_addf(out, ", interleaved=%s)", r->interleaved ? "True" : "False");
}

const struct graph_op_row graph_op_rope = {.name = "rope",
                                           .linear = KERN_LINEAR_IN_ALL,
                                           .passes_sums = true,
                                           .reverse = reverse,
                                           .need = need,
                                           .made = padding_zero_kept,
                                           .jax = jax};
