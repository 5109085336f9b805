#!/bin/sh
# Tests query: each line gets an answer, in order, whatever the line; golden.sh tests the answers
# themselves.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
question='"op": "sharding.shards", "in": {"mesh": [["tp", 2]], "shape": [4, 6], "spec": [null, "tp"]}'

# answer LINE...: sets status; $tmp/out has the answers as one array.
answer() {
    printf '%s\n' "$@" | timeout "$LIMIT" "$shardsim" query >"$tmp/lines" 2>"$tmp/err"
    status=$?
    { echo '[' && sed '$!s/$/,/' "$tmp/lines" && echo ']'; } >"$tmp/out"
}

# faulty TEXT KIND ID LINE: the question LINE (its lines are joined) gets an error of that kind and
# id, and the next line is answered.
faulty() {
    answer "$(printf "%s" "$4" | tr "\n" " ")" "{\"id\": \"next\", $question}"
    holds "$1" <<PY
assert len(r) == 2, r
assert r[0]["err"]["kind"] == "$2" and r[0]["err"]["message"], r[0]
assert r[0]["id"] == json.loads('''$3'''), r[0]
assert r[1]["id"] == "next" and r[1]["out"]["shard_shape"] == [4, 3], r[1]
PY
}

test_faults() {
    faulty "not JSON" bad-json null 'junk'
    faulty "a line cut short" bad-json null '{"id": 1, "op": "shar'
    faulty "more after the object" bad-json null '{"id": 1} 2'
    faulty "a key twice" bad-json null '{"id": 1, "id": 2, "op": "x", "in": {}}'
    faulty "a key twice, deeper" bad-json null '{"id": 1, "op": "x", "in": {"a": 1, "a": 2}}'
    faulty "not an object" bad-request null '[1]'
    faulty "no op" bad-request 3 '{"id": 3, "in": {}}'
    faulty "op not a name" bad-request 3 '{"id": 3, "op": 7, "in": {}}'
    faulty "no in" bad-request 3 '{"id": 3, "op": "sharding.shards"}'
    faulty "in not an object" bad-request 3 '{"id": 3, "op": "sharding.shards", "in": [1]}'
    faulty "unknown op" unknown-op 3 '{"id": 3, "op": "no.such", "in": {}}'
    faulty "an op nearly known" unknown-op 3 '{"id": 3, "op": "re.serach", "in": {}}'
    says out "did you mean 're.search'?" "an op nearly known: which"
    faulty "unknown op, no id" unknown-op null '{"op": "no.such", "in": {}}'
    faulty "a wrong type" type 3 '{"id": 3, "op": "sharding.shards", "in": {"mesh": 1}}'
    faulty "not UTF-8" bad-json null "$(printf '{"id": "\377"}')"
    faulty "nested 100,000 deep" bad-json null "$(head -c 100000 /dev/zero | tr '\0' '[')"
    faulty "a scenario with an error" invalid 3 \
        '{"id": 3, "op": "scenario.plan", "in": {"yaml": "version: 1\nmesh: {tp: 2}"}}'
    faulty "a scenario that is no text" type 3 '{"id": 3, "op": "scenario.run", "in": {"yaml": 3}}'
}

# refused TEXT KIND WORDS OP IN: the question gets an error of that kind with WORDS, and the next
# line is answered.
refused() {
    faulty "$1" "$2" 3 "{\"id\": 3, \"op\": \"$4\", \"in\": $5}"
    says out "$3" "$1: which"
}

