#!/bin/sh
# Tests train.run of query: the numbers do not depend on the layout, and wrong questions are refused
# with the reason.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

question=$(grep train.run "$top_srcdir/tests/query/failures.jsonl")

# answers EDIT: answer the question after a sed expression.
answers() {
    printf '%s\n' "$question" | sed "$1" | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
}

answers ''
cp "$tmp/out" "$tmp/first"
grep -q '"losses"' "$tmp/first"
ok $? "two steps on two devices, ZeRO 1, two microbatches, recomputation"
for edit in 's/"stage":1/"stage":0/' 's/"stage":1/"stage":2/' 's/"stage":1/"stage":3/' \
    's/,"recompute":"full"//' 's/"microbatches":2/"microbatches":1/' \
    's/"layout":.*/"layout":{"mesh":[["x",2]],"data":"x","tensor":"x","sequence":true}}}/' \
    's/"layout":.*/"layout":{"mesh":[["x",2]],"tensor":"x","sequence":true}}}/' \
    's/"layout":.*/"layout":{"mesh":[["x",1]]}}}/'; do
    answers "$edit"
    python3 - "$tmp/first" "$tmp/out" <<'PY'
import json, sys
a, b = (json.load(open(f))["out"] for f in sys.argv[1:])
for key in a:
    for x, y in zip(a[key]["values"], b[key]["values"], strict=True):
        assert abs(x - y) <= 1e-12 * max(1, abs(x)), (key, x, y)
PY
    ok $? "the same numbers with $edit"
done

refused() {
    answers "$2"
    grep -q "$3" "$tmp/out"
    ok $? "refused: $1" || sed 's/^/# /' "$tmp/out"
}

refused "a decay that there is not" 's/"decay":"cosine"/"decay":"linear"/' "'decay' is 'linear'; expected constant or cosine"
refused "betas of 1" 's/"betas":\[0.9,0.95\]/"betas":[1,1]/' "'betas' must be two numbers"
refused "betas that are text" 's/"betas":\[0.9,0.95\]/"betas":"x"/' "'optimizer.betas' must be a list"
refused "a vocabulary that is not the table's" 's/"vocab":4/"vocab":9/' "'vocab' has size 9, not 4"
refused "another mlp" 's/"mlp":"gelu"/"mlp":"relu"/' "mlp is 'relu'; expected gelu or swiglu"
refused "ZeRO without an axis" 's/,"axis":"dp"//' "'zero' needs an 'axis'"
refused "an axis that the mesh lacks" 's/"data":"dp"/"data":"tp"/' "has no axis 'tp'"
refused "microbatches that do not divide" 's/"microbatches":2/"microbatches":3/' "divide the batch of 4"
refused "a missing tensor" 's/"layers.0.g1"/"layers.0.g"/' "unknown tensor 'layers.0.g1'"
refused "a tensor that the decoder has not" 's/"layers.0.g1":/"layers.7.g1":{"shape":[4]},&/' \
    "the decoder has no tensor 'layers.7.g1'"
refused "an unknown key of ZeRO" 's/"stage":1/"stage":1,"axes":"dp"/' \
    "unknown key 'axes' in layout.zero; expected stage or axis; did you mean 'axis'"
refused "a size that the tensors have not" 's/"head_dim":[0-9]*/"head_dim":99/' "'head_dim' is 99, but the tensors have 2"
refused "other recomputation" 's/"recompute":"full"/"recompute":"all"/' "recompute 'all'; expected none, selective or full"
refused "more stages than layers" 's/"microbatches":2/"pipeline":{"axis":"dp"}/; s/"stage":1/"stage":0/' \
    'layers do not fill 2 stages'
refused "ZeRO over the stages" 's/"microbatches":2/"pipeline":{"axis":"dp"}/' "axis 'dp' is both the pipeline's and one of 'zero'"
refused "a schedule that there is not" 's/"microbatches":2/"pipeline":{"axis":"dp","schedule":"2F2B"}/' \
    "no schedule '2F2B'"
refused "too many ops" 's/"tokens":{"shape":\[2,4,3\]/"tokens":{"shape":[4096,4096,3]/; s/"microbatches":2/"microbatches":2048/' \
    'ops exceed the limit'
done_testing
