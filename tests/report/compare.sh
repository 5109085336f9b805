#!/bin/sh
# Tests compare: its figures are those of run, programs of others read each of its formats, and
# sweeps run.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset NO_COLOR COLUMNS

# A smaller model keeps the executions of the shipped strategies short.
sed 's/d_model: 128, d_ff: 512/d_model: 32, d_ff: 64/; s/seq: 64/seq: 8/' "$scenarios/strategies.yaml" \
    >"$tmp/strategies.yaml"

test_figures() {
    shardsim run -q --json "$tmp/strategies.yaml"
    cp "$tmp/out" "$tmp/run"
    shardsim compare -q --seconds 0 --json --base tensor "$tmp/strategies.yaml"
    is 0 "compare --json: status 0"
    holds "compare --json: the results are those of run --json, but for times" <<PY
run = json.load(open("$tmp/run"))
assert len(run) == len(r["results"]) == len(r["strategies"]) == 5
for a, b in zip(run, r["results"]):
    for x in (a, b):
        del x["time"]
        x["figures"] = {k: v for k, v in x["figures"].items() if not k.startswith(("measured_", "replayed_"))}
        x["balance"].pop("busy_seconds")
    assert a.pop("search")["received_bytes"] <= a["received_bytes"]["total"]
    assert a == b
PY
    holds "compare --json: against the base, best and dominated by the figures" <<'PY'
assert r["schema"] == "shardsim.compare/1" and r["base"]["strategy"] == "tensor"
received = {x["strategy"]: x["received_bytes"]["total"] for x in r["results"]}
most = {x["strategy"]: max(y["value"] if isinstance(y, dict) else y
                           for y in x["received_bytes"]["per_device"]) for x in r["results"]}
rows = {x["strategy"]: x for x in r["strategies"]}
for name, row in rows.items():
    # The ratio belongs to the column beside it in the table: bytes of the device that receives
    # most.
    assert abs(row["received_bytes_ratio"] - most[name] / most["tensor"]) < 1e-12
    assert ("received_bytes" in row["best"]) == (received[name] == min(received.values()))
def criteria(x):
    return (x["devices"], x["received_bytes"]["total"], max(x["memory"]["peak_bytes"]),
            x["balance"]["flops"]["max"])
for x in r["results"]:
    others = [y["strategy"] for y in r["results"] if criteria(y) != criteria(x)
              and all(a <= b for a, b in zip(criteria(y), criteria(x)))]
    by = rows[x["strategy"]]["dominated_by"]
    assert by in others if others else by is None, (x["strategy"], by, others)
PY
    shardsim compare -q --seconds 0 --format=csv "$tmp/strategies.yaml" "$scenarios/dp_tp.yaml"
    is 0 "compare --format=csv: status 0"
    cat >"$tmp/read_csv.py" <<PY
import csv, json, sys
rows = list(csv.DictReader(open("$tmp/out", newline="")))
run = json.load(open("$tmp/run"))
assert len(rows) == 6 and rows[5]["scenario"] == "dp-tp" and rows[0]["mesh"] == "dp=2, tp=4"
for a, b in zip(run, rows):
    assert None not in b and None not in b.values()
    assert int(b["received_bytes"]) == a["received_bytes"]["total"]
    assert int(b["received_backward_bytes"]) == a["received_bytes"]["by_phase"]["backward"]
    assert int(b["collectives"]) == sum(c["count"] for c in a["collectives"])
    assert int(b["peak_memory_bytes_most"]) == max(a["memory"]["peak_bytes"])
    assert int(b["flops_most"]) == a["balance"]["flops"]["max"]
    assert float(b["flops_balance"]) == a["balance"]["flops"]["ratio"]
    assert float(b["flops_efficiency"]) == a["work"]["efficiency"]
    axes = dict(x.split("=") for x in b["received_by_axis"].split())
    assert {k: int(v) for k, v in axes.items()} == a["received_bytes"]["by_axis"]
    errors = list(a["verify"]["outputs"].values()) + list(a["verify"]["gradients"].values())
    assert float(b["largest_error"]) == max(errors) and b["verified"] == "ok"
    for key in "step busy waiting exposed_communication".split():
        assert float(b["replayed_%s_seconds" % key]) >= 0
PY
    python3 "$tmp/read_csv.py" 2>"$tmp/wrong"
    ok $? "compare --format=csv: read by Python, with the figures of run --json"
    diag <"$tmp/wrong"
}

