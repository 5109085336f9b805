#!/bin/sh
# Tests the memory at the peak of a small transformer's step, kind by kind, against sums by hand.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/transformer.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: transformer, d_model: 32, d_ff: 128, heads: 4, vocab: 64}
batch: {size: 32, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.01, clip: 1.0}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-2, zero: {stage: 2, axis: dp}}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: zero-3-kept, zero: {stage: 3, axis: dp, reshard_after_forward: false}}
YAML

for layers in 7 8; do
    for m in 1 2; do
        shardsim plan --json -s model.layers=$layers -s batch.microbatches=$m -s zero.prefetch=0 \
            "$tmp/transformer.yaml"
        is 0 "$layers layers, microbatches $m: planned"
        cp "$tmp/out" "$tmp/planned_${layers}_$m"
        holds "$layers layers, microbatches $m: what is kept, kind by kind" <<PY
layers, m, n = $layers, $m, 4
h, f, v, s, b = 32, 128, 64, 64, 32 // n // m  # b: sequences per device
heads, F32, I32 = 4, 4, 4
# A layer has q, k, v and o, up and down, and two norm scales; besides there are the embedding, the
# head and the last norm.  n divides all of them.
layer = F32 * (4 * h * h + 2 * h * f + 2 * h)
params = layers * layer + F32 * (2 * v * h + h)
for r in r:
    stage = {"dp": 0, "zero-1": 1, "zero-2": 2, "zero-3": 3, "zero-3-kept": 3}[r["strategy"]]
    kinds = r["memory"]["by_kind"]
    want = {"parameters": params // (n if stage == 3 else 1),
            "optimizer": 2 * params // (n if stage else 1),  # two moments
            # Sums over microbatches and the sum of losses.  With one microbatch no gradient exists
            # yet at the peak, which is at the attention of the last layer.
            "gradients": 0 if m == 1 else F32 + params // (n if stage >= 2 else 1),
            # ids and labels; the step's number, and the correction of the second moments
            "data": 2 * I32 * b * s + 2 * F32,
            # kept until the backward phase: all layers but the last, of which only q, k, v and a
            # norm
            "gathered": (layers - 1) * layer + F32 * (3 * h * h + h)
                        if r["strategy"] == "zero-3-kept" else 0}
    got = {k: kinds[k] for k in want}
    assert got == want, (r["strategy"], got, want)
    assert sum(kinds.values()) == max(r["memory"]["peak_bytes"]), r["strategy"]
PY
    done
done

# A layer keeps the inputs and results of both norms, q, k, v and the result of attention, the MLP's
# hidden values before and after gelu, an inverse deviation per token and norm, and attention's
# log-sum-exp per token and head.
for m in 1 2; do
    holds "microbatches $m: activations of a layer" <<PY
h, f, s, b, heads, F32 = 32, 128, 64, 32 // 4 // $m, 4, 4
want = F32 * s * b * (2 * h + 2 * h + 3 * h + h + 2 * f + 2 + heads)
seven, eight = [json.load(open("$tmp/planned_%d_$m" % n)) for n in (7, 8)]
for a, b in zip(seven, eight):
    got = b["memory"]["by_kind"]["activations"] - a["memory"]["by_kind"]["activations"]
    assert got == want, (a["strategy"], got, want)
PY
done
done_testing
