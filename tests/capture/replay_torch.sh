#!/bin/sh
# Tests replay of PyTorch traces, in the profiler's format and in Chakra's: each call counts once
# however often the trace repeats it; groups, steps, ranks without a trace, and faults with their
# places.  examples/torch is a trace of a real job (bench/torch_traces.py); calls of NCCL are written
# here, in the fields that PyTorch documents.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
example=$top_srcdir/examples/torch

# begin RANK RANKS GROUPS ... end: a trace with one event a line.  The last event is one that replay
# ignores, so that each line before it ends with a comma.
begin() {
    printf '{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %s, "world_size": %s, "pg_config": [%s]},\n' \
        "$1" "$2" "$3"
    printf '"traceEvents": [\n'
}

end() {
    printf '{"ph": "M", "name": "process_name", "ts": 0, "pid": 7, "tid": 0, "args": {"name": "python"}}\n]}\n'
}

# event CATEGORY NAME BEGIN DUR [THREAD [ARGS]]
event() {
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": 7, "tid": %s, "ts": %s, "dur": %s, "args": {%s}},\n' \
        "$1" "$2" "${5:-7}" "$3" "$4" "$6"
}

# told NAME IN OUT TYPE SIZE RANKS [MORE]: the fields with which a process group describes a call
told() {
    printf '"Collective name": "%s", "In msg nelems": %s, "Out msg nelems": %s, "dtype": "%s", ' "$1" "$2" "$3" "$4"
    printf '"Group size": %s, "Process Group Ranks": "%s", "In split size": "[]"%s' "$5" "$6" "$7"
}

# call BEGIN NAME IN OUT TYPE SIZE RANKS [MORE]: an event of a call
call() {
    at=$1
    shift
    event cpu_op record_param_comms "$at" 5 7 "$(told "$@")"
}

# replayed TEXT BYTES AXES [ARGUMENT...]: replay of $tmp/t.json receives BYTES along AXES.
replayed() {
    text=$1 bytes=$2 axes=$3
    shift 3
    shardsim replay --json "$tmp/t.json" "$@"
    is 0 "$text: read"
    holds "$text: $bytes bytes along $axes" <<PY
assert r["received_bytes"]["total"] == $bytes, r["received_bytes"]
assert sum(r["received_bytes"]["per_device"]) == $bytes
assert [c["axes"] for c in r["collectives"]] == [$axes], r["collectives"]
PY
}

# sized NAME DIMS...: an op with its arrays of float, the result first
sized() {
    event cpu_op "c10d::$1" "$2" 5 7 "\"Input Dims\": [$3, []], \"Input type\": [\"float\", \"float\", \"\"]"
}

# refused TEXT WORDS [ARGUMENT...]: replay refuses $tmp/t.json with WORDS.
refused() {
    refused_text=$1 refused_words=$2
    shift 2
    shardsim replay "$tmp/t.json" "$@"
    is 2 "$refused_text: refused"
    says err "$refused_words" "$refused_text: why"
}

# A call without a group has as many ranks as its arrays tell, else all ranks; contradictions are an
# error.
test_sizes() {
    {
        begin 9 16 ''
        sized _allgather_base_ 10 '[64, 4], [8, 4]'
        sized _reduce_scatter_base_ 20 '[8, 4], [64, 4]'
        end
    } >"$tmp/t.json"
    replayed "sizes of groups by arrays" 28672 '["axis1"], ["axis1"]'
    says out "2 calls give the size of their process group by their arrays" "sizes of groups by arrays: said"
    holds "sizes of groups by arrays: 8 of 16" <<'PY'
assert [(c["groups"], c["group_size"]) for c in r["collectives"]] == [(2, 8)] * 2, r["collectives"]
PY
    replayed "the axis of that size" 28672 '["dp"], ["dp"]' --mesh dp=8,tp=2
    {
        begin 9 16 ''
        sized _allgather_base_ 10 '[40], [8]'
        end
    } >"$tmp/t.json"
    refused "a group that a job does not consist of" 't.json:3:.*_allgather_base_: a process group of 5 ranks'
    {
        begin 9 16 '{"pg_name": "0", "pg_size": 4, "ranks": [8, 9, 10, 11]}'
        sized _allgather_base_ 10 '[64], [8]'
        end
    } >"$tmp/t.json"
    refused "a group that is not described" 'of 8 ranks (by its arrays), but the trace describes no group'
    {
        begin 0 16 ''
        call 10 allgather 8 64 Float 4 '[0, 1, 2, 3]'
        end
    } >"$tmp/t.json"
    refused "arrays of another group" 't.json:3:.*its process group has 4 ranks, but its arrays imply 8'
    {
        begin 0 16 ''
        call 10 allreduce 8 8 Float 8 '[0, 1, 2, 3]'
        end
    } >"$tmp/t.json"
    refused "ranks of another group" 'its process group has 4 ranks, but its arguments imply 8'
    {
        begin 0 16 ''
        sized allreduce_ 10 '[8]'
        event kernel ncclDevKernel_AllReduce 10 5
        end
    } >"$tmp/t.json"
    replayed "all ranks" 960 '["axis0"]'
    says out "1 calls name neither .* all 16 ranks" "all ranks: said"
}

