#!/bin/sh
# Tests products of 8 and 4 bits: a step of each recipe beside plain Python's, sharded against unsharded, its
# bytes and memory as planned, the bytes of magnitudes and of gathers by formula, and what is refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

recipes='tensorwise rowwise blockwise mxfp8 nvfp4'

# ---- values ----

cat >"$tmp/mlp.yaml" <<'END'
version: 1
mesh: {dp: 1}
model: {kind: mlp, d_model: 8, d_ff: 16, activation: relu, layers: 1}
batch: {size: 2, seq: 8}
step: [forward, backward, update]
optimizer: {kind: sgd}
params: [[.*, []]]
axes: {batch: dp}
END
for recipe in $recipes; do
    shardsim run --json --set products.recipe="$recipe" --set products.block=4 "$tmp/mlp.yaml"
    is 0 "$recipe: a step of an mlp"
    python3 "${0%/*}/products.py" "$recipe" 4 "$tmp/out" >"$tmp/wrong" 2>&1
    ok $? "$recipe: loss and gradients as in plain Python"
    diag <"$tmp/wrong"
done

# A token that sees itself alone has no gradient by its query and key: 0 in exact arithmetic, and
# otherwise a rest of rounding errors, from which a scale and codes are made.
cat >"$tmp/alone.yaml" <<'END'
version: 1
mesh: {dp: 2}
model: {kind: llama3, d_model: 16, d_ff: 32, layers: 2, heads: 4, vocab: 32, window: 1, attention: fused}
batch: {size: 4, seq: 8}
step: [forward, backward]
axes: {batch: dp}
params: [[.*, []]]
END
for recipe in $recipes; do
    shardsim run -s products="{recipe: $recipe, block: 8}" "$tmp/alone.yaml"
    is 0 "$recipe: a window of one token is verified"
done

# ---- sharded ----

# A small decoder in training, with strategies of all kinds.
cat >"$tmp/decoder.yaml" <<'END'
version: 1
mesh: {dp: 1}
model: {kind: transformer, d_model: 32, d_ff: 64, layers: 2, heads: 4, vocab: 64, activation: swiglu, norm: rms}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: sgd}
axes: {batch: dp}
params: [[.*, []]]
tolerance: 0.05
strategies:
  - {name: one}
  - {name: dp, mesh: {dp: 4}}
  - {name: fsdp, mesh: {dp: 4}, zero: {stage: 3, axis: dp}}
  - {name: gathers, mesh: {dp: 4}, zero: {stage: 3, axis: dp}, products: {gathers: true}}
  - {name: recompute, mesh: {dp: 2}, zero: {stage: 3, axis: dp}, recompute: full}
  - name: tp
    mesh: {dp: 2, tp: 2}
    params:
      - [(q|k|v)/kernel, [null, tp]]
      - [attn/o/kernel, [tp]]
      - [mlp/(up|gate)/kernel, [null, tp]]
      - [mlp/down/kernel, [tp]]
      - [.*, []]
  - name: sp
    mesh: {dp: 2, tp: 2}
    axes: {batch: dp, seq: tp}
    params:
      - [(q|k|v)/kernel, [null, tp]]
      - [attn/o/kernel, [tp]]
      - [mlp/(up|gate)/kernel, [null, tp]]
      - [mlp/down/kernel, [tp]]
      - [.*, []]
  - {name: pp, mesh: {pp: 2, dp: 2}, batch: {microbatches: 2}, pipeline: {axis: pp, schedule: 1f1b}}
END
for recipe in $recipes; do
    sampled 5 || continue
    shardsim run -q --json --set products.recipe="$recipe" --set products.block=8 \
        --set products.amax=all "$tmp/decoder.yaml"
    is 0 "$recipe: sharded steps, each op verified"
    cp "$tmp/out" "$tmp/run.json"
    shardsim plan --json --set products.recipe="$recipe" --set products.block=8 \
        --set products.amax=all "$tmp/decoder.yaml"
    holds "$recipe: the losses of one device, bytes and memory as planned" <<PY
