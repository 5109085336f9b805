#!/bin/sh
# Tests run and plan as a person or another program uses them.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

test_help() {
    for command in run plan query bench; do
        shardsim $command --help
        is 0 "$command --help: status 0"
        says out "^Usage: shardsim $command" "$command --help: on standard output"
    done
    shardsim --help
    is 0 "--help: status 0"
    for command in run plan query bench; do
        says out "^  $command  *[a-zJ]" "--help: names $command"
    done
    shardsim --version
    is 0 "--version: status 0"
    says out '^shardsim [0-9]' "--version: name and number"
}

test_text() {
    shardsim run -q "$scenarios/tensor_parallel.yaml"
    is 0 "run: status 0"
    silent err "run: nothing on standard error"
    says out '^verified  *ok: ' "run: verified"
    says out ' all-reduce  *tp  *1x8  *2 ' "run: a row for alike collectives"
    says out '^received  *14.0 MiB in total, 14680064 bytes$' "run: the total"
    shardsim plan "$scenarios/tensor_parallel.yaml"
    is 0 "plan: status 0"
    says out '^received  *14.0 MiB in total, 14680064 bytes$' "plan: the same total"
    ! grep -q -e verified -e measured "$tmp/out"
    ok $? "plan: nothing measured or verified"
    ! awk 'length > 80 { wide = 1 } END { exit !wide }' "$tmp/out"
    ok $? "plan: 80 columns"
}

test_json() {
    shardsim run --json "$scenarios/fsdp_tp.yaml"
    is 0 "run --json: status 0"
    cp "$tmp/out" "$tmp/first"
    holds "run --json: keys of the schema" <<'PY'
want = """schema scenario strategy mode mesh devices collectives received_bytes balance memory time
          work verify""".split()
assert not [k for k in want if k not in r], [k for k in want if k not in r]
assert r["schema"] == "shardsim.result/2" and r["mode"] == "execute" and r["devices"] == 8
assert r["mesh"] == [["fsdp", 4], ["tp", 2]]
for c in r["collectives"]:
    for k in """op axes group_size groups count phase dtype operand_bytes result_bytes
                received_bytes where why""".split():
        assert k in c, k
    assert c["groups"] * c["group_size"] == 8
for k in "flops received_bytes peak_memory".split():
    assert set(r["balance"][k]) == {"mean", "max", "ratio", "slowest"}, k
assert r["verify"]["ok"] is True
assert len(r["verify"]["gradients"]) == 7 and set(r["verify"]["outputs"]) == {"out", "loss"}
assert r["time"]["measured"]["step_seconds"] > 0
PY
    holds "run --json: sums add up" <<'PY'
b = r["received_bytes"]
assert sum(b["per_device"]) == b["total"] and len(b["per_device"]) == r["devices"]
for k in "by_axis by_op by_phase".split():
    assert sum(b[k].values()) == b["total"], k
assert sum(c["received_bytes"] for c in r["collectives"]) == b["total"]
assert r["balance"]["received_bytes"]["max"] == max(b["per_device"])
assert r["balance"]["peak_memory"]["max"] == max(r["memory"]["peak_bytes"])
w = r["work"]
assert w["done_flops"] == sum(r["flops"])
assert w["efficiency"] == w["unsharded_flops"] / w["done_flops"]
assert w["model_flops"] == w["unsharded_flops"] and "attention_flops" not in r["balance"]
assert [a["axis"] for a in w["axes"]] == ["fsdp", "tp"]
PY
    holds "run --json: figures are those that stand elsewhere, under keys that begin with where they are from" <<'PY'
f, b = r["figures"], r["balance"]
assert f["received_bytes"] == r["received_bytes"]["total"] and f["flops"] == r["work"]["done_flops"]
assert f["received_bytes_most"] == b["received_bytes"]["max"] and f["flops_most"] == b["flops"]["max"]
assert f["peak_memory_bytes_most"] == b["peak_memory"]["max"]
assert f["peak_memory_bytes_total"] == sum(r["memory"]["peak_bytes"])
for origin in ("measured", "replayed"):
    same = {k: v for k, v in f.items() if k.startswith(origin + "_")}
    assert len(same) >= 4 and all(r["time"][origin][k[len(origin) + 1:]] == v for k, v in same.items()), same
PY
    shardsim run --json "$scenarios/fsdp_tp.yaml"
    holds "run --json: the same again, but for times" <<PY
x = json.load(open("$tmp/first"))
for one in (r, x):
    del one["time"]
    one["figures"] = {k: v for k, v in one["figures"].items() if not k.startswith(("measured_", "replayed_"))}
    one["balance"].pop("busy_seconds")
assert r == x
PY
    shardsim plan --json "$scenarios/fsdp_tp.yaml"
    is 0 "plan --json: status 0"
    holds "plan --json: equal to run but for time, verification and memory's kind" <<PY
x = json.load(open("$tmp/first"))
assert r.pop("mode") == "plan" and x.pop("mode") == "execute" and "verify" not in r
assert "measured" not in r["time"] and "replayed" not in r["time"]
del x["verify"], x["device_memory"]
for one in (r, x):
    one.pop("time")
    one["figures"] = {k: v for k, v in one["figures"].items()
                      if not k.startswith(("measured_", "replayed_")) and k != "largest_error"}
    one["balance"].pop("busy_seconds", None)
assert r == x
PY
}

