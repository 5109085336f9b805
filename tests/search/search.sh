#!/bin/sh
# Tests search: no bound exceeds its plan; pruning keeps the best; the number of threads changes
# nothing; the written scenario plans to the same step; wrong arguments are refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# model KIND HARDWARE SEQ MORE: print a scenario of a small model.
model() {
    cat <<END
version: 1
name: small
hardware: $2
mesh: {dp: 8}
model: {kind: $1, d_model: 1024, d_ff: 4096, layers: 4, heads: 16, vocab: 51200, dtype: bfloat16$4}
batch: {size: 16, seq: $3, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, clip: 1.0}
types: {parameters: float32}
params: [['.*', []]]
axes: {batch: dp}
END
}
model gpt2 a100-80g-selene 2048 ', positions: 2048' >"$tmp/gpt.yaml"
model llama3 h100-sxm 8192 ', kv_heads: 4' >"$tmp/llama.yaml"
# Experts in all layers but the first, with one shared expert; compressed attention; stages of
# unequal length; and schedules that pass the ranks down and up again.
{
    model deepseek h100-sxm 4096 '' | sed 's/{dp: 8}/{pp: 2, dp: 4}/'
    echo 'moe: {experts: 8, top_k: 2, d_ff: 1024, shared: 1, first_dense: 1, routing: uniform}'
    echo 'mla: {kv_rank: 256, q_rank: 512}'
    echo 'recompute: [norm, moe/(silu|gated)]'
    echo 'pipeline: {axis: pp, layers: [1, 3]}'
} >"$tmp/experts.yaml"

# The last ranges of each model: uneven layers of a pipeline, the sequence, and ZeRO's stages.
if small_size; then
    gpt='--range tp=2 --range microbatch=1 --range zero=1 --range sp=yes --range order=pp-dp-cp-tp'
    llama='--range tp=2 --range pp=2 --range microbatch=1 --range zero=3 --range sp=yes --range virtual=1'
    experts='--range schedule=1F1B..DualPipeV --range tp=1 --range pp=2 --range ep=4 --range microbatch=1 --range zero=1 --range sp=no --range virtual=1'
else
    gpt='--range schedule=1F1B..ZBH1 --range tp=2..4 --range microbatch=1 --forbid zero=1 --forbid zero=3 --range order=pp-dp-cp-tp'
    llama='--range schedule=1F1B..ZBH1 --forbid tp=1 --range microbatch=1 --forbid zero=1..2 --forbid recompute=full --forbid shards=4 --range order=pp-dp-cp-tp'
    experts='--range schedule=1F1B..DualPipeV --range tp=1 --range pp=1..2 --range cp=1 --range microbatch=1 --range zero=1 --forbid recompute=none..full --range order=pp-dp-cp-tp'
fi

# figures FILE: print the number of planned layouts, the number of those below their bounds, and the
# best rows.
figures() {
    python3 - "$1" <<'PY'
import json, sys
found = json.load(open(sys.argv[1]))
planned = [p for p in found["planned"] if "step_seconds" in p]
above = [p for p in planned if p["bound_seconds"] > p["step_seconds"] or p["bound_bytes"] > p["memory_bytes"]]
print("planned", len(planned))
print("above", len(above))
print("close", sum(p["bound_seconds"] > 0.5 * p["step_seconds"] for p in planned) > len(planned) // 2)
for p in found["best"]:
    print("best", p["step_seconds"], sorted(p["layout"].items()))
for p in above[:3]:
    print("#", p)
PY
}

# The ranges are meant to be split into words.
# shellcheck disable=SC2086
searched() {
    name=$1 ranges=$2
    shardsim search "$tmp/$name.yaml" -q --json --top 3 $ranges --no-prune
    is 0 "$name: all are planned"
    figures "$tmp/out" >"$tmp/all"
    grep -q '^above 0$' "$tmp/all" || { diag <"$tmp/all"; false; }
    ok $? "$name: no bound is above what is planned"
    grep -q '^close True$' "$tmp/all"
    ok $? "$name: most bounds are above half of it"
    shardsim search "$tmp/$name.yaml" -q --json --top 3 $ranges --threads 1
    cp "$tmp/out" "$tmp/one"
    figures "$tmp/out" >"$tmp/pruned"
    grep '^best' "$tmp/all" >"$tmp/all.best"
    grep '^best' "$tmp/pruned" >"$tmp/pruned.best"
    cmp "$tmp/all.best" "$tmp/pruned.best" >/dev/null && [ "$(wc -l <"$tmp/all.best")" -eq 3 ]
    ok $? "$name: pruned, the same three are best"
    shardsim search "$tmp/$name.yaml" -q --json --top 3 $ranges --threads 2
    cmp "$tmp/one" "$tmp/out" >/dev/null
    ok $? "$name: two threads find the same"
}
# Threads share the same data in every search, so one suffices under the thread sanitizer.
if [ "${SHD_SANITIZER:-}" = thread ]; then
    searched experts "$experts"
    done_testing
    exit 0
fi
searched gpt "$gpt"
[ "$(sed -n 's/^planned //p' "$tmp/pruned")" -lt "$(sed -n 's/^planned //p' "$tmp/all")" ] ||
    small_size
ok $? "gpt: pruned, fewer are planned"
searched llama "$llama"

# The layout with which llama3-405b was trained is in the search space.  It fits, because devices
# gather again what they do not keep, and has the step of the scenario's plan.
if ! small_size; then
    shardsim search "$top_srcdir/scenarios/models/llama3-405b.yaml" -S 8k -q --json --range tp=8 --range pp=16 \
        --range cp=1 --range virtual=4 --range split=given --range microbatch=1 --range recompute=given \
        --range sp=yes --range zero=1 --range shards=128 --range order=pp-dp-cp-tp
    is 0 "llama3-405b as it was trained: fits"
    found=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["best"][0]["step_seconds"])' <"$tmp/out")
    shardsim plan "$top_srcdir/scenarios/models/llama3-405b.yaml" -S 8k -q --json
    python3 -c 'import json, sys; print(json.load(sys.stdin)["time"]["modelled"]["step_seconds"])' <"$tmp/out" >"$tmp/step"
    [ "$found" = "$(cat "$tmp/step")" ]
    ok $? "llama3-405b as it was trained: the step of its plan"
