#!/bin/sh
# Tests random complete scenarios: plan and run agree, runs are right, and errors have their
# places; each option of scenarios is drawn by a generator of them.  SHD_TEST_SEED and
# SHD_TEST_COUNT select the seeds.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

python3 "$top_srcdir/tests/steps/random_scenarios.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-20261126}" \
    "${SHD_TEST_COUNT:-12}" >"$tmp/wrong" 2>&1
ok $? "random scenarios are planned and run alike"
diag <"$tmp/wrong"
python3 "$top_srcdir/tests/steps/random_drawn.py" "$shardsim" >"$tmp/drawn" 2>&1
ok $? "each option of scenarios is drawn by a generator of random ones"
diag <"$tmp/drawn"
done_testing
