#!/bin/sh
# Tests random steps of serving: plan and run agree, and tokens are those of one device.
# SHD_TEST_SEED and SHD_TEST_COUNT select the seeds.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

seed=20261127 count=20
small_size && seed=$((seed + ${SHD_TEST_TURN:-0} % 4)) count=8
python3 "$top_srcdir/tests/steps/random_serving.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-$seed}" \
    "${SHD_TEST_COUNT:-$count}" >"$tmp/wrong" 2>&1
ok $? "random steps of serving make the tokens of one device, as planned"
diag <"$tmp/wrong"
done_testing
