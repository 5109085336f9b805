/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/published.h"

#include <math.h>
#include <string.h>

#include "base/nearest.h"
#include "scenario/published_config.h"
#include "scenario/schema_part.h"
#include "scenario/table.h"
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
#define GPT2_OF(nlayers, width, nheads)                                                            \
    GPT2, .layers = (nlayers), .d_model = (width), .d_ff = 4 * (width), .heads = (nheads),         \
    .kv_heads = (nheads), .head_dim = 64, .vocab = 50257

/* "The Llama 3 Herd of Models", arXiv 2407.21783, table 3; those of 1 and 3 billion by the
 * config.json that was published with the weights. */
#define LLAMA3                                                                                     \
    .kind = SCENARIO_LLAMA3, .activation = SCENARIO_SWIGLU, .norm = SCENARIO_RMS, .norm_eps = 1e-5,\
    ROPE(500000)
#define LLAMA3_OF(nlayers, width, ff, nheads, dim)                                                 \
    LLAMA3, .layers = (nlayers), .d_model = (width), .d_ff = (ff), .heads = (nheads),              \
    .kv_heads = 8, .head_dim = (dim), .vocab = 128256

/* C. Raffel et al., arXiv 1910.10683, section 3.7; version 1.1 (N. Shazeer, arXiv 2002.05202: gated
 * mlp, head of its own) by the configuration published with its weights.  The vocabulary of 32000
 * and 100 sentinels is rounded up to 128. */
#define T5                                                                                         \
    .kind = SCENARIO_T5, .activation = SCENARIO_RELU, .norm = SCENARIO_RMS, .norm_eps = 1e-6,      \
    .tied = true, .buckets = 32, .distance = 128
#define T5_OF(nlayers, width, ff, nheads, dim)                                                     \
    T5, .layers = (nlayers), .decoder_layers = (nlayers), .d_model = (width), .d_ff = (ff),        \
    .heads = (nheads), .kv_heads = (nheads), .head_dim = (dim), .vocab = 32128
#define T5_V11                                                                                     \
    .kind = SCENARIO_T5, .activation = SCENARIO_GEGLU, .norm = SCENARIO_RMS, .norm_eps = 1e-6,     \
    .buckets = 32, .distance = 128
#define T5_V11_OF(nlayers, width, ff, nheads)                                                      \
    T5_V11, .layers = (nlayers), .decoder_layers = (nlayers), .d_model = (width), .d_ff = (ff),    \
    .heads = (nheads), .kv_heads = (nheads), .head_dim = 64, .vocab = 32128

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

/* What holds of a kind whatever its size. */
static const struct scenario_model gpt2 = {GPT2}, llama3 = {LLAMA3}, t5 = {T5};

static const struct scenario_model *of_kind(enum scenario_kind kind)
{
    if (kind == SCENARIO_GPT2)
        return &gpt2;
    return kind == SCENARIO_LLAMA3 ? &llama3 : kind == SCENARIO_T5 ? &t5 : NULL;
}

const struct scenario_model *published_model(size_t n, const char **name)
{
    if (n >= NMODELS)
        return NULL;
    *name = models[n].name;
    return &models[n].model;
}

/* ---- shrinking ---- */

#define WIDTH_UNIT 64   /* what divided a width by up to so many still does */
#define HEAD_DIM_MIN 8 /* heads are not made narrower than this, but fewer */

static int64_t round_up(double value, int64_t unit)
{
    return (int64_t)ceil(value / (double)unit) * unit;
}

/* Heads keep their number, for mesh axes that cut them, and become narrower; when they are as
 * narrow as can be, key heads become fewer, each for as many query heads as before. */
static void shrink_heads(struct scenario_model *m, double scale)
{
    double dim = (double)m->head_dim * scale;
    int64_t group = m->heads / m->kv_heads;

    if (m->head_dim > HEAD_DIM_MIN)
        m->head_dim = dim < HEAD_DIM_MIN ? HEAD_DIM_MIN : round_up(dim, 2);
    if (dim < HEAD_DIM_MIN) {
        m->kv_heads = round_up((double)m->kv_heads * dim / HEAD_DIM_MIN, 1);
        m->heads = m->kv_heads * group;
    }
}

