#!/bin/sh
# Tests that the text of a result is its JSON in words: tests/report/told.py makes the text anew of what
# --save kept, and it must equal the printed text, for plans of each kind and for executed steps.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
COLUMNS=120 # no table leaves out a column
export COLUMNS

if ! command -v python3 >/dev/null; then
    skip "all" "no python3"
    done_testing
    exit 0
fi

# A cluster of round numbers with measured steps of small and large models.
cluster() {
    cat <<END
version: 1
name: rounds
source: round numbers
rates: {float32: 1TFLOP/s, bfloat16: 2TFLOP/s}
memory: {size: $1, rate: 100GB/s, reserved: 1MiB, fragmentation: $2}
kernels: {launch: 0s, matmul_efficiency: 0.5, memory_efficiency: 0.5, attention_efficiency: 0.5,
          attention_backward_efficiency: 0.5}
tiers: [{name: node, devices: 2, rate: 50GB/s, latency: 2us, step: 1us},
        {name: net, rate: 5GB/s, latency: 9us, step: 3us}]
$3
END
}
all='[16-bit, float32, float8, float4, fused-attention, scores, tensor, context, pipeline,
      replicas, nodes, experts, expert-parallel, zero-1, zero-3, recompute-parts, recompute-layers, offload, frozen]'
sets="validation:
  - {set: few, rows: 3, mape: 0.05, cross_validated_mape: 0.06, parameters_least: 1, parameters_most: 50000,
     devices_least: 1, devices_most: 8, length_most: 4096, claim: 0.12, with: $all}
  - {set: many, rows: 7, mape: 0.01, cross_validated_mape: 0.02, parameters_least: 1, parameters_most: 50000,
     devices_least: 1, devices_most: 8, length_most: 4096, claim: 0.04, with: $all}
  - {set: most, rows: 9, mape: 0.1, cross_validated_mape: 0.12, parameters_least: 1e9, parameters_most: 2e9,
     devices_least: 8, devices_most: 64, length_most: 4096, claim: 0.25, with: $all}"
cluster 80MiB 0 "$sets" >"$tmp/rounds.yaml"
cluster 3MiB 0.1 '' >"$tmp/narrow.yaml"

# told TEXT LIMIT CLUSTER VERBOSE run|plan FILE [ARGUMENT...]: add every strategy of a file to the cases.
# CLUSTER is its memory in MiB, the share of it lost to fragmentation, and whether steps on it were measured.
: >"$tmp/cases"
told() {
    text=$1 limit=$2 cluster=$3 verbose=$4
    shift 4
    rm -f "$tmp/kept"
    shardsim "$@" -q --save="$tmp/kept"
    [ "$status" -le 1 ] && [ ! -s "$tmp/err" ]
    ok $? "$text: status $status"
    mv "$tmp/out" "$tmp/text"
    python3 - "$shardsim" "$tmp" "$limit" "$cluster" "$verbose" <<'PY'
import json, re, subprocess, sys
program, folder, limit, cluster, verbose = sys.argv[1:]
size, fragments, measured = json.loads(cluster)
sets = [dict(set=s, rows=n, error=e, parameters_least=a, parameters_most=b, devices_least=c, devices_most=d)
        for s, n, e, a, b, c, d in (("few", 3, 0.12, 1, 5e4, 1, 8), ("many", 7, 0.04, 1, 5e4, 1, 8),
                                    ("most", 9, 0.25, 1e9, 2e9, 8, 64))]
text = open(folder + "/text", encoding="utf-8").read()
parts = re.split(r"(?m)^(?=t(?:: .*)?$)", text)[1:]
with open(folder + "/cases", "a", encoding="utf-8") as out:
    for n, part in enumerate(parts, 1):
        show = [program, "runs", "show", str(n), "--file=" + folder + "/kept"]
        out.write(json.dumps({
            "text": part, "result": json.loads(subprocess.run(show, capture_output=True, check=True).stdout),
            "limit": int(limit), "tokens": 1024, "verbose": verbose == "-v",
            "cluster": {"reserved": 1 << 20, "size": size << 20, "fragmentation": fragments,
                        "sets": sets if measured else []}}) + "\n")
PY
}

# begin MORE: the begin of every file; 16 x 64 tokens.
begin() {
    printf 'version: 1\nname: t\n'
    printf 'batch: {size: 16, seq: 64%s}\n' "$1"
}

{
    begin
    cat <<'END'
mesh: {dp: 2, tp: 4}
model: {kind: mlp, d_model: 32, d_ff: 128, activation: gelu, layers: 2}
step: [forward, backward]
strategies:
  - {name: one, params: [[mlp/up/kernel, [null, tp]], [mlp/down/kernel, [tp]], [.*, []]], axes: {batch: dp}}
  - {name: idle, params: [[mlp/up/kernel, [null, tp]], [mlp/down/kernel, [tp]], [.*, []]]}
  - {name: none, params: [[.*, []]]}
  - {name: fsdp, params: [[kernel, [dp]], [.*, []]], axes: {batch: [dp, tp]}}
END
} >"$tmp/mlp.yaml"
{
    begin ', microbatches: 2'
    cat <<'END'
mesh: {dp: 8}
model: {kind: transformer, d_model: 32, d_ff: 64, heads: 4, layers: 3, vocab: 128, causal: true}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-3, zero: {stage: 3, axis: dp}, recompute: full}
  - {name: mixed, types: {parameters: float32}, zero: {stage: 2, axis: dp}}
