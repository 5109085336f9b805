#!/bin/sh
# Tests ring_attention.balance of query: the pairs are those of a double loop, and wrong questions
# are refused with the reason.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# ask RANKS TOKENS ASSIGNMENT: ask the question.
ask() {
    printf '{"id":1,"op":"ring_attention.balance","in":{"ranks":%s,"tokens":%s,"assignment":"%s"}}\n' \
        "$1" "$2" "$3" | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
}

for ranks in 1 2 3 5 7; do
    for assignment in contiguous zigzag striped; do
        ask $ranks $((ranks * 10)) $assignment
        python3 - "$tmp/out" $ranks <<'PY'
import json, sys
out, ranks = json.load(open(sys.argv[1]))["out"], int(sys.argv[2])
at = out["positions_by_rank"]
assert sorted(sum(at, [])) == list(range(10 * ranks))
pairs = [[sum(k <= q for q in at[r] for k in at[(r - t) % ranks]) for t in range(ranks)]
         for r in range(ranks)]
assert out["pairs_by_rank_step"] == pairs
assert out["pairs_by_rank"] == [sum(p) for p in pairs]
assert out["pairs_total"] == 5 * ranks * (10 * ranks + 1)
steps = [max(p[t] for p in pairs) for t in range(ranks)]
assert out["step_max"] == steps and out["sum_of_step_max"] == sum(steps)
assert abs(out["lockstep_efficiency"] - out["pairs_total"] / ranks / sum(steps)) < 1e-12
most = max(out["pairs_by_rank"]) * ranks / out["pairs_total"]
assert abs(out["max_over_mean_rank"] - most) < 1e-12
PY
        ok $? "$assignment over $ranks: pairs of a double loop"
    done
done

ask 64 1073741824 zigzag
python3 - "$tmp/out" <<'PY'
import json, sys
out = json.load(open(sys.argv[1]))["out"]
assert out["pairs_total"] == 2**29 * (2**30 + 1) and out["lockstep_efficiency"] == 1
assert "positions_by_rank" not in out
PY
ok $? "a thousand million tokens are counted as soon, and their positions not listed"

refused() {
    ask "$2" "$3" "$4"
    grep -q "$5" "$tmp/out"
    ok $? "refused: $1" || sed 's/^/# /' "$tmp/out"
}

refused "no ranks" 0 16 zigzag '"kind":"range".*at least 1'
refused "ranks below none" -2 16 zigzag '"kind":"range".*at least 1'
refused "too many ranks" 100000 100000 striped '"kind":"range".*at most 1024'
refused "no tokens" 2 0 zigzag '"kind":"range".*at least 1'
refused "too many tokens" 2 4294967296 zigzag '"kind":"range".*at most 2147483647'
refused "ranks in words" '"two"' 16 zigzag '"kind":"type"'
refused "tokens that do not divide" 3 16 striped '"kind":"indivisible".*16 tokens are not a multiple of 3'
refused "tokens that do not divide in two each" 2 6 zigzag '"kind":"indivisible".*6 tokens are not a multiple of 4'
refused "another assignment" 2 16 spiral '"kind":"invalid".*expected contiguous, zigzag or striped'
done_testing
