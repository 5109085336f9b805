/* The models of torchtitan: flavors of published sizes, and others of the same form; and what both
 * of its kinds of files say of a job in the same way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "export/torchtitan.h"
#include "scenario/published.h"
#include "scenario/recompute_policies.h"

static bool same_experts(const struct scenario_moe *a, const struct scenario_moe *b)
{
    return a->experts == b->experts &&
           (a->experts == 0 ||
            (a->top_k == b->top_k && a->d_ff == b->d_ff && a->shared == b->shared &&
             a->first_dense == b->first_dense && a->every == b->every && a->score == b->score &&
             a->renormalize == b->renormalize && a->bias == b->bias && a->scale == b->scale &&
             a->groups == b->groups && a->kept == b->kept && a->group_score == b->group_score));
}

static bool same_compression(const struct scenario_mla *a, const struct scenario_mla *b)
{
    return a->kv_rank == b->kv_rank &&
           (a->kv_rank == 0 ||
            (a->q_rank == b->q_rank && a->rope_dim == b->rope_dim && a->value_dim == b->value_dim));
}

static bool same_sizes(const struct scenario_model *a, const struct scenario_model *b)
{
    return a->kind == b->kind && a->d_model == b->d_model && a->d_ff == b->d_ff &&
           a->layers == b->layers && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->vocab == b->vocab && a->vocab % a->vocab_multiple == 0 &&
           a->head_dim == b->head_dim && a->tied == b->tied && a->bias == b->bias &&
           a->attention_bias == b->attention_bias && a->qk_norm == b->qk_norm &&
           a->activation == b->activation && a->norm == b->norm && a->window == b->window &&
           a->positions == b->positions && a->rope.used == b->rope.used &&
           same_experts(&a->moe, &b->moe) && same_compression(&a->mla, &b->mla);
}

/* Whether a model has the sizes of a flavor. */
static bool is_flavor(const struct scenario_model *model, const struct family_flavor *flavor)
{
    struct scenario_model published;
    struct diag diag = DIAG_INIT;
    struct nearest nearest;
    bool same;
    size_t n;

    nearest_init(&nearest, flavor->size);
    same = scenario_find_model(&n, flavor->size, &nearest) &&
           published_model(&published, n, INT32_MAX, &diag) && same_sizes(model, &published);
    diag_fini(&diag);
    return same;
}

/* The flavor of the model's own name is looked at first, because reading all takes long. */
const struct family_flavor *torchtitan_find_flavor(const struct scenario_model *model)
{
    const char *name = model->size > 0 ? scenario_model_name((size_t)model->size - 1) : "";

    for (size_t f = 0; family_flavors[f].size; f++)
        if (!strcmp(family_flavors[f].size, name) && is_flavor(model, &family_flavors[f]))
            return &family_flavors[f];
    for (size_t f = 0; family_flavors[f].size; f++)
        if (is_flavor(model, &family_flavors[f]))
            return &family_flavors[f];
    return NULL;
}

/* Check that the model is torchtitan's llama3 with other sizes; all differences are named at
 * once. */
static int check_llama(struct export_job *j)
{
    const struct scenario_model *m = &j->source->model;
    const struct {
        bool met;
        const char *what;
    } needs[] = {
        {m->activation == SCENARIO_SWIGLU, "activation swiglu"},
        {m->norm == SCENARIO_RMS, "norm rms"},
        {m->rope.used, "rope"},
        {m->causal, "causal true"},
        {!m->bias && m->attention_bias == SCENARIO_BIAS_NONE, "no bias or attention_bias"},
        {!m->tied, "tied false"},
        {m->head_dim * m->heads == m->d_model, "heads x head_dim = d_model"},
        {m->moe.experts == 0, "no moe"},
        {m->positions == 0, "no positions"},
        {m->window == 0, "no window"},
        {m->vocab % m->vocab_multiple == 0, "vocab_multiple 1"},
        {!m->qk_norm, "no qk_norm"},
    };
    struct text wanted = TEXT_INIT;
    int status = SHD_OK, n = 0;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!needs[i].met)
            text_addf(&wanted, "%s%s", n++ ? ", " : "", needs[i].what);
    if (n > 0)
        status = shd_error_set(j->err, SHD_EUNSUPPORTED,
                               "torchtitan's llama3 differs from this model; expected %s",
                               text_get(&wanted));
    text_fini(&wanted);
    return status;
}

