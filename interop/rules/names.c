/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "rules/names.h"

#include <string.h>

const char *const names_systems[NAMES_NSYSTEMS] = {
    [NAMES_EASYDEL] = "easydel",
    [NAMES_EASYDEL_APART] = "easydel-apart",
    [NAMES_OWN] = "shardsim",
    [NAMES_T5X] = "t5x",
};

/* ---- EasyDeL: modules of Flax named as Hugging Face names them ---- */

#define L "model/layers/*/"
#define ROW(ours, theirs, dims)        \
    {                                  \
        ours, theirs, dims, NULL, NULL \
    }
#define PART(ours, theirs, dims, part) \
    {                                  \
        ours, theirs, dims, NULL, part \
    }
#define END ROW(NULL, NULL, NULL)

static const struct names_row llama_rows[] = {
    ROW("embed/table", "model/embed_tokens/embedding", "0 1"),
    ROW("layers/*/norm1/scale", L "input_layernorm/kernel", "0"),
    ROW("layers/*/norm1/bias", L "input_layernorm/bias", "0"),
    ROW("layers/*/attn/q/kernel", L "self_attn/q_proj/kernel", "0 12"),
    ROW("layers/*/attn/k/kernel", L "self_attn/k_proj/kernel", "0 12"),
    ROW("layers/*/attn/v/kernel", L "self_attn/v_proj/kernel", "0 12"),
    ROW("layers/*/attn/o/kernel", L "self_attn/o_proj/kernel", "01 2"),
    ROW("layers/*/attn/q/bias", L "self_attn/q_proj/bias", "01"),
    ROW("layers/*/attn/k/bias", L "self_attn/k_proj/bias", "01"),
    ROW("layers/*/attn/v/bias", L "self_attn/v_proj/bias", "01"),
    ROW("layers/*/attn/o/bias", L "self_attn/o_proj/bias", "0"),
    ROW("layers/*/norm2/scale", L "post_attention_layernorm/kernel", "0"),
    ROW("layers/*/norm2/bias", L "post_attention_layernorm/bias", "0"),
    ROW("layers/*/mlp/gate/kernel", L "mlp/gate_proj/kernel", "0 1"),
    ROW("layers/*/mlp/up/kernel", L "mlp/up_proj/kernel", "0 1"),
    ROW("layers/*/mlp/up/bias", L "mlp/up_proj/bias", "0"),
    ROW("layers/*/mlp/down/kernel", L "mlp/down_proj/kernel", "0 1"),
    ROW("layers/*/mlp/down/bias", L "mlp/down_proj/bias", "0"),
    ROW("final_norm/scale", "model/norm/kernel", "0"),
    ROW("final_norm/bias", "model/norm/bias", "0"),
    ROW("head/kernel", "lm_head/kernel", "0 1"),
    END,
};

static const struct names_row mixtral_rows[] = {
    ROW("layers/*/moe/router/kernel", L "block_sparse_moe/gate/kernel", "0 1"),
    ROW("layers/*/moe/gate/kernel", L "block_sparse_moe/experts/w1/kernel", "0 1 2"),
    ROW("layers/*/moe/up/kernel", L "block_sparse_moe/experts/w3/kernel", "0 1 2"),
    ROW("layers/*/moe/down/kernel", L "block_sparse_moe/experts/w2/kernel", "0 1 2"),
    END,
};

#define OF_ALL "one array an expert, all sharded alike"

static const struct names_row mixtral_apart_rows[] = {
    ROW("layers/*/moe/router/kernel", L "block_sparse_moe/gate/kernel", "0 1"),
    PART("layers/*/moe/gate/kernel", L "block_sparse_moe/experts/0/w1/kernel", "1 2", OF_ALL),
    PART("layers/*/moe/up/kernel", L "block_sparse_moe/experts/0/w3/kernel", "1 2", OF_ALL),
    PART("layers/*/moe/down/kernel", L "block_sparse_moe/experts/0/w2/kernel", "1 2", OF_ALL),
    END,
};

