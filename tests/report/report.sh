#!/bin/sh
# Tests report: a self-contained page whose figures are those of run and plan, usable by eye,
# keyboard and screen reader, with any names.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/begin.py" <<PY
import json, sys
sys.path.insert(0, "$top_srcdir/tests/support")
sys.dont_write_bytecode = True
from page import Page
p = Page("$tmp/page.html")
p.check()
try:
    r = json.load(open("$tmp/json"))
    r = r if isinstance(r, list) else [r]
except FileNotFoundError:
    r = []
PY

# page TEXT: the Python on stdin finds nothing wrong with the page `p` and the results `r`.
page() {
    cat "$tmp/begin.py" - >"$tmp/check.py"
    python3 "$tmp/check.py" >"$tmp/wrong" 2>&1
    ok $? "$1"
    [ ! -s "$tmp/wrong" ] || tail -n 3 "$tmp/wrong" | diag
}

# A Python with the module html5lib, if any is installed.
html5lib=
for python in python3 /usr/bin/python3; do
    if [ -z "$html5lib" ] && "$python" -c 'import html5lib' 2>/dev/null; then
        html5lib=$python
    fi
done

# faults FILE: write the validators' complaints to $tmp/wrong.  This tidy does not know yet that a
# summary may contain a heading.
faults() {
    {
        tidy -q -e --show-warnings yes --drop-empty-elements no "$1" 2>&1 |
            grep -v -e 'missing </summary> before <h2>' -e 'discarding unexpected </summary>'
        "$html5lib" - "$1" <<'PY'
import sys, html5lib
parser = html5lib.HTMLParser()
parser.parse(open(sys.argv[1], "rb"))
for (line, column), fault, _ in parser.errors:
    print("line %d column %d - %s" % (line, column, fault))
PY
    } >"$tmp/wrong" 2>&1
}

# valid TEXT: the page is valid HTML.
valid() {
    if ! command -v tidy >/dev/null || [ -z "$html5lib" ]; then
        skip "$1: valid HTML" "no tidy or no python3-html5lib"
        return
    fi
    faults "$tmp/page.html"
    [ ! -s "$tmp/wrong" ]
    ok $? "$1: valid HTML"
    head -n 3 "$tmp/wrong" | diag
}

# result COMMAND ARGUMENT...: the results whose figures the page must have
result() {
    shardsim "$@" -q --json
    cp "$tmp/out" "$tmp/json"
}

# figures TEXT: each strategy of the page has the figures of its result.
figures() {
    page "$1: each strategy, its traffic, memory and collectives" <<'PY'
table = [n for n in p.root.all("table") if n.attrs.get("id") == "table"][0]
names = [row.all("th")[0].text() for row in table.all("tbody")[0].all("tr")]
assert len(names) == len(p.strategies) == len(r)
assert [s.all("h2")[0].text() for s in p.strategies] == names
assert all(x["strategy"] in n or n in x["scenario"] for x, n in zip(r, names)), names
for i, x in enumerate(r):
    total, cells = p.heat(i)
    assert total == sum(b for _, _, b in cells) == x["received_bytes"]["total"]
    peaks = [int(f.attrs["data-peak"]) for f in p.section(i, "memory").all("figure")]
    each = x["memory"]["peak_bytes"]
    assert max(peaks) == max(v["value"] if isinstance(v, dict) else v for v in each)
    rows = p.section(i, "collectives").all("tr")[1:]
    assert len(rows) == len(x["collectives"])
    for row, c in zip(rows, x["collectives"]):
        cells = row.all("td")
        assert cells[1].text() == c["op"] and cells[2].text() == ",".join(c["axes"])
        assert int(cells[4].attrs["data-v"]) == c["count"]
        assert int(cells[6].attrs["data-v"]) == c["received_bytes"]
        assert cells[9].text() == c["why"] != ""
PY
}

