#!/bin/sh
# one.sh TEST [ARGUMENT...] - run one test as `make check` does: if its row of tests/tiers has it run in
# this build, under a limit, and with its CPU seconds noted in tests/NAME.cpu of the build.
#
#   SHD_TEST_TIER  change (default): what tests/tiers gives to this build; nightly: every test, and all
#                  of each
#   SHD_TEST_TURN  which part of what is sampled is taken, a number; by default one that the commit tells
#
# SPDX-License-Identifier: Apache-2.0
name=${1##*/}
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}"
: "${top_builddir:=$PWD}"
: "${SHD_TEST_TIER:=change}"
[ "${SHD_SANITIZER:-no}" = no ] || : "${SHD_TEST_SIZE:=small}"
if [ "$SHD_TEST_TIER" != nightly ] && ! "$top_srcdir/tests/tiers.sh" | grep -q -x -e "$name"; then
    echo "1..0 # SKIP tests/tiers leaves it to make stress"
    exit 0
fi
SHD_TEST_TURN=$("$top_srcdir/tests/tiers.sh" --turn)
export SHD_TEST_TIER SHD_TEST_TURN SHD_TEST_SIZE
echo "# SHD_TEST_TIER=$SHD_TEST_TIER SHD_TEST_TURN=$SHD_TEST_TURN"
case $name in
    *.sh) set -- "${SHELL:-/bin/sh}" "$@" ;;
esac
limit=
if command -v timeout >/dev/null; then limit='timeout -k 10 1200'; fi
# The limit is words.
# shellcheck disable=SC2086
$limit "$@"
status=$?
# Of all processes that the test waited for: minutes and seconds of the user and of the system.  Not in a
# pipe, where a shell of its own would have none to tell of.
LC_ALL=C
export LC_ALL
cpu=$top_builddir/tests/$name.cpu
times >"$cpu.all"
sed -n '2s/[ms]/ /gp' "$cpu.all" | awk '{ printf "%.2f\n", $1 * 60 + $2 + $3 * 60 + $4 }' >"$cpu"
rm -f "$cpu.all"
exit $status