# The number of ranks of the job, if the trace does not give it.
test_world() {
    mkdir -p "$tmp/world"
    { printf '{"traceEvents": [\n' && sized allreduce_ 10 '[8]' && end; } >"$tmp/world/rank-0.json"
    shardsim replay "$tmp/world/rank-0.json"
    is 2 "no ranks told"
    says err 'allreduce_: the ranks .*--devices=N' "no ranks told: what to do"
    shardsim replay "$tmp/world/rank-0.json" --devices 4
    is 0 "ranks given"
    says out '^rank-0.json: 1 collectives in a step on 4 devices, 192 B received' "ranks given: counted"
    { printf '{"traceEvents": [\n' && sized _allgather_base_ 10 '[16], [4]' && end; } >"$tmp/world/rank-0.json"
    shardsim replay "$tmp/world/rank-0.json"
    is 0 "ranks by arrays"
    says out 'on 4 devices, 192 B' "ranks by arrays: counted"
    says out 'The number of ranks is not in the trace' "ranks by arrays: said"
    { printf '{"traceEvents": [\n' && event kernel ncclDevKernel_AllReduce 10 5 && end; } >"$tmp/world/t7.json"
    shardsim replay "$tmp/world/t7.json"
    is 0 "kernels alone, of which nothing is said"
    says out 'Not counted: 1 NCCL kernels without sizes' "kernels alone: said"
}

# A trace of four processes: the docstring of bench/torch_traces.py counts their calls.
test_example() {
    shardsim replay --json "$example"
    is 0 "a real job, all ranks"
    holds "a real job: each collective of a step" <<'PY'
assert r["mesh"] == [["dp", 2], ["tp", 2]], r["mesh"]
found = [(c["phase"], c["op"], c["axes"], c["groups"], c["count"], c["operand_bytes"]) for c in r["collectives"]]
assert found == [
    ("forward", "all-gather", ["dp"], 2, 2, 2048),
    ("forward", "all-reduce", ["tp"], 2, 2, 512),
    ("backward", "all-gather", ["dp"], 2, 2, 2048),
    ("backward", "all-reduce", ["tp"], 2, 1, 512),
    ("backward", "reduce-scatter", ["dp"], 2, 2, 4096),
], found
assert r["received_bytes"]["total"] == 4 * (4 * 2048 + 3 * 512 + 2 * 2048)
assert r["collectives"][0]["where"] == "FSDP::all_gather (*)"
PY
    cp "$tmp/out" "$tmp/all"
    shardsim replay --json "$example/rank-2.json"
    is 0 "a real job, one rank"
    says out "The trace of rank 2 of 4 was read; each other rank" "a real job, one rank: how others are taken"
    sed '/"program"/d;/"name"/d;/"line"/d;/"notes": /,$d' "$tmp/out" >"$tmp/one.cut"
    sed '/"program"/d;/"name"/d;/"line"/d;/"notes": /,$d' "$tmp/all" >"$tmp/all.cut"
    cmp -s "$tmp/one.cut" "$tmp/all.cut"
    ok $? "a real job, one rank: the counts of all four"
    shardsim replay "$example" --hardware h100-sxm --beside "$top_srcdir/bench/torch_traces.yaml"
    is 0 "a real job, timed, beside our own program"
    says out "^modelled    204 us on h100-sxm" "a real job: timed"
    says out "^  reduce-scatter      2  16.0 KiB          2      16.0 KiB" "a real job: what FSDP and we do alike"
    says out "^  all-gather          4  32.0 KiB          4      16.0 KiB" "a real job: what FSDP gathers twice"
    shardsim replay "$example" --matrix --ascii
    is 0 "a real job, drawn"
    says out "54.0 KiB in total" "a real job, drawn: the total"
}