static void shrink(struct scenario_model *m, double scale)
{
    bool square = m->d_model == m->heads * m->head_dim;

    if (scale >= 1)
        return;
    shrink_heads(m, scale);
    m->d_model = square ? m->heads * m->head_dim : round_up((double)m->d_model * scale, WIDTH_UNIT);
    m->d_ff = round_up((double)m->d_ff * scale, WIDTH_UNIT);
    m->vocab = round_up((double)m->vocab * scale, WIDTH_UNIT);
    m->layers = round_up((double)m->layers * scale, 1);
    m->decoder_layers = round_up((double)m->decoder_layers * scale, 1);
}

/* ---- filling in ---- */

static bool is_given(const struct scenario *s, const char *key)
{
    return s->places[option_id(option_find("model", key))].file != NULL;
}

#define FILL(key, field)                                                                           \
    do {                                                                                           \
        if (!is_given(s, key))                                                                     \
            s->model.field = from->field;                                                          \
    } while (0)

/* What holds of all models of a kind. */
static void fill_traits(struct scenario *s, const struct scenario_model *from)
{
    FILL("activation", activation);
    FILL("norm", norm);
    FILL("norm_eps", norm_eps);
    FILL("bias", bias);
    FILL("attention_bias", attention_bias);
    FILL("rope", rope);
    FILL("positions", positions);
    FILL("tied", tied);
    if (from->kind != SCENARIO_T5)
        return;
    FILL("buckets", buckets);
    FILL("distance", distance);
}

/* Where only some of width and heads are given, the width of a head follows from them, but with T5,
 * where it stands by itself. */
static void fill_sizes(struct scenario *s, const struct scenario_model *from)
{
    FILL("d_model", d_model);
    FILL("d_ff", d_ff);
    FILL("layers", layers);
    FILL("vocab", vocab);
    FILL("decoder_layers", decoder_layers);
    if (!is_given(s, "heads") || from->kv_heads != from->heads)
        FILL("kv_heads", kv_heads);
    if (from->kind == SCENARIO_T5 || (!is_given(s, "heads") && !is_given(s, "d_model")))
        FILL("head_dim", head_dim);
    FILL("heads", heads);
}

/* A size implies the kind, unless that is given: then it must be the same. */
static bool settle_kind(struct reader *r, const struct scenario_model *from, const char *option)
{
    struct scenario *s = r->scenario;
    size_t kind = option_id(option_find("model", "kind"));

    if (!s->places[kind].file) {
        s->places[kind] = scenario_place(s, option);
        s->model.kind = from->kind;
    }
    if (s->model.kind == from->kind)
        return true;
    if (of_kind(s->model.kind)) /* of others it is no option */
        diag_error(r->diag, scenario_place(s, option), "%s is of kind %s, not %s", option,
                   scenario_kind_name(from->kind), scenario_kind_name(s->model.kind));
    return false;
}

/* What `from` or `size` say, shrunk. */
static void apply_sizes(struct reader *r)
{
    struct scenario *s = r->scenario;
    struct scenario_model model = {.kind = SCENARIO_NKINDS};
    const char *option = s->model.from ? "model.from" : "model.size";

    if (s->model.from && s->model.size > 0)
        diag_error(r->diag, scenario_place(s, "model.size"),
                   "both size and from; expected one of them");
    if (s->model.from) {
        if (!published_read_config(&model, r))
            return;
    } else if (s->model.size > 0) {
        model = models[s->model.size - 1].model;
    } else {
        if (s->model.scale < 1)
            diag_error(r->diag, scenario_place(s, "model.scale"),
                       "a scale without a size or from that it is of");
        return;
    }
    if (!settle_kind(r, &model, option))
        return;
    shrink(&model, s->model.scale);
    fill_traits(s, &model);
    fill_sizes(s, &model);
}

void published_apply(struct reader *r)
{
    struct scenario *s = r->scenario;

    if (is_given(s, "kind") && of_kind(s->model.kind))
        fill_traits(s, of_kind(s->model.kind));
    apply_sizes(r);
}

/* ---- the option ---- */

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct nearest nearest;
    char hint[NEAREST_HINT_MAX], found[YAML_DESCRIPTION_MAX];
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
               yaml_describe(node, found, sizeof(found)), models[0].name,
               nearest_hint(&nearest, hint, sizeof(hint)));
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
    json_out_key(out, "enum");
    json_out_begin_flat_array(out);
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
