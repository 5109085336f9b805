#!/bin/sh
# The example programs run, and say what they are meant to say.
#
# SPDX-License-Identifier: Apache-2.0
: "${top_srcdir:=$(dirname "$0")/..}" "${top_builddir:=.}"
. "$top_srcdir/tests/tap.sh"

# 3072 = 2 * 3/4 of an all-reduce of 16 x 32 float32; 9216 = x, up, down, hidden and y of one device
said=$("$top_builddir/examples/tensor_parallel_mlp" 2>&1)
status=$?
echo "$said" | diag
ok $status "tensor_parallel_mlp: the sharded result is the unsharded one"
case $said in
"4 devices: "*", received 3072 bytes, peak 9216 bytes a device") ok 0 "tensor_parallel_mlp: counts" ;;
*) ok 1 "tensor_parallel_mlp: counts" ;;
esac
done_testing