# One all-reduce per step appears as five events, in each of three steps.
echoes() {
    begin 0 8 '{"pg_name": "4", "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}'
    for step in 3 4 5; do
        event user_annotation "ProfilerStep#$step" "${step}000.5" 900
        event cpu_op c10d::allreduce_ "${step}100.000" 50 7 '"Input Dims": [[[16]], [], []], "Input type": ["TensorList", "", ""]'
        call "${step}110.25" allreduce 16 16 Float 2 "[0, 1]"
        event user_annotation nccl:all_reduce "${step}112" 2
        event kernel 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)' "${step}130" 40 20 \
            "$(told allreduce 16 16 Float 2 "[0, 1]")"
        event gpu_user_annotation nccl:all_reduce "${step}130" 40 20
        event cpu_op record_param_comms "${step}200" 3 7 '"Collective name": "wait", "In msg nelems": 0, "Out msg nelems": 0, "dtype": "Byte", "Group size": 1, "Process Group Ranks": "[]"'
    done
    end
}

test_once() {
    echoes >"$tmp/t.json"
    replayed "what is told five times" 512 '["tp"]'
    says out "3 steps are traced, ProfilerStep#3 to #5" "what is told five times: in each of three steps"
    holds "what is told five times: once a step" <<'PY'
assert [(c["count"], c["groups"]) for c in r["collectives"]] == [(1, 4)]
PY
    grep -v 'record_param_comms' "$tmp/t.json" >"$tmp/u.json" && mv "$tmp/u.json" "$tmp/t.json"
    replayed "ops and labels" 512 '["tp"]'
    says out "lack an element type" "ops and labels: a type that nobody tells"
    grep -v 'c10d::' "$tmp/t.json" | sed 's/\("nccl:all_reduce".*\)"args": {}/\1"args": {"Input Dims": [[16]], "Input type": ["float"]}/' >"$tmp/u.json"
    mv "$tmp/u.json" "$tmp/t.json"
    replayed "labels" 512 '["tp"]'
    grep -v '"nccl:' "$tmp/t.json" >"$tmp/u.json" && mv "$tmp/u.json" "$tmp/t.json"
    replayed "kernels" 512 '["tp"]'
    # A list of arrays: only the label of gloo, on another thread, gives their type.
    {
        begin 0 2 ''
        event cpu_op c10d::allreduce_ 1 1 7 '"Input Dims": [[[8], [8]], [], []], "Input type": ["TensorList", "", ""]'
        event user_annotation gloo:all_reduce 9 5 8 '"Input Dims": [[8], [8]], "Input type": ["c10::BFloat16", "c10::BFloat16"]'
        end
    } >"$tmp/t.json"
    replayed "a label of another thread" 64 '["axis0"]'
    # A call that contains two inner calls counts once.
    {
        begin 0 2 ''
        event cpu_op record_param_comms 1 50 7 "$(told all_gather 8 16 Float 2 "[0, 1]")"
        call 2 _broadcast_oop 8 8 Float 2 "[0, 1]"
        call 10 _broadcast_oop 8 8 Float 2 "[0, 1]"
        end
    } >"$tmp/t.json"
    replayed "a call that is made of calls" 64 '["axis0"]'
}

