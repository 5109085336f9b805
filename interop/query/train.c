/* The scenario of a training question (train.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/layers/block.h"
#include "graph/optimizer/training.h"
#include "graph/recompute.h"
#include "query/layer.h"
#include "question/read_field.h"
#include "scenario/draft.h"
#include "scenario/tensor_rules.h"
#include "timetable/timetable.h"

#define STEPS_MAX 4096
#define LAYERS_MAX 64

/* ---- names ---- */

/* A parameter here, and in a question; in layers behind "layers/N/" and "layers.N.". */
static const struct {
    const char *ours, *theirs;
} params[] = {{"embed/table", "wte"},  {"final_norm/scale", "gf"}, {"head/kernel", "head"},
              {"norm1/scale", "g1"},   {"attn/q/kernel", "wq"},    {"attn/k/kernel", "wk"},
              {"attn/v/kernel", "wv"}, {"attn/o/kernel", "wo"},    {"norm2/scale", "g2"},
              {"mlp/up/kernel", "w1"}, {"mlp/gate/kernel", "wg"},  {"mlp/down/kernel", "w2"}};

void train_name(struct text *out, const struct train *train, const char *param)
{
    const char *rest = param;

    if (!strncmp(param, "layers/", 7)) {
        rest = strchr(param + 7, '/') + 1;
        text_addf(out, "layers.%.*s.", (int)(rest - param - 8), param + 7);
    }
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        if (!strcmp(rest, params[i].ours))
            text_add(out,
                     train->gated && !strcmp(params[i].theirs, "w1") ? "wu" : params[i].theirs);
}

/* ---- reading ---- */

struct question {
    const json_t *config, *tensors, *optimizer, *layout;
    struct shd_mesh *mesh;
    int64_t vocab, layers, d_model, heads, kv_heads, head_dim, d_ff;
    int64_t steps, batch, seq, microbatches, zero_stage;
    int data, tensor; /* axes; less than 0: none */
    bool tied, gated, sequence;
    double theta;
    const char *recompute;
    struct text zero; /* its axes, ... */
    uint64_t zeroed;  /* ... a bit each */
    struct shd_error *err;
};

static int read_extent(int64_t *out, const struct question *q, const char *key, int64_t most)
{
    int status = read_int(out, q->config, key, 0, q->err);

    if (status == SHD_OK && (*out < 1 || *out > INT32_MAX))
        return shd_error_set(q->err, SHD_ERANGE, "'%s' must be from 1 to 2^31-1", key);
    if (status == SHD_OK && *out > most)
        return shd_error_set(q->err, SHD_ERANGE, "'%s' must be at most %" PRId64, key, most);
    return status;
}

static int read_tensor(int64_t *shape, const struct question *q, const char *name, size_t rank)
{
    const json_t *tensor = json_object_get(q->tensors, name);
    size_t n;
    int status;

    if (!tensor)
        return shd_error_set(q->err, SHD_ENOTFOUND, "unknown tensor '%.60s'", name);
    status = read_shape(shape, &n, tensor, "shape", q->err);
    if (status == SHD_OK && n != rank)
        status = shd_error_set(q->err, SHD_EINVAL, "'%.60s' has a wrong number of dimensions, %zu",
                               name, n);
    return status;
}

/* Read the sizes that the first layer says; all tensors are held to them later. */
static int read_sizes(struct question *q)
{
    int64_t table[SHD_RANK_MAX], queries[SHD_RANK_MAX], keys[SHD_RANK_MAX], mlp[SHD_RANK_MAX];
    const char *kind;
    int status = read_string(&kind, q->config, "mlp", "gelu", q->err);

    if (status == SHD_OK && strcmp(kind, "gelu") != 0 && strcmp(kind, "swiglu") != 0)
        status = shd_error_set(q->err, SHD_EINVAL, "mlp is '%.60s'; expected gelu or swiglu", kind);
    if (status == SHD_OK)
        status = read_extent(&q->vocab, q, "vocab", INT32_MAX);
    if (status == SHD_OK)
        status = read_extent(&q->layers, q, "layers", LAYERS_MAX);
    if (status == SHD_OK)
        status = read_bool(&q->tied, q->config, "tied", false, q->err);
    if (status == SHD_OK)
        status = read_number(&q->theta, q->config, "rope", 0, q->err);
    if (status == SHD_OK && q->theta < 0)
        status = shd_error_set(q->err, SHD_ERANGE, "'rope' must not be negative");
    if (status == SHD_OK)
        status = read_tensor(table, q, "wte", 2);
    if (status == SHD_OK)
        status = read_tensor(queries, q, "layers.0.wq", 3);
    if (status == SHD_OK)
        status = read_tensor(keys, q, "layers.0.wk", 3);
    if (status == SHD_OK)
        status = read_tensor(mlp, q, "layers.0.w2", 2);
    if (status != SHD_OK)
        return status;
    q->gated = !strcmp(kind, "swiglu");
    q->d_model = table[1];
    q->heads = queries[1];
    q->head_dim = queries[2];
    q->kv_heads = keys[1];
    q->d_ff = mlp[0];
    return SHD_OK;
}

