#!/bin/sh
# Tests ZeRO's stages with microbatches and recomputation: received bytes equal the formulas,
# planned and executed, and values equal those without sharding.
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
optimizer: {kind: adamw, lr: 0.01, warmup: 1, decay: cosine, clip: 1.0, weight_decay: 0.1}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-2, zero: {stage: 2, axis: dp}}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: zero-3-kept, zero: {stage: 3, axis: dp, reshard_after_forward: false}}
YAML

# volumes DEVICES WHAT.  psi: bytes of all parameters.  An all-reduce of a scalar receives 2 (n - 1)
# times 4 bytes: the loss, and the gradient norm if gradients are sharded.  The gradient of the first
# kernel needs no other weight of its layer than the second kernel, so stage 3 gathers one kernel
# less in the backward phase.
volumes() {
    holds "$1 devices, $2: received bytes are the formulas'" <<PY
n, kernel = $1, 4 * 32 * 64
psi = 4 * kernel
scalar = 2 * (n - 1) * 4
want = {"dp": 2 * (n - 1) * psi + scalar,
        "zero-1": 2 * (n - 1) * psi + 2 * scalar,
        "zero-2": 2 * (n - 1) * psi + 2 * scalar,
        "zero-3": 3 * (n - 1) * psi - (n - 1) * kernel + 2 * scalar,
        "zero-3-kept": 2 * (n - 1) * psi + 2 * scalar}
got = {s["strategy"]: s["received_bytes"]["total"] for s in r}
assert got == want, (got, want)
PY
    holds "$1 devices, $2: by collective" <<PY
n, psi = $1, 4 * 4 * 32 * 64
for s in r:
    ops = s["received_bytes"]["by_op"]
    if s["strategy"] == "dp":
        assert set(ops) == {"all-reduce"}, ops
    else:
        assert ops["reduce-scatter"] == (n - 1) * psi, ops
        assert ops["all-reduce"] == 2 * 2 * (n - 1) * 4, ops
PY
}

for n in 2 4 8; do
    shardsim plan --json -s mesh.dp=$n "$tmp/mlp.yaml"
    is 0 "$n devices: planned"
    volumes $n plan
    cp "$tmp/out" "$tmp/planned"
    shardsim run -q --json -s mesh.dp=$n -s model.dtype=float64 -s tolerance=1e-10 "$tmp/mlp.yaml"
    is 0 "$n devices: in float64 as without sharding, after 3 steps"
    shardsim run -q --json -s mesh.dp=$n "$tmp/mlp.yaml"
    is 0 "$n devices: executed"
    volumes $n run
    holds "$n devices: bytes and peak memory as planned, losses as one another's" <<PY
import json
for s, p in zip(r, json.load(open("$tmp/planned"))):
    assert s["received_bytes"] == p["received_bytes"], s["strategy"]
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert "training" not in p and len(s["training"]["losses"]) == 3 == len(s["training"]["grad_norms"])
    for a, b in zip(s["training"]["losses"], r[0]["training"]["losses"]):
        assert abs(a - b) <= 1e-4 * abs(b), (s["strategy"], a, b)
    assert s["training"]["losses"][0] != s["training"]["losses"][1]
    kinds = s["verify"]
    assert set(kinds["outputs"]) == {"loss", "grad_norm"} and kinds["gradients"] == {}
    assert len(kinds["state"]) == 3 * 4, kinds["state"] # kernels, and two moments of each
PY
done

# A further layer costs a device its part of the sharded arrays: parameters, two moments,
# gradients.  Unsharded gradients do not pile up, not even with one microbatch.
for n in 2 4 8; do
    for layers in 16 32; do
        shardsim plan --json -s mesh.dp=$n -s batch.size=$n -s batch.seq=1 -s model.layers=$layers \
            -s zero.prefetch=0 "$tmp/mlp.yaml"
        cp "$tmp/out" "$tmp/layers_$layers"
    done
    is 0 "$n devices: planned with 16 and 32 layers"
    holds "$n devices: peak memory grows by what a device has of a layer" <<PY