# Every name of a call and the meaning of its numbers, in a group of 4: NAME IN OUT TYPE BYTES OP
test_names() {
    while read -r name in out type bytes op; do
        {
            begin 0 4 ''
            call 1 "$name" "$in" "$out" "$type" 4 "[0, 1, 2, 3]"
            end
        } >"$tmp/$name.json"
        shardsim replay --json "$tmp/$name.json"
        holds "$name of $type: $op, $bytes bytes" <<PY
assert [c["op"] for c in r["collectives"]] == ["$op"], r["collectives"]
assert r["received_bytes"]["total"] == $bytes, r["received_bytes"]
PY
    done <<'LIST'
allreduce 16 16 Float 384 all-reduce
all_reduce 16 16 Half 192 all-reduce
allreduce_coalesced 16 16 BFloat16 192 all-reduce
all_gather 16 64 Double 1536 all-gather
_allgather_base 16 64 Float 768 all-gather
all_gather_single 16 64 Byte 192 all-gather
allgather_into_tensor_coalesced 16 64 Float8_e4m3fn 192 all-gather
reduce_scatter 64 16 Float 768 reduce-scatter
_reduce_scatter_base 64 16 BFloat16 384 reduce-scatter
reduce_scatter_tensor_coalesced 64 16 Float 768 reduce-scatter
all_to_all 64 64 Long 1536 all-to-all
all_to_allv 64 64 Float 768 all-to-all
broadcast 16 16 Bool 48 broadcast
reduce 16 16 Float 192 reduce
gather 16 64 Float 192 gather
scatter 64 16 Float 192 scatter
barrier 0 0 Byte 0 barrier
LIST
    {
        begin 0 4 ''
        call 1 fancy_reduce 16 16 Float 4 "[0, 1, 2, 3]"
        end
    } >"$tmp/t.json"
    shardsim replay "$tmp/t.json"
    is 0 "a name that is not known"
    says out "Not counted: .*'fancy_reduce'" "a name that is not known: noted"
}

# The ranks of a group: by the name of the group, listed, abbreviated, by start and stride, or all.
# own NAME BEGIN DUR DIMS TYPES SCALARS [MORE]: an op of another library, of bfloat16 on a thread of its own
own() {
    event cpu_op "$1" "$2" "$3" 7 "\"Input Dims\": [$4], \"Input type\": [$5], \"Concrete Inputs\": [$6]$7"
}

