#!/bin/sh
# Tests memory as software keeps it: what lies inside a fused cross-entropy or activation takes none,
# and frozen weights are codes alone; planned and executed, and no result changes.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# A vocabulary so large that a step's peak is in its loss.
cat >"$tmp/loss.yaml" <<'Y'
version: 1
name: loss
mesh: {dp: 2}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 2, heads: 4, vocab: 4096, dtype: bfloat16}
batch: {size: 16, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
axes: {batch: dp}
params: [[.*, []]]
Y
# peak NAME FILE [OPTION...]: keep the planned peak, without parameters and what belongs to them.
peak() {
    name=$1
    shift
    shardsim plan --json "$@"
    cp "$tmp/out" "$tmp/$name.json"
}
# apart WHAT A B BYTES: the activations at the peaks of two plans differ by so many bytes, and a
# few for each token.
apart() {
    python3 - "$tmp/$2.json" "$tmp/$3.json" "$4" <<'PY' >"$tmp/said" 2>&1
import json, sys
a, b = (json.load(open(f))["memory"]["by_kind"]["activations"] for f in sys.argv[1:3])
expected = eval(sys.argv[3])
assert abs(a - b - expected) <= 0.01 * expected, (a, b, a - b, expected)
PY
    ok $? "$1"
    diag <"$tmp/said"
}
peak three "$tmp/loss.yaml"
peak none "$tmp/loss.yaml" -s fused.loss=true
apart "a fused loss has logits of 16 bits in place of three copies in float32" three none \
    '8 * 64 * 4096 * (3 * 4 - 2)'
for option in 'hardware=h100-sxm' 'software=megatron -s hardware=a100-80g-selene'; do
    # The options are words.
    # shellcheck disable=SC2086
    peak cluster "$tmp/loss.yaml" -s $option
    apart "as the software has it: $option" three cluster '8 * 64 * 4096 * (3 * 4 - 2)'
done
peak cluster "$tmp/loss.yaml" -s hardware=a100-80g-selene
apart "as Megatron-LM of 2021 had it" cluster none '8 * 64 * 4096 * (3 * 4 - 2)'
peak cluster "$tmp/loss.yaml" -s hardware=h100-sxm -s fused.loss=false
apart "as the scenario has it" cluster none '8 * 64 * 4096 * (3 * 4 - 2)'

# A loss in chunks: of three copies in float32 and the logits of one chunk each, if they are made again
# none is kept; without its op-by-op copies a fused one has the logits of a chunk and their gradients.
peak chunks "$tmp/loss.yaml" -s fused.loss_chunks=8
apart "a loss in 8 chunks has an eighth of all copies" three chunks '8 * 64 * 4096 * 3 * 4 * 7 // 8'
peak kept "$tmp/loss.yaml" -s fused.loss_chunks=2 -s software=fsdp2 -s hardware=h100-sxm
peak again "$tmp/loss.yaml" -s fused.loss_chunks=2 -s software=jax -s hardware=h100-sxm
python3 - "$tmp" <<'PY'
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
head = 2 * 8 * 64 * 32 * 4096
kept, again, three = (load(n)["flops"][0] for n in ("kept", "again", "three"))
assert head <= again - three <= 1.1 * head, (again, three, head)  # the head's product once more
assert kept - three < 0.2 * head, (kept, three)
PY
ok $? "chunks are made again as the cluster's software does"
cat >"$tmp/head.yaml" <<'Y'
version: 1
name: head
hardware: h100-sxm
mesh: {dp: 8}
model: {kind: llama3, d_model: 4096, d_ff: 128, layers: 1, heads: 32, vocab: 128256, dtype: bfloat16}
batch: {size: 8, seq: 8192}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
axes: {batch: dp}
params: [[.*, []]]
Y
for n in 1 16 256; do
    peak "time$n" "$tmp/head.yaml" -s fused.loss_chunks=$n -s fused.loss=true
done
python3 - "$tmp" <<'PY'
import json, sys
t = [json.load(open(f"{sys.argv[1]}/time{n}.json"))["time"]["modelled"]["step_seconds"] for n in (1, 16, 256)]
products = 3 * 2 * 8192 * 4096 * 128256 / 989e12
# 240 more readings of the head's kernel, 1.05 GB in bfloat16, and twice as much of its gradient
assert t[0] <= t[1] < t[0] + products / 4 < t[2] and t[2] > t[0] + 240 * 3 * 1.05e9 / 3.35e12 / 2, t
PY
ok $? "more chunks take longer: each reads the head's kernel"

# Gated activations: each layer keeps gate, up and the product's operand, and not silu(gate).
for fused in false true; do
    for layers in 8 9; do
        peak "$fused$layers" "$tmp/loss.yaml" -s fused.activation=$fused -s model.layers=$layers \
            -s model.vocab=64 -s model.d_ff=1024 -s fused.loss=true
    done
done
python3 - "$tmp" <<'PY'
import json, sys
at = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))["memory"]["by_kind"]["activations"]
layer = {f: at(f + "9") - at(f + "8") for f in ("false", "true")}
assert layer["false"] - layer["true"] == 8 * 64 * 1024 * 2, layer
PY
ok $? "a fused activation keeps a value of 16 bits fewer a layer"

