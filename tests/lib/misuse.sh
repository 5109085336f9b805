#!/bin/sh
# Tests every public function with wrong arguments (misuse.py): none crashes, and a status says which is wrong.
#
# SPDX-License-Identifier: Apache-2.0
: "${CC:=cc}" "${top_srcdir:=$(dirname "$0")/../..}" "${top_builddir:=.}"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
libs=$top_builddir/.libs
if [ ! -f "$libs/libshdsim.so" ]; then
    echo '1..0 # SKIP built without shared libraries'
    exit
fi
python3 "$top_srcdir/tests/lib/misuse.py" "$top_srcdir"/lib/shd/*.h "$top_srcdir"/sim/*/shd/*.h >"$dir/misuse.c" || exit
# CC may have options, so it is not quoted.
# shellcheck disable=SC2086
$CC -I "$top_srcdir/tests/lib" -I "$top_srcdir/lib" -I "$top_srcdir/sim/run" -I "$top_srcdir/sim/trial" \
    -o "$dir/misuse" "$dir/misuse.c" -L "$libs" -lshdsim -lshd || exit
LD_LIBRARY_PATH=$libs "$dir/misuse"
