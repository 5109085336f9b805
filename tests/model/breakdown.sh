#!/bin/sh
# Tests the memory breakdown that plan prints, against sums by hand: the bytes before the update,
# the maximum of each kind, the owners of the activations at the peak, the largest transfer, and the
# reserve of the cluster's runtime.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The vocabulary is so large that the peak is at the logits for each ZeRO stage.
cat >"$tmp/model.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: transformer, d_model: 32, d_ff: 128, heads: 4, layers: 3, vocab: 4096}
batch: {size: 16, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: dp}
  - {name: microbatches, batch: {size: 16, seq: 64, microbatches: 2}}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
YAML
shardsim plan --json "$tmp/model.yaml"
is 0 "planned"
holds "kinds: the peak's are memory.by_kind, and none is above its most" <<'PY'
for r in r:
    b = r["memory"]["breakdown"]
    assert b["at_peak"] == r["memory"]["by_kind"], r["strategy"]
    assert all(b["most"][k] >= n for k, n in b["at_peak"].items()), r["strategy"]
    assert sum(x["bytes"] for x in b["activations_at_peak"]) == b["at_peak"]["activations"] > 0
    assert b["runtime_bytes"] is None  # there is no hardware
PY
holds "before the update: parameters, all gradients, both moments, as ZeRO cuts them" <<'PY'
h, f, v, layers, n, F32 = 32, 128, 4096, 3, 4, 4
layer = 4 * h * h + 2 * h * f + 2 * h
params = layers * layer + 2 * v * h + h
for r in r:
    stage = {"zero-1": 1, "zero-3": 3}.get(r["strategy"], 0)
    b = r["memory"]["breakdown"]
    assert b["parameters"] == {"model": params, "device": params // (n if stage == 3 else 1)}
    want = {"parameters": F32 * params // (n if stage == 3 else 1),
            "optimizer": 2 * F32 * params // (n if stage else 1),
            # With two microbatches the sum of losses lies among the gradients.
            "gradients": F32 * params // (n if stage else 1) +
                         (F32 if r["strategy"] == "microbatches" else 0)}
    got = {k: b["before_update"][k] for k in want}
    assert got == want, (r["strategy"], got, want)
    assert b["before_update"]["gathered"] == b["before_update"]["workspace"] == 0
PY
holds "activations at the peak: three arrays of logits, in the loss and the head" <<'PY'
v, s, n, F32 = 4096, 64, 4, 4
for r in r:
    tokens = 16 * s // n // (2 if r["strategy"] == "microbatches" else 1)
    b = r["memory"]["breakdown"]
    parts = {x["part"]: x["bytes"] for x in b["activations_at_peak"]}
    logits = parts["loss"] + parts.get("head", 0)
    assert b["op"] in ("loss/logits.dlogits", "head/out.dout") and b["phase"] == "backward", b
    assert 0 <= logits - 3 * tokens * v * F32 < 32 * tokens, (r["strategy"], parts)
    assert list(parts)[0] == "loss" and "layers" in parts, parts
    sizes = list(parts.values())
    assert sizes == sorted(sizes, reverse=True)
PY
holds "the largest transfer: gradients of the head and of a layer, whole as they are read" <<'PY'
h, f, v, n, F32 = 32, 128, 4096, 4, 4
head, layer = F32 * h * v, F32 * (4 * h * h + 2 * h * f)
got = {r["strategy"]: r["memory"]["breakdown"]["transfer"]["bytes"] for r in r}
# One reduction takes several kernels.  A reduce-scatter's result is an n-th of its operand, an
# all-reduce's is as large.
assert got["zero-1"] == got["zero-3"] == (head + layer) * (n + 1) // n, got
assert got["dp"] >= 2 * head and got["microbatches"] >= 2 * head, got
PY
holds "gathered parameters are told at their worst, though none is at the peak" <<'PY'
most = {r["strategy"]: r["memory"]["breakdown"]["most"]["gathered"] for r in r}
assert most["dp"] == 0 and most["zero-3"] >= 32 * 4096 * 4, most
PY

shardsim plan -v -S zero-3 "$tmp/model.yaml"
is 0 "in text"
sed -n '/^breakdown/,/^$/p' "$tmp/out" >"$tmp/section"
says section '^breakdown     of a device.s memory; 74.8 k of 299 k parameters$' "-v: whose parameters"
says section '^  the peak is in head/out.dout (backward)$' "-v: where the peak is"
says section '^  gathered  *[0-9.]* [KM]*i*B  *[0-9.][0-9.]* [KM]iB  *-$' "-v: what is gathered at most"
says section '^  together  *[0-9.]* MiB  *1.14 MiB$' "-v: all kinds together"
says section '^  largest transfer: 700 KiB read and written, for$' "-v: the largest transfer"
shardsim plan -S zero-3 "$tmp/model.yaml"
sed -n '/^breakdown/,/^$/p' "$tmp/out" >>"$tmp/section"
says section '^  states 1.14 MiB: parameters 292 KiB, gradients 292 KiB, optimizer 584 KiB$' "states, in a line"
says section '^  activations at the peak: loss 8.00 MiB, head 4.00 MiB, layers ' "activations, by part"
says section '^  not included: the runtime.s own memory$' "the runtime's reserve is mentioned as not included"
! grep -E '.{81}' "$tmp/section" >"$tmp/long"
ok $? "no line is longer than a terminal is wide"
shardsim plan -S dp -s 'step=[forward, backward]' -s optimizer=null "$tmp/model.yaml"
! grep -q '^breakdown' "$tmp/out"
ok $? "a step that trains nothing has none"

# For a pipeline the breakdown is that of the rank with the highest peak.
cat >"$tmp/pipeline.yaml" <<'YAML'
version: 1
mesh: {pp: 2, dp: 2}
model: {kind: transformer, d_model: 32, d_ff: 128, heads: 4, layers: 4, vocab: 64}
batch: {size: 16, seq: 64, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: adamw}
pipeline: {axis: pp, schedule: GPipe}
params: [[.*, []]]
axes: {batch: dp}
YAML
shardsim plan --json "$tmp/pipeline.yaml"
is 0 "a pipeline: planned"
holds "a pipeline: the rank that has most, and its own parameters" <<'PY'
b, ranks = r["memory"]["breakdown"], r["memory"]["by_rank"]
assert b["rank"] == max(range(2), key=lambda k: ranks[k]["peak_bytes"]), b
assert b["at_peak"] == ranks[b["rank"]]["by_kind"]
assert ranks[b["rank"]]["microbatches_alive"] == 4
assert sum(x["bytes"] for x in b["activations_at_peak"]) == b["at_peak"]["activations"]
layer = 4 * 32 * 32 + 2 * 32 * 128 + 2 * 32
want = {0: 2 * layer + 64 * 32, 1: 2 * layer + 64 * 32 + 32}
assert b["parameters"] == {"model": sum(want.values()), "device": want[b["rank"]]}, b
PY

# The remaining plans are larger and do nothing new with memory.
if small_size; then
    done_testing
    exit
fi

# docs/memory_estimators.md shows the program's breakdown.
shardsim init --model llama3-8b --devices 64 --batch 512 --seq 4096 -o "$tmp/mine.yaml"
shardsim plan -v "$tmp/mine.yaml" -s recompute=full -s 'zero={stage: 3, prefetch: 1}' -s batch.microbatches=8
is 0 "the page's example: planned"
sed -n '/^breakdown/,/^$/p' "$tmp/out" | sed '$d' >"$tmp/said"
sed -n '/^breakdown/,/^\.\.\.$/p' "$top_srcdir/docs/memory_estimators.md" | sed '$d' >"$tmp/page"
[ -s "$tmp/page" ] && cmp -s "$tmp/said" "$tmp/page"
ok $? "docs/memory_estimators.md shows the program's breakdown"
diff "$tmp/page" "$tmp/said" | head -n 5 | diag

# On a cluster: the reserve of its runtime, and what would make the step fit.
for seq in 64 1048576; do
    shardsim plan --json -S dp -s hardware=h100-sxm -s batch.seq=$seq "$tmp/model.yaml"
    is $((seq > 64)) "on a cluster, $seq tokens: planned; status 1 where it does not fit"
    holds "on a cluster, $seq tokens: with what the runtime keeps it is what the model of time has" <<'PY'
b = r["memory"]["breakdown"]
assert b["runtime_bytes"] == 1 << 30, b
assert b["runtime_bytes"] + sum(b["at_peak"].values()) == r["time"]["modelled"]["memory_bytes"]
PY
done
shardsim plan -S dp -s hardware=h100-sxm "$tmp/model.yaml"
says out '^  besides: 1.00 GiB that the runtime keeps; left of 79.6 GiB: 78.6 GiB$' "what is left"
shardsim plan -S dp -s hardware=h100-sxm -s batch.seq=1048576 "$tmp/model.yaml"
says out '; more than 79.6 GiB;' "how to ask what would fit"
! grep -q 'left of' "$tmp/out"
ok $? "and nothing is left"
shardsim plan -S dp -s hardware=h100-sxm -s batch.seq=1048576 -s limits.memory=79GiB "$tmp/model.yaml"
says out "would fit with" "with a limit it tells what would fit"
! grep -q 'lists what would fit' "$tmp/out"
ok $? "with the limit the changes are told, not how to ask for them"

# A Llama layer, term by term as in docs/memory_estimators.md.  For the same sizes PyTorch's
# FSDPMemTracker counts 12,603,392 bytes in float32, and 24 of seeds (results/bench/estimators.md).
cat >"$tmp/llama.yaml" <<'YAML'
version: 1
mesh: {fsdp: 8}
model: {kind: transformer, activation: swiglu, norm: rms, rope: {}, d_model: 256, d_ff: 1024, layers: 4,
        heads: 8, kv_heads: 8, vocab: 4096}
batch: {size: 8, seq: 512}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32, reduce: float32}
params: [[.*, []]]
axes: {batch: fsdp}
zero: {stage: 3, axis: fsdp, prefetch: 1}
strategies:
  - {name: kept}
  - {name: again, recompute: [mlp/silu]}
