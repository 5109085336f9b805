#!/bin/sh
# Tests adapters (lora) and frozen parameters: executed steps are the unsharded ones, plans have their
# bytes, and what is counted equals formulas: only adapters have gradients, optimizer state and
# reductions, and no product makes a gradient of what is frozen.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# Heads of 8 and 2 key heads; q, v and the mlp have adapters of rank 4.
cat >"$tmp/lora.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: transformer, d_model: 32, d_ff: 64, activation: swiglu, layers: 2, heads: 4,
        kv_heads: 2, vocab: 64, rope: {}}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
lora: {rank: 4, alpha: 8, targets: [attn/q, attn/v, mlp/.*]}
axes: {batch: dp}
params: [[.*, []]]
strategies:
  - {name: dp}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: fsdp, params: [[kernel, [dp]], [.*, []]]}
  - {name: recompute, recompute: full}
  - name: tp
    mesh: {dp: 2, tp: 2}
    params: [['(q|k|v|up|gate)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
    constraints: [['(attn|mlp)/out', [dp]]]
  - {name: pp, mesh: {pp: 2, dp: 2}, pipeline: {axis: pp}, batch: {microbatches: 4}}
  - {name: all, lora: {rank: 0, targets: []}}
YAML

# The elements of adapters: r (in + out) of q, v, gate, up and down, in two layers; and of all.
cat >"$tmp/formula.py" <<'PY'
rank, d, q, kv, ff, vocab = 4, 32, 32, 16, 64, 64
adapters = 2 * rank * ((d + q) + (d + kv) + 2 * (d + ff) + (ff + d))
base = 2 * (2 * d * q + 2 * d * kv + 3 * d * ff + 2 * d) + d + 2 * vocab * d
PY

names() {
    shardsim plan --json -S dp "$tmp/lora.yaml"
    holds "trainable parameters are r (in + out)" <<PY
$(cat "$tmp/formula.py")
assert r["parameters"] == {"all": base + adapters, "learned": adapters}, (r["parameters"], base, adapters)
PY
    shardsim plan -S dp "$tmp/lora.yaml"
    says out "learned   .* of .* parameters, .*; the others are frozen" "a plan says what is frozen"
    shardsim show names -S tp "$tmp/lora.yaml"
    says out 'attn/q/lora_a/kernel' "adapters have names"
}

# Executed, every strategy is right, and has the bytes and memory of its plan.
executed() {
    shardsim run -q --json "$tmp/lora.yaml"
    is 0 "all strategies are the unsharded computation"
    cp "$tmp/out" "$tmp/ran"
    holds "only adapters are updated" <<'PY'
for s in r:
    if s["strategy"] != "all":
        names = [n for n in s["verify"]["state"] if not n.startswith("opt/")]
        assert len(names) == 20 and all("/lora_" in n for n in names), (s["strategy"], names)
        state = [n for n in s["verify"]["state"] if n.startswith("opt/")]
        assert len(state) == 40 and all("/lora_" in n for n in state), (s["strategy"], state)
PY
    shardsim plan --json "$tmp/lora.yaml"
    holds "plans have the bytes, memory and flops of runs" <<PY
ran = json.load(open("$tmp/ran"))
for p, x in zip(r, ran):
    for what in "received_bytes", "memory", "balance":
        a, b = dict(p[what]), dict(x[what])
        if what == "balance":
            a, b = [{k: v for k, v in y.items() if k != "busy_seconds"} for y in (a, b)]
        assert a == b, (p["strategy"], what)
    assert p["work"] == x["work"], p["strategy"]
PY
}

# Data parallelism reduces gradients of adapters alone, and ZeRO-3 gathers what is frozen and reduces
# no gradient of it.  Beside them: the loss, and the norm where gradients are sharded.
bytes() {
    holds "bytes that are reduced and gathered" <<PY
$(cat "$tmp/formula.py")
got = {s["strategy"]: s for s in r}
n = 4
assert got["dp"]["received_bytes"]["total"] == 2 * (n - 1) * 4 * (adapters + 1), got["dp"]["received_bytes"]
ops = got["zero-3"]["received_bytes"]["by_op"]
assert ops["reduce-scatter"] == (n - 1) * 4 * adapters, ops
assert got["all"]["received_bytes"]["total"] == 2 * (n - 1) * 4 * (base + 1)
PY
    holds "optimizer state is two moments of each adapter, and parameters are all" <<PY
$(cat "$tmp/formula.py")
kinds = {s["strategy"]: s["memory"]["by_kind"] for s in r}
assert kinds["dp"]["optimizer"] == 2 * 4 * adapters, kinds["dp"]
assert kinds["dp"]["parameters"] == 4 * (base + adapters), kinds["dp"]
assert kinds["zero-3"]["optimizer"] == 2 * 4 * adapters / 4, kinds["zero-3"]
PY
}

# Products of a token: 2 flops an element forward, and backward 2 for the input's gradient and 2 for
# the kernel's, if it is learned.  The first layer's q, k and v, and their adapters, make no gradient of
# their input: nothing below is learned.  1 % is for what is elementwise, as the gradients of norms.
flops() {
    shardsim plan --json -S all "$tmp/lora.yaml"
    cp "$tmp/out" "$tmp/all"
    shardsim plan --json -S dp -s lora.targets='[attn/., mlp/.*]' "$tmp/lora.yaml"
    holds "no product makes a gradient of a frozen kernel" <<PY
frozen, full = r["work"]["model_flops"], json.load(open("$tmp/all"))["work"]["model_flops"]
tokens, d, kv, ff, vocab, rank = 8 * 16, 32, 16, 64, 64, 4
layer = 2 * d * d + 2 * d * kv + 3 * d * ff
adapters = rank * (2 * 2 * d + 2 * (d + kv) + 3 * (d + ff))
saved = 2 * tokens * (2 * layer + d * vocab) + 2 * tokens * (d * d + 2 * d * kv)
added = 6 * tokens * 2 * adapters - 2 * tokens * rank * 3 * d
assert abs((full - frozen) - (saved - added)) <= 0.01 * full, (full, frozen, saved, added)
PY
}

# Kernels in 4 and 8 bits: the parameters' bytes are those of codes and scales, and nothing of 16 or 32
# bits is gathered of them; dequantised kernels are not kept.
cat >"$tmp/bits.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: transformer, d_model: 64, d_ff: 128, activation: swiglu, layers: 2, heads: 4,
        kv_heads: 2, vocab: 64, rope: {}, dtype: bfloat16}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
lora: {rank: 4, alpha: 8, targets: [attn/., mlp/.*], base: nf4}
axes: {batch: dp}
params: [[.*, []]]
strategies:
  - {name: dp}
  - {name: int8, lora: {base: int8}}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: fsdp, params: [[kernel, [dp]], [.*, []]]}
  - {name: recompute, recompute: full}
  - name: tp
    mesh: {dp: 2, tp: 2}
    params: [['(q|k|v|up|gate)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
    constraints: [['(attn|mlp)/out', [dp]]]
  - {name: pp, mesh: {pp: 2, dp: 2}, pipeline: {axis: pp}, batch: {microbatches: 4}}
YAML

bits() {
    shardsim run -q --json "$tmp/bits.yaml"
    is 0 "codes of 4 and 8 bits: all strategies are the unsharded computation"
    cp "$tmp/out" "$tmp/ran"
    shardsim plan --json "$tmp/bits.yaml"
    holds "codes of 4 and 8 bits: plans have the bytes and memory of runs" <<PY
ran = json.load(open("$tmp/ran"))
for p, x in zip(r, ran):
    assert p["received_bytes"] == x["received_bytes"] and p["memory"] == x["memory"], p["strategy"]
PY
    holds "codes of 4 and 8 bits: bytes of parameters" <<'PY'
got = {s["strategy"]: s for s in r}
d, kv, ff, vocab, rank = 64, 32, 128, 64, 4
kernels = [(d, d), (d, kv), (d, kv), (d, d), (d, ff), (d, ff), (ff, d)]
rest = 2 * (2 * vocab * d + 5 * d)
adapters = 2 * 2 * sum(rank * (i + o) for i, o in kernels)
codes = 2 * sum(i * o for i, o in kernels)
scales = 2 * sum(i * o // 64 for i, o in kernels)
# a float32 for each 256 scales: all of them here have at most 256; and the mean
nf4 = codes // 2 + scales + 2 * sum(4 + 4 for k in kernels)
int8 = codes + 2 * sum(4 * o for i, o in kernels)
kinds = {n: s["memory"]["by_kind"]["parameters"] for n, s in got.items()}
assert kinds["dp"] == rest + adapters + nf4, (kinds, rest + adapters + nf4)
assert kinds["int8"] == rest + adapters + int8, (kinds, rest + adapters + int8)
assert got["dp"]["parameters"]["all"] == (rest + adapters) // 2 + codes, got["dp"]["parameters"]
PY
    holds "codes of 4 bits: gathers are of bytes" <<'PY'
got = {s["strategy"]: s for s in r}
for name in "zero-3", "fsdp":
    wide = [c for c in got[name]["collectives"] if "dequantized" in c["why"] and
            c["dtype"] == "bfloat16"]
    bytes = [c for c in got[name]["collectives"] if c["dtype"] == "uint8"]
    assert not wide and len(bytes) > 5, (name, wide, bytes)
PY
}

faults() {
    shardsim plan -S dp -s 'lora.targets=[attn/z]' "$tmp/lora.yaml"
    is 2 "a target that is no kernel"
    says err "'attn/z' matches no kernel of this model; one of its names is" "the message names a kernel"
    shardsim plan -S dp -s 'lora.targets=[embed/table]' -s model.tied=true "$tmp/lora.yaml"
    is 2 "a target that is looked up, too"
    says err "'embed/table' cannot have an adapter: 'embed' reads it" "the message says why"
    shardsim plan -S dp -s model.d_model=40 -s model.head_dim=10 -s lora.base=nf4 "$tmp/lora.yaml"
    is 2 "blocks of 64 that do not divide"
    says err "the inputs of 'layers/0/attn/q/kernel' do not divide into blocks of 64" "the message names the kernel"
    shardsim plan -S all -s 'frozen=[.*]' "$tmp/lora.yaml"
    is 2 "serving does not train"
    says err "no parameters to update" "the message says so"
}

names
executed
bytes
flops
bits
faults
done_testing