runs = json.load(open("$tmp/run.json"))
one = runs[0]["training"]["losses"][0]
for run, plan in zip(runs, r):
    name = run["strategy"]
    # Sums in another order flip single roundings, by 1/16 of an element each.
    assert abs(run["training"]["losses"][0] - one) < 2e-3 * one, (name, run["training"], one)
    assert run["verify"]["ok"], name
    assert run["received_bytes"]["total"] == plan["received_bytes"]["total"], name
    assert run["collectives"] == plan["collectives"], name
    peaks = [[c for x in m["memory"]["peak_bytes"] for c in ([x["value"]] * x["devices"] if isinstance(x, dict) else [x])]
             for m in (run, plan)]
    assert peaks[0] == peaks[1], (name, peaks)
PY
done

# Magnitudes of each device's shards, the default: no collective has one, and every step is that of a reference
# with the same groups, up to single roundings.
for recipe in $recipes; do
    sampled 5 || continue
    shardsim run -q --json --set products.recipe="$recipe" --set products.block=8 --set tolerance=2e-5 \
        "$tmp/decoder.yaml"
    is 0 "$recipe, local: sharded steps, each op and the loss verified"
    cp "$tmp/out" "$tmp/run.json"
    shardsim plan --json --set products.recipe="$recipe" --set products.block=8 "$tmp/decoder.yaml"
    holds "$recipe, local: bytes as planned; no magnitude crosses devices but of weights gathered in 8 bits" <<PY
runs = json.load(open("$tmp/run.json"))
for run, plan in zip(runs, r):
    assert run["received_bytes"]["total"] == plan["received_bytes"]["total"], run["strategy"]
    # Where sequences are gathered, so are the magnitudes of what is gathered, beside its codes.
    amax = [c["why"] for c in plan["collectives"]
            if "/amax" in c["why"] and not (run["strategy"] == "sp" and c["op"] == "all-gather")]
    assert not amax or run["strategy"] == "gathers", (run["strategy"], amax[0])
PY
done

# Without an optimizer no constraint of a gradient says how tensor parallelism cuts data; the weights' rules do.
sed '/^optimizer/d; s/^step: .*/step: [forward, backward]/' "$tmp/decoder.yaml" >"$tmp/gradients.yaml"
for recipe in tensorwise rowwise nvfp4; do
    shardsim plan --json --strategy sp --set products.recipe="$recipe" --set products.block=8 "$tmp/gradients.yaml"
    is 0 "$recipe, local: gradients alone, planned"
    holds "$recipe, local: gradients alone, no magnitude is reduced" <<'PY'
s = r[0] if isinstance(r, list) else r
assert s["strategy"] == "sp", s["strategy"]
assert not [c["why"] for c in s["collectives"] if "/amax" in c["why"] and c["op"] == "all-reduce"]
PY
done

# ---- experts ----

# The same of experts' products: experts on devices of their own and cut, weights gathered, rows sent in 8 bits.
experts='[[moe/(up|gate|down)/kernel, [ep]], [.*, []]]'
cat >"$tmp/experts.yaml" <<END
version: 1
mesh: {dp: 1}
model: {kind: transformer, d_model: 32, d_ff: 48, layers: 2, heads: 4, vocab: 64, activation: swiglu, norm: rms}
moe: {experts: 4, top_k: 2, shared: 1, routing: uniform}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: sgd}
axes: {batch: dp}
params: [[.*, []]]
tolerance: 0.05
strategies:
  - {name: one}
  - {name: ep, mesh: {ep: 4}, axes: {batch: ep}, params: $experts}
  - {name: dp-ep, mesh: {dp: 2, ep: 2}, axes: {batch: [dp, ep]}, params: $experts}
  - name: gathers
    mesh: {dp: 2, ep: 2}
    axes: {batch: [dp, ep]}
    params: $experts
    zero: {stage: 3, axis: dp}
    products: {gathers: true}
  - {name: recompute, mesh: {ep: 4}, axes: {batch: ep}, params: $experts, recompute: full}
  - name: nodes
    mesh: {node: 2, ep: 2}
    moe: {node_axis: node}
    axes: {batch: [ep, node]}
    params: [[moe/(up|gate|down)/kernel, [[node, ep]]], [.*, []]]
  - name: tp
    mesh: {dp: 2, tp: 2}
    params: [[moe/(up|gate)/kernel, [null, null, tp]], [moe/down/kernel, [null, tp]], [.*, []]]
  - name: pp
    mesh: {pp: 2, ep: 2}
    axes: {batch: ep}
    params: $experts
    batch: {microbatches: 2}
    pipeline: {axis: pp, schedule: 1f1b}