# The work report: flops that are done more than once, and flops that a mask hides.
test_work() {
    cat >"$tmp/idle.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 3}
model: {kind: mlp, d_model: 9, d_ff: 15, layers: 1}
batch: {size: 5, seq: 7}
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
YAML
    shardsim run "$tmp/idle.yaml"
    is 0 "an axis that shards nothing: status 0"
    says out '^work .* efficiency 0\.491$' "an axis that shards nothing: efficiency"
    says out '^  axis dp     shards nothing: all work is repeated 2 times$' "an axis that shards nothing: the report says so"
    head -n 8 "$tmp/out" | tr -s ' \n' ' ' >"$tmp/first"
    grep -q 'axis dp shards no computation: the work is replicated on its 2 devices; shard the batch over it' "$tmp/first"
    ok $? "an axis that cuts nothing: told at the beginning, with what to do"
    says out '^  axis tp     does not shard .* % of the work, which is repeated 3 times$' "an axis that cuts some"
    shardsim run --json "$tmp/idle.yaml"
    holds "an axis that shards nothing: in JSON" <<'PY'
dp, tp = r["work"]["axes"]
assert dp == {"axis": "dp", "cuts_nothing": True, "repeated": 1, "times": 2}
assert not tp["cuts_nothing"] and 0 < tp["repeated"] < 0.1 and tp["times"] == 3
assert 0.45 < r["work"]["efficiency"] <= 0.5
PY
    shardsim plan --json --set 'mesh={x: 1}' --set params='[[.*, []]]' "$tmp/idle.yaml"
    holds "unsharded flops equal those of one device" <<'PY'
assert r["work"]["done_flops"] == r["work"]["unsharded_flops"] == r["flops"][0]
assert r["work"]["efficiency"] == 1
PY
    cp "$tmp/out" "$tmp/one_device"
    shardsim plan --json "$tmp/idle.yaml"
    holds "unsharded flops: the same of a sharded step" <<PY
assert r["work"]["unsharded_flops"] == json.load(open("$tmp/one_device"))["work"]["done_flops"]
PY
    shardsim plan --json --set batch.seq=4096 --set batch.size=1 --set model.d_model=16 \
        --set model.heads=1 --set model.kv_heads=1 \
        "$scenarios/sequence_sharded_attention.yaml"
    holds "a causal sequence cut in a row: uneven" <<'PY'
b = r["balance"]["attention_flops"]
assert 0.53 <= b["ratio"] <= 0.57 and b["slowest"] == 7, b
assert 0.53 <= r["balance"]["flops"]["ratio"] <= 0.60, r["balance"]["flops"]
assert r["work"]["model_flops"] > 1.5 * r["work"]["done_flops"]
assert 0.99 < r["work"]["efficiency"] < 1.01
PY
}