END
} >"$tmp/train.yaml"
{
    begin ', microbatches: 4'
    cat <<'END'
mesh: {pp: 20}
model: {kind: mlp, d_model: 16, d_ff: 32, layers: 80}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
params: [[.*, []]]
strategies:
  - {name: 1f1b, pipeline: {axis: pp, schedule: 1f1b}}
  - {name: middle, pipeline: {axis: pp, schedule: 1f1b,
     layers: [1, 1, 1, 61, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}}
  - {name: interleaved, mesh: {pp: 4}, pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 4}}
END
} >"$tmp/pipeline.yaml"
{
    begin
    cat <<'END'
mesh: {ep: 4}
model: {kind: transformer, layers: 2, d_model: 32, heads: 4, d_ff: 64, vocab: 64, causal: true}
moe: {experts: 8, top_k: 2, d_ff: 64}
step: [forward, backward]
params: [[moe/(up|gate|down)/kernel, [ep]], [.*, []]]
strategies:
  - {name: uniform, moe: {routing: uniform}, axes: {batch: ep}}
  - {name: hot, moe: {routing: hot-expert}, axes: {batch: ep}}
  - {name: ring, params: [[.*, []]], axes: {seq: ep}, context: {axis: ep, method: ring}}
  - {name: zigzag, params: [[.*, []]], axes: {seq: ep}, context: {axis: ep, method: ring, order: zigzag}}
END
} >"$tmp/uneven.yaml"

{
    cat <<'END'
version: 1
name: t
mesh: {dp: 2, tp: 2}
batch: {size: 4, seq: 24}
model: {kind: llama3, d_model: 64, d_ff: 128, layers: 2, heads: 8, kv_heads: 4, vocab: 256}
params: [[(q|k|v|up|gate)/kernel, [null, tp]], [(o|down)/kernel, [tp]], [.*, []]]
axes: {batch: dp}
strategies:
  - {name: prefill, step: [prefill]}
  - {name: decode, step: [decode], decode: {tokens: 3}}
  - {name: cut, step: [decode], mesh: {dp: 1, tp: 2, cp: 2}, context: {axis: cp}}
END
} >"$tmp/serve.yaml"

plain='[0, 0, 0]'
own='[80, 0, 1]'
train=$tmp/train.yaml
told "plans" 0 "$plain" '' plan "$tmp/mlp.yaml"
told "a limit that is kept" 4194304 "$plain" '' plan "$tmp/mlp.yaml" -S idle -s limits.memory=4MiB
told "a limit without a unit" 80 "$plain" '' plan "$tmp/mlp.yaml" -S one -s limits.memory=80
told "training" 0 "$plain" '' plan "$train"
told "training, in full" 0 "$plain" -v plan "$train" -S zero-1 -v
told "on a cluster" 0 "$own" '' plan "$train" -s hardware="$tmp/rounds.yaml"
told "on a cluster, in full" 0 "$own" -v plan "$train" -S zero-3 -v -s hardware="$tmp/rounds.yaml" \
    -s model.d_model=64
told "on a cluster of little memory" 0 '[3, 0.1, 0]' '' plan "$train" -S dp -s hardware="$tmp/narrow.yaml" \
    -s 'straggler={device: 3, compute: 1.5, links: 2}'
told "on a cluster, within a limit" 2000000 '[3, 0.1, 0]' '' plan "$train" -S zero-3 -s model.layers=1 \
    -s hardware="$tmp/narrow.yaml" -s limits.memory=2000000 -s 'straggler={device: 1, links: 3}'
told "on a cluster, beyond a limit" 262144 "$own" '' plan "$train" -S zero-3 -s model.layers=1 \
    -s hardware="$tmp/rounds.yaml" -s limits.memory=256KiB
told "pipelines on a cluster" 0 "$own" '' plan "$tmp/pipeline.yaml" -s hardware="$tmp/rounds.yaml"
told "serving" 0 "$plain" -v plan "$tmp/serve.yaml" -v
told "serving on a cluster" 0 "$own" '' plan "$tmp/serve.yaml" -s hardware="$tmp/rounds.yaml"
told "serving within a limit of few sequences" 1500000 "$plain" '' plan "$tmp/serve.yaml" -S decode \
    -s limits.memory=1500000
told "attention and experts" 0 "$plain" '' plan "$tmp/uneven.yaml"
told "executed" 0 "$plain" '' run "$tmp/mlp.yaml" -S one -s 'mesh={dp: 1, tp: 2}' --repeat=3
told "executed: attention" 0 "$plain" '' run "$tmp/uneven.yaml" -S ring -s model.layers=1
told "executed: experts" 0 "$plain" '' run "$tmp/uneven.yaml" -S hot -s model.layers=1
told "executed: serving" 0 "$plain" '' run "$tmp/serve.yaml" -S cut
told "executed: training" 0 "$plain" '' run "$train" -S zero-1 -s steps=2 -s model.layers=1 -s 'mesh={dp: 2}'
told "executed: training in 16 bits" 0 "$plain" '' run "$train" -S mixed -s model.dtype=bfloat16 \
    -s model.layers=1 -s 'mesh={dp: 2}'

python3 "$top_srcdir/tests/report/told.py" "$tmp/cases" >"$tmp/wrong" 2>&1
ok $? "the texts of $(grep -c . "$tmp/cases") results are their JSON in words"
head -n 12 "$tmp/wrong" | diag
done_testing
