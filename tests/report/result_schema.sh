#!/bin/sh
# Tests contrib/result.schema.json and search.schema.json: they contain every key that --json prints
# and refuse other keys.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

if ! python3 -W ignore -c 'import jsonschema' 2>/dev/null; then
    skip "results and their schema" "no python3-jsonschema"
    done_testing
    exit
fi

# valid WHAT FILE...: each file holds at least one result, and each result is valid.
cat >"$tmp/valid.py" <<'PY'
"""valid.py SCHEMA RESULT...: prints what is not of the schema; the last line is a count."""
import copy, json, sys, warnings
warnings.simplefilter("ignore")
import jsonschema

schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator({"$ref": "#/definitions/result", "definitions": schema["definitions"]})
nresults, wrong = 0, set()


def nodes(value):
    """All objects of a result that have keys of their own."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from nodes(part)
    if isinstance(value, dict):
        yield value


for path in sys.argv[2:]:
    read = json.load(open(path))
    for result in read if isinstance(read, list) else [read]:
        nresults += 1
        for error in validator.iter_errors(result):
            wrong.add("%s: %s" % ("/".join(map(str, error.path)), error.message[-200:]))

# The schema is closed: it refuses a result without one of the top keys, and a result with a new
# key.
for key in list(result):
    less = copy.deepcopy(result)
    del less[key]
    if key in schema["definitions"]["result"]["required"] and validator.is_valid(less):
        wrong.add("takes a result without %s" % key)
for key in ("", "memory", "received_bytes", "work"):
    more = copy.deepcopy(result)
    (more[key] if key else more)["new"] = 1
    if validator.is_valid(more):
        wrong.add("takes a new key in '%s'" % key)
for line in sorted(wrong)[:20]:
    print(line)
print("%d results, %d faults" % (nresults, len(wrong)))
sys.exit(bool(wrong) or nresults < len(sys.argv) - 2)
PY
valid() {
    what=$1
    shift
    python3 "$tmp/valid.py" "$top_srcdir/contrib/result.schema.json" "$@" >"$tmp/found" 2>&1
    ok $? "$what"
    diag <"$tmp/found"
}

# json NAME COMMAND...: keep the command's JSON as $tmp/NAME.json.
json() {
    name=$1
    shift
    shardsim "$@" --json
    cp "$tmp/out" "$tmp/$name.json"
}

n=0
for scenario in "$scenarios"/*.yaml "$top_srcdir"/docs/course/*.yaml; do
    n=$((n + 1))
    json "planned$n" plan -q "$scenario"
    [ -s "$tmp/planned$n.json" ] || rm "$tmp/planned$n.json" # the scenario with a wrong layout prints nothing
done
valid "planned: the shipped scenarios and those of the course" "$tmp"/planned*.json
json clustered plan -q -s hardware=h100-sxm -s straggler.compute=1.5 "$scenarios/llama3.yaml"
json hard plan -q -s limits.memory=1MiB "$scenarios/llama3.yaml"
json pipeline plan -q -s hardware=a100-80g-selene "$scenarios/train_pipeline.yaml"
valid "planned: on a cluster, with a slow device, and where memory does not suffice" "$tmp/clustered.json" \
    "$tmp/hard.json" "$tmp/pipeline.json"
for scenario in dp_tp experts ring train_mixed; do
    [ "$scenario" = dp_tp ] || sampled 6 || continue
    json "run_$scenario" run -q "$scenarios/$scenario.yaml"
done
valid "executed: MLPs, experts, a ring, training in 16 bits" "$tmp"/run_*.json
cat >"$tmp/far.yaml" <<'YAML'
version: 1
mesh: {dp: 2}
model: {kind: mlp, d_model: 8, d_ff: 16, layers: 1}
batch: {size: 4, seq: 4}
step: [forward, backward, update]
steps: 30
optimizer: {kind: sgd, lr: 1000}
params: [[.*, []]]
axes: {batch: dp}
YAML
json far run -q "$tmp/far.yaml"
is 1 "a loss that is not finite: status 1"
grep -q '"nan"' "$tmp/far.json" && grep -q '"nonfinite": [1-9]' "$tmp/far.json"
ok $? "a loss that is not finite: told"
valid "executed: what is wrong" "$tmp/far.json"

# Searches have a schema of their own, which is closed as well.
few='-S dp -s hardware=b200 -q --range tp=1 --range pp=1 --range cp=1 --range microbatch=1 --range recompute=none'
# The options in $few are separate words.
# shellcheck disable=SC2086
{
    json search_all search "$scenarios/train_zero.yaml" $few --no-prune
    json search_within search "$scenarios/train_zero.yaml" $few --within 1
    json search_none search "$scenarios/train_zero.yaml" $few --memory 1B
    json search_worse search "$scenarios/train_zero.yaml" $few --sensitivity
}
python3 -W ignore - "$top_srcdir/contrib/search.schema.json" "$tmp"/search_*.json >"$tmp/found" 2>&1 <<'PY'
import json, sys
import jsonschema
schema, *found = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
assert len(found) == 4
for r in found:
    for error in validator.iter_errors(r):
        sys.exit("%s: %s" % (list(error.path), error.message[:200]))
    assert not validator.is_valid({**r, "new": 1})
    for key in schema["required"]:
        assert not validator.is_valid({k: v for k, v in r.items() if k != key}), key
PY
ok $? "searches: all, within a step, where nothing fits, on worse clusters"
diag <"$tmp/found"
done_testing
