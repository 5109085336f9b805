/* layer.run: a layer's outputs and gradients as numbers, computed by device threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "query/layer_question.h"
#include "query/limits.h"
#include "query/query.h"
#include "question/read_field.h"
#include "trial/collect.h"
#include "run/walk/walk.h"

/* The question and its run. */
struct layer_run {
    struct layer_question q;
    struct record *record;
    struct collect results;
};

static void fini(struct layer_run *run)
{
    collect_fini(&run->results);
    record_destroy(run->record);
    layer_question_fini(&run->q);
}

/* Check values given beside their seed: they must equal the generated ones; for a mask, whether
 * those are not 0. */
static int check_values(const json_t *data, const struct kern_source *source, int64_t tokens,
                        bool mask, struct shd_error *err)
{
    const json_t *values = json_object_get(data, "values");
    int64_t n = (int64_t)json_array_size(values), one = 1;

    if (values && n != tokens)
        return shd_error_set(err, SHD_EINVAL, "%lld 'values' for %lld tokens", (long long)n,
                             (long long)tokens);
    for (int64_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(values, (size_t)i);
        int32_t made;

        kern_fill(source, SHD_I32, 1, &n, &i, &one, &made);
        if (!json_is_integer(value) || json_integer_value(value) != (mask ? made != 0 : made))
            return shd_error_set(err, SHD_EINVAL,
                                 "entry %lld of 'values' differs from seed and mod, which give %d",
                                 (long long)i, (int)(mask ? made != 0 : made));
    }
    return SHD_OK;
}

/* Add labels or mask, given beside the tensors: one integer for each token. */
static int add_data(struct layer_question *q, const json_t *in, int t, struct shd_error *err)
{
    const char *name = q->kind->tensors[t].name;
    const json_t *data = json_object_get(in, name);
    struct kern_source source;
    int64_t tokens, mod;
    int status;

    if (!json_is_object(data))
        return SHD_OK;
    status = layer_read_source(&source, data, err);
    if (status == SHD_OK)
        status = read_int(&mod, data, "mod", 1, err);
    if (status == SHD_OK && (mod < 1 || mod > UINT32_MAX))
        status = shd_error_set(err, SHD_ERANGE, "'mod' must be from 1 to 2^32-1");
    if (status == SHD_OK)
        status = read_int(&tokens, json_object_get(in, "attrs"), "tokens",
                          (int64_t)json_array_size(json_object_get(data, "values")), err);
    if (status != SHD_OK)
        return status;
    source.modulus = (uint32_t)mod;
    status = check_values(data, &source, tokens, !strcmp(name, "mask"), err);
    if (status != SHD_OK)
        return status;
    q->tensors[t] = layer_add_tensor(
        q->graph, q->kind, t, strcmp(name, "labels") ? SHD_F32 : SHD_I32, &tokens, 1, source);
    return SHD_OK;
}

static int add_tensor(struct layer_question *q, const json_t *tensor, int t, struct shd_error *err)
{
    struct kern_source source;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    int status = read_shape(shape, &rank, tensor, "shape", err);

    if (status == SHD_OK)
        status = layer_read_source(&source, tensor, err);
    if (status == SHD_OK)
        q->tensors[t] = layer_add_tensor(q->graph, q->kind, t, SHD_F32, shape, rank, source);
    return status;
}

static int add_tensors(struct layer_question *q, const json_t *in, struct shd_error *err)
{
    const json_t *tensors = json_object_get(in, "tensors");
    int status = SHD_OK;

    for (int t = 0; t < LAYER_TENSORS_MAX && q->kind->tensors[t].name && status == SHD_OK; t++) {
        const json_t *tensor = json_object_get(tensors, q->kind->tensors[t].name);

        status = tensor ? add_tensor(q, tensor, t, err) : add_data(q, in, t, err);
    }
    return status == SHD_OK ? graph_status(q->graph, err) : status;
}

static int build_graph(struct layer_question *q, const json_t *in, struct shd_error *err)
{
    const struct layer_kind *kind;
    const char *name;
    uint32_t result;
    int status = read_string(&name, in, "kind", "", err);

    if (status != SHD_OK)
        return status;
    kind = layer_find(name);
    if (!kind)
        return shd_error_set(err, SHD_EUNSUPPORTED, "unknown layer kind '%.60s'", name);
    status = layer_check_names(kind, in, err);
    if (status == SHD_OK)
        status = layer_question_begin(q, kind, err);
    if (status == SHD_OK)
        status = add_tensors(q, in, err);
    if (status != SHD_OK)
        return status;
    result = layer_build(q->graph, q->kind, json_object_get(in, "attrs"), q->tensors);
    layer_add_gradients(q->graph, q->kind, result, q->tensors);
    return graph_status(q->graph, err);
}

