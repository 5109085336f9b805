/* Shardings of a training question (train_layout.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/zero.h"
#include "question/read_field.h"

/* Axes by number; -1: none. */
struct axes {
    int data, tensor;
    struct zero_axes zero;
    bool sequence;
    int64_t zero_stage;
};

static int find_axis(int *out, const struct train *t, const json_t *in, const char *key,
                     struct shd_error *err)
{
    const char *name;
    int status = read_string(&name, in, key, NULL, err);

    *out = -1;
    if (status != SHD_OK || !name)
        return status;
    *out = shd_mesh_find_axis(t->mesh, name);
    return *out < 0 ? shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.60s'", name)
                    : SHD_OK;
}

static int add_zero_axis(struct zero_axes *zero, const struct train *t, const json_t *in,
                         struct shd_error *err)
{
    const char *name = json_string_value(in);
    int axis = name ? shd_mesh_find_axis(t->mesh, name) : -1;

    if (!name)
        return shd_error_set(err, SHD_EINVAL, "'axis' of 'zero' must be a name or a list of names");
    if (axis < 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.60s'", name);
    for (uint8_t i = 0; i < zero->n; i++)
        if (zero->axes[i] == axis)
            return shd_error_set(err, SHD_EDUPAXIS, "'zero' has axis '%.60s' twice", name);
    zero->axes[zero->n++] = (uint8_t)axis;
    return SHD_OK;
}

/* Read one axis, or a list of axes. */
static int read_zero_axes(struct zero_axes *zero, const struct train *t, const json_t *in,
                          struct shd_error *err)
{
    int status = SHD_OK;

    *zero = (struct zero_axes){0};
    if (!in || json_is_null(in))
        return SHD_OK;
    if (!json_is_array(in))
        return add_zero_axis(zero, t, in, err);
    for (size_t i = 0; i < json_array_size(in) && status == SHD_OK; i++)
        status = add_zero_axis(zero, t, json_array_get(in, i), err);
    return status;
}

static int read_axes(struct axes *axes, const struct train *t, const json_t *layout,
                     struct shd_error *err)
{
    const json_t *zero = json_object_get(layout, "zero");
    int status = find_axis(&axes->data, t, layout, "data", err);

    if (status == SHD_OK)
        status = find_axis(&axes->tensor, t, layout, "tensor", err);
    if (status == SHD_OK)
        status = read_bool(&axes->sequence, layout, "sequence", false, err);
    if (status == SHD_OK)
        status = read_zero_axes(&axes->zero, t, json_object_get(zero, "axis"), err);
    if (status == SHD_OK)
        status = read_int(&axes->zero_stage, zero, "stage", 0, err);
    if (status == SHD_OK && (axes->zero_stage < 0 || axes->zero_stage > 3))
        status = shd_error_set(err, SHD_ERANGE, "'stage' must be from 0 to 3");
    if (status == SHD_OK && axes->zero_stage > 0 && axes->zero.n == 0)
        status = shd_error_set(err, SHD_EINVAL, "'zero' needs an 'axis'");
    return status;
}

/* Whether Megatron shards a dimension over the tensor axis: those of weights that need no sum in
 * between, and of the vocabulary. */
static bool is_tensor_dim(const char *name)
{
    return !strcmp(name, "heads") || !strcmp(name, "kv_heads") || !strcmp(name, "mlp") ||
           !strcmp(name, "vocab");
}

/* Shard dimension `d` over an axis if it divides and the axis shards nothing else. */
static void cut(struct shd_sharding *s, const int64_t *shape, uint32_t d, int axis)
{
    int64_t local[SHD_RANK_MAX];

    if (axis < 0 || shd_sharding_axes(s) >> axis & 1)
        return;
    shd_sharding_shard_shape(s, shape, local);
    if (local[d] % shd_mesh_axis_size(s->mesh, (size_t)axis) == 0)
        s->dims[d].axes[s->dims[d].naxes++] = (uint8_t)axis;
}

static void place_param(struct train *t, const struct axes *axes, uint32_t node)
{
    const struct graph_node *n = &t->graph->nodes[node];
    struct shd_sharding *s = &t->shardings[node];
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(t->graph, node, shape);
    for (uint32_t d = 0; d < n->rank; d++)
        if (is_tensor_dim(t->graph->dims[n->dims[d]].name))
            cut(s, shape, d, axes->tensor);
    if (axes->zero_stage == 3)
        t->stored[node] = zero_cut(s, shape, &axes->zero);
}

/* Place optimizer state, and gradients in the state's sharding, like their parameter, sharded
 * further by ZeRO, as model/shardings.c does. */
static void place_state(struct train *t, const struct axes *axes, uint32_t node)
{
    const struct graph_node *n = &t->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(t->graph, node, shape);
    t->shardings[node] = t->shardings[n->state_of];
    if (axes->zero_stage > 0)
        (void)zero_cut(&t->shardings[node], shape, &axes->zero);
    if (n->op == GRAPH_CONSTRAINT && (shd_sharding_is_replicated(&t->shardings[node]) ||
                                      (zero_is_sum(n) && axes->zero_stage < 2)))
        t->nodes[node] = NULL; /* the partitioner chooses where to add up parts */
}

/* Shard a value between layers by batch, and by sequence if requested. */
static void place_value(struct train *t, const struct axes *axes, uint32_t node)
{
    const struct graph_node *n = &t->graph->nodes[node];
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(t->graph, node, shape);
    for (uint32_t d = 0; d < n->rank; d++) {
        const char *name = t->graph->dims[n->dims[d]].name;

        if (!strcmp(name, "batch"))
            cut(&t->shardings[node], shape, d, axes->data);
        if (!strcmp(name, "seq") && n->op == GRAPH_CONSTRAINT && axes->sequence)
            cut(&t->shardings[node], shape, d, axes->tensor);
    }
}

/* Whether a node is between layers: the embedding's result, or the residual after each half of a
 * block.
 */
static bool is_residual(const struct graph_node *n)
{
    return n->op == GRAPH_CONSTRAINT &&
           (!strcmp(n->name, "wte.out") || text_ends_with(n->name, "/out")) &&
           !strstr(n->name, "/attn/") && !strstr(n->name, "/mlp/");
}

static void place_node(struct train *t, const struct axes *axes, uint32_t node)
{
    const struct graph_node *n = &t->graph->nodes[node];

    if (n->op != GRAPH_PARAM && n->op != GRAPH_INPUT && n->state_of == GRAPH_NONE &&
        !(axes->sequence && is_residual(n)))
        return;
    shd_sharding_init(&t->shardings[node], t->mesh, n->rank);
    t->nodes[node] = &t->shardings[node];
    if (n->op == GRAPH_PARAM)
        place_param(t, axes, node);
    else if (n->state_of != GRAPH_NONE)
        place_state(t, axes, node);
    else
        place_value(t, axes, node);
}

int train_layout(struct train *train, const json_t *layout, struct shd_error *err)
{
    struct axes axes = {.data = -1, .tensor = -1};
    int status = read_axes(&axes, train, layout, err);

    if (status != SHD_OK)
        return status;
    train->shardings = calloc((size_t)train->graph->nnodes + 1, sizeof *train->shardings);
    train->nodes = calloc((size_t)train->graph->nnodes + 1, sizeof *train->nodes);
    train->stored = calloc((size_t)train->graph->nnodes + 1, sizeof *train->stored);
    if (!train->shardings || !train->nodes || !train->stored)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the shardings");
    for (uint32_t node = 0; node < train->graph->nnodes; node++)
        place_node(train, &axes, node);
    return SHD_OK;
}