test_missing_tensors() {
    refused "layer.run without its weights" invalid "mlp_gelu needs the tensor 'w1'" layer.run \
        '{"kind": "mlp_gelu", "tensors": {"x": {"shape": [2, 3, 4]}, "ct": {"shape": [2, 3, 4]}}}'
    refused "layer.run without any tensor" invalid "attention needs the tensor 'x'" layer.run \
        '{"kind": "attention"}'
    refused "layer.run of a block without its mlp" invalid "block cannot be built" layer.run \
        '{"kind": "block", "tensors": {"x": {"shape": [1, 2, 4]}, "wq": {"shape": [4, 2, 2]},
          "wk": {"shape": [4, 2, 2]}, "wv": {"shape": [4, 2, 2]}, "wo": {"shape": [2, 2, 4]},
          "w2": {"shape": [8, 4]}, "g1": {"shape": [4]}, "g2": {"shape": [4]}}}'
    refused "layer.run without ct" invalid "tensor 'ct' is missing" layer.run \
        '{"kind": "rmsnorm", "tensors": {"x": {"shape": [2, 3, 4]}, "g": {"shape": [4]}}}'
    refused "step.plan without parameters" invalid "mlp_gelu needs the tensor 'w1'" step.plan \
        '{"model": "mlp", "mesh": [["dp", 2]], "config": {"batch": 2, "seq": 4, "d_model": 8},
          "mode": "fwd_bwd", "param_shapes": {}}'
    refused "tree.mesh_axes with an extent that is a text" type "a shape must be a list of whole numbers" \
        tree.mesh_axes '{"params": [["w", ["8"]]], "logical_axes": {"w": ["mlp"]}}'
    refused "groups.device_mesh with ranks for another mesh" invalid "8 ranks are given for a mesh of 2" \
        groups.device_mesh '{"mesh_dim_names": ["a"], "mesh_shape": [2], "mesh_row_major": [0, 1, 2, 3, 4, 5, 6, 7]}'
}

# Entries without effect are refused: a key that the kind of layer does not have, one that
# contradicts the tensors, and a misspelt key.
test_unknown() {
    faulty "a question with another key" bad-request 3 '{"id": 3, "strict": true, '"$question}"
    says out "unknown key 'strict' in a question; expected id, op, in" "a question with another key: which"
    answer "{\"id\": 4, $question, \"out\": null}"
    holds "a question may contain its answer" <<PY
assert r[0]["out"]["shard_shape"] == [4, 3], r
PY
    refused "an unknown key" invalid "unknown key 'specs' in sharding.shards; expected mesh, shape or spec; did you mean 'spec'" \
        sharding.shards '{"mesh": [["tp", 2]], "shape": [4], "specs": ["tp"]}'
    refused "an unknown key, deeper" invalid "unknown key 'overlap' in times; expected F, B" \
        pipeline.schedule '{"schedule": "GPipe", "times": {"overlap": 2}}'
    refused "an unknown key of a leaf" invalid "unknown key 'type' in mlp/up; expected shape or dtype" \
        eformer.analyze_sharding_strategy '{"tree": {"mlp": {"up": {"shape": [4], "type": "int8"}}},
          "specs": {"mlp": {"up": []}}, "mesh": [["dp", 2]]}'
    refused "an unknown key of a tensor" invalid "unknown key 'stddev' in tensors.*; expected shape" \
        layer.run '{"kind": "rope", "tensors": {"x": {"shape": [1, 2, 1, 2], "stddev": 2}}}'
    norm='"kind": "rmsnorm", "tensors": {"x": {"shape": [1, 2, 4]}, "g": {"shape": [4]},
          "ct": {"shape": [1, 2, 4]}'
    refused "a tensor that the kind has not" invalid "unknown key 'bias' in tensors; expected x, g or ct" \
        layer.run "{$norm, \"bias\": {\"shape\": [4]}}}"
    refused "an attribute that the kind has not" invalid "rmsnorm has no attribute 'causal'" layer.run \
        "{$norm}, \"attrs\": {\"causal\": false}}"
    refused "an attribute of another type" type "'attrs.eps' must be a number" layer.run \
        "{$norm}, \"attrs\": {\"eps\": \"1e-5\"}}"
    refused "a size that the tensors have not" invalid "'d_model' is 8, but the tensors have 4" \
        layer.run "{$norm}, \"attrs\": {\"d_model\": 8}}"
    refused "a spec of what is not given" invalid "unknown key 'b' in specs" layer.run \
        "{$norm}, \"mesh\": [[\"dp\", 2]], \"specs\": {\"b\": [\"dp\"]}}"
    refused "labels of a kind without" invalid "rmsnorm has no labels" layer.run \
        "{$norm}, \"labels\": {\"seed\": 1}}"
    xent='"kind": "xent", "tensors": {"logits": {"shape": [2, 4]}}'
    refused "labels that are not made" invalid "entry 1 of 'values' differs from seed and mod" layer.run \
        "{$xent, \"labels\": {\"seed\": 1, \"mod\": 1, \"values\": [0, 3]}}"
    refused "a convention of RoPE" invalid "is 'halves'; expected half or interleaved" layer.run \
        '{"kind": "rope", "tensors": {"x": {"shape": [1, 2, 1, 2]}, "ct": {"shape": [1, 2, 1, 2]}},
          "attrs": {"convention": "halves"}}'
    refused "a position of 64 bits" range "'attrs.pos0' is 9223372036854775807; expected" layer.run \
        '{"kind": "rope", "tensors": {"x": {"shape": [1, 2, 1, 2]}, "ct": {"shape": [1, 2, 1, 2]}},
          "attrs": {"pos0": 9223372036854775807}}'
    refused "a spec of what has no shape" not-found "a spec for 'w3', but no shape" step.plan \
        '{"model": "mlp", "mesh": [["dp", 2]], "config": {"batch": 2, "seq": 4, "d_model": 8},
          "param_shapes": {"w1": [8, 16], "w2": [16, 8]}, "param_specs": {"w3": ["dp"]}}'
    refused "numbers of 'init' that are none" type "'init' takes whole numbers" ezpz.sequence \
        '{"world_size": 2, "ops": [["init", "2"]]}'
}

