#!/bin/sh
# Tests that the example programs run and print the expected figures.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/../..}" "${top_builddir:=.}"
. "$top_srcdir/tests/support/tap.sh"

# 3072 = 2 * 3/4 of an all-reduce of 16 x 32 float32; 9216 = x, up, down, hidden and y of one device
said=$("$top_builddir/examples/tensor_parallel_mlp" 2>&1)
status=$?
echo "$said" | diag
ok $status "tensor_parallel_mlp: the sharded result is the unsharded one"
case $said in
"4 devices: "*", received 3072 bytes, peak 9216 bytes a device") ok 0 "tensor_parallel_mlp: counts" ;;
*) ok 1 "tensor_parallel_mlp: counts" ;;
esac

# 768 each for the all-reduces of y and dx over tp (2 * 3/4 of 4 x 32 float32), 2048 for each of three
# gradients over dp (32 x 16 float32), 4 for the loss
said=$("$top_builddir/examples/own_graph" 2>&1)
status=$?
echo "$said" | diag
ok $status "own_graph: the sharded results and gradients are the unsharded ones"
case $said in
"8 devices: verified, 6 collectives, received 8452 bytes, "*) ok 0 "own_graph: counts" ;;
*) ok 1 "own_graph: counts" ;;
esac

# The program of docs/install.md, and what the page says that it prints.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2016  # the ticks are the page's
sed -n '/^```c$/,/^```$/{/^```/!p;}' "$top_srcdir/docs/install.md" >"$dir/mine.c"
if [ "${SHD_SANITIZER:-no}" != no ]; then
    skip "the program of docs/install.md" "its compiler links no sanitizer"
elif [ -f "$top_builddir/.libs/libshd.so" ]; then
    # CC may have options, so it is not quoted.
    # shellcheck disable=SC2086
    said=$(${CC:-cc} -std=c17 -pedantic -Wall -Wextra -Werror -I "$top_srcdir/lib" -o "$dir/mine" "$dir/mine.c" \
        -L "$top_builddir/.libs" -lshd 2>&1 && LD_LIBRARY_PATH="$top_builddir/.libs" "$dir/mine" 2>&1)
    [ -n "$said" ] && grep -q -x -F "    $said" "$top_srcdir/docs/install.md"
    ok $? "the program of docs/install.md prints what the page says"
    echo "$said" | diag
else
    skip "the program of docs/install.md" "built without shared libraries"
fi
done_testing
