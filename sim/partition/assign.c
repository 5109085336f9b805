/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/assign.h"

#include <string.h>

#include "graph/ops.h"

void assign_init(struct assign *assign)
{
    memset(assign, 0, sizeof *assign);
    for (int a = 0; a < SHD_MESH_AXES_MAX; a++) {
        assign->place[a] = ASSIGN_NONE;
        assign->order[a] = (uint8_t)a;
    }
}

void assign_take_order(struct assign *assign, const struct shd_sharding *sharding)
{
    for (uint32_t d = 0; d <= sharding->rank; d++) {
        const struct shd_dim_axes *t = d < sharding->rank ? &sharding->dims[d] : &sharding->flat;
        uint8_t next = 0;

        for (int i = 0; i < SHD_MESH_AXES_MAX && next < t->naxes; i++)
            if (memchr(t->axes, assign->order[i], t->naxes))
                assign->order[i] = t->axes[next++];
    }
}

void assign_put_first(struct assign *assign, const struct shd_dim_axes *axes)
{
    uint8_t order[SHD_MESH_AXES_MAX], n = 0;

    for (; n < axes->naxes; n++)
        order[n] = axes->axes[n];
    for (int i = 0; i < SHD_MESH_AXES_MAX; i++)
        if (!memchr(axes->axes, assign->order[i], axes->naxes))
            order[n++] = assign->order[i];
    memcpy(assign->order, order, sizeof order);
}

/* The axes assigned to a factor, in the assignment's order. */
static void axes_on(struct shd_dim_axes *out, const struct assigned *a, int factor)
{
    size_t naxes = shd_mesh_naxes(a->mesh);

    memset(out, 0, sizeof *out);
    for (int i = 0; i < SHD_MESH_AXES_MAX; i++) {
        uint8_t axis = a->assign->order[i];

        if (axis < naxes && a->assign->place[axis] == factor)
            out->axes[out->naxes++] = axis;
    }
}

/* The axes that cut a factor: the axes assigned to the factor, or, if the factor follows another,
 * the other's axes as far as they divide its size. */
static void axes_of(struct shd_dim_axes *out, const struct assigned *a, int factor)
{
    const struct rule_factor *f = &a->rule->factors[factor];
    struct shd_dim_axes led;
    int64_t cut = 1;

    axes_on(out, a, factor);
    if (f->follows == RULE_FREE)
        return;
    axes_on(&led, a, f->follows);
    for (uint8_t i = 0; i < led.naxes; i++) {
        cut *= shd_mesh_axis_size(a->mesh, led.axes[i]);
        if (f->size % cut)
            return;
        out->axes[out->naxes++] = led.axes[i];
    }
}

uint32_t assign_result_node(const struct graph *graph, uint32_t node, uint32_t r)
{
    return r == 0 ? node : graph->nodes[node].extras[r - 1];
}

static void shard_array(struct shd_sharding *out, const struct assigned *a, uint32_t array,
                        const int8_t *factors)
{
    uint32_t rank = a->graph->nodes[array].rank;

    shd_sharding_init(out, a->mesh, rank);
    for (uint32_t d = 0; d < rank; d++)
        axes_of(&out->dims[d], a, factors[d]);
    if (rank == 0 || a->assign->flat_dims == 0)
        return;
    axes_on(&out->flat, a, ASSIGN_FLAT);
    out->flat_dims = out->flat.naxes > 0 ? a->assign->flat_dims : 0;
}

void assign_operand(struct shd_sharding *out, const struct assigned *a, uint32_t k)
{
    const struct graph_node *n = &a->graph->nodes[a->node];

    shard_array(out, a, n->inputs[k], a->rule->operand[k]);
    /* A partial result needs all operands partial (sums), or one (products). */
    if (graph_linearity(n) == KERN_LINEAR_IN_ALL ? !graph_is_linear(a->graph, n, k)
                                                 : k != a->assign->linear_operand)
        return;
    for (size_t axis = 0; axis < shd_mesh_naxes(a->mesh); axis++)
        if (a->assign->place[axis] == ASSIGN_PARTIAL)
            out->partial |= (uint16_t)(1u << axis);
}

/* An axis that does work without sharding the result leaves the result partial. */
void assign_result(struct shd_sharding *out, const struct assigned *a, uint32_t r)
{
    uint32_t cuts;

    shard_array(out, a, assign_result_node(a->graph, a->node, r), a->rule->result[r]);
    cuts = shd_sharding_axes(out);
    for (size_t axis = 0; axis < shd_mesh_naxes(a->mesh); axis++)
        if (a->assign->place[axis] != ASSIGN_NONE && !(cuts >> axis & 1))
            out->partial |= (uint16_t)(1u << axis);
    if (out->partial)
        out->partial_op = (uint16_t)a->rule->reduce;
}

/* Cut the leading extents flat into pieces, as shd_sharding_shard_shape() does. */
static void cut_flat(int64_t *extents, const struct assigned *a)
{
    int64_t npieces, count = 1;
    struct shd_dim_axes axes;

    axes_on(&axes, a, ASSIGN_FLAT);
    npieces = shd_mesh_size_of_axes(a->mesh, axes.axes, axes.naxes);
    if (axes.naxes == 0)
        return;
    for (uint32_t f = 0; f < a->assign->flat_dims; f++) {
        count *= extents[f];
        extents[f] = 1;
    }
    extents[a->assign->flat_dims - 1] = count / npieces + (count % npieces != 0);
}

void assign_extents(int64_t *extents, const struct assigned *a)
{
    for (uint32_t f = 0; f < a->rule->nfactors; f++) {
        struct shd_dim_axes axes;

        extents[f] = a->rule->factors[f].size;
        axes_of(&axes, a, (int)f);
        for (uint8_t i = 0; i < axes.naxes; i++)
            extents[f] /= shd_mesh_axis_size(a->mesh, axes.axes[i]);
    }
    if (a->assign->flat_dims > 0)
        cut_flat(extents, a);
}

bool assign_converts_sum(const struct graph_node *node)
{
    return node->op == GRAPH_MAP && node->fn == KERN_CONVERT && node->gradient_of != GRAPH_NONE;
}

bool assign_valid(const struct assigned *a)
{
    const struct graph_node *n = &a->graph->nodes[a->node];
    int64_t cut[RULE_FACTORS_MAX];

    for (uint32_t f = 0; f < a->rule->nfactors; f++)
        cut[f] = 1;
    for (size_t axis = 0; axis < shd_mesh_naxes(a->mesh); axis++) {
        int8_t place = a->assign->place[axis];

        if (place == ASSIGN_PARTIAL &&
            (n->ninputs == 0 || !graph_is_linear(a->graph, n, a->assign->linear_operand)))
            return false;
        if (place == ASSIGN_FLAT &&
            (!a->rule->flat || a->assign->flat_dims == 0 ||
             a->assign->flat_dims > a->rule->nfactors))
            return false;
        if (place >= 0 &&
            (a->rule->factors[place].whole || a->rule->factors[place].follows != RULE_FREE))
            return false;
        if (place >= 0)
            cut[place] *= shd_mesh_axis_size(a->mesh, axis);
    }
    for (uint32_t f = 0; f < a->rule->nfactors; f++)
        if (a->rule->factors[f].size % cut[f])
            return false;
    return true;
}