# All-reduces of engines, which no process group sees.  Each is on 600 elements of bfloat16 of two ranks of four:
# 1200 bytes to each.  A collective in another record of the same collective counts once.
test_own() {
    b='"c10::BFloat16"'
    {
        begin 1 4 '{"pg_name": "0", "pg_size": 4, "ranks": [0, 1, 2, 3]}, {"pg_name": "1", "pg_size": 1, "ranks": [1]},
 {"pg_name": "7", "pg_desc": "TENSOR_MODEL_PARALLEL_GROUP", "pg_size": 2, "ranks": [0, 1]}'
        own engine::all_reduce 10 9 '[20, 30], []' "$b, \"\"" '"", ""'
        own symm_mem::two_shot_all_reduce_ 12 5 '[600], [], []' "$b, \"\", \"\"" '"", "", ""'
        own _C_custom_ar::all_reduce 30 5 '[], [600], [600], [], []' "\"Scalar\", $b, $b, \"Scalar\", \"Scalar\"" \
            '"94", "", "", "0", "8388608"'
        own sglang::inplace_all_reduce 40 9 '[6, 100], []' "$b, \"\"" '"", ""'
        own sgl_kernel::all_reduce 42 5 '[], [], []' '"Scalar", "", ""' '"", "", ""'
        own trtllm::allreduce 50 5 '[10, 60], [10, 60], []' "$b, $b, \"ScalarList\"" '"", "", "[0, 1]"'
        own symm_mem::one_shot_all_reduce_copy 60 5 '[4096], [600], [], []' "$b, $b, \"\", \"\"" '"", "", "", ""'
        own flashinfer_fused_allreduce_norm 70 5 '[600], [600], [600]' "$b, $b, $b" '"", "", ""'
        own _c10d_functional::all_reduce 80 5 '[600], [], []' "$b, \"\", \"\"" '"", "", ""'
        own vllm::all_reduce 90 9 '[600], []' "$b, \"\"" '"", ""' ', "External id": 31'
        call 92 allreduce 600 600 BFloat16 2 '[0, 1]' '"'
        end
    } | sed 's/"In split size": "\[\]""/"In split size": "[]"/' >"$tmp/t.json"
    replayed "all-reduces of engines" 38400 '["tp"], ["tp"]' --mesh dp=2,tp=2
    holds "each counts once, of two ranks" <<'PY'
assert [(c["op"], c["count"], c["operand_bytes"], c["group_size"]) for c in r["collectives"]] == [
    ("all-reduce", 6, 1200, 2), ("all-reduce", 2, 1200, 2)], r
notes = " ".join(r["notes"])
assert "6 calls of an engine's own collectives do not name" in notes and "unknown kinds" not in notes, notes
PY
    {
        begin 0 2 ''
        own engine::all_gather 10 5 '[8, 25], [], []' "$b, \"\", \"\"" '"", "", ""'
        own engine::reg_reduce_scatter_tensor 20 5 '[100], [200]' "$b, $b" '"", ""'
        own engine::all_to_all_single 30 5 '[200], [200]' "$b, $b" '"", ""'
        end
    } >"$tmp/t.json"
    replayed "gathers, scatters and exchanges of engines" 1600 '["axis0"], ["axis0"], ["axis0"]' --devices 2
    holds "their sizes" <<'PY'
assert sorted((c["op"], c["operand_bytes"]) for c in r["collectives"]) == [
    ("all-gather", 400), ("all-to-all", 400), ("reduce-scatter", 400)], r["collectives"]
PY
    {
        begin 0 2 ''
        own symm_mem::fused_matmul_reduce_scatter 10 5 '[8, 25], [25, 8], []' "$b, $b, \"\"" '"", "", ""'
        event cpu_op engine::all_reduce 20 5
        event user_annotation my_all_gather 30 5
        event user_annotation my_all_gather_around 40 9
        own engine::all_gather 42 5 '[8, 25], [], []' "$b, \"\", \"\"" '"", "", ""'
        event user_annotation FSDP::all_gather_copy_out 50 5
        end
    } >"$tmp/t.json"
    replayed "records with words of collectives" 800 '["axis0"]' --devices 2
    holds "those that are not understood are told" <<'PY'
assert any("3 calls of unknown kinds" in n for n in r["notes"]), r["notes"]
PY
    {
        begin 0 2 ''
        own engine::all_reduce 10 5 '[600], []' "$b, \"\"" '"", ""' ', "External id": 31'
        event kernel 'void cross_device_reduce_1stage<bf16, 2>' 12 2 20 '"External id": 31'
        event kernel 'void cross_device_reduce_1stage<bf16, 2>' 32 2 20 '"External id": 0'
        event kernel 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL' 42 2 20 '"stream": 20'
        event kernel 'oneShotAllReduceKernel' 52 2 20 '"stream": 20'
        event kernel 'triton_poi_fused_all_reduce_add_3' 62 2 20 '"stream": 20'
        end
    } >"$tmp/t.json"
    replayed "kernels" 2400 '["axis0"]' --devices 2
    holds "those of no call are told" <<'PY'
assert any("3 kernels of collectives, such as 'oneShotAllReduceKernel', without a traced call" in n for n in r["notes"]), r["notes"]
PY
}

test_groups() {
    config='{"pg_name": "9", "pg_desc": "mesh_dp", "pg_size": 4, "ranks": [0, 2, 4, 6]}'
    for told in '"[]", "Process Group Name": "9"' '"[0, 2, 4, 6]"' '"[0, 2, ...]"' '"[0, 2, ..., 6]"' \
        '"", "Global rank start": 0, "Global rank stride": 2'; do
        {
            begin 0 8 "$config"
            event cpu_op record_param_comms 1 5 7 \
                "\"Collective name\": \"allreduce\", \"In msg nelems\": 16, \"Out msg nelems\": 16, \"dtype\": \"Float\", \"Group size\": 4, \"Process Group Ranks\": $told"
            end
        } >"$tmp/t.json"
        replayed "group $told" 768 '["dp"]'
    done
    {
        begin 5 8 ''
        call 1 allreduce 16 16 Float 3 "[1, 5, 6]"
        end
    } >"$tmp/t.json"
    replayed "a group that follows no mesh" 256 'None'
    says out "the groups of untraced ranks are unknown" "a group that follows no mesh: said"
    {
        begin 5 8 ''
        call 1 _allgather_base 16 32 Float 2 "[5, 7]"
        call 9 _allgather_base 16 64 Float 4 "[4, 5, 6, 7]"
        end
    } >"$tmp/t.json"
    replayed "a mesh that is given" 2048 '["b"], ["b", "c"]' --mesh a=2,b=2,c=2
}