static int read_batch(struct question *q, const json_t *tokens)
{
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    int status = read_shape(shape, &rank, tokens, "shape", q->err);

    if (status == SHD_OK &&
        (rank != 3 || shape[0] < 1 || shape[0] > STEPS_MAX || shape[1] < 1 || shape[2] < 2))
        status =
            shd_error_set(q->err, SHD_ERANGE,
                          "'tokens' must be [steps, batch, seq + 1], at most %d steps", STEPS_MAX);
    if (status == SHD_OK)
        status = read_int(&q->microbatches, q->layout, "microbatches", 1, q->err);
    if (status != SHD_OK)
        return status;
    q->steps = shape[0];
    q->batch = shape[1];
    q->seq = shape[2] - 1;
    if (q->microbatches < 1 || q->microbatches > STEPS_MAX || q->batch % q->microbatches)
        return shd_error_set(
            q->err, SHD_ERANGE,
            "'microbatches' must be from 1 to %d, and divide the batch of %" PRId64, STEPS_MAX,
            q->batch);
    return SHD_OK;
}

static int find_axis(int *out, const struct question *q, const char *name)
{
    *out = name ? shd_mesh_find_axis(q->mesh, name) : -1;
    return name && *out < 0
               ? shd_error_set(q->err, SHD_ENOAXIS, "the mesh has no axis '%.60s'", name)
               : SHD_OK;
}

static int read_axis(int *out, const struct question *q, const char *key)
{
    const char *name;
    int status = read_string(&name, q->layout, key, NULL, q->err);

    return status == SHD_OK ? find_axis(out, q, name) : status;
}

/* The axes of the scenario are numbered, so that those of a question may have any names. */
static void add_axis(struct text *out, int axis)
{
    text_addf(out, "a%d", axis);
}

/* Add one axis of ZeRO to the list of those before. */
static int add_zero_axis(struct question *q, const json_t *in)
{
    const char *name = json_string_value(in);
    int axis, status;

    if (!name)
        return shd_error_set(q->err, SHD_EINVAL,
                             "'axis' of 'zero' must be a name or a list of names");
    status = find_axis(&axis, q, name);
    if (status != SHD_OK)
        return status;
    if (q->zeroed >> axis & 1)
        return shd_error_set(q->err, SHD_EDUPAXIS, "'zero' has axis '%.60s' twice", name);
    q->zeroed |= UINT64_C(1) << axis;
    text_add(&q->zero, q->zero.length > 0 ? ", " : "");
    add_axis(&q->zero, axis);
    return SHD_OK;
}

static int read_zero(struct question *q)
{
    const json_t *zero = json_object_get(q->layout, "zero"), *axis = json_object_get(zero, "axis");
    size_t n = json_is_array(axis) ? json_array_size(axis) : axis && !json_is_null(axis);
    int status = SHD_OK;

    for (size_t i = 0; i < n && status == SHD_OK; i++)
        status = add_zero_axis(q, json_is_array(axis) ? json_array_get(axis, i) : axis);
    if (status == SHD_OK)
        status = read_int(&q->zero_stage, zero, "stage", 0, q->err);
    if (status == SHD_OK && (q->zero_stage < 0 || q->zero_stage > 3))
        status = shd_error_set(q->err, SHD_ERANGE, "'stage' must be from 0 to 3");
    if (status == SHD_OK && q->zero_stage > 0 && n == 0)
        status = shd_error_set(q->err, SHD_EINVAL, "'zero' needs an 'axis'");
    return status;
}