test_executed() {
    result run "$scenarios/strategies.yaml" -S data-and-tensor -S fsdp
    shardsim report -q -o "$tmp/page.html" "$scenarios/strategies.yaml" -S data-and-tensor -S fsdp
    is 0 "executed: status 0"
    silent out "executed: nothing on standard output"
    figures "executed"
    valid "executed"
    page "executed: eight devices from device to device, over time, and in the mesh" <<'PY'
for i in range(len(r)):
    _, cells = p.heat(i)
    if r[i]["strategy"] == "data-and-tensor":
        assert len(cells) == 64
        heads = [th.text().strip() for th in p.section(i, "heat").all("th")]
        assert heads[1:] == [str(d) for d in range(8)] * 2, heads
        assert [sum(b for to, _, b in cells if to == d) for d in range(8)] == r[i]["received_bytes"]["per_device"]
    else:
        assert "Each of the 8 devices receives" in p.section(i, "heat").text()
    lanes = p.section(i, "when").all("li")
    assert len(lanes) == 8 and "replayed" in p.section(i, "when").text()
    step = int(p.section(i, "when").all("ul")[0].attrs["data-step-ns"])
    assert step > 0
    for lane in lanes:
        bars = lane.all("rect")
        assert any("c" in b.classes() for b in bars) and any("f" in b.classes() for b in bars)
        for b in bars:
            assert 0 <= float(b.attrs["x"]) and float(b.attrs["x"]) + float(b.attrs["width"]) < 1000.2
    ids = [td.text() for td in p.section(i, "mesh").all("td")]
    assert ids == [str(d) for d in range(8)]
PY
    page "executed: no markup is shown as text" <<'PY'
for i in range(len(r)):
    for part in ("heat", "when", "memory", "collectives", "mesh"):
        words = p.section(i, part).text()
        assert "<" not in words and "\\n" not in words, words
PY
    page "executed: cells that read the same have the same colour" <<'PY'
colours = {}
for td in p.section(0, "heat").all("td"):
    if "data-b" in td.attrs:
        colours.setdefault(td.text(), set()).update(td.classes())
assert colours and all(len(c) == 1 for c in colours.values()), colours
PY
    page "executed: the verdict comes first, and says who is right" <<'PY'
verdict = p.root.all("p", class_="verdict")[0].text()
assert "Agrees with the unsharded computation: data-and-tensor, fsdp." in verdict
assert verdict[0] != " " and ".." not in verdict, verdict
best = min(r, key=lambda x: x["received_bytes"]["total"])["strategy"]
assert "Fewest bytes received: " + best in verdict, verdict
assert p.source.index('class=verdict') < p.source.index("<table")
PY
}

# small_page TEXT: the page can be sent by mail.
small_page() {
    [ "$(wc -c <"$tmp/page.html")" -lt 400000 ]
    ok $? "$1: less than 400 KB"
}

