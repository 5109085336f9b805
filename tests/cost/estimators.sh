#!/bin/sh
# Tests that plans do not share known errors of estimators of training memory; each case is compared
# with a count from first principles.  The errors are: dividing experts by tensor parallelism that
# does not shard them; counting activations of experts as if they were dense; treating all stages of
# a pipeline alike; leaving out vocabulary and head; and taking keys and values to be as wide as
# queries.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/model.yaml" <<'YAML'
version: 1
mesh: {pp: 1, dp: 2, tp: 2}
model: {kind: transformer, activation: swiglu, d_model: 32, d_ff: 64, layers: 4, heads: 8, kv_heads: 8,
        vocab: 128}
batch: {size: 32, seq: 64, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: sgd}
params:
  - [attn/(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/(gate|up)/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [embed/table, [tp]]
  - [head/kernel, [null, tp]]
  - [.*, []]
axes: {batch: dp}
constraints:
  - [head/out, [dp, null, tp]]
  - [out$, [dp]]
YAML
sed -e 's/^batch:/moe: {experts: 4, top_k: 2, capacity: 1}\n&/' \
    -e 's/mlp.(gate|up).kernel, .*/moe\/(gate|up|down)\/kernel, [dp]]/' -e '/mlp.down/d' \
    "$tmp/model.yaml" >"$tmp/experts.yaml"
sed -e 's/^\( *- .moe.\).*/\1(gate|up)\/kernel, [dp, null, tp]]\n\1down\/kernel, [dp, tp]]/' \
    "$tmp/experts.yaml" >"$tmp/both.yaml"

# plan NAME OPTION...: keep the plan in $tmp/NAME.json
plan() {
    name=$1
    shift
    shardsim plan --json "$@"
    is 0 "$name: planned"
    cp "$tmp/out" "$tmp/$name.json"
}
# The begin of each check.
common='
def plan(name):
    return json.load(open(sys.argv[1][:-3] + name + ".json"))
def kind(name, what, rank=0):
    memory = plan(name)["memory"]
    return memory.get("by_rank", [memory] * (rank + 1))[rank]["by_kind"][what]
d, f, layers, heads, width, vocab, tokens = 32, 64, 4, 8, 4, 128, 32 * 64
dp, tp, microbatches, bytes = 2, 2, 4, 4
'
check() {
    { echo "$common" && cat; } >"$tmp/body"
    holds "$1" <"$tmp/body"
}

plan dense "$tmp/model.yaml"
plan experts "$tmp/experts.yaml"
plan both "$tmp/both.yaml"
check "experts are divided by the axes that their rule names, and by no other" <<'PY'
attention = 4 * d * heads * width // tp
rest = layers * (attention + 2 * d) + d + 2 * vocab * d // tp
router = layers * d * 4
expert = layers * 4 * 3 * d * f
assert kind("dense", "parameters") == bytes * (rest + layers * 3 * d * f // tp)
assert kind("experts", "parameters") == bytes * (rest + router + expert // dp)
assert kind("both", "parameters") == bytes * (rest + router + expert // dp // tp)
PY

# The difference to four more layers is free of the rest of the memory at the peak.
for layers in 4 8; do
    for ff in 64 128; do
        plan "dense_${layers}_$ff" -s model.layers=$layers -s model.d_ff=$ff "$tmp/model.yaml"
        plan "both_${layers}_$ff" -s model.layers=$layers -s model.d_ff=$ff "$tmp/both.yaml"
    done
done
check "activations of experts are those of the rows that come to them: top_k of each token" <<'PY'
rows = tokens // microbatches // dp
def wider(name):
    at = {(l, w): kind("%s_%d_%d" % (name, l, w), "activations") for l in (4, 8) for w in (64, 128)}
    return at[8, 128] - at[8, 64] - at[4, 128] + at[4, 64]

dense, routed = wider("dense"), wider("both")
assert dense % (layers * rows * f // tp * bytes) == 0 and dense > 0, dense
assert routed == 2 * dense, (routed, dense)
PY

for n in 1 2; do
    plan "uneven_$n" -s mesh.pp=4 -s mesh.dp=1 -s pipeline.axis=pp -s model.layers=$((7 * n)) \
        -s pipeline.layers="[$((3 * n)), $((2 * n)), $n, $n]" -s batch.microbatches=8 \
        "$tmp/model.yaml"
done
check "stages hold as many layers as they have, of as many microbatches as are alive: p - rank" <<'PY'
ranks = plan("uneven_1")["memory"]["by_rank"]
assert [r["microbatches_alive"] for r in ranks] == [4, 3, 2, 1]
has, alive = [3, 2, 1, 1], [4, 3, 2, 1]
more = [kind("uneven_2", "activations", r) - kind("uneven_1", "activations", r) for r in range(4)]
one = more[3]
assert one > 0 and more == [one * has[r] * alive[r] for r in range(4)], more
weights = [kind("uneven_2", "parameters", r) - kind("uneven_1", "parameters", r) for r in range(4)]
layer = bytes * ((4 * d * heads * width + 3 * d * f) // tp + 2 * d)
assert weights == [layer * n for n in has], weights
PY

plan vocabulary -s model.vocab=512 "$tmp/model.yaml"
plan logits -s model.vocab=2048 "$tmp/model.yaml" # large enough for the peak to be at the loss
plan logits_more -s model.vocab=4096 "$tmp/model.yaml"
plan tied -s 'params=[[".*", []]]' -s model.tied=true "$tmp/model.yaml"
plan tied_vocabulary -s 'params=[[".*", []]]' -s model.tied=true -s model.vocab=512 "$tmp/model.yaml"
check "vocabulary and head count: weights of both, once if they are tied, and the logits" <<'PY'
more = 512 - vocab
assert kind("vocabulary", "parameters") - kind("dense", "parameters") == bytes * 2 * more * d // tp
assert kind("tied_vocabulary", "parameters") - kind("tied", "parameters") == bytes * more * d
logits = tokens // microbatches // dp * 2048 // tp * bytes
assert kind("logits_more", "activations") - kind("logits", "activations") >= logits
PY

plan grouped -s model.kv_heads=2 "$tmp/model.yaml"
check "keys and values are as wide as their own heads: weights, gradients and activations" <<'PY'
fewer = (heads - 2) * width // tp
assert kind("dense", "parameters") - kind("grouped", "parameters") == bytes * layers * 2 * d * fewer
assert kind("dense", "activations") - kind("grouped", "activations") == \
    bytes * layers * 2 * fewer * tokens // microbatches // dp
PY
done_testing
