/* Graphs of single layers (layer.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/layer.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "graph/gradient.h"
#include "graph/layers/block.h"
#include "graph/layers/moe.h"
#include "graph/layers/norm.h"
#include "graph/layers/xent.h"
#include "question/fields.h"
#include "question/read_field.h"

/* Whether pairs of elements are "interleaved", rather than "half", the default. */
static bool is_interleaved(struct graph *g, const json_t *convention)
{
    const char *name = json_string_value(convention);

    if (convention && (!name || (strcmp(name, "half") != 0 && strcmp(name, "interleaved") != 0)))
        graph_fail(g, SHD_EINVAL, "the RoPE convention is '%.60s'; expected half or interleaved",
                   name ? name : "that");
    return name && !strcmp(name, "interleaved");
}

static struct attention_opts attention_of(struct graph *g, const json_t *attrs)
{
    const json_t *rope = json_object_get(attrs, "rope"), *causal = json_object_get(attrs, "causal");
    struct attention_opts opts = {.causal = !json_is_false(causal)};

    if (!rope || json_is_null(rope))
        return opts;
    opts.rope_theta = json_number_value(json_array_get(rope, 0));
    if (json_array_size(rope) > 2 || !(opts.rope_theta > 0))
        graph_fail(g, SHD_EINVAL, "'rope' must be [theta, \"half\" or \"interleaved\"]");
    opts.rope_interleaved = is_interleaved(g, json_array_get(rope, 1));
    return opts;
}

/* Check an attribute against the tensors, which already determine it. */
static void check_said(struct graph *g, const json_t *attrs, const char *key, bool is)
{
    const json_t *said = json_object_get(attrs, key);

    if (json_is_boolean(said) && json_is_true(said) != is)
        graph_fail(g, SHD_EINVAL, "'%s' is %s, but the tensors disagree", key,
                   json_is_true(said) ? "true" : "false");
}

/* Check the name of the activation against the MLP's gate or lack of one. */
static void check_activation(struct graph *g, const json_t *attrs, const char *key, bool gated)
{
    const char *said = json_string_value(json_object_get(attrs, key));

    if (said && strcmp(said, gated ? "swiglu" : "gelu") != 0)
        graph_fail(g, SHD_EINVAL, "'%s' is '%.60s', but the tensors are those of %s", key, said,
                   gated ? "swiglu" : "gelu");
}

static double eps_of(const json_t *attrs, double fallback)
{
    const json_t *eps = json_object_get(attrs, "eps");

    return json_is_number(eps) ? json_number_value(eps) : fallback;
}

static uint32_t mlp_out(struct graph *g, const uint32_t *nodes, struct mlp_weights *w,
                        enum kern_fn fn)
{
    uint32_t y = layer_mlp(g, "mlp", nodes[0], w, (struct mlp_activation){.fn = fn});

    graph_output(g, GRAPH_OUTPUT, "out", y, GRAPH_NONE);
    return y;
}

static uint32_t build_mlp_gelu(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    struct mlp_weights w = {GRAPH_NONE, nodes[1], nodes[2], GRAPH_NONE, nodes[3], nodes[4]};

    check_said(g, attrs, "bias", nodes[3] != GRAPH_NONE || nodes[4] != GRAPH_NONE);
    return mlp_out(g, nodes, &w, KERN_GELU);
}

static uint32_t build_mlp_swiglu(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    struct mlp_weights w = {nodes[1], nodes[2], nodes[3], GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};

    (void)attrs;
    return mlp_out(g, nodes, &w, KERN_SILU);
}

static uint32_t as_out(struct graph *g, uint32_t y)
{
    graph_output(g, GRAPH_OUTPUT, "out", y, GRAPH_NONE);
    return y;
}

static uint32_t build_attention(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    const struct attention_weights w = {.q = nodes[1], .k = nodes[2], .v = nodes[3], .o = nodes[4]};
    const struct attention_opts opts = attention_of(g, attrs);

    return as_out(g, layer_attention(g, "attn", nodes[0], &w, &opts));
}