# Two steps count as a tie by the spreads that the report prints with them.
test_noise() {
    shardsim compare -q --json --seconds 1 "$tmp/strategies.yaml"
    is 0 "--seconds: status 0"
    cp "$tmp/out" "$tmp/steady.json"
    holds "noise: ties are those within the larger spread, or 1 %, and have no winner" <<'PY'
steps = {x["strategy"]: x["time"]["replayed"] for x in r["results"]}
rows = {x["strategy"]: x for x in r["strategies"]}
for a, x in steps.items():
    assert x["step_spread"] >= 0 and x["repeats"] >= 1, x
    for b, y in steps.items():
        # Both steps are rounded to a nanosecond, so the distance from the noise limit is off by up
        # to 2 ns.
        noise = max(z["step_seconds"] * max(z["step_spread"], 0.01) for z in (x, y))
        apart = abs(x["step_seconds"] - y["step_seconds"])
        if a != b and abs(apart - noise) > 2e-9:
            assert (b in rows[a]["within_noise"]) == (apart < noise), (a, b, apart, noise)
fastest = min(steps, key=lambda n: steps[n]["step_seconds"])
best = [n for n in rows if "replayed_step_seconds" in rows[n]["best"]]
assert best == ([] if rows[fastest]["within_noise"] else [fastest]), best
PY
    shardsim compare -q --seconds 0 --json "$tmp/strategies.yaml"
    is 0 "--seconds 0: status 0"
    holds "--seconds 0: one repeat, with a spread over its devices" <<'PY'
assert all(x["time"]["replayed"]["repeats"] == 1 for x in r["results"])
assert all(x["time"]["replayed"]["step_spread"] >= 0 for x in r["results"])
PY
    # One device executed once leaves nothing to compare its time with, so the spread is unknown.
    shardsim compare -q --seconds 0 --json --set 'mesh={tp: 1}' "$scenarios/tensor_parallel.yaml"
    holds "one device and one repeat: the spread is not known" <<'PY'
assert r["results"][0]["time"]["replayed"]["step_spread"] is None
PY
    shardsim compare -q --seconds 0 --format=csv "$tmp/strategies.yaml"
    says out ',replayed_step_seconds,replayed_step_spread,' "csv: the spread is beside the step"
    shardsim compare -q --seconds 1 "$tmp/strategies.yaml"
    # The verdict may list many strategies within noise and then takes more than one line.
    tr -s ' \n' ' ' <"$tmp/out" | grep -q 'verdict: .*\(more than noise\|within noise of\)'
    ok $? "table: the verdict on steps"
    says out ' step  *spread' "table: the spread is beside the step"
    # Two copies of one strategy under different names are a tie.
    sed 's/^  - name: data$/  - {name: once-more}\n  - name: data/' "$tmp/strategies.yaml" \
        >"$tmp/twice.yaml"
    shardsim compare -q --seconds 1 "$tmp/twice.yaml" -S data-and-tensor -S once-more
    is 0 "the same strategy twice: status 0"
    tr -s ' \n' ' ' <"$tmp/out" | grep -q 'verdict: .* have equal figures'
    ok $? "the same strategy twice: neither is the fastest"
    shardsim compare -q --seconds 1 --columns=all "$tmp/twice.yaml" -S data-and-tensor -S once-more
    says out 'within noise$' "the same strategy twice: within noise of the base"
    ! grep -q 'us\*\|ms\*' "$tmp/out"
    ok $? "the same strategy twice: no time is marked"
    shardsim compare --seconds 1.5 "$tmp/strategies.yaml"
    is 2 "--seconds=1.5: status 2"
    shardsim compare --seconds -1 "$tmp/strategies.yaml"
    is 2 "--seconds=-1: status 2"
}

test_quotes() {
    sed 's/name: fsdp$/name: "a, \\"b\\" | c"/' "$scenarios/strategies.yaml" >"$tmp/names.yaml"
    shardsim compare --plan --format=csv "$tmp/names.yaml"
    cp "$tmp/out" "$tmp/names.csv"
    python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert rows[4]["strategy"] == "a, \"b\" | c", rows[4]["strategy"]' "$tmp/names.csv"
    ok $? "csv: a name with comma and quotes"
    shardsim compare --plan --format=markdown "$tmp/names.yaml"
    is 0 "markdown: status 0"
    awk '/^\|/ { gsub(/\\\|/, ""); n = gsub(/\|/, "|"); if (first && n != first) bad = 1; first = n }
        END { exit bad || !first }' "$tmp/out"
    ok $? "markdown: every row has as many cells"
}

