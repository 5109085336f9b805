#!/bin/sh
# Tests planned memory of the first stage of Megatron's four models against the formulas of
# Korthikanti et al., "Reducing activation recomputation in large transformer models" (arXiv
# 2205.05198): 18 bytes for each of 12 L h^2 parameters, and activations by equation 2 (tensor
# parallelism) and by equation 4 (with sequence parallelism and selective recomputation), within
# 0.01 %.  Terms that only the paper or only this program has are added by name.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# write NAME HIDDEN LAYERS HEADS PP VIRTUAL MICROBATCH MICROBATCHES: a model of the paper's table 3,
# without embedding and head.
write() {
    cat >"$tmp/$1.yaml" <<YAML
version: 1
mesh: {pp: $5, tp: 8}
model: {kind: block, norm: layer, d_model: $2, d_ff: $((4 * $2)), layers: $3, heads: $4,
        dtype: bfloat16, attention: unfused}
batch: {size: $(($7 * $8)), seq: 2048, microbatches: $8}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32, gradients: parameters}
pipeline: {axis: pp, schedule: $([ "$6" -gt 1 ] && echo "Interleaved1F1B, stages_per_rank: $6" || echo 1F1B)}
params:
  - [attn/(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
strategies:
  - {name: tensor, constraints: [['out$', []]]}
  - name: sequence
    constraints: [['out$', [null, tp]]]
    axes: {seq: tp}
    recompute: selective
YAML
}

# Plan the model, and with one more layer per stage: the difference is free of the rest of the
# memory at the peak.  The op scenario.plan of query does not search for other placements, which
# takes long here.
try() {
    name=$1 hidden=$2 layers=$3 heads=$4 pp=$5 virtual=$6 microbatch=$7
    for n in "$layers" $((layers + pp * virtual)); do
        write "$1" "$2" "$n" "$4" "$5" "$6" "$7" "$8"
        python3 -c 'import json, sys
print(json.dumps({"id": 1, "op": "scenario.plan", "in": {"yaml": open(sys.argv[1]).read()}}))' \
            "$tmp/$name.yaml" >"$tmp/question"
        shardsim query <"$tmp/question"
        is 0 "$name: $n layers planned"
        cp "$tmp/out" "$tmp/planned_$n"
    done
    holds "$name: parameters and optimizer, and activations of both equations, are the formulas'" <<PY
s, b, h, a, t = 2048, $microbatch, $hidden, $heads, 8
L, p, v = $layers, $pp, $virtual
few, more = ({x["strategy"]: x["memory"] for x in json.load(open("$tmp/planned_%d" % n))["out"]}
             for n in (L, L + p * v))

def first(memory, kind):  # for the first rank of the pipeline
    return memory.get("by_rank", [memory])[0]["by_kind"][kind]

def of_layers(strategy, kind):  # for all layers of the rank
    return (first(more[strategy], kind) - first(few[strategy], kind)) * L // (p * v)

def close(got, want):
    assert abs(got / want - 1) < 1e-4, (got, want, got / want - 1)

# Two norms with a scale and a bias each are replicated on each device.
stay = sum(of_layers("tensor", kind) for kind in ("parameters", "optimizer"))
stay += of_layers("tensor", "gradients")
close(stay - 18 * 4 * h * L // p, 18 * 12 * L * h * h // (p * t))

# The activations of layers alive on the first rank, over all microbatches that it holds.
alive = L if v == 1 else L * (1 + (p - 1) / (p * v))
sbh, assb = s * b * h, a * s * s * b
masks = 2 * sbh                # of dropout behind attention and mlp, which is not modelled
dropped = 3 * assb // t        # of dropout on the softmax (mask and result), which is not modelled
deviations = 2 * 2 * s * b     # an inverse deviation per token of both norms, which the paper leaves out
sums = 2 * a * s * b // t      # a sum per row of the softmax, which the paper leaves out
close(of_layers("tensor", "activations") + alive * (masks + dropped - deviations - sums),
      alive * (sbh * (10 + 24 / t) + 5 * assb / t))
close(of_layers("sequence", "activations") + alive * (masks - deviations) / t, alive * 34 * sbh / t)
PY
}
# With several microbatches (here two in the place of one) sums of gradients exist all the time.
try 22b 6144 48 64 1 1 4 2
# The larger models run the same code, so one suffices under a sanitizer.
if ! small_size; then
    try 175b 12288 96 96 8 3 1 64
    try 530b 20480 105 128 35 3 1 280
    try 1t 25600 128 160 64 1 1 512
fi
done_testing