/* Read one spec for each tensor; a tensor without one is replicated. */
static int read_specs(struct layer_question *q, const json_t *in, struct shd_error *err)
{
    const json_t *specs = json_object_get(in, "specs");
    int status = layer_question_end(q, err);

    for (int t = 0; status == SHD_OK && t < LAYER_TENSORS_MAX && q->kind->tensors[t].name; t++) {
        const char *name = q->kind->tensors[t].name;
        const json_t *spec = json_object_get(specs, name);

        if (spec && q->tensors[t] == GRAPH_NONE)
            status = shd_error_set(err, SHD_EINVAL, "a spec for '%s', but no such tensor is given",
                                   name);
        else
            status = layer_question_bind(q, q->tensors[t], spec, err);
    }
    return status;
}

static int execute(struct layer_run *run, struct shd_error *err)
{
    struct walk_opts opts = {.finish = collect_finish, .finish_arg = &run->results};
    int status = layer_question_partition(&run->q, err);

    if (status == SHD_OK)
        status = limits_check(run->q.program, 1, true, err);
    if (status == SHD_OK)
        status = record_create(&run->record, run->q.program, RECORD_EXECUTED, false, err);
    if (status == SHD_OK)
        status = collect_init(&run->results, run->q.program, err);
    return status == SHD_OK ? walk_run(run->record, &opts, err) : status;
}

static void write_tensor(struct json_out *out, const struct program_buffer *b, const void *whole)
{
    int64_t count = 1;

    json_out_begin_object(out);
    json_out_key_array(out, "shape");
    for (uint32_t d = 0; d < b->rank; d++) {
        json_out_int(out, b->shape[d]);
        count *= b->shape[d];
    }
    json_out_end_array(out);
    json_out_key_array(out, "values");
    for (int64_t i = 0; i < count; i++)
        if (b->dtype == SHD_I32)
            json_out_int(out, ((const int32_t *)whole)[i]);
        else
            json_out_double(out, (double)((const float *)whole)[i]);
    json_out_end_array(out);
    json_out_end_object(out);
}

static void write_results(struct json_out *out, const struct layer_run *run, bool gradients)
{
    json_out_begin_object(out);
    for (uint32_t r = 0; r < run->q.program->nresults; r++) {
        const struct program_result *result = &run->q.program->results[r];

        if ((result->kind == PROGRAM_GRADIENT) != gradients)
            continue;
        json_out_key(out, result->name);
        write_tensor(out, &run->q.program->buffers[result->buffer], run->results.wholes[r]);
    }
    json_out_end_object(out);
}

static void write_answer(struct json_out *out, const struct layer_run *run, bool sharded)
{
    json_out_begin_object(out);
    json_out_key(out, "outputs");
    write_results(out, run, false);
    json_out_key(out, "grads");
    write_results(out, run, true);
    if (sharded) {
        json_out_key_int(out, "devices", shd_mesh_size(run->q.mesh));
        json_out_key_uint(out, "received_bytes", record_received(run->record));
    }
    json_out_end_object(out);
}

static int answer_run(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct layer_run run = {.record = NULL};
    bool sharded = json_object_get(in, "mesh") != NULL;
    int status = build_graph(&run.q, in, err);

    if (status == SHD_OK && sharded)
        status = read_mesh(&run.q.mesh, in, "mesh", err);
    else if (status == SHD_OK)
        status = shd_mesh_create(&run.q.mesh, NULL, NULL, 0, err);
    if (status == SHD_OK)
        status = read_specs(&run.q, in, err);
    if (status == SHD_OK)
        status = execute(&run, err);
    if (status == SHD_OK)
        write_answer(out, &run, sharded);
    fini(&run);
    return status;
}

#define DATA_FIELDS(name, about)                                                            \
    {name ".seed", "whole number from 0 to 4294967295", "0", "As of a tensor."},            \
        {name ".mod", "whole number from 1 to 4294967295", "1", "What numbers are below."}, \
    {                                                                                       \
        name ".values", "list of whole numbers", "none",                                    \
            about ", equal to what seed and mod give; their number must be attrs.tokens."   \
    }