static int read_layout(struct question *q)
{
    int status = read_axis(&q->data, q, "data");

    if (status == SHD_OK)
        status = read_axis(&q->tensor, q, "tensor");
    if (status == SHD_OK)
        status = read_bool(&q->sequence, q->layout, "sequence", false, q->err);
    if (status == SHD_OK)
        status = read_zero(q);
    if (status == SHD_OK)
        status = read_string(&q->recompute, q->layout, "recompute", "none", q->err);
    if (status == SHD_OK && recompute_find(q->recompute) < 0)
        status = shd_error_set(q->err, SHD_EINVAL,
                               "recompute '%.60s'; expected none, selective or full", q->recompute);
    return status;
}

/* ---- writing ---- */

/* An axis if it shards so many of a dimension evenly, and is not one that is taken. */
static const char *axis_of(char out[16], const struct question *q, int axis, int taken,
                           int64_t extent)
{
    if (axis < 0 || axis == taken || extent % shd_mesh_axis_size(q->mesh, (size_t)axis) != 0)
        return NULL;
    snprintf(out, 16, "a%d", axis);
    return out;
}

static void write_model(const struct question *q, struct draft *out)
{
    draft_set(out, "model.kind", "transformer");
    draft_set(out, "model.dtype", "float64");
    draft_set(out, "model.norm", "rms");
    draft_set_number(out, "model.norm_eps", BLOCK_NORM_EPS);
    draft_set(out, "model.activation", q->gated ? "swiglu" : "gelu");
    draft_set_bool(out, "model.tied", q->tied);
    draft_set_count(out, "model.vocab", q->vocab);
    draft_set_count(out, "model.layers", q->layers);
    draft_set_count(out, "model.d_model", q->d_model);
    draft_set_count(out, "model.d_ff", q->d_ff);
    draft_set_count(out, "model.heads", q->heads);
    draft_set_count(out, "model.kv_heads", q->kv_heads);
    draft_set_count(out, "model.head_dim", q->head_dim);
    if (q->theta > 0)
        draft_set(out, "model.rope", "{theta: %.17g}", q->theta);
}

static bool is_beta(const json_t *beta)
{
    return json_is_number(beta) && json_number_value(beta) >= 0 && json_number_value(beta) < 1;
}

static int write_optimizer(const struct question *q, struct draft *out)
{
    static const struct {
        const char *key, *path;
        double standard;
    } numbers[] = {{"lr", "optimizer.lr", 1e-3},
                   {"clip", "optimizer.clip", 0},
                   {"weight_decay", "optimizer.weight_decay", 0},
                   {"momentum", "optimizer.momentum", 0},
                   {"eps", "optimizer.eps", 1e-8}};
    const json_t *betas = json_object_get(q->optimizer, "betas");
    const char *kind, *decay;
    int64_t warmup;
    double value;
    int status = read_string(&kind, q->optimizer, "kind", "sgd", q->err);

    if (status == SHD_OK)
        status = read_string(&decay, q->optimizer, "decay", "constant", q->err);
    if (status == SHD_OK)
        status = read_int(&warmup, q->optimizer, "warmup", 0, q->err);
    if (status != SHD_OK)
        return status;
    if (warmup < 0 || warmup > INT32_MAX)
        return shd_error_set(q->err, SHD_ERANGE, "'warmup' must be from 0 to 2^31-1");
    if (!optimizer_find(kind))
        return shd_error_set(q->err, SHD_EUNSUPPORTED, "there is no optimizer '%.60s'", kind);
    if (strcmp(decay, "constant") != 0 && strcmp(decay, "cosine") != 0)
        return shd_error_set(q->err, SHD_EINVAL, "'decay' is '%.60s'; expected constant or cosine",
                             decay);
    if (betas && (json_array_size(betas) != 2 || !is_beta(json_array_get(betas, 0)) ||
                  !is_beta(json_array_get(betas, 1))))
        return shd_error_set(q->err, SHD_EINVAL, "'betas' must be two numbers from 0 to below 1");
    draft_set(out, "optimizer.kind", "%s", kind);
    draft_set(out, "optimizer.decay", "%s", decay);
    draft_set_count(out, "optimizer.warmup", warmup);
    if (betas)
        draft_set(out, "optimizer.betas", "[%.17g, %.17g]",
                  json_number_value(json_array_get(betas, 0)),
                  json_number_value(json_array_get(betas, 1)));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == SHD_OK; i++) {
        status = read_number(&value, q->optimizer, numbers[i].key, numbers[i].standard, q->err);
        if (status == SHD_OK)
            draft_set_number(out, numbers[i].path, value);
    }
    return status;
}

