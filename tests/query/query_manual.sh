#!/bin/sh
# Tests the descriptions of query's ops: each op has a text, the answer to each example is the
# text's, and the described fields, keys and errors are those of the op.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
COLUMNS=4000 # a line each
export COLUMNS

shardsim query --list no.such
is 2 "--list of an unknown op: status 2"
says err "unknown op 'no.such'" "--list of an unknown op: the message"
shardsim query --list re.serach
says err "did you mean 're.search'?" "--list of an op nearly known"
shardsim query re.search
is 2 "an op without --list: status 2"
shardsim query --list
is 0 "--list: status 0"
if ! command -v python3 >/dev/null; then
    skip "all else" "no python3"
    done_testing
    exit 0
fi
cp "$tmp/out" "$tmp/names"
xargs timeout "$LIMIT" "$shardsim" query --list <"$tmp/names" >"$tmp/told"
ok $? "--list of all ops: status 0"

# told CHECK TEXT: the check of that name in query_manual.py finds nothing wrong.
told() {
    python3 "$top_srcdir/tests/query/query_manual.py" "$1" "$tmp/names" "$tmp/told" \
        "$top_srcdir" timeout "$LIMIT" "$shardsim" query >"$tmp/wrong" 2>&1
    ok $? "$2"
    [ ! -s "$tmp/wrong" ] || tail -n 12 "$tmp/wrong" | diag
}

told texts "every op: what it answers, its fields, its output, an example"
told examples "every example: the answer is the one that is told"
told required "every op: a required field that is missing is an error"
told unknown "every object of a question: an unknown key is an error that names it"
told ranges "every whole number: one out of its range is an error"
told keys "every op: its answer has the keys that are told"
told kinds "every kind of error is in the manual, and those of ops are such"
told mutated "every op: questions with mistakes get the kinds of errors that are told"
told page "the page's own examples"
done_testing
