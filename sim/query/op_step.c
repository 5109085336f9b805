/* step.plan: the communication of a layer's step under asked-for shardings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/partition.h"
#include "query/layer.h"
#include "query/moves.h"
#include "query/query.h"
#include "query/read.h"

/* Whole numbers, so that sums are exact whatever their order. */
static const struct kern_source small_numbers = {.seed = 1, .modulus = 5};

/* The places of a graph that a key of `activation_specs` means: "mlp/hidden" ends with "hidden". */
struct place_name {
    const char *key;
    const char *ending; /* of the constraint's name */
};

static const struct place_name place_names[] = {
    {"mlp_in", "mlp/in"}, {"attn_in", "attn/in"}, {"hidden", "mlp/hidden"},
    {"q", "attn/q"},      {"kv", "attn/kv"},      {"out", "/out"},
    {NULL, NULL}};

struct step_question {
    const struct layer_kind *kind;
    struct graph *graph;
    struct shd_mesh *mesh;
    struct shd_sharding *shardings;
    const struct shd_sharding **nodes, **outputs;
    uint32_t tensors[LAYER_TENSORS_MAX];
    uint32_t result;
    struct program *program;
};

static void fini(struct step_question *q)
{
    program_destroy(q->program);
    free(q->shardings);
    free(q->nodes);
    free(q->outputs);
    shd_mesh_destroy(q->mesh);
    graph_destroy(q->graph);
}

static int find_kind(struct step_question *q, const json_t *in, struct shd_error *err)
{
    const char *model, *mlp;
    int status = read_string(&model, in, "model", "", err);

    if (status == SHD_OK)
        status = read_string(&mlp, json_object_get(in, "config"), "mlp", "gelu", err);
    if (status != SHD_OK)
        return status;
    if (!strcmp(model, "mlp"))
        q->kind = layer_find(strcmp(mlp, "swiglu") ? "mlp_gelu" : "mlp_swiglu");
    else if (!strcmp(model, "attn"))
        q->kind = layer_find("attention");
    else if (!strcmp(model, "block"))
        q->kind = layer_find("block");
    if (!q->kind)
        return shd_error_set(err, SHD_EUNSUPPORTED, "there is no model '%.60s'", model);
    return SHD_OK;
}

static int add_leaf(struct step_question *q, const char *name, const int64_t *shape, size_t rank,
                    enum shd_dtype dtype, struct shd_error *err)
{
    int t = layer_tensor_find(q->kind, name);

    if (t < 0)
        return shd_error_set(err, SHD_ENOTFOUND, "the model has no tensor '%.60s'", name);
    q->tensors[t] = layer_add_tensor(q->graph, q->kind, t, dtype, shape, rank, small_numbers);
    return graph_status(q->graph, err);
}

/* x and ct of [batch, seq, d_model], and the parameters by their shapes. */
static int add_leaves(struct step_question *q, const json_t *in, bool backward,
                      struct shd_error *err)
{
    const json_t *config = json_object_get(in, "config"), *value;
    json_t *shapes = json_object_get(in, "param_shapes");
    int64_t shape[SHD_RANK_MAX];
    enum shd_dtype dtype;
    const char *name;
    size_t rank;
    int status = read_dtype(&dtype, config, "dtype", err);

    for (int t = 0; t < LAYER_TENSORS_MAX; t++)
        q->tensors[t] = GRAPH_NONE;
    if (status == SHD_OK)
        status = read_int(&shape[0], config, "batch", 1, err);
    if (status == SHD_OK)
        status = read_int(&shape[1], config, "seq", 1, err);
    if (status == SHD_OK)
        status = read_int(&shape[2], config, "d_model", 1, err);
    if (status == SHD_OK)
        status = add_leaf(q, "x", shape, 3, dtype, err);
    if (status == SHD_OK && backward)
        status = add_leaf(q, "ct", shape, 3, dtype, err);
    json_object_foreach(shapes, name, value)
    {
        if (status == SHD_OK)
            status = read_shape(shape, &rank, shapes, name, err);
        if (status == SHD_OK)
            status = add_leaf(q, strrchr(name, '.') ? strrchr(name, '.') + 1 : name, shape, rank,
                              dtype, err);
    }
    return status;
}

static int build_graph(struct step_question *q, const json_t *in, bool backward,
                       struct shd_error *err)
{
    int status = add_leaves(q, in, backward, err);

