/* step.plan: the communication of a layer's step under requested shardings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "query/layer_question.h"
#include "query/moves.h"
#include "query/query.h"
#include "question/read_field.h"

/* Small integers, so that sums are exact in any order. */
static const struct kern_source small_numbers = {.seed = 1, .modulus = 5};

/* The constraints that a key of `activation_specs` stands for: "mlp/hidden" means names ending in
 * "hidden". */
struct place_name {
    const char *key;
    const char *ending; /* of the constraint's name */
};

static const struct place_name place_names[] = {
    {"mlp_in", "mlp/in"}, {"attn_in", "attn/in"}, {"hidden", "mlp/hidden"},
    {"q", "attn/q"},      {"kv", "attn/kv"},      {"out", "/out"},
    {NULL, NULL}};

/* Read "placement", by default search. */
static int read_placement(enum partition_placement *out, const json_t *in, struct shd_error *err)
{
    const char *placement;
    int status = read_string(&placement, in, "placement", "search", err);

    if (status != SHD_OK)
        return status;
    if (strcmp(placement, "follow") != 0 && strcmp(placement, "search") != 0)
        return shd_error_set(err, SHD_EINVAL, "'placement' is '%.60s'; expected follow or search",
                             placement);
    *out = strcmp(placement, "search") != 0 ? PARTITION_FOLLOW : PARTITION_SEARCH;
    return SHD_OK;
}

static int begin(struct layer_question *q, const json_t *in, struct shd_error *err)
{
    const struct layer_kind *kind = NULL;
    const char *model, *mlp;
    int status = read_string(&model, in, "model", "", err);

    if (status == SHD_OK)
        status = read_string(&mlp, json_object_get(in, "config"), "mlp", "gelu", err);
    if (status != SHD_OK)
        return status;
    if (!strcmp(model, "mlp"))
        kind = layer_find(strcmp(mlp, "swiglu") ? "mlp_gelu" : "mlp_swiglu");
    else if (!strcmp(model, "attn"))
        kind = layer_find("attention");
    else if (!strcmp(model, "block"))
        kind = layer_find("block");
    if (!kind)
        return shd_error_set(err, SHD_EUNSUPPORTED, "unknown model '%.60s'", model);
    return layer_question_begin(q, kind, err);
}

static int add_leaf(struct layer_question *q, const char *name, const int64_t *shape, size_t rank,
                    enum shd_dtype dtype, struct shd_error *err)
{
    int t = layer_tensor_find(q->kind, name);

    if (t < 0)
        return shd_error_set(err, SHD_ENOTFOUND, "the model has no tensor '%.60s'", name);
    q->tensors[t] = layer_add_tensor(q->graph, q->kind, t, dtype, shape, rank, small_numbers);
    return graph_status(q->graph, err);
}

/* Add x and ct of [batch, seq, d_model], and the parameters by their shapes. */
static int add_leaves(struct layer_question *q, const json_t *in, bool backward,
                      struct shd_error *err)
{
    const json_t *config = json_object_get(in, "config"), *value;
    json_t *shapes = json_object_get(in, "param_shapes");
    int64_t shape[SHD_RANK_MAX];
    enum shd_dtype dtype;
    const char *name;
    size_t rank;
    int status = read_dtype(&dtype, config, "dtype", err);

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

/* Build the graph, and store the layer's result. */
static int build_graph(struct layer_question *q, uint32_t *result, const json_t *in, bool backward,
                       struct shd_error *err)
{
    int status = add_leaves(q, in, backward, err);

    if (status != SHD_OK)
        return status;
    *result = layer_build(q->graph, q->kind, json_object_get(in, "config"), q->tensors);
    if (backward) {
        q->graph->noutputs = 0; /* outputs of the step are loss and gradients only */
        layer_add_gradients(q->graph, q->kind, *result, q->tensors);
    }
    return graph_status(q->graph, err);
}

static int bind_constraint(struct layer_question *q, uint32_t node, const json_t *specs,
                           struct shd_error *err)
{
    for (const struct place_name *p = place_names; p->key; p++)
        if (text_ends_with(q->graph->nodes[node].name, p->ending))
            return layer_question_bind(q, node, json_object_get(specs, p->key), err);
    return SHD_OK;
}

/* Request shardings: parameters, constraints, x and the result by their specs; ct like the result;
 * gradients like the tensors that they belong to. */
static int bind_all(struct layer_question *q, uint32_t result, const json_t *in,
                    struct shd_error *err)
{
    const json_t *specs = json_object_get(in, "activation_specs"), *spec;
    json_t *params = json_object_get(in, "param_specs");
    uint32_t ct = layer_node(q->kind, q->tensors, "ct");
    const char *name;
    int status = layer_question_bind(q, layer_node(q->kind, q->tensors, "x"),
                                     json_object_get(specs, "x"), err);

