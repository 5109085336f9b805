#!/bin/sh
# Tests search: layouts that another system can say are exported to it; the written scenario has what
# differs from defaults alone; what a proof is of is told.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/small.yaml" <<'YAML'
version: 1
name: small
hardware: h100-sxm
mesh: {dp: 8}
model: {kind: llama3, d_model: 1024, d_ff: 4096, layers: 4, heads: 16, kv_heads: 8, vocab: 51200, dtype: bfloat16}
batch: {size: 16, seq: 8192, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
types: {parameters: float32, gradients: float32}
params: [['.*', []]]
axes: {batch: dp}
YAML
# More than one device has to share a replica, so that what the systems cannot say would be the best.
few='--range order=pp-dp-cp-tp --range dp=1..4 --range microbatch=1 --range virtual=1'

# The ranges are meant to be split into words.
# shellcheck disable=SC2086
for system in megatron torchtitan deepspeed jax pytorch; do
    shardsim search "$tmp/small.yaml" -q --json --for $system $few --top 2 -o "$tmp/$system.yaml"
    is 0 "$system: found"
    python3 - "$tmp/out" $system <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["for"] == sys.argv[2] and r["exact"] and len(r["best"]) == 2
assert all("refused" != p["state"] for p in r["best"])
PY
    ok $? "$system: a proof of what it can say"
    shardsim export --to $system "$tmp/$system.yaml"
    is 0 "$system: the best is exported"
    [ "$(grep -c . "$tmp/$system.yaml")" -le 26 ]
    ok $? "$system: what is written has few lines"
done
# shellcheck disable=SC2086
shardsim search "$tmp/small.yaml" -q --json --for torchtitan $few --range zero=1
is 1 "torchtitan has no ZeRO 1"
# shellcheck disable=SC2086
COLUMNS=120 shardsim search "$tmp/small.yaml" -q --for torchtitan $few --range zero=1
says out '^best  *none: torchtitan can express none of [0-9]* layouts: torchtitan has no ZeRO 1' "and says so"

# What code in one program leaves out with a comment is no layout that a search for it has.
for system in jax pytorch; do
    COLUMNS=120 shardsim search "$tmp/small.yaml" -q --for $system --range pp=2 --range tp=1 --range cp=1
    is 1 "$system has no pipeline"
    says out "none: $system can express none of [0-9]* layouts: code for $system has no pipeline stages" "and says so"
done

# What a system has of a model depends on all its layers, and layouts are judged by a few.
cat >"$tmp/flavor.yaml" <<'YAML'
version: 1
name: flavor
hardware: h100-sxm
mesh: {dp: 8}
model: {size: qwen3-0.6b, dtype: bfloat16}
batch: {size: 16, seq: 4096, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
types: {parameters: float32, gradients: float32}
params: [['.*', []]]
axes: {batch: dp}
YAML
shardsim search "$tmp/flavor.yaml" -q --json --for torchtitan --range order=pp-dp-cp-tp --range tp=1 --range pp=1 --range cp=1 \
    --range microbatch=1 --range recompute=full --range zero=3 --top 1 -o "$tmp/flavor.best.yaml"
is 0 "torchtitan: a published model that is no llama3"
shardsim export --to torchtitan "$tmp/flavor.best.yaml"
says out '^flavor = "0.6B"' "is exported by its flavor"

# What no layout changes is told before any is searched, with the option and who may say it.
shardsim search "$tmp/small.yaml" -q --for megatron -s fused.loss_chunks=4
is 2 "a loss that Megatron-LM lacks"
says err 'megatron can express no layout .*expected fused.loss_chunks 1; or search --for deepspeed, jax or pytorch$' \
    "names the option and the systems that may"
shardsim search "$tmp/small.yaml" -q --for vllm
is 2 "training for a server"
says err '--for vllm requires --serve: vllm is for serving steps$' "names --serve"
# What layouts' scenarios say is read before bounds: without pieces and plans.
COLUMNS=200 shardsim search "$tmp/small.yaml" -q --for deepspeed -s 'products={recipe: rowwise, amax: local}'
is 1 "types that DeepSpeed lacks"
says out '^best  *none: deepspeed can express none of [0-9]* layouts: DeepSpeed does not support .*expected products.recipe none' "says so"
says out '^  pieces  *0 in' "bounds nothing"
says out '^  refused  *[0-9]*: DeepSpeed does not support' "counts the reason"
# shellcheck disable=SC2086
shardsim search "$tmp/small.yaml" -q --json --for torchtitan $few --range recompute=none..selective --range tp=2 --range pp=1
is 0 "some recomputation that torchtitan lacks"
python3 - "$tmp/out" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["inexpressible"] == r["layouts"] > 0, (r["inexpressible"], r["layouts"])
assert all(p["layout"]["recompute"] == "none" for p in r["planned"])
n = [x["layouts"] for x in r["refusals"]]
assert n == sorted(n, reverse=True) and sum(n) == r["refused"], n
assert any(x["layouts"] >= r["inexpressible"] and "attention alone" in x["because"] for x in r["refusals"])
PY
ok $? "is left out before bounds, and told, the commonest reason first"

shardsim search "$tmp/small.yaml" -q --for torch
is 2 "a system without exports"
says err "no target 'torch'; expected deepspeed, jax, megatron, pytorch, sglang, torchtitan or vllm" "which there are"

# A server's order has data parallelism outermost, and so has none of both axes here.
cat >"$tmp/serve.yaml" <<'YAML'
version: 1
name: serve
hardware: h100-sxm
mesh: {tp: 2, dp: 2}
model: {size: llama3.2-1b, dtype: bfloat16}
limits: {memory: 90%, sequences: 64}
step: [decode]
decode: {tokens: 32}
batch: {size: 4, seq: 4064}
axes: {batch: dp}
params:
  - ['(attn/(q|k|v)|mlp/(gate|up)|head)/kernel', [null, tp]]
  - ['(attn/o|mlp/down)/kernel|embed/table', [tp]]
  - ['.*', []]
YAML
shardsim search "$tmp/serve.yaml" -q --json --serve
is 0 "serving: for no system"
cp "$tmp/out" "$tmp/any.json"
for system in vllm sglang; do
    shardsim search "$tmp/serve.yaml" -q --json --serve --for $system -o "$tmp/$system.yaml"
    is 0 "serving, $system: found"
    python3 - "$tmp/any.json" "$tmp/out" $system <<'PY'
import json, sys
any, r = (json.load(open(x)) for x in sys.argv[1:3])
assert r["for"] == sys.argv[3] and "for" not in any
assert any["meshes"] == r["meshes"] == 3 and any["refused"] == 0 and r["refused"] == r["inexpressible"] == 1
[why] = r["refusals"]
assert why["layouts"] == 1 and "'tp' is outside the batch axes in `mesh`" in why["because"], why
def said(l):
    return l["mesh"] != "tp=2, dp=2"
assert not all(map(said, any["layouts"]))
wanted = [(l["mesh"], l["batch"], l["within"]) for l in any["layouts"] if said(l)]
assert sorted((l["mesh"], l["batch"], l["within"]) for l in r["layouts"]) == sorted(wanted) and wanted
PY
    ok $? "serving, $system: all that it can say, and no more"
    grep -q "^software: $system$" "$tmp/$system.yaml"
    ok $? "serving, $system: the best names it"
    shardsim export --to $system "$tmp/$system.yaml"
    is 0 "serving, $system: the best is exported"
done
shardsim search "$tmp/serve.yaml" -q --serve --for vllm
says out '^without     1 mesh not possible for the model or vllm: ' "serving: what is left out is told"
shardsim search "$tmp/serve.yaml" -q --serve --for vllm -s 'mesh={tp: 4}' -s 'axes={}' \
    -s 'params=[["mlp/(gate|up)/kernel", [null, tp]], [mlp/down/kernel, [tp]], [.*, []]]'
is 1 "serving: no mesh that the system can say"
says out '^best        none: vllm can express none of 1 mesh: vLLM' "and says so"
shardsim search "$tmp/serve.yaml" -q --serve --apart --for vllm -o "$tmp/apart.yaml"
is 0 "serving apart: found"
tr -s '\n ' ' ' <"$tmp/out" | grep -q '; meshes that vllm cannot express are left out, 3 of all searches'
ok $? "serving apart: what is left out of prefills, decodes and both is told"
for half in prefill decode; do
    shardsim export --to vllm "$tmp/apart.yaml" -S $half
    is 0 "serving apart: its $half is exported"
done
# A decode that takes caches from other devices says so, and one by itself does not.
shardsim export --to vllm "$tmp/serve.yaml" -s 'mesh={dp: 2, tp: 2}' -s 'step=[prefill, decode]' -S decode
! grep -q kv-transfer "$tmp/out"
ok $? "vllm: prefill and decode on the same devices"
sed '/^step:/d' "$tmp/serve.yaml" >"$tmp/two.yaml"
cat >>"$tmp/two.yaml" <<'YAML'
step: [prefill, decode]
strategies:
  - {name: apart, mesh: {dp: 1, tp: 2}, prefill: {mesh: {dp: 2, tp: 1}}}
YAML
shardsim export --to vllm "$tmp/two.yaml" -S apart/prefill
says out '"kv_role": "kv_producer"' "vllm: a prefill on devices of its own"
shardsim export --to vllm "$tmp/two.yaml" -S apart/decode
says out '"kv_role": "kv_consumer"' "vllm: the decode behind it"
shardsim export --to sglang "$tmp/two.yaml" -S apart/decode
says out '--disaggregation-mode decode' "sglang: the decode behind it"
shardsim search "$tmp/serve.yaml" -q --serve --for vllm -s decode.cache=int4
is 2 "serving: a cache that vLLM lacks"
says err 'vllm can express no layout .*vLLM has no 4-bit KV cache; .*; or search --for ' "is told before any search"
shardsim search "$tmp/serve.yaml" -q
is 2 "serving without --serve"
says err 'layouts of a serving step are searched by --serve$' "names --serve"

# shellcheck disable=SC2086
shardsim search "$tmp/small.yaml" -q $few --range tp=2 --range pp=1 --range cp=1 --range recompute=none --forbid zero=2
is 0 "for people"
says out '^best          tensor parallelism over 2' "the best in words first"
says out '^  code        t2 p1 d4' "then its code"
says out '^  proof       exact over [0-9]* layouts' "how many the proof is of"
says out '^  searched    .*tp in its range' "of what choices"
says out 'schedule 1F1B' "of what values"
says out '^  not         .*schedule InterleavedZeroBubble' "and not of what"

# A batch of one microbatch sums its gradients once: ZeRO 1 and 2 are one program.
shardsim search "$tmp/small.yaml" -q --range tp=1 --range pp=1 --range cp=1 --range zero=1..2 \
    --range microbatch=2 --range recompute=none --range shards=8
is 0 "two names of a layout"
says out 'the same as 1$' "are said to be one"

done_testing