int torchtitan_check_model(struct export_job *j)
{
    enum scenario_kind kind = j->source->model.kind;

    if (export_check_model(j, "the export to torchtitan") != SHD_OK)
        return SHD_EUNSUPPORTED;
    if (torchtitan_find_flavor(&j->source->model))
        return SHD_OK;
    if (kind == SCENARIO_LLAMA3 || kind == SCENARIO_TRANSFORMER || kind == SCENARIO_DECODER)
        return check_llama(j);
    return shd_error_set(j->err, SHD_EUNSUPPORTED,
                         "torchtitan has no model like this %s; expected llama3, a transformer or "
                         "decoder with Llama's layers, or a published size of qwen3 or deepseek",
                         scenario_kind_name(kind));
}

/* Note where positions are scaled otherwise: torchtitan's llama3 scales as Llama 3.1 does. */
void torchtitan_add_positions(struct export_job *j)
{
    const struct scenario_rope *rope = &j->source->model.rope;
    const struct family_flavor *flavor = torchtitan_find_flavor(&j->source->model);
    bool scaled = rope->scaling.kind == SCENARIO_ROPE_LLAMA3;

    if (flavor && strcmp(flavor->model, "llama3") != 0)
        return;
    if (!scaled || rope->scaling.factor != 8)
        text_addf(j->out,
                  "# torchtitan's llama3 scales RoPE by 8 like Llama 3.1 (since v0.2.0), the "
                  "scenario by %.15g: same plan, different positions.\n",
                  scaled ? rope->scaling.factor : 1);
}

void torchtitan_add_model(struct export_job *j)
{
    const struct scenario_model *m = &j->source->model;
    const struct family_flavor *flavor = torchtitan_find_flavor(m);
    int64_t multiple = m->d_ff & -m->d_ff; /* the largest power of two in it */

    text_add(j->out, "\n[model]\n");
    if (flavor) {
        text_addf(j->out, "name = \"%s\"\nflavor = \"%s\"\n", flavor->model, flavor->flavor);
        return;
    }
    text_addf(j->out,
              "# torchtitan has no flavor with these sizes; register one in its llama3:\n"
              "#   TransformerModelArgs(dim=%" PRId64 ", n_layers=%" PRId64 ", n_heads=%" PRId64
              ", n_kv_heads=%" PRId64 ",\n"
              "#       vocab_size=%" PRId64 ", rope_theta=%.17g, multiple_of=%" PRId64 ", "
              "ffn_dim_multiplier=%.10g)\n",
              m->d_model, m->layers, m->heads, m->kv_heads, m->vocab, m->rope.theta, multiple,
              ((double)m->d_ff - (double)(multiple - 1) / 2 + 0.25) /
                  (double)(8 * m->d_model / 3)); /* rounded up to d_ff, on either side of a tie */
    text_add(j->out, "name = \"llama3\"\nflavor = \"custom\"\n");
}

bool torchtitan_is_by_op(const struct scenario_recompute *recompute)
{
    return recompute->policy && recompute->policy == recompute_policy_find("selective_op");
}

/* Whether products gather or scatter their operands piece by piece: compiled models can. */
static bool overlaps_products(const struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;

    return j->roles.sequence && j->layout->overlap.products == SCENARIO_BESIDE_WORK &&
           !(torchtitan_is_by_op(r) && r->hold);
}

/* What is fused is compiled: the model, the loss, or both. */
struct torchtitan_compiled torchtitan_compiled_of(const struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;
    const struct scenario_fused *fused = &j->layout->source->fused;
    bool products = overlaps_products(j);

    return (struct torchtitan_compiled){
        .model = torchtitan_is_by_op(r) ? !r->hold
                                        : products || fused->activation == SCENARIO_ONE_KERNEL,
        .loss = fused->loss == SCENARIO_ONE_KERNEL,
        .products = products};
}

/* FSDP's resharding policy; parameters sharded by rules only are gathered again. */
const char *torchtitan_reshard_of(const struct scenario *s)
{
    if (s->zero.stage == 3 && s->zero.reshard == SCENARIO_RESHARD_DEFAULT)
        return "default";
    return s->zero.stage == 3 && s->zero.reshard == SCENARIO_RESHARD_NEVER ? "never" : "always";
}
