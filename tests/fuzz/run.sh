#!/bin/sh
# run.sh SECONDS [NAME...] - build the fuzz targets with clang, its warnings being errors, and run each for
# SECONDS (NAME: only these, as in "spec rules").  A finding ends the run and stays in the build directory.
#
#   SHD_FUZZ_BUILD   where to build (default: build-fuzz in the current directory)
#   CLANG            the compiler (default: clang-14, else clang)
#   SHARDSIM_GOLDEN  golden data, whose questions `query` starts from
#
# SPDX-License-Identifier: Apache-2.0
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:?usage: run.sh SECONDS [NAME...]}
shift
[ $# -gt 0 ] || set -- spec rules pattern safetensors array_file hlo torch trace nccl import_rules launch graph_text hardware \
    scenario query
build=${SHD_FUZZ_BUILD:-build-fuzz}
jobs=${SHD_JOBS:-2}
: "${CLANG:=$(command -v clang-14 || command -v clang)}"
sanitize=-fsanitize=fuzzer-no-link,address,undefined

mkdir -p "$build"
cd "$build"
if [ ! -f Makefile ]; then
    "$src/configure" --enable-werror --without-jemalloc --disable-openmp --disable-shared \
        --enable-static CC="$CLANG" \
        CFLAGS="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all $sanitize" >configure.log
fi
make -s -j"$jobs" libshd.la libsim.la >make.log
libs=$(pkg-config --libs yaml-0.1 jansson libpcre2-8)

# seed NAME: print a small valid input of the format, for the fuzzer to start from.
# shellcheck disable=SC2016  # the dollars are the script's
seed() {
    case $1 in
    spec) printf "P(('dp', 'fsdp'), None, 'tp')" ;;
    rules) printf '[["mlp/(up|gate)", [null, [dp, tp]]], [".*", []]]' ;;
    pattern) printf 'attention|mlp->data,hidden->model.sp' ;;
    nccl)
        printf '[1,0]<stdout>:# Collective test starting: all_gather_perf\n#  Rank  3 Group  0 Pid 1 on a device 3\n'
        printf '#  size count type redop root time algbw busbw #wrong\nNCCL version 2.1.2\n'
        printf '[1,0]<stdout>: 65536 4096 float none -1 20.00 3.28 2.46 0\n'
        printf '$ ./all_reduce_perf\n  65536 16384 float sum -1 20.00 3.28 4.92 0\n'
        ;;
    query) printf '{"id":1,"op":"re.search","in":{"pattern":"a","string":"b"}}' ;;
    trace) printf '{"timestamp": 1, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]}\n' ;;
    safetensors) printf '{"a.b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' ;;
    import_rules)
        printf 'axis_dims = (1, -1, 2, 1)\nreturn (\n'
        printf '    (r"q_proj/\\w+", P(("fsdp", "sp"), "tp")), ("norm|bias", pm.resolve(Replicated)),\n'
        printf '    (".*", PartitionSpec(None)),\n)\n'
        ;;
    launch)
        printf 'TP=${1:-2}; A=(--num-layers 2 --hidden-size $((8 * TP)) --num-attention-heads 4)\n'
        printf 'if [ -n "$X" ]; then A+=(--seq-length 8); fi; f() { for i in 1 2; do N=$i; done; }; f\n'
        printf 'case $TP in 1|2*) M="${A[@]} --vocab-size 8";; esac\nbash <<END\ntorchrun $M\nEND\n'
        printf 'docker run -p 1:1 vllm/vllm-openai:v1 Qwen/Qwen3-8B-FP8 -tp=2 --port <p> --max-model-len 16k -sc.a 1\n'
        printf 'python3 -m sglang.launch_server --model x/DeepSeek-V3 --tp 8 --dp 4 --enable-dp-attention --ep 4\n'
        printf 'torchrun --nproc-per-node 2 x.py ${A[@]} --micro-batch-size $N --seq-length 8 "$@" | tee'
        ;;
    *) ;;
    esac
}

# A profiler's trace of two ranks and one of Chakra, short enough to mutate.
torch_seeds() {
    call='{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 7, "ts": 10.5, "dur": 5, "args": {"Collective name": "all_gather", "In msg nelems": 8, "Out msg nelems": 16, "dtype": "Float", "Group size": 2, "Process Group Ranks": "[0, 1]"}}'
    step='{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": 1, "dur": 50}'
    op='{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 7, "tid": 7, "ts": 20, "dur": 5, "args": {"Input Dims": [[[8, 2]], []], "Input type": ["TensorList", ""]}}'
    for rank in 0 1; do
        printf '{"distributedInfo": {"rank": %s, "world_size": 4, "pg_config": [{"pg_name": "1", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": [0, 1]}]}, "traceEvents": [%s, %s, %s]}\0' \
            "$rank" "$step" "$call" "$op"
    done >corpus/torch/profiler
    sed -n '1p;4p;5p;/"c10d::_allgather_base_"/{s/,$/]}/p;q;}' "$src/examples/torch/rank-0.json" >corpus/torch/chakra
    cp "$src/examples/torch/rank-1.json" corpus/torch
}

# Files of arrays of both kinds, and the header of a member.
array_seeds() {
    python3 - corpus/array_file <<'PY'
import sys, zipfile
folder = sys.argv[1]
header = b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
open(folder + "/safetensors", "wb").write(len(header).to_bytes(8, "little") + header + bytes(8))
text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
open(folder + "/npy", "wb").write(npy)
with zipfile.ZipFile(folder + "/npz", "w") as archive:
    archive.writestr("x.npy", npy + bytes(8))
PY
}

# fuzz NAME: build the target and run it
fuzz() {
    # shellcheck disable=SC2086  # the compiler and libs are words
    $CLANG -std=gnu17 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. \
        -I"$src/lib" -I"$src/sim/run" -I"$src/sim/trial" -I"$src/sim" -I"$src/interop" \
        "$src/tests/fuzz/${1}_fuzz.c" .libs/libsim.a .libs/libshd.a $libs -lm -pthread \
        -o "${1}_fuzz"
    mkdir -p "corpus/$1"
    seed "$1" >"corpus/$1/seed"
    [ "$1" != hardware ] || cp "$src"/scenarios/hardware/*.yaml "corpus/$1"
    [ "$1" != torch ] || torch_seeds
    [ "$1" != array_file ] || array_seeds
    [ "$1" != trace ] || printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,48,10\n' \
        >corpus/trace/csv
    [ "$1" != hlo ] || cp "$src/examples/step.hlo.txt" corpus/hlo
    [ "$1" != import_rules ] || cp "$src/examples/t5x.gin" corpus/import_rules
    [ "$1" != query ] || split -l 1 "$src/tests/query/failures.jsonl" "corpus/query/op-"
    echo "fuzz: $1, $seconds s"
    "./${1}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
        -print_final_stats=1 "corpus/$1" >"$1.log" 2>&1 || {
        tail -n 40 "$1.log"
        echo "fuzz: $1 has a finding; see $build/$1.log"
        exit 1
    }
    echo "$1 $(grep stat::number_of_executed_units "$1.log")"
}

# Run several targets at a time, one per job.
status=0 running=
for name in "$@"; do
    (fuzz "$name") &
    running="$running $!"
    # shellcheck disable=SC2086  # numbers of processes
    set -- $running
    if [ $# -ge "$jobs" ]; then
        wait "$1" || status=1
        shift
        running=$*
    fi
done
for process in $running; do
    wait "$process" || status=1
done
exit $status
