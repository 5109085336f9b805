#!/bin/sh
# Tests replay of compiled HLO modules: collectives in every notation of groups, in loops, branches
# and asynchronous pairs; their mesh axes and seconds; faults with their lines.  Golden answers for
# modules of XLA are in golden.sh, traces of PyTorch in replay_torch.sh.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
example=$top_srcdir/examples/step.hlo.txt

# module [ATTRIBUTES] <INSTRUCTIONS: print a module of one computation
module() {
    printf 'HloModule m%s\n\n%%add (a: f32[], b: f32[]) -> f32[] {\n' "${1:-, num_partitions=8}"
    printf '  ROOT %%sum = f32[] add(%%a, %%b)\n}\n\nENTRY %%main (x: f32[16]) -> f32[16] {\n'
    cat
    printf '}\n'
}


# received TEXT TOTAL AXES INSTRUCTION [ATTRIBUTES]: a module of this instruction receives TOTAL
# bytes along AXES.
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
    received "two lists of groups, a mesh of both" 1408 '["axis0", "axis1"], ["axis1"]' \
        "$ar, replica_groups={}
$(echo "$ar" | sed 's/%r/%s/; s/%x/%r/; s/=1/=2/'), replica_groups={{0,1},{2,3},{4,5},{6,7}}"
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
    received "what goes on in the middle" 448 '["axis0"]' \
        '%s = ((f32[16]{0}), f32[2]{0}) reduce-scatter-start(%x), channel_id=1, replica_groups={}, use_global_device_ids=true, dimensions={0}, to_apply=%add
  %u = ((f32[16]{0}), f32[2]{0}) reduce-scatter-update(%s)
  %r = f32[2]{0} reduce-scatter-done(%u)'
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

# counted TEXT COUNT [ARGUMENT...]: the collectives of $tmp/m, with loops and branches, run COUNT
# times.
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

# calling INSTRUCTION: a module whose entry calls %body (with an all-reduce), %other (without) or
# %big (with a larger one).
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
    shardsim replay "$tmp/m"
    is 2 "a loop that does not count"
    says err "m:27:1: error: the trip count of this loop is unknown.*--trips=N" \
        "a loop that does not count: where, and what to do"
    counted "the same, by the option" 9 --trips 9
    # Two loops of the same name, in two computations, share one remark.
    loop='%w = f32[16]{0} while(%x), condition=%condition, body=%body'
    calling "$loop
  ROOT %r = f32[16]{0} call(%w), to_apply=%other"
    awk -v "loop=$loop" '/^ENTRY/ { print "%other (x: f32[16]) -> f32[16] {\n  ROOT " loop "\n}\n" } { print }' \
        "$tmp/m" >"$tmp/two" && mv "$tmp/two" "$tmp/m"
    counted "two loops of one name" 18 --trips 9
    holds "two loops of one name: told once" <<'PY'
assert len([n for n in r["notes"] if "Loop w has no known trip count" in n]) == 1, r["notes"]
PY
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%body, backend_config={"known_trip_count":{}}, x="7"'
    shardsim replay "$tmp/m"
    is 2 "a count without a number"
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%add'
    counted "a loop that moves nothing" 0
    calling 'ROOT %r = f32[16]{0} while(%x), condition=%condition, body=%twice, backend_config={"known_trip_count":{"n":"2"}}'
    counted "a loop in a loop" 8
    calling 'ROOT %r = f32[16]{0} conditional(%p, %x, %x), branch_computations={%body, %twice}'
    counted "the branch that moves most" 4
    calling 'ROOT %r = f32[16]{0} conditional(%p, %x, %x), true_computation=%big, false_computation=%body'
    counted "the same, of two" 1
    holds "the same, of two: the larger, and said" <<PY
