#!/bin/sh
# Tests offload: what lies on the host changes no number, is copied and held there as planned, byte by
# byte and by formulas of its own, costs time at the rate of the link, and is refused where it cannot be.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/kinds.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: llama3, layers: 3, d_model: 32, d_ff: 64, heads: 4, kv_heads: 2, vocab: 64, dtype: bfloat16}
batch: {size: 8, seq: 8}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
types: {parameters: float32, gradients: compute, reduce: compute}
params: [[.*, []]]
axes: {batch: dp}
steps: 2
hardware: h100-sxm
strategies:
  - {name: none, zero: {stage: 1, axis: dp}}
  - {name: optimizer, zero: {stage: 1, axis: dp}, offload: {optimizer: 1}}
  - {name: no-zero, offload: {optimizer: 1}}
  - {name: half, zero: {stage: 2, axis: dp}, batch: {microbatches: 2}, offload: {optimizer: 0.5}}
  - {name: no-master, model: {dtype: float32}, types: {parameters: compute}, offload: {optimizer: 1}}
  - {name: kept, zero: {stage: 3, axis: dp}, recompute: full}
  - {name: layers, zero: {stage: 3, axis: dp}, recompute: full, offload: {activations: [residual], layers: 2}}
  - {name: inputs, zero: {stage: 3, axis: dp}, recompute: full, offload: {activations: all}}
  - {name: infinity, zero: {stage: 3, axis: dp}, offload: {activations: all, optimizer: 1, parameters: true, prefetch: 2}}
  - {name: when-wanted, zero: {stage: 3, axis: dp, prefetch: 0}, offload: {activations: all, parameters: true, prefetch: 0}}
  - {name: parameters, offload: {parameters: true}}
  - name: pipeline
    mesh: {pp: 2, dp: 2}
    model: {layers: 4}
    pipeline: {axis: pp}
    zero: {stage: 2, axis: dp}
    batch: {microbatches: 4}
    offload: {activations: all, optimizer: 1}
  - name: zero-bubble
    mesh: {pp: 2, dp: 2}
    model: {layers: 4}
    pipeline: {axis: pp, schedule: ZB-H1}
    batch: {microbatches: 2}
    offload: {activations: all, optimizer: 1, parameters: true}
  - name: tensor
    mesh: {dp: 2, tp: 2}
    params: [['(q|k|v|gate|up)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
    zero: {stage: 3, axis: dp}
    recompute: {kind: selective}
    offload: {activations: ['attn/', 'mlp/'], optimizer: 0.3, parameters: true}
  - name: experts
    model: {kind: mixtral, layers: 2}
    moe: {experts: 4, top_k: 2, d_ff: 16, routing: learned}
    params: [['moe/(gate|up|down)/kernel', [dp]], [.*, []]]
    offload: {activations: all, optimizer: 1}
YAML

shardsim run --json --quiet "$tmp/kinds.yaml"
is 0 "all kinds: run"
mv "$tmp/out" "$tmp/run.json"
shardsim plan --json "$tmp/kinds.yaml"
is 0 "all kinds: plan"
mv "$tmp/out" "$tmp/plan.json"
cat >"$tmp/look.py" <<'PY'
import json, sys

run, plan = ({s["strategy"]: s for s in json.load(open(f))} for f in sys.argv[1:])


def each(value):
    """A list by device, also where the plan has classes of devices."""
    return [v for v in value for v in ([v["value"]] * v["devices"] if isinstance(v, dict) else [v])]


def tell(good, what):
    print("ok" if good else "not ok", what)


def host(side, name, key):
    return each(side[name]["host"][key])


offloaded = [n for n in run if "host" in run[n]]
tell(set(run) - set(offloaded) == {"none", "kept"}, "the host is told of where something is there")
for name in run:
    r, p = run[name], plan[name]
    tell(r["verify"]["ok"], name + ": as unsharded")
    tell(each(r["memory"]["peak_bytes"]) == each(p["memory"]["peak_bytes"]), name + ": device memory as planned")
for name in offloaded:
    for key in ("peak_bytes", "to_host_bytes", "from_host_bytes"):
        tell(host(run, name, key) == host(plan, name, key), "%s: host's %s as planned" % (name, key))
        tell(min(host(run, name, key)) > 0, "%s: host's %s is some" % (name, key))

# A step is what a device computes, what it waits for, and what comes behind its last work.
PARTS = ("busy", "exposed_communication", "exposed_host", "waiting", "idle")
for name in offloaded:
    t = run[name]["time"]["replayed"]
    by_device = zip(*(t["per_device"][part + "_seconds"] for part in PARTS))
    tell(all(abs(sum(parts) - t["step_seconds"]) < 1e-8 for parts in by_device), name + ": parts add up to the step")
    t = plan[name]["time"]["modelled"]
    parts = ("compute", "update", "exposed_communication", "exposed_host", "waiting")
    tell(abs(sum(t[part + "_seconds"] for part in parts) - t["step_seconds"]) < 1e-8,
         name + ": modelled parts add up to the step")

# The parameters of the model, and formulas: 2 bytes a parameter down (gradients, bfloat16) and 2 up
# (parameters), besides one number, the clip's; 12 on the host (float32 master and two moments).
d, ff, heads, kv, head, vocab, layers = 32, 64, 4, 2, 8, 64, 3
P = vocab * d * 2 + d + layers * (2 * d + d * head * (2 * heads + 2 * kv) + 3 * d * ff)
N = 4
f = run["optimizer"]["host"]
tell(f["to_host_bytes"] == [2 * P // N + 4] * N, "optimizer: 2 bytes a parameter go to the host")
tell(f["from_host_bytes"] == [2 * P // N] * N, "optimizer: 2 bytes a parameter come back")
tell(all(12 * P // N < b < 12 * P // N * 1.3 for b in f["peak_bytes"]), "optimizer: 12 bytes a parameter lie there")
f = run["no-zero"]["host"]
tell(f["to_host_bytes"] == [2 * P + 4] * N, "no ZeRO: the same of each device")
f = run["no-master"]["host"]
tell(f["to_host_bytes"] == [8 * P] * N and f["from_host_bytes"] == [4 * P] * N,
     "no master copies: the parameter goes down with its gradient")
saved = run["none"]["figures"]["peak_memory_bytes_most"] - run["optimizer"]["figures"]["peak_memory_bytes_most"]
tell(saved > 0, "optimizer: the device has room")

# With all of a layer computed again the backward phase reads its input: tokens x width in 2 bytes.
# The first two layers end in the inputs of two.
tokens = 8 * 8 // N
f = run["layers"]["host"]
tell(f["to_host_bytes"] == f["from_host_bytes"] == [2 * tokens * d * 2] * N, "two layers: their bytes go and come")
tell(f["peak_bytes"] == [2 * tokens * d * 2] * N, "two layers: the host keeps both")
f = run["inputs"]["host"]
tell(f["to_host_bytes"] == f["from_host_bytes"] and f["to_host_bytes"] > run["layers"]["host"]["to_host_bytes"],
     "inputs: what goes comes back")

# Parameters come for each phase: 2 bytes of each shard, twice; new ones go where they are.
f = run["infinity"]["host"]
tell(all(b >= 2 * 2 * P // N for b in f["from_host_bytes"]), "infinity: parameters come for both phases")
tell(run["when-wanted"]["figures"]["peak_memory_bytes_most"] < run["kept"]["figures"]["peak_memory_bytes_most"] * 2,
     "when wanted: less memory than all that is kept")
PY
python3 "$tmp/look.py" "$tmp/run.json" "$tmp/plan.json" >"$tmp/looked" 2>"$tmp/err"
ok $? "results: read"
while read -r verdict what; do
    [ "$verdict" = ok ]
    ok $? "$what"
done <"$tmp/looked"

# Times: a link that is slower hides less, and the step never ends before the link has carried all.
cat >"$tmp/times.py" <<'PY'
import json, sys

fast, slow = ({s["strategy"]: s["figures"] for s in json.load(open(f))} for f in sys.argv[1:3])
rate = float(sys.argv[3])
good = sum(key.startswith("modelled_") and "host" in key for key in slow["none"]) == 0
for name in ("optimizer", "inputs", "infinity"):
    f, s = fast[name], slow[name]
    good &= s["modelled_step_seconds"] >= max(s["to_host_bytes_most"], s["from_host_bytes_most"]) / rate
    good &= s["modelled_to_host_seconds"] >= s["to_host_bytes_most"] / rate * 0.999
    good &= s["modelled_exposed_host_seconds"] > f["modelled_exposed_host_seconds"]
    good &= s["modelled_step_seconds"] > f["modelled_step_seconds"]
    good &= s["to_host_bytes_most"] == f["to_host_bytes_most"]
sys.exit(not good)
PY
for strategy in none optimizer inputs infinity; do
    shardsim plan --json "$tmp/kinds.yaml" -S $strategy
    mv "$tmp/out" "$tmp/fast-$strategy.json"
    shardsim plan --json "$tmp/kinds.yaml" -S $strategy -s hardware.host.to_host=1MB/s -s hardware.host.from_host=1MB/s
    mv "$tmp/out" "$tmp/slow-$strategy.json"
done
for speed in fast slow; do
    python3 -c 'import json, sys
print(json.dumps([s for f in sys.argv[1:] for d in [json.load(open(f))] for s in (d if isinstance(d, list) else [d])]))' \
        "$tmp/$speed"-*.json >"$tmp/$speed.json"
done
python3 "$tmp/times.py" "$tmp/fast.json" "$tmp/slow.json" 1e6
ok $? "times: no more overlaps than the link carries"
shardsim plan "$tmp/kinds.yaml" -S optimizer -s hardware.host.memory=1KiB
is 1 "memory of the host: does not fit: status 1"
says out ' of the 1.00 KiB of a node.s 4 devices: does not fit$' "memory of the host: said"
shardsim plan "$tmp/kinds.yaml" -S optimizer
says out '^host  *at most [0-9.]* KiB of its memory per device$' "report: the host's memory"
says out '^  to host  *[0-9.]* KiB a device: gradients [0-9.]* KiB' "report: what goes to the host"
shardsim explain "$tmp/kinds.yaml" -S layers --op 192
says out 'waits on the host for the backward phase$' "explain: why an array is copied"
shardsim trace "$tmp/kinds.yaml" -S infinity --plan
says out '"from host"' "trace: a thread of what comes from the host"

# bad WHAT PATTERN ARGUMENT...: plan refuses the arguments.
bad() {
    what=$1
    pattern=$2
    shift 2
    shardsim plan "$tmp/kinds.yaml" -S none "$@"
    is 2 "$what: status 2"
    tr -s '\n ' '  ' <"$tmp/err" >"$tmp/line"
    says line "$pattern" "$what: said"
}

bad "a cluster without a host" \
    'offload.optimizer: the file of h800-sxm has no section host, which needs the keys memory, devices, to_host, from_host, memory_rate, flops' \
    -s offload.optimizer=1 -s hardware=h800-sxm
bad "a pattern of nothing" "offload.activations 'mlp/gaet' matches no value .*did you mean 'mlp/gate'" \
    -s 'offload.activations=[mlp/gaet]'
bad "no word" 'offload.activations is .some.; expected none, all, or a list of patterns' -s offload.activations=some
bad "layers of nothing" 'error: offload.layers without offloaded activations' \
    -s offload.layers=2
bad "more than all" 'offload.optimizer is .2.; expected' -s offload.optimizer=2
bad "no state" 'offload.optimizer needs optimizer state' -s offload.optimizer=1 -s optimizer.kind=sgd \
    -s types.parameters=compute
bad "no update" 'offloading parameters needs an update' -s offload.parameters=true \
    -s 'step=[forward, backward]' -s optimizer.kind=none -s zero.stage=0 -s steps=1
shardsim search "$tmp/kinds.yaml" -S optimizer
is 2 "search: status 2"
tr -s '\n ' '  ' <"$tmp/err" >"$tmp/line"
says line 'search does not support offload.optimizer' "search: said"
shardsim export "$tmp/kinds.yaml" -S optimizer --to jax
tr -s '\n ' '  ' <"$tmp/err" >"$tmp/line"
says line "code for jax cannot express offload to host memory; expected no offload.optimizer" "export: said"

# Other systems: what a job offloads is read, and written again.
cat >"$tmp/job.sh" <<'SH'
torchrun --nnodes 1 --nproc-per-node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 \
    --ffn-hidden-size 128 --swiglu --seq-length 32 --max-position-embeddings 32 --micro-batch-size 1 \
    --global-batch-size 4 --vocab-size 256 --bf16 --lr 1e-4 --train-iters 10 --use-distributed-optimizer \
    --position-embedding-type rope --normalization RMSNorm --disable-bias-linear \
    --optimizer-cpu-offload --optimizer-offload-fraction 0.5 --cpu-offloading-num-layers 3 \
    --use-precision-aware-optimizer --overlap-cpu-optimizer-d2h-h2d
SH
shardsim import --from megatron "$tmp/job.sh"
is 0 "import: a job of Megatron-LM"
says out '^offload: {activations: all, layers: 3, optimizer: 0.5}$' "import: what it offloads"
mv "$tmp/out" "$tmp/job.yaml"
shardsim export "$tmp/job.yaml" --to megatron
says out '--cpu-offloading-num-layers 3' "export: layers"
says out '--optimizer-offload-fraction 0.5' "export: the optimizer's part"
shardsim plan "$tmp/job.yaml" -s hardware=a100-sxm
is 0 "import: planned"
# fine MODULES: the job with these modules in place of layers, and all bytes that its plan has on the host.
fine() {
    sed "s/--cpu-offloading-num-layers 3/--fine-grained-activation-offloading --offload-modules $1/" \
        "$tmp/job.sh" >"$tmp/fine.sh"
    shardsim import --from megatron "$tmp/fine.sh"
    is "${2:-0}" "import: modules of activations: $1"
    mv "$tmp/out" "$tmp/fine.yaml"
}
fine 'core_attn attn_norm'
says fine.yaml "activations: ..attn/(q|k)/rope\$', 'attn/v\$', 'residual2\$'., optimizer: 0.5}" "import: what these read"
shardsim plan --json "$tmp/fine.yaml" -s hardware=a100-sxm -s offload.optimizer=0
holds "q, k, v and the inputs of four layers go to the host, as Megatron-LM's modules" <<'PY'
assert r["figures"]["to_host_bytes_most"] == 4 * (3 + 1) * 32 * 64 * 2, r["figures"]
PY
fine 'core_attn expert_fc1'
says fine.yaml "'attn/v\$'., optimizer" "import: experts that are not there have no inputs"
fine attention 2
says err "unknown module 'attention'; expected some of attn_norm" "import: unknown modules are said"
shardsim export "$tmp/kinds.yaml" -S inputs --to torchtitan
is 2 "export: torchtitan offloads all or nothing: status 2"
tr -s '\n ' '  ' <"$tmp/err" >"$tmp/line"
says line 'expected offload.optimizer 1, offload.parameters true' "export: torchtitan: said"
shardsim export "$tmp/kinds.yaml" -S kept -s offload.optimizer=1 -s offload.parameters=true \
    -s types.gradients=parameters -s types.reduce=parameters --to torchtitan
says out '^enable_cpu_offload = true$' "export: torchtitan: all"

# docs/offload.md: its table is the program's.
shardsim plan --json "$top_srcdir/docs/offload.yaml"
python3 "$top_srcdir/docs/offload_table.py" <"$tmp/out" >"$tmp/table"
grep '^|' "$top_srcdir/docs/offload.md" >"$tmp/shown"
cmp -s "$tmp/table" "$tmp/shown"
ok $? "docs: the table is what is planned"
done_testing