END
same_losses='
runs = json.load(open("'"$tmp"'/run.json"))
for run, plan in zip(runs, r):
    name = run["strategy"]
    assert run["verify"]["ok"], name
    assert run["received_bytes"]["total"] == plan["received_bytes"]["total"], name
    assert run["collectives"] == plan["collectives"], name
    peaks = [[c for x in m["memory"]["peak_bytes"] for c in ([x["value"]] * x["devices"] if isinstance(x, dict) else [x])]
             for m in (run, plan)]
    assert peaks[0] == peaks[1], (name, peaks)
losses = {run["strategy"]: run["training"]["losses"][0] for run in runs}
assert abs(losses["ep"] - losses["one"]) < 2e-3 * losses["one"], losses
assert losses["ep"] == losses["recompute"], losses
'
for recipe in $recipes blockwise:sent mxfp8:sent; do
    sampled 5 || continue
    sent=false
    [ "${recipe#*:}" = "$recipe" ] || sent=true
    set -- --json --set products.recipe="${recipe%:*}" --set products.block=8 --set products.dispatch=$sent
    # Rows once to each node are sent so by recipes that may send them in codes.
    [ $sent = true ] || sed '/name: nodes/,/params/d' "$tmp/experts.yaml" | sed '/^  -$/d' >"$tmp/now.yaml"
    [ $sent = false ] || cp "$tmp/experts.yaml" "$tmp/now.yaml"
    shardsim run "$@" "$tmp/now.yaml"
    is 0 "experts, $recipe: sharded steps, each op verified"
    cp "$tmp/out" "$tmp/run.json"
    shardsim plan "$@" "$tmp/now.yaml"
    holds "experts, $recipe: the losses of one device, bytes and memory as planned" <<PY
$same_losses
PY
done

# Rows on their way: dispatches in bytes, with magnitudes for each 8 elements, and what experts return in floats.
cat >"$tmp/sent.py" <<'PY'
import json, sys
r = json.load(sys.stdin)
print(*[sum(c["received_bytes"] for c in r["collectives"] if c["op"] == "all-to-all-v" and c["dtype"] == t)
        for t in ("float8_e4m3fn", "bfloat16")])
PY
# sent SETTING...: bytes of rows in 8 and in 16 bits, of one strategy
sent() {
    "$shardsim" plan --json --strategy ep --set model.dtype=bfloat16 --set moe.shared=0 "$@" "$tmp/experts.yaml" |
        python3 "$tmp/sent.py"
}
rows=$(sent)
wide=${rows#* }
# A dispatch and a combine in each phase: four times the same rows.
[ "$rows" = "0 $wide" ] && [ "$wide" -gt 0 ] && [ $((wide % 8)) -eq 0 ]
ok $? "experts: rows in 16 bits"
[ "$(sent --set products.recipe=blockwise --set products.block=8)" = "$rows" ]
ok $? "experts: products in 8 bits do not change how rows travel"
[ "$(sent --set products.recipe=blockwise --set products.block=8 --set products.dispatch=true)" = \
    "$((wide / 4)) $((wide / 2 + wide / 2 / 8))" ]
ok $? "experts: dispatched rows take a byte an element, and a magnitude for each block"
shardsim plan --set products.recipe=rowwise --set products.dispatch=true "$tmp/experts.yaml"
is 2 "experts: rows are not sent in codes whose scales do not lie in them"
says err "expected products.recipe blockwise or mxfp8" "experts: which recipes send rows in codes"
# ---- bytes by formula ----

cat >"$tmp/fsdp.yaml" <<'END'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 32, d_ff: 64, activation: relu, layers: 2, dtype: bfloat16}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: sgd}
axes: {batch: dp}
params: [[.*, []]]
zero: {stage: 3, axis: dp}
END
# received OP SETTING...: the bytes received by collectives of a kind
received() {
    op=$1
    shift
    "$shardsim" plan --json "$@" "$tmp/fsdp.yaml" | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(sum(c["received_bytes"] for c in r["collectives"] if c["op"] == sys.argv[1]))' "$op"
}
kernels=$((32 * 64)) # elements of a kernel; there are four
# Each device receives three quarters of every kernel, and in the backward phase of all but the first, by which
# no gradient of the data is asked for.
gathered=$((4 * 3 * (4 + 3) * kernels / 4))
[ "$(received all-gather)" = $((2 * gathered)) ]
ok $? "in 16 bits weights are gathered in two bytes"
[ "$(received all-gather --set products.recipe=tensorwise)" = $((2 * gathered)) ]
ok $? "so they are where each phase rounds them"
[ "$(received all-gather --set products.recipe=tensorwise --set products.gathers=true)" = "$gathered" ]
ok $? "in 8 bits they are gathered in one"
[ "$(received all-gather --set products.recipe=blockwise --set products.block=8 --set products.gathers=true)" = \
    $((gathered + 2 * gathered / 64)) ]
