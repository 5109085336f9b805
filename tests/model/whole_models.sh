#!/bin/sh
# Tests whole models: a config.json as a model, a vocabulary that is sharded, normalised heads, and
# a text on which the loss falls.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# ---- a config.json ----

# config NAME <JSON: write $tmp/NAME.json and a scenario with `from: NAME.json`.
config() {
    cat >"$tmp/$1.json"
    cat >"$tmp/$1.yaml" <<YAML
version: 1
mesh: {dp: 2}
model: {from: $1.json}
batch: {size: 2, seq: 16}
params: [[.*, []]]
axes: {batch: dp}
YAML
}

config llama <<'JSON'
{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100, "rope_theta": 5000.0,
 "rms_norm_eps": 1e-05, "hidden_act": "silu", "tie_word_embeddings": true}
JSON
config qwen2 <<'JSON'
{"model_type": "qwen2", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "sliding_window": 8, "use_sliding_window": false}
JSON
# Heads whose width is not d_model / heads, each normalised; no biases except where a config has
# them.
config qwen3 <<'JSON'
{"model_type": "qwen3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 48, "vocab_size": 100,
 "attention_bias": false, "rms_norm_eps": 1e-06, "rope_theta": 1000000, "hidden_act": "silu",
 "sliding_window": 8, "use_sliding_window": false, "max_window_layers": 2, "tie_word_embeddings": true}
JSON
config qwen3_biased <<'JSON'
{"model_type": "qwen3", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "attention_bias": true, "sliding_window": null}
JSON
config gpt2 <<'JSON'
{"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100,
 "n_positions": 64, "activation_function": "gelu_new"}
JSON
config t5 <<'JSON'
{"model_type": "t5", "d_model": 32, "num_layers": 2, "num_heads": 4, "d_kv": 16, "d_ff": 48,
 "vocab_size": 100, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false}
JSON
config mixtral <<'JSON'
{"model_type": "mixtral", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100, "num_local_experts": 4,
 "num_experts_per_tok": 3, "sliding_window": null, "rope_theta": 1e6}
JSON
config deepseek2 <<'JSON'
{"model_type": "deepseek_v2", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 4, "intermediate_size": 48, "vocab_size": 100, "qk_nope_head_dim": 8,
 "qk_rope_head_dim": 4, "v_head_dim": 6, "kv_lora_rank": 16, "q_lora_rank": null,
 "n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 3,
 "moe_intermediate_size": 16, "first_k_dense_replace": 0, "topk_method": "greedy", "n_group": 5,
 "norm_topk_prob": false, "scoring_func": "softmax"}
JSON
config deepseek3 <<'JSON'
{"model_type": "deepseek_v3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 4, "intermediate_size": 48, "vocab_size": 100, "qk_nope_head_dim": 8,
 "qk_rope_head_dim": 4, "v_head_dim": 6, "kv_lora_rank": 16, "q_lora_rank": 12,
 "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 4,
 "topk_group": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
JSON

# want MODEL: the number of weights by hand: vocabulary, positions, layers (norms, attention, mlp),
# last norm, head.
want() {
    case $1 in
    llama) echo $((100 * 32 + 2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48) + 32)) ;;
    qwen2) echo $((2 * 100 * 32 + 2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 64 + 3 * 32 * 48) + 32)) ;;
    qwen3) echo $((100 * 32 + 2 * (2 * 32 + 2 * 16 + 2 * 32 * 64 + 2 * 32 * 32 + 3 * 32 * 48) + 32)) ;;
    qwen3_biased) echo $((2 * 100 * 32 + (2 * 32 + 2 * 128 + 2 * 32 * 512 + 2 * 32 * 256 + 512 + 2 * 256 + 32 + \
        3 * 32 * 48) + 32)) ;;
    gpt2) echo $((164 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 64)) ;;
    t5) echo $((2 * 100 * 32 + 2 * (2 * 32 + 4 * 32 * 64 + 3 * 32 * 48) + 2 * (3 * 32 + 8 * 32 * 64 + \
        3 * 32 * 48) + 2 * 32 * 4 + 64)) ;;
    mixtral) echo $((2 * 100 * 32 + 2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 32 * 4 + \
        4 * 3 * 32 * 48) + 32)) ;;
    # Keys and values from a latent vector and a rotated key; then experts, and shared experts as
    # one mlp.
    deepseek2) echo $((2 * 100 * 32 + 2 * (2 * 32 + 32 * 4 * 12 + 32 * 20 + 16 + 16 * 4 * 14 + \
        4 * 6 * 32 + 32 * 8 + 8 * 3 * 32 * 16 + 3 * 32 * 32) + 32)) ;;
    # Queries from a latent vector; the first layer is dense.
    deepseek3) echo $((2 * 100 * 32 + 2 * (2 * 32 + 32 * 12 + 12 + 12 * 4 * 12 + 32 * 20 + 16 + \
        16 * 4 * 14 + 4 * 6 * 32) + 3 * 32 * 48 + 32 * 8 + 8 * 3 * 32 * 16 + 3 * 32 * 16 + 32)) ;;
    esac
}

