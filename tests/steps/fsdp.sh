#!/bin/sh
# Tests FSDP on every kind of model: parameters sharded over the batch axis are gathered, and no
# activation moves, by ZeRO 3 and by equivalent rules.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/kinds.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 16, d_ff: 32, layers: 2}
batch: {size: 8, seq: 8}
step: [forward, backward, update]
optimizer: {kind: adamw}
zero: {stage: 3, axis: dp}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: mlp}
  - {name: gpt2, model: {kind: gpt2, heads: 4, vocab: 32, positions: 8}}
  - {name: llama3, model: {kind: llama3, heads: 4, vocab: 32}}
  - {name: grouped, model: {kind: llama3, heads: 8, kv_heads: 2, vocab: 32}}
  - {name: one-key-head, model: {kind: llama3, heads: 4, kv_heads: 1, vocab: 32}}
  - {name: packed, model: {kind: llama3, heads: 4, vocab: 32}, context: {documents: {mean: 4}}}
  - {name: t5, model: {kind: t5, decoder_layers: 1, heads: 4, vocab: 32}}
  - name: mixtral
    model: {kind: mixtral, heads: 4, kv_heads: 2, vocab: 32}
    moe: {experts: 4, top_k: 2, aux_loss: 0.01}
  - name: more-experts-than-width
    model: {kind: mixtral, heads: 4, kv_heads: 2, vocab: 32}
    moe: {experts: 64, top_k: 2, d_ff: 8}
  - name: deepseek
    model: {kind: deepseek, heads: 4, head_dim: 4, vocab: 32}
    mla: {q_rank: 8, kv_rank: 8, rope_dim: 4, value_dim: 4}
    moe: {experts: 8, top_k: 2, d_ff: 16, first_dense: 1}
YAML

# Rules that express FSDP.  They do not shard the dimension of experts, which would move tokens.
cat >"$tmp/words.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 16, d_ff: 32, layers: 1}
batch: {size: 8, seq: 8}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, [dp]]]
axes: {batch: dp}
strategies:
  - {name: rows, model: {kind: t5, decoder_layers: 1, heads: 4, vocab: 32}}
  - name: columns
    model: {kind: t5, decoder_layers: 1, heads: 4, vocab: 32}
    params: [[norm, [dp]], ['o/kernel', [null, null, dp]], [.*, [null, dp]]]
  - name: experts
    model: {kind: mixtral, layers: 2, heads: 4, kv_heads: 2, vocab: 32}
    moe: {experts: 4, top_k: 2, aux_loss: 0.01}
    params: [['moe/(gate|up|down)/kernel', [null, dp]], [.*, [dp]]]
  - name: widths-of-experts
    model: {kind: mixtral, layers: 2, heads: 4, kv_heads: 2, vocab: 32}
    moe: {experts: 4, top_k: 2, aux_loss: 0.01}
    params: [['moe/(gate|up|down)/kernel', [null, null, dp]], [.*, [dp]]]
YAML

# graph NAME INPUTS: write a graph that declares its inputs in that order.
graph() {
    cat >"$tmp/$1.yaml" <<YAML
version: 1
mesh: {dp: 4}
graph:
  dims: {n: 8, t: 4, u: 4, d: 16, f: 32}
  inputs: {$2}
  params: {up: [d, f], down: [f, d], mix: [u, d]}
  ops:
    - h[n,t,f] = gelu(einsum(x[n,t,d], up[d,f])) + shift
    - near[t,d] = einsum(far[t,u], mix[u,d])
    - z[n,t,d] = einsum(h[n,t,f], down[f,d]) * scale + near
    - e[n,t,d] = z - y
    - loss[] = mean(e * e)
  outputs: [loss]
step: [forward, backward, update]
optimizer: {kind: adamw}
axes: {n: dp}
strategies:
  - {name: zero, params: [[.*, []]], zero: {stage: 3, axis: dp}}
  - {name: words, params: [[.*, [null, dp]]]}
YAML
}
graph inputs 'x: [n, t, d], y: [n, t, d], far: [t, u], scale: [d], shift: [t]'
graph turned 'shift: [t], scale: [d], far: [t, u], y: [n, t, d], x: [n, t, d]'

