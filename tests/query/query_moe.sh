#!/bin/sh
# Tests moe.route of query: choices, queues and copies are those of plain loops over sorted scores,
# and wrong questions are refused with the reason.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# ask TOKENS EXPERTS TOP_K FACTOR RANKS QUANTUM: ask the question.
ask() {
    printf '{"id":1,"op":"moe.route","in":{"tokens":%s,"experts":%s,"top_k":%s,"capacity_factor":%s,"ranks":%s,"tie_quantum":%s,"seed":5,"scale":6}}\n' \
        "$@" | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
}

while read -r tokens experts top_k factor ranks quantum; do
    ask "$tokens" "$experts" "$top_k" "$factor" "$ranks" "$quantum"
    python3 - "$tmp/out" "$tokens" "$experts" "$top_k" "$factor" "$ranks" "$quantum" <<'PY'
import json, math, struct, sys
out = json.load(open(sys.argv[1]))["out"]
T, E, k, factor, R, quantum = map(json.loads, sys.argv[2:])
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]

def score(i):
    x = f32(((i * 2654435761 + 5) % 2**32 / 2**32 - 0.5) * 6)
    if quantum:
        per = f32(1 / quantum)
        x = f32(round(f32(x * per)) / per)
    return x

scores = [[score(t * E + e) for e in range(E)] for t in range(T)]
top = [sorted(range(E), key=lambda e: (-s[e], e))[:k] for s in scores]
assert out["topk"] == top
for s, ids, got, gates in zip(scores, top, out["softmax_prob"], out["gate_renorm"]):
    p = [math.exp(s[e]) / sum(map(math.exp, s)) for e in ids]
    assert all(abs(a - b) < 1e-12 for a, b in zip(got, p))
    assert all(abs(a - b / sum(p)) < 1e-12 for a, b in zip(gates, p))
C = T if factor is None else math.ceil(k * T / E * factor)
assert out["capacity"] == (None if factor is None else C)
for key, order in (("token_major", [(t, j) for t in range(T) for j in range(k)]),
                   ("slot_major", [(t, j) for j in range(k) for t in range(T)])):
    counts, dropped, sent = [0] * E, [], [[0] * R for _ in range(R)]
    slots = [[None] * k for _ in range(T)]
    for t, j in order:
        e = top[t][j]
        if counts[e] == C:
            dropped.append([t, e, j])
            continue
        slots[t][j] = counts[e]
        counts[e] += 1
        sent[t * R // T][e * R // E] += 1
    q = out[key]
    assert q["tokens_per_expert"] == counts and q["dropped"] == dropped
    assert q["dropped_count"] == len(dropped) and q["slot_in_expert"] == slots
    assert q["a2a_send_counts"] == sent
before = [sum(e in ids for ids in top) for e in range(E)]
assert out["tokens_per_expert_before_capacity"] == before
assert sum(map(sum, out["a2a_send_counts_dropless"])) == T * k
assert abs(out["imbalance_max_over_mean"] - max(before) * E / (T * k)) < 1e-12
PY
    ok $? "$tokens tokens choose $top_k of $experts, $ranks ranks, factor $factor, ties $quantum"
done <<'CASES'
1 1 1 1 1 null
12 6 6 null 3 null
24 8 3 0.4 4 null
24 8 2 0.05 8 1.0
30 10 4 0.75 5 2.0
64 16 2 null 16 0.5
CASES

refused() {
    name=$1 pattern=$2
    shift 2
    ask "$@"
    grep -q "$pattern" "$tmp/out"
    ok $? "refused: $name" || sed 's/^/# /' "$tmp/out"
}

refused "no tokens" '"kind":"range".*tokens.*at least 1' 0 4 1 1 1 null
refused "more choices than experts" '"kind":"range".*top_k.*at most 4' 8 4 5 1 1 null
refused "more scores than are answered" '"kind":"range".*experts' 4000000 64 1 1 1 null
refused "choices that take too long" '"kind":"range".*top_k' 64 65536 65536 1 1 null
refused "ranks that do not divide" '"kind":"indivisible".*over 3 ranks' 9 4 1 1 3 null
refused "no capacity" '"kind":"range".*capacity_factor.*above 0' 8 4 1 0 1 null
refused "a quantum below 0" '"kind":"range".*tie_quantum' 8 4 1 1 1 -1
refused "tokens in words" '"kind":"type"' '"eight"' 4 1 1 1 null
done_testing