for model in llama qwen2 qwen3 qwen3_biased gpt2 t5 mixtral deepseek2 deepseek3; do
    shardsim plan --json "$tmp/$model.yaml"
    is 0 "from $model: planned"
    holds "from $model: as many parameters as by hand" <<PY
kinds = r["memory"]["by_kind"]
assert kinds["parameters"] == 4 * $(want $model), (kinds, $(want $model))
PY
    shardsim run -q --json "$tmp/$model.yaml"
    is 0 "from $model: executed, and right"
done
shardsim compare --plan --json "$tmp/llama.yaml" "$tmp/gpt2.yaml"
is 0 "from: compared"

# refused CONFIG PLACE-AND-MESSAGE TEXT <JSON: refuse the config at that place.
refused() {
    config "$1"
    shardsim plan "$tmp/$1.yaml"
    is 2 "$3: status 2"
    grep -qF "$1.json:$2" "$tmp/err"
    ok $? "$3: told with its place"
    ! grep -qF "$1.yaml" "$tmp/err"
    ok $? "$3: nothing else is told"
    grep -qF "$1.yaml" "$tmp/err" && diag <"$tmp/err"
}
# The list of what is known is one: that of messages is that of the page.
config none <<'JSON'
{"model_type": "none"}
JSON
shardsim plan "$tmp/none.yaml"
planned=$(sed -n 's/.*supported types are //p' "$tmp/err" | sed 's/ and [^ ]*$//; 1q')
refused hybrid "1:16: error: model_type is 'jamba', which is not modelled: a hybrid of attention" "a hybrid" <<'JSON'
{"model_type": "jamba", "hidden_size": 32}
JSON
refused key_heads "1:1: error: 'num_key_value_heads' is missing" "key heads not said" <<'JSON'
{"model_type": "qwen3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "intermediate_size": 48, "vocab_size": 100}
JSON
refused slip "2:2: error: unknown key 'num_key_value_head'; did you mean 'num_key_value_heads'?" "a slip of a key" <<'JSON'
{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_head": 2, "intermediate_size": 48, "vocab_size": 100}
JSON
refused strange "1:16: error: model_type is 'strange'; supported types are $planned" "no model" <<'JSON'
{"model_type": "strange", "hidden_size": 32}
JSON
refused alibi "3:11: error: alibi is 'true'; expected false: ALiBi positions" "ALiBi" <<'JSON'
{"model_type": "falcon", "hidden_size": 32, "num_hidden_layers": 2,
 "num_attention_heads": 4, "vocab_size": 100,
 "alibi": true}
JSON
refused clipped "3:14: error: clip_qkv is '8.0'; expected null" "clamped queries" <<'JSON'
{"model_type": "olmo", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 4, "intermediate_size": 48, "vocab_size": 100,
 "clip_qkv": 8.0}
JSON
refused layer_words "3:18: error: layer_types has 'linear_attention'; expected full_attention" "types of layers" <<'JSON'
{"model_type": "gemma2", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
 "num_key_value_heads": 4, "intermediate_size": 48, "vocab_size": 100,
 "layer_types": ["linear_attention"]}
JSON
refused few_layers "3:17: error: layer_types: expected a list of 2 words" "too few types of layers" <<'JSON'
{"model_type": "gemma2", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 4, "intermediate_size": 48, "vocab_size": 100,
 "layer_types": ["full_attention"]}
JSON
refused rope_kind "3:32: error: the rope_type is 'mrope'; expected default, linear, dynamic" "a kind of scaling" <<'JSON'
{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "rope_scaling": {"rope_type": "mrope", "factor": 2.0}}
JSON
refused dense_later "3:32: error: mlp_layer_types has 'dense'; expected dense layers first" "a dense layer behind" <<'JSON'
{"model_type": "hy_v3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "mlp_layer_types": ["sparse", "dense"]}
JSON
refused few_mlps "3:21: error: mlp_layer_types: expected a list of 2 words" "too few types of mlps" <<'JSON'
{"model_type": "hy_v3", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "mlp_layer_types": ["dense"]}
JSON
refused base "3:36: error: rope_theta is '-1'" "a base of rope" <<'JSON'
{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100,
 "rope_parameters": {"rope_theta": -1}}
JSON

# ---- families ----

# family COUNT <JSON: the config's model has so many parameters.
family() {
    config family
    shardsim plan --json "$tmp/family.yaml"
    holds "$2: as many parameters as by hand" <<PY
kinds = r["memory"]["by_kind"]
assert kinds["parameters"] == 4 * $1, (kinds, $1)
PY
}
# Of width 32, two layers, two key heads of four, an mlp of 48 and 100 words: attention has
# 2 * 32 * 32 + 2 * 32 * 16, a gated mlp 3 * 32 * 48.
attn=3072 gated=4608 plain=3072 words=3200
rest='"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
 "intermediate_size": 48, "vocab_size": 100'
family $((2 * words + 2 * (attn + gated + 64) + 32)) "mistral with a window" <<JSON
{"model_type": "mistral", "sliding_window": 8, $rest}
JSON
shardsim plan "$tmp/family.yaml"
says out 'window' "a window: the report tells it"
family $((words + 2 * (attn + gated + 4 * 32) + 32)) "gemma2: norms before and behind, tied" <<JSON
{"model_type": "gemma2", "head_dim": 8, "sliding_window": 8, $rest}
JSON
family $((words + 2 * (attn + gated + 4 * 32 + 16) + 32)) "gemma3: and of heads" <<JSON
{"model_type": "gemma3", "text_config":
 {"model_type": "gemma3_text", "head_dim": 8, "query_pre_attn_scalar": 8, $rest}}
JSON
shardsim plan "$tmp/family.yaml"
says out 'part alone' "a config of texts and images: the report says what it takes"
family $((2 * words + 2 * (attn + gated + 2 * 32 + 32 + 16) + 32)) "olmo2: norms of all heads" <<JSON
{"model_type": "olmo2", $rest}
JSON
family $((2 * words + 2 * (attn + 2 * 16 + gated + 64 + 32) + 32)) "glm: biases of queries, keys, values" <<JSON
{"model_type": "glm", "head_dim": 8, $rest}
JSON
family $((2 * words + 100 + 2 * (4 * 32 * 32 + 4 * 32 + plain + 80 + 64) + 64)) "phi: biases everywhere" <<JSON
{"model_type": "phi", $(echo "$rest" | sed 's/"num_key_value_heads": 2/"num_key_value_heads": 4/')}
JSON
family $((words + 2 * (2 * 32 * 32 + 2 * 32 * 8 + 2 * 32 * 128 + 64) + 64)) "falcon: one key head" <<'JSON'
{"model_type": "falcon", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "vocab_size": 100}
JSON
family $((2 * words + 2 * (attn + 64 + 16 + 32 * 8 + 8 * 3 * 32 * 24) + 32)) "qwen3_moe" <<JSON
{"model_type": "qwen3_moe", "head_dim": 8, "num_experts": 8, "num_experts_per_tok": 2,
 "moe_intermediate_size": 24, $rest}
JSON
family $((2 * words + 2 * (attn + 64 + 32 + 4 + 64 + 32 * 4 + 4 + 4 * (3 * 32 * 48 + 2 * 48 + 32)) + 32)) \
    "gpt_oss: sinks, biases of router and experts" <<JSON
{"model_type": "gpt_oss", "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2,
 "quantization_config": {"quant_method": "mxfp4"}, $rest}
JSON
family $((2 * words + 2 * (attn + 16 + gated + 64) + 32)) "hunyuan: norms behind the positions" <<JSON
{"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 64, "factor": 1.0},
 "rope_theta": 4, $rest}
JSON
shardsim export --to jax "$tmp/family.yaml"
grep -q 'frequencies=10\(24\|23.99\)[0-9.]* ' "$tmp/out" # 4 * 64^(8 / 6)
ok $? "hunyuan: alpha stretches the base"
grep -q 'attn_q_norm_squares_.*_q_rope_' "$tmp/out"
ok $? "hunyuan: rotated queries are normalised"
family $((2 * words + 2 * (attn + 64) + gated + 32 * 8 + 8 * 3 * 32 * 24 + 2 * 3 * 32 * 24 + 32 + 2 * 16)) \
    "exaone_moe: a dense layer, then experts and two shared ones" <<JSON
{"model_type": "exaone_moe", "num_experts": 8, "num_experts_per_tok": 2, "num_shared_experts": 2,
 "moe_intermediate_size": 24, "sliding_window": null, "mlp_layer_types": ["dense", "sparse"], $rest}
JSON
# KDA: four matrices of all heads, convolutions, two times two low ones, beta, log, bias, norm.
kda=$((4 * 32 * 32 + 3 * 4 * 32 + 2 * (32 * 8 + 8 * 32) + 32 * 4 + 4 + 32 + 8))
latent=$((32 * 4 * 12 + 32 * 20 + 16 + 16 * 4 * 14 + 4 * 6 * 32))
kimi='"model_type": "kimi_linear", "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6, "kv_lora_rank": 16,
 "num_experts": 8, "num_experts_per_token": 2, "moe_intermediate_size": 16'
rest=$(echo "$rest" | sed 's/"num_key_value_heads": 2/"num_key_value_heads": 4/')
family $((2 * words + kda + latent + 2 * 64 + gated + 32 * 8 + 9 * 3 * 32 * 16 + 32)) \
    "kimi_linear: KDA and a dense layer, then MLA and experts with a shared one" <<JSON
{$kimi, "num_shared_experts": 1, "mla_use_nope": true, $rest,
 "linear_attn_config": {"kda_layers": [1], "full_attn_layers": [2], "num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4}}
JSON
shardsim run -q --json "$tmp/family.yaml" -s 'mesh={tp: 2}' -s 'axes={}' -s 'moe.routing=uniform' \
    -s "params=[['(mlp/(gate|up)|attn/(q|q_rope|k|v|gate|key|value|decay|beta))/kernel|attn/(q|key|value)/taps', [null, tp]],
        ['(mlp/down|attn/o)/kernel|attn/decay/(log|bias)', [tp]], [.*, []]]"
is 0 "kimi_linear over 2 devices: right"
shardsim plan "$tmp/family.yaml"
says out 'KDA in 1 layer' "kimi_linear: the report tells of KDA"

for place in '"rope_theta": 5000' '"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}'; do
    cat >"$tmp/based.json" <<JSON
{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100, $place}
JSON
    printf 'version: 1\nmesh: {dp: 1}\nmodel: {from: based.json}\nbatch: {size: 1, seq: 8}\nparams: [[.*, []]]\n' \
        >"$tmp/based.yaml"
    shardsim export --to jax "$tmp/based.yaml"
    grep -q 'frequencies=5000 .*interleaved=False' "$tmp/out"
    ok $? "the base of rope: $place"
done
tr '\n' ' ' <"$top_srcdir/docs/models.md" | grep -qF "$planned"
ok $? "docs/models.md: the models that can be planned"
refused choice "3:25: error: num_experts_per_tok: expected at most the number of experts" "too many choices" <<'JSON'
{"model_type": "mixtral", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100, "num_local_experts": 4,
 "num_experts_per_tok": 5}
JSON
refused choice "3:23: error: experts_per_token: expected at most the number of experts" "too many choices, by another name" <<'JSON'
{"model_type": "gpt_oss", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8,
 "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 100, "num_local_experts": 4,
 "experts_per_token": 5}
JSON
# deepseek NAME MESSAGE KEY VALUE: refuse the third version with one changed key, on a line of its
# own.
deepseek() {
    refused "$1" "6:$((${#3} + 6)): error: $2" "$1" <<JSON
$(sed "s/\"$3\": [^,}]*,* *//;s/, *}//;s/}//" "$tmp/deepseek3.json"),
 "$3": $4}
JSON
}
deepseek groups "n_group: expected a divisor of the number of experts" n_group 3
deepseek kept "topk_group: expected at most all groups" topk_group 5
deepseek dense "first_k_dense_replace: no layer is left for experts" first_k_dense_replace 2
deepseek score "scoring_func is 'hard'; expected softmax or sigmoid" scoring_func '"hard"'
deepseek method "topk_method is 'best'; expected greedy, group_limited_greedy or noaux_tc" \
    topk_method '"best"'
deepseek each_other "moe_layer_freq is '2'; expected 1: dense layers between" moe_layer_freq 2
deepseek odd "qk_rope_head_dim: expected an even number" qk_rope_head_dim 3
deepseek bias "attention_bias is 'true'; expected false: MLA with biases" attention_bias true
deepseek none "n_shared_experts is '-1'; expected a whole number from 0 to 1024" n_shared_experts -1

# same SIZE <JSON: the config of the published weights gives the same figures as `size: SIZE`.
same() {
    config "$1"
    shardsim plan --json -s model.scale=1/16 "$tmp/$1.yaml"
    is 0 "from $1: planned"
    cp "$tmp/out" "$tmp/from"
    sed "s/from: $1.json/size: $1/" "$tmp/$1.yaml" >"$tmp/size.yaml"
    shardsim plan --json -s model.scale=1/16 "$tmp/size.yaml"
    holds "from $1: the figures of size: $1" <<PY
a = json.load(open("$tmp/from", encoding="utf-8"))
for key in "memory flops collectives received_bytes experts".split():
    assert a[key] == r[key], key
PY
}
same mixtral-8x7b <<'JSON'
{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
 "num_experts_per_tok": 2, "rope_theta": 1000000.0, "rms_norm_eps": 1e-05, "hidden_act": "silu",
 "sliding_window": null, "router_aux_loss_coef": 0.02, "tie_word_embeddings": false}
JSON
# A value for each layer, all equal, is that value; of others the layer is told.
same mixtral-8x7b <<JSON
{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": [$(seq -s ', ' 32 | sed 's/[0-9][0-9]*/14336/g')],
 "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": [8, 8, 8], "vocab_size": 32000,
 "num_local_experts": 8, "num_experts_per_tok": [$(seq -s ', ' 32 | sed 's/[0-9][0-9]*/2/g')],
 "rope_theta": 1000000.0, "rms_norm_eps": 1e-05, "sliding_window": null, "tie_word_embeddings": [false, false]}
JSON
refused lists "3:27: error: num_experts_per_tok is '3' of layer 1 and '2' of layer 0; expected one value" "layers with other choices" <<'JSON'
{"model_type": "mixtral", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
 "intermediate_size": 48, "vocab_size": 100, "num_local_experts": 4,
"num_experts_per_tok": [2,3]}
JSON
same deepseek-v2-lite <<'JSON'
{"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
 "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16,
 "vocab_size": 102400, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
 "kv_lora_rank": 512, "q_lora_rank": null, "n_routed_experts": 64, "n_shared_experts": 2,
 "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
 "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
 "norm_topk_prob": false, "routed_scaling_factor": 1.0, "scoring_func": "softmax"}
JSON
same deepseek-v3 <<'JSON'
{"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
 "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
 "vocab_size": 129280, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
 "kv_lora_rank": 512, "q_lora_rank": 1536, "n_routed_experts": 256, "n_shared_experts": 1,
 "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
 "moe_layer_freq": 1, "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc",
 "norm_topk_prob": true, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid"}
JSON
refused sizes "1:1: error: 'n" "no sizes" <<'JSON'
{"model_type": "llama", "hidden_size": 32}
JSON
refused act "2:25: error: activation_function is 'tanhish'" "an activation" <<'JSON'
{"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4,
 "activation_function": "tanhish"}
JSON

# Widths of Mamba-2 that are none, and heads that there are not.
mamba='"model_type": "bamba", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48,
 "vocab_size": 100'
minimax='"model_type": "minimax_text_01", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
 "num_local_experts": 4, "intermediate_size": 48'
refused two_factors "3:35: error: layernorm_full_attention_alpha is 2, and layernorm_mlp_alpha is 3; expected one number" \
    "factors that differ" <<JSON
{$minimax,
"layernorm_full_attention_alpha": 2, "layernorm_mlp_alpha": 3}
JSON
refused few_flags "3:19: error: attn_type_list: expected a list of 2 numbers, 0 or 1" "too few kinds of attention" <<JSON
{$minimax,
"attn_type_list": [0]}
JSON
refused no_flags "1:1: error: 'attn_type_list' is missing" "no kinds of attention" <<JSON
{$minimax}
JSON
refused lightning_act "3:15: error: hidden_act is 'gelu'; expected silu: another activation of lightning attention is not modelled" "another activation" <<JSON
{$minimax, "attn_type_list": [0, 1],
"hidden_act": "gelu"}
JSON
# unlike NAME PLACE-AND-MESSAGE LAYERS MORE: a kimi_linear of two layers with these is refused.
unlike() {
    refused "$1" "$2" "$1" <<JSON
{$kimi, $rest,
"linear_attn_config": {"num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4,
$3},
$4}
JSON
}
kda_layers='"kda_layers": [1], "full_attn_layers": [2]'
unlike no_layer "4:23: error: layer 2 of 1 to 2 is neither in kda_layers nor in full_attn_layers" '"kda_layers": [1]' '"n_group": 1'
unlike two_kinds "5:44: error: linear_attn_config.full_attn_layers has '1'; expected a layer, 1 to 2, in one list alone" \
    '"kda_layers": [1, 2], "full_attn_layers": [1]' '"n_group": 1'
unlike no_list "5:15: error: linear_attn_config.kda_layers is '3'; expected a list of layers" \
    '"kda_layers": 3, "full_attn_layers": [1, 2]' '"n_group": 1'
unlike layer_0 "5:16: error: linear_attn_config.kda_layers has '0'; expected a layer, 1 to 2" '"kda_layers": [0, 1]' '"n_group": 1'
unlike lower_bound "5:21: error: linear_attn_config.gate_lower_bound is '-5'; expected null: decays of KDA with a bound" \
    "\"gate_lower_bound\": -5, $kda_layers" '"n_group": 1'
unlike full_gate "5:23: error: linear_attn_config.use_full_rank_gate is 'true'; expected false: gates of KDA by one matrix" \
    "\"use_full_rank_gate\": true, $kda_layers" '"n_group": 1'
unlike kda_act "6:15: error: hidden_act is 'gelu'; expected silu: another activation of KDA" "$kda_layers" '"hidden_act": "gelu"'
unlike kda_rope "6:17: error: mla_use_nope is 'false'; expected true: rotary positions beside KDA" "$kda_layers" '"mla_use_nope": false'
refused kda_heads "1:1: error: 'linear_attn_config.num_heads' is missing" "heads of KDA" <<JSON
{$kimi, $rest, "linear_attn_config": {"head_dim": 8, "short_conv_kernel_size": 4, $kda_layers}}
JSON
refused two_widths "1:1: error: num_heads times head_dim is 8192; expected expand times hidden_size, 1536" "states of two widths" <<JSON
{"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 2, "vocab_size": 512, "expand": 2}
JSON
refused no_width "3:19: error: mamba_n_heads: expected a divisor of mamba_expand times hidden_size" "heads of no width" <<JSON
{$mamba, "mamba_expand": 0,
 "mamba_n_heads": 4}
JSON
refused wide "3:19: error: mamba_n_heads: expected a divisor of mamba_expand times hidden_size" "heads too wide" <<JSON
{$mamba, "mamba_expand": 2147483647,
 "mamba_n_heads": 4}
JSON
refused few_factors "2:20: error: mlp_multipliers: expected a list of 2 numbers above 0" "factors of an mlp" <<JSON
{"model_type": "falcon_h1", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48,
"mlp_multipliers": [0.5], "vocab_size": 100, "mamba_n_heads": 4}
JSON
refused no_groups "3:20: error: mamba_n_groups: expected at least 1" "no groups" <<JSON
{$mamba, "mamba_n_heads": 4,
 "mamba_n_groups": 0}
JSON

# ---- a vocabulary that is cut ----

# With the vocabulary sharded over n devices, the embedding sums its rows over the devices.  For each
# token the loss reduces a maximum and a sum with the logit of the label, and the gradient of the
# head's operand is summed.  Logits are not communicated.
cat >"$tmp/vocab.yaml" <<'YAML'
version: 1
mesh: {tp: 4}
model: {kind: llama3, d_model: 16, d_ff: 32, heads: 2, vocab: 512}
batch: {size: 2, seq: 8}
YAML
for n in 2 4 8; do
    for tied in false true; do
        head='[head/kernel, [null, tp]],'
        [ $tied = true ] && head=
        shardsim run -q --json "$tmp/vocab.yaml" -s "mesh.tp=$n" -s "model.tied=$tied" \
            -s "params=[[embed/table, [tp]], $head [.*, []]]"
        is 0 "vocabulary over $n, tied $tied: right"
        holds "vocabulary over $n, tied $tied: bytes are the formula's" <<PY
n, tokens, width = $n, 2 * 8, 16
want = 2 * (n - 1) * 4 * (2 * tokens * width + 3 * tokens)
assert r["received_bytes"]["total"] == want, (r["received_bytes"], want)
PY
        holds "vocabulary over $n, tied $tied: nothing of the size of logits is sent" <<PY
tokens, vocab = 2 * 8, 512
for c in r["collectives"]:
    assert c["result_bytes"] < 4 * tokens * vocab // $n, c
PY
    done
done

# ---- states that are sharded by heads ----

# With as many groups as devices or more a layer of Mamba-2 sends as attention does: its output is
# summed, and the gradient of its input.  One group is on all devices: squares of its norm are summed
# and their gradient, and the gradients of b and c.
cat >"$tmp/mamba.yaml" <<'YAML'
version: 1
mesh: {tp: 4}
model: {kind: decoder, d_model: 32, d_ff: 64, layers: 2, heads: 4, kv_heads: 4, vocab: 64, layer_types: [mamba]}
linear: {value_heads: 8, key_dim: 6, value_dim: 5, taps_bias: true}
batch: {size: 2, seq: 16}
YAML
for n in 2 4; do
    for groups in 1 4; do
        keys='|b|c'
        [ $groups = 1 ] && keys=
        shardsim run -q --json "$tmp/mamba.yaml" -s "mesh.tp=$n" -s "linear.key_heads=$groups" \
            -s "params=[['mlp/(gate|up)/kernel|mamba/(x|z|dt$keys)/(kernel|taps)', [null, tp]],
                ['(mlp/down|mamba/o)/kernel|mamba/(dt/|skip|norm|(x$keys)/conv_bias)', [tp]], [.*, []]]"
        is 0 "Mamba-2 over $n devices, $groups groups: right"
        holds "Mamba-2 over $n devices, $groups groups: bytes are the formula's" <<PY
n, tokens, width, state, layers = $n, 2 * 16, 32, 6, 2
numbers = 4 * tokens * width + ((2 + 2 * state) * tokens if $groups == 1 else 0)
want = 2 * (n - 1) * 4 * numbers * layers
assert r["received_bytes"]["total"] == want, (r["received_bytes"], want)
PY
    done
done

# Beside attention, Mamba-2 is a part of the same sums.
shardsim run -q --json "$tmp/mamba.yaml" -s mesh.tp=4 -s linear.key_heads=4 -s 'model.layer_types=[full-mamba]' \
    -s "params=[['(mlp/(gate|up)|attn/(q|k|v))/kernel|mamba/(x|z|dt|b|c)/(kernel|taps)', [null, tp]],
        ['(mlp/down|attn/o|mamba/o)/kernel|mamba/(dt/|skip|norm|(x|b|c)/conv_bias)', [tp]], [.*, []]]"
is 0 "Mamba-2 beside attention over 4 devices: right"
holds "Mamba-2 beside attention over 4 devices: bytes are those of attention" <<PY
assert r["received_bytes"]["total"] == 2 * 3 * 4 * (4 * 2 * 16 * 32) * 2, r["received_bytes"]
PY

# KDA sends as attention does, and the gradients of what is between two matrices, of gates and of
# decays, and of the scale that all heads share.
for n in 2 4; do
    shardsim run -q --json "$tmp/mamba.yaml" -s "mesh.tp=$n" -s 'model.layer_types=[kda]' -s linear.taps_bias=false \
        -s linear.key_heads=8 \
        -s "params=[['(mlp/(gate|up)|attn/(q|gate|key|value|decay|beta))/kernel|attn/(q|key|value)/taps', [null, tp]],
            ['(mlp/down|attn/o)/kernel|attn/decay/(log|bias)', [tp]], [.*, []]]"
    is 0 "KDA over $n devices: right"
    holds "KDA over $n devices: bytes are the formula's" <<PY
n, tokens, width, rank, layers = $n, 2 * 16, 32, 5, 2
want = 2 * (n - 1) * 4 * (4 * tokens * width + 2 * tokens * rank + rank) * layers
assert r["received_bytes"]["total"] == want, (r["received_bytes"], want)
PY
done

# Lightning attention sends as attention does, and sums the squares of all heads' norm and their
# gradient.
for n in 2 4; do
    shardsim run -q --json "$tmp/mamba.yaml" -s "mesh.tp=$n" -s 'model.layer_types=[lightning]' \
        -s "params=[['mlp/(gate|up)/kernel|lightning/(q|k|v|gate)/kernel', [null, tp]],
            ['(mlp/down|lightning/o)/kernel|lightning/norm', [tp]], [.*, []]]"
    is 0 "lightning attention over $n devices: right"
    holds "lightning attention over $n devices: bytes are the formula's" <<PY
n, tokens, width, layers = $n, 2 * 16, 32, 2
want = 2 * (n - 1) * 4 * (4 * tokens * width + 2 * tokens) * layers
assert r["received_bytes"]["total"] == want, (r["received_bytes"], want)
PY
done

# ---- heads that are normalised ----

# Each layer has a scale of head_dim for queries and one for keys (layer norms also a shift), in
# float32, each with its gradient.
cat >"$tmp/heads.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
model: {kind: transformer, d_model: 16, d_ff: 32, layers: 3, heads: 4, kv_heads: 2, vocab: 32, rope: {}}
batch: {size: 4, seq: 8}
params: [['(q|k|v)/kernel', [null, tp]], [attn/o/kernel, [tp]], [.*, []]]
axes: {batch: dp}
YAML
shardsim plan --json "$tmp/heads.yaml" -s model.norm=layer
cp "$tmp/out" "$tmp/plain"
for vectors in 'layer 2' 'rms 1'; do
    shardsim run -q --json "$tmp/heads.yaml" -s "model.norm=${vectors% *}" -s model.qk_norm=true
    is 0 "heads by $vectors vectors each: right, sharded over tp"
    shardsim plan --json "$tmp/heads.yaml" -s "model.norm=${vectors% *}" -s model.qk_norm=true
    cp "$tmp/out" "$tmp/normed"
    shardsim plan --json "$tmp/heads.yaml" -s "model.norm=${vectors% *}"
    holds "heads by $vectors vectors each: gradients over tp and dp are those of them more" <<PY
import json
a = json.load(open("$tmp/normed"))["received_bytes"]["total"]
# q and k of 3 layers, vectors of head_dim 4, all-reduced over 4 devices by direct: 2 (n - 1) parts
want = r["received_bytes"]["total"] + 3 * 2 * ${vectors#* } * 4 * 4 * 2 * 3
assert a == want, (a, want)
PY
done
shardsim plan "$tmp/heads.yaml" -s mla.kv_rank=8 -s model.qk_norm=true
is 2 "compressed attention has no norms of heads"
says err 'MLA normalises its latent vectors, not heads' "it says why"

# ---- a text ----

i=0
while [ $i -lt 200 ]; do
    echo "the cat sat on the mat, and the dog sat by the cat; line $((i % 7))"
    i=$((i + 1))
done >"$tmp/text"
cat >"$tmp/text.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, heads: 2, vocab: 256}
batch: {size: 4, seq: 16}
data: text
step: [forward, backward, update]
steps: 40
optimizer: {kind: adamw, lr: 0.01, warmup: 4}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: one, mesh: {dp: 1}}
  - {name: dp}
  - {name: micro, batch: {microbatches: 2}}
YAML
shardsim show curves -q --json "$tmp/text.yaml"
is 0 "text: learned"
holds "text: the loss falls from that of even chances to far below, the same with every layout" <<'PY'
import math
for s in r:
    assert abs(s["losses"][0] - math.log(256)) < 0.5, s["losses"][0]
    assert s["losses"][-1] < 2, s["losses"]
    assert len(s["losses"]) == 40
    far = max(abs(a - b) for a, b in zip(s["losses"], r[0]["losses"]))
    assert far == s["distance"] < 1e-4, (s["strategy"], far)
PY
shardsim run -q --json -s steps=2 -S micro "$tmp/text.yaml"
is 0 "text: verified"
sed '/^params:/,$d' "$tmp/text.yaml" >"$tmp/experts.yaml"
cat >>"$tmp/experts.yaml" <<'YAML'
moe: {experts: 4, top_k: 2, d_ff: 32, aux_loss: 0.01}
axes: {batch: dp}
strategies:
  - {name: one, mesh: {dp: 1}, params: [[.*, []]]}
  - {name: experts, params: [['moe/(gate|up|down)/kernel', [dp]], [.*, []]]}
YAML
shardsim show curves -q --json "$tmp/experts.yaml"
is 0 "text, experts: learned"
holds "text, experts: the loss falls, the same where experts are cut until a roundoff decides" <<'PY'
for s in r:
    assert s["losses"][-1] < 2, s["losses"]
    assert abs(s["losses"][0] - r[0]["losses"][0]) < 1e-5
    for e in s["experts"]:
        assert not e["assumed"] and e["dropped"] == 0
        assert sum(e["rows_of_experts"]["each"]) == e["choices"] == 4 * 16 * 2, e
PY
shardsim show curves -q "$tmp/text.yaml" -s steps=3 -o "$tmp/curves.svg"
is 0 "curves: drawn"
python3 - "$tmp/curves.svg" <<'PY'
import sys, xml.dom.minidom as dom
page = dom.parse(sys.argv[1])
drawn = [p for p in page.getElementsByTagName("path") if p.getAttribute("class").startswith("k")]
lines = [p for p in drawn if p.getAttribute("fill") == "none" and "h" not in p.getAttribute("d")]  # keys are level
assert len(lines) == 3 + 2, len(lines) # losses, and differences from the first
words = [t.firstChild.data for t in page.getElementsByTagName("text")]
assert "loss: 3 of 3 lines coincide" in words and words.count("step") == 2, words
assert all(p.getAttribute("d").startswith("M") or not p.getAttribute("d") for p in lines)
assert len([l for l in lines[0].getAttribute("d").split("L")]) == 3
assert len({l.getAttribute("stroke-dasharray") for l in lines}) == 3 # and markers of a shape each
shapes = {n.getAttribute("class"): n.tagName for n in page.getElementsByTagName("circle") + drawn if n.getAttribute("fill") == "currentColor"}
assert sorted(shapes) == ["k0", "k1", "k2"] and shapes["k0"] == "circle", shapes
PY
ok $? "curves: a line of three steps for each strategy"
shardsim show curves -q "$tmp/llama.yaml"
is 2 "curves: of a scenario that does not train"
done_testing
