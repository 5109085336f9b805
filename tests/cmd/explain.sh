#!/bin/sh
# Tests explain: a step as a lesson, and collectives step by step.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset NO_COLOR COLUMNS
course=$top_srcdir/docs/course
escape=$(printf '\033')

# bad TEXT PATTERN ARGUMENT...: explain refuses the arguments with PATTERN.
bad() {
    what=$1
    pattern=$2
    shift 2
    shardsim explain "$@"
    is 2 "$what: status 2"
    says err "$pattern" "$what: said"
    silent out "$what: nothing on standard output"
}

# lines ARGUMENT...: how many lines explain prints.
lines() {
    shardsim explain "$@"
    wc -l <"$tmp/out"
}

# The overview fits a screen: the step, the reason for each collective, and equal layers once.
test_overview() {
    shardsim explain "$scenarios/tensor_parallel.yaml"
    is 0 "overview: status 0"
    silent err "overview: nothing on standard error"
    head -n 1 "$tmp/out" >"$tmp/first"
    says first '^tensor-parallel: 2 layers of mlp gelu, embed 128, mlp 512, float32; batch 8x64;$' \
        "overview: what the step is, first"
    tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
    says line '28 ops, of which 4 communicate: 14.0 MiB received in total' "overview: how much"
    says out '^forward, layers 0..1$' "overview: equal layers once"
    says out '^backward, layer 0$' "overview: steps of one layer only"
    says line ' 7-9 mlp/up, mlp/gelu, mlp/down 10 all-reduce over tp, 2 times, 7.00 MiB: layers/\*/mlp/down sums' \
        "overview: ops in a row, a collective and its reason"
    says out '^The input ct weighs the outputs' "overview: what ct is"
    [ "$(wc -l <"$tmp/out")" -le 30 ]
    ok $? "overview: a screen"
    # The lines are wide, because longer numbers would wrap sooner.
    for layers in 40 80; do
        COLUMNS=400 shardsim explain "$scenarios/models/llama3-70b.yaml" -s model.layers=$layers
        wc -l <"$tmp/out" >"$tmp/lines.$layers"
    done
    [ "$(cat "$tmp/lines.80")" -le $(($(cat "$tmp/lines.40") + 1)) ]
    ok $? "overview: 80 layers take no more lines than 40"
    tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
    says line 'forward, layers 0..79 .*all-gather over tp, 1280 times' "overview: all of 80 layers"
    says line 'layers 19 of 4..76 [0-9]* send-recv over pp' "overview: what some layers have"
    for file in llama3 deepseek t5 mixtral; do
        shardsim plan -q --json "$scenarios/$file.yaml"
        cp "$tmp/out" "$tmp/json"
        COLUMNS=400 shardsim explain "$scenarios/$file.yaml"
        python3 "$tmp/adds_up.py" "$tmp/json" "$tmp/out" >"$tmp/wrong" 2>&1
        ok $? "overview, $file: its lines add up to what plan counts"
        diag <"$tmp/wrong"
    done
}

# The overview has each collective of the plan as often as the plan.
cat >"$tmp/adds_up.py" <<'PY'
import json, re, sys

count = {}
for c in json.load(open(sys.argv[1], encoding="utf-8"))["collectives"]:
    key = c["op"], ",".join(c["axes"])
    count[key] = count.get(key, 0) + c["count"]
shown = {}
for line in open(sys.argv[2], encoding="utf-8"):
    m = re.match(r" *[\d-]+  ([a-z-]+) over (\S+?),(?: (\d+) times,)? [\d.]+ \w+:", line)
    if m:
        key = m[1], m[2]
        shown[key] = shown.get(key, 0) + int(m[3] or 1)
assert shown == count, (shown, count)
PY

