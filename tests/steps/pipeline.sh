#!/bin/sh
# Tests the table of bubbles in docs/pipeline.md, see pipeline.py; PIPELINE_UPDATE=1 writes the
# table.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
exec python3 "$top_srcdir/tests/steps/pipeline.py" --program "$shardsim" "$top_srcdir/docs/pipeline.md"
