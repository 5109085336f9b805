/* The model and its experts as options of Megatron-LM.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/megatron_model.h"

#include <inttypes.h>
#include <math.h>

int megatron_refuse(struct export_job *c, const char *what)
{
    return shd_error_set(c->err, SHD_EUNSUPPORTED, "Megatron-LM has no %s", what);
}

void megatron_add_flag(struct export_job *c, const char *flag)
{
    text_addf(c->out, " \\\n    %s", flag);
}

void megatron_add_number(struct export_job *c, const char *option, int64_t value)
{
    text_addf(c->out, " \\\n    %s %" PRId64, option, value);
}

void megatron_add_fraction(struct export_job *c, const char *option, double value)
{
    text_addf(c->out, " \\\n    %s ", option);
    export_add_number(c->out, value);
}

void megatron_add_word(struct export_job *c, const char *option, const char *value)
{
    text_addf(c->out, " \\\n    %s %s", option, value);
}

/* ---- refusals ---- */

int megatron_check_model(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    if (m->kind != SCENARIO_TRANSFORMER && m->kind != SCENARIO_GPT2 && m->kind != SCENARIO_LLAMA3 &&
        m->kind != SCENARIO_MIXTRAL && m->kind != SCENARIO_DEEPSEEK && m->kind != SCENARIO_DECODER)
        return shd_error_set(c->err, SHD_EUNSUPPORTED,
                             "Megatron-LM's pretrain_gpt.py has no model of kind %s; expected "
                             "transformer, gpt2, llama3, mixtral, deepseek or decoder",
                             scenario_kind_name(m->kind));
    if (m->dtype == SHD_F64)
        return megatron_refuse(c, "float64; expected model.dtype float32, bfloat16 or float16");
    if (m->activation != SCENARIO_GELU && m->activation != SCENARIO_SWIGLU)
        return megatron_refuse(c, "such activation; expected gelu or swiglu");
    if (m->mla.kv_rank > 0 && m->attention_bias != SCENARIO_BIAS_NONE)
        return megatron_refuse(c, "biases with multi-latent attention; expected no attention_bias");
    if (!m->causal)
        return megatron_refuse(c, "bidirectional attention in a GPT; expected model.causal true");
    if (m->bias != (m->attention_bias == SCENARIO_BIAS_ALL))
        return megatron_refuse(
            c, "biases in the MLP alone or in attention alone; expected model.bias with "
               "attention_bias all");
    if (m->rope.used && m->rope.theta != floor(m->rope.theta))
        return megatron_refuse(c, "fractional --rotary-base; expected an integer model.rope.theta");
    if (m->rope.used && m->positions > 0)
        return megatron_refuse(
            c, "combination of rotary and learned positions; expected model.rope or positions");
    return export_check_model(c, "the export to Megatron-LM");
}

/* Megatron-LM scores a group by the sum of as many experts as a token takes from each it keeps. */
static bool scores_groups(const struct scenario_moe *moe)
{
    int64_t best = moe->group_score == SCENARIO_GROUP_TOP2 ? 2 : 1;

    return moe->groups <= 1 || (moe->kept > 0 && moe->top_k / moe->kept == best);
}

int megatron_check_router(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;
    bool sigmoid = moe->score == SCENARIO_SIGMOID;

    if (moe->routing != SCENARIO_ROUTING_AUTO && moe->routing != SCENARIO_ROUTING_LEARNED &&
        moe->routing != SCENARIO_ROUTING_UNIFORM)
        return megatron_refuse(
            c, "synthetic routing; expected moe.routing auto or learned, or uniform "
               "(--moe-router-force-load-balancing)");
    if (sigmoid && moe->renormalize != (moe->top_k > 1))
        return megatron_refuse(c, "unnormalized sigmoid gates; expected moe.renormalize true with "
                                  "moe.top_k above 1");
    if (!sigmoid && moe->renormalize && moe->top_k == 1)
        return megatron_refuse(c, "softmax over the top 1 expert; expected moe.renormalize false");
    if (!sigmoid && moe->bias)
        return megatron_refuse(c, "expert bias with softmax scores; expected no moe.bias");
    if (!scores_groups(moe))
        return shd_error_set(c->err, SHD_EUNSUPPORTED,
                             "Megatron-LM scores a group of experts by its best %" PRId64 ", "
                             "moe.top_k / moe.kept; expected the same in moe.group_score",
                             moe->kept > 0 ? moe->top_k / moe->kept : moe->top_k);
    return SHD_OK;
}

