#!/bin/sh
# Tests that no random scenario takes longer on a cluster that is at least as good in every constant.
# SHD_TEST_SEED and SHD_TEST_COUNT select the scenarios, of which one in five is planned.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"

python3 "$top_srcdir/tests/random_monotone.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-20261128}" \
    "${SHD_TEST_COUNT:-240}" >"$tmp/wrong" 2>&1
ok $? "better devices are never slower"
diag <"$tmp/wrong"

python3 "$top_srcdir/tests/random_kernels.py" "$shardsim" "$top_srcdir/scenarios/hardware" \
    "${SHD_TEST_SEED:-20261128}" "$((${SHD_TEST_COUNT:-240} * 4))" >"$tmp/wrong" 2>"$tmp/count"
[ ! -s "$tmp/wrong" ] && grep -q '^[0-9]* kernels' "$tmp/count"
ok $? "nor are kernels by themselves"
head -n 5 "$tmp/wrong" "$tmp/count" | diag

# Each shipped cluster that is no slower than another, on a step of serving that is as in practice.
grep -H '^  - no_slower_than: ' "$top_srcdir"/scenarios/hardware/*.yaml |
    sed 's,.*/\([^/]*\).yaml:.*: ,\1 ,' >"$tmp/pairs"
[ -s "$tmp/pairs" ]
ok $? "shipped clusters say so"
while read -r better one; do
    for cluster in "$better" "$one"; do
        shardsim plan -q --json "$scenarios/models/serve-llama3-70b.yaml" -s hardware="$cluster"
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"]["modelled_step_seconds"])' \
            "$tmp/out" >"$tmp/$cluster"
    done
    awk 'NR == 1 { first = $1 } END { exit !(NR == 2 && first > 0 && first <= $1) }' "$tmp/$better" "$tmp/$one"
    ok $? "serving: $better is not slower than $one"
done <"$tmp/pairs"
done_testing
