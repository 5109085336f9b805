#!/bin/sh
# Tests twenty steps of AdamW in float64: with every layout, parameters, moments, losses and norms
# equal those of the unsharded computation up to rounding.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# A large `eps` keeps rounding noise in gradients that are 0 from becoming steps of full size.
cat >"$tmp/twenty.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: transformer, d_model: 16, d_ff: 32, layers: 4, heads: 4, vocab: 32, dtype: float64}
batch: {size: 8, seq: 8}
step: [forward, backward, update]
steps: 20
optimizer: {kind: adamw, lr: 1e-2, warmup: 4, decay: cosine, eps: 1e-5, weight_decay: 0.1, clip: 1}
axes: {batch: dp}
params: [[.*, []]]
tolerance: 1e-9
strategies:
  - {name: one-device, mesh: {dp: 1}}
  - {name: dp}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-2, zero: {stage: 2, axis: dp}, batch: {microbatches: 2}}
  - {name: zero-3, zero: {stage: 3, axis: dp}, recompute: full}
  - {name: pp-1f1b, mesh: {pp: 4}, axes: {}, batch: {microbatches: 4}, pipeline: {axis: pp}}
  - {name: pp-zbv, mesh: {pp: 2}, axes: {}, batch: {microbatches: 4},
     pipeline: {axis: pp, schedule: ZBVZeroBubble}}
  # Tensor and sequence parallel.
  -
    name: tp-sp
    mesh: {tp: 2}
    axes: {}
    params:
      - [(q|k|v)/kernel, [null, tp]]
      - [attn/o/kernel, [tp]]
      - [mlp/up/kernel, [null, tp]]
      - [mlp/down/kernel, [tp]]
      - [embed/table, [tp]]
      - [head/kernel, [null, tp]]
      - [.*, []]
    constraints: [['(embed/out|out)$', [null, tp]]]
  - name: pp-tp-dp
    mesh: {dp: 2, pp: 2, tp: 2}
    axes: {batch: dp}
    batch: {microbatches: 2}
    pipeline: {axis: pp, schedule: Interleaved1F1B}
    zero: {stage: 1, axis: dp}
    params:
      - [(q|k|v)/kernel, [null, tp]]
      - [attn/o/kernel, [tp]]
      - [mlp/up/kernel, [null, tp]]
      - [mlp/down/kernel, [tp]]
      - [embed/table, [tp]]
      - [head/kernel, [null, tp]]
      - [.*, []]
YAML

# `tolerance` is relative to the largest element of each array after the last step.  Under a
# sanitizer a few steps suffice, as later ones run the same code.
STEPS=20
small_size && STEPS=5
shardsim run -q --json -s steps=$STEPS "$tmp/twenty.yaml"
is 0 "all layouts are verified"
holds "the same numbers after $STEPS steps, parameters and moments included" <<PY
assert len(r) == 9
for s in r:
    v = s["verify"]
    assert v["ok"] and v["tolerance"] == 1e-9 and len(s["training"]["losses"]) == $STEPS
    assert len(v["state"]) > 100, len(v["state"])  # a parameter and its two moments
PY
holds "losses are those of one device at every step" <<'PY'
base = r[0]["training"]
for s in r[1:]:
    for kind in "losses", "grad_norms":
        for a, b in zip(base[kind], s["training"][kind]):
            assert abs(a - b) <= 1e-9 * abs(a), (s["strategy"], kind, a, b)
PY
shardsim run -q --strategy dp -s tolerance=1e-17 "$tmp/twenty.yaml"
is 1 "roundings alone are seen where none are allowed"
done_testing