/* Gated if the question has wg. */
static uint32_t build_block(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    bool gated = nodes[6] != GRAPH_NONE;
    const struct block_weights w = {
        .attn = {.q = nodes[1], .k = nodes[2], .v = nodes[3], .o = nodes[4]},
        .mlp = {nodes[6], gated ? nodes[7] : nodes[5], nodes[8], GRAPH_NONE, GRAPH_NONE,
                GRAPH_NONE},
        .norm1 = norm_rms(nodes[9], BLOCK_NORM_EPS),
        .norm2 = norm_rms(nodes[10], BLOCK_NORM_EPS)};
    const struct attention_opts attention = attention_of(g, attrs);
    const struct block_opts opts = {.attention = &attention,
                                    .activation = {.fn = gated ? KERN_SILU : KERN_GELU}};

    check_activation(g, attrs, "mlp", gated);
    if (gated && nodes[5] != GRAPH_NONE)
        return graph_fail(g, SHD_EINVAL, "block takes w1, or wg and wu; not both");
    if (eps_of(attrs, BLOCK_NORM_EPS) != BLOCK_NORM_EPS)
        return graph_fail(g, SHD_EUNSUPPORTED, "the norms of a block have an eps of %g",
                          BLOCK_NORM_EPS);
    return as_out(g, layer_block(g, "block", nodes[0], &w, &opts));
}

static uint32_t build_rms_norm(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    return as_out(g, layer_rms_norm(g, "norm", nodes[0], nodes[1], eps_of(attrs, 1e-6)));
}

static uint32_t build_layer_norm(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    return as_out(g,
                  layer_layer_norm(g, "norm", nodes[0], nodes[1], nodes[2], eps_of(attrs, 1e-5)));
}

static uint32_t build_rope(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    bool interleaved = is_interleaved(g, json_object_get(attrs, "convention"));
    const json_t *theta = json_object_get(attrs, "theta");
    const struct kern_rotation *rotation;
    uint32_t x = nodes[0];

    if (json_is_number(theta) && !(json_number_value(theta) > 0))
        return graph_fail(g, SHD_ERANGE, "'theta' must be above 0");
    rotation =
        graph_rotation(g, x, g->nodes[x].dims[3],
                       json_is_number(theta) ? json_number_value(theta) : 10000, interleaved);
    if (!rotation)
        return GRAPH_NONE;
    return as_out(g, graph_rope(g, "rope", x, g->nodes[x].dims[1], g->nodes[x].dims[3],
                                json_integer_value(json_object_get(attrs, "pos0")), rotation));
}

/* A mask of 1 where the integer is not 0. */
static uint32_t mask_of(struct graph *g, uint32_t numbers)
{
    uint32_t zero;

    if (numbers == GRAPH_NONE)
        return GRAPH_NONE;
    zero = graph_map(g, "mask", KERN_FILL, numbers, GRAPH_NONE, 0);
    zero = graph_map(g, "mask", KERN_EQUAL, numbers, zero, 0);
    zero = graph_map(g, "mask", KERN_NEG, zero, GRAPH_NONE, 0);
    return graph_map(g, "mask", KERN_ADD_SCALAR, zero, GRAPH_NONE, 1);
}

static uint32_t build_xent(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    uint32_t logits = nodes[0], dims[2];
    struct xent x;

    check_said(g, attrs, "from_hidden", logits == GRAPH_NONE);
    check_said(g, attrs, "mask", nodes[4] != GRAPH_NONE);
    if (logits != GRAPH_NONE && (nodes[1] != GRAPH_NONE || nodes[2] != GRAPH_NONE))
        return graph_fail(g, SHD_EINVAL, "xent takes logits, or h and wv; not both");
    if (nodes[3] == GRAPH_NONE ||
        (logits == GRAPH_NONE && (nodes[1] == GRAPH_NONE || nodes[2] == GRAPH_NONE)))
        return graph_fail(g, SHD_EINVAL, "xent needs labels, and logits or h and wv");
    if (logits == GRAPH_NONE) {
        dims[0] = g->nodes[nodes[1]].dims[0];
        dims[1] = g->nodes[nodes[2]].dims[1];
        logits = graph_einsum(g, "logits", nodes[1], nodes[2], dims, 2);
    }
    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    x = layer_cross_entropy(g, "xent", logits, g->nodes[logits].dims[1], nodes[3],
                            mask_of(g, nodes[4]));
    graph_output(g, GRAPH_OUTPUT, "per_token", x.per_token, GRAPH_NONE);
    return x.loss;
}

