#!/bin/sh
# Tests show timetable: the actions of each rank over time, in the terminal and as a picture, with
# the idle time.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
COLUMNS=80
export COLUMNS
unset NO_COLOR

# drawn ARGUMENT...: the lanes, joined from their bands, equal the answer of query: each bar has its
# label at its time, and idle time is blank.
cat >"$tmp/drawn.py" <<'PY'
import json, re, subprocess, sys

program, out, columns = sys.argv[1], sys.argv[2], int(sys.argv[3])
question = json.loads(sys.argv[4])
ask = json.dumps({"id": 1, "op": "pipeline.schedule", "in": question})
answer = json.loads(subprocess.run([program, "query"], input=ask, capture_output=True, text=True,
                                   check=True).stdout)["out"]
lines = open(out, encoding="utf-8").read().splitlines()
assert all(len(line) <= columns for line in lines), max(map(len, lines))
lanes = {}
for line in lines:
    m = re.match(r"rank (\d+) +(.*)$", line)
    if m:
        lanes[int(m[1])] = lanes.get(int(m[1]), "") + m[2]
assert len(lanes) == question["pp"], sorted(lanes)
assert len({len(lane) for lane in lanes.values()}) == 1
times = {"F": 1, "B": 2, "I": 1, "W": 1}
scale = len(lanes[0]) / answer["makespan"]
assert scale == int(scale), scale
for rank, order in enumerate(answer["order"]):
    labels = [m[0] for m in re.finditer(r"[A-Z]\d+(\.\d+)?", lanes[rank])]
    wanted = []
    for action in re.findall(r"\d+[FBIW]\d+", " ".join(order)):
        stage, kind, batch = re.match(r"(\d+)([FBIW])(\d+)", action).groups()
        wanted.append(kind + batch + ("." + stage if question["stages_per_rank"] > 1 else ""))
    assert labels == wanted, (labels, wanted)
    busy = sum(times[label[0]] for label in labels)
    assert len(lanes[rank]) - lanes[rank].count("·") == busy * scale
PY
drawn() {
    what=$1
    question=$2
    shift 2
    shardsim show timetable "$@"
    is 0 "$what: status 0"
    python3 "$tmp/drawn.py" "$shardsim" "$tmp/out" "$COLUMNS" "$question" >"$tmp/wrong" 2>&1
    ok $? "$what: all actions in order, idle time and width"
    diag <"$tmp/wrong"
}

# question SCHEDULE P V M: a question for pipeline.schedule
question() {
    echo "{\"schedule\":\"$1\",\"pp\":$2,\"stages_per_rank\":$3,\"microbatches\":$4}"
}

test_text() {
    for schedule in GPipe 1F1B ZBH1; do
        drawn "$schedule" "$(question $schedule 4 1 8)" $schedule --ranks 4 --microbatches 8
    done
    for schedule in Interleaved1F1B LoopedBFS InterleavedZeroBubble ZBVZeroBubble DualPipeV; do
        drawn "$schedule" "$(question $schedule 3 2 6)" $schedule -r 3 -m 6
        drawn "$schedule, narrow" "$(COLUMNS=60 question $schedule 4 2 8)" $schedule -r 4 -m 8 -v 2
    done
    COLUMNS=200
    drawn "a wide screen" "$(question 1F1B 4 1 12)" 1F1B --stages 4 --microbatches 12
    COLUMNS=80
    says out '^rank 3 .*F0──B0─\(─\)*F1──' "a wide screen: bars are apart"
    shardsim show timetable 1F1B -r 4 -m 8
    says out '^F0: the forward of microbatch 0; each microbatch has' "how a label is read"
    says out 'Time: 33 from .* (F 1, B 2); each rank is idle 9 of$' "verdict: time"
    says out 'it, 27.3 %$' "verdict: idle"
    says out 'by formula: at most (p-1)(F+B) = 9 (.* arXiv:2006.09503)' "verdict: formula and source"
    says out 'by rank: 4 3 2 1$' "verdict: alive"
    shardsim show timetable 1F1B -r 4 -m 8 --ascii
    LC_ALL=C awk '/[^ -~]/ { other = 1 } END { exit other }' "$tmp/out"
    ok $? "--ascii is ASCII"
    shardsim show timetable ZBH1 -r 4 -m 3
    says out '(p-1)(F+I-W), which holds for F = I = W, m >= p' "verdict: a formula that does not hold"
    shardsim show timetable 1F1B -r 4 -m 8 --times F=2,B=4
    says out 'Time: 66 ' "times: doubled"
    shardsim show timetable ZBH1 -r 4 -m 8 -t B=3
    says out 'F 1, I 1.5, W 1.5' "times: a backward is halved"
    shardsim show timetable DualPipeV -r 3 -m 6 -t FB=2.5
    says out 'FB 2.5); ranks' "times: a pair's"
    shardsim show timetable GPipe -r 16 -m 256
    awk 'length > 400 || /^rank/ && !/FFFF.*BBBB/ { wrong = 1 } END { exit wrong || !NR }' "$tmp/out"
    ok $? "long: letters without numbers"
    shardsim show timetable 1F1B -r 256 -m 1024
    says out '^Not drawn: 524288 actions' "too many to draw: said"
    says out 'by rank: 1 to 256$' "too many to draw: the verdict is there"
    escape=$(printf '\033')
    shardsim show timetable 1F1B -r 2 -m 2 --color
    says out "$escape.30;48;5;[0-9]*m" "colours: asked for"
}

