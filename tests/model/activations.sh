#!/bin/sh
# Tests the activations that a transformer layer keeps for its backward phase against the formulas
# of Korthikanti et al., "Reducing activation recomputation in large transformer models" (arXiv
# 2205.05198, section 4 and table 2), to the byte; docs/memory.md lists the terms.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# block LAYERS: the paper's block with unfused attention, so that scores and their softmax are
# arrays.  There are more than 12 d_model tokens, so that the peak is where most layers are alive,
# not where gradients of parameters have accumulated.
block() {
    python3 - "$1" >"$tmp/block_$1.yaml" <<'PY'
import sys

PARAMS = """ln1.scale: [h]
ln1.bias: [h]
q.kernel: [h, a, d]
k.kernel: [h, a, d]
v.kernel: [h, a, d]
o.kernel: [a, d, h]
ln2.scale: [h]
ln2.bias: [h]
up.kernel: [h, f]
down.kernel: [f, h]"""
OPS = """L.ln1[b,s,h] = layer_norm(IN[b,s,h], h, L.ln1.scale, L.ln1.bias)
L.q[b,s,a,d] = einsum(L.ln1, L.q.kernel)
L.k[b,t,a,d] = rename(einsum(L.ln1, L.k.kernel)[b,s,a,d], s, t)
L.v[b,t,a,d] = rename(einsum(L.ln1, L.v.kernel)[b,s,a,d], s, t)
L.scores[b,a,s,t] = causal_mask(einsum(L.q, L.k) * 0.35, s, t)
L.heads[b,s,a,d] = einsum(softmax(L.scores, t), L.v)
L.mid[b,s,h] = IN + einsum(L.heads, L.o.kernel)
L.ln2[b,s,h] = layer_norm(L.mid, h, L.ln2.scale, L.ln2.bias)
L.up[b,s,f] = einsum(L.ln2, L.up.kernel)
L.out[b,s,h] = L.mid + einsum(gelu(L.up), L.down.kernel)"""

print("""version: 1
mesh: {tp: 1}
model: {dtype: bfloat16}
graph:
  dims: {b: 32, s: 64, t: 64, h: 32, a: 4, d: 8, f: 128}
  inputs: {x: [b, s, h]}
  params:""")
for layer in range(int(sys.argv[1])):
    for line in PARAMS.split("\n"):
        print(f"    layers.{layer}.{line}")
print("  ops:")
for layer in range(int(sys.argv[1])):
    for line in OPS.split("\n"):
        line = line.replace("IN", f"layers.{layer - 1}.out" if layer else "x")
        print("    - '%s'" % line.replace("L.", f"layers.{layer}."))
print("""step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.01}
params:
  - ['(q|k|v).kernel', [null, tp]]
  - ['o.kernel', [tp]]
  - ['up.kernel', [null, tp]]
  - ['down.kernel', [tp]]
  - ['.*', []]
strategies:
  - {name: tp, constraints: [['(mid|out)$', []]]}
  - {name: tp-sp, constraints: [['(mid|out)$', [null, tp]]]}
  - {name: tp-sp-kept, gathered: keep, constraints: [['(mid|out)$', [null, tp]]]}""")
PY
}
# With fewer layers the peak might be in the first one, whose input is not sharded.
block 10
block 11

# The bytes per device that one more layer adds at the peak, by strategy.
for tp in 1 2 4; do
    for recompute in none selective full; do
        for layers in 10 11; do
            shardsim plan --json -s mesh.tp=$tp -s recompute=$recompute "$tmp/block_$layers.yaml"
            is 0 "tp $tp, recompute $recompute: $layers layers planned"
            cp "$tmp/out" "$tmp/planned_$layers"
        done
        holds "tp $tp, recompute $recompute: activations of a layer are the formulas'" <<PY
t, recompute = $tp, "$recompute"
s, b, h, a = 64, 32, 32, 4
sbh, assb = s * b * h, a * s * s * b

def whole(n):  # bytes of arrays that each device has whole
    return n * sbh

def part(n):
    return n * sbh // t

# Table 2 with 34 = 10 + 24.  Of the 10, 2 bytes are masks of dropout, which is not modelled; neither
# is dropout of the scores, 3 of the 5 as/h.  The table leaves out an inverse deviation per token and
# norm, and a sum per row of scores, of 2 bytes each.
scores = (5 - 3) * assb // t + 2 * a * s * b // t
norms = 2 * 2 * s * b
want = {"none": {"tp": whole(10 - 2) + part(24) + scores + norms,
                 "tp-sp": part(34 - 2) + scores + norms // t},
        "selective": {"tp": whole(10 - 2) + part(24) + norms,
                      "tp-sp": part(34 - 2) + norms // t},
        "full": {"tp": whole(2), "tp-sp": part(2)}}[recompute]
# If asked to, devices keep both gathered inputs for the backward phase instead of their shards.
gathered = 0 if recompute == "full" else 2 * (whole(2) - part(2))
want["tp-sp-kept"] = want["tp-sp"] + gathered
layers = [{p["strategy"]: p["memory"]["by_kind"]["activations"]
           for p in json.load(open("$tmp/planned_%d" % n))} for n in (10, 11)]
got = {strategy: layers[1][strategy] - layers[0][strategy] for strategy in want}
assert got == want, (got, want)
PY
    done
done
done_testing
