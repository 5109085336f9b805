#!/bin/sh
# Tests types chosen one by one: bytes and memory of a 16-bit model with float32 masters equal the
# formulas, planned and executed; a loss scale skips steps.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The kernels of 2 layers, whose dimensions all divide by 8.
cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 2, dtype: bfloat16}
types: {parameters: float32}
batch: {size: 16, seq: 4}
step: [forward, backward, update]
steps: 3
optimizer: {kind: adamw, lr: 0.01, warmup: 1, decay: cosine, clip: 1.0, weight_decay: 0.1}
params: [[.*, []]]
axes: {batch: dp}
tolerance: 0.15
strategies:
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-2, zero: {stage: 2, axis: dp}}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: zero-3-kept, zero: {stage: 3, axis: dp, reshard_after_forward: false}}
YAML

# The number of random scenarios.
NRANDOM=60
small_size && NRANDOM=12

# volumes DEVICES MICROBATCHES BYTES WHAT: parameters are gathered in 2 bytes each, gradients
# reduced in BYTES each; scalars as in zero.sh, and minus the kernel that stage 3 does not gather
# backward.
volumes() {
    holds "$4, $1 devices, $2 microbatches: gathers of 2 bytes a parameter, gradients of $3" <<PY
n, m, size, kernel = $1, $2, $3, 32 * 64
count = 4 * kernel
scalar = 2 * (n - 1) * 4
want = {"dp": 2 * (n - 1) * size * count + scalar,
        "zero-1": (n - 1) * (size + 2) * count + 2 * scalar,
        "zero-2": (n - 1) * (m * size + 2) * count + 2 * scalar,
        "zero-3": m * (n - 1) * ((size + 4) * count - 2 * kernel) + 2 * scalar,
        "zero-3-kept": m * (n - 1) * (size + 2) * count + 2 * scalar}
got = {s["strategy"]: s["received_bytes"]["total"] for s in r}
assert got == want, (got, want)
PY
}

# memory DEVICES BYTES WHAT: a 16-bit parameter, a gradient of BYTES until the update, and 12 bytes
# of the optimizer: 16 bytes per parameter (arXiv 1910.02054, section 3.1) with gradients of 2
# bytes, 18 with gradients of 4.  A ZeRO stage divides its share of parameters and optimizer; the
# gradients at the peak depend on which have been scattered by then.
memory() {
    holds "$3, $1 devices: $((14 + $2)) bytes a parameter, and what ZeRO's stages leave of them" <<PY
n, size, count = $1, $2, 4 * 32 * 64
for s in r:
    kinds = s["memory"]["by_kind"]
    stage = int(s["strategy"][5]) if s["strategy"] != "dp" else 0
    assert kinds["parameters"] == 2 * count // (n if stage == 3 else 1), (s["strategy"], kinds)
    assert kinds["optimizer"] == 12 * count // (n if stage >= 1 else 1), (s["strategy"], kinds)
    if stage == 0:
        assert kinds["gradients"] == size * count, (s["strategy"], kinds)
    assert sum(kinds.values()) == max(s["memory"]["peak_bytes"]), s["strategy"]
PY
}