# The page opens on what wins, with bars; what ties is said to, and what is alike is a sentence.
test_glance() {
    result plan "$scenarios/strategies.yaml" -s hardware=h100-sxm
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/strategies.yaml" -s hardware=h100-sxm
    page "glance: from the fastest on, bars as long as the figures, ties said" <<'PY'
table = p.root.all("table", class_="glance")[0]
rows = {row.all("a")[0].text(): row for row in table.all("tbody")[0].all("tr")}
steps = {x["strategy"]: x["time"]["modelled"]["step_seconds"] for x in r}
assert list(rows) == sorted(steps, key=steps.get), list(rows)
assert p.source.index("class=glance") < p.source.index("id=table")
bars = {n: [float(i.attrs["style"][6:-1]) for i in row.all("i")] for n, row in rows.items()}
peaks = {x["strategy"]: max(x["memory"]["peak_bytes"]) for x in r}
for n, (step, *_, peak) in bars.items():
    assert abs(step / 100 - steps[n] / max(steps.values())) < 0.001
    assert abs(peak / 100 - peaks[n] / max(peaks.values())) < 0.001
badges = {n: "".join(b.text() for b in row.all("span", class_="badge")) for n, row in rows.items()}
verdict = p.root.all("p", class_="verdict")[0].text()
tied = verdict.split(" have the fastest modelled steps")[0].split(", ")
assert len(tied) > 1 and {n for n, b in badges.items() if b == "ties for the fastest"} == set(tied), (tied, badges)
assert not any(b for n, b in badges.items() if n not in tied)
PY
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/strategies.yaml" --set limits.memory=1600KiB
    page "glance: what does not fit comes last, and is told" <<'PY'
rows = p.root.all("table", class_="glance")[0].all("tbody")[0].all("tr")
badges = ["".join(b.text() for b in row.all("span", class_="badge")) for row in rows]
assert badges[0] == "fewest bytes" and badges[-2:] == 2 * ["does not fit"], badges
PY
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/train_pipeline.yaml" -s hardware=h100-sxm
    small_page "seven pipelines"
    page "glance: of many strategies the winner is open" <<'PY'
first = p.root.all("table", class_="glance")[0].all("tbody")[0].all("a")[0].text()
assert [s.all("h2")[0].text() for s in p.strategies if "open" in s.attrs] == [first]
PY
    result plan "$scenarios/fsdp.yaml" -s mesh.fsdp=64 -s batch.size=64
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/fsdp.yaml" -s mesh.fsdp=64 -s batch.size=64
    small_page "a matrix of one value"
    figures "a matrix of one value"
    page "a matrix of one value is a sentence" <<'PY'
heat = p.section(0, "heat")
assert not heat.all("td") and "Each of the 64 devices receives 32.0 KiB from each other one" in heat.text(), heat.text()
PY
    result plan "$scenarios/dp_tp.yaml" -s mesh.dp=4 -s mesh.tp=8
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/dp_tp.yaml" -s mesh.dp=4 -s mesh.tp=8
    figures "a matrix by axes"
    page "a matrix by axes is a row each" <<'PY'
rows = [[c.text() for c in row.children if hasattr(c, "tag")] for row in p.section(0, "heat").all("tr")[1:]]
assert [row[:2] for row in rows] == [["all others along tp", "7"], ["all others along dp", "3"]], rows
PY
    sed 's/^name: .*/name: again/' "$scenarios/block_1024_devices.yaml" >"$tmp/again.yaml"
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/block_1024_devices.yaml" \
        "$tmp/again.yaml" "$scenarios/train_pipeline.yaml" "$scenarios/llama3.yaml" -s hardware=h100-sxm
    small_page "heat maps of 1024 devices twice, and more: with less detail"
    page "patterns: each phase and each kind of memory has its own" <<'PY'
marks = {n.attrs["id"]: n.all("path")[-1].attrs["d"] for n in p.root.all("pattern")}
used = {n.attrs["fill"][5:-1] for n in p.root.walk() if n.attrs.get("fill", "").startswith("url(#m")}
assert len(used) >= 4 and len({marks[u] for u in used}) == len(used), used
style = p.root.all("style")[0].text()
assert "fill: url(#pb)" in style and "fill: url(#pu)" in style and marks["pb"] != marks["pu"]
PY
}

