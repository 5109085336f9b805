#!/bin/sh
# Tests that each header compiles by itself: public headers as strict C17 and as C++17, the others
# as C17.
#
# SPDX-License-Identifier: Apache-2.0
: "${CC:=cc}" "${CXX:=c++}" "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# compile COMPILER... -I DIR...: compile an include from stdin, and a declaration, as an empty file
# is an error.
compile() {
    {
        cat
        echo 'extern int not_empty;'
    } | "$@" -Wall -Wextra -Werror -fsyntax-only - >"$dir/out" 2>&1
}

# CC and CXX may have options, so they are not quoted.
strict_c() {
    name=$1
    shift
    # shellcheck disable=SC2086
    echo "#include <$name>" | compile $CC -x c -std=c17 -pedantic "$@"
}

strict_cxx() {
    name=$1
    shift
    # shellcheck disable=SC2086
    echo "#include <$name>" | compile $CXX -x c++ -std=c++17 -pedantic "$@"
}

private_c() {
    name=$1
    shift
    # shellcheck disable=SC2086
    echo "#include \"$name\"" | compile $CC -x c -std=gnu17 -D_GNU_SOURCE "$@"
}

have_cxx() {
    command -v "${CXX%% *}" >/dev/null
}

# The folders of the public headers.
set -- -I "$top_srcdir/lib" -I "$top_srcdir/sim/run" \
    -I "$top_srcdir/sim/trial"

for header in "$top_srcdir"/lib/shd/*.h "$top_srcdir"/sim/*/shd/*.h; do
    [ -f "$header" ] || continue
    name=shd/${header##*/}
    strict_c "$name" "$@"
    ok $? "<$name> alone, strict C17"
    diag <"$dir/out"
    if have_cxx; then
        strict_cxx "$name" "$@"
        ok $? "<$name> alone, C++17"
        diag <"$dir/out"
    else
        skip "<$name> alone, C++17" "no C++ compiler"
    fi
done

# All in one program: no name is declared twice.
for header in "$top_srcdir"/lib/shd/*.h "$top_srcdir"/sim/*/shd/*.h; do
    echo "#include <shd/${header##*/}>"
done >"$dir/all.h"
# shellcheck disable=SC2086
compile $CC -x c -std=c17 -pedantic "$@" <"$dir/all.h"
ok $? "all public headers in one program"
diag <"$dir/out"

# Those of sim and interop, and of the ops of lib/layouts.
for name in $(cd "$top_srcdir/sim" && find . -name '*.h' -not -path '*/shd/*' | sort) \
    $(cd "$top_srcdir/interop" && find . -name '*.h' | sort) \
    $(cd "$top_srcdir/lib" && find layouts -name '*.h' | sort); do
    private_c "${name#./}" -I "$top_srcdir/sim" -I "$top_srcdir/interop" "$@"
    ok $? "\"${name#./}\" alone, C17"
    diag <"$dir/out"
done

echo 'static inline size_t f(void) { return 0; }' >"$dir/bad.h"
! strict_c bad.h -I "$dir"
ok $? "finds a header that lacks an include"
echo 'extern int class;' >"$dir/bad.h"
if have_cxx; then
    ! strict_cxx bad.h -I "$dir"
    ok $? "finds a header that is not C++"
else
    skip "finds a header that is not C++" "no C++ compiler"
fi

done_testing
