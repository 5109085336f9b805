#!/bin/sh
# Tests shardsim show tree on a small model: output, warnings, exit status and JSON.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}" "${top_builddir:=.}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
shardsim=$(cd "$top_builddir" && pwd)/shardsim

cd "$dir" || exit 1
cat >model.yaml <<'END'
embed: [1024, 512]
layers.0.mlp.up: {shape: [512, 2048], dtype: bfloat16}
layers.0.norm: [512]
head: [512, 1024]
END
cat >rules.yaml <<'END'
- [embed, [tp, null]]
- ['mlp\.up', [dp, tp]]
- [norm, []]
- [lora, [dp]]
- [norm$, [dp]]
- [.*, []]
END

# has STATUS PATTERN TEXT: the last run had this status, and a line of its output matches.
has() {
    [ "$status" -eq "$1" ] && grep -q -e "$2" out
    result=$?
    ok $result "$3"
    [ $result -eq 0 ] || { echo "status $status"; cat out; } | diag
}

# run ARGUMENT...: run show tree, with all its output in `out`.
run() {
    "$shardsim" show tree "$@" >out 2>&1
    status=$?
}

run model.yaml --rules rules.yaml --mesh dp=2,tp=4
has 0 '^embed  *float32  *(1024, 512)  \[tp, null\]  *(256, 512)  *512 KiB  embed$' \
    "a parameter, its spec, shard, bytes and rule"
has 0 '^layers.0.mlp.up  *bfloat16  *(512, 2048)  \[dp, tp\]  *(256, 512)  *256 KiB  mlp' \
    "another type"
has 0 '^4 arrays, 2.10 M parameters, 6.00 MiB in total$' "totals"
has 0 '(8 devices): 2.75 MiB at most on a device, balance 1.000$' "memory and balance"
has 0 "^warning: rules.yaml:4: rule 'lora' matches no parameter$" "a rule that matches nothing"
has 0 "^warning: rules.yaml:5: rule 'norm\\$' is never reached" "a rule that others hide"
has 0 "^warning: 'head' of 2.00 MiB is replicated on every device$" "a large array left whole"
[ "$(grep -c '^warning' out)" -eq 3 ]
ok $? "no other warning"

run model.yaml --rules rules.yaml --mesh dp=2,tp=4 --large 4MiB
! grep -q 'is replicated on every device' out
ok $? "--large says what large is"
run model.yaml --rules rules.yaml --mesh dp=1,tp=1
! grep -q 'is replicated on every device' out
ok $? "one device: no warning of replicated arrays"
run model.yaml --rules rules.yaml --mesh dp=2,tp=4 --min-elements 1000000
has 0 '^embed  *float32  *(1024, 512)  \[\]' "--min-elements keeps smaller arrays whole"
run model.yaml --rules rules.yaml --mesh dp=3,tp=4
has 1 "'layers.0.mlp.up' is not divisible by its axes" "an array that does not divide"
run model.yaml --auto --mesh fsdp=2,tp=4
has 0 '^head  .* auto$' "by shapes alone"
run model.yaml --auto --mesh fsdp=2,tp=4 --json
cp out auto.json
printf 'version: 1\nmesh: {dp: 8}\nrules: auto\n' >auto.yaml
run model.yaml --rules auto.yaml --mesh fsdp=2,tp=4 --json
[ "$status" -eq 0 ] && cmp -s out auto.json
ok $? "rules: auto of a scenario is the same"
printf 'rules: auto\nparams: [[a, []]]\n' >auto.yaml
run model.yaml --rules auto.yaml --mesh fsdp=2,tp=4
has 2 '^auto.yaml:1:8: error: both rules: auto and 1 rules in params' "a scenario with both"
cat >named.yaml <<'END'
partition_axis: {tensor_parallel: model}
params:
  - [embed, [vocab, _]]
  - ['mlp\.up', [batch, mlp_intermediate]]
  - [.*, []]