test_pipeline() {
    result plan "$scenarios/train_pipeline.yaml" -s hardware=h100-sxm
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/train_pipeline.yaml" \
        -s hardware=h100-sxm
    is 0 "pipelines, planned: status 0"
    cp "$tmp/page.html" "$tmp/first.html"
    figures "pipelines"
    valid "pipelines"
    page "pipelines: a lane for each class, a picture for each rank, times as planned" <<'PY'
for i, x in enumerate(r):
    mesh = dict(x["mesh"])
    assert len(p.section(i, "memory").all("figure")) == mesh.get("pp", 1)
    assert mesh.get("pp", 1) <= len(p.section(i, "when").all("li")) <= x["devices"]
    step = int(p.section(i, "when").all("ul")[0].attrs["data-step-ns"])
    assert abs(step * 1e-9 - x["time"]["modelled"]["step_seconds"]) < 1e-9
PY
    page "pipelines: what the cluster is, how far to trust it, and whether it fits" <<'PY'
for i in range(len(r)):
    words = p.section(i, "cluster").text()
    assert "a step on h100-sxm" in words and "accuracy unknown" in words, words
    assert "of 79.6 GiB, including the runtime's: fits" in words, words
    labels = [n.text() for n in p.section(i, "cluster").all("dt")]
    assert labels[:5] == ["modelled", "bound by", "compute", "exposed", "waiting"], labels
    assert len(labels) == len(p.section(i, "cluster").all("dd")), labels
PY
    page "pipelines: what bounds each kind of layer, and all of them are the step but for waiting" <<'PY'
for i, x in enumerate(r):
    rows = p.section(i, "layers").all("tbody")[0].all("tr")
    t = x["time"]["modelled"]
    names = [row.all("th")[0].text() for row in rows]
    assert {"layers/*/attn", "layers/*/mlp", "embed", "head", "loss", "optimizer"} & set(names), names
    ns = [[int(td.attrs["data-v"]) for td in row.all("td")[:5]] for row in rows]
    want = t["step_seconds"] - t["waiting_seconds"]
    assert abs(sum(map(sum, ns)) * 1e-9 - want) < 1e-6 * want, (ns, want)
    for row, times in zip(rows, ns):
        assert row.all("td")[7].text() == ("compute", "memory", "launch", "tiles", "network")[times.index(max(times))]
PY
    page "pipelines: the columns of the verdict come first, and each is there once" <<'PY'
table = [n for n in p.root.all("table") if n.attrs.get("id") == "table"][0]
heads = [th.text() for th in table.all("thead")[0].all("th")]
assert heads[:2] == ["strategy", "modelled: step"], heads
assert "peak memory: most" in heads[:7] and len(set(heads)) == len(heads), heads
PY
    page "pipelines: pictures of memory have one scale, with ticks of round sizes" <<'PY'
import re
for i, x in enumerate(r):
    section = p.section(i, "memory")
    ticks, scale = [], []
    for figure in section.all("figure"):
        marks = figure.all("div", class_="marks")[0].all("span")
        ticks.append([(m.text(), m.attrs["style"]) for m in marks])
        top = min(float(y) for path in figure.all("path") if path.attrs.get("fill")
                  for y in re.findall(r"V([0-9.]+)", path.attrs["d"]))
        scale.append(int(figure.attrs["data-peak"]) / (100 - top))
    assert len(ticks[0]) >= 3 and all(t == ticks[0] for t in ticks), ticks
    assert max(scale) / min(scale) < 1.01, scale
    of = float(ticks[0][1][1].split(":")[1].rstrip("%"))
    size, unit = ticks[0][1][0].split()
    size = float(size) * 1024 ** ["B", "KiB", "MiB"].index(unit)
    assert abs(size / of / scale[0] - 1) < 0.02, (size, of, scale)
PY
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/train_zero.yaml" -S dp \
        -s batch.size=32 -s batch.microbatches=4
    page "microbatches that are like the second: it is said" <<'PY'
assert "Two of 4 microbatches are shown" in p.section(0, "memory").text()
PY
    shardsim report -q --plan "$scenarios/train_pipeline.yaml" -s hardware=h100-sxm
    cmp -s "$tmp/out" "$tmp/first.html"
    ok $? "the same page every time, also on standard output"
}

test_many() {
    result plan "$scenarios/block_1024_devices.yaml"
    holds "1024 devices, by classes: each device once, the first of each in order, each value once" <<'PY'
for rows in r["received_bytes"]["per_device"], r["memory"]["peak_bytes"], r["flops"]:
    firsts = [x["first"] for x in rows]
    assert sum(x["devices"] for x in rows) == 1024 and firsts[0] == 0 and firsts == sorted(set(firsts)), rows
    assert len({x["value"] for x in rows}) == len(rows), rows
total = r["received_bytes"]
assert sum(x["devices"] * x["value"] for x in total["per_device"]) == total["total"], total
PY
    began=$(date +%s%N)
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/block_1024_devices.yaml" \
        -s hardware=h100-sxm
    took=$((($(date +%s%N) - began) / 1000000))
    is 0 "1024 devices: status 0"
    if small_size; then
        skip "1024 devices: within three seconds" "sanitizers take their time"
    else
        [ "$took" -lt 3000 ]
        ok $? "1024 devices: within three seconds"
    fi
    small_page "1024 devices"
    figures "1024 devices"
    valid "1024 devices"
    page "1024 devices: 64 by 64 cells, and every device in the mesh" <<'PY'
_, cells = p.heat(0)
assert len(cells) == 64 * 64
heads = [th.text().strip() for th in p.section(0, "heat").all("th")]
assert heads[1:] == ["%d\u2013%d" % (d, d + 15) for d in range(0, 1024, 16)] * 2, heads
assert [int(td.text()) for td in p.section(0, "mesh").all("td")] == list(range(1024))
assert "Colours are places along" in p.section(0, "mesh").text()
assert len(p.section(0, "when").all("li")) == 2
PY
    result plan "$scenarios/fsdp.yaml" -s mesh.fsdp=4096 -s batch.size=4096 -s model.d_model=4096 \
        -s model.d_ff=4096
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/fsdp.yaml" -s mesh.fsdp=4096 \
        -s batch.size=4096 -s model.d_model=4096 -s model.d_ff=4096
    is 0 "4096 devices: status 0"
    figures "4096 devices, by classes"
    valid "4096 devices"
    result plan "$scenarios/sweep.yaml"
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/sweep.yaml"
    is 0 "a sweep: status 0"
    [ "$(wc -c <"$tmp/page.html")" -lt 2000000 ]
    ok $? "a sweep: less than 2 MB"
    figures "a sweep"
}