/* Layers in stages evenly, the embedding in the first, the head in the last. */
static int write_pipeline(const struct question *q, struct draft *out)
{
    const json_t *in = json_object_get(q->layout, "pipeline");
    const struct timetable_schedule *schedule;
    const char *axis, *name;
    int64_t stages;
    int number, status;

    if (!in)
        return SHD_OK;
    status = read_string(&axis, in, "axis", "pp", q->err);
    if (status == SHD_OK)
        status = read_string(&name, in, "schedule", "1F1B", q->err);
    if (status == SHD_OK)
        status = read_int(&stages, in, "stages_per_rank", 0, q->err);
    if (status == SHD_OK)
        status = find_axis(&number, q, axis);
    if (status == SHD_OK && (stages < 0 || stages > LAYERS_MAX))
        status =
            shd_error_set(q->err, SHD_ERANGE, "'stages_per_rank' must be from 1 to %d", LAYERS_MAX);
    if (status == SHD_OK)
        status = timetable_find(&schedule, name, q->err);
    if (status == SHD_OK && q->zero_stage > 0 && q->zeroed >> number & 1)
        status = shd_error_set(q->err, SHD_EDUPAXIS,
                               "axis '%.60s' is both the pipeline's and one of 'zero'", axis);
    if (status != SHD_OK)
        return status;
    draft_set(out, "pipeline.axis", "a%d", number);
    draft_set(out, "pipeline.schedule", "%s", schedule->name);
    if (stages > 0)
        draft_set_count(out, "pipeline.stages_per_rank", stages);
    return SHD_OK;
}

/* Weights as in Megatron, and values between layers along the sequence, as far as axes divide. */
static void write_rules(const struct question *q, struct text *out)
{
    const struct scenario_model model = {.kind = SCENARIO_TRANSFORMER, .tied = q->tied};
    char names[6][16];
    const char *data = axis_of(names[0], q, q->data, -1, q->batch / q->microbatches);
    const char *tokens = axis_of(names[1], q, q->tensor, data ? q->data : -1, q->seq);
    const struct tensor_axes axes = {.queries = axis_of(names[2], q, q->tensor, -1, q->heads),
                                     .keys = axis_of(names[3], q, q->tensor, -1, q->kv_heads),
                                     .mlp = axis_of(names[4], q, q->tensor, -1, q->d_ff),
                                     .vocab = axis_of(names[5], q, q->tensor, -1, q->vocab)};

    text_add(out, "params:\n");
    tensor_rules_print(out, &model, &axes, RULES_BLOCK);
    if (data)
        text_addf(out, "axes: {batch: %s}\n", data);
    if (q->sequence && tokens)
        text_addf(out, "constraints: [['(embed|layers/\\d+)/out$', [%s, %s, null]]]\n",
                  data ? data : "null", tokens);
}

static int write_scenario(const struct question *q, struct text *out)
{
    struct draft draft = DRAFT_OF(out);
    struct text mesh = TEXT_INIT;
    int status;

    for (size_t i = 0; i < shd_mesh_naxes(q->mesh); i++) {
        text_add(&mesh, i ? ", " : "");
        add_axis(&mesh, (int)i);
        text_addf(&mesh, ": %d", (int)shd_mesh_axis_size(q->mesh, i));
    }
    draft_set(&draft, "version", "1");
    draft_set(&draft, "mesh", "{%s}", mesh.length > 0 ? text_get(&mesh) : "one: 1");
    write_model(q, &draft);
    draft_set_count(&draft, "batch.size", q->batch);
    draft_set_count(&draft, "batch.seq", q->seq);
    draft_set_count(&draft, "batch.microbatches", q->microbatches);
    draft_set(&draft, "step", "[forward, backward, update]");
    draft_set_count(&draft, "steps", q->steps);
    status = write_optimizer(q, &draft);
    if (q->zero_stage > 0) {
        draft_set_count(&draft, "zero.stage", q->zero_stage);
        draft_set(&draft, "zero.axis", "[%s]", text_get(&q->zero));
    }
    draft_set(&draft, "recompute", "%s", q->recompute);
    if (status == SHD_OK)
        status = write_pipeline(q, &draft);
    write_rules(q, draft_text(&draft));
    text_drop(out, &mesh);
    return status;
}

/* ---- values ---- */

/* As of an array of the node's type (graph.c). */
static int set_source(struct graph_node *node, const struct question *q, const json_t *tensor)
{
    int status = layer_read_source(&node->source, tensor, q->err);

    node->source.rounded = node->dtype;
    return status;
}

