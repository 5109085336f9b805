/* Filling in the sizes of published models (scenario/published.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published.h"

#include <math.h>
#include <string.h>

#include "scenario/published_config.h"
#include "scenario/table.h"

/* ---- shrinking ---- */

#define WIDTH_UNIT 64  /* widths stay divisible by what divided them, up to this */
#define RANK_UNIT 8    /* for widths smaller than one shard's usual width */
#define HEAD_DIM_MIN 8 /* narrowest head; beyond it the number of heads shrinks */

static int64_t round_up(double value, int64_t unit)
{
    return (int64_t)ceil(value / (double)unit) * unit;
}

/* Heads keep their number, for mesh axes that shard them, and become narrower.  At the minimum
 * width there are fewer key heads, each serving as many query heads as before. */
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

/* Experts keep their number, and become narrower; so do the compressed widths of attention. */
static void shrink_experts(struct scenario_model *m, double scale)
{
    m->moe.d_ff = round_up((double)m->moe.d_ff * scale, RANK_UNIT);
    m->moe.shared_d_ff = round_up((double)m->moe.shared_d_ff * scale, RANK_UNIT);
    if (m->moe.first_dense >= m->layers)
        m->moe.first_dense = m->layers - 1;
    if (m->linear.taps > 0) {
        m->linear.key_dim = round_up((double)m->linear.key_dim * scale, HEAD_DIM_MIN);
        m->linear.value_dim = round_up((double)m->linear.value_dim * scale, HEAD_DIM_MIN);
    }
    if (m->mla.kv_rank == 0)
        return;
    m->mla.kv_rank = round_up((double)m->mla.kv_rank * scale, RANK_UNIT);
    m->mla.q_rank = round_up((double)m->mla.q_rank * scale, RANK_UNIT);
    m->mla.rope_dim = round_up((double)m->mla.rope_dim * scale, 2);
    m->mla.value_dim = round_up((double)m->mla.value_dim * scale, 2);
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
    shrink_experts(m, scale);
}

/* ---- filling in ---- */

static bool is_given_in(const struct scenario *s, const char *section, const char *key)
{
    return s->places[option_id(option_find(section, key))].file != NULL;
}

static bool is_given(const struct scenario *s, const char *key)
{
    return is_given_in(s, "model", key);
}

#define FILL_IN(section, key, field)       \
    do {                                   \
        if (!is_given_in(s, section, key)) \
            s->model.field = from->field;  \
    } while (0)
#define FILL(key, field) FILL_IN("model", key, field)

static void fill_experts(struct scenario *s, const struct scenario_model *from)
{
    FILL_IN("moe", "experts", moe.experts);
    FILL_IN("moe", "top_k", moe.top_k);
    FILL_IN("moe", "d_ff", moe.d_ff);
    FILL_IN("moe", "shared", moe.shared);
    FILL_IN("moe", "first_dense", moe.first_dense);
    FILL_IN("moe", "every", moe.every);
    FILL_IN("moe", "score", moe.score);
    FILL_IN("moe", "renormalize", moe.renormalize);
    FILL_IN("moe", "scale", moe.scale);
    FILL_IN("moe", "bias", moe.bias);
    FILL_IN("moe", "groups", moe.groups);
    FILL_IN("moe", "kept", moe.kept);
    FILL_IN("moe", "group_score", moe.group_score);
}

/* Plain attention keeps the defaults of compressed widths. */
static void fill_latent(struct scenario *s, const struct scenario_model *from)
{
    if (from->mla.kv_rank == 0)
        return;
    FILL_IN("mla", "kv_rank", mla.kv_rank);
    FILL_IN("mla", "q_rank", mla.q_rank);
    FILL_IN("mla", "rope_dim", mla.rope_dim);
    FILL_IN("mla", "value_dim", mla.value_dim);
}

/* The same for layers without attention. */
static void fill_linear(struct scenario *s, const struct scenario_model *from)
{
    if (from->linear.taps == 0)
        return;
    FILL_IN("linear", "key_heads", linear.key_heads);
    FILL_IN("linear", "value_heads", linear.value_heads);
    FILL_IN("linear", "key_dim", linear.key_dim);
    FILL_IN("linear", "value_dim", linear.value_dim);
    FILL_IN("linear", "taps", linear.taps);
    FILL_IN("linear", "taps_bias", linear.taps_bias);
    FILL_IN("linear", "norm", linear.norm);
    FILL_IN("linear", "query_scale", linear.query_scale);
    FILL_IN("linear", "key_scale", linear.key_scale);
    FILL_IN("linear", "value_scale", linear.value_scale);
    FILL_IN("linear", "gate_scale", linear.gate_scale);
    FILL_IN("linear", "step_scale", linear.step_scale);
    FILL_IN("linear", "out_scale", linear.out_scale);
}

/* Fill in the values that are common to all models of a kind, or to those of a family. */
static void fill_traits(struct scenario *s, const struct scenario_model *from)
{
    const struct scenario whole = {.model = *from};

    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (option->trait && !s->places[i].file && option_is_of(option, from->kind))
            memcpy((char *)s + option->offset, (const char *)&whole + option->offset,
                   option->type->size);
    }
    if (from->moe.experts > 0) { /* a mixtral has them without a size, too */
        FILL_IN("moe", "experts", moe.experts);
        FILL_IN("moe", "top_k", moe.top_k);
    }
    if (from->kind != SCENARIO_T5)
        return;
    FILL("buckets", buckets);
    FILL("distance", distance);
}

/* Fill in sizes.  If only width or heads are given the width of a head follows from them, except
 * for T5, whose head width is independent. */
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
    if (!scenario_serves(s)) /* modules for further tokens are there to learn from */
        FILL("mtp", mtp);
    s->model.text_alone = from->text_alone;
    if (from->moe.experts > 0)
        fill_experts(s, from);
    fill_latent(s, from);
    fill_linear(s, from);
}

/* Set the kind from a size, or check that it equals the given kind. */
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
    if (published_kind(s->model.kind)) /* other kinds do not have this option */
        diag_error(r->diag, scenario_place(s, option), "%s is of kind %s, not %s", option,
                   scenario_kind_name(from->kind), scenario_kind_name(s->model.kind));
    return false;
}

/* Apply the sizes of `from` or `size`, scaled down. */
static void apply_sizes(struct reader *r)
{
    struct scenario *s = r->scenario;
    struct scenario_model model = {.kind = SCENARIO_NKINDS};
    const char *option = s->model.from ? "model.from" : "model.size";

    if (s->model.from && s->model.size > 0)
        diag_error(r->diag, scenario_place(s, "model.size"),
                   "both size and from; expected only one");
    if (s->model.from) {
        if (!published_read_config(&model, r)) {
            /* assume some kind that has configs, so that no follow-up errors are reported */
            model.kind = SCENARIO_LLAMA3;
            (void)settle_kind(r, &model, option);
            return;
        }
    } else if (s->model.size > 0) {
        if (!published_model(&model, (size_t)s->model.size - 1, s->batch.seq, r->diag))
            return;
    } else {
        if (s->model.scale < 1)
            diag_error(r->diag, scenario_place(s, "model.scale"), "scale needs size or from");
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

    if (is_given(s, "kind") && published_kind(s->model.kind))
        fill_traits(s, published_kind(s->model.kind));
    apply_sizes(r);
}
