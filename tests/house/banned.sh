#!/bin/sh
# Tests that no source calls a function that banned.h poisons, which otherwise only debug builds
# notice.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
names=$(sed -n 's/^#pragma GCC poison //p' "$top_srcdir/banned.h" | tr ' ' '|')

# calls FOLDER...: print the lines with a call.
calls() {
    find "$@" \( -name '*.[ch]' -o -name '*.inc' \) \
        -exec grep -nE "(^|[^[:alnum:]_])($names) ?\(" /dev/null {} +
}

calls "$top_srcdir/lib" "$top_srcdir/sim" "$top_srcdir/interop" "$top_srcdir/tests" "$top_srcdir/bench" \
    "$top_srcdir/examples" >"$dir/faults"
[ ! -s "$dir/faults" ]
ok $? "no call of $names"
diag <"$dir/faults"

mkdir "$dir/planted"
printf 'my_strtok(a);\n  x = strtok(a, b);\n' >"$dir/planted/a.c"
[ "$(calls "$dir/planted" | wc -l)" -eq 1 ]
ok $? "a call is found"

done_testing
