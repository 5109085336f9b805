#!/bin/sh
# Tests show memory: the bytes of each kind from op to op, in the terminal and as a picture, equal
# the figures of plan and sums by hand.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
COLUMNS=80
export COLUMNS
unset NO_COLOR
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$top_srcdir/tests/support
export PYTHONDONTWRITEBYTECODE PYTHONPATH

cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
name: small
mesh: {dp: 2}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 3}
batch: {size: 16, seq: 64, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.01}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: dp}
  - {name: zero, zero: {stage: 1, axis: dp}}
YAML
shardsim plan --json -S dp "$tmp/mlp.yaml"
cp "$tmp/out" "$tmp/planned"

shardsim show memory -S dp "$tmp/mlp.yaml"
is 0 "text: status 0"
cp "$tmp/out" "$tmp/drawn"
cat >"$tmp/text.py" <<'PY'
import json, re, sys

drawn, memory = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))["memory"]
peak, kinds = memory["peak_bytes"][0], memory["by_kind"]
lines = drawn.splitlines()

def shown(n):  # three digits
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return "%d B" % n if unit == "B" else "%.*f %s" % (2 - (n >= 10) - (n >= 100), n, unit)
        n /= 1024

assert all(len(line) <= 80 and line == line.rstrip() for line in lines), lines
assert "Most: %s in " % shown(peak) in drawn
words = " ".join(lines)
for kind, n in kinds.items():
    assert n == 0 or re.search(r"[:,] %s %s[,.]" % (kind, re.escape(shown(n))), words), (kind, n)
rows = [line[11:].ljust(69) for line in lines[2:16]]
assert lines[2].split("KiB")[0].strip() == shown(peak).split(" ")[0], lines[2]
columns = ["".join(c) for c in zip(*rows)]
highest = max(columns, key=lambda c: len(c.strip()))
assert len(highest.strip()) == 14, highest
# In the column of the peak each kind covers its share of the rows, to within one row.
marks = {"P": "parameters", "O": "optimizer", "G": "gradients", "d": "data", "a": "activations"}
for mark, kind in marks.items():
    assert abs(highest.count(mark) - 14 * kinds[kind] / peak) < 1, (mark, highest)
order = [c for c in highest[::-1] if c != " "]
assert order == sorted(order, key="POGdcaw".index), highest
# Three layers of two kernels of 32 x 64 float32.
assert "24.0 KiB parameters: 3 times layers/*/mlp/up/kernel" in lines
# A microbatch has 2 x 64 tokens per device: hidden values of 64 float32 before and after gelu.
assert "96.0 KiB activations: 3 times layers/*/mlp/up" in lines
assert "96.0 KiB activations: 3 times layers/*/mlp/gelu" in lines
PY
python3 "$tmp/text.py" "$tmp/drawn" "$tmp/planned" >"$tmp/wrong" 2>&1
ok $? "text: the peak, its kinds and arrays, and rows of their height"
tail -n 3 "$tmp/wrong" | diag
says out '^ *|F0  *|B0  *|F1  *|B1  *|O$' "text: phases of microbatches, by number from 0"
says out '^Op by op, not to scale in time; F, B: forward, backward' "text: what goes across"
says out ': memory of each device, from op to op$' "text: without a pipeline there are no ranks"
says out '^Two of 4 microbatches are shown' "text: which microbatches are not shown"

shardsim show memory -S zero -o "$tmp/a.svg" "$tmp/mlp.yaml"
is 0 "picture: status 0"
shardsim plan --json -S zero "$tmp/mlp.yaml"
cp "$tmp/out" "$tmp/planned"
cat >"$tmp/svg.py" <<'PY'
import json, sys
from picture import NS, Picture, at, outline

memory = json.load(open(sys.argv[2]))["memory"]
picture = Picture(sys.argv[1])
picture.check()
tops, patterns = {}, {}
for path, _, _ in picture.paths:
    if path.get("fill"):
        kind = path.find(NS + "title").text
        tops[kind], patterns[kind] = outline(path.get("d")), path.get("fill")
drawn = {"url(#%s)" % p.get("id"): p.findall(NS + "path")[-1].get("d") for p in picture.root.iter(NS + "pattern")}
assert len({drawn[id] for id in patterns.values()}) == len(patterns)  # told apart without colours
keys = [e.get("fill") for e, *_ in picture.boxes if e.get("fill", "").startswith("url")]
assert keys == list(patterns.values()), keys
assert picture.words().count("parameters") == 2  # in its shape and in the legend
assert memory["by_kind"].pop("cache") == 0  # a step of training keeps no tokens, and what is nothing is not drawn
assert set(tops) == set(memory["by_kind"]), tops.keys()
peak = memory["peak_bytes"][0]
columns = sorted({x for sides in tops.values() for steps in sides for x, _ in steps})
heights = {k: [(at(b, x) - at(t, x)) / 220 * peak for x in columns] for k, (t, b) in tops.items()}
totals = [sum(column) for column in zip(*heights.values())]
at = totals.index(max(totals))
assert abs(totals[at] - peak) < peak / 300, (totals[at], peak)
for kind, n in memory["by_kind"].items():
    assert abs(heights[kind][at] - n) < peak / 300, (kind, heights[kind][at], n)
# Parameters and the optimizer's state are there at every moment.
for kind in ("parameters", "optimizer"):
    assert abs(min(heights[kind]) - memory["by_kind"][kind]) < peak / 300, kind
assert heights["gradients"][0] == 0 and heights["activations"][-1] == 0
PY
python3 "$tmp/svg.py" "$tmp/a.svg" "$tmp/out" >"$tmp/wrong" 2>&1
ok $? "picture: heights are bytes, at the peak those of plan"
tail -n 3 "$tmp/wrong" | diag