/* Routing by the router itself.  No plan is made from it: it would assume that all experts get
 * equally many tokens. */
static const struct kern_routing *routing_of(struct graph *g, uint32_t x, uint32_t router,
                                             int64_t choices)
{
    const struct kern_routing_spec spec = {.kind = KERN_ROUTING_UNIFORM,
                                           .tokens = g->dims[g->nodes[x].dims[0]].size,
                                           .choices = (uint32_t)choices,
                                           .experts =
                                               (uint32_t)g->dims[g->nodes[router].dims[1]].size,
                                           .assumed = true,
                                           .roomy = true,
                                           .ranks = 1};

    return graph_routing(g, &spec);
}

/* Reshape x[tokens, embed] into sequences of one token each, as experts need, by multiplying by
 * 1. */
static uint32_t as_sequences(struct graph *g, uint32_t x)
{
    const uint32_t one = graph_dim(g, "one", 1);
    uint32_t dims[3], ones;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    dims[0] = g->nodes[x].dims[0];
    dims[1] = one;
    dims[2] = g->nodes[x].dims[1];
    ones = graph_input(g, "ones", SHD_F32, &one, 1, (struct kern_source){.offset = 1});
    return graph_einsum(g, "sequences", x, ones, dims, 3);
}

/* Undo as_sequences(). */
static uint32_t as_tokens(struct graph *g, const char *name, uint32_t x)
{
    uint32_t dims[2];

    if (g->err.status != SHD_OK || x == GRAPH_NONE)
        return GRAPH_NONE;
    dims[0] = g->nodes[x].dims[0];
    dims[1] = g->nodes[x].dims[2];
    return graph_reduce(g, name, SHD_SUM, x, dims, 2);
}

/* Add the outputs.  The choice of experts is repeated per token, since integers cannot be
 * summed. */
static void moe_outputs(struct graph *g, const struct moe *m, uint32_t y)
{
    uint32_t probs = as_tokens(g, "router_probs", m->probs), ids;

    if (g->err.status != SHD_OK)
        return;
    ids =
        graph_topk(g, "topk_index", probs, g->nodes[probs].dims[1], g->nodes[m->ids].dims[2], NULL);
    graph_output(g, GRAPH_OUTPUT, "out", y, GRAPH_NONE);
    graph_output(g, GRAPH_OUTPUT, "router_probs", probs, GRAPH_NONE);
    graph_output(g, GRAPH_OUTPUT, "topk_index", ids, GRAPH_NONE);
    graph_output(g, GRAPH_OUTPUT, "gates", as_tokens(g, "gates", m->gates), GRAPH_NONE);
    graph_output(g, GRAPH_OUTPUT, "tokens_per_expert", m->chosen, GRAPH_NONE);
}

