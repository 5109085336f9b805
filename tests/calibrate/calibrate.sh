#!/bin/sh
# Tests calibrate: it recovers the constants with which steps and tables of nccl-tests were made,
# keeps the rest of the file, and reports faults of the input with their lines.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# cluster MATMUL_EFFICIENCY MEMORY_EFFICIENCY: print a hardware file.
cluster() {
    cat <<END
version: 1
name: mine # a remark
source: "of a test"
rates: {bfloat16: 100TFLOP/s}
memory: {size: 80GiB, rate: 2000GB/s}
kernels:
  launch: 4us
  matmul_efficiency: $1 # of ours
  memory_efficiency: $2
  attention_efficiency: 0.5
  attention_backward_efficiency: 0.4
tiers:
  - name: inside
    devices: 8
    rate: 250GB/s
    efficiency: 0.5
    latency: 20us
    step: 9us
  - name: between
    rate: 25GB/s
    latency: 20us
    step: 5us
END
}

# make_steps FILE: write ten steps of several sizes, with the times of true.yaml.
make_steps() {
    python3 - "$shardsim" "$tmp/true.yaml" >"$1" <<'PY'
import json, subprocess, sys
asked = [{"model": {"hidden": h, "layers": 2, "heads": 8, "mlp_dim": 4 * h, "vocab": 1024, "seq": s},
          "hardware": sys.argv[2], "devices": 8, "micro_batch": b, "global_batch": 8 * b}
         for h, s, b in [(512, 512, 1), (512, 2048, 2), (1024, 512, 1), (1024, 1024, 2), (2048, 512, 1),
                         (2048, 2048, 1), (4096, 512, 1), (4096, 1024, 2), (256, 2048, 4), (768, 256, 1)]]
ask = "".join(json.dumps({"id": i, "op": "plan.train_step", "in": q}) + "\n" for i, q in enumerate(asked))
run = subprocess.run([sys.argv[1], "query"], input=ask.encode(), stdout=subprocess.PIPE, check=True)
for q, line in zip(asked, run.stdout.splitlines()):
    answer = json.loads(line)
    print(json.dumps({"id": "row %d" % answer["id"], "set": "made", "in": {**q, "hardware": "mine"},
                      "measured": {"step_seconds": answer["out"]["step_seconds"]}}))
PY
}

calibrate() {
    timeout "$LIMIT" "$shardsim" calibrate "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# value FILE KEY: print the value of a key.
value() {
    sed -n "s/^ *$2: \([^ ]*\).*/\1/p" "$1"
}

# near TEXT VALUE WANTED SHARE: VALUE is within SHARE of WANTED.
near() {
    ok "$(awk "BEGIN {print ($2 - $3 > $4 * $3 || $3 - $2 > $4 * $3)}")" "$1: $2 is $3"
}

fits='kernels.matmul_efficiency,kernels.memory_efficiency'

test_steps() {
    make_steps "$tmp/steps.jsonl"
    ok "$(awk 'END {print NR != 10}' "$tmp/steps.jsonl")" "ten steps are made"
    calibrate "$tmp/start.yaml" --steps "$tmp/steps.jsonl" --constants "$fits" --force -o "$tmp/found.yaml"
    ok $status "steps: status 0"
    near "steps: products" "$(value "$tmp/found.yaml" matmul_efficiency)" 0.62 0.01
    near "steps: memory" "$(value "$tmp/found.yaml" memory_efficiency)" 0.7 0.01
    near "steps: rows" "$(value "$tmp/found.yaml" rows)" 10 0
    ok "$(value "$tmp/found.yaml" mape | awk '{print !($1 < 0.001)}')" "steps: error below 0.1 %"
    ok "$(value "$tmp/found.yaml" cross_validated_mape | awk '{print !($1 < 0.01)}')" \
        "steps: cross-validated, below 1 %"
    near "steps: the most devices" "$(value "$tmp/found.yaml" devices_most)" 8 0
    grep -q '^name: mine # a remark$' "$tmp/found.yaml"
    ok $? "steps: remarks stay"
    grep -q '^  - kernels.matmul_efficiency$' "$tmp/found.yaml"
    ok $? "steps: the file says what was fitted"
    says out "made" "steps: the table has the set"
    cp "$tmp/found.yaml" "$tmp/once.yaml"
    calibrate "$tmp/start.yaml" --steps "$tmp/steps.jsonl" --constants "$fits" --force -o "$tmp/found.yaml"
    cmp -s "$tmp/once.yaml" "$tmp/found.yaml"
    ok $? "steps: the same every time"
    calibrate "$tmp/found.yaml" --steps "$tmp/steps.jsonl" --constants "$fits"
    ok $status "the file that came out goes in again"
    near "again: one validation of the set" "$(grep -c 'set: made' "$tmp/out")" 1 0
}

# make_table: print a table of nccl-tests with 2 (n - 1) / n of the size at 200 GB/s and 10 us a
# step.
make_table() {
    echo '# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 4(factor)'
    echo '# Using devices'
    awk 'BEGIN {for (r = 0; r < 8; r++) printf "#  Rank %2d Group  0 Pid 1 on host device %2d\n", r, r}'
    echo '#       size         count      type   redop    root     time   algbw   busbw #wrong     time'
    awk 'BEGIN {for (b = 1048576; b <= 1073741824; b *= 4) {
        s = 20e-6 + 14 * 5e-6 + 1.75 * b / 200e9
        printf "%12d %12d float sum -1 %.2f %.2f %.2f 0 %.2f\n", b, b / 4, s * 1e6, b / s / 1e9, 1.75 * b / s / 1e9, s * 1e6}}'
    echo '# Avg bus bandwidth    : 100'
}