# stage RANK: a pipeline of two stages of two ranks each; the trace of one rank stands for its
# stage.
stage() {
    begin "$1" 4 ''
    event user_annotation ProfilerStep#1 1 100
    [ "$1" -ge 2 ] || call 5 send 16 16 Float 2 "[$1, $(($1 + 2))]" ", \"Dst Rank\": $(($1 + 2))"
    [ "$1" -ge 2 ] || call 15 recv 16 16 Float 2 "[$1, $(($1 + 2))]" ", \"Src Rank\": $(($1 + 2))"
    [ "$1" -lt 2 ] || call 5 recv 16 16 Float 2 "[$(($1 - 2)), $1]" ", \"Src Rank\": $(($1 - 2))"
    [ "$1" -lt 2 ] || call 15 send 16 16 Float 2 "[$(($1 - 2)), $1]" ", \"Rank\": 0"
    [ "$1" -lt 2 ] || call 25 allreduce 8 8 Float 2 "[2, 3]"
    end
}

test_messages() {
    mkdir "$tmp/stages" "$tmp/some"
    for rank in 0 1 2 3; do
        stage "$rank" >"$tmp/stages/$rank.json"
    done
    cp "$tmp/stages/0.json" "$tmp/stages/2.json" "$tmp/some"
    for folder in stages some; do
        shardsim replay --json "$tmp/$folder" --mesh pp=2,dp=2
        is 0 "messages, $folder"
        holds "messages, $folder: each once, and the calls of one stage alone" <<'PY'
found = [(c["op"], c["axes"], c["groups"], c["received_bytes"]) for c in r["collectives"]]
assert found == [("send", ["pp"], 4, 256), ("all-reduce", ["dp"], 1, 64)], found
assert r["received_bytes"]["per_device"] == [64, 64, 96, 96], r["received_bytes"]
PY
    done
    says out "ranks 0, 2 of 4 were read" "messages, some: which"
    # A ring of which only one rank was traced.
    {
        begin 1 4 ''
        call 5 send 16 16 Float 4 "[0, 1, 2, 3]" ', "Dst Rank": 2'
        call 15 recv 16 16 Float 4 "[0, 1, 2, 3]" ', "Src Rank": 0'
        end
    } >"$tmp/t.json"
    replayed "a ring" 256 '["axis0"]'
    holds "a ring: each receives once" <<'PY'
assert r["received_bytes"]["per_device"] == [64] * 4, r["received_bytes"]
PY
    {
        begin 1 4 ''
        call 15 recv 16 16 Float 4 "[0, 1, 2, 3]" ''
        end
    } >"$tmp/t.json"
    replayed "a message from nobody" 0 ''
    says out "messages without a peer rank" "a message from nobody: said"
}

test_steps() {
    {
        begin 0 2 ''
        call 1 broadcast 4 4 Float 2 "[0, 1]"
        for step in 1 2 3 4; do
            event user_annotation "ProfilerStep#$step" "${step}00" 90
            call "${step}10" allreduce 16 16 Float 2 "[0, 1]"
        done
        call 420 allreduce 1 1 Float 2 "[0, 1]"
        event user_annotation ProfilerStep#5 500 0.5
        event user_annotation ProfilerStep#7:8 600 90
        call 610 allreduce 1 1 Float 2 "[0, 1]"
        event user_annotation ProfilerStep#123456789012 700 90
        call 710 allreduce 1 1 Float 2 "[0, 1]"
        end
    } >"$tmp/t.json"
    replayed "steps that differ" 128 '["axis0"]'
    says out "#3 is counted, like 3 steps" "steps that differ: the commonest"
    says out "Not counted: 3 calls outside of the steps" "steps that differ: what is in none, or in what has no number"
    replayed "a step by its number" 136 '["axis0"], ["axis0"]' --step 4
    shardsim replay "$tmp/t.json" --step 5
    is 2 "a step without collectives"
    says err "steps with collectives are #1 to #4" "a step without collectives: which have some"
}