/* Gated if the question has wg. */
static uint32_t build_moe(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    bool gated = nodes[3] != GRAPH_NONE;
    const struct moe_weights w = {.router = nodes[1],
                                  .bias = GRAPH_NONE,
                                  .gate = nodes[3],
                                  .up = gated ? nodes[4] : nodes[2],
                                  .down = nodes[5]};
    int64_t top_k = json_integer_value(json_object_get(attrs, "top_k"));
    struct moe_opts opts = {.top_k = (uint32_t)top_k,
                            .renormalize = json_is_true(json_object_get(attrs, "renormalize")),
                            .scale = 1,
                            .ids = GRAPH_NONE,
                            .activation = {.fn = gated ? KERN_SILU : KERN_GELU}};
    struct moe m;
    uint32_t y;

    check_activation(g, attrs, "act", gated);
    if (w.up == GRAPH_NONE)
        return graph_fail(g, SHD_EINVAL, "moe needs w1, or wg and wu");
    if (gated && nodes[2] != GRAPH_NONE)
        return graph_fail(g, SHD_EINVAL, "moe takes w1, or wg and wu; not both");
    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    if (top_k < 1 || top_k > g->dims[g->nodes[w.router].dims[1]].size)
        return graph_fail(g, SHD_ERANGE, "'top_k' must be from 1 to the number of experts");
    opts.routing = routing_of(g, nodes[0], w.router, top_k);
    if (!opts.routing)
        return GRAPH_NONE;
    m = layer_moe(g, "moe", as_sequences(g, nodes[0]), &w, &opts);
    y = as_tokens(g, "out", m.y);
    moe_outputs(g, &m, y);
    return y;
}

const struct layer_kind layer_kinds[] = {
    {"mlp_gelu",
     "b1 b2",
     "bias x_scale",
     {{"x", "batch seq embed"},
      {"w1", "embed mlp"},
      {"w2", "mlp embed"},
      {"b1", "mlp"},
      {"b2", "embed"},
      {"ct", "batch seq embed"}},
     build_mlp_gelu},
    {"mlp_swiglu",
     "",
     "x_scale",
     {{"x", "batch seq embed"},
      {"wg", "embed mlp"},
      {"wu", "embed mlp"},
      {"w2", "mlp embed"},
      {"ct", "batch seq embed"}},
     build_mlp_swiglu},
    {"attention",
     "",
     "causal rope x_scale",
     {{"x", "batch seq embed"},
      {"wq", "embed heads head_dim"},
      {"wk", "embed kv_heads head_dim"},
      {"wv", "embed kv_heads head_dim"},
      {"wo", "heads head_dim embed"},
      {"ct", "batch seq embed"}},
     build_attention},
    {"block",
     "w1 wg wu",
     "causal rope mlp eps x_scale",
     {{"x", "batch seq embed"},
      {"wq", "embed heads head_dim"},
      {"wk", "embed kv_heads head_dim"},
      {"wv", "embed kv_heads head_dim"},
      {"wo", "heads head_dim embed"},
      {"w1", "embed mlp"},
      {"wg", "embed mlp"},
      {"wu", "embed mlp"},
      {"w2", "mlp embed"},
      {"g1", "embed"},
      {"g2", "embed"},
      {"ct", "batch seq embed"}},
     build_block},
    {"rmsnorm",
     "",
     "eps x_scale",
     {{"x", "batch seq embed"}, {"g", "embed"}, {"ct", "batch seq embed"}},
     build_rms_norm},
    {"layernorm",
     "b",
     "eps x_scale",
     {{"x", "batch seq embed"}, {"g", "embed"}, {"b", "embed"}, {"ct", "batch seq embed"}},
     build_layer_norm},
    {"rope",
     "",
     "theta convention pos0 x_scale",
     {{"x", "batch seq heads head_dim"}, {"ct", "batch seq heads head_dim"}},
     build_rope},
    {"moe",
     "w1 wg wu",
     "top_k renormalize act x_scale",
     {{"x", "tokens embed"},
      {"wr", "embed expert"},
      {"w1", "expert embed mlp"},
      {"wg", "expert embed mlp"},
      {"wu", "expert embed mlp"},
      {"w2", "expert mlp embed"},
      {"ct", "tokens embed"}},
     build_moe},
    {"xent",
     "logits h wv",
     "from_hidden mask logit_scale",
     {{"logits", "tokens vocab"},
      {"h", "tokens embed"},
      {"wv", "embed vocab"},
      {"labels", "tokens"},
      {"mask", "tokens"}},
     build_xent},
    {NULL, NULL, NULL, {{NULL, NULL}}, NULL}};

