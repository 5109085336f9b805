#!/bin/sh
# Tests modelled steps on clusters of round numbers, whose step times are worked out by hand.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# hardware NAME [SOFTWARE]: products run at 1 TFLOP/s, all other ops take no time, links carry 1
# GB/s.
hardware() {
    name=$1
    shift
    {
        echo 'version: 1'
        echo "name: $name"
        echo 'source: round numbers'
        echo 'rates: {float32: 1TFLOP/s}'
        echo 'memory: {size: 80GiB, rate: 1000000GB/s}'
        echo "kernels: {launch: 0s, matmul_efficiency: 1, half_k: 0, memory_efficiency: 1,"
        echo "          attention_efficiency: 1, attention_backward_efficiency: 1${spread:-}}"
        echo "tiers: [{name: wire, rate: 1GB/s, latency: ${latency:-0s}, step: 0s}]"
        [ $# -eq 0 ] || echo "software: {$1}"
    } >"$tmp/$name.yaml"
}

# mlp HARDWARE MESH: plan an MLP of two layers, 64 x 128 tokens, widths 512 and 2048.
mlp() {
    {
        echo 'version: 1'
        echo "hardware: ./$1.yaml"
        echo "mesh: $2"
        echo 'model: {kind: mlp, d_model: 512, d_ff: 2048, layers: 2}'
        echo 'batch: {size: 64, seq: 128}'
        echo 'step: [forward, backward]'
        cat
    } >"$tmp/mlp.yaml"
    shardsim plan --json "$tmp/mlp.yaml"
}

cat >"$tmp/known.py" <<'PY'
T, D, F, LAYERS = 64 * 128, 512, 2048, 2
PRODUCT = 2 * T * D * F / 1e12  # seconds of one of the products of a layer
ALL = PRODUCT * 6 * LAYERS      # two products forward, four backward
ARRAY = T * D * 4 / 1e9         # seconds of an array of activations on a wire
def near(a, b, off=1e-4):
    assert abs(a - b) <= off * max(abs(a), abs(b)) + 1e-6, (a, b)
def modelled(r):
    m = r["time"]["modelled"]
    near(m["step_seconds"], m["compute_seconds"] + m["update_seconds"] +
         m["exposed_communication_seconds"] + m["waiting_seconds"])
    return m
PY

check() {
    {
        cat "$tmp/known.py"
        cat
    } >"$tmp/body"
    holds "$1" <"$tmp/body"
}

hardware plain
mlp plain '{tp: 1}' <<'Y'
params: [[.*, []]]
Y
is 0 "one device is planned"
check "one device: the products, one after the other" <<'PY'
m = modelled(r)
near(m["step_seconds"], ALL)
near(m["matmul_seconds"], ALL)
near(m["mfu"], 1, 0.01)
assert m["extrapolated"] is True and m["expected_error"] is None
PY

mlp plain '{tp: 4}' <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
Y
check "tensor parallel: a quarter of the work, and an all-reduce where a product needs it" <<'PY'
m = modelled(r)
near(m["matmul_seconds"], ALL / 4)
# Two all-reduces forward and two backward; the gradients of the weights are computed beside the
# latter.
ring = 2 * 3 / 4 * ARRAY
near(m["exposed_communication_seconds"], 4 * ring - 2 * min(ring, PRODUCT / 4))
near(m["step_seconds"], ALL / 4 + m["exposed_communication_seconds"])
PY

hardware waits 'waits_for_collectives: true'
mlp waits '{tp: 4}' <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
Y
check "software that waits for each collective hides none of them" <<'PY'
m = modelled(r)
near(m["exposed_by_axes"]["tp"], 4 * 2 * 3 / 4 * ARRAY)
PY

# Gathers of tokens and reduce-scatters of products travel piece by piece beside the products, where
# software does that.  In a forward phase nothing else runs beside them.
for case in plain: beside:'overlaps_products: true'; do
    name=${case%%:*}
    software=${case#*:} && hardware "$name" ${software:+"$software"}
    mlp "$name" '{tp: 4}' >/dev/null <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
axes: {seq: tp}
constraints: [[mlp/(in|out)$, [null, tp]], [mlp/hidden, [null, null, tp]]]
Y
    for rate in 1 10; do
        shardsim plan --json -s 'step=[forward]' -s "hardware.wire.rate=${rate}GB/s" "$tmp/mlp.yaml"
        is 0 "tokens sharded, $name, $rate GB/s: planned"
        check "tokens sharded, $name, $rate GB/s: what of a collective is exposed" <<PY
ring, hidden = 3 / 4 * ARRAY / $rate, PRODUCT / 4 * 3 / 4
each = max(ring / 4, ring - hidden) if "$name" == "beside" else ring
near(modelled(r)["exposed_by_axes"]["tp"], 4 * each)
PY
    done
done

# Messages between stages travel beside computation where a rank has several stages and software
# does that: then what a rank waits for is the bubble alone.
for case in plain: sending:'overlaps_sends: true'; do
    name=${case%%:*}
    software=${case#*:} && hardware "$name" ${software:+"$software"}
    mlp "$name" '{pp: 2}' >/dev/null <<'Y'
params: [[.*, []]]
pipeline: {axis: pp, schedule: Interleaved1F1B}
Y
    for stages in 1 2; do
        shardsim plan --json -s model.layers=4 -s hardware.wire.rate=10GB/s \
            -s 'step=[forward, backward, update]' -s 'optimizer={kind: sgd}' \
            -s batch.microbatches=8 -s "pipeline.stages_per_rank=$stages" "$tmp/mlp.yaml"
        is 0 "messages, $name, $stages stages a rank: planned"
        cp "$tmp/out" "$tmp/$name$stages.json"
    done
done
holds "messages beside computation: with several stages a rank alone" <<PY
import json
def exposed(name):
    m = json.load(open("$tmp/%s.json" % name))["time"]["modelled"]
    return m["exposed_by_axes"].get("pp", 0), m["step_seconds"]
assert exposed("plain1") == exposed("sending1"), (exposed("plain1"), exposed("sending1"))
assert exposed("sending2")[0] < exposed("plain2")[0] / 3, (exposed("plain2"), exposed("sending2"))
assert exposed("sending2")[1] < exposed("plain2")[1]
PY

# An algorithm is timed by the schedule that executes it, here for n = 4.
for case in direct:1.5 ring:1.5 halving-doubling:1.5 recursive-doubling:2; do
    mlp waits '{tp: 4}' <<Y
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
algorithms: {all-reduce: ${case%:*}}
Y
    check "algorithms: ${case%:*}" <<PY
near(modelled(r)["exposed_by_axes"]["tp"], 4 * ${case#*:} * ARRAY)
PY
done
cat >"$tmp/asked.yaml" <<'Y'
version: 1
hardware: a100-80g-selene
mesh: {dp: 8, tp: 8}
model: {kind: gpt2, d_model: 12288, d_ff: 49152, heads: 96, layers: 12, vocab: 51200, positions: 2048, dtype: bfloat16, attention: unfused}
batch: {size: 64, seq: 2048}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [['(q|k|v|up)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
axes: {batch: dp}
Y
shardsim plan "$tmp/asked.yaml"
says out "expected error at most" "a step of a cluster that was measured: how far it may be off"
shardsim plan "$tmp/asked.yaml" -s 'algorithms={all-reduce: ring}'
says out "extrapolated: algorithms of collectives" "with an algorithm that is asked for: that is not claimed"
shardsim plan "$tmp/asked.yaml" -s zero.stage=3 -s zero.axis=dp
says out "extrapolated: .*ZeRO 3" "with ZeRO 3, which no step there had: that is not claimed"
shardsim plan "$tmp/asked.yaml" -s optimizer.kind=muon -s optimizer.momentum=0.95
says out "extrapolated: matmuls of the optimizer" "with Muon: that is not claimed"
shardsim plan "$tmp/asked.yaml" -s 'linear={key_heads: 96, value_heads: 96, key_dim: 128, value_dim: 128}' \
    -s "model.layer_types=[$(yes delta, | head -n 11 | tr '\n' ' ')full]"
says out "extrapolated: .*linear attention" "with layers that have a state: that is not claimed"
sed '/^validation:/,$ { s/rows: .*/rows: 3/; }' "$top_srcdir/scenarios/hardware/a100-80g-selene.yaml" >"$tmp/few.yaml"
shardsim plan "$tmp/asked.yaml" -s "hardware=$tmp/few.yaml"
says out "accuracy unknown: only 3 similar measured steps of " "of three steps no error is claimed"

spread=', spread: 0.1' hardware spread
sed -i 's/name: wire, /name: node, devices: 1, rate: 1GB\/s, latency: 0s, step: 0s}, {name: wire, /' "$tmp/spread.yaml"
mlp spread '{tp: 4}' <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
Y
check "many nodes wait for the slowest of them" <<'PY'
import math
near(modelled(r)["matmul_seconds"], ALL / 4 * (1 + 0.1 * math.sqrt(2 * math.log(4))))
PY

latency=1ms hardware far
mlp far '{tp: 4}' <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
Y
check "each collective has its latency" <<'PY'
m = modelled(r)
ring = 1e-3 + 2 * 3 / 4 * ARRAY
near(m["exposed_communication_seconds"], 4 * ring - 2 * min(ring, PRODUCT / 4))
PY

# Gradients of data parallelism are summed beside the backward phase if the software overlaps them.
for overlap in false true; do
    hardware "dp_$overlap" "overlaps_gradients: $overlap"
    mlp "dp_$overlap" '{dp: 4}' <<'Y'
params: [[.*, []]]
axes: {batch: dp}
optimizer: {kind: sgd, lr: 0.1}
step: [forward, backward, update]
Y
    sed -i -e '/^step: .forward, backward.$/d' -e 's/d_model: 512, d_ff: 2048/d_model: 2048, d_ff: 8192/' \
        -e 's/size: 64/size: 256/' "$tmp/mlp.yaml"
    shardsim plan --json "$tmp/mlp.yaml"
    is 0 "data parallel, overlaps_gradients $overlap: planned"
    cp "$tmp/out" "$tmp/$overlap.json"
done
check "gradients that are summed beside the backward phase are hidden, all but the last" <<PY
beside, after = (modelled(json.load(open("$tmp/" + x + ".json"))) for x in ("true", "false"))
ring = 2 * 3 / 4 * 4 * 16 * D * F / 1e9 # seconds of one kernel's sum over a wire; four of them
near(after["exposed_communication_seconds"], 4 * ring, 0.001)
assert beside["exposed_communication_seconds"] < after["exposed_communication_seconds"] * 0.95
near(beside["compute_seconds"], after["compute_seconds"])
# Communication is hidden only while there is other work: the step is no shorter than its transfers
# or its computations.
assert beside["step_seconds"] >= max(4 * ring, 64 * ALL * 11 / 12 / 4) * 0.999  # nobody wants the input's gradient
PY

# A pipeline of equal stages takes (m + p - 1) / m of the work of a rank.
pipeline() {
    cat >"$tmp/pp.yaml" <<Y
version: 1
hardware: ./free.yaml
mesh: {pp: 4}
model: {kind: mlp, d_model: 512, d_ff: 2048, layers: 4}
batch: {size: 64, seq: 128, microbatches: 8}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
pipeline: {axis: pp, schedule: $1}
params: [[.*, []]]
Y
    shardsim plan --json "$tmp/pp.yaml"
}
hardware free
sed -i 's/rate: 1GB/rate: 100000GB/' "$tmp/free.yaml"
for schedule in GPipe 1F1B; do
    pipeline $schedule
    is 0 "$schedule: planned"
    check "$schedule: idle for p - 1 of m + p - 1 microbatches" <<'PY'
m = modelled(r)
# Each stage runs two products forward and four backward.
stage = PRODUCT * 6
near(m["step_seconds"], stage * (8 + 3) / 8, 0.05)
assert m["waiting_seconds"] > 0.2 * m["step_seconds"]
PY
done

mlp nowhere '{tp: 1}' <<'Y'
params: [[.*, []]]
Y
is 2 "a cluster that is not there is refused"
says err 'nowhere.yaml' "and named"
shardsim plan --set hardware=h100 "$scenarios/fsdp.yaml"
is 2 "a name that is not known is refused"
says err "h100-sxm" "with the nearest that is"

# One device is slower than the others.  Where devices wait for their transfers, a step takes the
# computations plus the transfers.
hardware waiting 'waits_for_collectives: true'
slow() {
    mesh=$1
    shift
    mlp waiting "$mesh" <<Y
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
axes: {batch: dp}
straggler: {$*}
Y
}
for mesh in '{dp: 1, tp: 4}' '{dp: 2, tp: 2}'; do
    slow "$mesh" ''
    cp "$tmp/out" "$tmp/even.json"
    for device in 0 3; do
        slow "$mesh" "device: $device, compute: 2"
        check "straggler $device of $mesh: all wait for its computations" <<PY
import json
even = json.load(open("$tmp/even.json"))
even, m = (even[0] if isinstance(even, list) else even)["time"]["modelled"], modelled(r)
assert "straggler" not in even and m["straggler"]["device"] == $device
near(m["straggler"]["step_seconds_without"], even["step_seconds"])
near(m["step_seconds"], even["step_seconds"] + ALL / 4)
PY
    done
    slow "$mesh" 'device: 1, links: 3'
    check "slow links of $mesh: all wait for its transfers" <<PY
import json
even = json.load(open("$tmp/even.json"))
even, m = (even[0] if isinstance(even, list) else even)["time"]["modelled"], modelled(r)
near(m["step_seconds"], 3 * even["step_seconds"] - 2 * ALL / 4)
PY
done
mlp plain '{pp: 2}' <<'Y'
params: [[.*, []]]
pipeline: {axis: pp}
straggler: {device: 1, compute: 2}
Y
check "a slow stage: its own work, and no more" <<'PY'
m = modelled(r)
near(m["step_seconds"] - m["straggler"]["step_seconds_without"], ALL / 2)
PY
slow '{dp: 2, tp: 2}' 'device: 4, compute: 2'
is 2 "a straggler that is not in the mesh is refused"
says err 'device 4 is not in the mesh; expected 0 to 3' "the message names the devices of the mesh"
slow '{dp: 1, tp: 4}' 'compute: 2' # leaves mlp.yaml with a straggler
sed -i /hardware/d "$tmp/mlp.yaml"
shardsim plan "$tmp/mlp.yaml"
is 2 "a straggler without a cluster is refused"
says err 'expected hardware' "with what was expected"

# Stage 3 of ZeRO sums the gradients of each microbatch beside the layers that follow, so that a
# step of eight microbatches takes as long as eight steps of one.
microbatches() {
    shardsim plan --json -s "batch.microbatches=$1" -s "batch.size=$((64 * $1))" "$tmp/fsdp.yaml"
    cp "$tmp/out" "$tmp/step_$1"
}
cat >"$tmp/fsdp.yaml" <<'Y'
version: 1
hardware: h100-sxm
mesh: {dp: 64}
model: {size: llama3-8b, layers: 8, dtype: bfloat16}
batch: {size: 64, seq: 4096}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
axes: {batch: dp}
params: [[.*, []]]
zero: {stage: 3, axis: dp}
Y
microbatches 1
microbatches 8
is 0 "ZeRO 3 in one and in eight microbatches: planned"
holds "ZeRO 3: eight microbatches take as long as eight steps of one" <<PY
import json
one, eight = (json.load(open("$tmp/step_%d" % n))["time"]["modelled"]["step_seconds"] for n in (1, 8))
assert 0.95 * 8 * one <= eight <= 1.01 * 8 * one, (one, eight)
PY

# The scenario names the software, or leaves it to the cluster: what overlaps, the types of gradients,
# and whether the step is like those that were measured.
cat >"$tmp/software.yaml" <<'Y'
version: 1
hardware: ./named.yaml
mesh: {dp: 2}
model: {kind: llama3, d_model: 256, d_ff: 512, layers: 2, heads: 4, vocab: 512, dtype: bfloat16}
batch: {size: 4, seq: 64, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
products: {recipe: tensorwise, amax: local}
axes: {batch: dp}
params: [[.*, []]]
Y
hardware named 'name: megatron'
sed -i 's/float32: 1TFLOP/bfloat16: 1TFLOP\/s, float8_e4m3fn: 2TFLOP\/s, float8_e5m2: 2TFLOP\/s, &/' "$tmp/named.yaml"
# gradients WHAT BYTES [OPTION...]: gradients take BYTES a parameter at their most.
gradients() {
    what=$1 bytes=$2
    shift 2
    shardsim plan --json "$tmp/software.yaml" "$@"
    holds "gradients: $what" <<PY
parameters = r["memory"]["by_kind"]["parameters"] / 2
near = r["memory"]["by_kind"]["gradients"] / parameters
assert $bytes <= near < 1.3 * $bytes, near
PY
}
gradients "in bfloat16 beside products in 8 bits, as the cluster's software has them" 2
gradients "in float32 beside products in 16 bits" 4 -s products.recipe=none
gradients "in float32 by the software of the scenario" 4 -s software=fsdp2
gradients "in bfloat16 by the software of the scenario" 2 -s software=jax -s products.recipe=none
gradients "as types say" 4 -s types.gradients=float32
gradients "as types say of their sums over devices" 4 -s types.reduce=float32
shardsim plan "$tmp/software.yaml" -s hardware=b200 -s software=fsdp2
says out 'the software; accuracy unknown' "another software than was measured is said"
shardsim plan "$tmp/software.yaml" -s hardware=b200 -s software=megatron
! grep -q 'the software' "$tmp/out"
ok $? "and the same is not"
shardsim plan "$tmp/software.yaml" -s software=megatorn
is 2 "software of no such name"
says err "software is 'megatorn'; expected one of cluster, megatron, .*did you mean 'megatron'" "which there is"

# explain --roofline says what bounds each op.
hardware plain
mlp plain '{tp: 4}' <<'Y'
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
Y
shardsim explain --roofline "$tmp/mlp.yaml"
is 0 "--roofline: told"
says out 'compute$' "what is bound by the rate of flops"
says out 'network$' "and by the network"
cp "$tmp/out" "$tmp/roofline"
shardsim explain --roofline --json "$tmp/mlp.yaml"
is 0 "--roofline --json: told"
python3 - "$tmp/out" "$tmp/roofline" <<'PY' 2>"$tmp/why"
import json, sys
r = json.load(open(sys.argv[1]))
assert list(r) == ["schema", "hardware", "device", "all_seconds", "ops"] and r["schema"] == 1, list(r)
keys = ["name", "kind", "phase", "again", "times", "flops", "bytes", "seconds", "share", "bound_by"]
assert all(list(o) == keys for o in r["ops"])
lines = open(sys.argv[2]).read().split("\n\n")[1].splitlines()[1:]
assert len(lines) == len(r["ops"]) > 3, (len(lines), len(r["ops"]))
unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
for line, o in zip(lines, r["ops"]):
    words = line.split()
    at = max(i for i, w in enumerate(words) if w in unit)
    assert abs(float(words[at - 1]) * unit[words[at]] / o["seconds"] - 1) < 0.01, (line, o)
    assert words[-1] == o["bound_by"] and abs(float(words[at + 1]) - 100 * o["share"]) < 0.06, (line, o)
    assert abs(o["share"] - o["seconds"] * o["times"] / r["all_seconds"]) < 1e-9, o
assert abs(sum(o["share"] for o in r["ops"]) - 1) < 1e-9
assert {"all-reduce", "einsum"} <= {o["kind"] for o in r["ops"]}
assert all(o["bytes"] > 0 for o in r["ops"])
PY
ok $? "--roofline --json: what the table tells, op by op"
diag <"$tmp/why"
shardsim explain --json "$tmp/mlp.yaml"
is 2 "--json without --roofline is refused"
says err 'prints the times of ops; expected --roofline too' "with what was expected"
# Kernels that end before the next can be launched: explain and plan both say that launching bounds
# them.
cat >"$tmp/small.yaml" <<'Y'
version: 1
hardware: h100-sxm
mesh: {dp: 1}
graph:
  dims: {b: 8, d: 256, f: 256}
  inputs: {x: [b, d]}
  ops: ['y[b,d] = gelu(x)']
step: [forward]
Y
shardsim explain --roofline "$tmp/small.yaml"
says out 'gelu .* launch$' "--roofline: a small map is bound by its launch"
shardsim plan -q "$tmp/small.yaml"
says out '^  bound by    launching kernels (100 % of the step)$' "plan: a step of a small map is bound by launches"
sed -i "s/^  ops: .*/  params: {w: [d, f]}\n  ops: ['y[b,f] = einsum(x, w)']\nparams: [[.*, []]]/" "$tmp/small.yaml"
shardsim plan -q -s graph.dims.b=1 "$tmp/small.yaml"
says out 'compute .*: matmuls [1-9].*s, attention 0 s, elementwise 0 s$' "plan: a product of one row is a product"
shardsim plan -q -s graph.dims.b=8192 -s graph.dims.d=8192 -s graph.dims.f=8192 "$tmp/small.yaml"
says out "^  bound by    compute" "plan: a large one is bound by the rate of flops"
sed -i /hardware/d "$tmp/mlp.yaml"
shardsim explain --roofline "$tmp/mlp.yaml"
is 2 "--roofline without a cluster is refused"
says err 'hardware' "with what was expected"
# The report has one verdict on memory, by the nearer limit: the scenario's or the device's.
for case in 60GiB:fits:own 9GiB:'does not fit':own 79GiB:fits:device; do
    limit=${case%%:*} verdict=${case#*:}
    cat >"$tmp/limits.yaml" <<END
version: 1
hardware: h100-sxm
mesh: {dp: 8}
model: {size: llama3-8b, dtype: bfloat16}
batch: {size: 8, seq: 4096}
step: [forward, backward, update]
recompute: full
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
zero: {stage: 3, axis: dp}
limits: {memory: $limit}
END
    shardsim plan -q "$tmp/limits.yaml"
    [ "$(grep -cE ' (fits|does not fit)$' "$tmp/out")" -eq 1 ] &&
        grep -q "^  memory .* of [0-9.]* GiB.*: ${verdict%:*}\$" "$tmp/out"
    ok $? "limits.memory of $limit beside a cluster: one verdict, ${verdict%:*}"
    case $verdict in
        *:own) says out 'limits.memory is the limit: with the runtime' "limits.memory of $limit: it binds" ;;
        *) says out "the device is the limit, not limits.memory, 79.0 GiB" "limits.memory of $limit: the device binds" ;;
    esac
done
done_testing