fi
searched experts "$experts"

# What is tried only in a range: keys by all-to-all, fewer layers beside the head, products of 8 bits.
model llama3 h100-sxm 8192 ', kv_heads: 4' | sed 's/layers: 4/layers: 8/' >"$tmp/rare.yaml"
rare='--range cp=2 --range pp=2 --range virtual=1 --range schedule=1F1B --range microbatch=1 --range zero=1 --range sp=no --range order=pp-dp-cp-tp --range method=ring..all-to-all --range split=even..light --range products=given..tensorwise'
if small_size; then
    searched rare "$rare --range tp=2 --range recompute=norms-mlp"
else
    searched rare "$rare --range tp=1..2 --range recompute=norms-mlp..selective_op"
fi

# plan.search of query gives the same answer.
python3 - "$tmp/gpt.yaml" >"$tmp/asked" <<'PY'
import json, sys
asked = {"yaml": open(sys.argv[1]).read(), "top": 3, "range": ["tp=2", "microbatch=1", "zero=1", "order=pp-dp-cp-tp"],
         "forbid": ["pp=4..8"]}
print(json.dumps({"id": 1, "op": "plan.search", "in": asked}))
for wrong in ({"range": "tp=2"}, {"range": ["tp=x"]}, {"devices": -1}, {"yaml": 3}, {"range": ["tp=3"]}):
    print(json.dumps({"id": 1, "op": "plan.search", "in": {**asked, **wrong}}))
PY
shardsim search "$tmp/gpt.yaml" -q --json --top 3 --range tp=2 --range microbatch=1 --range zero=1 \
    --range order=pp-dp-cp-tp --forbid pp=4..8 --threads 2
cp "$tmp/out" "$tmp/command"
shardsim query <"$tmp/asked"
python3 - "$tmp/command" "$tmp/out" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[2])]
same = json.load(open(sys.argv[1])) == lines[0]["out"]
kinds = [line["err"]["kind"] for line in lines[1:]]
print("#", kinds)
sys.exit(not (same and kinds == ["type", "invalid", "range", "type", "not-found"]))
PY
ok $? "plan.search: the same answer as the command's, and errors of their kinds"

# The scenario written for a row has the row's step.
# shellcheck disable=SC2086
shardsim search "$tmp/gpt.yaml" -q --json --top 3 --plans 4 $gpt --row 2 --output "$tmp/second.yaml"
is 0 "a row is written"
python3 -c 'import json, sys; print(repr(json.load(sys.stdin)["best"][1]["step_seconds"]))' \
    <"$tmp/out" >"$tmp/said"
shardsim plan --json "$tmp/second.yaml"
is 0 "what was written is planned"
grep -o '"step_seconds": [0-9.e-]*' "$tmp/out" | head -n 1 | sed 's/.*: //' >"$tmp/plans"
cmp "$tmp/said" "$tmp/plans" >/dev/null
ok $? "to the same step, to the last digit"

shardsim search "$tmp/gpt.yaml" -q --plans 1 --range tp=8 --range microbatch=2 --range recompute=none
is 0 "an answer for people"
says out '^  code  *t8 p1 d1 v1 mb2 z0' "the best layout, in the field's words"
says out 'step .* on 8 devices of .*, MFU ' "its step"
says out 'not validated on this cluster' "and the model's error"
says out '^neighbours' "what a changed choice costs"

# wrong ARGUMENTS PATTERN: search refuses the arguments.
wrong() {
    # shellcheck disable=SC2086
    shardsim search "$tmp/gpt.yaml" -q $1
    is 2 "search $1: refused"
    says err "$2" "search $1: why"
}
wrong '--range colour=3' "'colour=3' is not a choice; expected tp, pp"
wrong '--range tp=8..4' "'tp=8..4' is an empty range: 8 is above 4"
wrong '--range recompute=some' "recompute cannot be 'some'; expected none, selective, norms-mlp, selective_op, full"
wrong '--range tp=many' "tp cannot be 'many'; expected a whole number"
wrong '--range tp=3' 'model.heads is 16, not a multiple of tp 3; nearest that divide it: 2 and 4'
wrong '--top 0' "top is '0'; expected a whole number from 1"
wrong '--set hardware=null' 'the scenario names no cluster'

done_testing