# Names may contain any characters that a scenario accepts.
test_names() {
    sed -e "s|^name: .*|name: 'a<script>alert(1)</script>\&amp;'|" \
        -e "s|name: tensor-sequence|name: '\"><img src=x onerror=alert(1)>'|" \
        "$scenarios/strategies.yaml" >"$tmp/names.yaml"
    result plan "$tmp/names.yaml"
    shardsim report -q --plan -o "$tmp/page.html" "$tmp/names.yaml"
    is 0 "names like tags: status 0"
    figures "names like tags"
    valid "names like tags"
    page "names like tags are text" <<'PY'
assert len(p.root.all("script")) == 1 and not p.root.all("img")
assert p.root.all("h1")[0].text() == "a<script>alert(1)</script>&amp;"
assert p.root.all("title")[0].text().startswith("a<script>alert(1)</script>&amp; ")
assert p.strategies[3].all("h2")[0].text() == '"><img src=x onerror=alert(1)>'
PY
    printf '%s\n' 'version: 1' 'name: odd' 'mesh: {"d<b>p": 2}' 'batch: {size: 4, seq: 8}' \
        'model: {kind: mlp, d_model: 8, d_ff: 16, layers: 1}' 'step: [forward, backward]' \
        'axes: {batch: "d<b>p"}' >"$tmp/axes.yaml"
    shardsim report -q --plan -o "$tmp/page.html" "$tmp/axes.yaml"
    is 2 "axes like tags are no names"
}

test_limits() {
    result plan "$scenarios/tensor_parallel.yaml" -s limits.memory=3MiB
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/tensor_parallel.yaml" \
        -s limits.memory=3MiB
    is 0 "a limit: status 0"
    page "a limit near the peak is a line; a plan without a cluster has no times" <<'PY'
assert len(p.section(0, "memory").all("line")) == 1
assert "times of a plan need a cluster" in p.section(0, "when").text()
PY
    shardsim report -q --plan -o "$tmp/page.html" "$scenarios/tensor_parallel.yaml" \
        -s limits.memory=1MiB
    is 1 "what does not fit: status 1"
    valid "what does not fit"
    page "what does not fit is told first" <<'PY'
verdict = p.root.all("p", class_="verdict")[0].text()
assert "Does not fit its memory limit: " in verdict, verdict
PY
}

# The validators find planted faults.
test_invalid() {
    if ! command -v tidy >/dev/null || [ -z "$html5lib" ]; then
        skip "faults are found" "no tidy or no python3-html5lib"
        return
    fi
    sed 's/<caption>/<caption><div>/; s/<h1>/<h1 align=left>/' "$tmp/page.html" >"$tmp/faults.html"
    faults "$tmp/faults.html"
    says wrong 'Warning: .*"align"' "an attribute that is no more is found"
    says wrong ' - expected-\| - unexpected-' "a tag that is not ended is found"
}

test_errors() {
    shardsim report
    is 2 "no scenario: status 2"
    shardsim report -q --plan -o "$tmp/none/page.html" "$scenarios/tensor_parallel.yaml" -s mesh.tp=3
    is 3 "no such folder: status 3, whatever else is wrong"
    says err 'none/page.html' "no such folder: the path"
    shardsim report -q --plan -S none "$scenarios/strategies.yaml"
    is 2 "no such strategy: status 2"
    silent out "no such strategy: no page"
}

if ! command -v python3 >/dev/null; then
    skip "all" "no python3"
    done_testing
    exit 0
fi
test_executed
test_glance
test_pipeline
test_many
test_names
test_limits
test_invalid
test_errors
done_testing
