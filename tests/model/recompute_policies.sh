#!/bin/sh
# Tests recomputation as systems have it: by op, by MaxText's and Megatron's names, of layers counted
# in each stage.  What is computed again is counted where it is executed, and held to formulas of the
# products that a name leaves out.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/policies.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 4, heads: 4, kv_heads: 2, vocab: 64,
        dtype: float64}
batch: {size: 4, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: none}
  - {name: full, recompute: full}
  - {name: selective_op, recompute: selective_op}
  - {name: products, recompute: {keep: ['op:product', 'op:attention']}}
  - {name: minimal, recompute: minimal}
  - {name: minimal_with_context, recompute: minimal_with_context}
  - {name: context_but_mlp, recompute: save_dot_with_context_except_mlp}
  - {name: dots_but_mlp, recompute: save_dot_except_mlp}
  - {name: dots_but_mlpwi, recompute: save_dot_except_mlpwi}
  - {name: qkv, recompute: save_qkv_proj}
  - {name: out, recompute: save_out_proj}
  - {name: offloaded, recompute: minimal_offloaded}
  - {name: offloaded_qkv, recompute: qkv_proj_offloaded}
  - {name: minimal_out, recompute: minimal, offload: {activations: [attn/(q|k|v|o)$, mlp/(gate|up|down)$]}}
  - {name: qkv_out, recompute: save_qkv_proj, offload: {activations: [attn/(q|k|v)$]}}
  - {name: last-of-two, recompute: {every: 2, offset: 1}}
  - {name: mlp, recompute: {kind: selective, modules: [mlp]}}
  - {name: mlp-whole, recompute: {kind: selective, modules: [mlp], whole: true}}
  - {name: parts, recompute: {kind: selective, modules: [core_attn, layernorm, mlp]}}
YAML
shardsim run -q --json "$tmp/policies.yaml"
is 0 "policies: executed, numbers as without sharding"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/policies.yaml"
is 0 "policies: planned"
holds "executed: flops and peak memory as planned, losses the same" <<PY
executed = json.load(open("$tmp/executed"))
for p, s in zip(r, executed):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["flops"] == p["flops"], s["strategy"]
    assert s["training"]["losses"] == executed[0]["training"]["losses"], s["strategy"]
PY
cat >"$tmp/policies.py" <<PY
import json
s = {x["strategy"]: x["work"]["unsharded_flops"] for x in json.load(open("$tmp/executed"))}
tokens, h, kv, f, layers = 4 * 16, 32, 16, 64, 4
product = {name: layers * 2 * tokens * a * b
           for name, (a, b) in {"q": (h, h), "k": (h, kv), "v": (h, kv), "o": (h, h), "gate": (h, f),
                                "up": (h, f), "down": (f, h)}.items()}
def more(a, b, products):
    assert s[a] - s[b] == sum(product[p] for p in products.split()), (a, b, s[a] - s[b])
PY
holds "by op: every second product is done again, k, o and up" <<PY
exec(open("$tmp/policies.py").read())
more("selective_op", "products", "k o up")
PY
holds "by MaxText's names: the products that a policy leaves out" <<PY
exec(open("$tmp/policies.py").read())
more("dots_but_mlp", "minimal", "gate up")
more("context_but_mlp", "minimal_with_context", "gate up")
more("dots_but_mlp", "dots_but_mlpwi", "")          # what ends a layer is not read again
more("qkv", "dots_but_mlp", "o")
more("full", "qkv", "q k v")
more("full", "out", "o")
PY
holds "by MaxText's names: what is kept waits in the host's memory" <<PY
exec(open("$tmp/policies.py").read())
host = {x["strategy"]: x["host"]["to_host_bytes"] for x in json.load(open("$tmp/executed")) if x.get("host")}
more("minimal", "offloaded", "")
more("qkv", "offloaded_qkv", "")
assert host["offloaded"] == host["minimal_out"] and host["offloaded_qkv"] == host["qkv_out"], host
# 8 bytes an element of two devices; what ends a layer is not read again
assert host["offloaded"][0] - host["offloaded_qkv"][0] == layers * tokens // 2 * 8 * (h + 2 * f), host
PY
holds "by parts: the mlp of each layer, as a whole with the product that ends it" <<PY
exec(open("$tmp/policies.py").read())
more("mlp-whole", "mlp", "down")
assert s["mlp"] - s["none"] > product["gate"] + product["up"]
assert s["parts"] > s["mlp"]
assert (s["last-of-two"] - s["none"]) * 2 == s["full"] - s["none"]
PY