ok $? "blocks come with their largest magnitudes, two bytes for 8 x 8"
sums=$(received all-reduce)
# The operands of two bytes of an all-reduce among four, 2 * 3/4 of it to each device: four arrays of the forward
# phase (each layer's input and hidden values) and four gradients.
[ "$(received all-reduce --set products.recipe=tensorwise --set products.amax=all)" = $((sums + 8 * 2 * 2 * 3)) ]
ok $? "tensorwise: an all-reduce of each array's largest magnitude"
[ "$(received all-reduce --set products.recipe=tensorwise --set products.amax=local)" = "$sums" ]
ok $? "tensorwise: none where each device's part has a scale of its own"
[ "$(received all-reduce --set products.recipe=blockwise --set products.block=16)" = "$sums" ]
ok $? "blockwise: none, as blocks lie inside of shards"
shardsim run --json --set products.recipe=tensorwise --set products.amax=local "$tmp/fsdp.yaml"
is 0 "local magnitudes: as unsharded with the same groups"
shardsim run --json --set products.recipe=mxfp8 --set products.block=32 --set 'mesh={dp: 1, tp: 4}' \
    --set 'params=[[up/kernel, [tp]], [.*, []]]' --set zero.stage=0 "$tmp/fsdp.yaml"
is 0 "blocks that lie across shards: magnitudes are completed"
[ "$(received all-reduce --set products.recipe=mxfp8 --set products.block=32 --set 'mesh={dp: 1, tp: 4}' \
    --set 'params=[[up/kernel, [tp]], [.*, []]]' --set zero.stage=0)" -gt 0 ]
ok $? "blocks that lie across shards: by an all-reduce"

# ---- what is kept ----

# kept SETTING...: the peak of activations
kept() {
    "$shardsim" plan --json --set zero.stage=0 --set mesh.dp=1 --set products.recipe=rowwise "$@" "$tmp/fsdp.yaml" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"]["by_kind"]["activations"])'
}
[ "$(kept --set products.kept=codes)" -lt "$(kept)" ]
ok $? "codes that the backward phase rereads take less memory than what they are of"

# ---- clusters ----

for recipe in tensorwise nvfp4; do
    shardsim plan --json --set hardware=b200 --set products.recipe=$recipe "$tmp/decoder.yaml" --set products.block=16
    is 0 "$recipe: planned on a B200"
done
shardsim plan --set hardware=tpu-v6e --set products.recipe=tensorwise "$tmp/fsdp.yaml"
is 2 "a cluster without a rate of 8 bits is refused"
says err "2:17: error: cluster 'tpu-v6e' has no rate of float8_e4m3fn; expected" "with what to say"
sed '/float8_e5m2/d' "$scenarios/hardware/h100-sxm.yaml" >"$tmp/half.yaml"
shardsim plan --set "hardware=$tmp/half.yaml" --set products.recipe=tensorwise "$tmp/fsdp.yaml"
is 2 "a cluster without a rate of the codes of gradients is refused"
says err "h100-sxm' has no rate of float8_e5m2; expected" "with what to say, too"
shardsim plan --set "hardware=$tmp/half.yaml" --set products.recipe=rowwise "$tmp/fsdp.yaml"
is 0 "but not where gradients have other codes"
shardsim plan --set hardware=h100-sxm --set products.recipe=nvfp4 "$tmp/decoder.yaml"
is 2 "a cluster without a rate of 4 bits is refused"
cat >"$tmp/large.yaml" <<'END'
version: 1
hardware: h100-sxm
mesh: {dp: 1}
model: {kind: mlp, d_model: 8192, d_ff: 28672, layers: 1, dtype: bfloat16}
batch: {size: 8, seq: 4096}
params: [[.*, []]]
END
# seconds RECIPE: of products
seconds() {
    "$shardsim" plan --json --set products.recipe="$1" "$tmp/large.yaml" | python3 -c 'import json, sys
print(json.load(sys.stdin)["time"]["modelled"]["matmul_seconds"])'
}
python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(not 1.8 < a / b < 2.2)' "$(seconds none)" \
    "$(seconds tensorwise)"
