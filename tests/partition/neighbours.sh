#!/bin/sh
# Tests what devices give each other along a sharded dimension: bytes that executed steps receive are
# those of formulas, for halos of windows, carries of scans, and slices, padding and concatenations;
# and no array is gathered for them.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# 64 rows of 3 elements, 12 bytes, over 4 devices.  NAME ROWS OPS: what the op passes, in rows of x.
cat >"$tmp/cases.py" <<'PY'
import json
n, rows = 4, 64
half = (n - 1) * rows // 2 // n
lines = {
    "halo of three taps: a row up, a row down": ((3 - 1) * (n - 1), ["y[s,k3,d] = windows(x, s, s, k3, low=1, high=1)"]),
    "halo of five, two apart": (2 * 4 * (n - 1), ["y[s,k5,d] = windows(x, s, s, k5, dilation=2, low=4, high=4)"]),
    "windows behind their element: rows of one neighbour": (2 * (n - 1), ["y[s,k3,d] = windows(x, s, s, k3, high=2)"]),
    "windows that do not overlap": (0, ["y[h,k2,d] = windows(x, s, h, k2, stride=2)"]),
    "windows and their sum: there and back": (2 * (3 - 1) * (n - 1), [
        "w[s,k3,d] = windows(x, s, s, k3, low=1, high=1)", "y[s,d] = windows_add(w, s, k3, s, low=1)"]),
    "carry: all last rows before": (n * (n - 1) // 2, ["y[s,d] = cumsum(x, s)"]),
    "carry the other way": (n * (n - 1) // 2, ["y[s,d] = cummax(x, s, reverse=true)"]),
    "carry of a recurrence: of sums and of factors": (n * (n - 1), ["y[s,d] = recurrence(x, x, s)"]),
    "the first half: what the first device has, the others lack": (half, ["y[h,d] = slice(x, s, h, 0)"]),
    "the second half": (half, ["y[h,d] = slice(x, s, h, 32)"]),
    "the middle half: what is not in a device's own shard": (sum(
        len(set(range(16 + 8 * i, 24 + 8 * i)) - set(range(16 * i, 16 * i + 16))) for i in range(n)),
        ["y[h,d] = slice(x, s, h, 16)"]),
    "every second row is where it was": (0, ["y[h,d] = slice(x, s, h, 1, stride=2)"]),
    "two halves, and joined again": (4 * half, [
        "a[h,d] = slice(x, s, h, 0)", "b[h,d] = slice(x, s, h, 32)", "y[s,d] = concat(a, h, b, h, s)"]),
    "reversed: all rows": (rows, ["y[s,d] = reverse(x, s)"]),
    "a row further": (n - 1, ["y[s,d] = pad(x, s, s, 1)"]),
    "a row further, around": (n, ["y[s,d] = shift(x, s, 1)"]),
    "rows between others: a device's places are for its own rows": (0, ["y[t,d] = pad(x, s, t, 0, between=1)"]),
}
print("version: 1\nname: neighbours\nmesh: {sp: 4}\naxes: {s: sp}\nstep: [forward]\nstrategies:")
for name, (want, ops) in lines.items():
    graph = {"dims": {"s": rows, "h": rows // 2, "t": 2 * rows, "d": 3, "k2": 2, "k3": 3, "k5": 5},
             "inputs": {"x": ["s", "d"]}, "ops": ops}
    print("  -", json.dumps({"name": name, "graph": graph}))
PY
python3 "$tmp/cases.py" >"$tmp/neighbours.yaml"

shardsim run -q --json "$tmp/neighbours.yaml"
is 0 "all are the unsharded computation"
cp "$tmp/out" "$tmp/ran"
cat >"$tmp/judge.py" <<'PY'
import contextlib, io, json, sys
with contextlib.redirect_stdout(io.StringIO()):
    exec(open(sys.argv[1]).read())
planned, ran = ({r["strategy"]: r["received_bytes"]["total"] for r in json.load(open(f))} for f in sys.argv[2:4])
for name, (want, ops) in lines.items():
    good = ran[name] == planned[name] == 12 * want
    print("good" if good else "wrong", f"{name}: {12 * want} bytes; planned {planned[name]}, received {ran[name]}")
PY
shardsim plan --json "$tmp/neighbours.yaml"
is 0 "all are planned"
python3 "$tmp/judge.py" "$tmp/cases.py" "$tmp/out" "$tmp/ran" >"$tmp/judged" 2>"$tmp/err"
ok $? "all are judged"
diag <"$tmp/err"
while read -r word text; do
    [ "$word" = good ]
    ok $? "$text"
done <"$tmp/judged"
done_testing
