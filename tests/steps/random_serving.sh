#!/bin/sh
# Tests random steps of serving: plan and run agree, and tokens are those of one device.
# SHD_TEST_SEED and SHD_TEST_COUNT select the seeds.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

python3 "$top_srcdir/tests/steps/random_serving.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-20261127}" \
    "${SHD_TEST_COUNT:-20}" >"$tmp/wrong" 2>&1
ok $? "random steps of serving make the tokens of one device, as planned"
diag <"$tmp/wrong"
done_testing