const struct query_op query_layer_ops[] = {
    {.name = "layer.run",
     .answer = answer_run,
     .about = "Runs one layer, forward and backward, on device threads in float32, and returns "
              "outputs and gradients. The loss is sum(output * ct), for xent the cross-entropy.",
     .in = QUERY_FIELDS(
         {"kind", "text", NULL,
          "mlp_gelu, mlp_swiglu, attention, block, rmsnorm, layernorm, rope, moe or xent."},
         {"tensors", "object", NULL,
          "Tensors by name. mlp_gelu: x, w1, w2, ct, optionally b1, b2; mlp_swiglu: x, wg, wu, w2, "
          "ct; attention: x, wq, wk, wv, wo, ct; block: also w1 (or wg, wu), w2, g1, g2; rmsnorm: "
          "x, g, ct; layernorm: x, g, ct, optionally b; rope: x, ct; moe: x, wr, w1 (or wg, wu), "
          "w2, ct; xent: logits, or h and wv."},
         {"tensors.*", "tensor", "none", "The tensors."},
         {"labels", "object", "none", "xent also: one whole number per token."},
         DATA_FIELDS("labels", "The labels"),
         {"mask", "object", "none",
          "xent also: one whole number per token; tokens with mask 0 are ignored."},
         DATA_FIELDS("mask", "0 to ignore a token, else 1"),
         {"attrs", "object", "{}",
          "Attributes of the kind that the tensors do not determine; others may be repeated."},
         {"attrs.causal", "boolean", "true", "Of attention and block."},
         {"attrs.rope", "list", "none",
          "For attention and block: [theta, \"half\" or \"interleaved\"]."},
         {"attrs.eps", "number", "1e-6, of layernorm 1e-5", "Of norms; of block 1e-6."},
         {"attrs.theta", "number", "10000", "Of rope."},
         {"attrs.convention", "text", "\"half\"", "Of rope: half or interleaved."},
         {"attrs.pos0", "whole number", "0", "For rope: the position of the first token."},
         {"attrs.top_k", "whole number", "none", "Of moe, which must have it."},
         {"attrs.renormalize", "boolean", "false", "Of moe: gates are normalized."},
         {"attrs.tokens", "whole number", "from the tensors", "Of moe and xent."},
         {"attrs.mlp", "text", "from the tensors", "Of block: gelu or swiglu; checked."},
         {"attrs.act", "text", "from the tensors", "Of moe: gelu or swiglu; checked."},
         {"attrs.bias", "boolean", "from the tensors", "Of mlp_gelu; checked."},
         {"attrs.from_hidden", "boolean", "from the tensors", "Of xent; checked."},
         {"attrs.mask", "boolean", "from the tensors", "Of xent; checked."},
         {"attrs.batch", "whole number", "from the tensors", "Checked against them."},
         {"attrs.seq", "whole number", "from the tensors", "Checked against them."},
         {"attrs.d_model", "whole number", "from the tensors", "Checked against them."},
         {"attrs.d_ff", "whole number", "from the tensors", "Checked against them."},
         {"attrs.heads", "whole number", "from the tensors", "Checked against them."},
         {"attrs.kv_heads", "whole number", "from the tensors", "Checked against them."},
         {"attrs.head_dim", "whole number", "from the tensors", "Checked against them."},
         {"attrs.experts", "whole number", "from the tensors", "Checked against them."},
         {"attrs.vocab", "whole number", "from the tensors", "Checked against them."},
         {"attrs.x_scale", "number", "from the tensors", "Has no effect."},
         {"attrs.logit_scale", "number", "from the tensors", "Has no effect."},
         {"mesh", "mesh", "one device", "The device mesh."},
         {"specs", "object", "{}", "The spec of each tensor on the mesh; default: replicated."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"outputs", "object", NULL,
          "For each output (out, loss; moe: router_probs, topk_index, gates, tokens_per_expert; "
          "xent: per_token) its shape and values, row-major."},
         {"grads", "object", NULL,
          "The gradient of each tensor except ct, labels and mask: shape and values."},
         {"devices", "whole number", NULL, "With a mesh: its devices."},
         {"received_bytes", "whole number", NULL, "With a mesh: bytes received by all devices."}),
     .errors = "duplicate-axis, axis-not-in-mesh, spec-too-long, indivisible",
     .question = "{'kind': 'rmsnorm', 'tensors': {'x': {'shape': [1, 2, 2], 'seed': 1}, 'g': "
                 "{'shape': [2], 'seed': 2}, 'ct': {'shape': [1, 2, 2], 'seed': 3}}, 'mesh': "
                 "[['dp', 2]], 'specs': {'x': [null, 'dp'], 'ct': [null, 'dp']}}",
     .reply = "'out':{'outputs':{'out':{'shape':[1,2,2],'values':[0.6881884,0.03835142,0.422575,0."
              "1338373]},'loss':{'shape':[],'values':[-0.4037064]}},'grads':{'g':{'shape':[2],'"
              "values':[0.9112505,0.4398633]},'x':{'shape':[1,2,2],'values':[0.04490751,0.1902094,"
              "0.3357854,0.2502778]}},'devices':2,'received_bytes':24}"},
    {.name = NULL}};
