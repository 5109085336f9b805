#!/bin/sh
# Tests, after all other tests, that tests/tiers has a row for every test, and prints the dearest
# beside what their rows say.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
: "${top_srcdir:=$(cd "${0%/*}/../.." && pwd)}" "${top_builddir:=$PWD}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tiers=$top_srcdir/tests/tiers

# tests VARIABLE: print a list of tests/local.mk.
tests() {
    sed -n "/^$1 /,/^\$/s,^[[:space:]]*%D%/\([a-z0-9_./]*\).*,\1,p" "$top_srcdir/tests/local.mk"
}
{ tests check_PROGRAMS && tests test_scripts; } | sort >"$tmp/real"
sed '/^#/d; /^$/d; s/ .*//' "$tiers" | sort >"$tmp/shown"
diff "$tmp/real" "$tmp/shown" >"$tmp/wrong"
ok $? "tests/tiers has a row for every test, and for no other"
diag <"$tmp/wrong"
awk '!/^#/ && NF && !($2 ~ /^[0-9.]+$/ && $3 ~ /^[cC][aA]?[tT]?$/)' "$tiers" >"$tmp/wrong"
! [ -s "$tmp/wrong" ]
ok $? "each row has seconds and tiers"
diag <"$tmp/wrong"

# NAME SECONDS SHARE, the dearest first.  Nothing fails by CPU time: it depends on the machine and
# on its load, and one test's share has been four times its row beside a busy neighbour.
for file in "$top_builddir"/tests/*/*.cpu; do
    [ -e "$file" ] || continue
    name=${file#"$top_builddir"/tests/}
    name=${name%.cpu}
    share=$(awk -v name="$name" '$1 == name { print $2 }' "$tiers")
    [ -z "$share" ] || echo "$name $(cat "$file") $share"
done | sort -k2,2nr >"$tmp/taken"
{
    awk '{ sum += $2; share += $3 }
         END { printf "tests: %d CPU seconds of %d; the dearest ten, and what tests/tiers gives them\n", sum, share }' \
        "$tmp/taken"
    head -n 10 "$tmp/taken" | awk '{ printf "  %-24s %7.1f  of %g\n", $1, $2, $3 }'
} >"$tmp/said"
diag <"$tmp/said"
# The file descriptor 9 is the terminal where make check gives tests one.
if [ -n "${SHD_TERMINAL:-}" ]; then cat "$tmp/said" >&9; fi
done_testing
