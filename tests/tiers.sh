#!/bin/sh
# tiers.sh - print the tests that tests/tiers gives to a build with the sanitizers SHD_SANITIZER
# ("no": to the usual build); with --turn, the number by which the commit samples cases and tests.
#
# SPDX-License-Identifier: Apache-2.0
cd "${0%/*}" || exit 1
turn=${SHD_TEST_TURN:-$((0x0$(git rev-parse --short=6 HEAD 2>/dev/null)))}
if [ "${1:-}" = --turn ]; then
    echo "$turn"
    exit
fi
case ${SHD_SANITIZER:-no} in
    no) column=c ;;
    *thread*) column=t ;;
    *) column=a ;;
esac
awk -v column="$column" -v turn="$turn" '
    /^#/ { next }
    index($3, column) { print $1 }
    index($3, toupper(column)) && (turn + row++) % 6 == 0 { print $1 }' tiers