test_collectives() {
    make_table >"$tmp/table.txt"
    calibrate "$tmp/start.yaml" --collectives "$tmp/table.txt" \
        --constants tiers.0.efficiency,tiers.0.step --force -o "$tmp/found.yaml"
    ok $status "collectives: status 0"
    near "collectives: efficiency" "$(sed -n 's/^    efficiency: //p' "$tmp/found.yaml")" 0.8 0.01
    near "collectives: step" "$(sed -n 's/^    step: \(.*\)us/\1/p' "$tmp/found.yaml" | head -n 1)" 5 0.01
    says out "all-reduce of 8" "collectives: the set is told"
}

# rows BYTES-PER-COUNT REDOP ROOT FACTOR: print rows of float at 100 GB/s and 3 us a step, small
# sizes too.
rows() {
    awk -v q="$1" -v redop="$2" -v root="$3" -v f="$4" 'BEGIN {
        print "#       size         count      type   redop    root     time   algbw   busbw #wrong     time"
        print "           0             0     float  " redop "  " root "  9.00  0.00  0.00  0  9.00"
        for (b = 64; b <= 67108864; b *= 1024) {
            us = 20 + f * b / 100e3
            printf "%12d %12d float %s %d %.2f %.2f %.2f 0 %.2f\n",
                b, b / q, redop, root, us, b / us / 1e3, f * b / us / 1e3, us}}'
}

# logged TEXT SETS: $tmp/log.txt is read and gives these sets, with three rows each.
logged() {
    calibrate "$tmp/start.yaml" --collectives "$tmp/log.txt" --constants tiers.0.step \
        --force -o "$tmp/found.yaml"
    ok $status "$1: read"
    [ "$(sed -n 's/^\([a-z-]* of [0-9]*\)  *3 .*/\1/p' "$tmp/out" | paste -sd, -)" = "$2" ]
    ok $? "$1: $2"
}

# Lines that schedulers, shells and NCCL write before and between rows; several tables in a file.
test_logs() {
    {
        printf '+ mpirun -n 4 ./all_gather_perf -b 8\nbash: warning: setlocale\n---- 8 of 9 ----\n'
        printf '# nThread 1 nGpus 1\n#  Rank  0 Group  0 Pid 9 on a device  0 [0x00]\n'
        printf '#  Rank  3 Group  0 Pid 9 on b device  1 [0x00]\nNCCL version 2.1.2+cuda9.0\n'
        rows 16 none -1 0.75 | sed '3i host:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0'
        printf '# Avg bus bandwidth : 1\n#\n# Collective test starting: reduce_scatter_perf\n'
        rows 32 sum -1 0.875
        printf '$ ./all_reduce_perf_mpi\n# nThread 1 nGpus 1\n'
        rows 4 sum -1 1 | tr '#' ' '
    } | sed 's/^/[1,0]<stdout>:/' >"$tmp/log.txt"
    logged "a log" "all-gather of 4,reduce-scatter of 8,all-reduce of 2"
    rows 4 sum -1 1.5 | sed 's/^/ 0: /' >"$tmp/log.txt"
    logged "a table without a name, of all-reduce" "all-reduce of 4"
    rows 16 sum -1 0.75 >"$tmp/log.txt"
    logged "a table without a name, of reduce-scatter" "reduce-scatter of 4"
    # An unknown type, and the columns of an older version.
    { echo '# alltoall_perf, nranks 8' && rows 32 none -1 0.875 | sed 's/float/float3/'; } >"$tmp/log.txt"
    logged "another type" "all-to-all of 8"
    { echo '# all_reduce_perf' && rows 4 sum -1 1.75 | sed 's/  *root  */ /; s/ -1 / /'; } >"$tmp/log.txt"
    logged "other columns" "all-reduce of 8"
}

