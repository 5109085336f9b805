#!/bin/sh
# Tests placement: follow - layouts given by rules for weights move the bytes of the textbook, see
# placement.py.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
exec python3 "$top_srcdir/tests/partition/placement.py" --program "$shardsim"