assert r["received_bytes"]["total"] == 256, r["received_bytes"]
assert any("Conditional r: the branch that communicates most" in n for n in r["notes"]), r["notes"]
PY
    calling '%s = ((f32[16]), f32[16], u32[]) async-start(%x), calls=%body
  ROOT %r = f32[16]{0} async-done(%s), calls=%body'
    counted "what an asynchronous call does" 1
    calling 'ROOT %r = f32[16]{0} fusion(%x), kind=kLoop, calls=%add'
    counted "nothing" 0
    says out "Not counted: 2 collectives in computations that no instruction calls" "nothing: the collectives that were left out"
    calling 'ROOT %r = f32[16]{0} fusion(%x), kind=kCustom, calls=%body'
    counted "a fusion that moves" 1
}

# sliced BYTES OP TEXT INSIDE [CALLER [KIND]]: four devices of a TPU receive BYTES in one OP that a fusion of KIND
# (kCustom) holds as INSIDE: an all-reduce of %x, f32[8,16], 512 bytes, and what reads it.
sliced() {
    cat >"$tmp/m" <<HLO
HloModule m, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%cut (x: f32[8,16], i: s32[]) -> f32[2,16] {
  %x = f32[8,16]{1,0} parameter(0)
  %i = s32[] parameter(1)
  ROOT %s = f32[2,16]{1,0} dynamic-slice(%x, %i, %i), dynamic_slice_sizes={2,16}
}

%all-reduce-scatter.1 (x: f32[8,16]) -> f32[2,16] {
  %x = f32[8,16]{1,0:T(8,128)} parameter(0)
  %i = u32[] partition-id()
  %t = s32[4]{0} constant({0, 2, 4, 6})
  %o = s32[1]{0} dynamic-slice(%t, %i), dynamic_slice_sizes={1}
  $4
}

%wrapped (x: f32[8,16]) -> f32[2,16] {
  %x = f32[8,16]{1,0} parameter(0)
  ROOT %f = f32[2,16]{1,0} fusion(%x), kind=${6:-kCustom}, calls=%all-reduce-scatter.1
}

%condition (x: f32[8,16]) -> pred[] {
  ROOT %p = pred[] constant(true)
}

ENTRY %main (x: f32[8,16]) -> f32[2,16] {
  %x = f32[8,16]{1,0} parameter(0)
  ROOT %r = f32[2,16]{1,0} ${5:-call(%x), to_apply=%wrapped}
}
HLO
    shardsim replay --json "$tmp/m"
    is 0 "$3: read"
    holds "$3: $2" <<PY
assert [c["op"] for c in r["collectives"]] == ["$2"], r["collectives"]
assert r["received_bytes"]["total"] == $1, r["received_bytes"]
PY
}

# An all-reduce in a custom fusion that keeps a slice of it is a reduce-scatter: each device receives three
# quarters of the array, not six.
test_slices() {
    all='channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=%add'
    reduced="%a = f32[8,16]{1,0} all-reduce(f32[8,16]{1,0} %x), $all"
    slice='f32[2,16]{1,0} dynamic-slice(%a, %i, %i), dynamic_slice_sizes={2,16}'
    sliced 1536 reduce-scatter "a slice" "$reduced
  ROOT %s = $slice"
    sliced 1536 reduce-scatter "a slice of a reshape, and a sum of it" "$reduced
  %b = f32[4,32]{1,0} bitcast(%a)
  %s = f32[1,32]{1,0} dynamic-slice(f32[4,32]{1,0} %b, %i, %i), dynamic_slice_sizes={1,32}
  ROOT %n = f32[1,32]{1,0} negate(%s)"
    sliced 1536 reduce-scatter "a slice in a fusion" "$reduced
  ROOT %s = f32[2,16]{1,0} fusion(%a, %i), kind=kLoop, calls=%cut"
    sliced 1536 reduce-scatter "slices of several arrays" "%a = (f32[4,16]{1,0}, f32[4,16]{1,0}) all-reduce(%x, %x), $all
  %b = f32[4,16]{1,0} get-tuple-element(%a), index=0
  %c = f32[4,16]{1,0} get-tuple-element(%a), index=1
  %d = f32[1,16]{1,0} dynamic-slice(%b, %i, %i), dynamic_slice_sizes={1,16}
  %e = f32[1,16]{1,0} dynamic-slice(%c, %i, %i), dynamic_slice_sizes={1,16}
  ROOT %t = (f32[1,16]{1,0}, f32[1,16]{1,0}) tuple(%d, %e)"
    sliced 1920 reduce-scatter "slices of a padded array" "$reduced
  %p = f32[12,16]{1,0} pad(%a, %z), padding=0_2x0_0
  ROOT %s = f32[10,4]{1,0} dynamic-slice(%p, %i, %i), dynamic_slice_sizes={10,4}"
    for caller in 'async-start(%x), calls=%wrapped' 'fusion-start(%x), kind=kCustom, calls=%all-reduce-scatter.1' \
        'while(%x), condition=%condition, body=%wrapped, backend_config={"known_trip_count":{"n":"1"}}'; do
        sliced 1536 reduce-scatter "${caller%%(*}" "$reduced
  ROOT %s = $slice" "$caller"
    done
    sliced 3072 all-reduce "a loop fusion" "$reduced
  ROOT %s = $slice" '' kLoop
    sliced 3072 all-reduce "a result that is read whole, too" "$reduced
  %s = $slice
  ROOT %t = (f32[2,16]{1,0}, f32[8,16]{1,0}) tuple(%s, %a)"
    sliced 3072 all-reduce "a slice that is larger than a part" "$reduced
  ROOT %s = f32[4,16]{1,0} dynamic-slice(%a, %i, %i), dynamic_slice_sizes={4,16}"
    sliced 3072 all-reduce "a slice of something else" "$reduced
  %s = f32[2,16]{1,0} dynamic-slice(%x, %i, %i), dynamic_slice_sizes={2,16}
  ROOT %t = f32[8,16]{1,0} add(%a, %x)"
}

