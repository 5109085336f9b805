/* Reading config.json files of published models (scenario/published_config.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published_config.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "scenario/family.h"

struct config {
    const struct yaml_node *root;
    struct family_config family;
    struct diag *diag;
};

static bool fault(const struct config *c, const struct yaml_node *node, const char *what)
{
    diag_error(c->diag, node ? node->place : c->root->place, "%s", what);
    return false;
}

/* Read an activation function.  Exact and approximate GELU are treated alike, as the approximate
 * one. */
static bool read_activation(enum scenario_activation *out, const struct config *c, const char *key,
                            const char *standard, bool gated)
{
    static const struct {
        const char *name;
        enum scenario_activation plain, gated; /* SCENARIO_NACTIVATIONS: not supported */
    } known[] = {
        {"relu", SCENARIO_RELU, SCENARIO_NACTIVATIONS},
        {"silu", SCENARIO_SILU, SCENARIO_SWIGLU},
        {"gelu", SCENARIO_GELU, SCENARIO_GEGLU},
        {"gelu_new", SCENARIO_GELU, SCENARIO_GEGLU},
        {"gelu_pytorch_tanh", SCENARIO_GELU, SCENARIO_GEGLU},
    };
    const struct yaml_node *node = yaml_find(c->root, key);
    const char *name = node && node->kind == YAML_TEXT ? node->text : standard;

    if (!strncmp(name, "gated-", 6)) {
        name += 6;
        gated = true;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        enum scenario_activation activation = gated ? known[i].gated : known[i].plain;

        if (strcmp(name, known[i].name) != 0 || activation == SCENARIO_NACTIVATIONS)
            continue;
        *out = activation;
        return true;
    }
    diag_error(c->diag, node ? node->place : c->root->place,
               "%s is %s; expected relu, silu or gelu of some kind, and relu without a gate", key,
               node ? yaml_describe(node).text : standard);
    return false;
}

static bool read_gpt2(struct scenario_model *m, const struct config *c)
{
    m->kind = SCENARIO_GPT2;
    m->norm = SCENARIO_LAYER_NORM;
    m->bias = true;
    m->attention_bias = SCENARIO_BIAS_ALL;
    m->positions = c->family.sizes[FAMILY_POSITIONS];
    return family_read_number(&m->norm_eps, c->root, "layer_norm_epsilon", 1e-5, c->diag) &&
           read_activation(&m->activation, c, "activation_function", "gelu_new", false);
}

/* Accept a sliding window only if no sequence is longer: then it has no effect. */
static bool check_window(const struct config *c, int64_t seq)
{
    const struct yaml_node *window = yaml_find(c->root, "sliding_window");
    const struct yaml_node *used = yaml_find(c->root, "use_sliding_window");
    int64_t size;
    bool on = c->family.family != FAMILY_QWEN2 && c->family.family != FAMILY_QWEN3;

    if (used)
        (void)yaml_read_bool(used, &on);
    if (!on || !window || !yaml_read_int(window, &size) || size >= seq)
        return true;
    diag_error(c->diag, window->place,
               "attention to a window of %" PRId64 " in sequences of %" PRId64
               " is not modelled; expected no longer ones",
               size, seq);
    return false;
}

/* Read rope's theta, at the top level or in the map `rope_parameters` (since version 5 of
 * transformers). */
static bool read_theta(double *theta, const struct config *c)
{
    const struct yaml_node *rope = yaml_find(c->root, "rope_parameters");

    if (!rope || yaml_is_null(rope))
        return family_read_number(theta, c->root, "rope_theta", 10000, c->diag);
    if (rope->kind != YAML_MAP)
        return fault(c, rope, "rope_parameters: expected a map with rope_theta");
    for (size_t i = 0; i < rope->nitems; i++)
        if (rope->items[i]->kind == YAML_MAP)
            return fault(c, rope, "rope_parameters of each type of layer are not modelled; "
                                  "expected those of all");
    return family_read_number(theta, rope, "rope_theta", 10000, c->diag);
}

/* Read Llama and models with the same blocks; Qwen3 also normalises its heads. */
static bool read_llama(struct scenario_model *m, const struct config *c, int64_t seq)
{
    m->kind = SCENARIO_LLAMA3;
    m->norm = SCENARIO_RMS;
    m->rope.used = true;
    m->qk_norm = c->family.family == FAMILY_QWEN3 ? SCENARIO_QK_HEAD : SCENARIO_QK_PLAIN;
    if (c->family.traits & FAMILY_BIAS)
        m->attention_bias =
            c->family.family == FAMILY_QWEN2 ? SCENARIO_BIAS_QKV : SCENARIO_BIAS_ALL;
    if (c->family.traits & FAMILY_MLP_BIAS)
        return fault(c, yaml_find(c->root, "mlp_bias"),
                     "mlp_bias: a gate with a bias is not modelled");
    return check_window(c, seq) &&
           family_read_number(&m->norm_eps, c->root, "rms_norm_eps", 1e-6, c->diag) &&
           read_theta(&m->rope.theta, c) &&
           read_activation(&m->activation, c, "hidden_act", "silu", true);
}