# Gates in an expert's activation: each layer keeps no result of an expert, 2 rows a token.
experts='-s model.kind=mixtral -s moe.experts=4 -s moe.routing=uniform'
for option in fused.gates=false fused.gates=true software=megatron software=megatron-2021; do
    for layers in 8 9; do
        # The options are words.
        # shellcheck disable=SC2086
        peak "$option$layers" "$tmp/loss.yaml" $experts -s $option -s model.layers=$layers -s model.vocab=64 \
            -s fused.loss=true -s fused.activation=true -s types.gradients=float32
    done
done
python3 - "$tmp" <<'PY'
import json, sys
at = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))["memory"]["by_kind"]["activations"]
apart, one, megatron, old = (at(f + "9") - at(f + "8") for f in
    ("fused.gates=false", "fused.gates=true", "software=megatron", "software=megatron-2021"))
assert apart - one == 8 * 64 * 2 * 32 * 2 and one == megatron and apart == old, (apart, one, megatron, old)
PY
ok $? "gates in the activation: no result of an expert is kept, as Megatron Core has it"

# executes WHAT OPTION...: fused, the step takes the planned memory and its results are right.
executes() {
    what=$1
    shift
    shardsim plan --json "$tmp/loss.yaml" -s fused.loss=true -s fused.activation=true -s model.vocab=128 "$@"
    cp "$tmp/out" "$tmp/planned"
    shardsim run --json "$tmp/loss.yaml" -s fused.loss=true -s fused.activation=true -s model.vocab=128 "$@"
    is 0 "$what: executed"
    python3 - "$tmp/planned" "$tmp/out" <<'PY'
import json, sys
planned, done = (json.load(open(f)) for f in sys.argv[1:])
assert planned["memory"]["peak_bytes"] == done["memory"]["peak_bytes"], (planned["memory"], done["memory"])
assert done["verify"]["ok"]
PY
    ok $? "$what: the planned memory"
}
executes "replicas"
executes "tensor parallelism" -s 'mesh={dp: 2, tp: 2}' \
    -s 'params=[[(q|k|v)/kernel, [null, tp]], [attn/o/kernel, [tp]], [mlp/(up|gate)/kernel, [null, tp]], [mlp/down/kernel, [tp]], [embed/table, [tp]], [head/kernel, [null, tp]], [.*, []]]'
executes "a pipeline of microbatches" -s 'mesh={pp: 2, dp: 2}' -s pipeline.axis=pp -s batch.microbatches=2
executes "recomputed layers" -s recompute=full -s batch.microbatches=2
executes "kept products" -s recompute=selective_op
executes "experts" -s model.kind=mixtral -s moe.experts=4 -s moe.routing=uniform -s 'params=[[moe/(up|gate|down)/kernel, [dp]], [.*, []]]'
# Results of experts take no memory; the gradients of gates are made of them all the same.
at='-s fused.gates=true -s model.kind=mixtral -s moe.experts=4 -s moe.routing=uniform'
ep='params=[[moe/(up|gate|down)/kernel, [dp]], [.*, []]]'
# The options are words.
# shellcheck disable=SC2086
{
    executes "gates in activations" $at -s "$ep"
    executes "gates in activations, of recomputed layers" $at -s "$ep" -s recompute=full
    executes "gates in activations, of rows sent to nodes" $at -s 'mesh={dp: 2, ep: 2}' -s moe.node_axis=dp \
        -s 'axes={batch: [ep, dp]}' -s 'params=[[moe/(up|gate|down)/kernel, [[dp, ep]]], [.*, []]]'
}
executes "a loss in chunks" -s fused.loss_chunks=4 -s offload.activations=all
executes "chunks that are made again, in stages" -s fused.loss_chunks=3 -s fused.loss_again=true -s fused.loss=false \
    -s 'mesh={pp: 2, dp: 2}' -s pipeline.axis=pp -s batch.microbatches=2 -s pipeline.schedule=GPipe -s recompute=full -s model.mtp=1
