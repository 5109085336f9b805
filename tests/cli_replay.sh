#!/bin/sh
# replay: what a compiled module says of its collectives, in every notation of groups, in loops,
# branches and asynchronous pairs; which axes they lie along; how long they take; faults by line.
# The answers of XLA's own modules are golden.sh's, and traces of PyTorch are replay_torch.sh's.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
example=$top_srcdir/examples/step.hlo.txt

# module [ATTRIBUTES] <INSTRUCTIONS: a module of one computation
module() {
    printf 'HloModule m%s\n\n%%add (a: f32[], b: f32[]) -> f32[] {\n' "${1:-, num_partitions=8}"
    printf '  ROOT %%sum = f32[] add(%%a, %%b)\n}\n\nENTRY %%main (x: f32[16]) -> f32[16] {\n'
    cat
    printf '}\n'
}


# received TEXT TOTAL AXES INSTRUCTION [ATTRIBUTES]: of a module with this instruction alone
received() {
    printf '  %s\n' "$4" | module "$5" >"$tmp/m"
    shardsim replay --json "$tmp/m"
    is 0 "$1: read"
    holds "$1: $2 bytes along $3" <<PY
assert r["received_bytes"]["total"] == $2, r["received_bytes"]
assert sum(r["received_bytes"]["per_device"]) == $2
assert [c["axes"] for c in r["collectives"]] == [$3], r["collectives"]
PY
}

test_notations() {
    ar='%r = f32[16]{0} all-reduce(%x), channel_id=1, use_global_device_ids=true, to_apply=%add'
    received "one group of all" 896 '["axis0"]' "$ar, replica_groups={}"
    received "listed groups" 768 '["axis1"]' "$ar, replica_groups={{0,1,2,3},{4,5,6,7}}"
    received "listed groups, apart" 512 '["axis0"]' "$ar, replica_groups={{0,4},{1,5},{2,6},{3,7}}"
    received "iota" 768 '["axis1"]' "$ar, replica_groups=[2,4]<=[8]"
    received "iota, transposed" 768 '["axis0"]' "$ar, replica_groups=[2,4]<=[4,2]T(1,0)"
    received "iota of three dimensions" 768 '["axis0", "axis2"]' \
        "$ar, replica_groups=[2,4]<=[2,2,2]T(1,0,2)"
    received "axes of a mesh" 512 '["axis0"]' "$ar, replica_groups=mesh['a'=2,'b'=4] {'a'}"
    received "two axes of a mesh" 896 '["axis0"]' "$ar, replica_groups=mesh['a'=2,'b'=4] {'b','a'}"
    received "a part of an axis" 512 '["axis1"]' "$ar, replica_groups=mesh['a'=8] {'a':(2)2}"
    received "the devices of a mesh in another order" 512 '["axis1"]' \
        "$ar, replica_groups=mesh['a'=4,'b'=2], device_ids=([2,2,2]T(0,2,1)) {'b'}"
    received "the devices of a mesh, listed" 512 '["axis0"]' \
        "$ar, replica_groups=mesh['a'=4,'b'=2], device_ids=(0,4,1,5,2,6,3,7) {'b'}"
    received "pairs of a ring" 512 '["axis0"]' \
        '%r = f32[16]{0} collective-permute(%x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}'
    received "a pair with itself moves nothing" 64 '["axis1"]' \
        '%r = f32[16]{0} collective-permute(%x), channel_id=1, source_target_pairs={{0,0},{2,3}}'
}

test_ids() {
    received "replicas of every partition" 512 '["axis0"]' \
        '%r = f32[16]{0} all-reduce(%x), replica_groups={{0,1}}, to_apply=%add' \
        ', replica_count=2, num_partitions=4'
    received "replicas with all partitions" 896 '["axis0"]' \
        '%r = f32[16]{0} all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add' \
        ', replica_count=2, num_partitions=4'
    received "partitions of every replica" 384 '["axis1"]' \
        '%r = f32[16]{0} all-to-all(%x), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}' \
        ', replica_count=2, num_partitions=4'
}

test_ops() {
    groups='channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true'
    received "all-gather" 384 '["axis1"]' "%r = f32[16]{0} all-gather(%x), $groups, dimensions={0}"
    received "reduce-scatter" 1536 '["axis1"]' \
        "%r = f32[16]{0} reduce-scatter(%x), $groups, dimensions={0}, to_apply=%add"
    received "all-to-all of a tuple" 384 '["axis1"]' \
        "%r = (f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) all-to-all(%a, %b, %c, %d), $groups"
    received "broadcast" 384 '["axis1"]' "%r = f32[16]{0} collective-broadcast(%x), $groups"
    received "16-bit and a layout with tiles" 768 '["axis1"]' \
        "%r = bf16[4,16]{1,0:T(8,128)(2,1)S(1)} all-gather(%x), $groups, dimensions={0}"
    received "4-bit" 48 '["axis1"]' "%r = s4[16]{0} all-gather(%x), $groups, dimensions={0}"
    received "all-gather that ends elsewhere" 384 '["axis1"]' \
        "%r = (f32[4]{0}, f32[16]{0}) all-gather-start(%x), $groups, dimensions={0}
  %s = f32[16]{0} all-gather-done(%r)"
    received "reduce-scatter that ends elsewhere" 1536 '["axis1"]' \
        "%r = ((f32[64]{0}), f32[16]{0}) reduce-scatter-start(%x), $groups, dimensions={0}, to_apply=%add
  %s = f32[16]{0} reduce-scatter-done(%r)"
    received "permute that ends elsewhere" 64 '["axis1"]' \
        "%r = (f32[16]{0}, f32[16]{0}, u32[], u32[]) collective-permute-start(%x), channel_id=2, source_target_pairs={{0,1}}
  %s = f32[16]{0} collective-permute-done(%r)"
    received "send" 64 '["axis1"]' \
        '%r = (f32[16]{0}, u32[], token[]) send(%x, %t), channel_id=2, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1}}"}
  %s = token[] send-done(%r), channel_id=2'
}

