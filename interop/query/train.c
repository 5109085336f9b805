/* Building the graph of a training question (train.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/train.h"

#include <stdlib.h>
#include <string.h>

#include "graph/layers/block.h"
#include "graph/layers/norm.h"
#include "graph/layers/xent.h"
#include "graph/optimizer/training.h"
#include "graph/recompute.h"
#include "model/pipeline.h"
#include "query/layer.h"
#include "query/train_layout.h"
#include "question/read_field.h"

/* State of building a question's graph. */
struct building {
    struct graph *graph;
    const json_t *tensors, *config;
    struct shd_error err; /* the first error of the JSON */
    int64_t batch, seq;   /* of a microbatch */
    bool gated, tied;
};

static int64_t extent(struct building *b, const char *key)
{
    int64_t value = 0;

    if (b->err.status == SHD_OK && read_int(&value, b->config, key, 0, &b->err) == SHD_OK &&
        (value < 1 || value > INT32_MAX))
        (void)shd_error_set(&b->err, SHD_ERANGE, "'%s' must be from 1 to 2^31-1", key);
    return value;
}

/* Add a parameter with named dimensions and the tensor's extents. */
static uint32_t param(struct building *b, const char *name, const char *const *dim_names)
{
    const json_t *tensor = json_object_get(b->tensors, name);
    int64_t shape[SHD_RANK_MAX];
    uint32_t dims[GRAPH_RANK_MAX];
    struct kern_source source;
    size_t rank = 0, n = 0;

    if (b->err.status != SHD_OK || b->graph->err.status != SHD_OK)
        return GRAPH_NONE; /* out of memory the name may be missing, too */
    if (!tensor) {
        (void)shd_error_set(&b->err, SHD_ENOTFOUND, "there is no tensor '%.60s'", name);
        return GRAPH_NONE;
    }
    if (read_shape(shape, &rank, tensor, "shape", &b->err) != SHD_OK ||
        layer_read_source(&source, tensor, &b->err) != SHD_OK)
        return GRAPH_NONE;
    for (; dim_names[n] && n < rank; n++)
        dims[n] = graph_dim(b->graph, dim_names[n], shape[n]);
    if (dim_names[n] || n != rank) {
        (void)shd_error_set(&b->err, SHD_EINVAL, "'%.60s' has %zu dimensions, which is not right",
                            name, rank);
        return GRAPH_NONE;
    }
    return graph_param(b->graph, name, SHD_F64, dims, (uint32_t)rank, source);
}

#define DIMS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct block_weights layer_weights(struct building *b, int64_t i)
{
    const char *at = graph_text(b->graph, "layers.%lld", (long long)i);
    struct block_weights w = {.mlp = {.gate = GRAPH_NONE,
                                      .gate_bias = GRAPH_NONE,
                                      .up_bias = GRAPH_NONE,
                                      .down_bias = GRAPH_NONE}};
    struct graph *g = b->graph;

    w.norm1 = norm_rms(param(b, graph_text(g, "%s.g1", at), DIMS("embed")), BLOCK_NORM_EPS);
    w.attn.q = param(b, graph_text(g, "%s.wq", at), DIMS("embed", "heads", "head_dim"));
    w.attn.k = param(b, graph_text(g, "%s.wk", at), DIMS("embed", "kv_heads", "head_dim"));
    w.attn.v = param(b, graph_text(g, "%s.wv", at), DIMS("embed", "kv_heads", "head_dim"));
    w.attn.o = param(b, graph_text(g, "%s.wo", at), DIMS("heads", "head_dim", "embed"));
    w.norm2 = norm_rms(param(b, graph_text(g, "%s.g2", at), DIMS("embed")), BLOCK_NORM_EPS);
    if (b->gated)
        w.mlp.gate = param(b, graph_text(g, "%s.wg", at), DIMS("embed", "mlp"));
    w.mlp.up = param(b, graph_text(g, "%s.%s", at, b->gated ? "wu" : "w1"), DIMS("embed", "mlp"));
    w.mlp.down = param(b, graph_text(g, "%s.w2", at), DIMS("mlp", "embed"));
    return w;
}

/* Add ids or labels.  Row r of a step's tokens has seq + 1 integers: inputs are all but the last,
 * labels all but the first. */