/* Row r of a step's tokens has seq + 1 integers: inputs are all but the last, labels all but the
 * first. */
static int set_tokens(struct graph *g, struct graph_node *node, const struct question *q,
                      const json_t *tokens)
{
    uint64_t row = (uint64_t)q->seq + 1, batch = (uint64_t)(q->batch / q->microbatches);
    int status = set_source(node, q, tokens);

    node->source.modulus = (uint32_t)q->vocab;
    node->source.place = (struct kern_place){.first = !strcmp(node->name, "labels"),
                                             .per_step = batch * g->microbatches * row,
                                             .per_microbatch = batch * row,
                                             .columns = (uint64_t)q->seq,
                                             .row = row};
    return status;
}

static int set_param(struct graph *g, uint32_t node, const struct question *q, const char *name)
{
    const struct graph_node *n = &g->nodes[node];
    int64_t shape[SHD_RANK_MAX];
    int status = read_tensor(shape, q, name, n->rank);

    for (uint32_t d = 0; d < n->rank && status == SHD_OK; d++)
        if (shape[d] != g->dims[n->dims[d]].size)
            status = shd_error_set(q->err, SHD_EINVAL, "'%s' has size %" PRId64 ", not %" PRId64,
                                   g->dims[n->dims[d]].name, g->dims[n->dims[d]].size, shape[d]);
    return status == SHD_OK ? set_source(&g->nodes[node], q, json_object_get(q->tensors, name))
                            : status;
}

/* Give the parameters and tokens their values, and refuse a tensor that the decoder does not have:
 * it would change nothing. */
static int set_values(const struct train *t, const struct question *q, const json_t *tokens)
{
    struct graph *g = t->variant.trial.graph;
    json_t *unknown = json_copy((json_t *)(uintptr_t)q->tensors);
    int status = unknown ? SHD_OK : shd_error_set(q->err, SHD_ENOMEM, "no memory for the tensors");

    for (uint32_t node = 0; node < g->nnodes && status == SHD_OK; node++) {
        struct text name = TEXT_INIT;

        if (g->nodes[node].op == GRAPH_INPUT && g->nodes[node].dtype == SHD_I32)
            status = set_tokens(g, &g->nodes[node], q, tokens);
        if (g->nodes[node].op != GRAPH_PARAM)
            continue;
        train_name(&name, t, g->nodes[node].name);
        if (status == SHD_OK)
            status = name.failed ? shd_error_set(q->err, SHD_ENOMEM, "no memory for names")
                                 : set_param(g, node, q, text_get(&name));
        json_object_del(unknown, text_get(&name));
        text_fini(&name);
    }
    if (status == SHD_OK && json_object_size(unknown) > 0)
        status = shd_error_set(q->err, SHD_EINVAL, "the decoder has no tensor '%.60s'",
                               json_object_iter_key(json_object_iter(unknown)));
    json_decref(unknown);
    if (status == SHD_OK) {
        layer_check_sizes(g, q->config);
        status = graph_status(g, q->err);
    }
    return status;
}

int train_init(struct train *out, const json_t *in, struct shd_error *err)
{
    const json_t *tokens = json_object_get(in, "tokens");
    struct question q = {.config = json_object_get(in, "config"),
                         .tensors = json_object_get(in, "tensors"),
                         .optimizer = json_object_get(in, "optimizer"),
                         .layout = json_object_get(in, "layout"),
                         .zero = TEXT_INIT,
                         .err = err};
    struct text text = TEXT_INIT;
    struct variant_ask ask = {
        .name = "<question>", .text = &text, .extent = VARIANT_LAID, .executes = true};
    int status = read_mesh(&q.mesh, q.layout, "mesh", err);

    *out = (struct train){.steps = 0};
    if (status == SHD_OK)
        status = read_sizes(&q);
    if (status == SHD_OK)
        status = read_batch(&q, tokens);
    if (status == SHD_OK)
        status = read_layout(&q);
    if (status == SHD_OK)
        status = write_scenario(&q, &text);
    if (status == SHD_OK)
        status = variant_need(&out->variant, &ask, err);
    if (status == SHD_OK) {
        out->steps = (uint32_t)q.steps;
        out->gated = q.gated;
        status = set_values(out, &q, tokens);
    }
    text_fini(&text);
    text_fini(&q.zero);
    shd_mesh_destroy(q.mesh);
    return status;
}

void train_fini(struct train *train)
{
    variant_fini(&train->variant);
}