test_all() {
    shardsim show timetable all --ranks 4 --microbatches 8
    is 0 "all: status 0"
    [ "$(grep -c '(p-1)' "$tmp/out")" -ge 8 ]
    ok $? "all: eight schedules or more"
    says out '^1F1B  *1  *33  *9  *27.3 %  *4  *(p-1)(F+B) = 9$' "all: 1F1B"
    says out '^Interleaved1F1B  *2  *28.5  *4.5  *15.8 %  *5.5  *(p-1)(F+B) = 4.5$' "all: the same work in two stages"
    says out '^ZBVZeroBubble  *2  *25.5  *1.5  *5.9 %' "all: ZB-V"
    awk 'length > 80 { wide = 1 } END { exit wide }' "$tmp/out"
    ok $? "all: no line is wider than 80"
    shardsim show timetable all -r 4 -m 7 -v 4
    is 0 "all: some schedules do not apply, status 0"
    says out '^Interleaved1F1B  *4 ' "all: the stages per rank asked for"
    says out '^ZBVZeroBubble  *2 ' "all: stages per rank that ZBV fixes"
    says out '^DualPipeV of 4 ranks takes at least' "all: the reason why DualPipeV is left out"
    shardsim show timetable all -r 4 -m 8 -o "$tmp/a.svg"
    is 2 "all: no picture"
    shardsim show timetable all -r 4 -m 8 -o "$tmp/a.txt"
    grep -q '^1F1B ' "$tmp/a.txt"
    ok $? "all: into a file"
}

