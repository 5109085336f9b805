#!/bin/sh
# tiers.sh - print the tests that tests/tiers gives to a build with the sanitizers SHD_SANITIZER
# ("no": to the usual build), the dearest first, so that jobs end together; with --turn, the number by
# which the commit samples cases and tests.
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
# A test that takes turns goes, the dearest first, to the turn that has the fewest seconds so far.  Turns
# last 240 numbers, a multiple of every sample inside a test, so that each test meets all of its cases.
LC_ALL=C sort -k2,2nr tiers | awk -v column="$column" -v turn="$turn" '
    BEGIN { turns = column == "c" ? 3 : 6 }
    /^#/ { next }
    index($3, column) { print $1 }
    index($3, toupper(column)) {
        least = 0
        for (i = 1; i < turns; i++)
            if (seconds[i] < seconds[least])
                least = i
        seconds[least] += $2
        if (int(turn / 240) % turns == least)
            print $1
    }'