# Selections: one op, the collectives, or all ops; of equal layers the first one, with -v each.
test_selected() {
    shardsim explain "$scenarios/llama3.yaml" --collectives
    is 0 "--collectives: status 0"
    says out '^  29  all-gather over tp for layers/0/attn/q (forward)$' "--collectives: one"
    says out '^      equal     layers 0..1 do the same; this is layer 0$' "--collectives: of equal layers"
    ! grep -q 'layers/1/attn/q (forward)' "$tmp/out" && ! grep -q ': einsum (' "$tmp/out"
    ok $? "--collectives: of equal layers one, and no other ops"
    folded=$(wc -l <"$tmp/out")
    shardsim explain "$scenarios/llama3.yaml" --collectives -v
    [ "$(grep -c '^ *[0-9][0-9]*  [a-z]' "$tmp/out")" -eq 32 ] && [ "$(wc -l <"$tmp/out")" -gt "$folded" ]
    ok $? "--collectives -v: each of 32"
    [ "$(lines "$scenarios/llama3.yaml" --ops -s model.layers=16)" -lt \
        $(($(lines "$scenarios/llama3.yaml" --ops -s model.layers=8) + 20)) ]
    ok $? "--ops: does not grow with the layers"
    [ "$(lines "$scenarios/llama3.yaml" -v)" -gt $(($(lines "$scenarios/llama3.yaml" --ops) + 200)) ]
    ok $? "-v: every layer"
    shardsim explain "$scenarios/llama3.yaml" --op 29
    ! grep -q '^      equal' "$tmp/out" && [ "$(grep -c '^ *[0-9][0-9]*  [a-z]' "$tmp/out")" -eq 1 ]
    ok $? "--op: that op alone"
    bad "--op with --collectives" 'remove --collectives' "$scenarios/llama3.yaml" --op 2 --collectives
    bad "--op with --ops" 'remove --ops' "$scenarios/llama3.yaml" --op 2 --ops
}

test_scenario() {
    shardsim explain "$course/tensor.yaml" --ops
    is 0 "explain: status 0"
    silent err "explain: nothing on standard error"
    says out '^   8  all-reduce over tp for layers/0/mlp/out (forward)$' "explain: a collective"
    says out '^      why       layers/0/mlp/down sums over mlp' "explain: why"
    says out '^      moves     64 B in total, 32 B of them to device 0$' "explain: how much"
    says out '^                tp shards nothing: 32 B more, 2 times the work of this op$' \
        "explain: an alternative"
    says out '^placement: follow' "explain: which placement decided"
    says out '^      placed    tp shards mlp in layers/0/mlp/down, because the weight$' "explain: the rule of the weight sharded the array"
    [ "$(grep -c '^ *[0-9][0-9]*  [a-z]' "$tmp/out")" -eq 16 ]
    ok $? "explain: every op once"
    COLUMNS=200 shardsim explain "$course/tensor.yaml" --op 8
    says out '^   8  all-reduce' "--op: this one"
    ! grep -q '^   7  ' "$tmp/out"
    ok $? "--op: no other op is shown"
    says out "device 0  receives from 1 (direct: 'explain collective all-reduce " "--op: an all-reduce"
    COLUMNS=200 shardsim explain "$scenarios/fsdp.yaml" --op 30
    says out 'device 0  sums \[0-63, :\] and \[0-15, :\] .*; receives from 1, 2, 3, 4, 5, 6, 7 (direct)$' \
        "--op: a reduce-scatter of several arrays"
    shardsim explain "$course/fsdp.yaml" --strategy fsdp --device 3
    says out '^      device 3  gets \[0-15, :\] from device 0$' "--device: the shard that device 3 receives"
    says out '^                keeps \[48-63, :\]$' "--device: the shard that device 3 keeps"
    sed 's/^name:.*/&\nplacement: search/' "$course/tensor.yaml" >"$tmp/search.yaml"
    shardsim explain "$tmp/search.yaml" --ops
    is 0 "explain: of a search: status 0"
    says out '^placement: search' "explain: a search decided"
    ! grep -q '^      placed' "$tmp/out"
    ok $? "explain: what a search chose has no other cause"
    shardsim explain "$course/data.yaml" --ops
    tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
    says line 'has that sharding, from the batch' "explain: the batch sharded the array"
    shardsim explain "$scenarios/kv_heads_replicated.yaml" --ops
    is 0 "an axis in parts: status 0"
    says out 'sharded as \[{}, {}, {tp:(1)2}, {}\]' "an axis in parts: a part by its name"
    ! grep -q 'tp:(1)2,tp:(2)4' "$tmp/out" && grep -q 'attn/q .*sharded as \[{}, {}, {tp}, {}\]' "$tmp/out"
    ok $? "an axis in parts: all of them are the axis"
}

