#!/bin/sh
# installed.sh PREFIX - tests what `make install` made, as others use it: moved to another folder, by programs that
# pkg-config tells how to link. Run by `make installcheck`, and by .ci/run.
#
# SPDX-License-Identifier: Apache-2.0
: "${CC:=cc}" "${top_srcdir:=$(dirname "$0")/../..}"
. "$top_srcdir/tests/support/tap.sh"

tmp=$(mktemp -d) || exit 1
tmp=$(cd "$tmp" && pwd -P)
trap 'rm -rf "$tmp"' EXIT
failed=0

# is STATUS TEXT: with what was said, if the status is not 0
is() {
    ok "$1" "$2"
    [ "$1" -eq 0 ] || failed=1
    [ "$1" -eq 0 ] || diag <"$tmp/said"
}

# Not the folder that configure was told, and one with a space.
moved="$tmp/an other"
cp -R "$1" "$moved"
PATH="$moved/bin:$PATH"
share=$moved/share/shardsim

[ "$(command -v shardsim)" = "$moved/bin/shardsim" ]
is $? "the program is there"
shardsim --help >"$tmp/said" 2>&1 && grep -q -F "  $share has" "$tmp/said"
is $? "--help tells where its examples run"
(cd "$tmp" && shardsim plan scenarios/tensor_parallel.yaml) >"$tmp/said" 2>&1
[ $? -eq 2 ] && grep -q -F "did you mean '$share/scenarios/tensor_parallel.yaml'?" "$tmp/said"
is $? "elsewhere, the path of an example leads to where it is"

# Examples read what is there; those that write, or name a file of the reader's own, need a folder of his.
for command in '' run plan compare check show explain replay import; do
    shardsim ${command:+"$command"} --help 2>/dev/null | sed -n '/^Examples:$/,/^$/s/^    //p'
done | sort -u >"$tmp/examples"
grep -E '(scenarios|examples|docs)/' "$tmp/examples" |
    grep -v -e ' -o ' -e '--save' -e ' >' -e '--update' -e 'shardsim run ' -e mine >"$tmp/read"
[ "$(wc -l <"$tmp/read")" -ge 10 ]
is $? "there are examples that only read"
while read -r example; do
    (cd "$share" && sh -c "$example") >"$tmp/said" 2>&1 </dev/null
    is $? "example: $example"
done <"$tmp/read"
for schema in result scenario search; do
    [ -f "$share/contrib/$schema.schema.json" ] || echo "$schema"
done >"$tmp/said"
[ ! -s "$tmp/said" ]
is $? "schemas for editors and scripts"
(cd "$share" && shardsim check scenarios/tensor_parallel.yaml) >"$tmp/said" 2>&1
is $? "check: baselines lie beside scenarios"

# The pages' links lead on: docs/ lies beside scenarios/.  Sources that they name are in the tarball.
for page in "$share"/docs/*.md; do
    sed -n 's/[^]]*\](\([^):#]*\)[^)]*)/\1\n/gp' "$page" | grep -e '^[^ ]*/[^ ]*$' -e '^[^ ]*\.md$' | while read -r link; do
        case $link in
            ../sim/* | ../interop/* | ../lib/* | ../tests/* | ../bench/* | ../python* | ../site/* | ../.ci/*)
                [ -e "$top_srcdir/docs/$link" ] && continue
                ;;
        esac
        [ -e "$share/docs/$link" ] || echo "${page##*/}: $link"
    done
done >"$tmp/said"
[ ! -s "$tmp/said" ]
is $? "links of the pages lead to what is installed"

for header in "$moved"/include/shd/*; do
    set -- "$top_srcdir"/*/shd/"${header##*/}" "$top_srcdir"/*/*/shd/"${header##*/}"
    [ -e "$1" ] || [ -e "$2" ] || echo "$header"
done >"$tmp/said"
[ ! -s "$tmp/said" ]
is $? "headers: the public ones alone"

PKG_CONFIG_PATH="$moved/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PKG_CONFIG_PATH

# build OPTION: an example, linked by what pkg-config says, which escapes spaces for a shell
build() {
    # shellcheck disable=SC2086
    eval "$CC -o '$tmp/example' '$top_srcdir/examples/tensor_parallel_mlp.c' \
        $(pkg-config $1 --cflags --libs libshdsim) -lm"
}

# page OPTION: the same of the program in docs/install.md, which needs libshd alone
# shellcheck disable=SC2016  # the ticks are the page's
sed -n '/^```c$/,/^```$/{/^```/!p;}' "$share/docs/install.md" >"$tmp/mine.c"
page() {
    # shellcheck disable=SC2086
    eval "$CC -o '$tmp/mine' '$tmp/mine.c' $(pkg-config $1 --cflags --libs libshd)"
}

page '' >"$tmp/said" 2>&1 && LD_LIBRARY_PATH="$moved/lib" "$tmp/mine" >"$tmp/said" 2>&1
is $? "the C program of docs/install.md with the shared library"
build '' >"$tmp/said" 2>&1 && LD_LIBRARY_PATH="$moved/lib" "$tmp/example" >"$tmp/said" 2>&1
is $? "a C program with the shared libraries"

if ls "$moved"/lib/libshdsim.a >/dev/null 2>&1; then
    rm -f "$moved"/lib/*.so "$moved"/lib/*.so.*
    build --static >"$tmp/said" 2>&1 && "$tmp/example" >"$tmp/said" 2>&1
    is $? "a C program with the static libraries"
    page --static >"$tmp/said" 2>&1 && "$tmp/mine" >"$tmp/said" 2>&1
    is $? "the C program of docs/install.md with the static library"
else
    skip "a C program with the static libraries" "they were not made"
fi

done_testing
exit "$failed"
