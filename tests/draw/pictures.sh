#!/bin/sh
# Tests pictures: drawn figures equal those of the results, and any of several programs makes a PNG.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset NO_COLOR COLUMNS
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$top_srcdir/tests/support
export PYTHONDONTWRITEBYTECODE PYTHONPATH

# drawn TEXT: $tmp/a.svg is well laid out, and the Python on stdin holds for the picture `p` and for
# `r`, the JSON in $tmp/json.
drawn() {
    {
        echo 'import json, re, sys'
        echo 'from picture import NS, Picture, numbered'
        echo 'p = Picture(sys.argv[1])'
        echo 'p.check()'
        echo 'r = json.load(open(sys.argv[2]))'
        cat
    } >"$tmp/check.py"
    python3 "$tmp/check.py" "$tmp/a.svg" "$tmp/json" >"$tmp/wrong" 2>&1
    ok $? "$1"
    tail -n 3 "$tmp/wrong" | diag
}

test_compare() {
    shardsim compare --plan --json -s hardware=b200 "$scenarios/strategies.yaml"
    cp "$tmp/out" "$tmp/json"
    shardsim compare --plan -s hardware=b200 "$scenarios/strategies.yaml" -o "$tmp/a.svg"
    is 0 "compare: status 0"
    silent out "compare: nothing on standard output"
    drawn "compare: bars are as long as bytes and memory are" <<'PY'
names = [x["strategy"] for x in r["results"]]
assert [w for w in p.words() if w in names] == names
bars = [b for b in p.boxes if b[0].get("fill")]
columns = [bars[i:i + len(names)] for i in range(0, len(bars), len(names))]
assert len(columns) == 4, len(bars)
figures = [[max(x["received_bytes"]["per_device"]) for x in r["results"]],
           [max(x["memory"]["peak_bytes"]) for x in r["results"]]]
for column, values in zip(columns[1:], figures):
    longest = max(w for _, _, _, w, _ in column)
    for (_, _, _, w, _), value in zip(column, values):
        assert abs(w / longest - value / max(values)) < 0.002, (w, longest, value)
PY
    cp "$tmp/a.svg" "$tmp/b.svg"
    shardsim compare --plan -s hardware=b200 "$scenarios/strategies.yaml" -o "$tmp/a.svg"
    cmp "$tmp/a.svg" "$tmp/b.svg"
    ok $? "compare: the same every time"
    shardsim compare --plan --top 1 --sort peak_memory_bytes_most "$scenarios/strategies.yaml" -o "$tmp/a.svg"
    drawn "compare: what --sort and --top leave" <<'PY'
names = {x["strategy"]: x for x in r["results"]}
least = min(names, key=lambda n: max(names[n]["memory"]["peak_bytes"]))
assert [w for w in p.words() if w in names] == [least], p.words()
PY
    shardsim compare --plan --json "$scenarios/strategies.yaml" -o "$tmp/a.svg"
    is 2 "compare: a picture is no JSON"
    shardsim compare --plan --columns pipeline_bubble,peak_memory_bytes_most "$scenarios/train_pipeline.yaml" -o "$tmp/a.svg"
    is 0 "compare: bars of the columns asked for: status 0"
    drawn "compare: bars of the columns asked for, the bubble among them" <<'PY'
assert "pipeline bubble" in p.words() and "peak memory of a device" in p.words(), p.words()
assert not any(w in p.words() for w in ("received by a device", "flops of a device"))
assert any(re.fullmatch(r"[\d.]+ %", w) for w in p.words())
PY
    shardsim compare --plan --columns mesh "$scenarios/train_pipeline.yaml" -o "$tmp/a.svg"
    is 2 "compare: a column without numbers is no bars"
    says err 'no numeric column to draw' "compare: a column without numbers is no bars: said"
    shardsim compare --plan --columns all "$scenarios/train_pipeline.yaml" -o "$tmp/a.svg"
    is 2 "compare: more columns than there is room for"
}

