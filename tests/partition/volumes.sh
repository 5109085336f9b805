#!/bin/sh
# Tests the bytes that all devices receive in a step against the closed forms of docs/training.md,
# planned for several sizes, and executed for the smallest.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The formulas hold for all sizes; under a sanitizer the smallest size runs the same code.
SIZES="2 4 8"
small_size && SIZES=2

# ---- replicas: data parallel, ZeRO, hybrid ----

# The formulas leave out the loss, and under ZeRO the gradient norm: numbers of 4 bytes.
cat >"$tmp/replicas.yaml" <<'YAML'
version: 1
mesh: {outer: 1, inner: 2}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 2}
batch: {size: 32, seq: 2}
step: [forward, backward, update]
steps: 2
optimizer: {kind: adamw, lr: 0.01, clip: 1.0}
params: [[.*, []]]
axes: {batch: [outer, inner]}
strategies:
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: inner}}
  - {name: zero-2, zero: {stage: 2, axis: inner}}
  - {name: zero-3, zero: {stage: 3, axis: inner}}
  - {name: zero-3-kept, zero: {stage: 3, axis: inner, reshard_after_forward: false}}
  - name: moments-over-both
    zero: {stage: 3, axis: inner}
    params:
      - ['^opt/[mv]/.*/up/', [null, [inner, outer]]]
      - ['^opt/[mv]/.*/down/', [[inner, outer]]]
      - [.*, []]
YAML

# replicas WHAT OUTER INNER MICROBATCHES D_MODEL D_FF LAYERS: the answer in $tmp/out equals the
# formulas.
replicas() {
    holds "$1: $2 groups of $3, $4 microbatches, d_model $5, d_ff $6, $7 layers" <<PY
o, i, m, layers = $2, $3, $4, $7
kernel = 4 * $5 * $6
psi = layers * 2 * kernel
gather = o * (i - 1) * psi              # in every group of the inner axis; a scatter costs the same
again = gather - o * (i - 1) * kernel   # the first kernel is not read in the backward phase
reduce = 2 * (o - 1) * psi              # in every group of the outer axis, of psi / i
loss = 2 * (o * i - 1) * 4
norm = o * 2 * (i - 1) * 4
all = "outer,inner" if o > 1 else "inner"
want = {"dp": {all: 2 * (o * i - 1) * psi},
        "zero-1": {"inner": 2 * gather, "outer": reduce},
        "zero-2": {"inner": (m + 1) * gather, "outer": reduce},
        "zero-3": {"inner": m * (2 * gather + again), "outer": reduce},
        "zero-3-kept": {"inner": 2 * m * gather, "outer": reduce},
        # after the update, parameters are gathered over the outer axis
        "moments-over-both": {"inner": m * (2 * gather + again), "outer": reduce + (o - 1) * psi}}
for s in r:
    expected = want[s["strategy"]]
    expected[all] = expected.get(all, 0) + loss
    if s["strategy"] != "dp":
        expected["inner"] += norm
    expected = {axes: bytes for axes, bytes in expected.items() if bytes}
    assert s["received_bytes"]["by_axis"] == expected, (s["strategy"], s["received_bytes"], expected)
PY
}

# plan_replicas OUTER INNER D_MODEL D_FF LAYERS: plan with one and two microbatches, and compare.
plan_replicas() {
    for m in 1 2; do
        shardsim plan --json -s mesh.outer="$1" -s mesh.inner="$2" -s batch.microbatches=$m \
            -s model.d_model="$3" -s model.d_ff="$4" -s model.layers="$5" "$tmp/replicas.yaml"
        replicas planned "$1" "$2" $m "$3" "$4" "$5"
    done
}

for n in $SIZES; do
    plan_replicas 1 "$n" 32 64 2
    plan_replicas 1 "$n" 1024 4096 4
    plan_replicas "$n" 2 64 256 3
    plan_replicas 2 "$n" 256 512 1
