#!/bin/sh
# Tests trace: well-formed trace events whose times, bytes and memory are those of run and plan.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/begin.py" <<PY
import collections, json
t = json.load(open("$tmp/trace.json"))
x = json.load(open("$tmp/json"))
events = t["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
slices = collections.defaultdict(list)
for e in events:
    if e["ph"] == "X":
        slices[e["pid"], e["tid"]].append(e)
flows = {ph: {e["id"]: e for e in events if e["ph"] == ph} for ph in "sf"}
counters = collections.defaultdict(list)
for e in events:
    if e["ph"] == "C":
        counters[e["name"], e["pid"]].append(e["args"]["bytes"])
def ns(us):
    return round(us * 1000)
def spread(values):
    """A value for each device, of a list by device or by class."""
    out = {}
    for i, v in enumerate(values):
        if isinstance(v, dict):
            out[v["first"]] = (v["value"], v["devices"])
        else:
            out[i] = (v, 1)
    return out
PY

# trace TEXT: the Python on stdin finds nothing wrong with the trace `t` and the result `x`.
trace() {
    cat "$tmp/begin.py" - >"$tmp/check.py"
    python3 "$tmp/check.py" >"$tmp/wrong" 2>&1
    ok $? "$1"
    [ ! -s "$tmp/wrong" ] || tail -n 3 "$tmp/wrong" | diag
}

# form TEXT: properties that every trace has
form() {
    trace "$1: as viewers want it" <<'PY'
at = [e["ts"] for e in events if e["ph"] != "M"]
assert at == sorted(at) and at[0] >= 0 and slices
assert all(e["ph"] in "MXsfC" for e in events)
first = [e["ph"] for e in events].index("X")
assert all(e["ph"] == "M" for e in events[:first] if e["ph"] not in "CX")
assert all(e["ph"] != "M" for e in events[first:])
tids = [tid for _, tid in threads]
assert len(tids) == len(set(tids))
for key, each in slices.items():
    assert key in threads and key[0] in names
    end = 0
    for e in each: # a slice of no duration may lie within another
        assert e["name"] and e["cat"] in ("forward", "backward", "optimizer") and e["dur"] >= 0
        assert ns(e["ts"]) >= end or e["dur"] == 0, (key, e)
        assert e["dur"] > 0 or threads[key] != "computations"
        end = max(end, ns(e["ts"] + e["dur"]))
step = t["otherData"]["step_seconds"]
last = max(e["ts"] + e["dur"] for each in slices.values() for e in each)
assert abs(last * 1e-6 - step) < 1e-9, (last, step)
PY
    trace "$1: arrows begin in a slice, and end in a later one of another process" <<'PY'
assert flows["s"].keys() == flows["f"].keys()
def holds(e):
    return [s for s in slices[e["pid"], e["tid"]]
            if s["ts"] <= e["ts"] and ns(e["ts"]) <= ns(s["ts"] + s["dur"])]
for i, s in flows["s"].items():
    f = flows["f"][i]
    assert s["ts"] < f["ts"] and s["pid"] != f["pid"] and f["bp"] == "e"
    assert all(e["name"] == e["cat"] == "transfer" for e in (s, f)) # viewers join events by name, category and id
    assert threads[s["pid"], s["tid"]].startswith("transfers along ")
    assert any(e["ts"] == s["ts"] for e in holds(s)) and holds(f), (s, f)
    assert threads[s["pid"], s["tid"]] == threads[f["pid"], f["tid"]]
PY
    trace "$1: counters end at what is received, and reach the peak" <<'PY'
received = spread(x["received_bytes"]["per_device"])
peaks = spread(x["memory"]["peak_bytes"])
total = 0
for pid, name in names.items():
    words = name.split()
    device = int(words[2] if words[0] == "devices" else words[1])
    n = int(name.split()[-2]) if words[0] == "devices" else 1
    got = counters["received", pid]
    assert got == sorted(got) and got[0] == 0
    assert device not in received or got[-1] == received[device][0], (name, got[-1])
    assert device not in peaks or max(counters["memory in use", pid]) == peaks[device][0], name
    total += n * got[-1]
assert total == x["received_bytes"]["total"] and sum(1 for d in received if d in peaks) > 0
PY
}

# result COMMAND ARGUMENT...: the result whose figures the trace must have
result() {
    shardsim "$@" -q --json
    cp "$tmp/out" "$tmp/json"
}

test_executed() {
    result run "$scenarios/dp_tp.yaml"
    shardsim trace -q -o "$tmp/trace.json" "$scenarios/dp_tp.yaml"
    is 0 "executed: status 0"
    silent out "executed: nothing on standard output"
    form "executed"
    trace "executed: a process a device, its computations, and transfers along each axis" <<'PY'
assert sorted(names.values()) == ["device %d" % d for d in range(8)]
axes = {name for name in threads.values()}
assert axes == {"computations", "transfers along dp", "transfers along tp"}, axes
assert t["otherData"]["times"] == "replayed"
moves = {e["name"]: e["args"]["why"] for each in slices.values() for e in each if "why" in e["args"]}
whys = {c["why"] for c in x["collectives"]}
assert moves and len(whys) > 1
# In a group of four each device receives from three.
into = collections.Counter((f["pid"], f["ts"]) for f in flows["f"].values()
                           if threads[f["pid"], f["tid"]] == "transfers along tp")
assert set(into.values()) == {3}, into
PY
}

test_microbatches() {
    result run "$scenarios/train_microbatches.yaml" -S microbatches
    shardsim trace -q -o "$tmp/trace.json" "$scenarios/train_microbatches.yaml" -S microbatches
    is 0 "microbatches: status 0"
    form "microbatches"
}

test_pipeline() {
    result plan "$scenarios/train_pipeline.yaml" -S 1f1b -s hardware=h100-sxm
    shardsim trace --plan "$scenarios/train_pipeline.yaml" -S 1f1b -s hardware=h100-sxm
    is 0 "a pipeline, planned: status 0"
    cp "$tmp/out" "$tmp/trace.json"
    form "a pipeline"
    trace "a pipeline: from stage to stage, in the time that plan says" <<'PY'
assert abs(t["otherData"]["step_seconds"] - x["time"]["modelled"]["step_seconds"]) < 1e-12
assert t["otherData"]["times"] == "modelled" and len(names) == 2
sends = sum(c["count"] for c in x["collectives"] if c["op"] == "send-recv")
moved = [f for f in flows["f"].values() if threads[f["pid"], f["tid"]] == "transfers along pp"]
assert sends > 0 and len(moved) >= sends, (sends, len(moved))
assert {e["args"]["microbatch"] for each in slices.values() for e in each
        if "microbatch" in e["args"]} == set(range(4))
PY
    shardsim trace --plan "$scenarios/train_pipeline.yaml" -S 1f1b -s hardware=h100-sxm
    cmp -s "$tmp/out" "$tmp/trace.json"
    ok $? "a plan: the same every time"
}

test_many() {
    result plan "$scenarios/block_1024_devices.yaml" -s hardware=h100-sxm
    shardsim trace --plan -o "$tmp/trace.json" "$scenarios/block_1024_devices.yaml" \
        -s hardware=h100-sxm
    is 0 "1024 devices: status 0"
    form "1024 devices"
    trace "1024 devices: a process for those alike" <<'PY'
assert len(names) == 2 and all("devices like" in n for n in names.values())
PY
}

test_errors() {
    shardsim trace --plan "$scenarios/dp_tp.yaml"
    is 2 "a plan without a cluster: status 2"
    says err 'hardware=' "a plan without a cluster: what was expected"
    silent out "a plan without a cluster: no trace"
    shardsim trace "$scenarios/strategies.yaml"
    is 2 "several strategies: status 2"
    says err "'tensor'" "several strategies: which"
    shardsim trace --plan -s hardware=h100-sxm -s limits.memory=1KiB "$scenarios/dp_tp.yaml"
    is 1 "a step that does not fit: status 1"
    says out '"traceEvents"' "a step that does not fit: a trace nevertheless"
    shardsim trace --plan -s hardware=h100-sxm -o "$tmp/none/t.json" "$scenarios/dp_tp.yaml" -s batch.size=3
    is 3 "no such folder: status 3, whatever else is wrong"
}

if ! command -v python3 >/dev/null; then
    skip "all" "no python3"
    done_testing
    exit 0
fi
test_executed
test_microbatches
test_pipeline
test_many
test_errors
done_testing
