#!/bin/sh
# Tests the explanation of uneven work: the device with the most attention or rows of experts, the
# reason, and the saving of another order of tokens; a run counts the same as a plan.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# The last output on one line.
flat() {
    tr -s ' \n' ' ' <"$tmp/out" >"$tmp/flat"
}

# ---- causal ----
shardsim plan "$scenarios/ring.yaml" --strategy ring
is 0 "plan, contiguous: status 0"
flat
says flat 'attention layers/\*/attn/heads, layers/\*/attn/heads.grad: device 7 has 1.8x the mean' \
    "plan, contiguous: who has most, forward and backward in one"
says flat 'it has the last tokens of each sequence, which attend to the most keys; order zigzag would give all nearly equal work, and the slowest' \
    "plan, contiguous: why, and what would help"
says flat 'slowest device in each of the ring.s 8 steps, 55 % of their time is work' "and in steps"
! awk 'length > 80 { wide = 1 } END { exit !wide }' "$tmp/out"
ok $? "plan: 80 columns"
shardsim plan "$scenarios/ring.yaml" --strategy zigzag
flat
says flat 'devices have nearly equal work, in each of the ring.s 8 steps, too' "plan, zigzag"
shardsim plan "$scenarios/ring.yaml" --strategy ulysses
! grep -q '^attention' "$tmp/out"
ok $? "plan, Ulysses: nothing is uneven, and nothing is said"

# Queries and keys that are not the same tokens have no other order.
cat >"$tmp/apart.yaml" <<'YAML'
version: 1
name: apart
mesh: {sp: 2}
graph:
  dims: {b: 2, s: 64, t: 128, h: 4, d: 16}
  inputs: {x: [b]}
  params: {q: [b, s, h, d], k: [b, t, h, d]}
  ops: ["y = attention(q, k, k, causal=true)"]
  outputs: [y]
params: [[q, [null, sp]], [".*", []]]
step: [forward]
YAML
shardsim plan "$tmp/apart.yaml"
is 0 "plan, keys of other tokens: status 0"
flat
says flat 'device 1 has 1.3x the mean of attention: it has the last tokens of each sequence, which attend to the most keys work' \
    "plan, keys of other tokens: why"

# The saving predicted for zigzag equals the difference to the plan with zigzag.
shardsim plan --json "$scenarios/ring.yaml" --strategy ring
cp "$tmp/out" "$tmp/planned"
shardsim plan --json "$scenarios/ring.yaml" --strategy zigzag
holds "the saving that another order is said to make is the one it makes" <<PY
contiguous = json.load(open("$tmp/planned", encoding="utf-8"))
for a, b in zip(contiguous["attention"], r["attention"]):
    saved = 1 - max(b["pairs"]) / max(a["pairs"])
    assert "the slowest %.0f %% less" % (100 * saved) in a["why"], (saved, a["why"])
PY
shardsim run -q --json "$scenarios/ring.yaml" --strategy ring
is 0 "run: status 0"
holds "run: pairs of each device and step are those of the plan, and add up" <<PY
plan = json.load(open("$tmp/planned", encoding="utf-8"))["attention"]
assert len(r["attention"]) == len(plan) == 2
for a, b in zip(r["attention"], plan):
    a = dict(a)
    assert a.pop("busy_balance") > 0 and a == b, (a, b)
    assert len(a["steps"]) == len(a["pairs"]) == 8
    for device in range(8):
        assert sum(s["pairs"][device] for s in a["steps"]) == a["pairs"][device], a
    most = [max(s["pairs"]) for s in a["steps"]]
    assert abs(a["lockstep"] - sum(a["pairs"]) / 8 / sum(most)) < 1e-12, a
    assert a["times_the_mean"] == max(a["pairs"]) / (sum(a["pairs"]) / 8) and a["most"] == 7
flops = sum(p * a["flops_of_a_pair"] * a["count"] for a in r["attention"] for p in a["pairs"])
assert flops == 8 * r["balance"]["attention_flops"]["mean"], flops
forward, backward = r["attention"]
assert forward["pairs"] == backward["pairs"]
# A step of the ring in which a rank sees no key of the block takes almost no time.
assert max(a["busy_balance"] for a in r["attention"]) < 0.9, r["attention"]
PY
shardsim run -q --json "$scenarios/ring.yaml" --strategy zigzag
holds "run, zigzag: as many pairs in each step, and as much time in the replay" <<'PY'
for a in r["attention"]:
    assert a["lockstep"] == a["times_the_mean"] == 1 and a["busy_balance"] > 0.99, a
    assert all(len(set(s["pairs"])) == 1 for s in a["steps"]), a
PY

# ---- documents, and a window ----
shardsim plan --json "$scenarios/packed.yaml" --strategy contiguous -s batch.size=1 \
    -s 'context.documents=[100, 700, 224]'
holds "documents: the document to blame, and its place" <<'PY'
for a in r["attention"]:
    assert a["most"] == 5, a
    assert "100 % of what its tokens see is in a document of 700 tokens (sequence 0, from token 100 on)" in a["why"], a
PY
shardsim plan --json "$scenarios/packed.yaml" --strategy zigzag
holds "no order is named that only some figures speak for" <<'PY'
assert not any("order" in a["why"] for a in r["attention"]), r["attention"]
PY
shardsim plan --json "$scenarios/ring.yaml" --strategy ring -s model.window=512
holds "a window: it is the first tokens that see less" <<'PY'
for a in r["attention"]:
    assert "each of its tokens attends to 512, tokens at the beginning of a sequence to fewer" in a["why"], a
