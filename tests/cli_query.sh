#!/bin/sh
# query: an answer a line, in order, whatever the line; the answers themselves are golden.sh's.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
question='"op": "sharding.shards", "in": {"mesh": [["tp", 2]], "shape": [4, 6], "spec": [null, "tp"]}'

# answer LINE...: sets status; $tmp/out has the answers as one array
answer() {
    printf '%s\n' "$@" | timeout "$LIMIT" "$shardsim" query >"$tmp/lines" 2>"$tmp/err"
    status=$?
    { echo '[' && sed '$!s/$/,/' "$tmp/lines" && echo ']'; } >"$tmp/out"
}

# faulty TEXT KIND ID LINE: an error of that kind and id, and the next line is answered
faulty() {
    answer "$4" "{\"id\": \"next\", $question}"
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
assert run["schema"] == "shardsim.result/1" and run["mode"] == "execute" and run["verify"]["ok"]
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

test_faults
test_ids
test_scenarios
test_reshard
done_testing
