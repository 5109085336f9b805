/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/assign.h"

#include <string.h>

int op_dims_find(const struct op_dims *dims, uint32_t dim)
{
    for (uint32_t d = 0; d < dims->ndims; d++)
        if (dims->dims[d] == dim)
            return (int)d;
    return -1;
}

static void add_dim(struct op_dims *dims, const struct graph *graph, uint32_t dim)
{
    if (op_dims_find(dims, dim) >= 0)
        return;
    dims->dims[dims->ndims] = dim;
    dims->sizes[dims->ndims++] = graph->dims[dim].size;
}

void op_dims_of(struct op_dims *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    memset(out, 0, sizeof *out);
    for (uint32_t d = 0; d < n->rank; d++)
        add_dim(out, graph, n->dims[d]);
    out->nresult = out->ndims;
    for (uint32_t k = 0; k < n->ninputs; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++)
            add_dim(out, graph, graph->nodes[n->inputs[k]].dims[d]);
}

void assign_init(struct assign *assign)
{
    memset(assign, 0, sizeof *assign);
    for (int a = 0; a < SHD_MESH_AXES_MAX; a++) {
        assign->place[a] = ASSIGN_NONE;
        assign->order[a] = (uint8_t)a;
    }
}

/* The axes of one dimension, in the assignment's order. */
static void axes_at(struct shd_dim_axes *out, const struct assign *assign, int place, size_t naxes)
{
    for (int i = 0; i < SHD_MESH_AXES_MAX; i++) {
        uint8_t axis = assign->order[i];

        if (axis < naxes && assign->place[axis] == place)
            out->axes[out->naxes++] = axis;
    }
}

static void shard_array(struct shd_sharding *out, const struct graph_node *array,
                        const struct op_dims *dims, const struct assign *assign,
                        const struct shd_mesh *mesh)
{
    shd_sharding_init(out, mesh, array->rank);
    for (uint32_t d = 0; d < array->rank; d++)
        axes_at(&out->dims[d], assign, op_dims_find(dims, array->dims[d]), shd_mesh_naxes(mesh));
}

/* Ops that add up whole arrays need all of them partial; products need one. */
static bool all_partial(const struct graph_node *node)
{
    return node->op == GRAPH_MAP && (node->fn == KERN_ADD || node->fn == KERN_SUB);
}

void assign_operand(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                    const struct op_dims *dims, const struct assign *assign,
                    const struct shd_mesh *mesh, uint32_t k)
{
    const struct graph_node *n = &graph->nodes[node];

    shard_array(out, &graph->nodes[n->inputs[k]], dims, assign, mesh);
    if (!all_partial(n) && k != assign->linear_operand)
        return;
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (assign->place[a] == ASSIGN_PARTIAL)
            out->partial |= (uint16_t)(1u << a);
}

void assign_result(struct shd_sharding *out, const struct graph *graph, uint32_t node,
                   const struct op_dims *dims, const struct assign *assign,
                   const struct shd_mesh *mesh)
{
    const struct graph_node *n = &graph->nodes[node];

    shard_array(out, n, dims, assign, mesh);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (assign->place[a] == ASSIGN_PARTIAL || assign->place[a] >= (int)dims->nresult)
            out->partial |= (uint16_t)(1u << a);
    if (out->partial && n->op == GRAPH_REDUCE)
        out->partial_op = (uint16_t)n->reduce;
}

bool assign_linear(const struct graph_node *node, uint32_t k)
{
    switch (node->op) {
    case GRAPH_EINSUM:
        return true;
    case GRAPH_REDUCE:
        return node->reduce == SHD_SUM;
    case GRAPH_CONSTRAINT:
        return true;
    case GRAPH_MAP:
        switch (node->fn) {
        case KERN_COPY:
        case KERN_NEG:
        case KERN_SCALE:
        case KERN_ADD:
        case KERN_SUB:
        case KERN_MUL:
            return true;
        case KERN_DIV:
            return k == 0;
        default:
            return false;
        }
    default:
        return false;
    }
}

bool assign_valid(const struct graph *graph, uint32_t node, const struct op_dims *dims,
                  const struct assign *assign, const struct shd_mesh *mesh)
{
    const struct graph_node *n = &graph->nodes[node];
    int64_t cut[ASSIGN_DIMS_MAX];

    for (uint32_t d = 0; d < dims->ndims; d++)
        cut[d] = 1;
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        int8_t place = assign->place[a];

        if (place == ASSIGN_PARTIAL &&
            (n->ninputs == 0 || !assign_linear(n, assign->linear_operand)))
            return false;
        if (place >= 0)
            cut[place] *= shd_mesh_axis_size(mesh, a);
    }
    for (uint32_t d = 0; d < dims->ndims; d++)
        if (dims->sizes[d] % cut[d])
            return false;
    return true;
}