END
run model.yaml --rules named.yaml --mesh dp=2,fsdp=2,model=4
has 0 '^embed  .*\[model, null\]  *(256, 512)  *512 KiB  embed$' "a spec by the meaning of dimensions"
has 0 '^layers.0.mlp.up  .*\[\[fsdp, dp\], model\]  *(128, 512)' "several axes of one meaning"
run model.yaml --rules named.yaml --mesh dp=2,model=4
has 2 "^named.yaml:4:17: error: axis 'fsdp' is not in the mesh" "a meaning that the mesh has no axis for"
sed 's/tensor_parallel/tensor_paralel/' named.yaml >bad.yaml
run model.yaml --rules bad.yaml --mesh dp=2,fsdp=2,model=4
has 2 "^bad.yaml:1:18: error: unknown key .*did you mean 'tensor_parallel'" "a meaning misspelt"
run model.yaml --rules rules.yaml --mesh dp=2
has 2 "^rules.yaml:1:11: error: axis 'tp' is not in the mesh" "an axis that is not in the mesh"
echo '[[embed, [dp]], [mlp, [' >bad.yaml
run model.yaml --rules bad.yaml --mesh dp=2
has 2 '^bad.yaml:' "a rules file that is no YAML"
echo '[[embed, [dp]], ["(", []]]' >bad.yaml
run model.yaml --rules bad.yaml --mesh dp=2
has 2 '^bad.yaml:1:18: error: ' "a pattern that does not compile"
cat >bad.yaml <<'END'
- [embed, []]
- ['^([a-z/.]|[^A]|[a-z0-9/.]|.)+\.nor[m]?[^m]$', []]
- [.*, []]
END
echo 'layers.with.a.long.name.0.norm: [512]' >long.yaml
run long.yaml --rules bad.yaml --mesh dp=2
has 2 "^bad.yaml:2:4: error: .* in 'layers.with.*: the pattern went over its match limit" \
    "a pattern without end"
{ echo '- [.*, []]' && sed -n 2p bad.yaml; } >late.yaml
run long.yaml --rules late.yaml --mesh dp=2
has 2 '^late.yaml:2:4: error: .*the pattern went over its match limit' \
    "a pattern without end behind the rule that wins"
echo '[[embed, [dp]]]' >bad.yaml
run model.yaml --rules bad.yaml --mesh dp=2
has 2 "no rule matches 'head'" "a parameter without a rule"
run nowhere --rules rules.yaml --mesh dp=2,tp=4
has 2 '^nowhere' "a model that is not there"
run model.yaml --mesh dp=2,tp=4
has 2 'either --rules FILE or --auto' "neither rules nor --auto"
run model.yaml --rules rules.yaml --mesh dp=0
has 2 'at least 1' "a bad mesh"

echo '{"model_type": "gpt2"}' >config.json
run . --auto --mesh dp=2,tp=4
has 0 '^148 arrays, 124 M parameters' "a directory with a config.json"

# Every model_type that plans know, with all traits that a config can have: the arrays have as many
# elements as the parameters of a plan.
if command -v python3 >/dev/null; then
    python3 - "$shardsim" >out 2>&1 <<'END'
import json, math, re, subprocess, sys

SIZES = dict(
    hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=48,
    vocab_size=100, n_embd=32, n_layer=2, n_head=4, d_model=32, num_layers=2, num_heads=4, d_kv=16, d_ff=48, n_positions=64,
    qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=6, kv_lora_rank=16, n_routed_experts=4, num_experts=4, num_local_experts=4,
    moe_num_experts=4, num_experts_per_tok=2, moe_topk=2, moe_k=2, moe_intermediate_size=16, intermediate_size_mlp=48,
    n_shared_experts=1, num_shared_experts=1, num_shared_expert=1, moe_num_shared_experts=1, shared_intermediate_size=16,
    shared_expert_intermediate_size=16, mamba_n_heads=8, mamba_d_state=12, attn_layer_indices=[1], first_k_dense_replace=1, n_group=1, topk_group=1, num_kv_heads=2)