/* Set the experts' sizes, and defaults for the remaining fields. */
static void experts_of(struct scenario_model *m, const struct config *c)
{
    const int64_t *s = c->family.sizes;

    m->moe = (struct scenario_moe){.experts = s[FAMILY_EXPERTS],
                                   .top_k = s[FAMILY_TOP_K],
                                   .d_ff = s[FAMILY_EXPERT_FF],
                                   .shared = s[FAMILY_SHARED],
                                   .first_dense = s[FAMILY_DENSE_LAYERS],
                                   .scale = 1,
                                   .groups = 1,
                                   .kept = 1};
}

static bool check_choice(const struct config *c, const struct scenario_moe *moe)
{
    if (moe->top_k > moe->experts)
        return fault(c, yaml_find(c->root, "num_experts_per_tok"),
                     "num_experts_per_tok: expected at most as many as there are experts");
    if (moe->experts % moe->groups != 0)
        return fault(c, yaml_find(c->root, "n_group"),
                     "n_group: expected groups that divide the experts");
    if (moe->kept > moe->groups || moe->experts / moe->groups * moe->kept < moe->top_k)
        return fault(c, yaml_find(c->root, "topk_group"),
                     "topk_group: expected groups that there are, with num_experts_per_tok "
                     "experts in them");
    return true;
}

static bool read_mixtral(struct scenario_model *m, const struct config *c, int64_t seq)
{
    if (!read_llama(m, c, seq))
        return false;
    m->kind = SCENARIO_MIXTRAL;
    experts_of(m, c);
    m->moe.d_ff = m->d_ff;
    m->moe.renormalize = true;
    return check_choice(c, &m->moe);
}

/* Read one of several words; *out gets its index.  `expected` lists the words for messages. */
static bool read_word(size_t *out, const struct config *c, const char *key,
                      const char *const words[], size_t nwords, const char *expected,
                      size_t standard)
{
    const struct yaml_node *node = yaml_find(c->root, key);

    *out = standard;
    if (!node || yaml_is_null(node))
        return true;
    for (*out = 0; *out < nwords; ++*out)
        if (node->kind == YAML_TEXT && !strcmp(node->text, words[*out]))
            return true;
    diag_error(c->diag, node->place, "%s is %s; expected %s", key, yaml_describe(node).text,
               expected);
    return false;
}

/* Read the router: how it scores experts, and the groups from which a token chooses. */
static bool read_router(struct scenario_moe *moe, const struct config *c)
{
    enum method { GREEDY, GROUPS_MAX, NO_AUXILIARY };
    static const char *const scores[] = {"softmax", "sigmoid"};
    static const char *const methods[] = {"greedy", "group_limited_greedy", "noaux_tc"};
    bool v3 = c->family.family == FAMILY_DEEPSEEK_V3;
    size_t score, method;

    if (!read_word(&score, c, "scoring_func", scores, 2, "softmax or sigmoid", v3) ||
        !read_word(&method, c, "topk_method", methods, 3,
                   "greedy, group_limited_greedy or noaux_tc", v3 ? NO_AUXILIARY : GREEDY) ||
        !family_read_flag(&moe->renormalize, c->root, "norm_topk_prob", v3, c->diag) ||
        !family_read_number(&moe->scale, c->root, "routed_scaling_factor", v3 ? 2.5 : 1, c->diag))
        return false;
    moe->score = score == 1 ? SCENARIO_SIGMOID : SCENARIO_SOFTMAX;
    moe->bias = method == NO_AUXILIARY;
    if (method != GREEDY) {
        moe->groups = c->family.sizes[FAMILY_EXPERT_GROUPS];
        moe->kept = c->family.sizes[FAMILY_KEPT_GROUPS];
    }
    return check_choice(c, moe);
}

static bool read_deepseek(struct scenario_model *m, const struct config *c, int64_t seq)
{
    const struct yaml_node *every = yaml_find(c->root, "moe_layer_freq");
    const int64_t *s = c->family.sizes;
    int64_t freq = 1;

    if (!read_llama(m, c, seq))
        return false;
    if (m->attention_bias != SCENARIO_BIAS_NONE)
        return fault(c, yaml_find(c->root, "attention_bias"),
                     "attention_bias: compressed attention with biases is not modelled");
    if (every && (!yaml_read_int(every, &freq) || freq != 1))
        return fault(c, every, "moe_layer_freq: expected 1, experts in each layer");
    if (s[FAMILY_DENSE_LAYERS] >= m->layers)
        return fault(c, yaml_find(c->root, "first_k_dense_replace"),
                     "first_k_dense_replace: no layer has experts; expected fewer");
    if (s[FAMILY_ROPE_DIM] % 2 != 0)
        return fault(c, yaml_find(c->root, "qk_rope_head_dim"),
                     "qk_rope_head_dim: expected an even number, as pairs are turned");
    m->kind = SCENARIO_DEEPSEEK;
    m->mla = (struct scenario_mla){s[FAMILY_KV_RANK], s[FAMILY_Q_RANK], s[FAMILY_ROPE_DIM],
                                   s[FAMILY_VALUE_DIM]};
    experts_of(m, c);
    return read_router(&m->moe, c);
}

