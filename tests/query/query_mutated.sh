#!/bin/sh
# Tests that query answers all mutated golden questions, see query_mutate.py.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
: "${SHARDSIM_GOLDEN:=$top_srcdir/../shared/golden}"
: "${SHD_MUTATIONS:=4000}"
small_size && SHD_MUTATIONS=1000

if [ ! -f "$SHARDSIM_GOLDEN/check.py" ]; then
    skip "mutated questions" "there is no golden data in $SHARDSIM_GOLDEN (SHARDSIM_GOLDEN)"
    done_testing
    exit
fi
python3 "$top_srcdir/tests/query/query_mutate.py" --program "$shardsim" --count "$SHD_MUTATIONS" \
    --seed "${SHD_SEED:-1}" "$SHARDSIM_GOLDEN" >"$tmp/out" 2>&1
status=$?
ok $status "mutated questions: $(head -n 1 "$tmp/out" | cut -c 1-200)"
[ $status -eq 0 ] || diag <"$tmp/out"
done_testing
