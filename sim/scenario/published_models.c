/* The table of models with published sizes, and the option that selects one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/nearest.h"
#include "scenario/published.h"
#include "scenario/types.h"

#define CUSTOM "custom"

/* ---- the models ---- */

#define ROPE(base) .rope = {.used = true, .theta = (base)}

/* A. Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, table 2 and
 * section 2.3; widths of heads and mlp, the epsilon, biases and the tied head are those of the
 * weights that were published with it. */
#define GPT2                                                                                       \
    .kind = SCENARIO_GPT2, .activation = SCENARIO_GELU, .norm = SCENARIO_LAYER_NORM, .bias = true, \
    .attention_bias = SCENARIO_BIAS_ALL, .norm_eps = 1e-5, .tied = true, .positions = 1024
#define GPT2_OF(nlayers, width, nheads)                                                    \
    GPT2, .layers = (nlayers), .d_model = (width), .d_ff = 4 * (width), .heads = (nheads), \
          .kv_heads = (nheads), .head_dim = 64, .vocab = 50257

/* "The Llama 3 Herd of Models", arXiv 2407.21783, table 3; those of 1 and 3 billion by the
 * config.json that was published with the weights. */
#define LLAMA3                                                                    \
    .kind = SCENARIO_LLAMA3, .activation = SCENARIO_SWIGLU, .norm = SCENARIO_RMS, \
    .norm_eps = 1e-5, ROPE(500000)
#define LLAMA3_OF(nlayers, width, ff, nheads, dim)                                    \
    LLAMA3, .layers = (nlayers), .d_model = (width), .d_ff = (ff), .heads = (nheads), \
            .kv_heads = 8, .head_dim = (dim), .vocab = 128256

/* C. Raffel et al., arXiv 1910.10683, section 3.7; version 1.1 (N. Shazeer, arXiv 2002.05202: gated
 * mlp, head of its own) by the configuration published with its weights.  The vocabulary of 32000
 * and 100 sentinels is rounded up to 128. */
#define T5                                                                                    \
    .kind = SCENARIO_T5, .activation = SCENARIO_RELU, .norm = SCENARIO_RMS, .norm_eps = 1e-6, \
    .tied = true, .buckets = 32, .distance = 128
#define T5_OF(nlayers, width, ff, nheads, dim)                                              \
    T5, .layers = (nlayers), .decoder_layers = (nlayers), .d_model = (width), .d_ff = (ff), \
        .heads = (nheads), .kv_heads = (nheads), .head_dim = (dim), .vocab = 32128
#define T5_V11                                                                                 \
    .kind = SCENARIO_T5, .activation = SCENARIO_GEGLU, .norm = SCENARIO_RMS, .norm_eps = 1e-6, \
    .buckets = 32, .distance = 128
#define T5_V11_OF(nlayers, width, ff, nheads)                                                   \
    T5_V11, .layers = (nlayers), .decoder_layers = (nlayers), .d_model = (width), .d_ff = (ff), \
            .heads = (nheads), .kv_heads = (nheads), .head_dim = 64, .vocab = 32128

/* A. Jiang et al., "Mixtral of Experts", arXiv 2401.04088, table 1; the larger one by the
 * config.json that was published with its weights. */
#define MIXTRAL                                                                    \
    .kind = SCENARIO_MIXTRAL, .activation = SCENARIO_SWIGLU, .norm = SCENARIO_RMS, \
    .norm_eps = 1e-5, ROPE(1000000)
#define MIXTRAL_OF(nlayers, width, ff, nheads)                                         \
    MIXTRAL, .layers = (nlayers), .d_model = (width), .d_ff = (ff), .heads = (nheads), \
             .kv_heads = 8, .head_dim = 128, .vocab = 32000,                           \
             .moe = {.experts = 8,                                                     \
                     .top_k = 2,                                                       \
                     .d_ff = (ff),                                                     \
                     .renormalize = true,                                              \
                     .scale = 1,                                                       \
                     .groups = 1,                                                      \
                     .kept = 1}

/* DeepSeek-V2, arXiv 2405.04434, section 3.1.2 and appendix B; DeepSeek-V3, arXiv 2412.19437,
 * section 4.2.  Vocabularies are those of the weights that were published. */
#define DEEPSEEK                                                                    \
    .kind = SCENARIO_DEEPSEEK, .activation = SCENARIO_SWIGLU, .norm = SCENARIO_RMS, \
    .norm_eps = 1e-6, ROPE(10000)
#define DEEPSEEK_OF(nlayers, width, ff, nheads, ntokens)                                \
    DEEPSEEK, .layers = (nlayers), .d_model = (width), .d_ff = (ff), .heads = (nheads), \
              .kv_heads = (nheads), .head_dim = 128, .vocab = (ntokens)
#define MLA_OF(rank) .mla = {.kv_rank = 512, .q_rank = (rank), .rope_dim = 64, .value_dim = 128}

/* What differs from Llama's blocks is written with each model. */
#define DECODER \
    .kind = SCENARIO_DECODER, .activation = SCENARIO_SWIGLU, .norm_eps = 1e-6, ROPE(10000)

