#!/bin/sh
# Tests the table of results/bench/adapters.md, see adapters.py; ADAPTERS_UPDATE=1 writes the table.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
exec python3 "$top_srcdir/tests/steps/adapters.py" --program "$shardsim" \
    "$top_srcdir/results/bench/adapters.md"
