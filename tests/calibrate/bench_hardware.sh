#!/bin/sh
# Tests bench --hardware: the file is complete, its constants are within their ranges, and a plan
# can use it.  The size of the constants is not judged.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/form.py" <<'PY'
import sys
import yaml
h = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
def number(text):
    for unit in ("GFLOP/s", "GB/s", "MiB", "KiB", "ns"):
        if str(text).endswith(unit):
            return float(str(text)[:-len(unit)])
    raise ValueError(text)
assert h["version"] == 1 and h["name"] == "this-machine", h
assert h["source"].startswith("measured by shardsim bench --hardware: "), h["source"]
types = {"float32", "float64", "bfloat16", "float16"}
assert set(h["rates"]) == types and set(h["elementwise"]) == types, h
assert all(number(v) > 0 for v in [*h["rates"].values(), *h["elementwise"].values()]), h
m, k, (t,) = h["memory"], h["kernels"], h["tiers"]
assert set(m) == {"size", "rate", "cache", "cache_rate"} and all(number(v) > 0 for v in m.values()), m
assert number(k["launch"]) > 0 and k["half_k"] >= 0, k
assert k["attention_half_head"] > 0 and k["attention_half_keys"] > 0, k
for share in ("matmul", "memory", "attention", "attention_backward"):
    assert 0 < k[share + "_efficiency"] <= 1, (share, k)
assert number(t["rate"]) > 0 and number(t["latency"]) > 0 and number(t["step"]) >= 0, t
assert number(t.get("copy_rate", "1GB/s")) > 0, t
assert h["software"]["waits_for_collectives"] is True, h["software"]
PY

cat >"$tmp/mlp.yaml" <<'YAML'
version: 1
name: mlp
mesh: {tp: 2}
model: {kind: mlp, d_model: 64, d_ff: 128, activation: relu, layers: 1}
batch: {size: 1, seq: 16}
params: [[up/kernel, [null, tp]], [down/kernel, [tp]], [.*, []]]
YAML

# plans FILE TEXT: a plan with the file has a time.
plans() {
    shardsim plan --json -s "hardware=$1" "$tmp/mlp.yaml"
    is 0 "a plan can use $2"
    holds "... and has a time by $2" <<'PY'
m = r["time"]["modelled"]
assert m["hardware"] == "this-machine" and m["step_seconds"] > 0, m
PY
}

test_file() {
    shardsim bench --hardware --samples 2 --output "$tmp/here.yaml"
    is 0 "--hardware --output: status 0"
    silent out "nothing on standard output"
    python3 "$tmp/form.py" "$tmp/here.yaml" 2>&1 | diag
    python3 "$tmp/form.py" "$tmp/here.yaml" 2>/dev/null
    ok $? "the file has every constant, within its range"
    plans "$tmp/here.yaml" "the file"
    python3 "$tmp/form.py" "$scenarios/hardware/this-machine.yaml" 2>/dev/null
    ok $? "the shipped file has the same form"
    plans this-machine "the shipped one"
}

refused() {
    what=$1
    pattern=$2
    shift 2
    shardsim bench "$@"
    is 2 "$what: status 2"
    silent out "$what: nothing on standard output"
    says err "$pattern" "$what: reason"
}

test_bad() {
    refused "an option of collectives" "\-\-op has no effect with it" --hardware --op all-reduce
    refused "in any order" "\-\-sizes has no effect with it" --sizes 8 --hardware
    refused "one sample" "\-\-samples is 1; --hardware needs at least 2" --hardware --samples 1
    refused "a file for collectives" "\-\-output is for --hardware" --output "$tmp/x.yaml"
    shardsim bench --hardware --samples 2 --output "$tmp/none/x.yaml"
    is 3 "a file in no folder: status 3"
    says err "none/x.yaml" "a file in no folder: reason"
}

test_bad
test_file
done_testing