# refused TEXT WORDS ARGUMENT...: calibrate refuses with WORDS.
refused() {
    refused_text=$1 refused_words=$2
    shift 2
    calibrate "$@"
    ok "$([ $status -eq 2 ]; echo $?)" "$refused_text: status 2"
    says err "$refused_words" "$refused_text: which"
}

test_faults() {
    refused "nothing measured" "expected --steps, --collectives or --kernels" a100-80g-roce
    refused "no such cluster" "did you mean 'a100-80g-roce'" a100-80g-rose --steps "$tmp/steps.jsonl"
    refused "no such constant" "did you mean 'kernels.launch'" "$tmp/start.yaml" \
        --steps "$tmp/steps.jsonl" --constants kernels.lanch
    refused "a whole number" "it is a whole number" "$tmp/start.yaml" --steps "$tmp/steps.jsonl" \
        --constants tiers.0.devices
    refused "no rows of this cluster" "expected rows with in.hardware 'h100-80g-roce'" h100-80g-roce \
        --steps "$tmp/steps.jsonl"
    says err "10 rows of" "no rows of this cluster: how many were left out"
    { head -n 1 "$tmp/steps.jsonl" && echo 'junk' && echo '{"in": 3}' &&
        sed -n '2s/"step_seconds": [^}]*/"step_seconds": -1/p' "$tmp/steps.jsonl" &&
        sed -n '3s/"devices": 8/"devices": 9/p' "$tmp/steps.jsonl"; } >"$tmp/bad.jsonl"
    refused "not JSON" "bad.jsonl:2:" "$tmp/start.yaml" --steps "$tmp/bad.jsonl" --constants "$fits"
    says err "bad.jsonl:3:1: error: not a measured step" "no \`in\`: its line"
    says err "bad.jsonl:4:1: error: measured.step_seconds" "a time below 0: its line"
    says err "bad.jsonl:5:1: error:" "a question that has no answer: its line"
    { make_table && echo '1048576 junk'; } >"$tmp/bad.txt"
    refused "not a row of nccl-tests" "bad.txt:19:1: error: not a row of nccl-tests" \
        "$tmp/start.yaml" --collectives "$tmp/bad.txt" --constants tiers.0.step
    make_table | sed 's/# nThread.*/# nranks 4/' >"$tmp/bad.txt"
    refused "other ranks than busbw has" "all-reduce of 4 ranks has 1.500" \
        "$tmp/start.yaml" --collectives "$tmp/bad.txt" --constants tiers.0.step
    while IFS='|' read -r what words named q redop root factor edit; do
        { echo "$named" && rows "$q" "$redop" "$root" "$factor" | sed "$edit"; } >"$tmp/bad.txt"
        refused "$what" "$words" "$tmp/start.yaml" --collectives "$tmp/bad.txt" --constants tiers.0.step
    done <<'TABLES'
a gather or an exchange|bad.txt:4:1: error: the collective of this table is unknown.*'# all_gather_perf'|# x|16|none|-1|0.75|
two ranks|the collective of this table is unknown|# x|4|sum|-1|1|
a root|does not support tables of a collective with a root|# x|4|none|0|1|
messages|does not support tables of sendrecv_perf|# sendrecv_perf|4|sum|-1|1|
the columns of another|bad.txt:6:1: error: size, count and redop.*do not fit all_reduce_perf|# all_reduce_perf|16|sum|-1|0.75|
a gather that reduces|do not fit all_gather_perf|# all_gather_perf|16|sum|-1|0.75|
one rank|has one rank|# nranks 1, all_reduce_perf|4|sum|-1|1|
milliseconds|bad.txt:5:1: error: algbw is|# all_reduce_perf|4|sum|-1|1.5|4s/20.98/0.02/
a row that is cut|bad.txt:6:1: error: not a row|# all_reduce_perf|4|sum|-1|1.5|5s/sum.*/sum/
times of the CPU|columns time, algbw and busbw in this order are missing|# all_reduce_perf|4|sum|-1|1.5|1s/time/cputime/g
TABLES
    refused "no file" "no.jsonl" "$tmp/start.yaml" --steps "$tmp/no.jsonl" --constants "$fits"
}

cluster 0.62 0.7 >"$tmp/true.yaml"
cluster 0.8 0.9 >"$tmp/start.yaml"
test_steps
test_collectives
test_logs
test_faults
done_testing