# A strategy beyond the limit of memory is reported, and its bar crosses the limit's line.
test_limit() {
    set -- --set limits.memory=1600KiB "$scenarios/strategies.yaml"
    shardsim compare --plan --json "$@"
    cp "$tmp/out" "$tmp/json"
    shardsim compare --plan "$@" -o "$tmp/a.svg"
    is 1 "limit: status 1"
    says err 'strategies.yaml: data: needs .* per device, more than limits.memory, 1.56 MiB' \
        "limit: what does not fit is told"
    drawn "limit: a line at the limit, and behind it what does not fit" <<'PY'
limit = 1600 * 1024
peaks = [max(x["memory"]["peak_bytes"]) for x in r["results"]]
told = [w for w in p.words() if w.endswith(", does not fit 1.56 MiB")]
assert 0 < len(told) == sum(n > limit for n in peaks) < len(peaks), told
assert "limit 1.56 MiB" in p.words()
line, = [e for e, _, _ in p.paths if "dasharray" in e.get("style", "")]
x = float(re.match(r"M([\d.]+)", line.get("d"))[1])
bars = [b for b in p.boxes if b[0].get("fill")][len(peaks):2 * len(peaks)]
for (e, _, _, w, _), n in zip(bars, peaks):
    left = float(e.get("x"))
    assert abs(w / max(peaks) - n / max(peaks) * (x - left) / limit) < 0.002 * w, (w, n)
    assert (left + w > x) == (n > limit)
title = p.words()[0]
assert "strategies" in title and "mlp" in title, title
PY
}

# program NAME: make a fake renderer that notes its arguments, draws, and exits with the status in
# $tmp/status.
program() {
    mkdir -p "$tmp/bin"
    cat >"$tmp/bin/$1" <<SH
#!/bin/sh
echo "$1" "\$@" >>"$tmp/calls"
for word; do
    case \$word in
    */a.svg) word=\${word#file://}; from=\$word ;;
    */a.png) to=\${word#*=} ;;
    esac
done
read -r status <"$tmp/status"
[ "\$status" -eq 0 ] && { echo PNG; read -r line <"\$from"; echo "\$line"; } >"\$to"
exit "\$status"
SH
    chmod +x "$tmp/bin/$1"
    echo 0 >"$tmp/status"
    : >"$tmp/calls"
}

# png TEXT STATUS: draw a mesh as PNG with only the programs of $tmp/bin and $tmp/folder for
# temporary files
png() {
    rm -rf "$tmp/folder" "$tmp/a.png"
    mkdir "$tmp/folder"
    (
        PATH=$tmp/bin TMPDIR=$tmp/folder
        export PATH TMPDIR
        "$shardsim" show mesh dp=2 -o "$tmp/a.png" >"$tmp/out" 2>"$tmp/err"
    )
    status=$?
    is "$2" "$1: status $2"
    rmdir "$tmp/folder"
    ok $? "$1: no temporary file is left"
}

test_png() {
    mkdir "$tmp/bin"
    ln -s "$(command -v ls)" "$(command -v sed)" "$tmp/bin" # libtool's wrapper script needs these programs
    png "no program" 3
    says err 'no converter for PNG is installed; expected rsvg-convert (librsvg2-bin), inkscape, ImageMagick or chromium' \
        "no program: which to install"
    for name in chromium convert inkscape rsvg-convert; do
        program $name
        png "$name" 0
        [ "$(sed -n 1p "$tmp/a.png")" = PNG ] && grep -q '^<svg ' "$tmp/a.png" && [ "$(wc -l <"$tmp/calls")" -eq 1 ] &&
            grep -q "^$name " "$tmp/calls"
        ok $? "$name: this program alone renders the SVG"
    done
    echo 7 >"$tmp/status"
    : >"$tmp/calls"
    png "programs that fail" 3
    says err 'no PNG: the converter failed' "programs that fail: said"
    [ "$(wc -l <"$tmp/calls")" -eq 4 ] && [ ! -e "$tmp/a.png" ]
    ok $? "programs that fail: each is tried, and no file written"
    if command -v rsvg-convert >/dev/null; then
        shardsim show mesh dp=2,tp=4 -o "$tmp/a.png"
        is 0 "rsvg-convert itself: status 0"
        [ "$(od -A n -t x1 -N 8 "$tmp/a.png" | tr -d ' ')" = 89504e470d0a1a0a ]
        ok $? "rsvg-convert itself: a PNG"
    else
        skip "rsvg-convert itself" "it is not installed"
    fi
}

