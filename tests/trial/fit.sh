#!/bin/sh
# Tests the changes that would make a step fit a device's memory: each suggested change is planned
# here as a user would ask for it, and has the predicted figures.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
mesh: {dp: 4, tp: 2}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 4}
batch: {size: 16, seq: 64}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.01}
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
axes: {batch: dp}
YAML

shardsim plan --json "$tmp/mlp.yaml"
peak=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["memory"]["peak_bytes"][0])' \
    "$tmp/out")
holds "without a limit nothing is looked for" <<'PY'
assert "would_fit" not in r["memory"]
PY
shardsim plan --json -s "limits.memory=$peak" "$tmp/mlp.yaml"
is 0 "a limit of the peak itself: fits"
holds "a step that fits gets no suggestion" <<'PY'
assert "would_fit" not in r["memory"]
PY

# told LIMIT KIND: the changes suggested under a limit are of KIND (single, pair, none); each fits
# as predicted, and the next lower value of each key does not fit.
told() {
    shardsim plan --json -s "limits.memory=$1" "$tmp/mlp.yaml"
    is 1 "limit $1: status 1"
    cat >"$tmp/ask.py" <<PY
import json, subprocess, sys

def plan(sets):
    args = [x for s in ["limits.memory=$1"] + sets for x in ("-s", s)]
    p = subprocess.run(["$shardsim", "plan", "--json"] + args + ["$tmp/mlp.yaml"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(p.stdout) if p.stdout else None

would = json.load(open("$tmp/out"))["memory"]["would_fit"]
changes, kind = would["changes"], "$2"
assert would["plans"] <= 48 and would["all_planned"] == (would["plans"] < 48), would
keys = [sorted({s.split(".")[0].split("=")[0] for s in c["set"]}) for c in changes]
assert (kind == "none") == (not changes) and (kind == "none") == (would["least"] is not None), would
same = [k for k, c in zip(keys, changes) if c["devices"] == 8]
assert all(len(k) == {"single": 1, "pair": 2, "none": 0}[kind] for k in same), same
assert kind == "none" or same, keys
cost = [(c["devices"], c["received_bytes"], c["flops"]) for c in changes]
assert cost == sorted(cost), cost
for c in changes + ([would["least"]] if would["least"] else []):
    p = plan(c["set"])
    got = {"peak_bytes": max(p["memory"]["peak_bytes"]),
           "received_bytes": p["received_bytes"]["total"], "flops": sum(p["flops"]),
           "devices": len(p["flops"])}
    assert got == {k: c[k] for k in got}, (c, got)
    assert (c["peak_bytes"] <= $1) == (kind != "none"), c
    for s in c["set"]:  # one value lower
        key, value = s.split("=")
        if kind == "none" or key not in ("batch.microbatches", "zero.stage"):
            continue
        lower = int(value) // 2 if key == "batch.microbatches" else int(value) - 1
        others = [o for o in c["set"] if o != s and (lower or o != "zero.axis=dp")]
        p = plan(others + ["%s=%d" % (key, lower)])
        assert max(p["memory"]["peak_bytes"]) > $1, (c, key, lower)
PY
    python3 "$tmp/ask.py" >"$tmp/wrong" 2>&1
    ok $? "limit $1: $2 changes, with the predicted figures"
    [ ! -s "$tmp/wrong" ] || tail -n 3 "$tmp/wrong" | diag
}
told $((peak * 9 / 10)) single
told $((peak * 6 / 10)) single
told $((peak * 3 / 10)) pair
told 1000 none

shardsim plan -s limits.memory=$((peak * 3 / 10)) "$tmp/mlp.yaml"
says out '^  *peak  *received  *flops  would fit with' "report: the changes"
says out 'batch.microbatches=[0-9]* zero.stage=[0-9] zero.axis=dp$' "report: a pair"
awk 'length > 80 { exit 1 }' "$tmp/out"
ok $? "report: lines of 80 columns"
shardsim plan -s limits.memory=1000 "$tmp/mlp.yaml"
says out 'is nearest$' "report: the nearest, where none fits"
shardsim run -s limits.memory=$((peak / 2)) "$tmp/mlp.yaml"
is 1 "run: status 1"
says err 'out of memory' "run: the device that ran out"
says err 'would fit with -s ' "run: and what would fit"
shardsim compare --plan -s limits.memory=$((peak / 2)) "$tmp/mlp.yaml"
says err 'would fit with -s ' "compare: what would make the smallest fit, where none does"

# With many strategies, changes are sought for the first eight only, and the report says so.
{
    cat "$tmp/mlp.yaml"
    echo 'strategies:'
    for i in 1 2 3 4 5 6 7 8 9 10; do
        echo "  - {name: s$i}"
    done
} >"$tmp/many.yaml"
shardsim plan --json -s model.layers=1 -s limits.memory=1000 "$tmp/many.yaml"
is 1 "ten strategies: status 1"
says err 'searched for the first 8 strategies only' "ten strategies: of how many it is looked for"
holds "ten strategies: of those" <<'PY'
assert ["would_fit" in s["memory"] for s in r] == [True] * 8 + [False] * 2
PY

# Without an update there are no microbatches, no ZeRO and no recomputation to suggest.
shardsim plan --json -s 'step=[forward, backward]' -s optimizer.kind=none \
    -s limits.memory=$((peak / 2)) "$tmp/mlp.yaml"
holds "without an update: only other meshes" <<'PY'
changes = r["memory"]["would_fit"]["changes"]
assert changes and all(s.startswith("mesh.") for c in changes for s in c["set"]), changes
PY
done_testing
