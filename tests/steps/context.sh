#!/bin/sh
# Tests long sequences as a user sees them: explain shows the steps of a ring, the reports count why
# one order loses, and the table of docs/context.md is the output of its command (CONTEXT_UPDATE=1
# writes the table).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

shardsim explain "$scenarios/ring.yaml" --strategy zigzag --collectives
is 0 "explain: a ring"
says out "permute over cp for layers/0/attn/k/rope (forward)" "a step of it, over its axis"
says out "layers/0/attn/heads needs the next block of layers/0/attn/k/rope" "and why"
says out "gets \[:, 896-1023, :, :\] as \[:, 0-127, :, :\] from device 7" "whose block comes"

shardsim explain "$scenarios/ring.yaml" --strategy gather --collectives
is 0 "explain: gathered keys"
says out "layers/0/attn/heads needs layers/0/attn/kv with seq unsharded" "and why"

shardsim plan --json "$scenarios/ring.yaml" --strategy ring
is 0 "plan: a ring"
holds "the last rank has most of the work, no rank more bytes, and permutes follow the formula" <<'PY'
block, n = 1024 // 8 * 64 * 4, 8
causal = r["balance"]["attention_flops"]
assert 0.5 < causal["ratio"] < 0.56 and causal["slowest"] == 7, causal
for phase, hops in ("forward", 2), ("backward", 4):
    moved = sum(c["received_bytes"] for c in r["collectives"] if c["op"] == "permute" and c["phase"] == phase)
    assert moved == n * hops * (n - 1) * block, (phase, moved)
assert all(c["axes"] == ["cp"] for c in r["collectives"]), r["collectives"]
PY

shardsim plan --json "$scenarios/ring.yaml" --strategy zigzag
holds "zigzag: all ranks have the same work" <<'PY'
assert r["balance"]["attention_flops"]["ratio"] == 1, r["balance"]
PY

shardsim plan --json "$scenarios/ring.yaml" --strategy ulysses
holds "Ulysses: four all-to-alls each way, and nothing gathered" <<'PY'
n, local = 8, 1024 // 8 * 64 * 4
for phase in "forward", "backward":
    of = [c for c in r["collectives"] if c["phase"] == phase and c["op"] != "all-reduce"]
    assert all(c["op"] == "all-to-all" for c in of) and sum(c["count"] for c in of) == 4, of
    assert sum(c["received_bytes"] for c in of) == 4 * (n - 1) * local, of
PY

# ---- documents ----
shardsim plan --json "$scenarios/packed.yaml" --strategy contiguous
cp "$tmp/out" "$tmp/eight"
shardsim plan --json "$scenarios/packed.yaml" --strategy contiguous -s mesh.cp=2
holds "documents are the same whatever the layout" <<PY
eight = json.load(open("$tmp/eight", encoding="utf-8"))
seen = [d["devices"] * d["balance"]["attention_flops"]["mean"] for d in (r, eight)]
assert seen[0] == seen[1], seen
PY
shardsim plan --json "$scenarios/packed.yaml" --strategy contiguous -s context.documents.seed=2
holds "and others by another seed" <<PY
eight = json.load(open("$tmp/eight", encoding="utf-8"))
assert sum(r["flops"]) != sum(eight["flops"])
PY

# ---- the table ----
python3 "$top_srcdir/bench/packed_table.py" "$shardsim" "$scenarios/packed.yaml" >"$tmp/table"
ok $? "bench/packed_table.py"
cat >"$tmp/table.py" <<'PY'
import os, sys
page, table = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
text = open(page, encoding="utf-8").read()
begin = text.index(table.splitlines()[0])
end = text.index("\n\n", begin) + 1
if os.environ.get("CONTEXT_UPDATE"):
    open(page, "w", encoding="utf-8").write(text[:begin] + table + text[end:])
elif text[begin:end] != table:
    sys.exit("the page has\n" + text[begin:end] + "not\n" + table)
PY
python3 "$tmp/table.py" "$top_srcdir/docs/context.md" "$tmp/table" >"$tmp/wrong" 2>&1
ok $? "docs/context.md has that table"
diag <"$tmp/wrong"
done_testing