# Positions are read off the chart's rules, one per decade.
test_roofline() {
    shardsim explain "$scenarios/llama3.yaml" -s hardware=b200 --roofline
    cp "$tmp/out" "$tmp/text"
    python3 - "$tmp/text" >"$tmp/json" <<'PY'
import json, re, sys
rows = []
for line in open(sys.argv[1]):
    m = re.match(r"(\S+).*? (\d+)  +([\d.]+) ?([kMGT]?)  +.*? ([\d.]+)  +([\d.]+) (\w+) +([\d.]+) %  (memory|compute|launch)$", line)
    if m and float(m[5]) >= 1:  # smaller figures have one digit only
        flops = float(m[3]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[m[4]]
        seconds = float(m[6]) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[m[7]]
        rows.append([m[1], float(m[5]), flops / seconds / 1e12])
json.dump(rows, sys.stdout)
PY
    shardsim explain "$scenarios/llama3.yaml" -s hardware=b200 --roofline -o "$tmp/a.svg"
    is 0 "roofline: status 0"
    drawn "roofline: discs are at the flops a byte and flops a second of the table" <<'PY'
import math
across, down = [], []
for path, _, _ in p.paths:
    m = re.match(r"M([\d.]+) ([\d.]+)([hv])", path.get("d"))
    if path.get("class") == "g" and m:
        (across if m[3] == "v" else down).append(float(m[1] if m[3] == "v" else m[2]))
tops = [float(w) for w in p.words() if re.fullmatch(r"[\d.]+(e-\d+)?", w)]
x = lambda v: across[0] + (across[1] - across[0]) * math.log10(v / 0.1)
y = lambda v: down[0] + (down[1] - down[0]) * math.log10(v / tops[len(across)])
discs = [(x, y) for _, x, y in p.markers()]
assert len(r) >= 6 and len(discs) >= len(r), (len(r), len(discs))
# Each phase of the legend has a shape of its own.
shapes = {(e.get("class"), tuple(float(n) == 0 for n in re.findall(r"[\d.]+", e.get("d", "m").split("m")[1])))
          for e, _, _ in p.markers()}
assert len(shapes) == len({c for c, _ in shapes}) == len({s for _, s in shapes}) == 4, shapes
named = 0
for name, intensity, rate in r[:6]:
    assert any(abs(x(intensity) - cx) < 3 and abs(y(rate) - cy) < 3 for cx, cy in discs), (name, x(intensity), y(rate), discs)
    named += name in p.words()
assert named >= 4 and any("1125 TFLOP/s" in w for w in p.words())
assert "memory 8000 GB/s" in p.words(), p.words()
assert numbered(p) >= 6 and any("-" in e.text for e in p.root.iter(NS + "text") if e.get("class") == "v"), p.words()
PY
    shardsim explain "$top_srcdir/docs/course/choosing.yaml" -S zero-3 --roofline -o "$tmp/a.svg"
    drawn "roofline: what is computed again is told" <<'PY'
assert "forward, recomputed" in p.words() and any(w.endswith(" again") for w in p.words() if "/" in w), p.words()
PY
    shardsim explain "$scenarios/llama_gqa_block.yaml" -s hardware=b200 -s batch.seq=8388608 --roofline -o "$tmp/a.svg"
    drawn "roofline: an axis over nine decades, in thousands and millions" <<'PY'
assert all(w in p.words() for w in "0.1 1 10 100 1000 10k 100k 1M 10M".split()), p.words()
PY
    shardsim explain "$scenarios/llama3.yaml" -o "$tmp/a.svg"
    is 2 "roofline: a lesson is no picture"
    says err 'is a picture; expected --roofline' "roofline: the option that makes a picture"
}

# The chart of a small search: planned layouts by step and memory.
test_front() {
    set -- search "$scenarios/train_zero.yaml" -S dp -s hardware=b200 -s model.d_model=4096 -s model.d_ff=16384 \
        -s model.layers=16 -s batch.size=64 -s batch.seq=512 --top 3 -q
    shardsim "$@" --picture "$tmp/a.svg"
    is 0 "front: status 0"
    sed -n '/^less memory/,/^$/s/^ *\([0-9.]* [GM]iB\)  *\([0-9.]* m*s\)  \(.*\)/\2, \1: \3/p' "$tmp/out" >"$tmp/rows"
    python3 -c 'import json, sys; json.dump([r.rstrip() for r in open(sys.argv[1])], sys.stdout)' "$tmp/rows" >"$tmp/json"
    python3 - "$tmp/json" >"$tmp/wrong" 2>&1 <<'PY'
import json, re, sys
rows = [re.match(r"(\S+) \S+, (\S+) \S+:", r).groups() for r in json.load(open(sys.argv[1]))]
assert len(rows) >= 2, rows
for (step, memory), (step2, memory2) in zip(rows, rows[1:]):
    assert float(memory2) < float(memory) and float(step2) > float(step), rows
PY
    ok $? "less memory: each row has less than the one before, by what is printed"
    tail -n 3 "$tmp/wrong" | diag
    drawn "front: the line falls, its layouts are numbered, the legend has them as the text does" <<'PY'
discs = [(e.get("fill") != "none", x, y) for e, x, y in p.markers()]
front = [d[1:] for d in discs if d[0]]
assert len(front) == len(r) and len(discs) > len(front), (front, r)
assert all(a[0] > b[0] and a[1] > b[1] for a, b in zip(front, front[1:])), front
assert max(d[2] for d in discs) == front[0][1]
assert [w for w in p.words() if w in r] == r, p.words()
wanted = [str(k + 1) for k in range(len(r))]
numbers = [w for w in p.words() if w in wanted]
assert sorted(numbers) == sorted(2 * wanted), numbers # in the chart and in the legend
assert any(w.startswith("Letters: t devices of tensor") for w in p.words())
PY
    shardsim "$@" --picture "$tmp/a.gif"
    is 2 "front: no picture's name"
}

# The frontier of a search for serving: a number for each layout of the legend, also where points
# are on one another; axes begin at 0.
test_serving() {
    set -- search "$scenarios/serve.yaml" -S both --serve -q
    shardsim "$@" --json
    cp "$tmp/out" "$tmp/json"
    shardsim "$@" --picture "$tmp/a.svg"
    is 0 "serving: status 0"
    drawn "serving: the layouts of the frontier are numbered, axes begin at 0" <<'PY'
front = ["%s, batch %d" % (x["mesh"], x["batch"]) for x in r["layouts"] if x["frontier"]]
assert len(front) > 3 and [w for w in p.words() if w in front] == front, p.words()
assert numbered(p) == len(front)
assert p.words().count("0") == 2 and "-0" not in p.words(), p.words()
PY
}

test_tree() {
    cat >"$tmp/model.yaml" <<'YAML'
embed: [1024, 512]
layers.0.mlp.up: {shape: [512, 2048], dtype: bfloat16}
layers.1.mlp.up: {shape: [512, 2048], dtype: bfloat16}
layers.0.norm: [512]
layers.1.norm: [512]
YAML
    printf '%s\n' '- [embed, [tp, null]]' '- [mlp, [dp, tp]]' '- [.*, []]' >"$tmp/rules.yaml"
    set -- show tree "$tmp/model.yaml" --rules "$tmp/rules.yaml" --mesh dp=2,tp=4
    shardsim "$@" --json
    cp "$tmp/out" "$tmp/json"
    shardsim "$@" -o "$tmp/a.svg"
    is 0 "tree: status 0"
    drawn "tree: equal layers are one row, bars are their bytes" <<'PY'
rows = [w for w in p.words() if "  [" in w]
assert rows == ["embed  [tp, null]", "layers.*.mlp.up  [dp, tp]  x2", "layers.*.norm  []  x2"], rows
bars = [b[3] for b in p.boxes if b[0].get("fill")]
leaves = r["parameters"]
most = max(leaves[0]["bytes"], leaves[1]["bytes"] + leaves[2]["bytes"])  # both columns have one scale
for at, key in ((0, "bytes"), (3, "device_bytes")):
    bytes = [leaves[0][key], leaves[1][key] + leaves[2][key], leaves[3][key] + leaves[4][key]]
    for width, n in zip(bars[at:at + 3], bytes):
        assert abs(width / max(bars) - n / most) < 0.002, (key, width, n)
PY
    shardsim "$@" --json -o "$tmp/a.svg"
    is 2 "tree: a picture is no JSON"
    shardsim "$@" -o "$tmp/a.txt"
    is 2 "tree: no picture's name"
}

test_compare
test_limit
test_tree
test_png
test_roofline
test_front
test_serving
done_testing
