#!/bin/sh
# Tests that every shipped scenario says what it shows, is planned, runs, and comes out right.  Per
# change a few run completely: tests/steps/parity runs all with shorter sequences, and tests/check/check.sh
# plans all.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

every=12
small_size && every=4
for file in "$scenarios"/*.yaml; do
    # A thousand threads are too many for a sanitizer, and so are sequences of a thousand tokens.
    case ${SHD_TEST_SIZE:-}$file in
    small*_1024_* | small*/ring.yaml | small*/packed.yaml | small*/sweep.yaml) continue ;;
    small*/routing.yaml | small*/train_5d.yaml) continue ;; # like experts.yaml and dimensions.sh
    esac
    # Under the thread sanitizer a step of each kind is enough: training with ZeRO, tensors and
    # stages in parallel; experts; many devices; gathered weights; a sharded sequence.
    case ${SHD_SANITIZER:-}$file in
    thread*/train_4d.yaml | thread*/mixtral.yaml | thread*/devices_64.yaml) ;;
    thread*/fsdp_tp.yaml | thread*/sequence_sharded_attention.yaml) ;;
    thread*) continue ;;
    esac
    name=${file##*/}
    head -n 1 "$file" | grep -q '^# .*[.,a-z]$' && grep -q '^# Expect' "$file"
    ok $? "$name: says what it shows and what to expect"
    ! awk 'length > 100 { wide = 1 } END { exit !wide }' "$file"
    ok $? "$name: lines of at most 100 characters"
    grep -q "scenarios/$name" "$top_srcdir/Makefile.am"
    ok $? "$name: is in the release"
    sampled "$every" || continue
    shardsim plan --json "$file"
    is 0 "$name: planned"
    cp "$tmp/out" "$tmp/plan"
    shardsim run -q --json "$file"
    is 0 "$name: runs"
    silent err "$name: without a warning"
    holds "$name: right, and as planned" <<PY
def flat(x):  # a large plan prints one figure per class of devices
    if isinstance(x, dict):
        return {k: flat(v) for k, v in x.items()}
    if isinstance(x, list) and x and isinstance(x[0], dict) and "first" in x[0]:
        return [c["value"] for c in x for d in range(c["devices"])]
    return [flat(v) for v in x] if isinstance(x, list) else x
def known(x):  # the figures that a plan knows although routers choose experts
    for c in x["collectives"]:
        if c["op"] == "all-to-all-v":
            for key in "received_bytes", "operand_bytes", "result_bytes":  # a run has room for all tokens
                c.pop(key, None)
    return {**x, "received_bytes": 0, "flops": 0}
r, plan = flat(r), flat(json.load(open("$tmp/plan", encoding="utf-8")))
runs, plans = (x if isinstance(x, list) else [x] for x in (r, plan))
assert len(runs) == len(plans) > 0
for a, b in zip(runs, plans):
    assert a["verify"]["ok"] is True
    for x in (a, b):  # what the planned cluster's own runtime keeps, no run knows
        x["memory"].get("breakdown", {}).pop("runtime_bytes", None)
    if any(e["assumed"] for e in b.get("experts", [])):
        worst = b["memory"].pop("worst_routing_peak_bytes", None)
        if worst is not None:  # a run has room for all tokens at each expert
            assert max(a["memory"]["peak_bytes"]) == worst
            for x in (a, b):  # all but activations is the same however tokens are routed
                x["memory"] = {k: v for k, v in x["memory"]["by_kind"].items() if k != "activations"}
        a, b = known(a), known(b)
    assert a["collectives"] == b["collectives"] and a["received_bytes"] == b["received_bytes"]
    assert a["memory"] == b["memory"] and a["flops"] == b["flops"]
PY
    # Under a sanitizer one kind of memory is enough: each run takes a minute there.
    small_size && continue
    # The default kind is jemalloc, and malloc under sanitizers.
    sampled 2 $((tap_cases / 12)) || continue
    cp "$tmp/out" "$tmp/run"
    kind=$(sed -n 's/.*"device_memory": {"kind": "\([a-z]*\)".*/\1/p' "$tmp/run" | head -n 1)
    other=mmap
    [ "$kind" != mmap ] || other=malloc
    shardsim run -q --json --memory=$other "$file"
    is 0 "$name: runs with memory from $other"
    holds "$name: the same bytes and peaks with memory from $other as from $kind" <<PY
was = json.load(open("$tmp/run", encoding="utf-8"))
runs, before = (x if isinstance(x, list) else [x] for x in (r, was))
assert len(runs) == len(before) > 0
for a, b in zip(runs, before):
    assert a["device_memory"] == {"kind": "$other", "why": "asked for"}, a["device_memory"]
    for key in "memory received_bytes collectives flops verify".split():
        assert a[key] == b[key], key
PY
done
done_testing