#define KV_A L "self_attn/kv_a_proj_with_mqa/kernel"
#define KV_B L "self_attn/kv_b_proj/kernel"
#define KV_A_PART "their array is kv_latent and k_rope side by side"
#define KV_B_PART "their array is k and v of each head side by side"
#define Q_PART "their array is q and q_rope of each head side by side"

static const struct names_row deepseek_rows[] = {
    ROW("layers/*/attn/q_latent/kernel", L "self_attn/q_a_proj/kernel", "0 1"),
    ROW("layers/*/attn/q_latent/scale", L "self_attn/q_a_layernorm/kernel", "0"),
    PART("layers/*/attn/q/kernel", L "self_attn/q_b_proj/kernel", "0 12", Q_PART),
    PART("layers/*/attn/q_rope/kernel", L "self_attn/q_b_proj/kernel", "0 12", Q_PART),
    PART("layers/*/attn/kv_latent/kernel", KV_A, "0 1", KV_A_PART),
    PART("layers/*/attn/k_rope/kernel", KV_A, "0 12", KV_A_PART),
    ROW("layers/*/attn/kv_latent/scale", L "self_attn/kv_a_layernorm/kernel", "0"),
    PART("layers/*/attn/k/kernel", KV_B, "0 12", KV_B_PART),
    PART("layers/*/attn/v/kernel", KV_B, "0 12", KV_B_PART),
    ROW("layers/*/moe/router/kernel", L "mlp/gate/kernel", "0 1"),
    ROW("layers/*/moe/router/bias", L "mlp/gate/e_score_correction_bias", "0"),
    ROW("layers/*/moe/gate/kernel", L "mlp/experts/gate_proj/kernel", "0 1 2"),
    ROW("layers/*/moe/up/kernel", L "mlp/experts/up_proj/kernel", "0 1 2"),
    ROW("layers/*/moe/down/kernel", L "mlp/experts/down_proj/kernel", "0 1 2"),
    ROW("layers/*/moe/shared/gate/kernel", L "mlp/shared_experts/gate_proj/kernel", "0 1"),
    ROW("layers/*/moe/shared/up/kernel", L "mlp/shared_experts/up_proj/kernel", "0 1"),
    ROW("layers/*/moe/shared/down/kernel", L "mlp/shared_experts/down_proj/kernel", "0 1"),
    END,
};

/* Rows of models that compress keys but not queries. */
static const struct names_row plain_query_rows[] = {
    PART("layers/*/attn/q/kernel", L "self_attn/q_proj/kernel", "0 12", Q_PART),
    PART("layers/*/attn/q_rope/kernel", L "self_attn/q_proj/kernel", "0 12", Q_PART),
    END,
};

#define H "transformer/h/*/"
#define QKV "their array is q, k and v side by side"

/* GPT-2's matrices are stored output by input. */
static const struct names_row gpt2_rows[] = {
    ROW("embed/table", "transformer/wte/embedding", "0 1"),
    ROW("embed/positions", "transformer/wpe/embedding", "0 1"),
    ROW("layers/*/norm1/scale", H "ln_1/scale", "0"),
    ROW("layers/*/norm1/bias", H "ln_1/bias", "0"),
    PART("layers/*/attn/q/kernel", H "attn/c_attn/kernel", "12 0", QKV),
    PART("layers/*/attn/k/kernel", H "attn/c_attn/kernel", "12 0", QKV),
    PART("layers/*/attn/v/kernel", H "attn/c_attn/kernel", "12 0", QKV),
    PART("layers/*/attn/q/bias", H "attn/c_attn/bias", "01", QKV),
    PART("layers/*/attn/k/bias", H "attn/c_attn/bias", "01", QKV),
    PART("layers/*/attn/v/bias", H "attn/c_attn/bias", "01", QKV),
    ROW("layers/*/attn/o/kernel", H "attn/c_proj/kernel", "2 01"),
    ROW("layers/*/attn/o/bias", H "attn/c_proj/bias", "0"),
    ROW("layers/*/norm2/scale", H "ln_2/scale", "0"),
    ROW("layers/*/norm2/bias", H "ln_2/bias", "0"),
    ROW("layers/*/mlp/up/kernel", H "mlp/c_fc/kernel", "1 0"),
    ROW("layers/*/mlp/up/bias", H "mlp/c_fc/bias", "0"),
    ROW("layers/*/mlp/down/kernel", H "mlp/c_proj/kernel", "1 0"),
    ROW("layers/*/mlp/down/bias", H "mlp/c_proj/bias", "0"),
    ROW("final_norm/scale", "transformer/ln_f/scale", "0"),
    ROW("final_norm/bias", "transformer/ln_f/bias", "0"),
    ROW("head/kernel", "lm_head/kernel", "0 1"),
    END,
};

