/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/tensor_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "scenario/scenario.h"

/* What a model must have for a row. */
enum need {
    ALWAYS,
    NEEDS_DENSE, /* layers without experts */
    NEEDS_SHARED,
    NEEDS_CROSS, /* an encoder, with relative positions */
    NEEDS_LATENT,
    NEEDS_HEAD, /* a kernel of its own */
    NEEDS_HEAD_BIAS,
    NEEDS_MTP,
    NEEDS_QKV_BIAS,
    NEEDS_MLP_BIAS,
    NEEDS_SINKS,
    NEEDS_GATE,
    NEEDS_DELTA,
    NEEDS_DELTA_BIAS,
    NEEDS_MAMBA,
    NEEDS_MAMBA_BIAS,
    NEEDS_MAMBA_NORM,
    NEEDS_GROUPS, /* of Mamba-2: more than one */
    NEEDS_GROUPS_BIAS,
    NEEDS_CONV,
    NEEDS_LIGHTNING
};

static bool has(const struct scenario_model *m, enum need need)
{
    bool dense = m->residual == SCENARIO_ALONE
                     ? scenario_lists_type(m, SCENARIO_LAYER_MLP)
                     : m->moe.experts == 0 || m->moe.first_dense > 0 || m->moe.every > 1;
    bool delta =
        scenario_lists_type(m, SCENARIO_LAYER_DELTA) || scenario_lists_type(m, SCENARIO_LAYER_KDA);
    bool mamba = scenario_lists_type(m, SCENARIO_LAYER_MAMBA) ||
                 scenario_lists_type(m, SCENARIO_LAYER_FULL_MAMBA);

    switch (need) {
    case NEEDS_DENSE:
        return dense;
    case NEEDS_SHARED:
        return m->moe.experts > 0 && m->moe.shared > 0;
    case NEEDS_CROSS:
        return m->kind == SCENARIO_T5;
    case NEEDS_LATENT:
        return m->mla.kv_rank > 0;
    case NEEDS_HEAD:
        return !m->tied;
    case NEEDS_HEAD_BIAS:
        return m->head_bias;
    case NEEDS_MTP:
        return m->mtp > 0;
    case NEEDS_QKV_BIAS:
        return m->kind != SCENARIO_T5 && m->attention_bias != SCENARIO_BIAS_NONE;
    case NEEDS_MLP_BIAS:
        return m->kind != SCENARIO_T5 && m->bias && dense;
    case NEEDS_SINKS:
        return m->sinks;
    case NEEDS_GATE:
        return m->attention_gate || delta;
    case NEEDS_DELTA:
        return delta;
    case NEEDS_DELTA_BIAS:
        return delta && m->linear.taps_bias;
    case NEEDS_MAMBA:
        return mamba;
    case NEEDS_MAMBA_NORM:
        return mamba && m->linear.norm != SCENARIO_STATE_BARE;
    case NEEDS_MAMBA_BIAS:
        return mamba && m->linear.taps_bias;
    case NEEDS_GROUPS:
        return mamba && m->linear.key_heads != 1;
    case NEEDS_GROUPS_BIAS:
        return mamba && m->linear.key_heads != 1 && m->linear.taps_bias;
    case NEEDS_CONV:
        return scenario_lists_type(m, SCENARIO_LAYER_CONV);
    case NEEDS_LIGHTNING:
        return scenario_lists_type(m, SCENARIO_LAYER_LIGHTNING);
    default:
        return true;
    }
}