# Questions that need too much time or memory are refused before they start.
test_limits() {
    step='"model": "mlp", "param_shapes": {"w1": [8, 16], "w2": [16, 8]}, "mode": "fwd_bwd"'
    refused "step.plan: devices" range "2147483647 devices exceed the limit" step.plan \
        "{$step, \"mesh\": [[\"dp\", 2147483647]], \"config\": {\"d_model\": 8}}"
    refused "step.plan: memory" range "of memory for all devices exceeds the limit" step.plan \
        "{$step, \"mesh\": [[\"dp\", 2]], \"config\": {\"seq\": 1073741824, \"d_model\": 8}}"
    refused "layer.run: flops" range "flops exceed the limit" layer.run \
        '{"kind": "attention", "tensors": {"x": {"shape": [1, 32768, 16]},
          "wq": {"shape": [16, 4, 8]}, "wk": {"shape": [16, 4, 8]}, "wv": {"shape": [16, 4, 8]},
          "wo": {"shape": [4, 8, 16]}, "ct": {"shape": [1, 32768, 16]}}}'
    refused "layer.run: elements of an answer" range "elements exceed the limit" layer.run \
        '{"kind": "rmsnorm", "tensors": {"x": {"shape": [1, 16777216, 1]}, "g": {"shape": [1]},
          "ct": {"shape": [1, 16777216, 1]}}}'
    refused "reshard.plan: an array of 2^50 elements" range "exceeds the limit of an execution" reshard.plan \
        '{"mesh": [["a", 2]], "shape": [1125899906842624], "from": ["a"], "to": []}'
    refused "reshard.plan: sums of a type that is not computed with" unsupported "int8 are moved" \
        reshard.plan '{"mesh": [["a", 2]], "shape": [4], "dtype": "int8", "from": [], "to": [],
          "partial": ["a"]}'
    refused "reshard.run: more elements than their type has numbers" range "to 8; expected" \
        reshard.run '{"mesh": [["a", 2]], "shape": [10], "dtype": "float8_e5m2", "from": ["a"],
          "to": []}'
    refused "reshard.run: elements of an answer" range "elements of all shards" reshard.run \
        '{"mesh": [["a", 512]], "shape": [524288], "from": ["a"], "to": []}'
    refused "step.plan: a type that is not computed with" unsupported "is not supported" step.plan \
        "{$step, \"mesh\": [[\"dp\", 2]], \"config\": {\"d_model\": 8, \"dtype\": \"int8\"}}"
    text='version: 1\nname: a\nmesh: {dp: 2048}\nmodel: {kind: mlp, d_model: 8, d_ff: 8}\n'
    text="${text}batch: {size: 2048, seq: 1}\\nparams: [[.*, []]]\\nstep: [forward]\\n"
    refused "scenario.run: devices" range "2048 devices exceed the limit" scenario.run \
        "{\"yaml\": \"$text\"}"
}