test_screen() {
    for columns in 80 160; do
        COLUMNS=$columns shardsim compare --plan --columns=all "$scenarios/strategies.yaml"
        is 0 "table of $columns columns: status 0"
        awk -v max=$columns 'length > max { wide = 1 } END { exit wide }' "$tmp/out"
        ok $? "table of $columns columns: no line is wider"
    done
    says out '1.75x more' "table: against the base in words"
    says out '^strategies: 5 strategies, planned; 2 layers of mlp gelu' "table: what is compared"
    says out '8.00 MiB\*' "table: the best is marked"
    says out '^tensor .* data-and-tensor  ' "table: who dominates is named"
    ! grep -q "$(printf '\033')" "$tmp/out"
    ok $? "table: no colour in a file"
    shardsim compare --plan --color=always "$scenarios/strategies.yaml"
    says out "$(printf '\033')\[1;32m" "--color=always: colour in a file"
    sed "s/$(printf '\033')\[[0-9;]*m//g" "$tmp/out" >"$tmp/plain"
    shardsim compare --plan --color=never "$scenarios/strategies.yaml"
    cmp -s "$tmp/plain" "$tmp/out"
    ok $? "--color: the same text with and without"
    ! grep -q -e replayed -e measured "$tmp/out"
    ok $? "--plan: nothing replayed or measured"
    # The heading of a group is wider than the single column of the group that is left in a line.
    COLUMNS=80 shardsim compare --plan --columns=all "$scenarios/train_mixed.yaml"
    awk 'length > 80 { wide = 1 } END { exit wide }' "$tmp/out"
    ok $? "a heading wider than its column: no line is wider"
}

# By default compare prints the one table of differing columns that fits the screen; --columns asks
# for more.
test_columns() {
    COLUMNS=80 shardsim compare --plan "$scenarios/strategies.yaml"
    awk 'length > 80 { wide = 1 } /^strategy / { n++ } END { exit wide || n != 1 }' "$tmp/out"
    ok $? "columns: one table of 80 characters"
    ! grep -q efficiency "$tmp/out"
    ok $? "columns: none in which all are equal"
    shardsim compare --plan --columns=flops,received_bytes "$scenarios/strategies.yaml"
    is 0 "--columns: status 0"
    says out 'in total  *most  *balance' "--columns: a heading stands for its columns"
    shardsim compare --plan --columns=attention_balance,flops "$scenarios/ring.yaml" -S gather -S zigzag
    says out '^gather .* 0\.548 ' "attention uneven in one strategy: a column"
    says out '^attention: the balance of the flops of attention alone$' "attention that is uneven: what the column is"
    ! grep -q '^experts' "$tmp/out"
    ok $? "attention that is uneven: no note on a column that is not there"
    shardsim compare --plan --columns=attention_balance,flops "$scenarios/ring.yaml" -S zigzag
    ! grep -q ' attention \|^attention, ' "$tmp/out"
    ok $? "attention even in all strategies: no column"
    shardsim compare --plan --columns=recieved_bytes "$scenarios/strategies.yaml"
    is 2 "--columns of no column: status 2"
    says err "did you mean 'received_bytes" "--columns: what was meant"
    shardsim compare --plan --columns= "$scenarios/strategies.yaml"
    is 2 "--columns of nothing: status 2"
    shardsim compare --plan --format=csv --sort peak_memory_bytes_most --top 3 "$scenarios/strategies.yaml"
    [ "$(cut -d, -f2 "$tmp/out" | tr '\n' ' ')" = "strategy tensor-sequence data-and-tensor tensor " ]
    ok $? "--sort and --top: the three of least peak memory, in order"
    shardsim compare --plan --sort mesh "$scenarios/strategies.yaml"
    is 2 "--sort by words: status 2"
    shardsim compare --plan --top 0 "$scenarios/strategies.yaml"
    is 2 "--top 0: status 2"
}

