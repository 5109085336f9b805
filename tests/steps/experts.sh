#!/bin/sh
# Tests the figures of run and plan on experts: tokens of each expert, drops, bytes into devices,
# and the rank of the hot expert; and explain's words on their all-to-all.  The table of
# docs/experts.md is the output of its command (EXPERTS_UPDATE=1 writes the table).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/moe.yaml" <<'YAML'
version: 1
mesh: {dp: 2, ep: 4}
model: {kind: transformer, layers: 2, d_model: 32, heads: 4, d_ff: 64, vocab: 64}
moe: {experts: 8, top_k: 2, d_ff: 32, routing: zipf, capacity: 1.25}
batch: {size: 8, seq: 16}
step: [forward, backward]
params:
  - [moe/(up|gate|down)/kernel, [ep]]
  - [.*, []]
axes: {batch: [dp, ep]}
YAML

# figures run|plan WORKLOAD: 8 * 16 tokens choose two of 8 experts, in two groups.
figures() {
    shardsim "$1" -q --json -s "moe.routing=$2" "$tmp/moe.yaml"
    is 0 "$1, $2: status 0"
    holds "$1, $2: figures add up" <<'PY'
assert len(r["experts"]) >= 1
for e in r["experts"]:
    experts, ranks, received = e["rows_of_experts"], e["rows_of_ranks"], e["received_bytes"]
    assert sum(experts["each"]) == e["choices"] - e["dropped"] == sum(ranks["each"]), e
    assert len(experts["each"]) == 8 and len(ranks["each"]) == 8 and len(received["each"]) == 8
    for load in experts, ranks, received:
        each = load["each"]
        assert each[load["most"]] == max(each) and load["mean"] == sum(each) / len(each)
    # the capacity is 1.25 of an even share of the 128 choices of a group
    assert max(experts["each"]) <= 2 * 20 and max(ranks["each"]) <= 2 * 20, e
    links = e.get("links")
    if links:
        assert 0 < links["used"] <= 2 * 4 * 3 and links["from"] != links["to"], links
        assert abs(links["used"] * links["mean_bytes"] - sum(received["each"])) < 1e-6, e
        assert links["mean_bytes"] <= links["most_bytes"] <= max(received["each"]), e
        each = e["bytes_of_links"]
        assert len(each) == links["used"] and max(b for f, t, b in each) == links["most_bytes"], e
        assert [links["from"], links["to"], links["most_bytes"]] in each, e
        for device in range(8):
            assert sum(b for f, t, b in each if t == device) == received["each"][device], e
    # only kept rows are sent, 32 float32 numbers each
    assert sum(received["each"]) <= (e["choices"] - e["dropped"]) * 32 * 4
rows = [c for c in r["collectives"] if c["op"] == "all-to-all-v" and c["phase"] == "forward" and
        c["where"].endswith("dispatch")]
assert sum(c["received_bytes"] for c in rows) == sum(sum(e["received_bytes"]["each"]) * e["count"]
                                                     for e in r["experts"])
PY
}

for routing in uniform zipf hot-expert hot-rank ragged empty rotating; do
    figures plan $routing
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["experts"])' "$tmp/out" \
        >"$tmp/planned"
    figures run $routing
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["experts"])' "$tmp/out" \
        >"$tmp/executed"
    cmp -s "$tmp/planned" "$tmp/executed"
    ok $? "$routing: what is planned is what devices counted"
done

figures plan learned
holds "plan, learned: the figures are marked as assumed" <<'PY'
assert all(e["assumed"] for e in r["experts"])
PY
figures run learned
holds "run, learned: counted, not assumed" <<'PY'
assert not any(e["assumed"] for e in r["experts"])
assert all(e["links"]["used"] > 0 for e in r["experts"])
PY
# With several microbatches, the bytes of a link are those of the whole step.
shardsim run -q --json -s moe.routing=rotating -s batch.microbatches=2 -s batch.size=16 \
    -s optimizer.kind=adamw -s 'step=[forward, backward, update]' "$tmp/moe.yaml"