/* Parameters "STEM/NAME/KIND", of which one dimension is sharded. */
static const struct row {
    size_t axes; /* offset of a string in struct tensor_axes */
    bool second; /* the second dimension, else the first */
    enum need needs;
    const char *stem, *name, *kind; /* name, kind: NULL for what has none */
} rows[] = {
#define AXES(member) offsetof(struct tensor_axes, member)
    {AXES(queries), true, ALWAYS, "attn", "q", "kernel"},
    {AXES(queries), true, NEEDS_LATENT, "attn", "q_rope", "kernel"},
    {AXES(queries), true, NEEDS_GATE, "attn", "gate", "kernel"},
    {AXES(queries), true, NEEDS_DELTA, "attn", "key|value|decay|beta", "kernel"},
    {AXES(queries), true, NEEDS_MAMBA, "mamba", "x|z|dt", "kernel"},
    {AXES(queries), true, NEEDS_GROUPS, "mamba", "b|c", "kernel"},
    {AXES(queries), true, NEEDS_LIGHTNING, "lightning", "q|k|v|gate", "kernel"},
    {AXES(keys), true, ALWAYS, "attn", "k|v", "kernel"},
    {AXES(queries), true, NEEDS_DELTA, "attn", "q|key|value", "taps"},
    {AXES(queries), true, NEEDS_MAMBA, "mamba", "x", "taps"},
    {AXES(queries), true, NEEDS_GROUPS, "mamba", "b|c", "taps"},
    {AXES(mlp), true, NEEDS_CONV, "conv", "in|gate|value", "kernel"},
    {AXES(mlp), true, NEEDS_CONV, "conv", NULL, "taps"},
    {AXES(queries), true, NEEDS_CROSS, "cross", "q", "kernel"},
    {AXES(keys), true, NEEDS_CROSS, "cross", "k|v", "kernel"},
    {AXES(mlp), true, NEEDS_DENSE, "mlp", "gate|up", "kernel"},
    {AXES(shared), true, NEEDS_SHARED, "shared", "gate|up", "kernel"},
    {AXES(queries), true, NEEDS_MTP, "join", NULL, "kernel"},
    {AXES(vocab), true, NEEDS_HEAD, "head", NULL, "kernel"},
    {AXES(queries), true, NEEDS_CROSS, "relative", NULL, "table"},
    {AXES(queries), false, ALWAYS, "attn", "o", "kernel"},
    {AXES(queries), false, NEEDS_CROSS, "cross", "o", "kernel"},
    {AXES(mlp), false, NEEDS_CONV, "conv", "o", "kernel"},
    {AXES(queries), false, NEEDS_MAMBA, "mamba", "o", "kernel"},
    {AXES(queries), false, NEEDS_LIGHTNING, "lightning", "o", "kernel"},
    {AXES(queries), false, NEEDS_DELTA, "attn/decay", NULL, "log"},
    {AXES(queries), false, NEEDS_DELTA, "attn/decay", NULL, "bias"},
    {AXES(queries), false, NEEDS_DELTA_BIAS, "attn", "q|key|value", "conv_bias"},
    {AXES(queries), false, NEEDS_MAMBA, "mamba/dt", NULL, "log"},
    {AXES(queries), false, NEEDS_MAMBA, "mamba/dt", NULL, "bias"},
    {AXES(queries), false, NEEDS_MAMBA_BIAS, "mamba", "x", "conv_bias"},
    {AXES(queries), false, NEEDS_GROUPS_BIAS, "mamba", "b|c", "conv_bias"},
    {AXES(queries), false, NEEDS_MAMBA, "mamba/skip", NULL, NULL},
    {AXES(queries), false, NEEDS_MAMBA_NORM, "mamba/norm", NULL, "scale"},
    {AXES(queries), false, NEEDS_LIGHTNING, "lightning/norm", NULL, "scale"},
    {AXES(mlp), false, NEEDS_DENSE, "mlp", "down", "kernel"},
    {AXES(shared), false, NEEDS_SHARED, "shared", "down", "kernel"},
    {AXES(queries), false, NEEDS_QKV_BIAS, "attn", "q", "bias"},
    {AXES(keys), false, NEEDS_QKV_BIAS, "attn", "k|v", "bias"},
    {AXES(mlp), false, NEEDS_MLP_BIAS, "mlp", "gate|up", "bias"},
    {AXES(vocab), false, NEEDS_HEAD_BIAS, "head", NULL, "bias"},
    {AXES(queries), false, NEEDS_SINKS, "attn/sinks", NULL, NULL},
    {AXES(vocab), false, ALWAYS, "embed", NULL, "table"},
#undef AXES
};

#define NROWS (sizeof rows / sizeof *rows)

struct printing {
    const struct scenario_model *model;
    const struct tensor_axes *axes;
};

/* The axes of a row; NULL: it has no rule. */
static const char *axes_of(const struct printing *p, size_t row)
{
    const char *base = (const char *)p->axes;

    return has(p->model, rows[row].needs)
               ? *(const char *const *)(const void *)(base + rows[row].axes)
               : NULL;
}