int megatron_check_experts(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;

    if (moe->experts == 0)
        return SHD_OK;
    if (c->roles.size[EXPORT_TENSOR] > 1 && !c->roles.sequence)
        return megatron_refuse(c, "experts with tensor parallelism but without sequence "
                                  "parallelism; expected a constraint such as [out, [dp, tp, "
                                  "null]]");
    if (moe->token_groups > 0)
        return megatron_refuse(c, "expert capacity per group of tokens; expected no "
                                  "moe.token_groups");
    return SHD_OK;
}

/* ---- options ---- */

/* Compressed keys; the norms of their vectors are those of --qk-layernorm there. */
static void add_latent(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    megatron_add_flag(c, "--multi-latent-attention");
    if (m->mla.q_rank > 0)
        megatron_add_number(c, "--q-lora-rank", m->mla.q_rank);
    megatron_add_number(c, "--kv-lora-rank", m->mla.kv_rank);
    megatron_add_number(c, "--qk-head-dim", m->head_dim);
    megatron_add_number(c, "--qk-pos-emb-head-dim", m->mla.rope_dim);
    megatron_add_number(c, "--v-head-dim", m->mla.value_dim);
    megatron_add_word(c, "--rope-type", "rope"); /* yarn by default */
    megatron_add_flag(c, "--no-rope-fusion");    /* for yarn alone */
}

/* What the vocabulary is padded to a multiple of: at least tensor parallelism, which Megatron-LM
 * always multiplies in, and whose multiple a vocabulary without padding is. */
static int64_t vocab_multiple(const struct export_job *c)
{
    int64_t multiple = c->source->model.vocab_multiple, tensor = c->roles.size[EXPORT_TENSOR];

    return multiple % tensor == 0 ? multiple : tensor;
}

static void add_sizes(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    megatron_add_number(c, "--num-layers", m->layers);
    megatron_add_number(c, "--hidden-size", m->d_model);
    megatron_add_number(c, "--ffn-hidden-size", m->d_ff);
    megatron_add_number(c, "--num-attention-heads", m->heads);
    megatron_add_number(c, "--kv-channels", m->head_dim);
    if (m->mla.kv_rank > 0)
        add_latent(c);
    else if (m->kv_heads != m->heads) {
        megatron_add_flag(c, "--group-query-attention");
        megatron_add_number(c, "--num-query-groups", m->kv_heads);
    }
    megatron_add_number(c, "--vocab-size", m->vocab);
    megatron_add_number(c, "--make-vocab-size-divisible-by",
                        vocab_multiple(c) / c->roles.size[EXPORT_TENSOR]);
    megatron_add_number(c, "--seq-length", c->source->batch.seq);
    megatron_add_number(c, "--max-position-embeddings",
                        m->positions > 0 ? m->positions : c->source->batch.seq);
}

void megatron_add_model(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;
    bool rotates = m->rope.used || m->mla.kv_rank > 0;

    add_sizes(c);
    megatron_add_word(c, "--position-embedding-type",
                      m->positions > 0 ? "learned_absolute"
                      : m->rope.used   ? "rope"
                                       : "none");
    if (rotates)
        megatron_add_number(c, "--rotary-base", (int64_t)m->rope.theta);
    if (m->rope.used && m->rope.interleaved && m->mla.kv_rank == 0)
        megatron_add_flag(c, "--rotary-interleaved");
    if (m->rope.used && m->rope.scaling.kind == SCENARIO_ROPE_LLAMA3) {
        megatron_add_flag(c, "--use-rope-scaling");
        megatron_add_fraction(c, "--rope-scaling-factor", m->rope.scaling.factor);
    }
    megatron_add_word(c, "--normalization", m->norm == SCENARIO_RMS ? "RMSNorm" : "LayerNorm");
    if (m->norm_eps > 0)
        megatron_add_fraction(c, "--norm-epsilon", m->norm_eps);
    if (m->activation == SCENARIO_SWIGLU)
        megatron_add_flag(c, "--swiglu");
    if (!m->bias)
        megatron_add_flag(c, "--disable-bias-linear");
    if (m->attention_bias == SCENARIO_BIAS_QKV)
        megatron_add_flag(c, "--add-qkv-bias");
    if (m->qk_norm || m->mla.kv_rank > 0)
        megatron_add_flag(c, "--qk-layernorm");
    if (!m->tied)
        megatron_add_flag(c, "--untie-embeddings-and-output-weights");
    if (m->window > 0)
        text_addf(c->out, " \\\n    --window-size %" PRId64 ",0", m->window - 1);
    if (m->dtype != SHD_F32)
        megatron_add_flag(c, m->dtype == SHD_BF16 ? "--bf16" : "--fp16");
    if (m->dtype == SHD_F16) /* --bf16 implies it */
        megatron_add_flag(c, "--accumulate-allreduce-grads-in-fp32");
    megatron_add_number(c, "--attention-dropout", 0);
    megatron_add_number(c, "--hidden-dropout", 0);
}