# In the picture every action has a box on the page, at its time.
test_picture() {
    shardsim show timetable DualPipeV -r 4 -m 9 -t FB=2.5 -o "$tmp/a.svg"
    is 0 "picture: status 0"
    silent out "picture: nothing on standard output"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/tests/support python3 - "$tmp/a.svg" >"$tmp/wrong" 2>&1 <<'PY'
import sys
from picture import NS as ns, Picture
picture = Picture(sys.argv[1])
picture.check()
r = picture.root
boxes = [b[0] for b in picture.boxes]
bars = [b[0] for b in picture.styled("s")]
whole = max(float(b.get("height")) for b in bars)
halves = [b for b in bars if abs(float(b.get("height")) - whole / 2) < 0.1]
labels = []
for t in r.iter(ns + "text"):
    if t.get("class") == "c" and t.text.isdigit(): # the stage, on the line below
        labels[-1] += "." + t.text
    elif t.get("class") == "c":
        labels.append(t.text)
assert len(labels) == len(bars) and len(halves) % 2 == 0 and len(halves) > 20, (len(labels), len(bars))
assert all(labels.count("%s0.%d" % (kind, stage)) <= 1 for kind in "FBIW" for stage in range(8)), labels
assert all("F%d.%d" % (batch, stage) in labels for batch in range(9) for stage in range(8)), labels
assert any(w.startswith("F0.4, or F0 above 4: the forward of microbatch 0 in stage 4") for w in picture.words())
keys = [b[0].get("fill") for b in picture.boxes if b[0].get("height") == "14.0" and b[0].get("fill")]
assert len(keys) == 4 and all(k[1:3] == k[3:5] == k[5:7] for k in keys), keys # grey: of no microbatch
shades = sorted(int(k[1:3], 16) for k in set(keys))
assert len(shades) == 3 and min(b - a for a, b in zip(shades, shades[1:])) >= 25, shades
assert len({b.get("fill") for b in boxes}) > 9
PY
    ok $? "picture: a box and a label for each action, pairs in half the height"
    diag <"$tmp/wrong"
    # The first has room for all letters, the second for none.
    for size in "4 -m 8" "32 -m 256"; do
        # shellcheck disable=SC2086
        shardsim show timetable ZBH1 -r $size -o "$tmp/a.svg"
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/tests/support python3 - "$tmp/a.svg" "${size%% *}" >"$tmp/wrong" 2>&1 <<'PY'
import sys
from picture import Picture
picture = Picture(sys.argv[1])
used, explained = set(), set()
for style in "xyz":
    for box in picture.styled(style):
        (explained if box[0].get("height") == "14.0" else used).add(style)
assert explained == used and len(used) == (0 if sys.argv[2] == "4" else 2), (explained, used)
PY
        ok $? "picture of $size: the legend has the patterns that bars have, and no others"
        diag <"$tmp/wrong"
    done
    shardsim show timetable 1F1B -r 4 -m 8 -o "$tmp/a.svg"
    cmp "$tmp/a.svg" "$top_srcdir/docs/timetable_1f1b.svg" >"$tmp/wrong" 2>&1
    ok $? "picture: the one in docs"
    diag <"$tmp/wrong"
}

# Several schedules are drawn below each other on one scale, so that their lengths compare.
test_several() {
    shardsim show timetable 1F1B ZBH1 -r 4 -m 8
    is 0 "several: status 0"
    says out '^2 schedules of p = 4 ranks, m = 8 microbatches, on one time scale$' "several: of what"
    says out '^1F1B: time 33, idle 27.3 %, at most 4 of 8 microbatches alive$' "several: the first"
    says out '^ZBH1: time 27, idle 11.1 %, at most 4 of 8 microbatches alive$' "several: the second"
    says out '^rank 0  F0F1F2F3······I0W0F4I1W1F5I2W2F6I3W3F7I4W4I5W5I6W6I7W7$' "several: no idle time behind an end"
    [ "$(grep -c '^rank 3 ' "$tmp/out")" = 2 ]
    ok $? "several: all ranks of both"
    shardsim show timetable 1F1B ZBH1 -r 4 -m 8 --color
    ! grep -q '48;5;[0-9]*m ' "$tmp/out"
    ok $? "several: nor is it coloured"
    shardsim show timetable 1F1B Interleaved1F1B ZBH1 -r 4 -m 8 -o "$tmp/a.svg"
    is 0 "several, a picture: status 0"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/tests/support python3 - "$tmp/a.svg" >"$tmp/wrong" 2>&1 <<'PY'
import sys
from picture import Picture
picture = Picture(sys.argv[1])
picture.check()
words = picture.words()
assert [w.split(":")[0] for w in words if ": time " in w] == ["1F1B", "Interleaved1F1B", "ZBH1"], words
idle = [float(b[0].get("width")) for b in picture.styled("i")][:12]
times = [float(w.split()[2].rstrip(",")) for w in words if ": time " in w]
for lanes, time in zip((idle[:4], idle[4:8], idle[8:]), times):
    assert len(set(lanes)) == 1 and abs(lanes[0] / idle[0] - time / times[0]) < 1e-3, (lanes, time)
PY
    ok $? "several, a picture: three of one scale"
    diag <"$tmp/wrong"
}