done
for m in 1 2; do
    shardsim run -q --json -s mesh.outer=2 -s mesh.inner=4 -s batch.microbatches=$m \
        "$tmp/replicas.yaml"
    is 0 "executed, $m microbatches: hybrid sharding computes the same"
    replicas executed 2 4 $m 32 64 2
done

# ---- layers cut: Megatron's tensor parallelism, with and without sequence parallelism ----

cat >"$tmp/layers.yaml" <<'YAML'
version: 1
mesh: {tp: 2}
model: {kind: block, d_model: 32, d_ff: 64, heads: 8, layers: 2}
batch: {size: 2, seq: 8}
step: [forward, backward]
params:
  - [attn/(q|k|v)/kernel, [null, tp, null]]
  - [attn/o/kernel, [tp, null, null]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp, null]]
  - [norm, []]
strategies:
  - name: tp
    constraints:
      - [(attn|mlp)/in, []]
      - [attn/(q|kv), [null, null, tp, null]]
      - [mlp/hidden, [null, null, tp]]
      - [out, []]
  - name: tp-sp
    axes: {seq: tp}
    constraints:
      - [attn/(q|kv), [null, null, tp, null]]
      - [mlp/hidden, [null, null, tp]]
      - [out, [null, tp, null]]
  - name: tp-sp-in # inputs of products are asked for whole, and so are their gradients
    axes: {seq: tp}
    constraints:
      - [(attn|mlp)/in, []]
      - [attn/(q|kv), [null, null, tp, null]]
      - [mlp/hidden, [null, null, tp]]
      - [out, [null, tp, null]]
  - name: tp-sp-kept
    gathered: keep
    axes: {seq: tp}
    constraints:
      - [attn/(q|kv), [null, null, tp, null]]
      - [mlp/hidden, [null, null, tp]]
      - [out, [null, tp, null]]
YAML

# layers WHAT TP BATCH SEQ D_MODEL LAYERS: the answer in $tmp/out equals the formulas.
layers() {
    holds "$1: tp $2, batch $3x$4, d_model $5, $6 layers" <<PY
t, layers = $2, $6
activation = 4 * $3 * $4 * $5
norms = 4 * 2 * $5 * layers
tp = r[0]
ops = tp["received_bytes"]["by_op"]
assert ops == {"all-reduce": 4 * layers * 2 * (t - 1) * activation}, ops
# Both inputs of products are gathered again in the backward phase, unless they are kept.
for s, gathers, scatters, reduces in zip(r[1:], (6, 6, 4), (4, 2, 4), (0, 2, 0)):
    ops = s["received_bytes"]["by_op"]
    assert ops["all-gather"] == gathers * layers * (t - 1) * activation, (s["strategy"], ops)
    assert ops["reduce-scatter"] == scatters * layers * (t - 1) * activation, (s["strategy"], ops)
    assert ops["all-reduce"] == 2 * (t - 1) * (reduces * layers * activation + norms + 4), ops
PY
}

for t in $SIZES; do
    for size in "2 8 32 2" "1 64 64 3" "4 2048 4096 8"; do
        # shellcheck disable=SC2086
        set -- $size
        shardsim plan --json -s mesh.tp="$t" -s batch.size="$1" -s batch.seq="$2" \
            -s model.d_model="$3" -s model.layers="$4" "$tmp/layers.yaml"
        layers planned "$t" "$1" "$2" "$3" "$4"
    done
    shardsim run -q --json -s mesh.tp="$t" "$tmp/layers.yaml"
    is 0 "executed: tp $t computes the same"
    layers executed "$t" 2 8 32 2
done

# ---- FSDP in a pipeline: parameters gathered once a step, gradients scattered once ----