static const struct {
    const char *name;
    struct scenario_model model;
} models[] = {
    {"gpt2-small", {GPT2_OF(12, 768, 12)}},
    {"gpt2-medium", {GPT2_OF(24, 1024, 16)}},
    {"gpt2-large", {GPT2_OF(36, 1280, 20)}},
    {"gpt2-xl", {GPT2_OF(48, 1600, 25)}},
    {"llama3-1b", {LLAMA3_OF(16, 2048, 8192, 32, 64), .tied = true}},
    {"llama3-3b", {LLAMA3_OF(28, 3072, 8192, 24, 128), .tied = true}},
    {"llama3-8b", {LLAMA3_OF(32, 4096, 14336, 32, 128)}},
    {"llama3-70b", {LLAMA3_OF(80, 8192, 28672, 64, 128)}},
    {"llama3-405b", {LLAMA3_OF(126, 16384, 53248, 128, 128)}},
    {"mixtral-8x7b", {MIXTRAL_OF(32, 4096, 14336, 32)}},
    {"mixtral-8x22b", {MIXTRAL_OF(56, 6144, 16384, 48)}},
    {"deepseek-v2-lite",
     {DEEPSEEK_OF(27, 2048, 10944, 16, 102400), MLA_OF(0),
      .moe = {.experts = 64,
              .top_k = 6,
              .d_ff = 1408,
              .shared = 2,
              .first_dense = 1,
              .scale = 1,
              .groups = 1,
              .kept = 1}}},
    {"deepseek-v2",
     {DEEPSEEK_OF(60, 5120, 12288, 128, 102400), MLA_OF(1536),
      .moe = {.experts = 160,
              .top_k = 6,
              .d_ff = 1536,
              .shared = 2,
              .first_dense = 1,
              .scale = 16,
              .groups = 8,
              .kept = 3}}},
    {"deepseek-v3",
     {DEEPSEEK_OF(61, 7168, 18432, 128, 129280), MLA_OF(1536),
      .moe = {.experts = 256,
              .top_k = 8,
              .d_ff = 2048,
              .shared = 1,
              .first_dense = 3,
              .score = SCENARIO_SIGMOID,
              .renormalize = true,
              .scale = 2.5,
              .bias = true,
              .groups = 8,
              .kept = 4}}},
    {"t5-small", {T5_OF(6, 512, 2048, 8, 64)}},
    {"t5-base", {T5_OF(12, 768, 3072, 12, 64)}},
    {"t5-large", {T5_OF(24, 1024, 4096, 16, 64)}},
    {"t5-3b", {T5_OF(24, 1024, 16384, 32, 128)}},
    {"t5-11b", {T5_OF(24, 1024, 65536, 128, 128)}},
    {"t5-v1.1-small", {T5_V11_OF(8, 512, 1024, 6)}},
    {"t5-v1.1-base", {T5_V11_OF(12, 768, 2048, 12)}},
    {"t5-v1.1-large", {T5_V11_OF(24, 1024, 2816, 16)}},
    {"t5-v1.1-xl", {T5_V11_OF(24, 2048, 5120, 32)}},
    {"t5-v1.1-xxl", {T5_V11_OF(24, 4096, 10240, 64)}},
};

#define NMODELS (sizeof(models) / sizeof(models[0]))

static const struct scenario_model kinds[] = {{GPT2},     {LLAMA3}, {MIXTRAL},
                                              {DEEPSEEK}, {T5},     {DECODER}};

const struct scenario_model *published_kind(enum scenario_kind kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}

const struct scenario_model *published_model(size_t n, const char **name)
{
    if (n >= NMODELS)
        return NULL;
    *name = models[n].name;
    return &models[n].model;
}

const char *scenario_model_name(size_t n)
{
    return n < NMODELS ? models[n].name : NULL;
}

int64_t scenario_model_positions(size_t n)
{
    return n < NMODELS ? models[n].model.positions : 0;
}

/* ---- the option ---- */

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct nearest nearest;
    const char *text = node->kind == YAML_TEXT ? node->text : "";

    (void)option;
    if (!strcmp(text, CUSTOM)) {
        r->scenario->model.size = 0;
        return;
    }
    nearest_init(&nearest, text);
    for (size_t i = 0; i < NMODELS; i++) {
        if (!strcmp(text, models[i].name)) {
            r->scenario->model.size = (int64_t)i + 1;
            return;
        }
        nearest_add(&nearest, models[i].name);
    }
    diag_error(r->diag, node->place, "model.size is %s; expected a published one, such as %s%s",
               yaml_describe(node).text, models[0].name, nearest_hint(&nearest).text);
    /* Assume the suggested model, so that its sizes are not reported as missing. */
    for (size_t i = 0; i < NMODELS; i++)
        if (nearest.best && !strcmp(nearest.best, models[i].name))
            r->scenario->model.size = (int64_t)i + 1;
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    (void)option;
    text_add(out, scenario->model.size ? models[scenario->model.size - 1].name : CUSTOM);
}

static void print_words(const struct option *option, struct text *out)
{
    (void)option;
    text_add(out, CUSTOM);
    for (size_t i = 0; i < NMODELS; i++)
        text_addf(out, ", %s", models[i].name);
}

static void schema(const struct option *option, struct json_out *out)
{
    (void)option;
    json_out_key_flat_array(out, "enum");
    json_out_string(out, CUSTOM);
    for (size_t i = 0; i < NMODELS; i++)
        json_out_string(out, models[i].name);
    json_out_end_array(out);
}

const struct value_type value_size = {
    .expected = "one of ",
    .print_range = print_words,
    .read = read,
    .print = print,
    .schema = schema,
};
