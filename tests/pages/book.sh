#!/bin/sh
# Tests the exercises of docs/book.md: their commands run, their numbers follow from the formulas,
# and the page has the results (BOOK_UPDATE=1 writes the page).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

how=--check
[ -z "${BOOK_UPDATE:-}" ] || how=--update
python3 "$top_srcdir/tests/pages/book.py" "$shardsim" "$top_srcdir" $how "$top_srcdir/docs/book.md" \
    >"$tmp/wrong" 2>&1
ok $? "docs/book.md: exercises come out as the page says"
diag <"$tmp/wrong"

sed -n 's/^    \.\/build\/shardsim \(.*\)/\1/p' "$top_srcdir/docs/book.md" >"$tmp/commands"
while read -r command; do
    # $command is split into words.
    # shellcheck disable=SC2086
    (cd "$top_srcdir" && exec "$shardsim" $command) >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "$command"
done <"$tmp/commands"
for file in "$top_srcdir"/docs/book/*.yaml; do
    ! awk 'length > 100 { wide = 1 } END { exit !wide }' "$file" &&
        grep -q "docs/book/${file##*/}" "$top_srcdir/Makefile.am"
    ok $? "${file##*/}: lines of at most 100 characters, in the release"
done
done_testing
