#!/bin/sh
# Tests random graphs of all functions of `graph:`, with random shardings: plan and run agree, and
# runs are right.  SHD_TEST_SEED and SHD_TEST_COUNT select the seeds.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

python3 "$top_srcdir/tests/steps/random_graphs.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-20261127}" \
    "${SHD_TEST_COUNT:-60}" >"$tmp/wrong" 2>&1
ok $? "random graphs are planned and run alike"
diag <"$tmp/wrong"
done_testing
