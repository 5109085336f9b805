#!/bin/sh
# one.sh TEST [ARGUMENT...] - run one test as `make check` does: only if tests/tiers assigns the
# test to this build, with a time limit, and with its CPU seconds written to tests/ROOM/NAME.cpu of
# the build.
#
#   SHD_TEST_TIER  change (default): the tests that tests/tiers gives to this build; nightly: every test,
#                  with all of its cases
#   SHD_TEST_TURN  a number that selects the sampled cases; by default the commit determines it
#
# SPDX-License-Identifier: Apache-2.0
name=${1##*tests/}
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
# $limit is split into words.
# shellcheck disable=SC2086
$limit "$@"
status=$?
# The CPU time of all processes that the test waited for: minutes and seconds of the user and of the
# system.  `times` is not in a pipe, because a subshell would have no such processes.
LC_ALL=C
export LC_ALL
cpu=$top_builddir/tests/$name.cpu
times >"$cpu.all"
sed -n '2s/[ms]/ /gp' "$cpu.all" | awk '{ printf "%.2f\n", $1 * 60 + $2 + $3 * 60 + $4 }' >"$cpu"
rm -f "$cpu.all"
exit $status