YAML
for layers in 4 5; do
    for set in kv_heads=8 kv_heads=2 dtype=bfloat16; do
        shardsim plan --json -s model.layers=$layers -s "model.$set" "$tmp/llama.yaml"
        cp "$tmp/out" "$tmp/llama_${layers}_$set"
    done
done
holds "a layer of Llama keeps what one adds up by hand" <<PY
def kept(case, strategy):
    plans = [json.load(open("$tmp/llama_%d_%s" % (n, case))) for n in (4, 5)]
    four, five = (r["memory"]["breakdown"]["at_peak"]["activations"]
                  for plan in plans for r in plan if r["strategy"] == strategy)
    return five - four

S, h, f, heads, width = 512, 256, 1024, 8, 32
assert kept("kv_heads=8", "kept") == 12603392
for case, bytes, kv in (("kv_heads=8", 4, 8), ("kv_heads=2", 4, 2), ("dtype=bfloat16", 2, 8)):
    # Inputs and results of both norms, q, k and v, the result of attention; gate, up, silu and
    # their product; 1/rms per token of both norms in the layer's type, a log-sum-exp per head and
    # token.
    want = bytes * S * (4 * h + h + 2 * kv * width + h + 4 * f + 2) + 4 * S * heads
    assert kept(case, "kept") == want, (case, kept(case, "kept"), want)
    assert kept(case, "again") == want - bytes * S * f, (case, "with silu computed again")
