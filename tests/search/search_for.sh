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
says err 'vllm is for serving .*; change .step.' "names the step"
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