is 0 "run, two microbatches: status 0"
holds "run, two microbatches: links are those of the step" <<'PY'
for e in r["experts"]:
    assert sum(b for f, t, b in e["bytes_of_links"]) == sum(e["received_bytes"]["each"]) > 0, e
PY

shardsim plan -s moe.routing=hot-expert -s moe.capacity=0 "$tmp/moe.yaml"
is 0 "a hot expert: status 0"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/flat"
grep -q 'device 0 holds expert 0, which has [2-9]\.[0-9]x the mean of experts: its rows are [1-9]\.[0-9]x the mean of devices' \
    "$tmp/flat"
ok $? "a hot expert: its device"
grep -q ' 0 dropped' "$tmp/flat"
ok $? "dropless: nothing is dropped"
! awk 'length > 80 { wide = 1 } END { exit !wide }' "$tmp/out"
ok $? "plan: 80 columns"

# A mixtral has eight experts, of which a token goes to two, also without a size; a given number holds.
cat >"$tmp/mixtral.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: mixtral, d_model: 16, d_ff: 32, layers: 1, heads: 4, vocab: 32}
batch: {size: 4, seq: 8}
params: [[.*, []]]
YAML
for set in '2 of 8 experts of 32' '2 of 4 experts of 32 moe.experts=4' '1 of 8 experts of 32 moe.top_k=1'; do
    # shellcheck disable=SC2046
    COLUMNS=200 shardsim plan $(expr "$set" : '.*\(moe.*=.*\)' >/dev/null && echo "-s ${set##* }") "$tmp/mixtral.yaml"
    says out "causal, rope, ${set%% moe*}," "mixtral: ${set%% moe*}"
done

# Copies of experts take tokens off the fullest device, as planned and as devices count.
cat >"$tmp/copies.yaml" <<'YAML'
version: 1
mesh: {ep: 4}
model: {kind: mixtral, layers: 1, d_model: 16, heads: 4, kv_heads: 2, d_ff: 32, vocab: 32}
moe: {experts: 16, top_k: 2, d_ff: 16, routing: zipf}
step: [decode]
batch: {size: 256, seq: 4}
params:
  - [moe/(up|gate|down)/kernel, [ep]]
  - [.*, []]
axes: {batch: ep}
YAML
for copies in 0 4 8; do
    shardsim run -q --json -s moe.redundant=$copies "$tmp/copies.yaml"
    is 0 "run, $copies copies: status 0"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["experts"])' "$tmp/out" \
        >"$tmp/executed"
    shardsim plan -q --json -s moe.redundant=$copies "$tmp/copies.yaml"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["experts"])' "$tmp/out" |
        cmp -s - "$tmp/executed"
    ok $? "$copies copies: what is planned is what devices counted"
    COPIES=$copies holds "$copies copies: rows of devices" <<'PY'