/* The next row from `row` on that has the rule of another; NROWS: none. */
static size_t next_of(const struct printing *p, size_t row, size_t other)
{
    for (; row < NROWS; row++) {
        const char *axes = axes_of(p, row);

        if (axes && rows[row].second == rows[other].second && !strcmp(axes, axes_of(p, other)))
            return row;
    }
    return row;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Add "STEM/(NAME|NAME)" of rows with one stem; returns the next row with the rule of `first`. */
static size_t add_stem(struct text *out, const struct printing *p, size_t row, size_t first)
{
    const struct row *r = &rows[row];
    struct text names = TEXT_INIT;

    text_add(&names, r->name ? r->name : "");
    for (row = next_of(p, row + 1, first);
         row < NROWS && is_same(rows[row].kind, r->kind) && !strcmp(rows[row].stem, r->stem);
         row = next_of(p, row + 1, first))
        text_addf(&names, "|%s", rows[row].name);
    text_addf(out,
              strchr(text_get(&names), '|') ? "%s/(%s)"
              : r->name                     ? "%s/%s"
                                            : "%s%s",
              r->stem, text_get(&names));
    text_drop(out, &names);
    return row;
}

/* Add the pattern of all rows with the rule of `first`. */
static void add_pattern(struct text *out, const struct printing *p, size_t first)
{
    for (size_t row = first; row < NROWS;) {
        const char *kind = rows[row].kind;
        struct text stems = TEXT_INIT;
        size_t n = 0;

        text_add(out, row > first ? "|" : "");
        for (; row < NROWS && is_same(rows[row].kind, kind); n++) {
            text_add(&stems, n > 0 ? "|" : "");
            row = add_stem(&stems, p, row, first);
        }
        text_addf(out, n > 1 ? "(%s)%s%s" : "%s%s%s", text_get(&stems), kind ? "/" : "",
                  kind ? kind : "");
        text_drop(out, &stems);
    }
}

static const char *before(enum rules_style style)
{
    return style == RULES_BLOCK ? "  - [" : "[";
}

static const char *after(enum rules_style style)
{
    return style == RULES_BLOCK ? "]]\n" : "]], ";
}

static const char *or_null(const char *axes)
{
    return axes ? axes : "null";
}

static void add_experts(struct text *out, const struct printing *p, enum rules_style style)
{
    const char *of = or_null(p->axes->experts), *widths = or_null(p->axes->expert_widths);

    if (p->model->moe.experts == 0 || (!p->axes->experts && !p->axes->expert_widths))
        return;
    text_addf(out, "%smoe/(gate|up)/kernel, [%s, null, %s%s", before(style), of, widths,
              after(style));
    text_addf(out, "%smoe/down/kernel, [%s, %s%s", before(style), of, widths, after(style));
    if (!p->model->moe.expert_bias)
        return;
    text_addf(out, "%smoe/(gate|up)/bias, [%s, %s%s", before(style), of, widths, after(style));
    text_addf(out, "%smoe/down/bias, [%s%s", before(style), of, after(style));
}

struct tensor_axes tensor_axes_same(const char *axes)
{
    return (struct tensor_axes){
        .queries = axes, .keys = axes, .mlp = axes, .shared = axes, .vocab = axes};
}

void tensor_rules_print(struct text *out, const struct scenario_model *model,
                        const struct tensor_axes *axes, enum rules_style style)
{
    const struct printing p = {model, axes};

    add_experts(out, &p, style);
    for (size_t row = 0; row < NROWS; row++) {
        const char *of = axes_of(&p, row);

        if (!of || next_of(&p, 0, row) < row)
            continue;
        text_addf(out, "%s'", before(style));
        add_pattern(out, &p, row);
        text_addf(out, "', [%s%s%s", rows[row].second ? "null, " : "", of, after(style));
    }
    text_add(out, style == RULES_BLOCK ? "  - [.*, []]\n" : "[.*, []]");
}

/* Add one constraint; `last` are the axes of the last dimensions. */
static void add_value(struct text *out, const char *pattern, const struct tensor_values *axes,
                      const char *seq, const char *last, enum rules_style style)
{
    text_addf(out, "%s%s, [%s, %s, %s%s", before(style), pattern, axes->batch, seq, last,
              after(style));
}

void tensor_exchange_print(struct text *out, const struct tensor_values *axes, const char *heads,
                           bool keys, enum rules_style style)
{
    struct text last = TEXT_INIT;

    text_addf(&last, "%s, null", axes->vocab);
    add_value(out, "attn/(projected|attended)", axes, axes->seq, text_get(&last), style);
    text_clear(&last);
    text_addf(&last, "%s, null", heads);
    add_value(out, keys ? "attn/(q|kv)" : "attn/q", axes, "null", text_get(&last), style);
    text_drop(out, &last);
}

void tensor_inside_print(struct text *out, const struct tensor_values *axes,
                         const struct scenario_model *model, bool heads, enum rules_style style)
{
    struct text last = TEXT_INIT;

    text_addf(&last, "%s, null", axes->vocab);
    if (heads)
        add_value(out, model->kind == SCENARIO_T5 ? "(attn|cross)/(q|kv)" : "attn/(q|kv)", axes,
                  axes->seq, text_get(&last), style);
    if (has(model, NEEDS_MAMBA))
        add_value(out, "mamba/q", axes, axes->seq, text_get(&last), style);
    if (has(model, NEEDS_LIGHTNING))
        add_value(out, "lightning/q", axes, axes->seq, text_get(&last), style);
    if (has(model, NEEDS_DENSE))
        add_value(out, "mlp/hidden", axes, axes->seq, axes->vocab, style);
    if (has(model, NEEDS_SHARED))
        add_value(out, "shared/hidden", axes, axes->seq, axes->vocab, style);
    text_drop(out, &last);
}

void tensor_constraints_print(struct text *out, const struct tensor_values *axes,
                              enum rules_style style)
{
    add_value(out, "head/out", axes, axes->seq, axes->vocab, style);
    text_addf(out, "%sout$, [%s, %s, null%s", before(style), axes->batch, axes->tokens,
              style == RULES_BLOCK ? "]]\n" : "]]");
}
