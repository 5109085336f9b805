#!/bin/sh
# Tests the lint of check with a planted scenario for each kind of finding.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS
mkdir -p "$tmp/p/scenarios"

# scenario NAME D_FF LINE...: write a scenario with these lines after the model, from line 5 on.
scenario() {
    file=$tmp/p/scenarios/$1.yaml
    printf 'version: 1\nmesh: {tp: 4}\nmodel: {kind: mlp, d_model: 32, d_ff: %s, layers: 2}\n' "$2" \
        >"$file"
    shift 2
    printf '%s\n' 'batch: {size: 4, seq: 8}' "$@" >>"$file"
}

# finds NAME LINE PATTERN: the strategy fails at LINE with PATTERN.
finds() {
    sed -n "/^not ok [0-9]* - $1.yaml/,/^  \.\.\.$/p" "$tmp/all" >"$tmp/out"
    says out "line $2: $3" "finds $1"
}

scenario nothing 64 'params: [[kernel, [null, tp]], [nothing, []]]'
scenario shadowed 64 'params:' '  - [kernel, [null, tp]]' '  - [up/kernel, []]' '  - [.*, []]'
scenario shadowed_constraint 64 'params: [[.*, []]]' 'constraints:' '  - [mlp, []]' '  - [mlp/out, []]'
scenario whole 64 'params:' '  - [up/kernel, [null, tp]]' '  - [.*, []]'
scenario indivisible 66 'params: [[up/kernel, [null, tp]], [.*, []]]'
scenario undone 64 'params: [[.*, [tp]]]' 'constraints:' '  - [mlp/out, [null, tp, null]]' \
    '  - [mlp/in, []]'
scenario good 64 'params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]' 'constraints:' \
    '  - [mlp/(in|out), [null, tp, null]]'
scenario one_device 64 'params: [[.*, []]]'
scenario idle 64 'params: [[.*, []]]'
sed 's/tp: 4/tp: 1/' "$tmp/p/scenarios/one_device.yaml" >"$tmp/one"
cp "$tmp/one" "$tmp/p/scenarios/one_device.yaml"
sed 's/tp: 4/tp: 3/' "$tmp/p/scenarios/idle.yaml" >"$tmp/one"
cp "$tmp/one" "$tmp/p/scenarios/idle.yaml"
scenario auto 66 'rules: auto'
scenario auto_whole 64 'rules: auto'
sed 's/tp: 4/tp: 3/' "$tmp/p/scenarios/auto_whole.yaml" >"$tmp/one"
cp "$tmp/one" "$tmp/p/scenarios/auto_whole.yaml"

shardsim check --plan --whole 4KiB "$tmp/p/scenarios"
is 2 "findings, beside rules that cannot be: status 2"
cp "$tmp/out" "$tmp/all"
finds nothing 5 "rule 'nothing' matches no parameter of this model"
finds shadowed 7 "lint: rule 'up/kernel' never applies: .* 'kernel' matches 'layers/0/mlp/up/kernel'"
! grep -q "'\.\*' is shadowed" "$tmp/all"
ok $? "a last rule for the rest is no finding"
finds shadowed_constraint 8 "lint: constraint 'mlp/out' never applies"
finds whole 7 "lint: parameter 'layers/\*/mlp/down/kernel' of 8.00 KiB is replicated on all 4 devices"
finds auto_whole 5 "lint: parameter 'layers/\*/mlp/up/kernel' of 8.00 KiB is replicated on all 3 devices"
finds idle 2 "lint: axis 'tp' shards nothing: all work is replicated 3 times"
finds indivisible 5 "'layers/0/mlp/up/kernel': dimension 1 of extent 66 does not divide into 4 shards"
finds undone 8 "lint: constraint 'mlp/in' undoes 'mlp/out': .* \[{}, {tp}, {}\], then .* \[{}, {}, {}\]"
for name in good one_device auto; do
    sed -n "/^not ok [0-9]* - $name.yaml/,/^  \.\.\.$/p" "$tmp/all" >"$tmp/out"
    ! grep -q 'lint: ' "$tmp/out"
    ok $? "finds nothing in $name"
done

rm "$tmp/p/scenarios/nothing.yaml" "$tmp/p/scenarios/indivisible.yaml"
shardsim check --plan --whole 4KiB --update "$tmp/p/scenarios"
is 0 "findings can be accepted"
shardsim check --plan --whole 4KiB "$tmp/p/scenarios"
is 0 "accepted findings pass"
shardsim check --plan "$tmp/p/scenarios"
is 1 "an accepted finding that is gone: status 1"
says out 'an accepted finding is gone: parameter .*down/kernel' "an accepted finding that is gone: told"
done_testing