# A given scale with its round marks, and the limit on the scale.
shardsim show memory -S zero --max 1MiB --set limits.memory=160KiB -o "$tmp/a.svg" "$tmp/mlp.yaml"
is 0 "scale: status 0"
cat >"$tmp/scale.py" <<'PY'
import json, re, sys
from picture import NS, Picture, outline

peak = json.load(open(sys.argv[2]))["memory"]["peak_bytes"][0]
picture = Picture(sys.argv[1])
picture.check()
words = picture.words()
ticks = [w for w in words if re.fullmatch(r"[\d.]+ ([KM]i)?B", w)]
assert ticks == ["0 B", "128 KiB", "256 KiB", "384 KiB", "512 KiB", "640 KiB", "768 KiB", "896 KiB", "1.00 MiB"], words
y = {w: t[2] for w, t in zip(words, picture.texts)}
bytes = lambda at: (y["0 B"] - at) / (y["0 B"] - y["1.00 MiB"]) * 2**20
line, = [e for e, _, _ in picture.paths if "dasharray" in e.get("style", "")]
shift = y["0 B"] - max(float(re.match(r"M\S+ (\S+?)h", e.get("d"))[1]) for e, _, _ in picture.paths if e.get("class") == "g")
limit = float(re.match(r"M\S+ (\S+?)h", line.get("d"))[1])
assert abs(bytes(limit + shift) - 160 * 1024) < 4096 and "limit 160 KiB" in words
tops = [min(v for _, v in outline(e.get("d"))[0]) for e, _, _ in picture.paths if e.get("fill")]
assert abs(bytes(min(tops) + shift) - peak) < 4096, (bytes(min(tops) + shift), peak)
assert len([w for w in words if w.startswith("peak ")]) == 1
PY
python3 "$tmp/scale.py" "$tmp/a.svg" "$tmp/planned" >"$tmp/wrong" 2>&1
ok $? "scale: marks are round, the limit and the peak are where they are by them"
tail -n 3 "$tmp/wrong" | diag
shardsim show memory -S zero --max 1KiB "$tmp/mlp.yaml"
is 2 "scale: that ends below the peak"
says err 'max is 1.00 KiB, and the peak is' "scale: that ends below the peak: said"
shardsim show memory -S zero --max big "$tmp/mlp.yaml"
is 2 "scale: no size"

# Ranks of a pipeline have different stages and different numbers of microbatches in flight.
cat >"$tmp/pipeline.yaml" <<'YAML'
version: 1
mesh: {pp: 2}
model: {kind: mlp, d_model: 32, d_ff: 64, layers: 2}
batch: {size: 16, seq: 64, microbatches: 4}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.01}
params: [[.*, []]]
pipeline: {axis: pp, schedule: 1F1B}
YAML
shardsim plan --json "$tmp/pipeline.yaml"
cp "$tmp/out" "$tmp/planned"
for rank in 0 1; do
    shardsim show memory --rank $rank -o "$tmp/a.svg" "$tmp/pipeline.yaml"
    is 0 "rank $rank of a pipeline: status 0"
    python3 - "$tmp/a.svg" "$tmp/planned" $rank >"$tmp/wrong" 2>&1 <<'PY'
import json, re, sys

peak = json.load(open(sys.argv[2]))["memory"]["peak_bytes"][int(sys.argv[3])]
text = open(sys.argv[1]).read()
assert "Most of rank %s: %d KiB in " % (sys.argv[3], round(peak / 1024)) in text, (peak, text)
tops = [float(y) for y in re.findall(r"V([0-9.]+)", text)]
assert abs(min(tops) - 20) < 0.1, min(tops)  # the highest bar fills the chart, below its label
PY
    ok $? "rank $rank of a pipeline: its peak is plan's"
    says a.svg "memory of each device of rank $rank of 2, from op to op" "rank $rank of a pipeline: it is said"
    tail -n 3 "$tmp/wrong" | cut -c 1-300 | diag
done
# F0 F1 F2 ... are labelled on one line; without room for all, each third and the last one is.
shardsim show memory --rank 0 -o "$tmp/a.svg" "$tmp/pipeline.yaml"
python3 - "$tmp/a.svg" >"$tmp/wrong" 2>&1 <<'PY'
import sys
from picture import Picture
picture = Picture(sys.argv[1])
picture.check()
marks = [w for w in picture.words() if w[1:].isdigit() and w[0] in "FB" or w == "O"]
assert marks == "F0 F1 B0 F2 B1 F3 B2 B3 O".split(), marks
PY
ok $? "a pipeline: every microbatch on the axis, numbered as its timetable"
tail -n 3 "$tmp/wrong" | diag
shardsim show memory "$tmp/pipeline.yaml"
says out '^Rank 0 needs the most memory; --rank draws another' "a pipeline: which rank, if none was asked for"
COLUMNS=40
shardsim show memory -s batch.microbatches=16 "$tmp/pipeline.yaml"
says out '|F0 .*|F.*|B.*O|$' "many microbatches: some are named"
says out 'one in [0-9]* is' "many microbatches: it is said"
COLUMNS=80
shardsim show memory --rank 2 "$tmp/pipeline.yaml"
is 2 "an unknown rank: status 2"

shardsim show memory "$tmp/mlp.yaml"
is 2 "several strategies and none chosen: status 2"
shardsim show memory -S dp --color "$tmp/mlp.yaml"
grep -q "$(printf '\033')\\[30;48;5;" "$tmp/out"
ok $? "in colours, if asked for"
shardsim show memory -S dp -s 'step=[forward]' -s optimizer.kind=none -s batch.microbatches=1 \
    "$tmp/mlp.yaml"
is 0 "a step without update: status 0"
done_testing
