#!/bin/sh
# Tests layouts that inference uses: tensor, data, expert and context parallelism of prefill and
# decode, paged, disaggregated and speculative.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

python3 "$top_srcdir/tests/steps/serving.py" "$shardsim" "$tmp" >"$tmp/wrong" 2>&1
ok $? "layouts of inference make the tokens of one device, as planned"
diag <"$tmp/wrong"
done_testing