bool layer_is_data(const char *tensor)
{
    return !strcmp(tensor, "ct") || !strcmp(tensor, "labels") || !strcmp(tensor, "mask");
}

const struct layer_kind *layer_find(const char *name)
{
    for (const struct layer_kind *k = layer_kinds; k->name; k++)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

int layer_tensor_find(const struct layer_kind *kind, const char *name)
{
    for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++)
        if (!strcmp(kind->tensors[t].name, name))
            return t;
    return -1;
}

uint32_t layer_node(const struct layer_kind *kind, const uint32_t *nodes, const char *name)
{
    int t = layer_tensor_find(kind, name);

    return t < 0 ? GRAPH_NONE : nodes[t];
}

int layer_read_source(struct kern_source *out, const json_t *tensor, struct shd_error *err)
{
    int64_t seed;
    int status = read_int(&seed, tensor, "seed", 0, err);

    if (status == SHD_OK && (seed < 0 || seed > UINT32_MAX))
        status = shd_error_set(err, SHD_ERANGE, "'seed' must be from 0 to 2^32-1");
    memset(out, 0, sizeof *out);
    if (status == SHD_OK)
        status = read_number(&out->scale, tensor, "scale", 1, err);
    if (status == SHD_OK)
        status = read_number(&out->offset, tensor, "offset", 0, err);
    out->seed = (uint32_t)seed;
    return status;
}

uint32_t layer_add_tensor(struct graph *graph, const struct layer_kind *kind, int tensor,
                          enum shd_dtype dtype, const int64_t *shape, size_t rank,
                          struct kern_source source)
{
    const struct layer_tensor *t = &kind->tensors[tensor];
    const char *names = t->dims, *at;
    uint32_t dims[GRAPH_RANK_MAX], n = 0;
    size_t length;
    bool input = !strcmp(t->name, "x") || layer_is_data(t->name);

    for (; n < rank && n < GRAPH_RANK_MAX && (at = words_next(&names, &length)); n++) {
        char name[32];

        snprintf(name, sizeof name, "%.*s", (int)length, at);
        dims[n] = graph_dim(graph, name, shape[n]);
    }
    if (*names || n != rank)
        return graph_fail(graph, SHD_EINVAL, "'%s' must have the dimensions %s, not %zu of them",
                          t->name, t->dims, rank);
    if ((uint32_t)dtype >= SHD_NCOMPUTE_DTYPES)
        return graph_fail(graph, SHD_EUNSUPPORTED,
                          "computation in the type of '%s' is not supported", t->name);
    return (input ? graph_input : graph_param)(graph, t->name, dtype, dims, n, source);
}

static bool is_optional(const struct layer_kind *kind, const char *tensor)
{
    return words_has(kind->optional, tensor) || layer_is_data(tensor);
}

/* Names of sizes in questions, and their dimensions. */
static const struct size_name {
    const char *key, *dim;
} size_names[] = {{"batch", "batch"},       {"seq", "seq"},       {"d_model", "embed"},
                  {"d_ff", "mlp"},          {"heads", "heads"},   {"kv_heads", "kv_heads"},
                  {"head_dim", "head_dim"}, {"tokens", "tokens"}, {"experts", "expert"},
                  {"vocab", "vocab"},       {NULL, NULL}};

void layer_check_sizes(struct graph *graph, const json_t *sizes)
{
    for (const struct size_name *size = size_names; size->key; size++) {
        const json_t *said = json_object_get(sizes, size->key);

        for (uint32_t d = 0; d < graph->ndims && json_is_integer(said); d++)
            if (!strcmp(graph->dims[d].name, size->dim) &&
                graph->dims[d].size != json_integer_value(said))
                graph_fail(graph, SHD_EINVAL, "'%s' is %lld, but the tensors have %lld", size->key,
                           (long long)json_integer_value(said), (long long)graph->dims[d].size);
    }
}