import os
copies, e = int(os.environ["COPIES"]), r["experts"][0]
experts, ranks = e["rows_of_experts"]["each"], e["rows_of_ranks"]
assert len(experts) == 16 + copies and sum(experts) == sum(ranks["each"]) == 512, e
assert ranks["each"] == [sum(experts[i:i + len(experts) // 4])
                         for i in range(0, len(experts), len(experts) // 4)], e
of = e.get("copies_of", list(range(16)))
assert sorted(set(of)) == list(range(16)) and ("copies_of" in e) == (copies > 0), of
# the first expert of zipf's law has the most tokens, half of them, and so a copy first
assert of.count(0) == max(map(of.count, of)) and (of.count(0) > 1) == (copies > 0), of
same = [n for n, i in zip(experts, of) if i == 0]
assert max(same) < 1.25 * sum(same) / len(same), same
assert ranks["times_the_mean"] < (1.15 if copies else 99) and \
    (copies or ranks["times_the_mean"] > 2), ranks
PY
done
shardsim plan -s moe.redundant=8 "$tmp/copies.yaml"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/flat"
grep -q '2 of 16 experts of 16 and 8 copies of them' "$tmp/flat"
ok $? "copies: in the first lines"
shardsim plan -s moe.redundant=8 -s params='[[.*, []]]' -s axes='{}' "$tmp/copies.yaml"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/flat"
grep -q 'each device has all copies; a copy of expert [0-9]* has [0-9.]*x the mean' "$tmp/flat"
ok $? "copies that all devices have"
shardsim plan -s moe.redundant=3 "$tmp/copies.yaml"
is 2 "copies that do not divide: an error"
says err '^--set:1:15: error: 16 experts and 3 copies beside them do not divide over 4 devices' \
    "copies that do not divide: its place"

# A bias of a product with sharded rows is added on one device of each group where its sums are then
# combined as less: nothing more is received than without biases.
cat >"$tmp/dense.yaml" <<'YAML'
version: 1
mesh: {dp: 1, ep: 1, tp: 2}
model: {kind: transformer, layers: 2, d_model: 16, d_ff: 16, heads: 4, vocab: 32}
batch: {size: 4, seq: 8}
step: [forward, backward]
axes: {batch: [dp, ep]}
params:
#bias  - [(attn/(q|k|v)|mlp/up)/bias, [tp]]
  - [(attn/(q|k|v)|mlp/up|head)/kernel, [null, tp]]
  - [(attn/o|mlp/down)/kernel, [tp]]
  - [.*, []]
strategies:
  - {name: serial}
  - {name: beside, model: {residual: beside}}
  - {name: sequences, constraints: [['(attn|mlp)/out', [null, tp]]]}
YAML
cat >"$tmp/mixture.yaml" <<'YAML'
version: 1
mesh: {dp: 1, ep: 1, tp: 2}
model: {kind: transformer, layers: 2, d_model: 16, d_ff: 16, heads: 4, vocab: 32}
moe: {experts: 4, top_k: 2, routing: uniform}
batch: {size: 4, seq: 8}
step: [forward, backward]
axes: {batch: [dp, ep]}
params:
#bias  - [attn/(q|k|v)/bias, [tp]]
#bias  - [moe/up/bias, [ep, tp]]
#bias  - [moe/down/bias, [ep]]
  - [(attn/(q|k|v)|head)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [moe/up/kernel, [ep, null, tp]]
  - [moe/down/kernel, [ep, tp]]
  - [.*, []]
strategies:
  - {name: experts}
  - {name: over-ranks, mesh: {dp: 1, ep: 2, tp: 2}}
  - {name: replicas, mesh: {dp: 2, ep: 1, tp: 2}}
  - {name: capacity, moe: {capacity: 1}}
  - {name: hot, moe: {routing: zipf}}
  - {name: half, model: {dtype: bfloat16}}
  - {name: sequences, constraints: [['(attn|moe)/out', [null, tp]]]}
YAML
received() {
    python3 -c 'import json, sys
for r in json.load(open(sys.argv[1])):
    print(r["strategy"], sum(c["received_bytes"] for c in r["collectives"]
                             if c["phase"] == "forward"))' "$tmp/out"
}
while read -r of set; do
    sed 's/^#bias//' "$tmp/$of.yaml" >"$tmp/biased.yaml"
    for what in plan run; do
        shardsim $what -q --json "$tmp/$of.yaml"
        is 0 "$what, $of: without biases"
        received >"$tmp/without"
        shardsim $what -q --json "$tmp/biased.yaml" -s model.attention_bias=all -s "$set"
        is 0 "$what, $of: with biases, right"
        received | diff "$tmp/without" - >"$tmp/wrong"
        ok $? "$what, $of: biases bring no bytes into devices"
        diag <"$tmp/wrong"
    done
done <<'END'
mixture moe.expert_bias=true
dense model.bias=true
END

# Workloads find the number of ranks from the sharding.
shardsim plan --json -s moe.routing=hot-rank -s moe.capacity=0 -s batch.seq=256 "$tmp/moe.yaml"
holds "a hot rank: as many ranks as experts are cut into, the first with half of all rows" <<'PY'
ranks = r["experts"][0]["rows_of_ranks"]["each"]
assert len(ranks) == 8 and 0.49 < sum(ranks[:2]) / sum(ranks) < 0.51, ranks
PY
shardsim plan --json -s moe.routing=ragged -s moe.capacity=0 "$tmp/moe.yaml"
holds "ragged: as many sources as tokens are cut into, the last with a quarter of its tokens" <<'PY'
# Each group has 4 sources of 16 tokens: 16 + 12 + 8 + 4 tokens choose two experts.
assert r["experts"][0]["choices"] == 2 * 40 * 2, r["experts"][0]["choices"]
PY
while read -r where what setting; do
    shardsim plan -s "moe.routing=$where" -s "$setting" "$tmp/moe.yaml"
    is 2 "$setting: refused"
    says err "--set:2:.*$what" "$setting: where it is written"
done <<'END'
hot-rank ranks.do.not.divide moe.ranks=3
rotating expected.a.fraction moe.skew=2
empty expected.fewer moe.top_k=8
uniform leave.no.layer moe.every=3
uniform expected.a.rule.in.params axes={batch: [dp, ep], expert: ep}
END
shardsim plan -s 'params=[[moe/up/kernel, [null, null, ep]], [moe/down/kernel, [null, ep]], [.*, []]]' \
    -s 'axes={batch: dp}' "$tmp/moe.yaml"
says out 'layers/\*/moe/down sums over expert_mlp, sharded over ep; layers/\*/residual2' \
    "tensor parallel: the product that makes parts is named, not what passes them on"

shardsim explain "$tmp/moe.yaml" --ops
is 0 "explain: status 0"
says out 'all-to-all-v over ep for layers/0/moe/dispatch (forward)' "explain: tokens go to experts"
says out 'all-to-all-v over ep for layers/0/moe/combine (forward)' "explain: and come back"
tr -s ' \n' ' ' <"$tmp/out" >"$tmp/flat"
grep -q 'device 0 has [0-9]* of at most 40 rows; receives [0-9]* from device 1' \
    "$tmp/flat"
ok $? "explain: how many rows come from whom"
shardsim explain -s mesh.ep=1 "$tmp/moe.yaml" --ops
says out 'layers/0/moe/dispatch: dispatch (forward)' "explain: rows that stay are not moved"

# ---- rules by shape ----
cat >"$tmp/auto.yaml" <<'YAML'
version: 1
name: auto
model: {kind: mixtral, d_model: 64, d_ff: 128, layers: 1, heads: 8, kv_heads: 4, vocab: 256, dtype: float32}
moe: {experts: 8, top_k: 2, routing: uniform}
batch: {size: 8, seq: 64}
step: [forward, backward]
mesh: {dp: 4, fsdp: 2}
axes: {batch: dp}
rules: auto
YAML
shardsim plan -q --json "$tmp/auto.yaml"
cp "$tmp/out" "$tmp/by-default"
shardsim plan -q --json "$tmp/auto.yaml" -s moe.token_groups=4
cmp -s "$tmp/by-default" "$tmp/out"
ok $? "rules: auto names no experts: each rank of the batch is a group of tokens"
shardsim plan -q --json "$tmp/auto.yaml" -s moe.token_groups=1
! cmp -s "$tmp/by-default" "$tmp/out"
ok $? "rules: auto: one group of all tokens would be another program"

# ---- the table ----
python3 "$top_srcdir/bench/experts_table.py" "$shardsim" "$scenarios/routing.yaml" >"$tmp/table"
ok $? "bench/experts_table.py"
cat >"$tmp/table.py" <<'PY'
import os, sys
page, table = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
text = open(page, encoding="utf-8").read()
begin = text.index(table.splitlines()[0])
end = text.index("\n\n", begin) + 1
if os.environ.get("EXPERTS_UPDATE"):
    open(page, "w", encoding="utf-8").write(text[:begin] + table + text[end:])
elif text[begin:end] != table:
    sys.exit("the page has\n" + text[begin:end] + "not\n" + table)
PY
python3 "$tmp/table.py" "$top_srcdir/docs/experts.md" "$tmp/table" >"$tmp/wrong" 2>&1
ok $? "docs/experts.md has that table"
diag <"$tmp/wrong"
done_testing