# The verdict names the winner, its lead and what the winner costs, by the figures printed with it.
test_verdict() {
    shardsim compare --plan --json "$scenarios/strategies.yaml"
    holds "verdict: the fewest bytes of a device, and how many fewer" <<'PY'
received = {x["strategy"]: max(y["value"] if isinstance(y, dict) else y
                               for y in x["received_bytes"]["per_device"]) for x in r["results"]}
order = sorted(received, key=received.get)
share = 100 * (1 - received[order[0]] / received[order[1]])
assert r["verdict"].startswith(order[0] + " receives the fewest bytes"), r["verdict"]
assert "%.0f %% fewer" % share in r["verdict"], (share, r["verdict"])
PY
    shardsim compare --plan --json "$scenarios/models/llama3-8b.yaml"
    holds "verdict: the fastest on a cluster, why, and what it costs" <<'PY'
steps = {x["strategy"]: x["time"]["modelled"]["step_seconds"] for x in r["results"]}
peaks = {x["strategy"]: x["balance"]["peak_memory"]["max"] for x in r["results"]}
a, b = sorted(steps, key=steps.get)[:2]
v = r["verdict"]
assert v.startswith(a + " has the fastest modelled step: "), v
assert "%.0f %% less than %s" % (100 * (1 - steps[a] / steps[b]), b) in v, v
assert "as its exposed communication takes" in v, v
assert " and its computations take less time. " in v, v # the other half of the gap
assert "It costs %.2fx the peak memory" % (peaks[a] / peaks[b]) in v, v
PY
    # The verdict says when the winner needs slightly more memory, and the table shows the deciding
    # column.
    cat >"$tmp/zero.yaml" <<'YAML'
version: 1
mesh: {dp: 4}
model: {kind: mlp, d_model: 64, d_ff: 256, layers: 2}
batch: {size: 512, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.01}
params: [[.*, []]]
axes: {batch: dp}
hardware: b200
strategies:
  - {name: no-zero-under-a-name-that-takes-room}
  - {name: zero-1, zero: {stage: 1, axis: dp}}
YAML
    shardsim compare --plan --json "$tmp/zero.yaml"
    holds "verdict: what the winner has more of, and no claim that it has not" <<'PY'
v, (a, b) = r["verdict"], sorted(r["results"], key=lambda x: x["time"]["modelled"]["step_seconds"])
for x in (a, b):
    x["peak"] = max(x["memory"]["peak_bytes"])
more = a["peak"] / b["peak"] - 1
assert 0 < more < 0.05, more
assert "needs %.1f %% more memory than %s (" % (100 * more, b["strategy"]) in v, v
assert "no more memory" not in v, v
PY
    # Steps closer than the error of the model are a tie: the error on this cluster if it was
    # measured, else the largest error on any measured cluster.
    lesson=$top_srcdir/docs/course/choosing.yaml
    shardsim compare --plan --json "$lesson" -S zero-1 -S zero-3
    holds "verdict: no winner within the error of clusters that were measured" <<'PY'
v = r["verdict"]
assert "not validated on this cluster; on validated clusters errors reached 17 %" in v and "none wins by time" in v, v
assert "is the fastest" not in v, v
assert [len(x["within_model_error"]) for x in r["strategies"]] == [1, 1]
assert not any("modelled_step_seconds" in x["best"] for x in r["strategies"])
PY
    cat >"$tmp/measured.yaml" <<'YAML'
version: 1
hardware: a100-80g-selene
mesh: {dp: 8, tp: 8}
model: {kind: gpt2, d_model: 12288, d_ff: 49152, heads: 96, layers: 12, vocab: 51200, positions: 2048, dtype: bfloat16, attention: unfused}
batch: {size: 64, seq: 2048}
step: [forward, backward, update]
params: [['(q|k|v|up)/kernel', [null, tp]], ['(o|down)/kernel', [tp]], [.*, []]]
axes: {batch: dp}
strategies:
  - {name: plain, optimizer: {kind: adamw}}
  - {name: clipped, optimizer: {kind: adamw, clip: 1}}
YAML
    shardsim compare --plan --json "$tmp/measured.yaml"
    holds "verdict: of a measured cluster, by its own error" <<'PY'
error = r["results"][0]["time"]["modelled"]["expected_error"]
assert "within the model's error of each other (%.2g %%)" % (100 * error) in r["verdict"], (error, r["verdict"])
PY
    # Flops that differ only beyond the three printed digits are marked as best on no row or on all
    # rows.
    shardsim compare --plan --set batch.size=256 --columns flops_most "$tmp/zero.yaml"
    [ "$(grep -c ' 384 M$' "$tmp/out")" -eq 2 ]
    ok $? "marks: of values that show the same none is marked"
    COLUMNS=52 shardsim compare --plan "$tmp/zero.yaml"
    says out "modelled\$" "verdict: the column that decides is in the narrowest table"
    shardsim compare --plan --set limits.memory=1600KiB -S data -S data-and-tensor \
        "$scenarios/strategies.yaml"
    says out '^verdict: data-and-tensor is the only strategy that is correct and fits' \
        "verdict: one fits"
    shardsim compare --plan --set limits.memory=1KiB "$scenarios/strategies.yaml"
    tr -s ' \n' ' ' <"$tmp/out" | grep -q 'verdict: no strategy is correct and fits; [a-z-]* needs the least memory'
    ok $? "verdict: none fits"
    says out 'MiB\*' "none fits: the best are marked still"
}