executes "an encoder in chunks" -s fused.loss_chunks=3 -s model.kind=t5 -s model.activation=geglu -s batch.source=32
executes "an encoder" -s model.kind=t5 -s model.activation=geglu -s batch.source=32
executes "further tokens" -s model.mtp=1
# Weights that are not learned are kept as codes alone, where products round them alike in both
# phases: 1 byte a parameter of the layers' kernels in place of 2 and of the codes that are made of them.
cat >"$tmp/frozen.yaml" <<'Y'
version: 1
name: frozen
mesh: {dp: 2}
model: {kind: llama3, d_model: 128, d_ff: 256, layers: 4, heads: 4, vocab: 64, dtype: bfloat16}
batch: {size: 4, seq: 32}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32}
products: {recipe: tensorwise, amax: local}
lora: {rank: 4, targets: [attn/.*]}
axes: {batch: dp}
params: [[.*, []]]
Y
for recipe in tensorwise blockwise mxfp8; do
    for kept in compute codes; do
        peak "$kept" "$tmp/frozen.yaml" -s products.recipe=$recipe -s products.frozen=$kept
    done
    python3 - "$tmp" $recipe <<'PY'
import json, sys
wide, codes = (json.load(open(f"{sys.argv[1]}/{n}.json"))["memory"]["by_kind"] for n in ("compute", "codes"))
kernels = 4 * (4 * 128 * 128 + 3 * 128 * 256)
saved = wide["parameters"] - codes["parameters"]
if sys.argv[2] == "mxfp8":  # blocks lie otherwise in the backward phase, which the first layer's q, k and v lack
    assert 0 < saved < 0.08 * kernels, (saved, kernels)
else:
    assert 0.99 * kernels < saved <= kernels, (saved, kernels)
    assert codes["gathered"] < 0.04 * kernels < wide["gathered"], (wide, codes)  # the adapters' own
PY
    ok $? "$recipe: frozen weights as codes alone"
done
peak cluster "$tmp/frozen.yaml" -s hardware=h100-sxm
peak codes "$tmp/frozen.yaml" -s products.frozen=codes -s fused.loss=true -s fused.activation=true
python3 - "$tmp" <<'PY'
import json, sys
a, b = (json.load(open(f"{sys.argv[1]}/{n}.json"))["memory"]["by_kind"]["parameters"] for n in ("cluster", "codes"))
assert a == b, (a, b)
PY
ok $? "frozen weights as the cluster's software keeps them"
for mesh in '{dp: 2}' '{dp: 1, tp: 2}'; do
    shardsim plan --json "$tmp/frozen.yaml" -s products.frozen=codes -s "mesh=$mesh"
    cp "$tmp/out" "$tmp/planned"
    shardsim run --json "$tmp/frozen.yaml" -s products.frozen=codes -s "mesh=$mesh"
    is 0 "frozen codes over $mesh: executed"
    python3 - "$tmp/planned" "$tmp/out" <<'PY'
import json, sys
planned, done = (json.load(open(f)) for f in sys.argv[1:])
assert planned["memory"]["peak_bytes"] == done["memory"]["peak_bytes"] and done["verify"]["ok"]
PY
    ok $? "frozen codes over $mesh: the planned memory"
done
shardsim run "$tmp/loss.yaml" -s fused.loss_again=true
is 2 "made again, of no chunks"
says err "fused.loss_again has no effect; expected fused.loss_chunks, at least 2" "what there is to do"
shardsim plan "$tmp/loss.yaml" -s fused.loss_chunks=65536
is 2 "more chunks than tokens"
says err "fused.loss_chunks is 65536, more than the [0-9]* tokens of a microbatch on a device" "how many there are"
shardsim run "$tmp/loss.yaml" -s 'step=[forward, backward]' -s optimizer.kind=none -s types.parameters=compute -s fused.loss_chunks=2
says err "fused.loss_chunks has no effect; expected step: .forward, backward, update" "logits that are results are whole"
shardsim run "$tmp/loss.yaml" -s fused.loss=perhaps
is 2 "neither"
says err "fused.loss is 'perhaps'; expected one of false, true, cluster" "what there is"
done_testing