import json
n, psi = $n, 2 * 4 * 32 * 64  # of one layer
want = {"zero-1": psi + 3 * psi // n, "zero-2": psi + 3 * psi // n, "zero-3": 4 * psi // n}
few, many = (json.load(open("$tmp/layers_%d" % layers)) for layers in (16, 32))
got = {a["strategy"]: (b["memory"]["peak_bytes"][0] - a["memory"]["peak_bytes"][0]) / 16
       for a, b in zip(few, many)}
assert {s: got[s] for s in want} == want, (got, want)
PY
done

# Microbatches: gradients are reduced once per step unless their sum is sharded; sharded parameters
# are gathered for each microbatch.
microbatch_volumes() {
    holds "$1 microbatches, $2, recompute $3: received bytes are the formulas'" <<PY
m, n, kernel = $1, 4, 4 * 32 * 64
psi = 4 * kernel
unread = kernel if "$3" == "none" else 0  # not read by the backward phase, see above
scalar = 2 * (n - 1) * 4
want = {"dp": 2 * (n - 1) * psi + scalar,
        "zero-1": 2 * (n - 1) * psi + 2 * scalar,
        "zero-2": (m + 1) * (n - 1) * psi + 2 * scalar,
        "zero-3": m * (3 * (n - 1) * psi - (n - 1) * unread) + 2 * scalar,
        "zero-3-kept": m * 2 * (n - 1) * psi + 2 * scalar}
got = {s["strategy"]: s["received_bytes"]["total"] for s in r}
assert got == want, (got, want)
for s in r:
    assert sum(s["memory"]["by_kind"].values()) == max(s["memory"]["peak_bytes"]), s["strategy"]
PY
}

for m in 2 4; do
    shardsim plan --json -s batch.microbatches=$m "$tmp/mlp.yaml"
    is 0 "$m microbatches: planned"
    microbatch_volumes $m plan none
    for recompute in none full; do
        shardsim run -q --json -s batch.microbatches=$m -s recompute=$recompute "$tmp/mlp.yaml"
        is 0 "$m microbatches, recompute $recompute: executed"
        microbatch_volumes $m run $recompute
    done
done
shardsim plan -S dp -s batch.microbatches=3 "$tmp/mlp.yaml"
is 2 "microbatches that do not divide the batch: status 2"
says err '3 microbatches do not divide a batch of 16 sequences' "microbatches that do not divide: said"
shardsim plan -S dp -s batch.microbatches=2 -s recompute=full -s 'step=[forward, backward]' \
    -s optimizer.kind=none -s steps=1 -s optimizer.decay=constant "$tmp/mlp.yaml"
is 2 "microbatches and recompute without an update: status 2"
says err '2 microbatches need an update' "microbatches without an update: said"
says err 'recompute needs an update' "recompute without an update: said"

# Gathers ahead of their readers move the same bytes and need the memory of as many more layers.
for prefetch in 0 1 2 3; do
    shardsim plan --json -S zero-3 -s model.layers=6 -s zero.prefetch=$prefetch "$tmp/mlp.yaml"
    cp "$tmp/out" "$tmp/prefetch_$prefetch"
done
shardsim plan --json -S zero-3 -s model.layers=6 "$tmp/mlp.yaml"
is 0 "prefetch: planned"
cmp -s "$tmp/out" "$tmp/prefetch_1"
ok $? "prefetch: of one layer unless told otherwise"
holds "prefetch: each layer more takes what is gathered of it, and no bytes" <<PY
import json
plans = [json.load(open("$tmp/prefetch_%d" % n)) for n in (0, 1, 2, 3)]
assert all(p["received_bytes"] == r["received_bytes"] for p in plans)
peaks = [max(p["memory"]["peak_bytes"]) for p in plans]
assert peaks[1] > peaks[0], peaks
assert [b - a for a, b in zip(peaks[1:], peaks[2:])] == [2 * 4 * 32 * 64] * 2, peaks
PY
shardsim run -q --json -S zero-3 -s model.dtype=float64 -s tolerance=1e-10 -s model.layers=3 \
    -s batch.microbatches=2 -s zero.prefetch=2 "$tmp/mlp.yaml"
is 0 "prefetch: executed, with microbatches"
shardsim plan -S zero-3 -s zero.prefetch=-1 "$tmp/mlp.yaml"
is 2 "prefetch of no number of layers: status 2"
says err "zero.prefetch is '-1'; expected a whole number from 0 to 1000" "prefetch of no number: said"

# Over two axes: ranks of cp have other tokens, ranks of ep other experts.  An array is sharded over
# all axes that do not shard it already, and gradients are reduced once.
cat >"$tmp/axes.yaml" <<'YAML'
version: 1
mesh: {dp: 2, cp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 2, heads: 4, kv_heads: 2, vocab: 64,
        dtype: float64}
batch: {size: 4, seq: 16}
step: [forward, backward, update]
steps: 2
optimizer: {kind: adamw, lr: 0.01, clip: 1.0}
params: [[.*, []]]
axes: {batch: dp, seq: cp}
context: {axis: cp}
tolerance: 1e-9
strategies:
  - {name: context-1, context: {method: ring, order: zigzag}, zero: {stage: 1, axis: [dp, cp]}}
  - name: context-2
    context: {method: ring}
    batch: {microbatches: 2}
    zero: {stage: 2, axis: [dp, cp]}
  - {name: context-3, context: {method: ring}, zero: {stage: 3, axis: [dp, cp]}}
  - name: experts-3
    mesh: {dp: 2, ep: 2}
    model: {kind: mixtral}
    moe: {experts: 4, top_k: 2, d_ff: 32}
    params: [['moe/(gate|up|down)/kernel', [ep]], [.*, []]]
    axes: {batch: [dp, ep], seq: null}
    context: {axis: null}
    zero: {stage: 3, axis: [dp, ep]}
YAML
shardsim run -q --json "$tmp/axes.yaml"
is 0 "several axes: executed, as without sharding"
cp "$tmp/out" "$tmp/ran"
shardsim plan --json "$tmp/axes.yaml"
is 0 "several axes: planned"
holds "several axes: all is cut over both, and gradients are scattered once" <<PY
import json
dense = 8 * (2 * 64 * 32 + 32 + 2 * (2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64))
m = {"context-1": 1, "context-2": 2, "context-3": 1}
for s, ran in zip(r, json.load(open("$tmp/ran"))):
    if s["strategy"] in m:
        assert s["received_bytes"] == ran["received_bytes"], s["strategy"]
        assert s["memory"]["peak_bytes"] == ran["memory"]["peak_bytes"], s["strategy"]
        ops = s["received_bytes"]["by_op"]
        assert ops["reduce-scatter"] == m[s["strategy"]] * 3 * dense, (s["strategy"], ops)
        assert ops["all-reduce"] == 2 * 2 * 3 * 8, (s["strategy"], ops) # the loss and the norm
        assert s["memory"]["by_kind"]["optimizer"] == dense // 4 * 2, s["memory"]["by_kind"]
    if s["strategy"] == "context-3":
        assert 2 * 3 * dense - 3 * 8 * 64 * 32 <= ops["all-gather"] <= 2 * 3 * dense, ops
    if s["strategy"] == "experts-3":
        layer = 2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 32 * 4 + 4 * 3 * 32 * 32
        params = 8 * (2 * 64 * 32 + 32 + 2 * layer)
        assert s["memory"]["by_kind"]["parameters"] == params // 4, (s["memory"]["by_kind"], params)
PY

# Numbers of devices that divide no dimension: equal pieces, the last one padded, and the padding is
# held, moved and counted.  The sizes have no common divisor with 5 or 7.
cat >"$tmp/odd.yaml" <<'YAML'
version: 1
mesh: {dp: 5}
model: {kind: llama3, d_model: 12, d_ff: 18, layers: 2, heads: 2, kv_heads: 1, vocab: 22,
        dtype: float64}
batch: {size: 20, seq: 4, microbatches: 2}
step: [forward, backward, update]
steps: 2
optimizer: {kind: adamw, lr: 0.01, clip: 1.0}
params: [[.*, []]]
axes: {batch: dp}
tolerance: 1e-9
strategies:
  - {name: flat-1, zero: {stage: 1, axis: dp}}
  - {name: flat-2, zero: {stage: 2, axis: dp}}
  - {name: flat-3, zero: {stage: 3, axis: dp}}
  - {name: pad-3, zero: {stage: 3, axis: dp, layout: pad}}
YAML
cat >"$tmp/pieces.py" <<'PY'
def pieces(n, pad):
    """Elements of all parameters with their padding over n devices, and without."""
    padded = plain = 0
    layer = [[12]] * 2 + [[12, 2, 6], [12, 1, 6], [12, 1, 6], [2, 6, 12], [12, 18], [12, 18], [18, 12]]
    for shape in [[22, 12], [12], [12, 22]] + 2 * layer:
        rows, row, used = 1, 1, 0
        for extent in shape:
            if pad and used and rows >= n:
                row *= extent
            else:
                rows, used = rows * extent, used + 1
        plain += rows * row
        padded += -(-rows // n) * n * row
    return padded, plain
PY
for n in 5 7; do
    shardsim plan --json -s mesh.dp=$n -s batch.size=$((4 * n)) "$tmp/odd.yaml"
    is 0 "$n devices, nothing divides: planned"
    cp "$tmp/out" "$tmp/planned"
    shardsim run -q --json -s mesh.dp=$n -s batch.size=$((4 * n)) "$tmp/odd.yaml"
    is 0 "$n devices, nothing divides: executed, as without sharding"
    holds "$n devices, nothing divides: states and bytes are those of pieces, as planned" <<PY
import json, sys
sys.path.insert(0, "$tmp")
from pieces import pieces
n = $n
for s, p in zip(r, json.load(open("$tmp/planned"))):
    assert s["received_bytes"] == p["received_bytes"], s["strategy"]
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    padded, plain = pieces(n, s["strategy"] == "pad-3")
    stage, ops = int(s["strategy"][-1]), s["received_bytes"]["by_op"]
    assert p["memory"]["by_kind"]["optimizer"] == 2 * 8 * padded // n, p["memory"]["by_kind"]
    assert ops["reduce-scatter"] == (2 if stage > 1 else 1) * (n - 1) * 8 * padded, ops
    if stage < 3:
        assert ops["all-gather"] == (n - 1) * 8 * padded, ops
    held = p["memory"]["breakdown"]["padding"]
    want = (3 if stage == 3 else 2) * 8 * (padded - plain) / n
    assert want - 70 < held <= want, (held, want) # rounded down for each array
PY
done
shardsim plan -S flat-3 "$tmp/odd.yaml"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line"
grep -q '; of these [0-9]* B is padding ' "$tmp/line"
ok $? "pieces: padding is told"
grep -q 'needs layers/./mlp/up/kernel whole; it is kept in pieces over dp' "$tmp/line"
ok $? "pieces: why they are gathered"
shardsim explain -S flat-3 "$tmp/odd.yaml" --ops --device 4
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/line"
grep -q 'gives piece 4 of 5 of embed/table: elements 212 to 263 of 264 in a row, and 1 of padding' "$tmp/line" &&
    grep -q 'sums piece 4 of 5 of ' "$tmp/line"
ok $? "pieces: the elements of a device's piece"
for target in jax pytorch; do
    shardsim export --to $target -S flat-3 "$tmp/odd.yaml"
    is 2 "pieces: no word for them in $target"
    says err "no dimension of 'embed/table' is a multiple of 5 shards, and .* expected devices that divide" \
        "pieces: said of $target"
done
# In 16 bits with float32 masters; and inside tensor parallelism, a pipeline, a ring, experts,
# groups.
cat >"$tmp/inside.yaml" <<'YAML'
version: 1
mesh: {dp: 3, tp: 2}
model: {kind: llama3, d_model: 20, d_ff: 28, layers: 2, heads: 4, kv_heads: 2, head_dim: 2, vocab: 22,
        dtype: float64}
batch: {size: 12, seq: 8, microbatches: 2}
step: [forward, backward, update]
steps: 2
optimizer: {kind: adamw, lr: 0.01, clip: 1.0}
params: [[.*, []]]
axes: {batch: dp}
zero: {stage: 2, axis: dp}
tolerance: 1e-9
strategies:
  - name: tensor
    params:
      - ['(q|k|v|gate|up)/kernel|head/kernel', [null, tp]]
      - ['(o|down)/kernel|embed/table', [tp]]
      - [.*, []]
  - {name: pipeline, mesh: {pp: 2, dp: 3}, pipeline: {axis: pp, schedule: 1F1B}, zero: {stage: 3}}
  - {name: groups, mesh: {outer: 2, dp: 3}, axes: {batch: [outer, dp]}, zero: {layout: pad}}
  - name: ring
    mesh: {dp: 3, cp: 2}
    axes: {seq: cp}
    context: {axis: cp, method: ring}
    zero: {stage: 3, axis: [dp, cp]}
  - name: experts
    mesh: {dp: 3, ep: 2}
    model: {kind: mixtral}
    moe: {experts: 4, top_k: 2, d_ff: 10}
    params: [['moe/(gate|up|down)/kernel', [ep]], [.*, []]]
    axes: {batch: [dp, ep]}
    zero: {stage: 3, axis: [dp, ep], layout: pad}
  - name: masters
    mesh: {dp: 3}
    model: {dtype: bfloat16}
    types: {parameters: float32}
    tolerance: null
    zero: {stage: 3}
YAML
shardsim run -q --json "$tmp/inside.yaml"
is 0 "pieces inside other layouts: executed, as without sharding"
cp "$tmp/out" "$tmp/ran"
shardsim plan --json "$tmp/inside.yaml"
is 0 "pieces inside other layouts: planned"
holds "pieces inside other layouts: bytes and peaks as planned" <<PY
import json
for s, ran in zip(r, json.load(open("$tmp/ran"))):
    if s["strategy"] != "experts": # the rows of experts depend on the router
        assert s["received_bytes"] == ran["received_bytes"], s["strategy"]
        assert s["memory"]["peak_bytes"] == ran["memory"]["peak_bytes"], s["strategy"]
    assert s["memory"]["breakdown"]["padding"] > 0, s["strategy"]
PY

# Rules for the optimizer's state, and a rule for a state that does not exist.
shardsim plan --json -S dp -s "params=[['^opt/(m|v)/', [dp]], [.*, []]]" "$tmp/mlp.yaml"
is 0 "rules for state: planned"
holds "rules for state: moments alone are cut, so parameters are gathered" <<'PY'
ops = r["received_bytes"]["by_op"]
assert ops["all-gather"] == 3 * 4 * 4 * 32 * 64, ops
PY
shardsim plan -S dp -s "params=[['^opt/w/', [dp]], [.*, []]]" "$tmp/mlp.yaml"
is 2 "a rule for state that there is not: status 2"
says err "rule '^opt/w/' matches no parameter" "a rule for state that there is not: said"
shardsim plan -S zero-3 -s "constraints=[[.*, [dp]]]" "$tmp/mlp.yaml"
is 0 "constraints are not for an optimizer's state"

# The report of a run.
shardsim run -q -S zero-1 "$tmp/mlp.yaml"
says out '^loss  *[-0-9.]* -> [-0-9.]* over 3 steps' "report: the loss"
tr -s ' \n' ' ' <"$tmp/out" | grep -q 'after the first of 3 steps and after the last, '
ok $? "report: what was verified"
shardsim run -q -S zero-1 -s tolerance=1e-12 "$tmp/mlp.yaml"
is 1 "a tolerance holds where bounds say nothing any more"

# ---- neighbours whose number does not divide the sizes ----
cat >"$tmp/neighbours.yaml" <<'YAML'
version: 1
mesh: {dp: 6}
model: {kind: mlp, d_model: 10, d_ff: 14, layers: 2}
batch: {size: 6, seq: 4}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
axes: {batch: dp}
params: [[.*, []]]
zero: {stage: 3, axis: dp, reshard_after_forward: 3}
YAML
shardsim run -q --json "$tmp/neighbours.yaml"
is 0 "three neighbours, nothing divides: status 0"
holds "three neighbours, nothing divides: gathered among these for the backward phase" <<'PY'
again = [c for c in r["collectives"] if c["op"] == "all-gather" and c["phase"] == "backward"]
assert again and all(c["group_size"] == 3 for c in again), again
PY
done_testing