    if (status != SHD_OK)
        return status;
    q->result = q->kind->build(q->graph, json_object_get(in, "config"), q->tensors);
    if (backward) {
        q->graph->noutputs = 0; /* the step gives loss and gradients only */
        layer_add_gradients(q->graph, q->kind, q->result, q->tensors);
    }
    return graph_status(q->graph, err);
}

static int bind(struct step_question *q, uint32_t node, const json_t *spec, struct shd_error *err)
{
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    if (!spec || node == GRAPH_NONE)
        return SHD_OK;
    graph_shape(q->graph, node, shape);
    status = read_sharding_value(&q->shardings[node], spec, q->mesh, shape,
                                 q->graph->nodes[node].rank, err);
    if (status == SHD_OK)
        q->nodes[node] = &q->shardings[node];
    return status;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);

    return n >= m && !strcmp(text + n - m, ending);
}

static int bind_constraint(struct step_question *q, uint32_t node, const json_t *specs,
                           struct shd_error *err)
{
    for (const struct place_name *p = place_names; p->key; p++)
        if (ends_with(q->graph->nodes[node].name, p->ending))
            return bind(q, node, json_object_get(specs, p->key), err);
    return SHD_OK;
}

/* Parameters, constraints, and x by their specs; ct as the result; gradients as what they are of.
 */
static int bind_all(struct step_question *q, const json_t *in, struct shd_error *err)
{
    const json_t *specs = json_object_get(in, "activation_specs"), *spec;
    json_t *params = json_object_get(in, "param_specs");
    uint32_t ct = layer_node(q->kind, q->tensors, "ct");
    const char *name;
    int status = bind(q, layer_node(q->kind, q->tensors, "x"), json_object_get(specs, "x"), err);

    json_object_foreach(params, name, spec)
    {
        const char *tensor = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;

        if (status == SHD_OK)
            status = bind(q, layer_node(q->kind, q->tensors, tensor), spec, err);
    }
    for (uint32_t node = 0; node < q->graph->nnodes && status == SHD_OK; node++)
        if (q->graph->nodes[node].op == GRAPH_CONSTRAINT)
            status = bind_constraint(q, node, specs, err);
    if (ct != GRAPH_NONE)
        q->nodes[ct] = q->nodes[q->result];
    for (uint32_t o = 0; o < q->graph->noutputs; o++)
        if (q->graph->outputs[o].kind == GRAPH_GRADIENT)
            q->outputs[o] = q->nodes[q->graph->outputs[o].of];
    return status;
}

static int partition(struct step_question *q, const json_t *in, struct shd_error *err)
{
    struct partition_request request = {.graph = q->graph};
    int status = read_mesh(&q->mesh, in, "mesh", err);

    q->shardings = calloc((size_t)q->graph->nnodes + 1, sizeof *q->shardings);
    q->nodes = calloc((size_t)q->graph->nnodes + 1, sizeof *q->nodes);
    q->outputs = calloc((size_t)q->graph->noutputs + 1, sizeof *q->outputs);
    if (!q->shardings || !q->nodes || !q->outputs)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the shardings");
    if (status == SHD_OK)
        status = bind_all(q, in, err);
    request.mesh = q->mesh;
    request.nodes = q->nodes;
    request.outputs = q->outputs;
    return status == SHD_OK ? partition_build(&q->program, &request, err) : status;
}

static int answer_plan(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct step_question q = {.graph = graph_create(), .result = GRAPH_NONE};
    const char *mode;
    int status = read_string(&mode, in, "mode", "fwd", err);

    if (status == SHD_OK && strcmp(mode, "fwd") != 0 && strcmp(mode, "fwd_bwd") != 0)
        status = shd_error_set(err, SHD_EINVAL, "'mode' is fwd or fwd_bwd, not '%.60s'", mode);
    if (status == SHD_OK && !q.graph)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the graph");
    if (status == SHD_OK)
        status = find_kind(&q, in, err);
    if (status == SHD_OK)
        status = build_graph(&q, in, !strcmp(mode, "fwd_bwd"), err);
    if (status == SHD_OK)
        status = partition(&q, in, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        status = moves_write(out, q.program, err);
        json_out_end_object(out);
    }
    fini(&q);
    return status;
}

const struct query_op query_step_ops[] = {{"step.plan", answer_plan}, {NULL, NULL}};