# What a module with loops and branches does how often: COUNT [ARGUMENT...]
counted() {
    text=$1
    count=$2
    shift 2
    shardsim replay --json "$tmp/m" "$@"
    is 0 "$text: read"
    holds "$text: $count times" <<PY
assert sum(c["count"] for c in r["collectives"]) == $count, r["collectives"]
PY
}

# calling INSTRUCTION: a module whose entry calls %body, which has an all-reduce, %other, which has
# none, and %big, which has a larger one
calling() {
    cat >"$tmp/m" <<HLO
HloModule m, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}

%body (x: f32[16]) -> f32[16] {
  ROOT %r = f32[16]{0} all-reduce(%x), channel_id=1, replica_groups={}, use_global_device_ids=true, to_apply=%add
}

%big (x: f32[32]) -> f32[32] {
  ROOT %r = f32[32]{0} all-reduce(%x), channel_id=2, replica_groups={}, use_global_device_ids=true, to_apply=%add
}

%condition (i: s32[]) -> pred[] {
  %i = s32[] parameter(0)
  %n = s32[] constant(6)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%twice (x: f32[16]) -> f32[16] {
  %one = f32[16]{0} while(%x), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  ROOT %two = f32[16]{0} call(%one), to_apply=%body
}

ENTRY %main (x: f32[16]) -> f32[16] {
  $1
}
HLO
}

test_calls() {
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"},"x":"y"}'
    counted "a loop" 5
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%body, backend_config="{\"known_trip_count\":{\"n\":\"5\"}}"'
    counted "a loop, as older texts have it" 5
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%body'
    counted "a loop by its condition" 6
    says out "taken to go from 0 to 6" "a loop by its condition: noted"
    counted "a loop by the option" 9 --trips 9
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%twice, backend_config={"known_trip_count":{"n":"2"}}'
    counted "a loop in a loop" 8
    calling 'ROOT %r = f32[16]{0} conditional(%p, %x, %x), branch_computations={%body, %twice}'
    counted "the branch that moves most" 4
    calling 'ROOT %r = f32[16]{0} conditional(%p, %x, %x), true_computation=%big, false_computation=%body'
    counted "the same, of two" 1
    holds "the same, of two: the larger" <<PY
assert r["received_bytes"]["total"] == 256, r["received_bytes"]
PY
    calling '%s = ((f32[16]), f32[16], u32[]) async-start(%x), calls=%body
  ROOT %r = f32[16]{0} async-done(%s), calls=%body'
    counted "what an asynchronous call does" 1
    calling 'ROOT %r = f32[16]{0} fusion(%x), kind=kLoop, calls=%add'
    counted "nothing" 0
}

# gate STATUS PERCENT SCENARIO
gate() {
    shardsim replay "$example" --beside "$3" --fail-above "$2"
    is "$1" "--fail-above $2, beside ${3##*/}"
}

test_gate() {
    sed 's/^mesh:.*/mesh: {dp: 2, tp: 2}/' "$scenarios/dp_tp.yaml" >"$tmp/as_many.yaml"
    gate 0 1e5 "$tmp/as_many.yaml"
    gate 1 0 "$tmp/as_many.yaml"
    says err 'moves more bytes than .*, by more than 0 %' "--fail-above: said"
    says out '^beside ' "--fail-above: the report all the same"
    gate 2 10 "$scenarios/dp_tp.yaml"
    says err 'is of 4 devices, and .* of 8; expected as many' "--fail-above: other devices"
    gate 2 much "$tmp/as_many.yaml"
    shardsim replay "$example" --fail-above 3
    is 2 "--fail-above alone"
    says err 'goes with --beside' "--fail-above alone: said"
}