/* Which layers have experts, where not all have, as "([0]*3+[1]*58)". */
static void add_layers_of_experts(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;
    int64_t rest = c->source->model.layers - moe->first_dense;

    if (moe->first_dense == 0 && moe->every == 1)
        return;
    text_add(c->out, " \\\n    --moe-layer-freq '(");
    if (moe->first_dense > 0)
        text_addf(c->out, "[0]*%" PRId64 "+", moe->first_dense);
    if (moe->every == 1)
        text_addf(c->out, "[1]*%" PRId64, rest);
    else
        text_addf(c->out, "([0]*%" PRId64 "+[1])*%" PRId64, moe->every - 1, rest / moe->every);
    if (rest % moe->every > 0)
        text_addf(c->out, "+[0]*%" PRId64, rest % moe->every);
    text_add(c->out, ")'");
}

static void add_router(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;

    if (moe->score == SCENARIO_SIGMOID)
        megatron_add_word(c, "--moe-router-score-function", "sigmoid");
    else if (!moe->renormalize)
        megatron_add_flag(c, "--moe-router-pre-softmax");
    if (moe->bias)
        megatron_add_flag(c, "--moe-router-enable-expert-bias");
    if (moe->groups > 1) {
        megatron_add_number(c, "--moe-router-num-groups", moe->groups);
        megatron_add_number(c, "--moe-router-group-topk", moe->kept);
    }
    if (moe->scale != 1)
        megatron_add_fraction(c, "--moe-router-topk-scaling-factor", moe->scale);
}

void megatron_add_experts(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;

    if (moe->experts == 0)
        return;
    megatron_add_number(c, "--num-experts", moe->experts);
    megatron_add_number(c, "--moe-router-topk", moe->top_k);
    megatron_add_number(c, "--moe-ffn-hidden-size",
                        moe->d_ff > 0 ? moe->d_ff : c->source->model.d_ff);
    if (moe->shared > 0)
        megatron_add_number(c, "--moe-shared-expert-intermediate-size",
                            moe->shared * (moe->d_ff > 0 ? moe->d_ff : c->source->model.d_ff));
    add_layers_of_experts(c);
    add_router(c);
    if (moe->aux_loss > 0) {
        megatron_add_word(c, "--moe-router-load-balancing-type", "aux_loss");
        megatron_add_fraction(c, "--moe-aux-loss-coeff", moe->aux_loss);
    }
    if (moe->z_loss > 0)
        megatron_add_fraction(c, "--moe-z-loss-coeff", moe->z_loss);
    if (moe->capacity > 0)
        megatron_add_fraction(c, "--moe-expert-capacity-factor", moe->capacity);
    if (moe->routing == SCENARIO_ROUTING_UNIFORM)
        megatron_add_flag(c, "--moe-router-force-load-balancing");
    megatron_add_flag(c, "--moe-grouped-gemm"); /* else experts run sequentially */
    megatron_add_word(c, "--moe-token-dispatcher-type", "alltoall");
    megatron_add_number(c, "--expert-model-parallel-size", c->roles.experts);
    if (c->roles.experts_over_tensor) /* by default experts are sharded as all else is */
        megatron_add_number(c, "--expert-tensor-parallel-size", 1);
}