cat >"$tmp/fsdp_stages.yaml" <<'YAML'
version: 1
mesh: {pp: 2, dp: 4}
model: {kind: transformer, d_model: 32, d_ff: 64, layers: 4, heads: 2, vocab: 64, dtype: bfloat16}
batch: {size: 16, seq: 8, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
axes: {batch: dp}
params: [[.*, []]]
pipeline: {axis: pp, schedule: 1F1B}
zero: {stage: 3, axis: dp}
strategies:
  - {name: default}
  - {name: never, zero: {reshard_after_forward: never}}
  - {name: always, zero: {reshard_after_forward: always}}
  - {name: neighbours, zero: {reshard_after_forward: 2}}
  - {name: interleaved, pipeline: {schedule: Interleaved1F1B}}
  - {name: zb, pipeline: {schedule: ZBH1}}
  - {name: one-stage, pipeline: {axis: null}, mesh: {pp: 1, dp: 4}}
  - {name: one-stage-neighbours, pipeline: {axis: null}, mesh: {pp: 1, dp: 4},
     zero: {reshard_after_forward: 2}}
YAML

# fsdp_stages WHAT: bytes gathered of P parameters of 2 bytes on n devices in m microbatches, and
# scattered of their gradients of 4 bytes; N devices are neighbours.  The backward phase does not
# read the embedding.
fsdp_stages() {
    holds "$1: FSDP in a pipeline, by phase" <<'PY'
n, m, N, narrays = 4, 4, 2, 4 * 8 + 3
P = 4 * (4 * 32 * 32 + 2 * 32 * 64 + 2 * 32) + 2 * 64 * 32 + 32
back = P - 64 * 32
once, each = (n - 1) * 2 * P, n * (N - 1) // N * 2
kept = {("all-gather", "forward"): once, ("reduce-scatter", "optimizer"): 2 * once}
want = {"default": kept, "never": kept, "interleaved": kept, "zb": kept,
        "always": {**kept, ("all-gather", "forward"): m * once,
                   ("all-gather", "backward"): m * (n - 1) * 2 * back},
        "neighbours": {**kept, ("all-gather", "forward"): once + m * each * P,
                       ("all-gather", "backward"): m * each * back},
        "one-stage": {("all-gather", "forward"): m * once,
                      ("all-gather", "backward"): m * (n - 1) * 2 * back,
                      ("reduce-scatter", "backward"): m * 2 * once},
        "one-stage-neighbours": {("all-gather", "forward"): m * once,
                                 ("all-gather", "backward"): m * each * back,
                                 ("reduce-scatter", "backward"): m * 2 * once}}
for s in r:
    rows = [row for row in s["collectives"] if row["op"] in ("all-gather", "reduce-scatter")]
    got = {}
    for row in rows:
        key = row["op"], row["phase"]
        got[key] = got.get(key, 0) + row["received_bytes"]
    assert got == want[s["strategy"]], (s["strategy"], got, want[s["strategy"]])
    count = sum(row["count"] for row in rows if row["op"] == "all-gather")
    assert want[s["strategy"]] is not kept or count == narrays, count
    # A rank holds one gathered copy and one unsharded sum of gradients, however many microbatches
    # are alive.
    ranks = s["memory"].get("by_rank", [])
    held = sum(rank["by_kind"]["gathered"] for rank in ranks)
    assert want[s["strategy"]] is not kept or held == 2 * P, (s["strategy"], held, P)
PY
}
shardsim plan --json "$tmp/fsdp_stages.yaml"
fsdp_stages planned
grep -vE 'name: (never|always|zb|one-stage),' "$tmp/fsdp_stages.yaml" >"$tmp/fsdp_run.yaml"
shardsim run -q --json "$tmp/fsdp_run.yaml"
is 0 "executed: FSDP in a pipeline computes the same"
fsdp_stages executed

# ---- between the stages of a pipeline ----

cat >"$tmp/stages.yaml" <<'YAML'
version: 1
mesh: {dp: 1, pp: 2, tp: 1}
model: {kind: transformer, d_model: 16, d_ff: 32, layers: 4, heads: 2, vocab: 32}
batch: {size: 8, seq: 8, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
axes: {batch: dp}
params:
  - [(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
pipeline: {axis: pp}
strategies:
  - {name: 1f1b}
  - {name: gpipe, pipeline: {schedule: GPipe}}
  - {name: interleaved, pipeline: {schedule: Interleaved1F1B}}
  - {name: zb-h1, pipeline: {schedule: ZBH1}}
  - {name: zbv, pipeline: {schedule: ZBVZeroBubble}}
  - {name: sequence-parallel, constraints: [['(embed/out|out)$', [dp, tp]]]}
YAML

# stages WHAT PP TP DP MICROBATCHES BATCH SEQ D_MODEL: each activation between two ranks is sent
# once forward and once backward.  A tensor-parallel device sends its copy of the activation, or with
# sequence parallelism its part.
stages() {
    holds "$1: pp $2, tp $3, dp $4, $5 microbatches, batch $6x$7, d_model $8" <<PY
p, t = $2, $3
activations = 4 * $6 * $7 * $8
passes = {"1f1b": p - 1, "gpipe": p - 1, "interleaved": 2 * p - 1, "zb-h1": p - 1,
          "zbv": 2 * (p - 1), "sequence-parallel": p - 1}
for s in r:
    copies = 1 if s["strategy"] == "sequence-parallel" else t
    rows = [row for row in s["collectives"] if row["op"] == "send-recv"]
    for phase in "forward", "backward":
        got = sum(row["received_bytes"] for row in rows if row["phase"] == phase)
        assert got == passes[s["strategy"]] * copies * activations, (s["strategy"], phase, got)
    # the gradient norm is a number that passes from stage to stage
    assert sum(row["received_bytes"] for row in rows if row["phase"] == "optimizer") <= 64 * p * t * $4
    ranks = s["memory"]["by_rank"]
    assert max(rank["peak_bytes"] for rank in ranks) == max(s["memory"]["peak_bytes"])
    assert all(sum(rank["by_kind"].values()) == rank["peak_bytes"] for rank in ranks)
    alive = {"1f1b": min(p, $5), "gpipe": $5}.get(s["strategy"])
    assert alive is None or ranks[0]["microbatches_alive"] == alive, ranks
PY
}

for p in $SIZES; do
    for size in "1 1 8 8 8 16" "2 2 16 32 16 64"; do
        # shellcheck disable=SC2086
        set -- $size
        shardsim plan --json -s mesh.pp="$p" -s mesh.tp="$1" -s mesh.dp="$2" \
            -s batch.microbatches="$3" -s batch.size="$4" -s batch.seq="$5" -s model.d_model="$6" \
            -s model.layers=$((2 * p)) "$tmp/stages.yaml"
        stages planned "$p" "$@"
    done
done
shardsim run -q --json -s mesh.tp=2 "$tmp/stages.yaml"
is 0 "executed: stages compute the same"
stages executed 2 2 1 4 8 8 16

# A tied embedding is read by the head too: once per step a copy goes to the head's rank and a sum
# of gradients comes back, however many microbatches; nothing moves if both are on one rank.
cat >"$tmp/tied.yaml" <<'YAML'
version: 1
mesh: {pp: 2}
model: {kind: gpt2, d_model: 16, d_ff: 32, layers: 8, heads: 2, vocab: 48, positions: 8}
batch: {size: 8, seq: 8, microbatches: 8}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
params: [[.*, []]]
pipeline: {axis: pp}
strategies:
  - {name: 1f1b}
  - {name: interleaved, pipeline: {schedule: Interleaved1F1B}}
  - {name: zbv, pipeline: {schedule: ZBVZeroBubble}}
YAML
tied() {
    holds "$1: tied embeddings, pp $2" <<PY
table = 4 * 48 * 16
for s in r:
    rows = [row for row in s["collectives"] if row["operand_bytes"] == table]
    assert [row["count"] for row in rows] == [1, 1], (s["strategy"], rows)
    want = 0 if s["strategy"] == "zbv" else 2 * table
    assert sum(row["received_bytes"] for row in rows) == want, (s["strategy"], rows)
PY
}
for p in 2 4; do
    shardsim plan --json -s mesh.pp="$p" "$tmp/tied.yaml"
    tied planned $p
done

# ---- a step as a graph: a gradient is computed where the state of its weight is ----

# The gradient of a layer's columns meets a state that is sharded by rows: what flows back into the
# layer is gathered, so that neither gradient nor state is moved; an array of one number is no
# batch.  An image whose windows are gathered is gathered before there are windows of it.
cat >"$tmp/graph.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
graph:
  dims: {a: 4, b: 6, c: 8, h: 10, e: 12, t: 3, d: 14}
  inputs: {x: {dims: [a, b]}, image: {dims: [a, h, e]}}
  params: {columns: {dims: [b, c]}, state: {dims: [b, c]}, kernel: {dims: [t, e, d]}}
  ops:
    - ones[c] = full(1)
    - y[a, c] = einsum(x, columns)
    - gradient[b, c] = einsum(x, y * ones)
    - state.next[b, c] = state + 0.1 * gradient
    - windows[a, h, t, e] = windows(image, h, h, t, low=1, high=1)
    - convolved[a, h, d] = einsum(windows, kernel)
  outputs: [state.next, convolved]
step: [forward]
params: [[state, [tp]], [columns, [null, tp]], [kernel, [null, null, tp]]]
constraints: [["^x$", [dp]], [state.next, [tp]], ["^image$", [dp, null, tp]]]
YAML
shardsim run -q --json "$tmp/graph.yaml"
is 0 "a gradient that meets a state, and windows, executed"
holds "what flows back, the gradient's sum over the batch, and the image" <<PY
back, gradient, image = 4 * 8 * 4, 6 * 8 * 4, 4 * 10 * 12 * 4
assert r["received_bytes"]["by_axis"] == {"tp": back + image, "dp": 2 * gradient}, r["received_bytes"]
PY

# FSDP gathers the weight, not the images that are padded for it; nor does a scale, which follows the data.
cat >"$tmp/padded.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
graph:
  dims: {a: 64, h: 10, k: 12, t: 3, e: 12, d: 14}
  inputs: {x: {dims: [a, h, e]}}
  params: {kernel: {dims: [e, d]}, scale: {dims: [e]}}
  ops:
    - padded[a, k, e] = pad(x, h, k, 1)
    - y[a, k, d] = einsum(padded, kernel)
    - windows[a, h, t, e] = windows(x, h, h, t, low=1, high=1)
    - scaled[a, h, t, e] = windows * scale
  outputs: [y, scaled]
step: [forward]
params: [[kernel, [dp]], [scale, [tp]]]
constraints: [["^x$", [dp, tp]]]
YAML
shardsim plan --json "$tmp/padded.yaml"
holds "the weight, the scale and the halos alone" <<PY
kernel, scale, halos = 12 * 14 * 4, 12 * 4, 64 * 12 * 4
assert r["received_bytes"]["total"] <= 2 * (kernel + scale) + 4 * halos, r["received_bytes"]
PY

# Where one op has partial sums scattered, the next reads them so, although a smaller array lies elsewhere.
cat >"$tmp/scattered.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 2}
graph:
  dims: {a: 4, b: 6, c: 8, e: 4, f: 10}
  inputs: {x: {dims: [a, b]}, back: {dims: [a, c]}}
  params: {up: {dims: [b, e, f]}, gate: {dims: [b, e]}, down: {dims: [e, f, c]}}
  ops:
    - wide[a, e, f] = einsum(x, up)
    - share[a, e] = einsum(x, gate)
    - sums[a, e, f] = einsum(back, down)
    - first[a, e, f] = wide * sums
    - second[a, e, f] = sums * share
    - third[a, e, f] = wide * second
  outputs: [first, third]
step: [forward]
params: [[up, [null, null, tp]], [gate, [null, tp]], [down, [null, null, tp]]]
constraints: [["^x$|^back$", [dp]]]
YAML
shardsim run -q --json "$tmp/scattered.yaml"
is 0 "partial sums that two ops read, executed"
holds "the sums once, and the shares" <<PY
sums, shares = 4 * 4 * 10 * 4, 4 * 4 * 4
assert r["received_bytes"]["total"] == sums + shares, r["received_bytes"]
PY

# Not where another op before has the sums whole, nor for a product whose larger result would be partial in turn.
for whole in "- whole[a, e] = sums * sums" ""; do
    cat >"$tmp/contracted.yaml" <<YAML
version: 1
mesh: {tp: 4}
graph:
  dims: {a: 64, b: 64, e: 64, f: 1024}
  inputs: {x: {dims: [a, b]}}
  params: {down: {dims: [b, e]}, scale: {dims: [e]}, up: {dims: [e, f]}}
  ops:
    - sums[a, e] = einsum(x, down)
    $whole
    - scaled[a, e] = sums * scale
    - wide[a, f] = einsum(sums, up)
  outputs: [scaled, wide${whole:+, whole}]
step: [forward]
params: [[down, [tp]], [scale, [tp]], [up, [null, null]]]
YAML
    shardsim run -q --json "$tmp/contracted.yaml"
    is 0 "partial sums that are whole or contracted, executed"
    holds "the sums once on each device" <<PY
assert r["received_bytes"]["total"] <= 2 * 3 * 64 * 64 * 4, r["received_bytes"]
PY
done

# Nor where a constraint before has the sums: these are not moved again.
cat >"$tmp/constrained.yaml" <<YAML
version: 1
mesh: {dp: 2, tp: 2}
graph:
  dims: {a: 4, b: 6, c: 8, e: 4, f: 10}
  inputs: {x: {dims: [a, b]}, back: {dims: [a, c]}}
  params: {gate: {dims: [b, e]}, down: {dims: [e, f, c]}}
  ops:
    - share[a, e] = einsum(x, gate)
    - sums[a, e, f] = einsum(back, down)
    - kept[a, e, f] = constraint(kept, sums)
    - second[a, e, f] = sums * share
  outputs: [kept, second]
step: [forward]
params: [[gate, [null, tp]], [down, [null, null, tp]]]
constraints: [["^x\$|^back\$", [dp]], [kept, [dp, null, tp]]]
YAML
shardsim run -q --json "$tmp/constrained.yaml"
is 0 "partial sums that a constraint has scattered, executed"
holds "the sums scattered once, and the share" <<PY
assert r["received_bytes"]["total"] <= 704, r["received_bytes"]
PY

# A constant for each sample, as the gradient of a sum of outputs is, is no weight: the weight that
# multiplies it is gathered for the batch, as under FSDP, and the work is shared.
cat >"$tmp/constant.yaml" <<YAML
version: 1
mesh: {dp: 4}
graph:
  dims: {b: 64, d: 8, h: 32, o: 16}
  inputs: {x: {dims: [b, d]}}
  params: {up: {dims: [d, h]}, down: {dims: [h, o]}, slope: {dims: [b, o]}}
  ops:
    - hidden[b, h] = einsum(x, up)
    - back[b, h] = einsum(slope, down)
    - mixed[b, h] = hidden * back
  outputs: [mixed]
step: [forward]
params: [[down, [null, dp]], [.*, []]]
constraints: [["^x\$", [dp]]]
YAML
shardsim run -q --json "$tmp/constant.yaml"
is 0 "a weight times a constant for each sample, executed"
holds "the weight gathered, and no work repeated" <<PY
assert r["received_bytes"]["total"] == 3 * 32 * 16 * 4, r["received_bytes"]
assert r["work"]["efficiency"] == 1, r["work"]
PY
done_testing