# Products keep their results in whatever type they are multiplied: by each recipe the same are done again.
for recipe in tensorwise rowwise blockwise mxfp8 nvfp4; do
    shardsim plan --json -s model.dtype=bfloat16 -s products.recipe=$recipe -s products.block=8 -s products.amax=all \
        "$tmp/policies.yaml"
    cp "$tmp/out" "$tmp/rounded"
    holds "$recipe: the products of a policy are kept as without rounding" <<PY
exec(open("$tmp/policies.py").read())
wide = s
s = {x["strategy"]: x["work"]["unsharded_flops"] for x in json.load(open("$tmp/rounded"))}
more("selective_op", "products", "k o up")
for name in "full", "minimal", "selective_op":
    assert s[name] - s["none"] == wide[name] - wide["none"], name
PY
done

# Held, the product that ends a layer takes memory from its forward phase on, though nobody reads it.
cat >"$tmp/hold.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 4, heads: 4, kv_heads: 2, vocab: 16,
        dtype: float64}
batch: {size: 4, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: compiled, recompute: selective_op}
  - {name: held, recompute: {kind: selective_op, hold: true}}
  - {name: all, recompute: {keep: ['op:product', 'op:attention'], hold: true}}
  - {name: microbatches, recompute: {kind: selective_op, hold: true}, batch: {microbatches: 2}}
YAML
shardsim run -q --json "$tmp/hold.yaml"
is 0 "held results: executed"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/hold.yaml"
holds "held results: memory as planned, one array of the width a layer more" <<PY
executed = json.load(open("$tmp/executed"))
for p, s in zip(r, executed):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["flops"] == p["flops"], s["strategy"]
peak = {s["strategy"]: s["memory"]["peak_bytes"][0] for s in executed}
rows, layers = 4 // 2 * 64, 4
# at the peak the last layer is being computed again
assert peak["held"] - peak["compiled"] == (layers - 1) * rows * 32 * 8, peak
PY