/* ---- T5X ---- */

#define AXES(ours, theirs, dims, axes) \
    {                                  \
        ours, theirs, dims, axes, NULL \
    }
#define ATTENTION(ours, theirs)                                                    \
    AXES(ours "/q/kernel", theirs "/query/kernel", "0 12", "embed joined_kv"),     \
        AXES(ours "/k/kernel", theirs "/key/kernel", "0 12", "embed joined_kv"),   \
        AXES(ours "/v/kernel", theirs "/value/kernel", "0 12", "embed joined_kv"), \
        AXES(ours "/o/kernel", theirs "/out/kernel", "01 2", "joined_kv embed"),   \
        AXES(ours "/q/bias", theirs "/query/bias", "01", "joined_kv"),             \
        AXES(ours "/k/bias", theirs "/key/bias", "01", "joined_kv"),               \
        AXES(ours "/v/bias", theirs "/value/bias", "01", "joined_kv"),             \
        AXES(ours "/o/bias", theirs "/out/bias", "0", "embed")
/* A plain mlp has one kernel wi; in a gated mlp wi_0 is the gate. */
#define MLP(ours, theirs)                                                   \
    AXES(ours "/gate/kernel", theirs "/wi_0/kernel", "0 1", "embed mlp"),   \
        AXES(ours "/up/kernel", theirs "/wi_1/kernel", "0 1", "embed mlp"), \
        AXES(ours "/up/bias", theirs "/wi/bias", "0", "mlp"),               \
        AXES(ours "/down/kernel", theirs "/wo/kernel", "0 1", "mlp embed"), \
        AXES(ours "/down/bias", theirs "/wo/bias", "0", "embed")
#define SCALE(ours, theirs) AXES(ours "/scale", theirs "/scale", "0", "embed")
#define NORM(ours, theirs) SCALE(ours, theirs), AXES(ours "/bias", theirs "/bias", "0", "embed")

static const struct names_row t5_rows[] = {
    AXES("embed/table", "token_embedder/embedding", "0 1", "vocab embed"),
    AXES("encoder/relative/table", "encoder/relpos_bias/rel_embedding", "1 0",
         "heads relpos_buckets"),
    ATTENTION("encoder/layers/*/attn", "encoder/layers_*/attention"),
    SCALE("encoder/layers/*/norm1", "encoder/layers_*/pre_attention_layer_norm"),
    MLP("encoder/layers/*/mlp", "encoder/layers_*/mlp"),
    SCALE("encoder/layers/*/norm2", "encoder/layers_*/pre_mlp_layer_norm"),
    SCALE("encoder/final_norm", "encoder/encoder_norm"),
    AXES("decoder/relative/table", "decoder/relpos_bias/rel_embedding", "1 0",
         "heads relpos_buckets"),
    ATTENTION("decoder/layers/*/attn", "decoder/layers_*/self_attention"),
    SCALE("decoder/layers/*/norm1", "decoder/layers_*/pre_self_attention_layer_norm"),
    ATTENTION("decoder/layers/*/cross", "decoder/layers_*/encoder_decoder_attention"),
    SCALE("decoder/layers/*/norm2", "decoder/layers_*/pre_cross_attention_layer_norm"),
    MLP("decoder/layers/*/mlp", "decoder/layers_*/mlp"),
    SCALE("decoder/layers/*/norm3", "decoder/layers_*/pre_mlp_layer_norm"),
    SCALE("decoder/final_norm", "decoder/decoder_norm"),
    AXES("head/kernel", "decoder/logits_dense/kernel", "0 1", "embed vocab"),
    END,
};