BASIC = dict(num_nextn_predict_layers=1, q_lora_rank=12, mlp_layer_types=["dense", "sparse", "sparse"])
TRAITS = dict(attention_bias=True, mlp_bias=True, use_bias=True, bias=True, qkv_bias=True, use_qkv_bias=True, use_qk_norm=True,
              qk_layernorm=True, use_post_norm=True, new_decoder_architecture=True, tie_word_embeddings=False,
              feed_forward_proj="gated-gelu", q_lora_rank=None)
LESS = {"llama4_text": dict(num_experts_per_tok=1), "stablelm": dict(qk_layernorm=False),
        "nemotron_h": dict(hybrid_override_pattern="M-*E", mamba_num_heads=8, mamba_head_dim=6, ssm_state_size=4, n_groups=2,
                           num_nextn_predict_layers=0, use_bias=False),
        "mamba2": dict(num_heads=8, state_size=6, n_groups=2, use_bias=False),
        "minimax": dict(layer_types=["linear_attention", "full_attention", "linear_attention"]),
        "minimax_text_01": dict(attn_type_list=[0, 1, 0], shared_intermediate_size=0),
        "minimax_m1": dict(attn_type_list=[0, 0, 1], shared_intermediate_size=0),
        "kimi_linear": dict(layer_types=["linear_attention", "full_attention", "linear_attention"], linear_num_heads=8,
                            linear_head_dim=6, linear_conv_kernel_dim=3, num_nextn_predict_layers=0),
        "falcon_h1": dict(mamba_d_ssm=64, attention_bias=False, attn_layer_indices=None),
        "lfm2": dict(layer_types=["conv", "full_attention", "conv"])}
MLA = "deepseek_v2 deepseek_v3 kimi_k2 kimi_linear sarvam_mla glm4_moe_lite youtu".split()

def shardsim(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True)

def config(values):
    open("type.json", "w").write(json.dumps(values))

open("type.yaml", "w").write("version: 1\nmesh: {dp: 1}\nmodel: {from: type.json}\nbatch: {size: 1, seq: 16}\n"
                             "params: [[.*, []]]\n")
config({"model_type": "none"})
types = re.search("supported types are (.*)", shardsim("plan", "type.yaml").stderr).group(1)
types = types.replace(" and ", ", ").split(", ")
for t in types:
    for more in BASIC, TRAITS:
        values = dict(SIZES, model_type=t, **more)
        values.update(LESS.get(t, {}))
        if t in MLA:
            values.update(attention_bias=False, num_key_value_heads=4)
        config(values)
        plan, tree = shardsim("plan", "--json", "type.yaml"), shardsim("show", "tree", "type.json", "--auto", "-m", "tp=1", "--json")
        if plan.returncode or tree.returncode:
            print(t, plan.stderr[:200], tree.stderr[:200])
            continue
        want = json.loads(plan.stdout)["memory"]["by_kind"]["parameters"]
        have = 4 * sum(math.prod(p["shape"]) for p in json.loads(tree.stdout)["parameters"])
        if want != have:
            print(t, want, have)
print(len(types), "types")
END
    [ "$(grep -c . out)" -eq 1 ] && [ "$(sed 's/ types//' out)" -gt 60 ]
    result=$?
    ok $result "config.json of every model_type: as many elements as a plan has parameters"
    [ $result -eq 0 ] || diag <out
else
    skip "config.json of every model_type" "no python3"
fi

run model.yaml --rules rules.yaml --mesh dp=2,tp=4 --json
has 0 '"device_bytes": 2885632' "JSON has the exact bytes"
has 0 '"spec": \["dp", "tp"\]' "JSON has specs"
if command -v python3 >/dev/null; then
    python3 -c 'import json; d = json.load(open("out")); w = d["parameters"]
assert sum(p["device_bytes"] for p in w) == d["totals"]["device_bytes"]
assert sum(r["parameters"] for r in d["rules"]) == len(w) == 4 and len(d["warnings"]) == 3'
    ok $? "JSON adds up"
else
    skip "JSON adds up" "no python3"
fi

done_testing