    json_object_foreach(params, name, spec)
    {
        const char *tensor = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;

        uint32_t node = layer_node(q->kind, q->tensors, tensor);

        if (status == SHD_OK && node == GRAPH_NONE)
            status = shd_error_set(err, SHD_ENOTFOUND, "a spec for '%.60s', but no shape", name);
        if (status == SHD_OK)
            status = layer_question_bind(q, node, spec, err);
    }
    for (uint32_t node = 0; node < q->graph->nnodes && status == SHD_OK; node++)
        if (q->graph->nodes[node].op == GRAPH_CONSTRAINT)
            status = bind_constraint(q, node, specs, err);
    if (status == SHD_OK)
        status = layer_question_bind(q, result, json_object_get(in, "result_spec"), err);
    if (ct != GRAPH_NONE)
        q->nodes[ct] = q->nodes[result];
    for (uint32_t o = 0; o < q->graph->noutputs; o++)
        if (q->graph->outputs[o].kind == GRAPH_GRADIENT)
            q->outputs[o] = q->nodes[q->graph->outputs[o].of];
    return status;
}

static int answer_plan(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct layer_question q = {.kind = NULL};
    uint32_t result = GRAPH_NONE;
    const char *mode;
    int status = read_string(&mode, in, "mode", "fwd", err);

    if (status == SHD_OK && strcmp(mode, "fwd") != 0 && strcmp(mode, "fwd_bwd") != 0)
        status = shd_error_set(err, SHD_EINVAL, "'mode' is '%.60s'; expected fwd or fwd_bwd", mode);
    if (status == SHD_OK)
        status = begin(&q, in, err);
    if (status == SHD_OK)
        status = build_graph(&q, &result, in, !strcmp(mode, "fwd_bwd"), err);
    if (status == SHD_OK)
        status = read_mesh(&q.mesh, in, "mesh", err);
    if (status == SHD_OK)
        status = layer_question_end(&q, err);
    if (status == SHD_OK)
        status = read_placement(&q.placement, in, err);
    if (status == SHD_OK)
        status = bind_all(&q, result, in, err);
    if (status == SHD_OK)
        status = layer_question_partition(&q, err);
    if (status == SHD_OK) {
        json_out_begin_object(out);
        status = moves_write(out, q.program, err);
        json_out_end_object(out);
    }
    layer_question_fini(&q);
    return status;
}

const struct query_op query_step_ops[] = {
    {.name = "step.plan",
     .answer = answer_plan,
     .about = "The communication of a layer's step under given shardings; planned, and executed.",
     .in = QUERY_FIELDS(
         {"model", "text", NULL, "mlp, attn or block."},
         {"mesh", "mesh", NULL, "Axes of the device mesh."},
         {"mode", "text", "\"fwd\"",
          "fwd, or fwd_bwd: the forward pass, the loss sum(y * ct), and the gradients."},
         {"config", "object", NULL,
          "Attributes that parameter shapes do not determine; others may be repeated."},
         {"config.batch", "whole number", "1", "Sequences."},
         {"config.seq", "whole number", "1", "Tokens of a sequence."},
         {"config.d_model", "whole number", "1", "Width of the model."},
         {"config.dtype", "dtype", "\"float32\"", "Of all arrays."},
         {"config.mlp", "text", "\"gelu\"", "gelu or swiglu."},
         {"config.causal", "boolean", "true", "Of attention."},
         {"config.rope", "list", "none", "Of attention: [theta, \"half\" or \"interleaved\"]."},
         {"config.d_ff", "whole number", "from the shapes", "Checked against them."},
         {"config.heads", "whole number", "from the shapes", "Checked against them."},
         {"config.kv_heads", "whole number", "from the shapes", "Checked against them."},
         {"config.head_dim", "whole number", "from the shapes", "Checked against them."},
         {"param_shapes", "object", NULL,
          "The shape of each parameter, named as in layer.run; a prefix up to a dot is ignored."},
         {"param_specs", "object", "{}", "Specs of parameters."},
         {"activation_specs", "object", "{}", "Specs of activations."},
         {"activation_specs.x", "spec", "none", "The input."},
         {"activation_specs.mlp_in", "spec", "none", "The input of the MLP."},
         {"activation_specs.attn_in", "spec", "none", "The input of attention."},
         {"activation_specs.hidden", "spec", "none", "The hidden activation of the MLP."},
         {"activation_specs.q", "spec", "none",
          "Queries, and keys and values repeated to the number of query heads."},
         {"activation_specs.kv", "spec", "none", "Keys and values as projected."},
         {"activation_specs.out", "spec", "none", "The output of attention or MLP in a block."},
         {"layout", "text", "none", "Name of the layout; has no effect."},
         {"result_spec", "spec", "none", "The spec of the result, and of ct."},
         {"placement", "text", "\"search\"",
          "search: unspecified shardings are chosen for the fewest bytes; follow: they are "
          "propagated from given ones."}),
     .gives = "object",
     .out = QUERY_FIELDS({"received_bytes", "object", NULL, "total, and per_device, as planned."},
                         {"collectives", "list of objects", NULL,
                          "op, axes, count, received_bytes of all devices, where and why."},
                         {"executed_received_bytes", "whole number", NULL,
                          "Bytes that all devices received when the step was executed "
                          "(received_bytes is the planned number)."}),
     .errors = "duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible, not-found",
     .question = "{'model': 'mlp', 'mesh': [['tp', 2]], 'config': {'batch': 2, 'seq': 4, "
                 "'d_model': 8}, 'param_shapes': {'w1': [8, 16], 'w2': [16, 8]}, 'param_specs': "
                 "{'w1': [null, 'tp'], 'w2': ['tp']}, 'activation_specs': {'x': [], 'out': []}}",
     .reply =
         "'out':{'received_bytes':{'total':512,'per_device':[256,256]},'collectives':[{'op':'all-"
         "reduce','axes':['tp'],'count':1,'received_bytes':512,'where':'mlp/out','why':'mlp/down "
         "sums over mlp, sharded over tp; mlp/out needs it "
         "replicated'}],'executed_received_bytes':512}"},
    {.name = NULL}};
