#!/bin/sh
# Tests `recompute`: exactly the named activations are kept, to the byte, and the results stay the
# same.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# A layer keeps its input and the values before and after gelu.  The peak is at the end of the
# forward phase.
cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 4}
batch: {size: 16, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: none}
  - {name: full, recompute: full}
  - {name: first, recompute: {first: 3}}
  - {name: second, recompute: {every: 2}}
  - {name: pairs, recompute: {group: 2}}
  - {name: second-pairs, recompute: {group: 2, every: 2}}
  - {name: gelu, recompute: [mlp/gelu]}
  - {name: layers, recompute: ['layers/\d*[13579]/mlp/gelu', 'layers/0/']}
YAML

for layers in 32 64; do
    shardsim plan --json -s model.layers=$layers "$tmp/mlp.yaml"
    cp "$tmp/out" "$tmp/layers_$layers"
done
is 0 "planned with 32 and 64 layers"
holds "a layer costs its parameters, two moments of each, and the activations that are kept" <<PY
import json
rows, weights = 16 // 4 * 64, 2 * 4 * 32 * 64
narrow, wide = 4 * rows * 32, 4 * rows * 64
kept = {"none": narrow + 2 * wide, "full": narrow, "first": narrow + 2 * wide,
        "second": narrow + wide, "pairs": narrow / 2, "second-pairs": (1.5 * narrow + 2 * wide) / 2,
        "gelu": narrow + wide, "layers": narrow + 1.5 * wide}
want = {name: 3 * weights + bytes for name, bytes in kept.items()}
few, many = (json.load(open("$tmp/layers_%d" % layers)) for layers in (32, 64))
got = {a["strategy"]: (b["memory"]["peak_bytes"][0] - a["memory"]["peak_bytes"][0]) / 32
       for a, b in zip(few, many)}
assert got == want, (got, want)
peak = {s["strategy"]: s["memory"]["peak_bytes"][0] for s in many}
assert peak["none"] - peak["first"] == 3 * 2 * wide, peak
PY
holds "received bytes are the same" <<'PY'
assert len({s["received_bytes"]["total"] for s in r}) == 1
PY
shardsim run -q --json -s model.dtype=float64 -s tolerance=1e-11 -s batch.seq=4 "$tmp/mlp.yaml"
is 0 "executed: numbers as without sharding"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json -s model.dtype=float64 -s batch.seq=4 "$tmp/mlp.yaml"
is 0 "planned likewise"
holds "executed: peak memory as planned, losses the same" <<PY
import json
for p, s in zip(r, json.load(open("$tmp/executed"))):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["training"] == json.load(open("$tmp/executed"))[0]["training"], s["strategy"]
PY

# A block with attention: both results of the attention op are recomputed.
cat >"$tmp/block.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: transformer, d_model: 16, d_ff: 32, layers: 2, heads: 2, vocab: 16}
batch: {size: 4, seq: 8}
step: [forward, backward, update]
optimizer: {kind: sgd}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: everything, recompute: [.*]}
  - {name: attention, recompute: [attn/, norm1]}
  - {name: selective-first, recompute: {kind: selective, first: 1}}
YAML
shardsim run -q --json -s batch.microbatches=2 "$tmp/block.yaml"
is 0 "a transformer: executed, also from nothing but the inputs"
shardsim plan --json -S everything -s recompute=none "$tmp/block.yaml"
cp "$tmp/out" "$tmp/without"
shardsim plan --json "$tmp/block.yaml"
holds "a transformer: work is done again" <<PY
import json
least = json.load(open("$tmp/without"))["flops"][0]
assert [s["flops"][0] > least for s in r] == [True] * 3, r
PY

# Unfused attention, in stages and sharded by heads: `whole` also recomputes the part of a layer
# that no op reads, but no value that is kept.
cat >"$tmp/whole.yaml" <<'YAML'
version: 1
mesh: {pp: 2, dp: 2, tp: 2}
model: {kind: transformer, d_model: 32, d_ff: 128, layers: 4, heads: 4, vocab: 64, dtype: float64,
        attention: unfused}
