#!/bin/sh
# Tests Muon's layouts: received bytes equal the formulas, planned and executed, values equal those
# without sharding, and a matrix has one moment.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The kernels of 2 layers, whose dimensions all divide by 8.
cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 2}
batch: {size: 16, seq: 4}
step: [forward, backward, update]
steps: 3
optimizer: {kind: muon, momentum: 0.95, lr: 0.02, weight_decay: 0.1, clip: 1.0}
zero: {stage: 1, axis: dp}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: duplicated}
  - {name: distributed, optimizer: {layout: distributed}}
  - {name: owned, optimizer: {layout: owned, homes: dp}}
YAML

# volumes DEVICES WHAT.  Of n devices together, for 4 matrices of r x c = 32 x 64 elements, sent in 2
# bytes, and gradients and parameters of 4:
#   duplicated   momenta are gathered, (n - 1) r c each; then every device has the parameters;
#   distributed  a sum of squares, and 5 Gram matrices, are all-reduced: 2 (n - 1) r r each;
#   owned        a stack of 4 matrices, padded to a multiple of n, goes to homes and back: each device
#                receives (n - 1)/n of its matrices, and n devices (n - 1)/n of the stack.
volumes() {
    holds "$1 devices, $2: received bytes are the formulas'" <<PY
n, r_, c_ = $1, 32, 64
all_matrices, scalar = 4 * r_ * c_, 2 * (n - 1) * 4
padded = -(-4 // n) * n
gradients = {"reduce-scatter": (n - 1) * 4 * all_matrices}
want = {"duplicated": {"all-gather": (n - 1) * 2 * all_matrices, "all-reduce": 2 * scalar},
        "distributed": {"all-reduce": 4 * (5 * 2 * (n - 1) * 2 * r_ * r_ + scalar) + 2 * scalar,
                        "all-gather": (n - 1) * 4 * all_matrices},
        "owned": {"all-to-all": 2 * (n - 1) * padded * r_ * c_ * 2 // n, "all-reduce": 2 * scalar,
                  "all-gather": (n - 1) * 4 * all_matrices}}
for s in r:
    got = s["received_bytes"]["by_op"]
    assert got == gradients | want[s["strategy"]], (s["strategy"], got, gradients | want[s["strategy"]])
PY
}

for n in 2 4 8; do
    shardsim plan --json -s mesh.dp=$n "$tmp/mlp.yaml"
    is 0 "$n devices: planned"
    volumes $n plan
    cp "$tmp/out" "$tmp/planned"
    shardsim run -q --json -s mesh.dp=$n -s model.dtype=float64 -s optimizer.ns_dtype=float64 \
        -s tolerance=1e-9 "$tmp/mlp.yaml"
    is 0 "$n devices: in float64 as without sharding, after 3 steps"
    shardsim run -q --json -s mesh.dp=$n "$tmp/mlp.yaml"
    is 0 "$n devices: executed"
    volumes $n run
    holds "$n devices: bytes and memory as planned, losses as one another's, a moment a matrix" <<PY
import json
for s, p in zip(r, json.load(open("$tmp/planned"))):
    assert s["received_bytes"] == p["received_bytes"], s["strategy"]
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    for a, b in zip(s["training"]["losses"], r[0]["training"]["losses"]):
        assert abs(a - b) <= 0.02 * abs(b), (s["strategy"], a, b)
    assert s["training"]["losses"][0] != s["training"]["losses"][1]
    state = set(s["verify"]["state"])
    assert state == {f"layers/{l}/mlp/{p}/kernel" for l in (0, 1) for p in ("up", "down")} | {
        f"opt/momentum/layers/{l}/mlp/{p}/kernel" for l in (0, 1) for p in ("up", "down")}, state
PY
done

# Experts stay where they are, and so do matrices of heads that tensor parallelism shards.
cat >"$tmp/local.yaml" <<'YAML'
version: 1
mesh: {ep: 2, tp: 2}
model: {kind: mixtral, d_model: 16, d_ff: 16, heads: 4, kv_heads: 4, head_dim: 8, layers: 2, vocab: 32}
moe: {experts: 4, top_k: 2}
batch: {size: 4, seq: 4}
step: [forward, backward, update]
optimizer: {kind: muon, momentum: 0.95, lr: 0.02}
params:
  - [moe/(up|gate|down)/kernel, [ep]]
  - [(q|k|v)/kernel, [null, tp]]
  - [o/kernel, [tp]]
  - [.*, []]
axes: {batch: ep}
strategies:
  - {name: base, optimizer: {kind: adamw}}
  - {name: experts, optimizer: {for: [moe/(up|gate|down)]}}
  - {name: heads, optimizer: {for: [attn], apart: [heads]}}
  - {name: whole, optimizer: {for: [attn], apart: []}}
  - {name: owned, optimizer: {for: [moe/(up|gate|down)], apart: [], layout: owned, homes: [ep, tp]}}
YAML
shardsim run -q --json "$tmp/local.yaml"
is 0 "experts and heads: executed as without sharding"
holds "experts, and heads that are matrices, are not moved; whole matrices are" <<'PY'
by = {s["strategy"]: s["received_bytes"]["by_op"] for s in r}
more = {name: {op: n - by["base"].get(op, 0) for op, n in ops.items() if n != by["base"].get(op, 0)}
        for name, ops in by.items()}
layers, experts, matrix = 2, 4, 2 * 16 * 16
assert more["experts"] == more["heads"] == {}, more
# Of q, k, v and o, 16 x 32 elements of 2 bytes, each of 4 devices gets the other half.
assert more["whole"] == {"all-gather": layers * 4 * 4 * 16 * 32 // 2 * 2}, more["whole"]
# Experts number matrices over ep; over tp, a device of two is the home of each.  Both have a matrix before, and the
# updates return: each device gets those of the other home's layers.
assert more["owned"] == {"all-gather": 4 * 3 * experts // 2 * layers // 2 * matrix}, more["owned"]
PY

# Each stage of a pipeline stacks its own matrices.
cat >"$tmp/pipeline.yaml" <<'YAML'
version: 1
mesh: {pp: 2, dp: 2}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 4}
batch: {size: 8, seq: 4, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: muon, momentum: 0.95, lr: 0.02, layout: owned, homes: dp}
zero: {stage: 1, axis: dp}
pipeline: {axis: pp}
params: [[.*, []]]
axes: {batch: dp}
YAML
shardsim run -q --json "$tmp/pipeline.yaml"
is 0 "pipeline: executed as without sharding"
holds "pipeline: an all-to-all there and back for each stage" <<'PY'
assert r["received_bytes"]["by_op"]["all-to-all"] == 2 * 2 * 4 * 32 * 64 * 2 // 2, r["received_bytes"]["by_op"]
PY

printf '%s\n' 'version: 1' 'mesh: {dp: 2}' 'model: {kind: mlp, d_model: 8, d_ff: 8}' 'batch: {size: 2, seq: 2}' \
    'step: [forward, backward, update]' 'params: [[.*, []]]' 'axes: {batch: dp}' >"$tmp/base.yaml"
refused() {
    printf 'optimizer: {kind: muon, momentum: 0.9, %s}\n' "$1" | cat "$tmp/base.yaml" - >"$tmp/bad.yaml"
    shardsim plan "$tmp/bad.yaml"
    is 2 "refused: $1"
    grep -q "bad.yaml:8:[0-9]*: error: $2" "$tmp/err"
    ok $? "refused: $1: the message"
}
refused 'for: [nothing]' "'nothing' matches no matrix of this model"
refused 'apart: [heads]' "'heads' matches no dimension of a matrix"
refused 'apart: [mlp]' "'mlp' takes all dimensions of a side"
printf 'frozen: [.*kernel]\noptimizer: {kind: muon, momentum: 0.9}\n' | cat "$tmp/base.yaml" - >"$tmp/bad.yaml"
sed -i 's/d_ff: 8/d_ff: 8, bias: true/' "$tmp/bad.yaml"
shardsim plan "$tmp/bad.yaml"
is 2 "refused: all matrices are frozen"
grep -q "bad.yaml:9:19: error: this model has no matrix for muon to learn" "$tmp/err"
ok $? "refused: all matrices are frozen: the message"
done_testing