test_example() {
    shardsim replay "$example" --mesh dp=2,tp=2 --hardware h100-sxm
    is 0 "the example"
    says out "^train_step: 8 collectives in a step on 4 devices, 10.0 MiB received in total" \
        "the example: what it moves"
    says out "^  by axis   tp 4.00 MiB, dp 6.00 MiB" "the example: along which axes"
    says out " 2x2 " "the example: groups as 2x2"
    shardsim replay "$example" --matrix --ascii
    is 0 "its matrix"
    says out "10.0 MiB in total" "its matrix: the total"
    shardsim replay "$example" --matrix -o "$tmp/matrix.svg"
    is 0 "its matrix as a picture"
    shardsim replay --json "$example" --beside "$scenarios/dp_tp.yaml" -s 'mesh={dp: 2, tp: 2}'
    is 2 "no option of a scenario"
    shardsim replay "$example" --beside "$scenarios/dp_tp.yaml"
    is 0 "beside a scenario of more devices"
    says out "different numbers of devices" "beside a scenario of more devices: said"
    test_gate
    shardsim replay "$example" --mesh dp=4,tp=1
    is 0 "a mesh that is not the program's"
    tr -s ' \n' ' ' <"$tmp/out" | grep -q \
        'note groups of 5 of the 5 rows lie along no axis of this mesh; all would along those of axis0=2, axis1=2,'
    ok $? "a mesh that is not the program's: said, with one that is"
    shardsim replay --json "$example" --mesh dp=4,tp=1
    grep -q '"fitting_mesh": \[\["axis0", 2\], \["axis1", 2\]\]' "$tmp/out"
    ok $? "a mesh that is not the program's: in JSON"
    shardsim replay --json "$example" --mesh dp=2,tp=2
    says out '"fitting_mesh": null' "the program's mesh: no other"
}

# The device that sends most is the one that the pairs name, and rows and columns add up.
test_matrix() {
    printf '  %%r = f32[16]{0} collective-permute(%%x), channel_id=1, source_target_pairs={{3,5}}\n' |
        module >"$tmp/m"
    shardsim replay --json "$tmp/m"
    holds "a pair: the target receives" <<PY
assert r["received_bytes"]["per_device"] == [0, 0, 0, 0, 0, 64, 0, 0]
PY
    shardsim replay "$tmp/m"
    says out "0.125 .*device 5 receives most" "a pair: uneven, and by whom"
}

# faulty TEXT LINE WORDS INSTRUCTION [ATTRIBUTES]
faulty() {
    printf '  %s\n' "$4" | module "$5" >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "$1: refused"
    says err "m:$2:1: error: .*$3" "$1: where and what"
    silent out "$1: nothing told"
}

test_faults() {
    ar='%r = f32[16]{0} all-reduce(%x), channel_id=1, use_global_device_ids=true, to_apply=%add'
    faulty "a device that is not there" 8 "device 9 is in a group" "$ar, replica_groups={{0,9}}"
    faulty "a device twice" 8 "device 0 is in two groups" "$ar, replica_groups={{0,1},{2,0}}"
    faulty "no notation" 8 "expected {{0,1},{2,3}}" "$ar, replica_groups=all"
    faulty "tiles that do not fit" 8 "cannot be read" "$ar, replica_groups=[2,3]<=[8]"
    faulty "an axis that is not there" 8 "cannot be read" "$ar, replica_groups=mesh['a'=8] {'b'}"
    faulty "an axis twice" 8 "cannot be read" "$ar, replica_groups=mesh['a'=8] {'a','a'}"
    faulty "three in a pair" 8 "a source and a target" \
        '%r = f32[16]{0} collective-permute(%x), channel_id=1, source_target_pairs={{0,1,2}}'
    faulty "a shape that does not divide" 8 "does not fit its groups" \
        '%r = f32[15]{0} all-gather(%x), replica_groups={}, use_global_device_ids=true'
    faulty "no type" 8 "cannot be read" "%r = q9[16]{0} all-reduce(%x), replica_groups={}"
    faulty "a body that is not there" 8 "does not stand before it" \
        '%r = f32[16]{0} while(%x), condition=%add, body=%nowhere'
    faulty "more devices than can be" 1 "more devices" "%r = f32[] add(%x, %x)" \
        ', replica_count=1048576, num_partitions=1048576'
    printf 'version: 1\n' >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "a scenario"
    says err "begins with 'HloModule'" "a scenario: what was expected"
    head -n 15 "$example" >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "half a module"
    says err "ends within a computation" "half a module: said"
    shardsim replay "$example" --mesh dp=8
    is 2 "a mesh of other devices"
    says err "has 8 devices, and .* has 4" "a mesh of other devices: said"
    shardsim replay "$example" --devices 8
    is 2 "other devices than the module's"
    shardsim replay "$example" "$example"
    is 2 "two modules"
    says err "step.hlo.txt:1:1: error: .*expected one module" "two modules: said"
    shardsim replay
    is 2 "no file"
    says err "which program" "no file: what is expected"
}

# A million devices are no more than their groups.
test_growth() {
    printf '  %%r = f32[16]{0} all-reduce(%%x), channel_id=1, replica_groups=[1024,1024]<=[1048576], use_global_device_ids=true, to_apply=%%add\n' |
        module ', num_partitions=1048576' >"$tmp/m"
    shardsim replay "$tmp/m"
    is 0 "a million devices"
    says out "1024x1024" "a million devices: their groups"
}

test_notations
test_ids
test_ops
test_calls
test_example
test_matrix
test_faults
test_growth
done_testing
