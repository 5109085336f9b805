#!/bin/sh
# Tests bench as a person or another program uses it, without judging any duration.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

quick() {
    shardsim bench --samples 1 --sample-ms 0 --warmup 1 "$@"
}

test_text() {
    quick --devices 4 --sizes 64,4KiB
    is 0 "status 0"
    silent err "nothing on standard error"
    says out '^all-reduce/direct, 4 devices on [0-9]* cores$' "what is measured"
    says out '^ *size  *count  *type  *redop  *time .*algbw  *busbw  *wrong  *copy  *floor$' \
        "columns"
    says out '^ *64  *16  *float32  *sum ' "a row a size"
    says out '^ *4096  *1024  *float32  *sum ' "sizes with units"
    quick -n 2 -b 8 -e 128 -f 4 --csv
    is 0 "--csv: status 0"
    says out '^op,algorithm,devices,bytes,count,' "--csv: a head"
    [ "$(wc -l <"$tmp/out")" -eq 4 ]
    ok $? "sizes from the least to the largest by a factor: 8, 32, 128"
}

# Small calls, calls that several threads share, and calls that store past the caches.
test_values() {
    quick --json --op all --devices 3 --sizes 0,24,300000
    is 0 "all collectives: status 0"
    holds "all collectives: right results" <<'PY'
assert len(r) == 3 * 9 + 1, len(r)
assert {x["op"] for x in r} >= {"all-reduce", "all-to-all", "permute", "scatter", "barrier"}
assert all(x["wrong"] == 0 and x["devices"] == 3 for x in r), r
assert all(x["seconds"]["least"] <= x["seconds"]["median"] <= x["seconds"]["most"] for x in r)
gather = [x for x in r if x["op"] == "all-gather" and x["bytes"] == 24]
assert gather and gather[0]["count"] == 2
PY
    quick --json --op all --devices 2 --sizes 34MiB
    holds "all collectives, large: right results" <<'PY'
assert len(r) == 10 and all(x["wrong"] == 0 for x in r), r
PY
    for type in float64 bfloat16 float16 int32; do
        for redop in mean max min; do
            [ $type$redop != int32mean ] || continue
            quick --devices 5 --op all-reduce,reduce-scatter --sizes 8KiB -d $type -r $redop
            is 0 "$type $redop: nothing wrong"
        done
    done
    for memory in mmap malloc; do
        quick --devices 3 --memory $memory --sizes 1MiB
        is 0 "memory from $memory: nothing wrong"
    done
    for algorithm in ring recursive-doubling halving-doubling two-level; do
        quick --devices 6 --sizes 64,50000 --algorithm $algorithm
        is 0 "all-reduce/$algorithm: right results"
    done
}

refused() {
    what=$1
    pattern=$2
    shift 2
    shardsim bench "$@"
    is 2 "$what: status 2"
    silent out "$what: nothing on standard output"
    says err "$pattern" "$what: reason"
}

test_bad() {
    refused "no such collective" "no collective 'all-reduse'.*did you mean 'all-reduce'" \
        -o all-reduse
    refused "no such algorithm" "all-reduce has no algorithm 'rings'; expected .*ring" -a rings
    refused "no such size" "64KiX" --sizes 64KiX
    refused "no such type" "float31" -d float31
    refused "no such reduction" "'product'; expected sum, mean, max or min" -r product
    refused "no such memory" "--memory is 'tape'; expected mmap, malloc" --memory tape
    refused "no devices" "'0'; expected a whole number from 1" -n 0
    refused "an argument" "takes no arguments" all-reduce
    refused "no sizes" "expected 1 to 64 sizes from --min-bytes to --max-bytes" -b 8 -e 4
    refused "not this many" "all-gather/recursive-doubling does not support groups of 6 .*powers of two" \
        -o all-gather -a recursive-doubling -n 6 --sizes 48
}

test_text
test_values
test_bad
done_testing