test_output() {
    for ending in txt md csv json; do
        shardsim compare --plan -o "$tmp/table.$ending" "$scenarios/strategies.yaml"
        is 0 "-o table.$ending: status 0"
        silent out "-o table.$ending: nothing on standard output"
        [ -s "$tmp/table.$ending" ]
        ok $? "-o table.$ending: written"
    done
    python3 -m json.tool "$tmp/table.json" >"$tmp/out"
    ok $? "-o table.json: JSON"
    grep -q '^|:--' "$tmp/table.md" && grep -q '^scenario,strategy,' "$tmp/table.csv"
    ok $? "-o: the format is that of the ending"
    shardsim compare --plan -o "$tmp/table.pdf" "$scenarios/strategies.yaml"
    is 2 "-o of no known ending: status 2"
    shardsim compare --plan -o "$tmp/none/table.md" "$scenarios/strategies.yaml" -s batch.size=3
    is 3 "-o in a folder that is not there: status 3, whatever else is wrong"
    shardsim compare --plan --format=word "$scenarios/strategies.yaml"
    is 2 "--format=word: status 2"
    shardsim compare --plan --color=blue "$scenarios/strategies.yaml"
    is 2 "--color=blue: status 2"
    shardsim compare --plan --base tensr "$scenarios/strategies.yaml"
    is 2 "--base of no strategy: status 2"
    says err "no strategy 'tensr' to compare with; did you mean 'tensor'?" "--base: what was meant"
    silent out "--base of no strategy: nothing written"
    shardsim compare --plan --base dp-tp "$scenarios/fsdp.yaml" "$scenarios/dp_tp.yaml"
    is 0 "--base: a scenario's name"
}

test_limits() {
    shardsim compare -q --seconds 0 --set limits.memory=1700KiB "$scenarios/strategies.yaml"
    is 1 "some do not fit: status 1"
    says out ' NO  ' "some do not fit: said in the table"
    shardsim compare --set 'mesh={tp: 2048}' --set 'model.d_ff=2048' --set layers=1 \
        "$scenarios/tensor_parallel.yaml"
    is 2 "an option that is not there: status 2"
    shardsim compare --set 'mesh={tp: 2048}' --set model.d_ff=2048 "$scenarios/tensor_parallel.yaml"
    is 0 "too many devices to execute: status 0"
    says err 'planned, not executed: default has more than 1024 devices' \
        "too many devices to execute: planned, and said"
    ! grep -q replayed "$tmp/out"
    ok $? "too many devices to execute: nothing replayed"
}

# Batches of another size, and a vocabulary that is padded, compare by the time of a token; other
# models do not.
test_by_token() {
    cat >"$tmp/tokens.yaml" <<YAML
version: 1
name: tokens
hardware: h100-sxm
mesh: {dp: 2}
model: {kind: llama3, d_model: 512, d_ff: 1024, layers: 2, heads: 8, vocab: 5000, dtype: bfloat16}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
axes: {batch: dp}
strategies:
  - {name: small, batch: {size: 2, seq: 256}}
  - {name: large, batch: {size: 16, seq: 256}}
  - {name: padded, batch: {size: 16, seq: 256}, model: {vocab: 5120}}
YAML
    shardsim compare --plan "$tmp/tokens.yaml"
    tr -s ' \n' ' ' <"$tmp/out" |
        grep -q 'By the modelled time of a token, large is the fastest: [0-9.]* [mun]s, [0-9.]* % less than padded'
    ok $? "batches and a padded vocabulary: the time of a token"
    sed 's/5120/6000/' "$tmp/tokens.yaml" >"$tmp/models.yaml"
    shardsim compare --plan "$tmp/models.yaml"
    says out 'vocab 6000): no winner' "another vocabulary: no winner"
}