# The place of a call is the innermost annotation that contains its begin, without the numbers that
# are no part of a name.
test_places() {
    {
        begin 0 2 ''
        while read -r at dur place; do
            event user_annotation "$place" "$at" "$dur"
            call "$at" allreduce "$at" "$at" Float 2 "[0, 1]"
        done <<'PLACES'
100 100 Block2.layers.7
200 90 stage_3/h12_b4.5
210 20 07x.8y
300 90 A9-Z0-_1-a6-z5
PLACES
        call 390 allreduce 390 390 Float 2 "[0, 1]"
        end
    } >"$tmp/t.json"
    shardsim replay --json "$tmp/t.json"
    is 0 "places"
    holds "places: each call has its own place" <<'PY'
found = {c["operand_bytes"] // 4: c["where"] for c in r["collectives"]}
assert found == {100: "Block2.layers.*", 200: "stage_3/h12_b4.*", 210: "*x.*y", 300: "A9-Z0-_1-a6-z5",
                 390: None}, found
PY
}

# A step without calls.
test_none() {
    { begin 0 2 '' && event user_annotation ProfilerStep#1 1 100 && end; } >"$tmp/t.json"
    replayed "a step without calls" 0 ''
}

# Members of a group recorded different sizes and different numbers of calls.
test_members() {
    mkdir "$tmp/members"
    for rank in 0 1; do
        {
            begin "$rank" 2 ''
            call 1 all_to_allv "1$rank" 10 Float 2 "[0, 1]"
            [ "$rank" = 1 ] || call 9 allreduce 16 16 Float 2 "[0, 1]"
            end
        } >"$tmp/members/$rank.json"
    done
    shardsim replay --json "$tmp/members"
    is 0 "members that differ"
    says out "1 collectives have operands of different sizes" "members that differ: in size"
    says out "1 calls are missing, or of another kind, in the trace of a member" "members that differ: in number"
    holds "members that differ: the mean" <<'PY'
assert [c["operand_bytes"] for c in r["collectives"]] == [42, 64], r["collectives"]
PY
}

# Chakra: fields of a call by position (schema of 2024) and by attributes.
test_chakra() {
    cat >"$tmp/t.json" <<'JSON'
{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [
 {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values": ["[{\"pg_name\": \"0\", \"backend_id\": 77, \"ranks\": [], \"group_size\": 2}]"]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 4, "name": "record_param_comms", "ctrl_deps": 3,
  "inputs": {"values": [[[1, 2, 0, 10, 4, "cuda:0"]], 9, 77, 1, "all_gather", [], [], 2]},
  "outputs": {"values": [[[[3, 4, 0, 10, 4, "cuda:0"], [6, 7, 0, 10, 4, "cuda:0"]]]]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 5, "name": "nccl:all_gather", "ctrl_deps": 4, "inputs": {"values": [[1, 2, 0, 10, 4, "cuda:0"]]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 1}, {"name": "scope", "type": "uint64", "value": 7}]},
 {"id": 3, "name": "c10d::allgather_", "ctrl_deps": 1,
  "inputs": {"values": [[[[3, 4, 0, 10, 4, "cuda:0"], [6, 7, 0, 10, 4, "cuda:0"]]], [[1, 2, 0, 10, 4, "cuda:0"]], "<Object>", -1]},
  "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 8, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [[], [3, false], ["0", "default_pg"], 1, "allreduce", [], [], 0, 1, 2]},
  "attrs": [{"name": "tid", "value": 1}, {"name": "collective_name", "type": "string", "value": "allreduce"},
   {"name": "dtype", "type": "string", "value": "BFloat16"}, {"name": "in_msg_nelems", "type": "uint64", "value": 100},
   {"name": "out_msg_nelems", "type": "uint64", "value": 100}, {"name": "pg_name", "type": "string", "value": "0"},
   {"name": "pg_size", "type": "uint64", "value": 2}]}
]}
JSON
    replayed "a trace of Chakra" 480 '["axis0"], ["axis0"]'
    says out "rank 1 of 2 was read" "a trace of Chakra: whose it is"
}

# faulty TEXT PLACE WORDS [FILE...]: refuse the files (default: $tmp/t.json) with PLACE and WORDS.
faulty() {
    text=$1 place=$2 words=$3
    shift 3
    [ $# -gt 0 ] || set -- "$tmp/t.json"
    shardsim replay "$@"
    is 2 "$text: refused"
    says err "$place: error: .*$words" "$text: where and what"
    silent out "$text: nothing told"
}

# one EVENT ARGUMENT...: a trace of rank 0 of 4 with one event
one() {
    begin 0 4 ''
    "$@"
    end
}

test_faults() {
    one call 1 allreduce 16 16 Float 4 "[0, 1, 2, 3]" >"$tmp/good.json"
    head -c 420 "$tmp/good.json" >"$tmp/t.json"
    faulty "half a trace" "t.json:4:13" "is the file truncated"
    sed '3s/"dtype".*//; 4,$d' "$tmp/good.json" >"$tmp/t.json"
    faulty "a trace that ends in a call" "t.json:4:1" "the file ends; is it truncated"
    sed '3s/"ts": 1,/"ts": 1;/' "$tmp/good.json" >"$tmp/t.json"
    faulty "no JSON" "t.json:3:87" "expected ',' or '}'"
    one call 1 allreduce 16 16 Int3 4 "[0, 1, 2, 3]" >"$tmp/t.json"
    faulty "a type that is not known" "t.json:3:1" "unknown element type"
    one event cpu_op c10d::allreduce_ 1 5 >"$tmp/t.json"
    faulty "no sizes" "t.json:3:1" "record_shapes=True"
    one call 1 allreduce 9000000000000000000 1 Float 4 "[0, 1, 2, 3]" >"$tmp/t.json"
    faulty "more bytes than can be" "t.json:3:1" "its arrays are too large"
    one call 1 allreduce 16 16 Float 4 "[0, 1, 1, 3]" >"$tmp/t.json"
    faulty "a rank twice" "t.json:3:1" "or repeated"
    one call 1 allreduce 16 16 Float 4 "[0, 1, 2, 4]" >"$tmp/t.json"
    faulty "a rank that is not there" "t.json:3:1" "outside the job"
    one call 1 allreduce 16 16 Float 2 "[2, 3]" >"$tmp/t.json"
    faulty "a group of others" "t.json:3:1" "not in its own process group"
    one call 1 allreduce 16 16 Float 40 "[0, 1, 4, ...]" >"$tmp/t.json"
    faulty "ranks that cannot be known" "t.json:3:1" "the ranks of its process group are missing"
    one event cpu_op c10d::barrier '"soon"' 5 >"$tmp/t.json"
    faulty "no time" "t.json:3:1" "an event without timestamps"
    sed 's/"rank": 0/"rank": 4/' "$tmp/good.json" >"$tmp/t.json"
    faulty "a rank beyond the job" "t.json:1:1" "the trace's rank"
    cp "$tmp/good.json" "$tmp/again.json"
    faulty "a rank again" "again.json:1:1" "expected one trace per rank" "$tmp/good.json" "$tmp/again.json"
    sed 's/"rank": 0, "world_size": 4/"rank": 1, "world_size": 8/' "$tmp/good.json" >"$tmp/again.json"
    faulty "ranks of another job" "again.json:1:1" "is of a job of 4" "$tmp/good.json" "$tmp/again.json"
    faulty "a trace and a module" "step.hlo.txt:1:1" "expected one module, or traces" "$tmp/good.json" \
        "$top_srcdir/examples/step.hlo.txt"
    gzip -c "$tmp/good.json" >"$tmp/t.json"
    faulty "a compressed trace" "t.json:1:1" "gunzip -k"
    mkdir "$tmp/nothing"
    faulty "a folder without a trace" "nothing" "contains no PyTorch trace" "$tmp/nothing"
    shardsim replay "$tmp/good.json" --devices 8
    is 2 "other devices than the job's"
    shardsim replay "$tmp/good.json" --step 1
    is 2 "a step where none is marked"
    shardsim plan "$tmp/good.json"
    is 2 "a trace for a scenario"
    says err "'shardsim replay FILE' counts" "a trace for a scenario: what reads it"
}

test_example
test_once
test_names
test_own
test_groups
test_sizes
test_world
test_messages
test_steps
test_places
test_none
test_members
test_chakra
test_faults
done_testing