# Received bytes do not depend on the batch.  They are at most two gathers and one scatter of each
# parameter, or one gather if the gathered copies are kept for the backward phase.
bounded='
def check(now, then, ngathers, microbatches=1):
    for s, t in zip(now, then):
        n = s["devices"]
        parameters = 4 * s["memory"]["breakdown"]["parameters"]["model"]
        most = 1.02 * (ngathers + 1) * microbatches * (n - 1) * parameters
        got = s["received_bytes"]["total"]
        assert got == t["received_bytes"]["total"], (s["strategy"], got)
        assert 0.6 * most < got <= most, (s["strategy"], got, most)
'

for name in kinds words; do
    for size in 8 16; do
        shardsim plan -q --json -s batch.size=$size "$tmp/$name.yaml"
        is 0 "$name, batch of $size: planned"
        cp "$tmp/out" "$tmp/$name.$size"
    done
    holds "$name: bytes are those of parameters, whatever the batch" <<PY
$bounded
check(r, json.load(open("$tmp/$name.8")), 2 if "$name" == "kinds" else 1)
PY
done
shardsim plan -q --json -s batch.size=16 -s batch.microbatches=2 "$tmp/kinds.yaml"
is 0 "microbatches: planned"
holds "microbatches: gathers and scatters of each" <<PY
$bounded
check(r, r, 2, 2)
PY

shardsim plan -q --json "$tmp/inputs.yaml"
is 0 "a graph: planned"
cp "$tmp/out" "$tmp/first"
shardsim plan -q --json "$tmp/turned.yaml"
is 0 "a graph with its inputs in another order: planned"
holds "the order of inputs says nothing" <<PY
$bounded
first = json.load(open("$tmp/first"))
assert [s["received_bytes"] for s in first] == [s["received_bytes"] for s in r]
check(r[:1], first[:1], 2)
check(r[1:], first[1:], 1)
PY

# ZeRO also works if the batch is not the first dimension.
sed 's/\[n, t, d\]/[t, n, d]/g; s/\[n,t,/[t,n,/g; /words/d' "$tmp/inputs.yaml" >"$tmp/time.yaml"
shardsim plan -q --json "$tmp/time.yaml"
is 0 "a graph with the batch behind time: planned"
holds "a batch that is not the first dimension" <<PY
first = json.load(open("$tmp/first"))[0]
assert r["received_bytes"] == first["received_bytes"], r["received_bytes"]
PY

# A queue with samples of two devices cannot be sharded over four devices; the experts share the
# work.
shardsim plan -q --json -S mixtral -s moe.token_groups=2 "$tmp/kinds.yaml"
is 0 "queues of two devices' tokens: planned"
holds "queues of two devices' tokens: work is shared" <<'PY'
assert r["work"]["efficiency"] > 0.9, r["work"]
PY

# The table of relative positions has no batch dimension; tensor parallelism still shards it and the
# biases made of it.
shardsim plan -q --json -S t5 -s 'mesh={dp: 2, tp: 2}' -s 'params=[[relative/table, [null, tp]],
    ["(q|k|v)/kernel", [null, tp]], ["/o/kernel", [tp]], [.*, []]]' "$tmp/kinds.yaml"
is 0 "distances with tensor parallelism: planned"
holds "distances: each device has the biases of its heads, and gathers its part of the table" <<'PY'
moved = [c for c in r["collectives"] if "relative" in c["where"] + c["why"]]
assert moved and all(c["axes"] == ["dp"] for c in moved), moved
PY

for name in kinds words inputs turned; do
    shardsim run -q --json "$tmp/$name.yaml"
    is 0 "$name: executed, as without sharding"
    cp "$tmp/out" "$tmp/ran"
    shardsim plan -q --json "$tmp/$name.yaml"
    holds "$name: received as planned" <<PY
ran = json.load(open("$tmp/ran"))
assert [s["received_bytes"] for s in ran] == [s["received_bytes"] for s in r]
PY
done
done_testing