static uint32_t tokens(struct building *b, const json_t *in, const char *name, uint64_t first)
{
    uint64_t row = (uint64_t)b->seq + 1;
    struct kern_source source;
    uint32_t dims[2];

    if (b->err.status != SHD_OK ||
        layer_read_source(&source, json_object_get(in, "tokens"), &b->err) != SHD_OK)
        return GRAPH_NONE;
    source.modulus = (uint32_t)extent(b, "vocab");
    graph_dim(b->graph, "vocab", source.modulus); /* the table has a row for each token */
    source.place =
        (struct kern_place){.first = first,
                            .per_step = (uint64_t)b->batch * b->graph->microbatches * row,
                            .per_microbatch = (uint64_t)b->batch * row,
                            .columns = (uint64_t)b->seq,
                            .row = row};
    dims[0] = graph_dim(b->graph, "batch", b->batch);
    dims[1] = graph_dim(b->graph, "seq", b->seq);
    return graph_input(b->graph, name, SHD_I32, dims, 2, source);
}

static uint32_t add_layers(struct building *b, uint32_t x)
{
    struct attention_opts attention = {.causal = true};
    const struct block_opts opts = {.attention = &attention,
                                    .activation = {.fn = b->gated ? KERN_SILU : KERN_GELU}};
    int64_t layers = extent(b, "layers");

    if (layers > TRAIN_LAYERS_MAX)
        (void)shd_error_set(&b->err, SHD_ERANGE, "'layers' must be at most %d", TRAIN_LAYERS_MAX);
    if (b->err.status == SHD_OK &&
        read_number(&attention.rope_theta, b->config, "rope", 0, &b->err) != SHD_OK)
        return GRAPH_NONE;
    if (attention.rope_theta < 0)
        (void)shd_error_set(&b->err, SHD_ERANGE, "'rope' must not be negative");
    for (int64_t i = 0; i < layers && b->err.status == SHD_OK; i++) {
        const struct block_weights w = layer_weights(b, i);

        x = layer_block(b->graph, graph_text(b->graph, "layers.%lld", (long long)i), x, &w, &opts);
    }
    return x;
}

/* Returns the loss. */
static uint32_t add_forward(struct building *b, const json_t *in)
{
    struct graph *g = b->graph;
    uint32_t ids = tokens(b, in, "ids", 0), labels = tokens(b, in, "labels", 1);
    uint32_t table = param(b, "wte", DIMS("vocab", "embed"));
    uint32_t x = graph_constraint(g, "wte.out", graph_embed(g, "embed", table, ids));
    uint32_t head = table, vocab, logits[3];

    x = add_layers(b, x);
    x = layer_rms_norm(g, "norm", x, param(b, "gf", DIMS("embed")), BLOCK_NORM_EPS);
    if (!b->tied)
        head = param(b, "head", DIMS("embed", "vocab"));
    if (b->err.status != SHD_OK || g->err.status != SHD_OK)
        return GRAPH_NONE;
    vocab = g->nodes[table].dims[0];
    memcpy(logits, g->nodes[ids].dims, 2 * sizeof *logits);
    logits[2] = vocab;
    x = graph_einsum(g, "logits", x, head, logits, 3);
    return layer_cross_entropy(g, "loss", x, vocab, labels, GRAPH_NONE).loss;
}

static bool is_beta(const json_t *beta)
{
    return json_is_number(beta) && json_number_value(beta) >= 0 && json_number_value(beta) < 1;
}

static int read_betas(struct optimizer_opts *o, const json_t *in, struct shd_error *err)
{
    const json_t *betas = json_object_get(in, "betas");
    const json_t *first = json_array_get(betas, 0), *second = json_array_get(betas, 1);

    o->beta1 = 0.9;
    o->beta2 = 0.999;
    if (!betas)
        return SHD_OK;
    if (json_array_size(betas) != 2 || !is_beta(first) || !is_beta(second))
        return shd_error_set(err, SHD_EINVAL, "'betas' must be two numbers from 0 to below 1");
    o->beta1 = json_number_value(first);
    o->beta2 = json_number_value(second);
    return SHD_OK;
}

static int read_optimizer(struct optimizer_opts *o, const json_t *in, uint32_t steps,
                          struct shd_error *err)
{
    const char *kind, *decay;
    int64_t warmup = 0;
    int status = read_string(&kind, in, "kind", "sgd", err);

