#!/bin/sh
# Tests that no random scenario takes longer on a cluster that is at least as good in every constant.
# SHD_TEST_SEED and SHD_TEST_COUNT select the scenarios, of which one in five is planned;
# SHD_TEST_TURN selects the shipped model that learns.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

python3 "$top_srcdir/tests/steps/random_monotone.py" "$shardsim" "$tmp" "${SHD_TEST_SEED:-20261128}" \
    "${SHD_TEST_COUNT:-120}" >"$tmp/wrong" 2>&1
ok $? "better devices are never slower"
diag <"$tmp/wrong"

python3 "$top_srcdir/tests/steps/random_kernels.py" "$shardsim" "$top_srcdir/scenarios/hardware" \
    "${SHD_TEST_SEED:-20261128}" "$((${SHD_TEST_COUNT:-240} * 4))" >"$tmp/wrong" 2>"$tmp/count"
[ ! -s "$tmp/wrong" ] && grep -q '^[0-9]* kernels' "$tmp/count"
ok $? "nor are kernels by themselves"
head -n 5 "$tmp/wrong" "$tmp/count" | diag

# Each shipped cluster that is no slower than another, on a step of serving that is as in practice, and
# on one that learns, of the cluster's own software and of another.
turn=${SHD_TEST_TURN:-0}
set -- llama3-70b gpt3-175b mixtral-8x7b t5-11b
shift $((turn % 4))
learning=$1
grep -H '^  - no_slower_than: ' "$top_srcdir"/scenarios/hardware/*.yaml |
    sed 's,.*/\([^/]*\).yaml:.*: ,\1 ,' >"$tmp/pairs"
[ -s "$tmp/pairs" ]
ok $? "shipped clusters say so"

# not_slower BETTER ONE NAME MODEL OPTION...: of the model's step, with the options
not_slower() {
    not_slower_pair="$1 $2"
    not_slower_name="$3: $1 is not slower than $2"
    not_slower_model=$4
    shift 4
    for cluster in $not_slower_pair; do
        shardsim plan -q --json "$scenarios/models/$not_slower_model.yaml" -s hardware="$cluster" "$@"
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"]["modelled_step_seconds"])' \
            "$tmp/out"
    done >"$tmp/seconds"
    awk 'NR == 1 { first = $1 } END { exit !(NR == 2 && first > 0 && first <= $1) }' "$tmp/seconds"
    ok $? "$not_slower_name"
}

while read -r better one; do
    not_slower "$better" "$one" "serving" serve-llama3-70b
    not_slower "$better" "$one" "learning, $learning" "$learning"
    not_slower "$better" "$one" "learning, $learning, FSDP" "$learning" -s software=fsdp2
done <"$tmp/pairs"

# The section `fsdp` of a cluster holds for software of FSDP alone, whether the cluster's file or the
# job names that.
matmul_of() {
    shardsim plan -q --json "$scenarios/models/llama3-70b.yaml" -s hardware=h200-sxm "$@"
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"]["modelled_matmul_seconds"])' "$tmp/out"
}
own=$(matmul_of)
fsdp=$(matmul_of -s software=fsdp2)
awk "BEGIN { exit !($fsdp > $own) }"
ok $? "products of FSDP take longer than Megatron's where the cluster's file says so"
[ "$(matmul_of -s hardware.software.name=fsdp2)" = "$fsdp" ]
ok $? "the cluster's software chooses them, too"
[ "$(matmul_of -s hardware.software.name=fsdp2 -s software=megatron)" = "$own" ]
ok $? "Megatron on such a cluster has its own again"
[ "$(matmul_of -s hardware.fsdp.matmul_efficiency=0.66 -s software=fsdp2)" = "$own" ]
ok $? "a key of the section can be set"

printf '%s\n' '{"id": 1, "op": "plan.train_step", "in": {"model": {"hidden": 1024, "layers": 2, "heads": 8,
    "mlp_dim": 4096, "vocab": 32000, "seq": 4096}, "hardware": "h200-sxm", "devices": 8, "micro_batch": 1,
    "global_batch": 8, "recompute": "per-op SAC"}}' | tr -d '\n' >"$tmp/sac"
sed 's/"recompute"/"software": "fsdp2", "recompute"/' "$tmp/sac" >"$tmp/fsdp"
sed 's/"recompute"/"software": "megatron", "recompute"/' "$tmp/sac" >"$tmp/megatron"
for asked in sac fsdp megatron; do
    "$shardsim" query <"$tmp/$asked" | grep -o '"step_seconds":[^,]*' >"$tmp/$asked.seconds"
done
cmp -s "$tmp/sac.seconds" "$tmp/fsdp.seconds" && ! cmp -s "$tmp/sac.seconds" "$tmp/megatron.seconds"
ok $? "per-op SAC is torchtitan's word, so that the step is of its software unless it says otherwise"
done_testing