# loop NAME START BODY CONDITION [MORE]: a loop whose state has a number %i, an array and a bound;
# BODY makes %next of %i, and CONDITION the root.
loop() {
    state="(s32[], f32[16]{0}, s32[])"
    printf 'body_%s {\n  s = %s parameter(0)\n' "$1" "$state"
    printf '  %%i = s32[] get-tuple-element(%%s), index=0\n  x = f32[16] get-tuple-element(s), index=1\n'
    printf '  m = s32[] get-tuple-element(s), index=2\n  two = s32[] constant(2)\n%s\n' "$3"
    printf '  r = f32[16] all-reduce(x), channel_id=1, replica_groups={}, use_global_device_ids=true, to_apply=add, metadata={op_name="%s"}\n' "$1"
    printf '  ROOT t = %s tuple(s32[] %%next, f32[16]{0} %%r, /*index=2*/s32[] %s)\n}\n' "$state" "${5:-%m}"
    printf 'condition_%s {\n  s = %s parameter(0)\n' "$1" "$state"
    printf '  i = s32[] get-tuple-element(s), index=0\n  m = s32[] get-tuple-element(s), index=2\n%s\n}\n' "$4"
    printf '  start_%s = s32[] constant(%s)\n  state_%s = %s tuple(start_%s, x, three)\n' \
        "$1" "$2" "$1" "$state" "$1" >>"$tmp/entry"
    printf '  loop_%s = %s while(state_%s), condition=condition_%s, body=body_%s\n' \
        "$1" "$state" "$1" "$1" "$1" >>"$tmp/entry"
}

# looped: print the module of all loops since the last call
looped() {
    {
        printf 'HloModule m, num_partitions=2\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n'
        printf '  ROOT c = f32[] add(a, b)\n}\nwrapped {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n'
        printf '  ROOT l = pred[] compare(p, q), direction=LT\n}\nincreased {\n  p = s32[] parameter(0)\n'
        printf '  k = s32[] constant(5)\n  ROOT u = s32[] add(k, p)\n}\n'
        cat
        printf 'ENTRY e {\n  x = f32[16] parameter(0)\n  three = s32[] constant(3)\n'
        cat "$tmp/entry"
        printf '  ROOT z = f32[16] negate(x)\n}\n'
    } >"$tmp/m"
    rm "$tmp/entry"
}