PY

# A rank of a pipeline takes no part in the attention of other stages.
cat >"$tmp/pipeline.yaml" <<'YAML'
version: 1
mesh: {pp: 2, cp: 4}
model: {kind: transformer, layers: 4, d_model: 32, heads: 4, d_ff: 64, vocab: 64, causal: true}
batch: {size: 4, seq: 256, microbatches: 4}
pipeline: {axis: pp, schedule: 1f1b}
optimizer: {kind: adamw}
step: [forward, backward, update]
params: [[.*, []]]
axes: {seq: cp}
context: {axis: cp, method: ring}
YAML
shardsim plan --json "$tmp/pipeline.yaml"
is 0 "a pipeline: status 0"
cp "$tmp/out" "$tmp/planned"
holds "a pipeline: layers of both ranks are alike, and even among four devices, not eight" <<'PY'
assert [a["count"] for a in r["attention"]] == [4, 4], [a["count"] for a in r["attention"]]
for a in r["attention"]:
    has = [p for p in a["pairs"] if p > 0]
    assert len(has) == 4 and a["mean"] == sum(has) / 4, a
PY
shardsim explain "$tmp/pipeline.yaml" --ops
awk '/heads: attention .forward/ { within = 1 } within && /^ *work/ { print; exit }' "$tmp/out" >"$tmp/work"
says work 'flops on each device' "explain, a pipeline: of the devices that have a part only"
shardsim run -q --json "$tmp/pipeline.yaml"
holds "a pipeline: a run counts what is planned" <<PY
plan = json.load(open("$tmp/planned", encoding="utf-8"))["attention"]
assert [(a["count"], a["pairs"], a["why"]) for a in r["attention"]] == [(a["count"], a["pairs"], a["why"]) for a in plan]
PY

# ---- compare ----
shardsim compare --plan "$scenarios/ring.yaml"
is 0 "compare: status 0"
flat
says flat 'why flops are uneven: gather: device 7 has 1.8x the mean of attention: it has the last' \
    "compare: why one loses"
! grep -q '^  \(zigzag\|striped\|ulysses\|mix\): ' "$tmp/out"
ok $? "compare: no reason for strategies with even flops"
shardsim compare --plan --format=markdown "$scenarios/ring.yaml"
says out '^Why flops are uneven in ring: device 7 has 1.8x the mean of attention' "in Markdown, too"
shardsim compare --plan --json "$scenarios/ring.yaml"
holds "compare --json: why_uneven of those that lose, in the words of the result" <<'PY'
why = {s["strategy"]: s["why_uneven"] for s in r["strategies"]}
for x in r["results"]:
    loses = x["balance"]["flops"]["ratio"] < 0.95
    assert (why[x["strategy"]] is not None) == loses, x["strategy"]
    assert not loses or why[x["strategy"]] in [a["why"] for a in x["attention"]]
PY
shardsim compare --plan --format=csv "$scenarios/ring.yaml" "$scenarios/strategies.yaml"
cat >"$tmp/read_csv.py" <<PY
import csv
rows = {(r["scenario"], r["strategy"]): r for r in csv.DictReader(open("$tmp/out", newline=""))}
assert 0.5 < float(rows["ring", "ring"]["attention_balance"]) < 0.56
assert float(rows["ring", "zigzag"]["attention_balance"]) == 1
assert rows["strategies", "tensor"]["attention_balance"] == "" == rows["ring", "ring"]["expert_balance"]
assert rows["ring", "gather"]["why_uneven"].startswith("device 7 has") and not rows["ring", "mix"]["why_uneven"]
PY
python3 "$tmp/read_csv.py" 2>"$tmp/wrong"
ok $? "compare --format=csv: balances, where there is such work"
diag <"$tmp/wrong"

# ---- experts ----
cat >"$tmp/moe.yaml" <<'YAML'
version: 1
mesh: {ep: 4}
model: {kind: transformer, layers: 2, d_model: 32, heads: 4, d_ff: 64, vocab: 64}
moe: {experts: 8, top_k: 2, d_ff: 64}
batch: {size: 8, seq: 16}
step: [forward, backward]
params:
  - [moe/(up|gate|down)/kernel, [ep]]
  - [.*, []]
axes: {batch: ep}
strategies:
  - {name: uniform, moe: {routing: uniform}}
  - {name: hot, moe: {routing: hot-expert}}
YAML
shardsim compare --plan "$tmp/moe.yaml"
is 0 "compare, experts: status 0"
flat
says flat 'why flops are uneven: hot: device 0 holds expert 0, which has [0-9.]*x the mean of experts' \
    "compare, experts: the device that holds the hot one"
shardsim compare --plan --json "$tmp/moe.yaml"
holds "compare --json, experts: the balance is that of the result" <<'PY'
for s, x in zip(r["strategies"], r["results"]):
    hot = s["strategy"] == "hot"
    assert (x["balance"]["expert_flops"]["ratio"] < 0.6) == hot, x["balance"]
    assert (s["why_uneven"] or "").startswith("device 0 holds expert 0") == hot, s
PY
shardsim explain "$tmp/moe.yaml" --strategy hot --ops
flat
says flat 'the most on device 0, as experts get more or fewer tokens; no communication' \
    "explain: whose experts have most"
shardsim explain "$scenarios/ring.yaml" --strategy gather --ops
flat
says flat 'the most on device 7, as queries see more or fewer keys; no communication' \
    "explain: whose tokens see most"
done_testing