PY

# A Mixtral layer, term by term as in docs/memory_estimators.md: tp shards the width of the experts,
# not their rows.
cat >"$tmp/mixtral.yaml" <<'YAML'
version: 1
mesh: {ep: 8, tp: 2}
model: {size: mixtral-8x7b, dtype: bfloat16, layers: 4}
batch: {size: 8, seq: 4096}
moe: {capacity: 1}
step: [forward, backward, update]
optimizer: {kind: adamw}
types: {parameters: float32, gradients: parameters, reduce: parameters}
params:
  - [(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [moe/(gate|up)/kernel, [ep, null, tp]]
  - [moe/down/kernel, [ep, tp]]
  - [embed/table, [tp]]
  - [head/kernel, [null, tp]]
  - [.*, []]
axes: {batch: ep}
constraints:
  - [head/out, [ep, null, tp]]
  - [out$, [ep, [tp]]]
strategies:
  - {name: kept}
  - {name: again, recompute: [moe/silu]}
YAML
for layers in 4 5; do
    shardsim plan --json -s model.layers=$layers "$tmp/mixtral.yaml"
    cp "$tmp/out" "$tmp/mixtral_$layers"
done
holds "a layer of Mixtral keeps what one adds up by hand" <<PY
def kept(strategy):
    four, five = (next(r["memory"]["breakdown"]["at_peak"]["activations"] for r in
                  json.load(open("$tmp/mixtral_%d" % n)) if r["strategy"] == strategy) for n in (4, 5))
    return five - four

# In units of Sh: inputs of the norms, their results, q, k and v, the result of attention;
# dispatched rows, gate, up, silu and product of two rows, rows before they are combined.
Sh, f = 4096 * 4096, 3.5
want = (2 + 1 + 1 + 1 + 0.5 + 1 + 4 + 4 * 2 * f + 2) * Sh
assert want <= kept("kept") < 1.002 * want, (kept("kept"), want)
assert kept("kept") - kept("again") == 2 * f * Sh
PY
done_testing