# part NAME: the lines of a body or condition
part() {
    case $1 in
    up) echo '  next = s32[] add(i, two)' ;;
    down) echo '  next = s32[] subtract(i, two)' ;;
    twice) echo '  next = s32[] multiply(i, two)' ;;
    carried) echo '  b = s32[] copy(m)' ;;
    *) echo "  b = s32[] constant($1)" ;;
    esac
}

test_loops() {
    while read -r name start relation bound body; do
        loop "$name" "$start" "$(part "$body")" "$(part "$bound")
  ROOT l = pred[] compare(i, b), direction=$relation"
    done >"$tmp/loops" <<'LOOPS'
below 1 LT 8 up
most 1 LE 9 up
above 9 GT 0 down
least 9 GE 1 down
until 4 NE 10 up
negative -7 LT -2 up
once 6 EQ 6 up
never 9 LT 9 up
LOOPS
    {
        cat "$tmp/loops"
        loop turned 0 "$(part up)" '  b = s32[] constant(7)
  ROOT l = pred[] compare(b, i), direction=GT'
        loop ahead 0 "$(part up)" '  k = s32[] constant(3)
  j = s32[] add(i, k)
  b = s32[] constant(10)
  ROOT l = pred[] compare(j, b), direction=LT'
        loop carried 0 '  next = s32[] add(two, i)' '  ROOT l = pred[] compare(i, m), direction=LT'
        loop wrapped 0 '  u = s32[] fusion(i), kind=kLoop, calls=increased
  next = s32[] copy(u)' '  b = s32[] constant(11)
  ROOT l = pred[] fusion(i, b), kind=kLoop, calls=wrapped'
    } | looped
    shardsim replay --json "$tmp/m"
    is 0 "loops"
    holds "loops: how often each goes round" <<'PY'
want = {"below": 4, "most": 5, "above": 5, "least": 5, "until": 3, "negative": 3, "once": 1,
        "turned": 4, "ahead": 4, "carried": 2, "wrapped": 3}
assert {c["where"]: c["count"] for c in r["collectives"]} == want, r["collectives"]
assert any("below has no known_trip_count: 4, derived from its condition and body (from 1 by 2 while less than 8)"
           in n for n in r["notes"]), r["notes"]
assert any("4 more loops" in n for n in r["notes"]), r["notes"]
PY
    # Loops that wrap around, multiply, or change their bound have no known number of trips.
    while read -r name start relation bound body more; do
        loop "$name" "$start" "$(part "$body")" "$(part "$bound")
  ROOT l = pred[] compare(i, b), direction=$relation" "$more" | looped
        shardsim replay "$tmp/m"
        is 2 "a loop that does not count, $name"
        says err "the trip count of this loop" "a loop that does not count, $name: said"
    done <<'LOOPS'
away 9 GT 0 up
past 0 NE 7 up
doubled 1 LT 9 twice
moved 0 LT carried up %next
again 6 GE 6 up
LOOPS
}

# Forms of a text: comments, several instructions on a line, one instruction on several lines.
test_forms() {
    cat >"$tmp/m" <<'HLO'
// A line of a test { (
HloModule m,
  num_partitions=4
FileNames
1 "a.py"

add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) } // one line
%long (a: f32[8],
       b: f32[8]) -> f32[8]{0} {
  ROOT %a = f32[8]{0} parameter(0)
}, execution_thread="main"
ENTRY e{
  p = f32[8]{0} parameter(0) // a comment with { and (
  q = f32[8]{0} all-reduce(p),
     replica_groups={{0,1},{2,3}}
     , use_global_device_ids=true, /* a comment, */ channel_id=1, to_apply=add
  ROOT t = (f32[8], f32[8]{0}) tuple(
     p, q)
}
HLO
    shardsim replay --json "$tmp/m"
    is 0 "all forms"
    holds "all forms: counted" <<'PY'
assert r["devices"] == 4 and r["received_bytes"]["total"] == 128, r["received_bytes"]
assert [(c["line"], c["group_size"]) for c in r["collectives"]] == [(14, 2)], r["collectives"]
PY
}