# Each rank works for 3 m units in all schedules, so that without idle time each would end at 3 m.
test_unit() {
    for schedule in 1F1B Interleaved1F1B ZBVZeroBubble; do
        shardsim show timetable $schedule -r 4 -m 8
        tr '\n' ' ' <"$tmp/out" | grep -o 'Time: [0-9.]* .* idle [0-9.]*' >"$tmp/line"
        awk -F '[ (]+' '{ exit !($2 - $NF == 24) }' "$tmp/line"
        ok $? "unit: $schedule works 24 of its time"
        diag <"$tmp/line"
    done
}

# bad TEXT PATTERN ARGUMENT...: status 2 and the message
bad() {
    what=$1
    pattern=$2
    shift 2
    shardsim show timetable "$@"
    is 2 "$what: status 2"
    says err "$pattern" "$what: said"
    silent out "$what: nothing on standard output"
}

# --help lists the schedules that `all` shows.
test_help() {
    shardsim show timetable all -r 1 -m 2
    names=$(sed -n 's/^\([A-Za-z0-9]*\)  *[12]  .*/\1/p' "$tmp/out")
    ARGP_HELP_FMT=rmargin=5000
    export ARGP_HELP_FMT
    shardsim show timetable --help
    is 0 "--help: status 0"
    unset ARGP_HELP_FMT
    for name in $names; do
        says out "Schedules are .*$name" "--help: $name"
    done
    [ "$(echo "$names" | wc -l)" -ge 8 ]
    ok $? "--help: eight schedules or more"
}

test_bad_input() {
    for pair in zero-bubble:ZBH1 ZB:ZBH1 interleaved:Interleaved1F1B virtual-pipeline:Interleaved1F1B; do
        bad "${pair%:*}, as people say" "did you mean '${pair#*:}'" "${pair%:*}" -r 4 -m 8
    done
    shardsim show timetable gpipe -r 4 -m 8
    is 0 "gpipe in small letters: status 0"
    bad "nothing" 'the name of a schedule with --ranks and --microbatches'
    bad "no microbatches" 'the name of a schedule' 1F1B -r 4
    bad "no such schedule" "no schedule '1F2B'; did you mean '1F1B'?" 1F2B -r 2 -m 2
    bad "a name like no other" "no schedule 'Zq9'; expected one of GPipe, 1F1B, Interleaved1F1B, .*DualPipeV" \
        Zq9 -r 2 -m 2
    bad "a schedule and all" "'all' cannot be combined with other arguments; only names of schedules can" 1F1B all -r 2 -m 2
    bad "one that is none" "no schedule '1F2B'" 1F1B 1F2B -r 2 -m 2
    bad "more than are drawn" '131072 actions are too many to draw' 1F1B GPipe -r 64 -m 512
    bad "no number" "--ranks is 'x'; expected a whole number" 1F1B -r x -m 2
    bad "no rank" "--ranks is '0'; expected a whole number from 1 to" 1F1B -r 0 -m 2
    bad "half a microbatch" "--microbatches is '1.5'" 1F1B -r 2 -m 1.5
    bad "stages" '1F1B takes 1 stage per rank, not 2' 1F1B -r 2 -m 2 -v 2
    bad "rounds" 'the nearest that do are 8 and 10' Interleaved1F1B -r 4 -m 9
    bad "too large" 'too large' GPipe -r 2000000000 -m 2000000000
    bad "a schedule with --strategy" "need a scenario file; '1F1B' is a schedule" \
        1F1B -r 2 -m 2 --strategy a
    bad "a scenario with --ranks" 'the scenario sets ranks, stages and microbatches' \
        "$scenarios/train_pipeline.yaml" -r 2
    bad "a scenario with --per-rank" 'the scenario sets ranks, stages and microbatches' \
        "$scenarios/train_pipeline.yaml" -v 2
    for times in X=1 F F= F=-1 'F=1,' 'F=1,,B=2' '' F=nan F=1xB=2; do
        bad "times '$times'" "expected e.g. F=1,B=2" 1F1B -r 2 -m 2 --times "$times"
    done
    bad "times too long" 'takes a time of' 1F1B -r 2 -m 2 --times F=1e300
}

test_text
test_all
test_picture
test_several
test_unit
test_help
test_bad_input
done_testing