test_choice() {
    shardsim plan --json "$scenarios/strategies.yaml"
    is 0 "several strategies: status 0"
    holds "several strategies: an array" <<'PY'
assert [x["strategy"] for x in r] == ["data-and-tensor", "data", "tensor", "tensor-sequence", "fsdp"]
PY
    shardsim plan --json --strategy fsdp -S data "$scenarios/strategies.yaml"
    holds "--strategy: only these, in the file's order" <<'PY'
assert [x["strategy"] for x in r] == ["data", "fsdp"]
PY
    shardsim plan --json -S fsdp "$scenarios/strategies.yaml"
    holds "--strategy: one is not in an array" <<'PY'
assert r["strategy"] == "fsdp"
PY
    shardsim plan --json "$scenarios/fsdp.yaml" "$scenarios/dp_tp.yaml"
    holds "several files: an array" <<'PY'
assert [x["scenario"] for x in r] == ["fsdp", "dp-tp"]
PY
    shardsim plan --json --set mesh.fsdp=4 --set batch.size=4 "$scenarios/fsdp.yaml"
    holds "--set: overrides the file" <<'PY'
assert r["devices"] == 4 and len(r["received_bytes"]["per_device"]) == 4
PY
    shardsim plan --json - <"$scenarios/fsdp.yaml"
    holds "-: standard input" <<'PY'
assert r["scenario"] == "fsdp"
PY
}

# one_device MODEL BATCH: print a scenario with nothing sharded
one_device() {
    cat <<END
version: 1
mesh: {dp: 1}
model: $1
batch: $2
step: [forward, backward]
params: [[.*, []]]
END
}

# Cases that a relative error would call wrong: gradients that are zero up to rounding, and 16 bits.
test_one_device() {
    for seed in 0 1 2; do
        one_device '{kind: attention, d_model: 32, heads: 4}' '{size: 4, seq: 1}' |
            shardsim run -q --set seed=$seed -
        is 0 "one device, attention to one token, seed $seed: right"
        one_device '{kind: attention, d_model: 32, heads: 4, layers: 3, causal: false}' \
            '{size: 4, seq: 8}' | shardsim run -q --set seed=$seed -
        is 0 "one device, three layers of attention, seed $seed: right"
        one_device '{kind: transformer, d_model: 32, d_ff: 64, heads: 4, layers: 2, vocab: 64,
            dtype: bfloat16}' '{size: 4, seq: 8}' | shardsim run -q --set seed=$seed -
        is 0 "one device, a transformer in bfloat16, seed $seed: right"
    done
}