    *o = (struct optimizer_opts){.steps = steps, .types = {SHD_F64, SHD_F64, SHD_F64, SHD_F64}};
    if (status == SHD_OK)
        status = read_string(&decay, in, "decay", "constant", err);
    if (status == SHD_OK)
        status = read_number(&o->rate, in, "lr", 1e-3, err);
    if (status == SHD_OK)
        status = read_number(&o->clip, in, "clip", 0, err);
    if (status == SHD_OK)
        status = read_number(&o->weight_decay, in, "weight_decay", 0, err);
    if (status == SHD_OK)
        status = read_number(&o->momentum, in, "momentum", 0, err);
    if (status == SHD_OK)
        status = read_number(&o->eps, in, "eps", 1e-8, err);
    if (status == SHD_OK)
        status = read_int(&warmup, in, "warmup", 0, err);
    if (status != SHD_OK)
        return status;
    if (warmup < 0 || warmup > INT32_MAX)
        return shd_error_set(err, SHD_ERANGE, "'warmup' must be from 0 to 2^31-1");
    o->kind = optimizer_find(kind);
    if (!o->kind)
        return shd_error_set(err, SHD_EUNSUPPORTED, "there is no optimizer '%.60s'", kind);
    if (strcmp(decay, "constant") != 0 && strcmp(decay, "cosine") != 0)
        return shd_error_set(err, SHD_EINVAL, "'decay' is constant or cosine, not '%.60s'", decay);
    o->decay = strcmp(decay, "cosine") ? OPTIMIZER_CONSTANT : OPTIMIZER_COSINE;
    o->warmup = (uint32_t)warmup;
    return read_betas(o, in, err);
}

static int read_microbatches(struct building *b, const json_t *in, struct shd_error *err)
{
    int64_t n;
    int status = read_int(&n, json_object_get(in, "layout"), "microbatches", 1, err);

    if (status != SHD_OK)
        return status;
    if (n < 1 || n > TRAIN_STEPS_MAX || b->batch % n)
        return shd_error_set(err, SHD_ERANGE,
                             "'microbatches' must be from 1 to %d, and divide the batch of %lld",
                             TRAIN_STEPS_MAX, (long long)b->batch);
    b->graph->microbatches = (uint32_t)n;
    b->batch /= n;
    return SHD_OK;
}

static int read_sizes(struct building *b, struct train *t, const json_t *in, struct shd_error *err)
{
    int64_t shape[SHD_RANK_MAX];
    const char *mlp;
    size_t rank;
    int status = read_shape(shape, &rank, json_object_get(in, "tokens"), "shape", err);

    if (status == SHD_OK &&
        (rank != 3 || shape[0] < 1 || shape[0] > TRAIN_STEPS_MAX || shape[1] < 1 || shape[2] < 2))
        status = shd_error_set(err, SHD_ERANGE,
                               "'tokens' must be [steps, batch, seq + 1], at most "
                               "%d steps",
                               TRAIN_STEPS_MAX);
    if (status == SHD_OK)
        status = read_string(&mlp, b->config, "mlp", "gelu", err);
    if (status == SHD_OK)
        status = read_bool(&b->tied, b->config, "tied", false, err);
    if (status != SHD_OK)
        return status;
    if (strcmp(mlp, "gelu") != 0 && strcmp(mlp, "swiglu") != 0)
        return shd_error_set(err, SHD_EINVAL, "'mlp' is gelu or swiglu, not '%.60s'", mlp);
    b->gated = !strcmp(mlp, "swiglu");
    t->steps = (uint32_t)shape[0];
    b->batch = shape[1];
    b->seq = shape[2] - 1;
    return read_microbatches(b, in, err);
}

static int read_recompute(enum recompute *out, const json_t *layout, struct shd_error *err)
{
    const char *name;
    int status = read_string(&name, layout, "recompute", "none", err);
    int kind = status == SHD_OK ? recompute_find(name) : -1;

    if (status == SHD_OK && kind < 0)
        return shd_error_set(err, SHD_EINVAL, "'recompute' is none, selective or full, not '%.60s'",
                             name);
    *out = kind < 0 ? RECOMPUTE_NONE : (enum recompute)kind;
    return status;
}