# unpartitioned TEXT LINE ATTRIBUTES INSTRUCTION: refuse a module that is not partitioned, and read
# the same module if it is scheduled.
unpartitioned() {
    printf 'HloModule m%s\nENTRY e {\n%s\n}\n' "$3" "$4" >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "$1: refused"
    says err "m:$2:1: error: this module is not partitioned yet" "$1: where, and why"
}

test_unpartitioned() {
    p='  p = f32[8] parameter(0)' tiles='sharding={devices=[2]<=[2]}'
    unpartitioned "a parameter in tiles" 3 ', num_partitions=2' "$p, $tiles"
    unpartitioned "tiles on fewer partitions" 3 '' "$p, $tiles"
    unpartitioned "a value in tiles" 4 ', num_partitions=2' "$p
  ROOT n = f32[8] negate(p), $tiles"
    unpartitioned "axes of a mesh" 3 ', num_partitions=2' "$p, sharding={mesh['a'=2], [{'a'}]}"
    unpartitioned "axes of Shardy" 3 ', num_partitions=2' \
        "$p, frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [{\\\"x\\\"}]>\"}"
    for target in Sharding SPMDFullToShardShape xla.sdy.GlobalToLocalShape; do
        unpartitioned "$target" 4 ', is_scheduled=true, num_partitions=2' "$p
  ROOT c = f32[8] custom-call(p), custom_call_target=\"$target\""
    done
    ar='  ROOT r = f32[8] all-reduce(p), channel_id=1, replica_groups={}, use_global_device_ids=true'
    unpartitioned "a collective by hand" 4 ', num_partitions=2' "$p
  n = f32[8] negate(p), $tiles
$ar"
    for text in "is_scheduled=true|$p, $tiles" "is_scheduled=true|$p, $tiles
  ROOT n = f32[8] copy(p), $tiles" "x=y|$p, $tiles
$ar" "x=y|$p, sharding={replicated}" "x=y|$p, sharding={maximal device=0}"; do
        printf 'HloModule m, %s, num_partitions=2\nENTRY e {\n%s\n}\n' "${text%%|*}" "${text#*|}" >"$tmp/m"
        shardsim replay "$tmp/m"
        is 0 "partitioned: $(tail -n 2 "$tmp/m" | head -n 1)"
    done
}

# gate STATUS PERCENT SCENARIO: replay --beside SCENARIO --fail-above PERCENT has that status.
gate() {
    shardsim replay "$example" --beside "$3" --fail-above "$2"
    is "$1" "--fail-above $2, beside ${3##*/}"
}

test_gate() {
    sed 's/^mesh:.*/mesh: {dp: 2, tp: 2}/' "$scenarios/dp_tp.yaml" >"$tmp/as_many.yaml"
    gate 0 1e5 "$tmp/as_many.yaml"
    gate 1 0 "$tmp/as_many.yaml"
    says err 'moves more bytes than .*, by more than 0 %' "--fail-above: said"
    says out '^compared with ' "--fail-above: the report all the same"
    gate 2 10 "$scenarios/dp_tp.yaml"
    says err 'has 4 devices, and .* 8; expected equal counts for --fail-above' "--fail-above: other devices"
    gate 2 much "$tmp/as_many.yaml"
    shardsim replay "$example" --fail-above 3
    is 2 "--fail-above alone"
    says err 'requires --beside' "--fail-above alone: said"
}

