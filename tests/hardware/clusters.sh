#!/bin/sh
# Tests published models on the clusters of scenarios/models: each is planned, its parts add up to
# its step, it fits, and its MFU is one that such clusters reach; a million devices are planned at
# once.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
models=$scenarios/models

cat >"$tmp/sane.py" <<'PY'
for p in r if isinstance(r, list) else [r]:
    t, devices = p["time"]["modelled"], p["devices"]
    serves = "serving" in p # on the devices of a server, and by the memory's rate
    assert devices >= (8 if serves else 1024) and t["step_seconds"] > 0, p["strategy"]
    parts = ["compute", "exposed_communication", "waiting", "update"]
    parts += [k for k in ["launch"] if k + "_seconds" in t]
    whole = sum(t[k + "_seconds"] for k in parts)
    assert abs(whole - t["step_seconds"]) < 1e-6 * t["step_seconds"], (whole, t)
    kinds = sum(t[k + "_seconds"] for k in ["matmul", "attention", "elementwise"])
    assert abs(kinds - t["compute_seconds"]) < 1e-6 * kinds, t
    axes = sum(t["exposed_by_axes"].values())
    assert abs(axes - t["exposed_communication_seconds"]) < 1e-6 * t["step_seconds"], t
    assert (0 if serves else 0.05) < t["mfu"] <= t["hfu"] < 0.75, t
    assert (t["hfu"] > t["mfu"]) == (t["again_seconds"] > 0), t
    assert t["fits"] is True, t
    assert t["extrapolated"] or t["expected_error"] is not None, t
PY

for file in "$models"/*.yaml; do
    name=models/${file##*/}
    head -n 1 "$file" | grep -q '^# .*[.,a-z:;]$' && grep -q '^# Expect' "$file"
    ok $? "$name: says what it shows and what to expect"
    ! awk 'length > 100 { wide = 1 } END { exit !wide }' "$file"
    ok $? "$name: lines of at most 100 characters"
    grep -q "scenarios/$name" "$top_srcdir/Makefile.am"
    ok $? "$name: is in the release"
    # Large plans run in one thread; under a sanitizer the small ones run the same code.
    case ${SHD_TEST_SIZE:-}$file in
    small*llama3-8b* | small*mixtral* | [!s]*) ;;
    *) continue ;;
    esac
    shardsim plan -q --json "$file"
    is 0 "$name: planned"
    silent err "$name: without a warning"
    cp "$tmp/out" "$tmp/${file##*/}.json"
    holds "$name: parts come to the step, it fits, and MFU is what clusters reach" <"$tmp/sane.py"
done
for model in llama3-8b llama3-70b llama3-405b gpt3-175b mixtral-8x7b deepseek-v3 t5-11b; do
    [ -f "$models/$model.yaml" ]
    ok $? "$model is there"
done
if small_size; then
    done_testing
    exit 0
fi

# The figures that the comments of the scenarios promise.
cp "$tmp/gpt3-175b.yaml.json" "$tmp/out"
holds "GPT-3: a third more is done than counts, in some half a minute" <<'PY'
t = r["time"]["modelled"]
assert 1.3 < t["hfu"] / t["mfu"] < 1.35 and 20 < t["step_seconds"] < 45, t
PY
cp "$tmp/llama3-70b.yaml.json" "$tmp/out"
# The formula is that of Megatron-LM's num_floating_point_operations(), megatron/training/training.py.
holds "Llama 3 70B: model flops with causal attention counted half are Megatron-LM's" <<'PY'
h, ffn, kv, layers, vocab, seq, batch = 8192, 28672, 1024, 80, 128256, 8192, 1024
attention = h * (h + 2 * kv) + h * seq / 2 * 2 + h * h
megatron = batch * seq * 3 * 2 * (layers * (3 * h * ffn + attention) + h * vocab)
half = r["work"]["model_flops_causal_half"]
t = r["time"]["modelled"]
assert abs(half / megatron - 1) < 0.001, (half, megatron)
assert abs(t["mfu_causal_half"] / t["mfu"] - half / r["work"]["model_flops"]) < 1e-9, t
PY
holds "Llama 3 70B: sums inside a node and messages between stages travel beside computation" <<'PY'
t = r["time"]["modelled"]
axes = t["exposed_by_axes"]
assert 0 < axes["tp"] < t["step_seconds"] / 20 and axes["pp"] < t["step_seconds"] / 100, t
PY
shardsim plan -q --json -s pipeline.stages_per_rank=1 "$models/llama3-70b.yaml"
holds "Llama 3 70B: with one stage a rank it waits more than twice as long" <<PY
few = json.load(open("$tmp/llama3-70b.yaml.json", encoding="utf-8"))["time"]["modelled"]
assert r["time"]["modelled"]["waiting_seconds"] > 2 * few["waiting_seconds"], (r["time"], few)
PY
shardsim plan -q -v "$models/llama3-70b.yaml"
says out '^  layers/\*/mlp .* compute$' "Llama 3 70B: its MLPs are bound by the rate of flops"
says out '^  layers/\*/norm2 .* memory$' "Llama 3 70B: its norms are bound by the memory"
! grep -q '^  [^ ]* and ' "$tmp/out"
ok $? "Llama 3 70B: what is sent together is of the kind of the first"
cp "$tmp/llama3-405b.yaml.json" "$tmp/out"
holds "Llama 3 405B: long sequences are mostly attention" <<'PY'
long = r[1]["time"]["modelled"]
assert long["attention_seconds"] > long["matmul_seconds"], long
PY
cp "$tmp/deepseek-v3.yaml.json" "$tmp/out"
holds "DeepSeek-V3: tokens on their way are what is waited for; a tenth of the parameters is at work" <<'PY'
ep = r["time"]["modelled"]["exposed_by_axes"]["ep"]
assert r["work"]["model_flops"] / (15360 * 4096) < 6 * 0.1 * 671e9, r["work"]
assert ep > r["time"]["modelled"]["exposed_communication_seconds"] / 2, r["time"]
PY

# A million devices: 131,072 replicas of a node, each with a batch of its own.  Latency grows with
# the logarithm of the number of nodes, so the step takes hardly longer.
for replicas in 128 131072; do
    shardsim plan -q --json -S tp-dp -s mesh.dp=$replicas -s batch.size=$((16 * replicas)) \
        "$models/llama3-8b.yaml"
    is 0 "$replicas nodes: planned"
    cp "$tmp/out" "$tmp/replicas.$replicas"
done
holds "a million devices: hardly slower than a thousand" <<PY
few = json.load(open("$tmp/replicas.128", encoding="utf-8"))
assert r["devices"] == 1 << 20 and few["devices"] == 1024
t, before = (x["time"]["modelled"]["step_seconds"] for x in (r, few))
assert before < t < 1.1 * before, (before, t)
PY
done_testing