/* Rows of a decoder alone. */
static const struct names_row decoder_rows[] = {
    AXES("embed/table", "decoder/token_embedder/embedding", "0 1", "vocab embed"),
    AXES("embed/positions", "decoder/position_embedder/pos_embedding", "0 1",
         "abspos_buckets embed"),
    NORM("layers/*/norm1", "decoder/layers_*/pre_self_attention_layer_norm"),
    ATTENTION("layers/*/attn", "decoder/layers_*/self_attention"),
    NORM("layers/*/norm2", "decoder/layers_*/pre_mlp_layer_norm"),
    MLP("layers/*/mlp", "decoder/layers_*/mlp"),
    AXES("layers/*/moe/router/kernel", "decoder/layers_*/mlp/router/router_weights/w/kernel", "0 1",
         "embed unmodeled"),
    AXES("layers/*/moe/gate/kernel", "decoder/layers_*/mlp/expert/wi_0/kernel", "0 1 2",
         "expert embed expert_mlp"),
    AXES("layers/*/moe/up/kernel", "decoder/layers_*/mlp/expert/wi_1/kernel", "0 1 2",
         "expert embed expert_mlp"),
    AXES("layers/*/moe/down/kernel", "decoder/layers_*/mlp/expert/wo/kernel", "0 1 2",
         "expert expert_mlp embed"),
    NORM("final_norm", "decoder/decoder_norm"),
    AXES("head/kernel", "decoder/logits_dense/kernel", "0 1", "embed vocab"),
    END,
};

/* Rows of an mlp without a gate. */
static const struct names_row plain_mlp_rows[] = {
    AXES("layers/*/mlp/up/kernel", "decoder/layers_*/mlp/wi/kernel", "0 1", "embed mlp"),
    AXES("encoder/layers/*/mlp/up/kernel", "encoder/layers_*/mlp/wi/kernel", "0 1", "embed mlp"),
    AXES("decoder/layers/*/mlp/up/kernel", "decoder/layers_*/mlp/wi/kernel", "0 1", "embed mlp"),
    END,
};

/* ---- which rows ---- */

static const struct names_row *find(const struct names_row *rows, const char *ours)
{
    for (; rows->ours; rows++)
        if (!strcmp(rows->ours, ours))
            return rows;
    return NULL;
}

/* Rows of a model, ended by NULL; earlier ones win. */
static void choose(const struct names_row *out[4], enum names_system system,
                   const struct scenario_model *m)
{
    bool gated = scenario_is_gated(m->activation);
    size_t n = 0;

    if (system == NAMES_T5X) {
        if (!gated)
            out[n++] = plain_mlp_rows;
        out[n++] = m->kind == SCENARIO_T5 ? t5_rows : decoder_rows;
    } else if (m->kind == SCENARIO_GPT2 || m->positions > 0) {
        out[n++] = gpt2_rows;
    } else if (m->kind != SCENARIO_T5) {
        if (m->mla.kv_rank > 0 && m->mla.q_rank == 0)
            out[n++] = plain_query_rows;
        if (m->kind == SCENARIO_DEEPSEEK)
            out[n++] = deepseek_rows;
        else
            out[n++] = system == NAMES_EASYDEL ? mixtral_rows : mixtral_apart_rows;
        out[n++] = llama_rows;
    }
    out[n] = NULL;
}

const struct names_row *names_find(enum names_system system, const struct scenario_model *model,
                                   const char *ours)
{
    const struct names_row *tables[4], *found = NULL;

    choose(tables, system, model);
    for (size_t t = 0; !found && tables[t]; t++)
        found = find(tables[t], ours);
    return found;
}