static bool is_size(const struct layer_kind *kind, const char *attr)
{
    for (const struct size_name *size = size_names; size->key; size++)
        for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++)
            if (!strcmp(size->key, attr) && words_has(kind->tensors[t].dims, size->dim))
                return true;
    return false;
}

/* Check that in[key] has only names of the kind's tensors. */
static int check_tensor_names(const struct layer_kind *kind, const json_t *in, const char *key,
                              struct shd_error *err)
{
    const char *names[LAYER_TENSORS_MAX];
    json_t *tensors = json_object_get(in, key);
    size_t n = 0;
    int status = SHD_OK;

    while (n < LAYER_TENSORS_MAX && kind->tensors[n].name) {
        names[n] = kind->tensors[n].name;
        n++;
    }
    for (void *i = json_object_iter(tensors); i && status == SHD_OK;
         i = json_object_iter_next(tensors, i))
        if (layer_tensor_find(kind, json_object_iter_key(i)) < 0)
            status = fields_unknown(json_object_iter_key(i), key, names, n, err);
    return status;
}

int layer_check_names(const struct layer_kind *kind, const json_t *in, struct shd_error *err)
{
    static const char *const beside[] = {"labels", "mask"};
    json_t *attrs = json_object_get(in, "attrs");
    int status = check_tensor_names(kind, in, "tensors", err);

    if (status == SHD_OK)
        status = check_tensor_names(kind, in, "specs", err);
    for (size_t i = 0; i < 2 && status == SHD_OK; i++)
        if (json_is_object(json_object_get(in, beside[i])) &&
            layer_tensor_find(kind, beside[i]) < 0)
            status = shd_error_set(err, SHD_EINVAL, "%s has no %s", kind->name, beside[i]);
    for (void *i = json_object_iter(attrs); i && status == SHD_OK;
         i = json_object_iter_next(attrs, i)) {
        const char *attr = json_object_iter_key(i);

        if (!words_has(kind->attrs, attr) && !is_size(kind, attr))
            status =
                shd_error_set(err, SHD_EINVAL, "%s has no attribute '%.60s'", kind->name, attr);
    }
    return status;
}

uint32_t layer_build(struct graph *graph, const struct layer_kind *kind, const json_t *attrs,
                     const uint32_t *nodes)
{
    uint32_t result;

    for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++) {
        const char *name = kind->tensors[t].name;

        if (nodes[t] == GRAPH_NONE && !is_optional(kind, name))
            return graph_fail(graph, SHD_EINVAL, "%s needs the tensor '%s'", kind->name, name);
    }
    layer_check_sizes(graph, attrs);
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    result = kind->build(graph, attrs, nodes);
    if (result == GRAPH_NONE) /* the first error is kept */
        return graph_fail(graph, SHD_EINVAL, "%s cannot be built from these tensors", kind->name);
    return result;
}

void layer_add_gradients(struct graph *graph, const struct layer_kind *kind, uint32_t result,
                         const uint32_t *nodes)
{
    uint32_t wrt[LAYER_TENSORS_MAX], grads[LAYER_TENSORS_MAX], n = 0, loss = result;
    uint32_t ct = layer_node(kind, nodes, "ct");

    if (graph->err.status != SHD_OK)
        return;
    if (graph->nodes[result].rank > 0) {
        if (ct == GRAPH_NONE) {
            graph_fail(graph, SHD_EINVAL, "the cotangent tensor 'ct' is missing");
            return;
        }
        loss = graph_map(graph, "loss/product", KERN_MUL, result, ct, 0);
        loss = graph_reduce(graph, "loss", SHD_SUM, loss, NULL, 0);
    }
    graph_output(graph, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
    for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++)
        if (nodes[t] != GRAPH_NONE && !layer_is_data(kind->tensors[t].name))
            wrt[n++] = nodes[t];
    graph_gradient(graph, loss, wrt, n, grads);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        graph_output(graph, GRAPH_GRADIENT, graph->nodes[wrt[i]].name, grads[i], wrt[i]);
}
