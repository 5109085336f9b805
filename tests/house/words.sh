#!/bin/sh
# Comments, pages and messages name things: of each kind and room, few texts consist of pronouns to a quarter
# (words.py).  A reader who does not know the code understands a text that names its subject.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
words=$(cd "$top_srcdir" && pwd)/tests/house/words.py

if ! python3 -c '' 2>/dev/null; then
    skip "texts name their subjects" "no python3"
    done_testing
    exit
fi

# named KIND ROOM_PERCENT ALL_PERCENT FOLDER...: hold the texts of a kind to these shares
named() {
    (cd "$top_srcdir" && python3 "$words" "$@") >"$dir/out" 2>&1
    ok $? "$1 of $(shift 3 && echo "$@") name their subjects"
    head -n 60 "$dir/out" | diag
}

named comments 2.4 1.2 lib sim interop
named comments 2.4 1.2 tests python bench
named messages 1 0.5 lib sim interop
named messages 1 0.5 tests python bench contrib
named pages 2 1 README.md NEWS.md ARCHITECTURE.md CONTRIBUTING.md docs python

# Forty texts in a room, of which one is vague: 2.5 %.
mkdir -p "$dir/top/room"
i=1
while [ $i -lt 40 ]; do
    echo "/* The device with id $i holds the first shard of the array. */"
    i=$((i + 1))
done >"$dir/top/room/a.c"
echo '/* What it takes from those that have it. */' >"$dir/top/room/b.c"
python3 "$words" comments 2.5 2.5 "$dir/top" >"$dir/out"
ok $? "a share at the limit passes"
diag <"$dir/out"
! python3 "$words" comments 2.4 2.5 "$dir/top" >"$dir/out" &&
    grep -q "top/room: 2.5 % of 40 texts are vague, at most 2.4 %" "$dir/out" &&
    grep -q "b.c:1: What it takes from those that have it" "$dir/out"
ok $? "a share above the limit fails, with the place of the text"
diag <"$dir/out"

printf 'puts("What it takes from "\n     "those that have it.");\n/* "What it takes from those that have it." */\n' >"$dir/m.c"
! python3 "$words" messages 0 0 "$dir/m.c" >"$dir/out" && [ "$(grep -c '^  ' "$dir/out")" -eq 2 ]
ok $? "adjacent strings are one message, comments are none"
diag <"$dir/out"

# shellcheck disable=SC2016
printf '| What it takes from those that have it. |\n\n    What it takes from those that have it.\n\n```\nWhat it takes from those that have it.\n```\n' >"$dir/p.md"
python3 "$words" pages 0 0 "$dir/p.md" >"$dir/out"
ok $? "tables and code of pages do not count"
diag <"$dir/out"
done_testing