# Files whose models differ: headings do not touch each other, and the report says what each file
# computes.
test_several_files() {
    COLUMNS=80 shardsim compare --plan "$scenarios/block_fsdp.yaml" "$scenarios/block_2d.yaml" \
        "$scenarios/block_dp_tp.yaml"
    is 0 "several files: status 0"
    says out '^warning: these differ in more than the layout (2 layers of block gelu, batch' \
        "several files: a warning, with what differs"
    says out '^verdict: these differ in more than the layout' "several files: no winner"
    says out '^  block-2d: 1 layer of block gelu' "several files: the model of each"
    grep -q 'best of its column\|[0-9]\*\|[0-9]x ' "$tmp/out"
    [ $? -eq 1 ]
    ok $? "several files: neither a best nor a ratio across models"
    shardsim compare --plan --format=csv "$scenarios/block_fsdp.yaml" "$scenarios/block_2d.yaml"
    python3 - "$tmp/out" <<'PY'
import csv, sys
base, other = csv.DictReader(open(sys.argv[1]))
assert base["received_bytes_ratio"] == "1.0" and other["received_bytes_ratio"] == "", other
PY
    ok $? "several files: no ratio in CSV"
    COLUMNS=46 shardsim compare --plan --columns=all "$scenarios/block_fsdp.yaml" "$scenarios/block_2d.yaml"
    ! grep -q 'the base [a-z]' "$tmp/out"
    ok $? "several files: no heading touches the next"
    says out 'the base  *bytes received\|the base$' "several files: headings are there"
}

# A file and its edited copy have the same scenario name, so the report tells them apart by file.
test_namesakes() {
    cp "$scenarios/fsdp.yaml" "$tmp/mine.yaml"
    sed 's/fsdp: 8/fsdp: 4/' "$tmp/mine.yaml" >"$tmp/best.yaml"
    program=$(realpath "$shardsim")
    (cd "$tmp" && "$program" compare --plan mine.yaml best.yaml --base best.yaml) >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "two files of one name: status 0"
    says out "^best.yaml .* base " "two files of one name: the base by its file"
    says out "^verdict: best.yaml " "two files of one name: the verdict names a file"
}

test_sweep() {
    small_size && return 0 # forty runs are too slow there, like the runs of tests/steps/scenarios.sh
    sampled 4 || return 0
    shardsim compare --seconds 0 --json "$scenarios/sweep.yaml"
    is 0 "a sweep: status 0"
    holds "a sweep: 40 strategies on 8 to 64 devices, all right" <<'PY'
assert len(r["results"]) == 40 == len({x["strategy"] for x in r["results"]})
assert {x["devices"] for x in r["results"]} == {8, 16, 32, 64}
assert all(x["verify"]["ok"] for x in r["results"])
assert len(r["skipped"]) == 6 and all("does not divide" in x["why"] for x in r["skipped"])
PY
    says err 'skipped tensor-dp1-tp32: .* does not divide into 32 shards' "a sweep: skipped and said"
    sed 's/tp: \[1, 2, 4, 8/tp: [3, 2, 4, 8/; s/devices: .*/devices: 3/' "$scenarios/sweep.yaml" |
        sed '/^    data:/,/axes/d' >"$tmp/sweep.yaml"
    shardsim compare "$tmp/sweep.yaml"
    is 2 "a sweep of which nothing divides: status 2"
    says err 'no strategy of the sweep has divisible sizes' "a sweep of which nothing divides: said"
    sed 's/mlp\/up\/kernel/mlp\/upp\/kernel/' "$scenarios/sweep.yaml" >"$tmp/sweep.yaml"
    shardsim compare "$tmp/sweep.yaml"
    is 2 "a sweep with a rule that matches nothing: status 2"
}

test_figures
test_noise
test_quotes
test_screen
test_columns
test_verdict
test_output
test_by_token
test_several_files
test_namesakes
test_limits
test_sweep
done_testing