static bool read_t5(struct scenario_model *m, const struct config *c)
{
    double distance;

    m->kind = SCENARIO_T5;
    m->norm = SCENARIO_RMS;
    m->buckets = c->family.sizes[FAMILY_BUCKETS];
    m->decoder_layers = c->family.sizes[FAMILY_DECODER_LAYERS];
    if (!family_read_number(&distance, c->root, "relative_attention_max_distance", 128, c->diag))
        return false;
    m->distance = distance < INT32_MAX ? (int64_t)distance : INT32_MAX;
    return family_read_number(&m->norm_eps, c->root, "layer_norm_epsilon", 1e-6, c->diag) &&
           read_activation(&m->activation, c, "feed_forward_proj", "relu", false);
}

/* Check sizes against the limits of the scenario's own options. */
static bool read_sizes(struct scenario_model *m, const struct config *c)
{
    const int64_t *s = c->family.sizes;
    const struct {
        enum family_size from;
        int64_t max, *to;
    } sizes[] = {
        {FAMILY_HIDDEN, INT32_MAX, &m->d_model},  {FAMILY_FF, INT32_MAX, &m->d_ff},
        {FAMILY_LAYERS, 65536, &m->layers},       {FAMILY_HEADS, 65536, &m->heads},
        {FAMILY_KV_HEADS, 65536, &m->kv_heads},   {FAMILY_HEAD_DIM, INT32_MAX, &m->head_dim},
        {FAMILY_VOCAB, INT32_MAX, &m->vocab},     {FAMILY_DECODER_LAYERS, 65536, NULL},
        {FAMILY_POSITIONS, INT32_MAX, NULL},      {FAMILY_BUCKETS, 256, NULL},
        {FAMILY_EXPERTS, 65536, NULL},            {FAMILY_TOP_K, 64, NULL},
        {FAMILY_EXPERT_FF, INT32_MAX, NULL},      {FAMILY_SHARED, 1024, NULL},
        {FAMILY_EXPERT_GROUPS, 65536, NULL},      {FAMILY_KEPT_GROUPS, 65536, NULL},
        {FAMILY_KV_RANK, INT32_MAX, NULL},        {FAMILY_Q_RANK, INT32_MAX, NULL},
        {FAMILY_ROPE_DIM, INT32_MAX, NULL},       {FAMILY_VALUE_DIM, INT32_MAX, NULL},
    };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (s[sizes[i].from] > sizes[i].max)
            return fault(c, NULL, "a size is larger than any that a scenario may have");
        if (sizes[i].to)
            *sizes[i].to = s[sizes[i].from];
    }
    m->tied = !(c->family.traits & FAMILY_UNTIED);
    return true;
}

static bool read_config(struct scenario_model *m, const struct config *c, int64_t seq)
{
    if (!read_sizes(m, c))
        return false;
    switch (c->family.family) {
    case FAMILY_LLAMA:
    case FAMILY_QWEN2:
    case FAMILY_QWEN3:
        return read_llama(m, c, seq);
    case FAMILY_MIXTRAL:
        return read_mixtral(m, c, seq);
    case FAMILY_DEEPSEEK_V2:
    case FAMILY_DEEPSEEK_V3:
        return read_deepseek(m, c, seq);
    case FAMILY_GPT2:
        return read_gpt2(m, c);
    case FAMILY_T5:
        return read_t5(m, c);
    default:
        return false; /* a family that the caller does not admit */
    }
}

/* Read the text of a config; a file that cannot be read is reported at `from`. */
static bool read_text(struct text *text, struct reader *r)
{
    struct shd_error err;
    const char *path = r->scenario->model.from;
    int status = file_read(text, path, YAML_DOC_BYTES_MAX, &err);

    if (status == SHD_OK)
        return true;
    diag_failure(r->diag, scenario_place(r->scenario, "model.from"), status, "'%s': %s", path,
                 err.text);
    return false;
}

bool published_read_config(struct scenario_model *out, struct reader *r)
{
    struct config c = {.diag = r->diag};
    struct text text = TEXT_INIT;
    struct yaml_doc *doc;
    bool good = false;

    if (read_text(&text, r) &&
        yaml_doc_parse(&doc, (struct place){r->scenario->model.from, 1, 1}, text_get(&text),
                       text.length, r->diag) == SHD_OK) {
        c.root = yaml_doc_root(doc);
        good = family_read(&c.family, c.root, FAMILY_BLOCKS, r->diag) == SHD_OK &&
               read_config(out, &c, r->scenario->batch.seq);
        yaml_doc_destroy(doc);
    }
    text_fini(&text);
    return good;
}
