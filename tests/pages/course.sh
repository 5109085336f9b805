#!/bin/sh
# Tests that the course shows what the program prints: every command of every lesson is run.
#
# COURSE_UPDATE=1 writes the output into the lessons instead of comparing.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

PATH=$bin:$PATH
COLUMNS=80
export PATH COLUMNS
unset NO_COLOR
cd "$top_srcdir" || exit 1
for lesson in docs/course/[0-9]*_*.md; do
    python3 "$top_srcdir/tests/support/console_page.py" "$lesson" "${COURSE_UPDATE:-0}" >"$tmp/wrong" 2>&1
    ok $? "course: $lesson"
    diag <"$tmp/wrong"
done
# A picture of a lesson is drawn by the command below it.
# shellcheck disable=SC2016
grep -ho '`shardsim [^`]* -o [a-z0-9_]*\.svg`' docs/course/*.md | tr -d '`' >"$tmp/pictures"
while read -r _ command; do
    file=${command##* }
    # $command is split into words; the last one is the name of the file.
    # shellcheck disable=SC2086
    shardsim ${command% *} "$tmp/$file"
    is 0 "course: $command"
    cmp -s "$tmp/$file" "docs/course/$file"
    ok $? "course: $file is what is drawn"
done <"$tmp/pictures"
sed 's/.* //' "$tmp/pictures" | sort -u >"$tmp/drawn"
(cd docs/course && ls ./*.svg) | sed 's/^..//' | sort >"$tmp/there"
cmp -s "$tmp/drawn" "$tmp/there"
ok $? "course: every picture has its command"

for scenario in docs/course/*.yaml; do
    if grep -q '^model:.*size:' "$scenario"; then # a published model, too large to execute here
        shardsim plan -s limits.memory=1TiB "$scenario"
        is 0 "course: $scenario can be planned"
        continue
    fi
    sampled 8 || continue # the lessons run most scenarios, too
    shardsim run -q "$scenario"
    is 0 "course: $scenario runs and is right"
    says out '^verified  *ok' "course: $scenario is verified"
done
done_testing
