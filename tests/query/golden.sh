#!/bin/sh
# Tests that the questions of the golden data are answered as other systems answer them.
#
# The data is not part of this repository: it is in the folder SHARDSIM_GOLDEN, else in
# shared/golden beside the source tree.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
: "${SHARDSIM_GOLDEN:=$top_srcdir/../shared/golden}"

if [ ! -f "$SHARDSIM_GOLDEN/check.py" ]; then
    skip "golden data" "there is no check.py in $SHARDSIM_GOLDEN (SHARDSIM_GOLDEN)"
    done_testing
    exit
fi

while read -r file options; do
    case $file in '' | '#'*) continue ;; esac
    if small_size && ! sampled 3; then continue; fi
    # $options is split into words.
    # shellcheck disable=SC2086
    python3 "$SHARDSIM_GOLDEN/check.py" --program "$shardsim" $options \
        "$SHARDSIM_GOLDEN/$file" >"$tmp/answers" 2>&1 </dev/null
    status=$?
    # A selection without questions proves nothing.
    if grep -q ': 0 of 0$' "$tmp/answers"; then
        status=1
    fi
    ok $status "$(sed -n 's/^.*ok 1 - //p' "$tmp/answers" | grep . || echo "$file")${options:+ ($options)}"
    [ $status -eq 0 ] || diag <"$tmp/answers"
done <"$top_srcdir/tests/query/golden.list"
done_testing
