#!/bin/sh
# Tests the table of results/bench/adapters.md, see adapters.py; ADAPTERS_UPDATE=1 writes the table.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
exec python3 "$top_srcdir/tests/adapters.py" --program "$shardsim" \
    "$top_srcdir/results/bench/adapters.md"