/* Set pipeline stages: layers evenly, the embedding in the first stage, the head in the last. */
static int set_stages(struct train *t, const json_t *layout, struct shd_error *err)
{
    const json_t *in = json_object_get(layout, "pipeline");
    struct pipeline pipeline = {.nmicrobatches = t->graph->microbatches};
    const char *axis;
    int status;

    if (!in)
        return SHD_OK;
    status = read_string(&axis, in, "axis", "pp", err);
    if (status == SHD_OK)
        status = read_string(&pipeline.schedule, in, "schedule", "1F1B", err);
    if (status == SHD_OK)
        status = read_int(&pipeline.stages_per_rank, in, "stages_per_rank", 0, err);
    if (status != SHD_OK)
        return status;
    t->stages.axis = shd_mesh_find_axis(t->mesh, axis);
    if (t->stages.axis < 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.60s'", axis);
    if (pipeline.stages_per_rank < 0 || pipeline.stages_per_rank > TRAIN_LAYERS_MAX)
        return shd_error_set(err, SHD_ERANGE, "'stages_per_rank' must be from 1 to %d",
                             TRAIN_LAYERS_MAX);
    pipeline.nranks = (uint32_t)shd_mesh_axis_size(t->mesh, (size_t)t->stages.axis);
    status = pipeline_timetable(&t->timetable, &pipeline, err);
    if (status != SHD_OK)
        return status;
    t->stages.timetable = t->timetable;
    pipeline_set_stages(t->graph, &pipeline);
    return graph_status(t->graph, err);
}

static bool is_param(const struct graph *graph, const char *name)
{
    for (uint32_t node = 0; node < graph->nnodes; node++)
        if (graph->nodes[node].op == GRAPH_PARAM && !strcmp(graph->nodes[node].name, name))
            return true;
    return false;
}

/* Refuse a tensor that the decoder does not have: it would change nothing. */
static int check_tensors(const struct graph *graph, const json_t *in, struct shd_error *err)
{
    json_t *tensors = json_object_get(in, "tensors");

    for (void *i = json_object_iter(tensors); i; i = json_object_iter_next(tensors, i))
        if (!is_param(graph, json_object_iter_key(i)))
            return shd_error_set(err, SHD_EINVAL, "the decoder has no tensor '%.60s'",
                                 json_object_iter_key(i));
    return SHD_OK;
}

static int build_graph(struct train *t, const json_t *in, struct shd_error *err)
{
    struct building b = {.graph = t->graph,
                         .tensors = json_object_get(in, "tensors"),
                         .config = json_object_get(in, "config"),
                         .err = {SHD_OK, ""}};
    struct optimizer_opts opts;
    const struct recompute_layers layers = RECOMPUTE_ALL_LAYERS;
    enum recompute recompute = RECOMPUTE_NONE;
    uint32_t loss;
    int status = read_sizes(&b, t, in, err);

    if (status == SHD_OK)
        status = read_optimizer(&opts, json_object_get(in, "optimizer"), t->steps, err);
    if (status == SHD_OK)
        status = read_recompute(&recompute, json_object_get(in, "layout"), err);
    if (status != SHD_OK)
        return status;
    loss = add_forward(&b, in);
    if (b.err.status != SHD_OK)
        return shd_error_set(err, b.err.status, "%s", b.err.text);
    layer_check_sizes(t->graph, b.config);
    /* an output keeps track of the node when nodes are renumbered */
    graph_output(t->graph, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
    status = graph_status(t->graph, err);
    if (status == SHD_OK)
        status = check_tensors(t->graph, in, err);
    if (status == SHD_OK)
        status = set_stages(t, json_object_get(in, "layout"), err);
    if (status != SHD_OK)
        return status;
    loss = t->graph->outputs[0].node;
    t->graph->noutputs = 0;
    training_add(t->graph, loss, &opts);
    recompute_add(t->graph, recompute, &layers);
    return graph_status(t->graph, err);
}

int train_init(struct train *out, const json_t *in, struct shd_error *err)
{
    int status;

    *out = (struct train){.graph = graph_create()};
    if (!out->graph)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the graph");
    status = read_mesh(&out->mesh, json_object_get(in, "layout"), "mesh", err);
    if (status == SHD_OK)
        status = build_graph(out, in, err);
    return status == SHD_OK ? train_layout(out, json_object_get(in, "layout"), err) : status;
}

void train_fini(struct train *train)
{
    free(train->shardings);
    free(train->nodes);
    free(train->stored);
    timetable_destroy(train->timetable);
    shd_mesh_destroy(train->mesh);
    graph_destroy(train->graph);
}