# The partial sums of devices 0 and 1 before the op add up to the values after the op.
test_values() {
    shardsim explain "$course/tensor.yaml" --op 8 --values
    is 0 "--values: status 0"
    python3 - "$tmp/out" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
before, after = text[text.index("before"):].split("after", 1)


def numbers(part):
    out = []
    for block in re.split(r"device \d+ +(?=\[)", part)[1:]:
        block = block.split("why")[0]
        out.append([float(x) for row in re.findall(r"\[([^\]]*)\]", block) for x in row.split()])
    return out


b, a = numbers(before), numbers(after)
assert len(b) == len(a) == 2 and len(b[0]) == 8, (b, a)
for i in range(8):
    for d in range(2):
        assert abs(b[0][i] + b[1][i] - a[d][i]) < 1e-3
PY
    ok $? "--values: the parts before add up to what is there after"
    shardsim explain "$scenarios/tensor_parallel.yaml" --op 10 --values
    says out 'has too many numbers to show' "--values: not of large arrays"
}

test_width() {
    for width in 60 80 160; do
        COLUMNS=$width
        export COLUMNS
        shardsim explain "$scenarios/block_2d.yaml" --ops
        cp "$tmp/out" "$tmp/ops"
        shardsim explain "$scenarios/block_2d.yaml"
        cat "$tmp/ops" >>"$tmp/out"
        awk -v w=$width 'length > w && !/^ *[^ ]*$/ { wide = 1 } END { exit wide }' "$tmp/out"
        ok $? "explain: fits $width columns"
        shardsim explain collective all-reduce --algorithm ring --devices 8 --ascii
        awk -v w=$width 'length > w { wide = 1 } END { exit wide }' "$tmp/out"
        ok $? "explain collective: fits $width columns"
        unset COLUMNS
    done
    ! grep -q "$escape" "$tmp/out"
    ok $? "colours: none when piped"
    shardsim explain --color "$course/tensor.yaml" --op 8
    says out "^$escape.1;33m   8  all-reduce" "colours: asked for"
    shardsim explain --color "$course/tensor.yaml"
    says out "8  $escape.1;33mall-reduce over tp$escape.0m, 64 B" "colours: in the overview"
}

