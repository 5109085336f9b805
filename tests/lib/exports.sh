#!/bin/sh
# Tests that the shared libraries export exactly the functions that their public headers declare
# with SHD_API.
#
# SPDX-License-Identifier: Apache-2.0
: "${CC:=cc}" "${NM:=nm}" "${top_srcdir:=$(dirname "$0")/../..}" "${top_builddir:=.}"
. "$top_srcdir/tests/support/tap.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# exported LIBRARY: print the defined names, except those that C reserves for the toolchain.
exported() {
    $NM -D --defined-only "$1" | sed 's/.* //; s/@.*//' | grep -v '^_' | sort -u
}

# declared HEADER...: print the name in each declaration that starts with SHD_API.
declared() {
    cat "$@" | awk '
        { text = text " " $0 }
        END {
            while (match(text, /\/\*([^*]|\*+[^*\/])*\*+\//))
                text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
            n = split(text, part, /SHD_API/)
            for (i = 2; i <= n; i++) {
                sub(/[[(;].*/, "", part[i])
                if (match(part[i], /shd_[a-z0-9_]+ *$/))
                    print substr(part[i], RSTART)
            }
        }' | sort -u
}

# compare LIBRARY HEADER...: print each difference.
compare() {
    exported "$1" >"$dir/have"
    shift
    declared "$@" >"$dir/want"
    comm -23 "$dir/have" "$dir/want" | sed 's/$/: exported but not declared/'
    comm -13 "$dir/have" "$dir/want" | sed 's/$/: declared but not exported/'
}

check_library() {
    library=$1
    shift
    if [ ! -f "$1" ]; then
        return
    elif [ ! -f "$top_builddir/.libs/$library.so" ]; then
        skip "$library exports what its headers declare" "built without shared libraries"
    else
        compare "$top_builddir/.libs/$library.so" "$@" >"$dir/faults"
        [ ! -s "$dir/faults" ]
        ok $? "$library exports what its headers declare"
        diag <"$dir/faults"
    fi
}

check_library libshd "$top_srcdir"/lib/shd/*.h
check_library libshdsim "$top_srcdir"/sim/*/shd/*.h

cat >"$dir/a.h" <<'END'
/* shd_comment(): SHD_API void shd_comment(void); */
SHD_API SHD_MUST_CHECK int shd_here(int (*fn)(void), /* one */
                                    void *arg);
SHD_API const char *const *shd_gone(void);
END
echo 'int shd_here(void) { return 0; } int leaked(void) { return 0; }' |
    $CC -shared -fPIC -o "$dir/a.so" -x c -
compare "$dir/a.so" "$dir/a.h" >"$dir/faults"
printf 'leaked: exported but not declared\nshd_gone: declared but not exported\n' |
    cmp -s - "$dir/faults"
ok $? "finds a leaked name and a missing one"

done_testing