test_example() {
    shardsim replay "$example" --mesh dp=2,tp=2 --hardware h100-sxm
    is 0 "the example"
    says out "^train_step: 8 collectives in a step on 4 devices, 10.0 MiB received in total" \
        "the example: what it moves"
    says out "^  by axis   tp 4.00 MiB, dp 6.00 MiB" "the example: along which axes"
    says out " 2x2 " "the example: groups as 2x2"
    shardsim replay "$example" --matrix --ascii
    is 0 "--matrix: status 0"
    says out "10.0 MiB in total" "--matrix: the total"
    shardsim replay "$example" --matrix -o "$tmp/matrix.svg"
    is 0 "--matrix -o: a picture"
    shardsim replay --json "$example" --beside "$scenarios/dp_tp.yaml" -s 'mesh={dp: 2, tp: 2}'
    is 2 "no option of a scenario"
    shardsim replay "$example" --beside "$scenarios/dp_tp.yaml"
    is 0 "beside a scenario of more devices"
    says out "the numbers of devices differ" "beside a scenario of more devices: said"
    test_gate
    shardsim replay "$example" --mesh dp=4,tp=1
    is 0 "a mesh that is not the program's"
    tr -s ' \n' ' ' <"$tmp/out" | grep -q \
        'note the groups of 5 of 5 rows follow no axis of this mesh; all follow the axes of axis0=2, axis1=2,'
    ok $? "a mesh that is not the program's: said, with one that is"
    shardsim replay --json "$example" --mesh dp=4,tp=1
    grep -q '"fitting_mesh": \[\["axis0", 2\], \["axis1", 2\]\]' "$tmp/out"
    ok $? "a mesh that is not the program's: in JSON"
    shardsim replay --json "$example" --mesh dp=2,tp=2
    says out '"fitting_mesh": null' "the program's mesh: no other"
}

# The pairs of a permute name the device that sends most; rows and columns of the matrix add up.
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

# faulty TEXT LINE WORDS INSTRUCTION [ATTRIBUTES]: refuse a module with WORDS at LINE.
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
    faulty "tiles that do not fit" 8 "invalid groups" "$ar, replica_groups=[2,3]<=[8]"
    faulty "an axis that is not there" 8 "invalid groups" "$ar, replica_groups=mesh['a'=8] {'b'}"
    faulty "an axis twice" 8 "invalid groups" "$ar, replica_groups=mesh['a'=8] {'a','a'}"
    faulty "three in a pair" 8 "a source and a target" \
        '%r = f32[16]{0} collective-permute(%x), channel_id=1, source_target_pairs={{0,1,2}}'
    faulty "a shape that does not divide" 8 "does not fit its groups" \
        '%r = f32[15]{0} all-gather(%x), replica_groups={}, use_global_device_ids=true'
    faulty "no type" 8 "shape is invalid" "%r = q9[16]{0} all-reduce(%x), replica_groups={}"
    faulty "a body that is not there" 8 "is not defined before" \
        '%r = f32[16]{0} while(%x), condition=%add, body=%nowhere'
    { module </dev/null && echo 'more text'; } >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "text behind the module"
    says err "m:9:1: error: expected a computation" "text behind the module: where"
    faulty "no instruction" 8 "not an instruction" "%r is missing"
    faulty "groups of all, of which it is not told how many" 8 'replica_count and num_partitions do not give' \
        '%r = f32[16]{0} all-reduce(%x), replica_groups={}, to_apply=%add' ', is_scheduled=true'
    faulty "no groups, of which it is not told how many" 8 'a group of all devices.*--devices=N' \
        '%r = f32[32]{0} all-gather(%x), dimensions={0}' ', is_scheduled=true'
    faulty "a permutation in place" 8 'in-place collective-permute of operand slices' \
        '%r = f32[16]{0} collective-permute(%x, %x, %x, %x), channel_id=1, source_target_pairs={{0,1}}, slice_sizes={{4}}' ', num_partitions=8'
    faulty "a collective that is not known" 8 "an unknown kind of collective" "%r = f32[16] all-shift(%x)"
    faulty "no partitions" 1 "whole numbers from 1" "%r = f32[16] negate(%x)" ', num_partitions=0'
    faulty "more devices than can be" 1 "a module of more than 1048576 devices" "%r = f32[] add(%x, %x)" \
        ', replica_count=1048576, num_partitions=1048576'
    printf 'version: 1\n' >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "a scenario"
    says err "begins with 'HloModule'" "a scenario: what was expected"
    head -n 15 "$example" >"$tmp/m"
    shardsim replay "$tmp/m"
    is 2 "half a module"
    says err "ends inside a computation" "half a module: said"
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
    says err "no program given; expected the text of a compiled XLA module" "no file: what is expected"
}

# A module of a million devices is read as fast as its few groups.
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
test_slices
test_loops
test_forms
test_unpartitioned
test_example
test_matrix
test_faults
test_growth
done_testing