test_collective() {
    shardsim explain --ascii --color=always collective all-gather --devices 2
    is 0 "collective: options may stand before the word: status 0"
    says out 'element' "collective: what the columns are is said"
    grep -q "$escape" "$tmp/out" && grep -q '^ *+--' "$tmp/out"
    ok $? "collective: options may stand before the word: seen"
    shardsim explain collective all-reduce --algorithm ring --devices 4
    is 0 "collective: status 0"
    [ "$(grep -o 'results after step [0-9]' "$tmp/out" | sort -u | wc -l)" -eq 6 ]
    ok $? "collective: six steps of a ring of four"
    says out '24 elements are' "collective: 2(n-1) chunks for each of n"
    for kind in all-reduce all-gather reduce-scatter all-to-all permute broadcast gather scatter \
        reduce; do
        shardsim explain collective $kind --devices 5
        is 0 "collective: $kind"
    done
    shardsim explain collective send-recv --devices 2
    is 0 "collective: send-recv"
    shardsim explain collective barrier
    is 0 "collective: barrier"
    shardsim explain collective all-reduce --algorithm ring -o "$tmp/a.svg"
    python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' "$tmp/a.svg"
    ok $? "collective: svg is well-formed"
    python3 "$top_srcdir/tests/support/picture.py" "$tmp/a.svg"
    ok $? "collective: svg is well laid out"
    # The three steps of a phase are equal and share one circle with an arrow from each device to
    # the next.
    [ "$(grep -c 'class="a"' "$tmp/a.svg")" -eq 8 ] &&
        grep -q '>sends, steps 1 to 3, reduce-scatter<' "$tmp/a.svg" &&
        grep -q '>sends, steps 4 to 6, all-gather<' "$tmp/a.svg"
    ok $? "collective: arrows of a ring, part by part"
    # Sums share a hue with a legend, and no device has the colour of a sum.
    grep -q '>sum of 4<' "$tmp/a.svg" && [ "$(grep -c '<circle .*fill="#ffffff"' "$tmp/a.svg")" -eq 8 ]
    ok $? "collective: a legend of sums"
}

# Chunks by their operand (a0 is chunk 0 of device 0's), and what each step adds to them.
test_chunks() {
    for algorithm in direct ring recursive-halving; do
        shardsim explain collective reduce-scatter --algorithm $algorithm --devices 4 --ascii
        is 0 "chunks: reduce-scatter by $algorithm"
        says out '^ *0 |  *a0  *|  *a1  *|  *a2  *|  *a3  *|' "chunks: operands, $algorithm"
        for k in 0 1 2 3; do
            says out "$k *| *a$k+b$k+c$k+d$k *|\$" "chunks: device $k has chunk $k, $algorithm"
        done
        says out 'step [1-3]: 0 receives chunks\? 0.* from [0-3].* and adds its own' "chunks: what is added, $algorithm" ||
            diag <"$tmp/out"
    done
    for algorithm in ring two-level halving-doubling; do
        shardsim explain collective all-reduce --algorithm $algorithm --devices 4
        tr '\n' ' ' <"$tmp/out" >"$tmp/line"
        grep -q 'step 1, reduce-scatter: 0 receives chunks\? [0-3][-0-3]* from [1-3] and adds its own; 1' "$tmp/line"
        ok $? "chunks: all-reduce by $algorithm adds what it receives"
    done
    shardsim explain collective all-reduce --algorithm ring --devices 4
    says out '^reduce-scatter: steps 1-3; all-gather: steps 4-6\.$' "chunks: the parts of a ring"
    says out '^step 4, all-gather: 0 receives chunk 0 from 3;' "chunks: a gather adds nothing"
    shardsim explain collective all-reduce --algorithm ring --devices 64
    for words in 'steps 2 to 62, reduce-scatter: 61 steps like step 1, with the same senders' \
        'Results are drawn after 6 of the 126 steps' \
        'steps 65 to 125, all-gather: 61 steps like step 64, with' ' 8064 elements are received'; do
        tr -s '\n ' ' ' <"$tmp/out" | grep -q "$words"
        ok $? "many steps: $words"
    done
    [ "$(grep -c '^step [0-9]*[,:]' "$tmp/out")" -eq 4 ]
    ok $? "many steps: four are told"
    [ "$(grep -c '^results after step ' "$tmp/out")" -eq 6 ]
    ok $? "many steps: the text says after which step it is"
    shardsim explain collective all-reduce --algorithm ring --devices 64 -o "$tmp/a.svg"
    [ "$(grep -c '>sends, steps 1 to 63, reduce-scatter<\|>sends, steps 64 to 126, all-gather<' "$tmp/a.svg")" -eq 2 ] &&
        [ "$(grep -c '>sends' "$tmp/a.svg")" -eq 2 ] && [ "$(grep -c 'class="a"' "$tmp/a.svg")" -eq 128 ] &&
        python3 "$top_srcdir/tests/support/picture.py" "$tmp/a.svg"
    ok $? "many steps: two circles, and a picture that is well laid out"
    [ "$(grep -c '>results after step ' "$tmp/a.svg")" -eq 6 ]
    ok $? "many steps: six of them are drawn"
    shardsim explain collective all-to-all --devices 64 -o "$tmp/a.svg"
    [ "$(grep -c 'class="a"' "$tmp/a.svg")" -eq 63 ] && grep -q 'sends to 0 (the others are not drawn)' "$tmp/a.svg" &&
        python3 "$top_srcdir/tests/support/picture.py" "$tmp/a.svg"
    ok $? "many sends: those to one member"
    shardsim explain collective all-reduce --algorithm recursive-doubling --devices 4
    ! grep -q 'all-gather' "$tmp/out"
    ok $? "chunks: recursive doubling has no parts"
    shardsim explain collective --help
    ! grep -q '^[a-z-]*,\|^two-level' "$tmp/out"
    ok $? "help: lists of algorithms are indented"
}

test_reshard() {
    shardsim explain reshard --mesh a=2,b=4 --shape 8,8 --from a,b
    is 0 "reshard: status 0"
    silent err "reshard: nothing on standard error"
    says out '^float32 of shape (8, 8) on mesh a=2, b=4, 8 devices: from \[{a}, {b}\] to \[{}, {}\]$' \
        "reshard: the question"
    says out '^step 1: exchange to .{}, {}.: 1792 B (1.75 KiB)$' "reshard: a step"
    says out 'equal to the lower bound' "reshard: the bound"
    says out '^\* exchange: 1.75 KiB received, 224 B sent by the busiest, 288 B needed$' "reshard: taken"
    says out '^ all-gather, all-gather: 1.75 KiB received' "reshard: not taken"
    shardsim explain reshard --mesh a=2,b=4 --shape 8,8 --from a,b --memory any
    says out '^\* all-gather, all-gather' "reshard: taken with more memory"
    shardsim explain reshard --mesh a=2,b=4 --shape 8,8 --from '[null, b]' --partial a --to x --to-mesh x=8 \
        --to-first 8
    says out 'to \[{x}, {}\] on mesh x=8, devices 8 to 15$' "reshard: to other devices, in the question"
    says out '^step 2: exchange, across meshes, to .{x}, {}. on x=8: 256 B$' "reshard: to other devices"
    shardsim explain reshard --mesh a=2,b=4 --shape 8,8 --from a --link 4:1us:100GB/s --link all:10us:10GB/s
    says out '^into groups of 4: 1024 B (1.00 KiB), 4.000 times the lower bound, 256 B' "reshard: between groups"
    says out '^time: ' "reshard: time"
    shardsim explain reshard --mesh a=2,b=4 --shape 8,8 --from a --to a
    says out '^nothing to do' "reshard: nothing"
}

# picture TEXT ARGUMENT...: the cells of a reshard's picture add up to the bytes of its plan.
picture() {
    what=$1
    shift
    shardsim explain reshard "$@" --json
    cp "$tmp/out" "$tmp/json"
    shardsim explain reshard "$@" -o "$tmp/reshard.svg"
    is 0 "reshard, a picture, $what: status 0"
    python3 - "$tmp/reshard.svg" "$tmp/json" >"$tmp/wrong" 2>&1 <<'PY'
import json, re, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
texts = [(t.get("class"), float(t.get("x")), t.text) for t in root.iter("{http://www.w3.org/2000/svg}text")]
heads = {text.split(":")[0].split(",")[0]: x for style, x, text in texts if style == "h"}
assert sorted(heads) == ["after", "before", "traffic from device to device"], heads
cells = [text for style, _, text in texts if style == "c" and re.fullmatch(r"[\d.]+K", text)]
assert sum(float(text[:-1]) for text in cells) * 1024 == json.load(open(sys.argv[2]))["received_bytes"] > 0, cells
PY
    ok $? "reshard, a picture, $what: what is sent adds up"
    diag <"$tmp/wrong"
}

test_reshard_picture() {
    picture "an exchange" -m dp=2,tp=4 -n 64,64 --from dp,tp --to tp,dp
    picture "a sum for all" -m tp=4 -n 64,64 --partial tp
    picture "a sum in shards" -m tp=4 -n 64,64 --partial tp --to tp
    picture "two steps to other devices" -m a=2,b=4 -n 64,128 --from '[null, b]' --partial a \
        --to x --to-mesh x=8 --to-first 8
    shardsim explain reshard -m x=4 -n 8 --from x --to x --to-mesh x=4 --to-first 2 -o "$tmp/reshard.svg"
    cells=$(grep -B1 'class="c"[^>]*>2<' "$tmp/reshard.svg" | grep -o 'fill="#[0-9a-f]*"' | sort | uniq -c)
    [ "$(echo "$cells" | wc -l)" = 1 ]
    ok $? "reshard, a picture: a device has one colour before and after"
    shardsim explain reshard -m dp=2,tp=4 -n 64,64 --from dp,tp --to tp,dp -o "$tmp/reshard.txt"
    grep -q '^step 1: exchange' "$tmp/reshard.txt"
    ok $? "reshard, to a file of text: in words"
}

test_bad_input() {
    bad "no scenario" 'no scenario file given'
    bad "a collective without the word" "type 'explain collective all-reduce'" all-reduce
    bad "op 0" "op is '0'; expected a whole number from 1 to 16" "$course/tensor.yaml" --op 0
    bad "op beyond" 'from 1 to 16' "$course/tensor.yaml" --op 17
    bad "no such device" 'from 0 to 1' "$course/tensor.yaml" --device 2
    bad "values on too many devices" '^[^ ]*:[0-9]*:[0-9]*: error: .*shown for up to 64 devices, not 128' \
        "$top_srcdir/scenarios/data_parallel.yaml" --values --set "mesh={dp: 128}" --set batch.size=128
    bad "no cluster" '^[^ ]*:[0-9]*:[0-9]*: error: .*--roofline needs a cluster' \
        "$top_srcdir/scenarios/data_parallel.yaml" --roofline
    bad "no such collective" "'all-reduc'; did you mean 'all-reduce'?" collective all-reduc
    bad "no such algorithm" "'rnig'; expected direct, ring, .*; did you mean 'ring'?" collective all-reduce --algorithm rnig
    bad "too many devices" 'from 1 to 64' collective all-reduce --devices 65
    bad "three for a pair" 'does not support 3' collective send-recv --devices 3
    bad "reshard: no mesh" 'expected --mesh' reshard --shape 8
    bad "reshard: no such axis" "from: axis 'c' is not" reshard --mesh a=2 --shape 8 --from c
    bad "reshard: indivisible" 'to: dimension 0' reshard --mesh a=2 --shape 7 --to a
    bad "reshard: no links" "link: 'x'; expected N:LATENCY:RATE" reshard --mesh a=2 --shape 8 --link x
    bad "reshard: no speed" 'tier of links' reshard --mesh a=2 --shape 8 --from a --link 0:1us:0GB/s
    bad "reshard: no memory" '48 bytes on a device, 39' reshard --mesh a=2 --shape 8 --from a --memory 39B
    bad "reshard: more than links" 'expected N:LATENCY' reshard --mesh a=2 --shape 8 --link 2:1us:1GB/s:x
    bad "reshard: memory of 0" 'memory is 0 bytes; expected more' reshard --mesh a=2 --shape 8 --memory 0
    bad "reshard: too many to draw" 'expected at most 256, or no --output' reshard --mesh a=512 --shape 512 --from a \
        -o "$tmp/large.svg"
    bad "reshard: JSON as a picture" '--json is text' reshard --mesh a=2 --shape 8 --json -o "$tmp/json.svg"
    bad "reshard: no device" "first device is 'z'" reshard --mesh a=2 --shape 8 --to-mesh b=2 --to-first z
    for what in "" collective reshard; do
        # shellcheck disable=SC2086
        shardsim explain $what --help
        is 0 "explain $what --help: status 0"
        says out '^Usage: shardsim explain' "explain $what --help: on standard output"
    done
}

test_overview
test_selected
test_scenario
test_values
test_width
test_collective
test_chunks
test_reshard
test_reshard_picture
test_bad_input
shardsim explain reshard --mesh x=4,y=4 --shape 64,64 --from x,y --to '[],x' --link 4:1us:900GB/s --link all:10us:1GB/s
tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
says line 'all-gather, all-gather, slice: [^:;*]* 20.0 KiB needed, 25.1 us; ruled out by its memory' \
    "reshard: a faster way that needs too much says so"
says line '\* exchange: .* 5.00 KiB needed, 34.1 us *$' "reshard: the one that is taken does not"
shardsim explain reshard --mesh x=4,y=4 --shape 64,64 --from x,y --to '[],x' --link 4:1us:900GB/s --link all:10us:1GB/s \
    --memory any
tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
says line '\* all-gather, all-gather, slice' "reshard: with any memory it is taken"
done_testing