test_ids() {
    n=0
    set --
    for id in 0 -7 1.5 true null '""' '"é\n\""' '[1, {"a": null}]' '{"b": [2]}'; do
        set -- "$@" "{\"id\": $id, $question}"
        n=$((n + 1))
    done
    answer "$@" "" "   " "{$question}"
    is 0 "ids: status 0"
    holds "ids: given back as they are, of any type, in order; blank lines ask nothing" <<'PY'
assert [a["id"] for a in r] == [0, -7, 1.5, True, None, "", "é\n\"", [1, {"a": None}], {"b": [2]},
                                None]
assert all(a["out"]["num_devices"] == 2 for a in r)
PY
    printf '%s' "{\"id\": 1, $question}" | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
    holds "a last line without its end is answered" <<'PY'
assert r["id"] == 1 and "out" in r
PY
    : | "$shardsim" query >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "no question: status 0"
    silent out "no question: no answer"
}

test_scenarios() {
    python3 - "$scenarios/tensor_parallel.yaml" "$scenarios/strategies.yaml" >"$tmp/asked" <<'PY'
import json, sys
texts = [open(p, encoding="utf-8").read() for p in sys.argv[1:]]
tight = texts[0] + "limits: {memory: 1MiB}\n"
for n, (op, text) in enumerate([("run", texts[0]), ("plan", texts[0]), ("plan", texts[1]),
                                ("run", tight)]):
    print(json.dumps({"id": n, "op": "scenario." + op, "in": {"yaml": text}}))
PY
    timeout "$LIMIT" "$shardsim" query <"$tmp/asked" >"$tmp/lines" 2>"$tmp/err"
    { echo '[' && sed '$!s/$/,/' "$tmp/lines" && echo ']'; } >"$tmp/out"
    holds "scenario.run, scenario.plan: the result object" <<'PY'
run, plan = r[0]["out"], r[1]["out"]
assert run["schema"] == "shardsim.result/2" and run["mode"] == "execute" and run["verify"]["ok"]
assert plan["mode"] == "plan" and plan["received_bytes"] == run["received_bytes"]
PY
    holds "scenario.plan: an array of several strategies" <<'PY'
assert len(r[2]["out"]) == 5
PY
    holds "scenario.run: out of memory is an error" <<'PY'
assert "out of memory" in r[3]["err"]["message"]
PY
}

test_reshard() {
    mesh='"mesh": [["a", 2], ["b", 4]], "shape": [8, 8], "dtype": "float32"'
    answer "{\"id\": 1, \"op\": \"reshard.plan\", \"in\": {$mesh, \"from\": [\"a\", \"b\"], \"to\": []}}"
    holds "reshard.plan: the bound, what a device sends and needs, the steps in words" <<'PY'
out = r[0]["out"]
assert out["bound_bytes"] == out["received_bytes"]["total"] == out["executed_received_bytes"] == 1792
assert out["largest_sent_bytes"] == 224 and out["peak_bytes"] == 288 and out["messages"] == 56
assert out["steps"] == ["exchange to [{}, {}]: 1792 B (1.75 KiB)"], out["steps"]
PY
}

# Moving an array computes nothing, so every type works.
test_moved_types() {
    for dtype in float32 float64 bfloat16 float16 int32 int8 uint8 int16 int64 bool \
        float8_e4m3fn float8_e5m2; do
        in="\"mesh\": [[\"a\", 2]], \"shape\": [2, 4], \"dtype\": \"$dtype\""
        in="$in, \"from\": [\"a\"], \"to\": [null, \"a\"]"
        printf '{"id": "%s", "op": "reshard.%s", "in": {%s}}\n' "$dtype" plan "$in" "$dtype" run "$in"
    done >"$tmp/moved"
    "$shardsim" query <"$tmp/moved" >"$tmp/lines"
    python3 - "$tmp/lines" >"$tmp/wrong" 2>&1 <<'PY'
import json, sys
sizes = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int16": 2}
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 24
for plan, run in zip(lines[::2], lines[1::2]):
    dtype = plan["id"]
    size = sizes.get(dtype, 1)
    moved = plan["out"]
    assert moved["received_bytes"]["total"] == moved["executed_received_bytes"] == 4 * size, plan
    assert moved["bound_bytes"] == 4 * size and moved["peak_bytes"] == 8 * size, plan
    if dtype == "bool":
        assert "err" in run, run
    else:
        assert run["out"]["shards"] == [[0, 1, 4, 5], [2, 3, 6, 7]], run
PY
    ok $? "reshard.plan, reshard.run: arrays of all types"
    head -n 3 "$tmp/wrong" | diag
}

test_faults
test_missing_tensors
test_unknown
test_limits
test_ids
test_scenarios
test_reshard
test_moved_types
done_testing