# Sums of tensor parallelism are kept by op, so that no all-reduce is done again.
cat >"$tmp/sums.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 2, heads: 4, kv_heads: 2, vocab: 64}
batch: {size: 4, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
params:
  - [attn/(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/(gate|up)/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
axes: {batch: dp}
constraints: [[out$, [dp]]]
strategies:
  - {name: none}
  - {name: op, recompute: selective_op}
  - {name: without-sums, recompute: {keep: ['op:product/2', 'op:attention']}}
YAML
shardsim run -q --json "$tmp/sums.yaml"
is 0 "by op, with tensor parallelism: executed"
holds "sums over devices are kept, and made again where they are not named" <<'PY'
def sums(s):
    return sum(c["count"] for c in s["collectives"] if c["axes"] == ["tp"])
n = {s["strategy"]: sums(s) for s in r}
assert n["op"] == n["none"] and n["without-sums"] == n["none"] + 2, n
PY

shardsim plan --json -s products.recipe=tensorwise "$tmp/sums.yaml"
holds "sums of rounded products, too" <<'PY'
def sums(s):
    return sum(c["count"] for c in s["collectives"] if c["axes"] == ["tp"] and c["op"] == "all-reduce" and "amax" not in c["why"])
n = {s["strategy"]: sums(s) for s in r}
assert n["op"] == n["none"] and n["without-sums"] == n["none"] + 2, n
PY

# torchtitan's list has all-to-alls and no products of experts.
cat >"$tmp/experts.yaml" <<'YAML'
version: 1
mesh: {dp: 2, ep: 2}
model: {kind: transformer, d_model: 32, d_ff: 48, layers: 2, heads: 4, vocab: 64, activation: swiglu, norm: rms}
moe: {experts: 4, top_k: 2, shared: 1, routing: uniform}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: sgd}
axes: {batch: [dp, ep]}
params: [['moe/(up|gate|down)/kernel', [ep]], [.*, []]]
strategies:
  - {name: none}
  - {name: full, recompute: full}
  - {name: op, recompute: selective_op}
  - {name: without-exchanges, recompute: {keep: ['op:dense/2', 'op:attention', 'op:sum', 'op:choice']}}
  - {name: with-experts, recompute: {keep: ['op:product', 'op:attention', 'op:exchange']}}
  - {name: dense, recompute: {keep: ['op:dense', 'op:attention', 'op:exchange']}}
  - {name: replicated, recompute: selective_op, params: [[.*, []]]}
  - {name: replicated-dense, recompute: {keep: ['op:dense/2', 'op:attention']}, params: [[.*, []]]}
  - {name: coded, recompute: selective_op, products: {recipe: mxfp8, block: 8, dispatch: true}}
  - {name: coded-full, recompute: full, products: {recipe: mxfp8, block: 8, dispatch: true}}
tolerance: 0.05
YAML
shardsim run -q --json "$tmp/experts.yaml"
is 0 "experts, by op: executed, numbers as without sharding"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/experts.yaml"
holds "experts: bytes and memory as planned" <<PY
for p, s in zip(r, json.load(open("$tmp/executed"))):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["received_bytes"]["total"] == p["received_bytes"]["total"], s["strategy"]
PY
holds "experts: by op rows travel as often as without recomputation, and else again" <<'PY'
n = {s["strategy"]: sum(c["count"] for c in s["collectives"] if c["op"] == "all-to-all-v") for s in r}
assert n["op"] == n["none"] == n["dense"], n
assert n["without-exchanges"] == n["full"] > n["none"], n
assert n["coded"] < n["coded-full"], n
PY
holds "experts: their products are done again by op, and kept as op:product" <<'PY'
s = {x["strategy"]: x for x in r}
flops = {name: x["work"]["unsharded_flops"] for name, x in s.items()}
rows, layers, shared_and_attention = 2 * 8 * 16, 2, {"up", "gate"}
experts = layers * 2 * rows * 32 * 48 * len(shared_and_attention)   # what ends a layer is not read again
assert flops["dense"] - flops["with-experts"] == experts, (flops, experts)
assert s["replicated"]["memory"]["peak_bytes"] == s["replicated-dense"]["memory"]["peak_bytes"]
assert flops["replicated"] == flops["replicated-dense"], flops
PY

# Latent attention: torchtitan's wq, wkv_a, wkv_b and wo are one product each, of which the first
# and the third are kept, and of the dense mlp the first and the last, which is not read again.
cat >"$tmp/latent.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: deepseek, d_model: 32, d_ff: 64, layers: 2, heads: 4, head_dim: 8, vocab: 64}
mla: {kv_rank: 16, rope_dim: 4, value_dim: 8}
batch: {size: 4, seq: 16}
step: [forward, backward, update]
optimizer: {kind: sgd}
axes: {batch: [dp]}
params: [[.*, []]]
strategies:
  - {name: by-op, recompute: {keep: ['op:dense/2']}}
  - {name: full, recompute: full}
  - {name: queries, mla: {q_rank: 12, kv_rank: 16, rope_dim: 4, value_dim: 8}, recompute: {keep: ['op:dense/2']}}
  - {name: queries-by-name, mla: {q_rank: 12, kv_rank: 16, rope_dim: 4, value_dim: 8},
     recompute: {keep: ['attn/(q_latent|kv_latent|k_rope|o)$', 'mlp/gate$']}}
  - {name: states, model: {rope: null, layer_types: [kda, full-plain]}, linear: {key_dim: 8, value_dim: 8},
     recompute: {keep: ['op:dense/2']}}
  - {name: states-full, model: {rope: null, layer_types: [kda, full-plain]}, linear: {key_dim: 8, value_dim: 8},
     recompute: full}
YAML
shardsim plan --json "$tmp/latent.yaml"
is 0 "latent attention, by op"
holds "latent attention: parts of one matrix are one product" <<'PY'
s = {x["strategy"]: (x["work"]["unsharded_flops"], x["memory"]["peak_bytes"]) for x in r}
assert s["queries"] == s["queries-by-name"], s
tokens, layers, q, k_and_v, up = 4 * 16, 2, 32 * 4 * (8 + 4), 16 * 4 * (8 + 8), 32 * 64
assert s["full"][0] - s["by-op"][0] == layers * 2 * tokens * (q + k_and_v + up), s
# KDA: gate_in, q, key, value, decay, gate, with their convolutions between them.
kda = 32 * 8 + 3 * 32 * 4 * 8 + 2 * 8 * 4 * 8
assert s["states-full"][0] - s["states"][0] == 2 * tokens * (kda + up + q + k_and_v + up), s
PY

# Megatron's block and uniform count layers in each stage.
cat >"$tmp/stages.yaml" <<'YAML'
version: 1
mesh: {pp: 2}
model: {kind: mlp, d_model: 16, d_ff: 32, layers: 12}
batch: {size: 4, seq: 8, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
pipeline: {axis: pp, schedule: Interleaved1F1B, layers: [3, 3, 3, 3]}
strategies:
  - {name: none}
  - {name: all, recompute: full}
  - {name: block, recompute: {first: 1, count: stage}}
  - {name: block-of-model, recompute: {first: 1}}
  - {name: uniform, recompute: {group: 2, count: stage, whole: true}}
  - {name: uniform-of-model, recompute: {group: 2, whole: true}}
YAML
shardsim run -q --json "$tmp/stages.yaml"
is 0 "layers of stages: executed"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/stages.yaml"
holds "layers of stages: one of three in each, and memory as planned" <<PY
executed = json.load(open("$tmp/executed"))
for p, s in zip(r, executed):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["flops"] == p["flops"], s["strategy"]
again = {s["strategy"]: s["work"]["unsharded_flops"] for s in executed}
again = {name: flops - again["none"] for name, flops in again.items()}
assert again["block"] * 3 == again["all"] and again["block-of-model"] * 12 == again["all"], again
assert again["uniform"] > again["all"], again   # the last product of each layer of a pair's first, too
PY

cat >"$tmp/sums.yaml" <<'YAML'
version: 1
mesh: {tp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 4, heads: 4, vocab: 64, dtype: float64}
batch: {size: 4, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [['(q|k|v|gate|up)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
lora: {rank: 2, targets: [kernel]}
recompute: full
strategies:
  - {name: full}
  - {name: sums, recompute: {keep: ['op:sum']}}
  - {name: full-packed, lora: {base: int8}}
  - {name: sums-packed, lora: {base: int8}, recompute: {keep: ['op:sum']}}
YAML
shardsim run -q --json "$tmp/sums.yaml"
is 0 "sums beside adapters: executed, numbers as without sharding"
holds "sums beside adapters are kept: the backward phase repeats none of attention's" <<'PY'
full, sums, packed, packed_sums = (s["received_bytes"]["by_phase"]["backward"] for s in r)
assert full - sums == packed - packed_sums >= 2 * 4 * (4 * 16 * 32 * 8), (full, sums, packed, packed_sums)
PY

# A search tries what the scenario says beside its own words.
shardsim search --json --range pp=1 --devices 2 -s hardware=h100-sxm -s recompute=selective_op \
    -s model.dtype=bfloat16 --range recompute=given -S none "$tmp/policies.yaml"
is 0 "searched with a policy"
shardsim search --devices 2 -s hardware=h100-sxm -s recompute.every=2 -S none "$tmp/policies.yaml"
is 2 "not searched with layers that differ"
grep -q "search needs equal recomputation of all layers" "$tmp/err"
ok $? "which is said"

refuses() {
    shardsim plan -s "recompute=$1" "$tmp/policies.yaml"
    is 2 "refused: $1"
    said "$2"
}
said() {
    grep -q "$1" "$tmp/err"
    ok $? "and says: $1"
}
refuses "{keep: ['op:matmul']}" "expected op:product"
refuses "['op:product']" "ops are accepted in recompute.keep only"
refuses "{kind: selective, modules: [moe]}" "the model has no 'moe'"
refuses "{kind: full, modules: [mlp]}" "modules need kind selective"
refuses "{every: 2, offset: 2}" "expected a smaller offset"
done_testing