test_failed_checks() {
    shardsim run --set tolerance=1e-30 "$scenarios/tensor_parallel.yaml"
    is 1 "wrong numbers: status 1"
    says out '^verified  *NOT OK' "wrong numbers: said in the report"
    shardsim run --json --set tolerance=1e-30 "$scenarios/tensor_parallel.yaml"
    is 1 "wrong numbers, --json: status 1"
    holds "wrong numbers, --json: still the whole result" <<'PY'
v = r["verify"]
assert v["ok"] is False and v["tolerance"] == 1e-30 and v["steps"] > 0
assert len(v["wrong"]) == len(v["outputs"]) + len(v["gradients"])
assert all(w["relative_error"] > 1e-30 and w["error"] <= 1 for w in v["wrong"])
PY
    # A bias of the keys raises all scores of a row equally, so its gradient is 0 in exact
    # arithmetic.
    cat >"$tmp/zero.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: transformer, d_model: 16, d_ff: 32, layers: 2, heads: 2, vocab: 32, attention_bias: all}
batch: {size: 4, seq: 8}
step: [forward, backward]
params: [[.*, []]]
axes: {batch: dp}
YAML
    for dtype in float32 bfloat16 float64; do
        shardsim run --json -s "model.dtype=$dtype" --set tolerance=0.1 "$tmp/zero.yaml"
        is 0 "gradients that are 0 but for rounding, $dtype: within any tolerance"
        holds "gradients that are 0 but for rounding, $dtype: those of the keys' biases alone" <<'PY'
zeros = r["verify"]["zero_but_for_rounding"]
assert sorted(zeros) == ["layers/%d/attn/k/bias" % i for i in (0, 1)], zeros
assert all(0 < z < 1 for z in zeros.values())
PY
    done
    # Where no element of such an array has a bound, it shows in the unsharded run in float32.
    cat >"$tmp/unbounded.yaml" <<'YAML'
version: 1
mesh: {dp: 3}
model: {kind: gpt2, d_model: 16, d_ff: 16, activation: geglu-exact, layers: 2, heads: 2, head_dim: 8,
        norm_one_plus: true, residual: beside-norms, vocab: 64, qk_norm: heads, positions: 64}
batch: {size: 6, seq: 2}
step: [forward, backward, update]
optimizer: {kind: adamw, lr: 0.1, clip: 1}
params: [[.*, []]]
axes: {batch: dp}
tolerance: 1
YAML
    shardsim run --json "$tmp/unbounded.yaml"
    is 0 "results that are 0 but for rounding and have no bound: within any tolerance"
    holds "results that are 0 but for rounding and have no bound: told" <<'PY'
v = r["verify"]
assert v["without_bound"] > 0 and "layers/0/attn/k_norm/bias" in v["zero_but_for_rounding"], v
PY
    shardsim run --set tolerance=0.1 "$tmp/zero.yaml"
    tr -s ' \n' '  ' <"$tmp/out" | grep -q \
        'the tolerance does not apply to gradient of layers/0/attn/k/bias and 1 more, 0 in exact arithmetic, where [0-9.]*e-[0-9]* is allowed'
    ok $? "gradients that are 0 but for rounding: told"
    shardsim plan --set limits.memory=1MiB "$scenarios/tensor_parallel.yaml"
    is 1 "plan over the memory limit: status 1"
    says out '^memory  *.* of 1.00 MiB: does not fit$' "plan over the memory limit: said"
    for try in 1 2 3 4 5; do
        shardsim run -q --set limits.memory=1MiB "$scenarios/tensor_parallel.yaml"
        cp "$tmp/err" "$tmp/err.$try"
    done
    is 1 "run over the memory limit: status 1"
    silent out "run over the memory limit: nothing on standard output"
    says err 'device 0 is out of memory in .*: cannot allocate [0-9]* bytes for .*: [0-9]* of [0-9]* in use; largest: ' \
        "run over the memory limit: device, op and what was live"
    for try in 2 3 4 5; do
        cmp -s "$tmp/err.1" "$tmp/err.$try" || break
    done
    cmp -s "$tmp/err.1" "$tmp/err.$try"
    ok $? "run over the memory limit: the same message each time"
    shardsim plan --json "$scenarios/strategies.yaml"
    cp "$tmp/out" "$tmp/plan"
    limit=$(python3 -c 'import json, sys
peaks = [max(x["memory"]["peak_bytes"]) for x in json.load(open(sys.argv[1]))]
print((min(peaks) + max(peaks)) // 2)' "$tmp/plan")
    shardsim plan --json --set "limits.memory=$limit" "$scenarios/strategies.yaml"
    cp "$tmp/out" "$tmp/limited"
    shardsim run --json --set "limits.memory=$limit" "$scenarios/strategies.yaml"
    is 1 "some strategies over the memory limit: status 1"
    holds "some strategies over the memory limit: results of those that fit, as planned" <<PY
plan = json.load(open("$tmp/limited"))
fit = [x["strategy"] for x in plan if max(x["memory"]["peak_bytes"]) <= $limit]
assert 0 < len(fit) < len(plan) and [x["strategy"] for x in r] == fit
missing = open("$tmp/err").read().count("out of memory")
assert missing == len(plan) - len(fit), missing
PY
    shardsim run --json --set limits.memory=1KiB "$scenarios/strategies.yaml"
    holds "all strategies over the memory limit: an empty array" <<'PY'
assert r == []
PY
    shardsim run --set limits.memory=1KiB "$scenarios/strategies.yaml"
    silent out "all strategies over the memory limit: no text"
}

# An output may rightly be infinite, like the logarithm of a mask, and not a number where the unsharded
# computation has none either, which is said.
test_not_finite() {
    cat >"$tmp/infinite.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
graph:
  dims: {b: 4, d: 8}
  inputs: {x: [b, d]}
  ops:
    - y[b,d] = log(x - x)
step: [forward]
axes: {b: dp}
YAML
    shardsim run -q "$tmp/infinite.yaml"
    is 0 "an output that is infinite: status 0"
    sed 's/log(x - x)/sqrt(x - x - 1)/' "$tmp/infinite.yaml" >"$tmp/nan.yaml"
    shardsim run -q "$tmp/nan.yaml"
    is 0 "an output that is not a number, unsharded as well: status 0"
    says out '^  not finite  result y has elements that are infinite or NaN, exactly' "an output that is not a number: said"
    says out '^verified  *ok: 1 array' "an output that is not a number: not called wrong"
    # In float32 the finite parts of the sum overflow to the other infinity, which in float64 they do not.
    cat >"$tmp/overflow.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
graph:
  dims: {b: 4, d: 8, f: 2}
  inputs: {x: [b, d], w: [d, f]}
  ops:
    - p[b,d] = x * 1e30 + log(relu(x))
    - q[d,f] = w * 0 + 1e30
    - y[b,f] = einsum(p, q)
step: [forward]
axes: {b: dp}
YAML
    shardsim run -q "$tmp/overflow.yaml"
    is 0 "a sum that overflows to both infinities: not called wrong"
}

test_output_lost() {
    "$shardsim" run -q "$scenarios/tensor_parallel.yaml" 2>"$tmp/err" | head -n 1 >"$tmp/out"
    says out '^tensor-parallel$' "output to head: its line"
    silent err "output to head: no complaint"
    "$shardsim" plan "$scenarios/fsdp.yaml" 2>"$tmp/err" >&-
    status=$?
    is 3 "closed standard output: status 3"
    says err 'error: standard output: ' "closed standard output: said"
    [ -c /dev/full ] || return
    "$shardsim" plan "$scenarios/fsdp.yaml" 2>"$tmp/err" >/dev/full
    status=$?
    is 3 "full disk: status 3"
    says err 'error: standard output: ' "full disk: said"
}

# The shell's limit on stacks is not the program's: readers and planners have stacks of their own.
test_small_stacks() {
    for kib in 64 256; do
        for what in "plan $scenarios/train_5d.yaml" "run -q $scenarios/dp_tp.yaml" "check -q $scenarios/fsdp.yaml" \
            "explain $scenarios/gpt2.yaml" "replay $top_srcdir/examples/torch" \
            "search -q $scenarios/train_zero.yaml -S dp -s hardware=b200 --plans 4 --threads 2"; do
            # A portable build cannot give OpenMP's threads another stack than the shell's, and frames are
            # several times larger under a sanitizer.
            case $kib$what in 64search*) if small_size; then continue; fi ;; esac
            # shellcheck disable=SC2086,SC3045
            (ulimit -s $kib && timeout "$LIMIT" "$shardsim" $what) >"$tmp/out" 2>"$tmp/err"
            status=$?
            is 0 "a stack of $kib KiB: ${what%% *}"
        done
    done
}

# Half a minute of work, in many small strategies.
long_scenario() {
    sed '/^strategies/,$d' "$scenarios/strategies.yaml"
    echo 'strategies:'
    i=0
    while [ $i -lt 100 ]; do
        echo "  - {name: s$i, batch: {size: 16, seq: 256}}"
        i=$((i + 1))
    done
}

# The progress of a long plan is told with the verb of the command.
test_planning() {
    long_scenario >"$tmp/long.yaml"
    : >"$tmp/err"
    timeout "$LIMIT" "$shardsim" plan "$tmp/long.yaml" -s model.layers=400 >"$tmp/out" 2>"$tmp/err" &
    child=$!
    i=0
    while ! grep -q "strategies done" "$tmp/err" && [ $i -lt 600 ]; do
        sleep 0.2
        i=$((i + 1))
    done
    says err "^shardsim: planning 's[0-9]*'.*; strategies done: [0-9]*/100\$" "a long plan: progress on standard error"
    kill -INT $child
    wait $child
}

test_interrupt() {
    long_scenario >"$tmp/long.yaml"
    : >"$tmp/err"
    timeout "$LIMIT" "$shardsim" run "$tmp/long.yaml" >"$tmp/out" 2>"$tmp/err" &
    child=$!
    i=0
    while [ ! -s "$tmp/err" ] && [ $i -lt 150 ]; do
        sleep 0.2
        i=$((i + 1))
    done
    says err '\(running\|measuring\).*; strategies done: [0-9]*/100$' "a long run: progress on standard error"
    kill -INT $child
    wait $child
    status=$?
    is 130 "interrupted: status 130"
    silent out "interrupted: nothing half-written"
}

# Signals are sent until the program ends, because it may not read its input yet.
test_interrupted_input() {
    mkfifo "$tmp/input"
    for command in run query; do
        set -- $command
        [ $command = query ] || set -- run -
        "$shardsim" "$@" <"$tmp/input" >"$tmp/out" 2>"$tmp/err" &
        child=$!
        exec 3>"$tmp/input" # the pipe is open and silent
        sleep 0.3
        while kill -INT $child 2>"$tmp/gone"; do
            sleep 0.3
        done
        wait $child
        status=$?
        exec 3>&-
        is 130 "$command interrupted while it waits for input: status 130"
        silent out "$command interrupted while it waits for input: nothing on standard output"
        [ "$(cat "$tmp/err")" = "shardsim: interrupted" ]
        ok $? "$command interrupted while it waits for input: said, and no complaint"
    done
}

# The kinds of device memory give the same numbers; the report names the kind and the reason.
test_memory() {
    shardsim run -q --json --memory=mmap "$scenarios/tensor_parallel.yaml"
    is 0 "--memory=mmap: status 0"
    holds "--memory=mmap: said in JSON" <<'PY'
assert r["device_memory"] == {"kind": "mmap", "why": "asked for"}
PY
    shardsim run -q --memory=malloc "$scenarios/tensor_parallel.yaml"
    says out '^device memory from malloc: asked for$' "--memory=malloc: said in the report"
    shardsim run -q --memory=paper "$scenarios/tensor_parallel.yaml"
    is 2 "--memory of no kind: status 2"
    says err "memory is 'paper'; expected mmap, malloc" "--memory of an unknown kind: the kinds are listed"
    shardsim run -q --json "$scenarios/tensor_parallel.yaml"
    holds "by default one kind, with a reason" <<'PY'
assert r["device_memory"]["kind"] in ("jemalloc", "mmap", "malloc") and r["device_memory"]["why"]
PY
    # An arena of 88 KiB each would be too much for arrays of a few bytes.
    shardsim run -q --json --set mesh.dp=192 --set batch.size=192 --set batch.seq=1 \
        --set model.d_model=4 --set model.d_ff=4 "$scenarios/data_parallel.yaml"
    is 0 "many devices with little: status 0"
    holds "many devices with little: no arena each" <<'PY'
assert r["device_memory"]["kind"] in ("mmap", "malloc"), r["device_memory"]
PY
    shardsim plan --json "$scenarios/tensor_parallel.yaml"
    holds "a plan has no memory of any kind" <<'PY'
assert "device_memory" not in r
PY
}

# starts_within KB: the program starts with an address space of that size.
starts_within() {
    (
        # shellcheck disable=SC3045  # as dash and bash have it
        ulimit -v "$1"
        shardsim --version
        exit "$status"
    )
}

# The buffer for packed operands is allocated only when there is something to pack.
test_little_memory() {
    if starts_within 8000000; then # a sanitizer needs terabytes of addresses
        starts_within 60000
        ok $? "starts in 60 MB of addresses"
    else
        skip "starts in 60 MB of addresses" "not even in 8 GB"
    fi
}

test_16_bits() {
    shardsim run -q "$scenarios/tensor_parallel.yaml" --set model.dtype=bfloat16
    is 0 "bfloat16: a run"
    tr -s '\n ' ' ' <"$tmp/out" >"$tmp/line"
    grep -q 'off by [0-9.e-]* of its largest element, the unsharded step in the same types by [0-9.e-]*' "$tmp/line"
    ok $? "bfloat16: beside the unsharded run of the same type"
    shardsim run -q --json "$scenarios/tensor_parallel.yaml" --set model.dtype=bfloat16
    python3 - "$tmp/out" >"$tmp/wrong" 2>&1 <<'PY'
import json, sys
for name, e in json.load(open(sys.argv[1]))["verify"]["relative_errors"].items():
    # Storing in bfloat16 loses at most 2^-9 of a value, so no error is larger than rounding
    # explains, and none is 0.
    assert 2**-12 < e["unsharded"] < 0.1 and 2**-12 < e["sharded"] < 0.1, (name, e)
PY
    ok $? "bfloat16: what each array is off, sharded and unsharded"
    diag <"$tmp/wrong"
    shardsim run -q --json "$scenarios/tensor_parallel.yaml"
    ! grep -q relative_errors "$tmp/out"
    ok $? "float32: nothing of the kind"
}

test_help
test_little_memory
test_16_bits
test_text
test_json
test_work
test_choice
test_memory
test_one_device
test_failed_checks
test_not_finite
test_output_lost
test_small_stacks
test_planning
test_interrupt
test_interrupted_input
done_testing