batch: {size: 8, seq: 32, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw}
pipeline: {axis: pp, schedule: 1F1B}
params:
  - [attn/(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [embed/table, [tp]]
  - [head/kernel, [null, tp]]
  - [.*, []]
axes: {batch: dp}
constraints:
  - [head/out, [dp, null, tp]]
  - [out$, [dp]]
strategies:
  - {name: none}
  - {name: fused, model: {attention: fused}}
  - {name: full, recompute: full}
  - {name: whole, recompute: {whole: true}}
  - {name: selective, recompute: selective}
  - {name: selective-whole, recompute: {kind: selective, whole: true}}
  - {name: products, recompute: {keep: ['attn/(q|k|v|o|out)$', 'mlp/(up|down|out)$']}}
YAML
shardsim run -q --json "$tmp/whole.yaml"
is 0 "unfused attention, whole layers, kept products: executed, as without sharding"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/whole.yaml"
holds "the same: bytes and memory as planned, losses those of none" <<PY
for p, s in zip(r, json.load(open("$tmp/executed"))):
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
    assert s["received_bytes"]["total"] == p["received_bytes"]["total"], s["strategy"]
    loss = json.load(open("$tmp/executed"))[0]["training"]["losses"][0]
    assert abs(s["training"]["losses"][0] / loss - 1) < 1e-12, s["strategy"]
PY
holds "products done again: those of the names, and their all-reduces" <<'PY'
s = {x["strategy"]: x for x in r}
tokens, h, f, layers, replicas = 8 * 32, 32, 128, 4, 2

def flops(name):
    return s[name]["work"]["unsharded_flops"]

def sums(name):  # all-reduces over tp in the backward phase
    return sum(c["count"] for c in s[name]["collectives"]
               if c["axes"] == ["tp"] and c["op"] == "all-reduce" and c["phase"] == "backward")

last = layers * 2 * tokens * h * f           # the product at the end of a layer
attended = layers * 2 * tokens * 32 * h      # scores times values
more = flops("whole") - flops("full") - last
assert 0 <= more <= layers * 2 * tokens * h, more           # the product, plus its sum with the residual
assert flops("selective-whole") - flops("selective") == attended
all_products = layers * (2 * tokens * (4 * h * h + 2 * h * f) + 2 * attended // layers)
assert 1 < (flops("whole") - flops("none")) / all_products < 1.25
assert (flops("products") - flops("none")) / all_products < 0.25
assert len({x["work"]["model_flops"] for n, x in s.items() if n != "fused"}) == 1
microbatches = 2
assert sums("full") - sums("none") == layers * microbatches, (sums("full"), sums("none"))
assert sums("whole") - sums("none") == 2 * layers * microbatches
assert sums("products") == sums("none")
PY
holds "memory: unfused attention keeps scores, and selective recomputation none of them" <<'PY'
kept = {x["strategy"]: x["memory"]["by_kind"]["activations"] for x in r}
scores = 4 // 2 * 32 * 32 * 2 * 8  # heads x queries x keys x sequences of a microbatch x bytes
assert kept["none"] - kept["selective"] >= 2 * 2 * scores, kept
assert kept["full"] < kept["products"] < kept["none"], kept
PY

# A recomputed value was computed before: the forward phase is complete, whatever the patterns say
# and however many microbatches sum their losses.
cat >"$tmp/all.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: llama3, d_model: 16, d_ff: 32, layers: 2, heads: 2, vocab: 32}
batch: {size: 8, seq: 8, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: sgd}
params: [[.*, [dp]]]
axes: {batch: dp}
strategies:
  - {name: none}
  - {name: full, recompute: full}
  - {name: all, recompute: ['.*']}
YAML
shardsim plan --json "$tmp/all.yaml"
holds "all is computed again: the forward phase has its bytes and flops all the same" <<'PY'
s = {x["strategy"]: x for x in r}
phase = lambda name: s[name]["received_bytes"]["by_phase"].get("forward", 0)
assert phase("none") > 0 and phase("all") == phase("full") == phase("none"), [phase(n) for n in s]
done = {name: x["work"]["done_flops"] for name, x in s.items()}
assert done["all"] > done["full"] > done["none"], done
PY

# refuse RECOMPUTE COLUMN MESSAGE: a wrong `recompute` is refused.
refuse() {
    shardsim plan -S none -s "recompute=$1" "$tmp/mlp.yaml"
    is 2 "$1: status 2"
    says err "^--set:1:$2: error: .*$3" "$1: said"
}
refuse '[mlp/gelu, mlp/glu]' 22 "recompute 'mlp/glu' matches no value.*did you mean 'mlp/gelu'"
refuse '[layers/4/]' 12 'matches no value of the forward phase'
refuse '["("]' 12 'missing )'
refuse '[]' 11 'expected none, selective, full, a policy such as selective_op, a list'
refuse '{}' 11 'expected none, selective, full, a policy such as selective_op, a list'
refuse 'ful' 11 "recompute is 'ful'; expected none"
refuse '{every: 0}' 19 "every is '0'; expected a number of layers, at least 1"
refuse '{kind: none}' 18 "kind is 'none'; expected selective, full or a policy"
refuse '{whole: 2}' 19 "whole is '2'; expected true or false"
refuse '{keep: mlp/up}' 18 "keep is 'mlp/up'; expected a list of patterns"
refuse '{keep: [mlp/glu]}' 19 "recompute.keep 'mlp/glu' matches no value.*did you mean 'mlp/gelu'"
refuse '{gruop: 2}' 12 "unknown key 'gruop'.*did you mean 'group'"
shardsim plan -S gelu -s recompute.every=3 "$tmp/mlp.yaml"
is 0 "one entry alone, in the place of patterns"
done_testing