ok $? "large products take half the time"

# ---- what is refused ----

cat >"$tmp/heads.yaml" <<'YAML'
version: 1
name: heads
mesh: {sp: 4}
model: {kind: gpt2, d_model: 16, d_ff: 32, layers: 1, heads: 2, head_dim: 4, vocab: 16}
batch: {size: 4, seq: 4}
step: [forward, backward]
products: {recipe: rowwise}
params: [[.*, [sp]]]
axes: {batch: sp}
YAML

shardsim plan --set products.recipe=blockwise --set products.block=5 "$tmp/decoder.yaml"
is 2 "blocks that do not divide"
says err "products.block: blocks of 5 do not divide dimension '.*' of [0-9]*; expected a divisor" \
    "blocks that do not divide: which"
for amax in local all; do
    shardsim plan -q --set products.amax=$amax "$tmp/heads.yaml"
    is 2 "amax $amax, more devices than heads"
    says err "heads.yaml:8:15: error: 'layers/0/attn/o/kernel': dimension 0 of extent 2 does not divide into 4 shards; 2 would do" \
        "amax $amax, more devices than heads: the rule, and how many devices"
done
shardsim plan -q --set uneven=pad "$tmp/heads.yaml"
is 2 "padded heads"
says err "products.amax local: 4 parts do not divide dimension 'heads' of 2; expected products.amax all" \
    "padded heads: what to do"
shardsim plan -q --set uneven=pad --set products.amax=all "$tmp/heads.yaml"
is 0 "padded heads, with magnitudes of all devices"
shardsim plan --set products.recipe=rowwise --set model.dtype=float64 "$tmp/mlp.yaml"
is 2 "products in float64"
shardsim plan --set products.recipe=fp9 "$tmp/mlp.yaml"
says err "expected one of none, tensorwise, rowwise, blockwise, mxfp8, nvfp4" "a recipe that is none"
for target in jax pytorch; do
    shardsim export --to $target --set products.recipe=mxfp8 --set products.block=8 "$tmp/decoder.yaml" --strategy dp
    [ "$status" -ne 0 ] && grep -q 'does not support this quantization of matmuls; expected products.recipe none' "$tmp/err"
    ok $? "export to $target refuses"
    diag <"$tmp/err"
done
# Weights that tensor parallelism shards have their largest magnitude by an all-reduce each.
cat >"$tmp/once.yaml" <<'YAML'
version: 1
mesh: {pp: 2, tp: 2}
model: {kind: llama3, layers: 2, d_model: 32, d_ff: 64, heads: 4, vocab: 64, dtype: bfloat16}
batch: {size: 8, seq: 8, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [['(q|k|v|gate|up)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
pipeline: {axis: pp}
strategies:
  - {name: plain-2}
  - {name: plain-4, batch: {microbatches: 4}}
  - {name: coded-2, products: {recipe: tensorwise, amax: all}}
  - {name: coded-4, products: {recipe: tensorwise, amax: all}, batch: {microbatches: 4}}
YAML
shardsim run -q --json "$tmp/once.yaml"
is 0 "a pipeline: executed, numbers as without sharding"
holds "a pipeline: the seven weights of each of two layers are rounded once a step, not for each microbatch" <<'PY'
plain_2, plain_4, coded_2, coded_4 = (x["figures"]["collectives"] for x in r)
once = lambda two, four: 2 * two - four
assert once(coded_2, coded_4) - once(plain_2, plain_4) == 2 * 7, (plain_2, plain_4, coded_2, coded_4)
PY
done_testing