for n in 2 4 8; do
    for reduce in 4:float32 2:bfloat16; do
        shardsim plan --json -s mesh.dp=$n -s types.reduce=${reduce#*:} "$tmp/mlp.yaml"
        is 0 "$n devices, reduced in ${reduce#*:}: planned"
        volumes $n 1 ${reduce%:*} plan
        memory $n ${reduce%:*} plan
    done
done
for reduce in 4:float32 2:bfloat16; do
    for m in 1 4; do
        shardsim run -q --json -s types.reduce=${reduce#*:} -s batch.microbatches=$m "$tmp/mlp.yaml"
        is 0 "reduced in ${reduce#*:}, $m microbatches: executed, as without sharding"
        volumes 4 $m ${reduce%:*} run
    done
done

# A search for the fewest bytes reduces gradients in the asked type, too.  The batch is so large that
# moving gradients costs less than moving activations.
for reduce in 4:float32 2:bfloat16; do
    shardsim run -q --json -s placement=search -s batch.size=64 -s types.reduce=${reduce#*:} \
        "$tmp/mlp.yaml"
    is 0 "reduced in ${reduce#*:}, placed by a search: executed"
    holds "reduced in ${reduce#*:}, placed by a search: that many bytes" <<PY
n, size, count = 4, ${reduce%:*}, 4 * 32 * 64
got = {s["strategy"]: s["received_bytes"]["by_op"] for s in r}
assert got["dp"]["all-reduce"] == 2 * (n - 1) * size * count + 24, got
assert got["zero-1"]["reduce-scatter"] == (n - 1) * size * count, got
assert got["zero-1"]["all-gather"] == (n - 1) * 2 * count, got
PY
done

# The update changes the master; the parameter that is kept has its own type.
holds "masters and moments are results beside the parameters" <<'PY'
for s in r:
    state = s["verify"]["state"]
    assert len(state) == 4 * 4, state
    assert sum(name.startswith("opt/master/") for name in state) == 4
    losses = [s["training"]["losses"], r[0]["training"]["losses"]]
    assert all(abs(a - b) <= 1e-2 * abs(b) for a, b in zip(*losses)), losses
PY

# Masters keep what 16 bits lose: an update of a thousandth of a parameter.
for kind in float32:float32 bfloat16:float32 bfloat16:bfloat16; do
    shardsim run -q --json -S dp -s mesh.dp=1 -s tolerance=null -s model.dtype=${kind%:*} \
        -s types.parameters=${kind#*:} -s steps=30 -s optimizer.lr=1e-4 -s optimizer.weight_decay=0 \
        "$tmp/mlp.yaml"
    is 0 "30 small steps, computed in ${kind%:*}, updated in ${kind#*:}"
    cp "$tmp/out" "$tmp/${kind%:*}-${kind#*:}"
done
holds "small updates are not lost where masters are float32" <<PY
def moved(file):
    with open("$tmp/" + file, encoding="utf-8") as f:
        return json.load(f)["training"]["losses"]
exact, masters, pure = map(moved, ("float32-float32", "bfloat16-float32", "bfloat16-bfloat16"))
off = [max(abs(a - b) for a, b in zip(exact, x)) for x in (masters, pure)]
assert off[0] < off[1] / 2, off
PY

# Other combinations: masters of float64, moments of bfloat16, sums in bfloat16.
shardsim run -q -s model.dtype=float32 -s types.parameters=float64 -s types.moments=bfloat16 \
    -s batch.microbatches=2 -s tolerance=0.05 "$tmp/mlp.yaml"
is 0 "float64 masters of float32 parameters, with moments of bfloat16"
shardsim run -q -s types.gradients=bfloat16 -s types.reduce=compute -s batch.microbatches=2 \
    "$tmp/mlp.yaml"
is 0 "gradients summed and combined in bfloat16"

# Random combinations of types, ZeRO, pipelines, microbatches, recomputation and scales.
python3 - "$tmp/mlp.yaml" >"$tmp/random.yaml" <<PY
import random, sys
draw = random.Random(20261122)
floats = ["float32", "float64", "bfloat16", "float16"]
with open(sys.argv[1], encoding="utf-8") as f:
    print(f.read().split("strategies:")[0].replace("0.15", "0.5") + "strategies:")
for i in range(int("$NRANDOM")):
    parameters = draw.choice(floats[:2])
    # A second moment, of squares, underflows in float16, and an update divided by 0 tests nothing.
    types = ["moments: " + draw.choice(floats[:3])]
    types += ["%s: %s" % (what, draw.choice(floats + ["compute"])) for what in ("gradients", "reduce")]
    pipeline = draw.choice(["", "", "GPipe", "1F1B", "ZBH1"])
    lines = ["name: random-%d" % i,
             "mesh: {pp: %d, dp: %d}" % (2 if pipeline else 1, draw.choice([1, 2, 4])),
             "pipeline: {axis: %s}" % ("pp, schedule: " + pipeline if pipeline else "null"),
             "model: {dtype: %s}" % draw.choice(floats),
             "types: {parameters: %s, %s}" % (parameters, ", ".join(types)),
             "batch: {microbatches: %d}" % draw.choice([1, 2, 4]),
             "zero: {stage: %d, axis: dp}" % draw.randrange(4),
             "recompute: %s" % draw.choice(["none", "full"]),
             "placement: %s" % draw.choice(["follow", "search"]),
             "optimizer: {kind: %s, lr: 0.001, warmup: 1, decay: cosine, momentum: %s}"
             % (draw.choice(["sgd", "adamw"]), draw.choice(["0.5", "0"])),
             "loss_scale: {kind: %s, initial: %d, growth_interval: 1}"
             % (draw.choice(["none", "static", "dynamic"]), draw.choice([1, 16]))]
    print("  - {%s}" % ", ".join(lines))
PY
shardsim plan --json "$tmp/random.yaml"
is 0 "seed 20261122: planned"
cp "$tmp/out" "$tmp/planned"
shardsim run -q --json "$tmp/random.yaml"
is 0 "seed 20261122: executed, as without sharding"
holds "seed 20261122: each verified, with the plan's bytes and peak memory" <<PY
with open("$tmp/planned", encoding="utf-8") as f:
    plans = json.load(f)
assert len(r) == len(plans) == $NRANDOM
for s, p in zip(r, plans):
    assert s["verify"]["ok"] and s["verify"]["steps"] > 0, s["strategy"]
    assert s["received_bytes"] == p["received_bytes"], s["strategy"]
    assert s["memory"] == p["memory"], s["strategy"]
    assert all(float(x) == float(x) for x in s["training"]["losses"]), s["strategy"]
PY

# A loss scale that is too large at first: steps are skipped until enough halvings.
shardsim run -q --json -s model.dtype=float16 -s 'loss_scale={kind: dynamic, initial: 1048576}' \
    -s steps=10 -s tolerance=null "$tmp/mlp.yaml"
is 0 "float16 with a dynamic loss scale: executed"
holds "float16: steps are skipped until the scale fits, and by all layouts alike" <<'PY'
import math
for s in r:
    norms = [float(x) for x in s["training"]["grad_norms"]]
    good = [math.isfinite(x) for x in norms]
    assert 0 < good.index(True) < 10 and all(good[good.index(True):]), norms
    first = [float(x) for x in r[0]["training"]["grad_norms"]]
    assert good == [math.isfinite(x) for x in first], (s["strategy"], norms, first)
PY

# A parameter that no op reads, as u: its next value is computed from its master copy alone.
cat >"$tmp/unread.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
graph:
  dims: {b: 4, d: 6}
  inputs: {x: [b, d]}
  params: {w: [d], u: [d]}
  ops: ["y[] = sum(mul(x[b,d], w))"]
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: bfloat16}
axes: {b: dp}
params: [[.*, []]]
YAML
shardsim run -q --json "$tmp/unread.yaml"
is 0 "a parameter with a master copy that no op reads: executed"
holds "a parameter that no op reads: verified" <<'PY'
assert r["verify"]["ok"], r["verify"]
PY

shardsim plan -S dp -s 'step=[forward, backward]' -s optimizer.kind=none -s steps=1 \
    -s optimizer.decay=constant -s loss_scale.kind=static "$tmp/mlp.yaml"
is 2 "types and a loss scale without an update: status 2"
says err 'master parameters need an update' "masters without an update: said"
says err 'loss scaling needs an update' "a loss scale without an update: said"
shardsim plan -S dp -s types.parameters=bfloat16 -s loss_scale.kind=dynamic "$tmp/mlp.yaml"
is 2 "a loss scale for parameters of 16 bits: status 2"
says err 'loss scaling with parameters in bfloat16' "a loss scale for 16 bits: said"
done_testing
