#!/bin/sh
# Tests show names: the names that rules can use, their shapes and shardings, and the rule that
# asked for each.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

test_lists() {
    COLUMNS=120 shardsim show names "$scenarios/tensor_parallel.yaml"
    is 0 "a scenario"
    says out "^  layers/\*/mlp/up/kernel  *2x  embed 128, mlp 512  \[{}, {tp}\]  32.0 KiB  'mlp/up/kernel', line 12" \
        "a parameter with its rule"
    says out "^  layers/\*/mlp/hidden .*\[{}, {}, {tp}\] .*'mlp/hidden', line" "a place with its rule"
    says out "^  layers/\*/mlp/in .* placed" "a place that no constraint names"
    cp "$tmp/out" "$tmp/names"
    COLUMNS=120 shardsim show tree "$scenarios/tensor_parallel.yaml"
    is 0 "show tree of a scenario"
    cmp -s "$tmp/names" "$tmp/out"
    ok $? "show tree of a scenario: the same"
    shardsim show names --all "$scenarios/train_zero.yaml" -S zero-3
    is 0 "--all"
    says out '^optimizer$' "--all: the optimizer's arrays"
}

# Every listed name is usable: a constraint accepts each place, and a rule each parameter.
test_names_are_names() {
    shardsim show names --json "$scenarios/llama3.yaml" -S tp-sp
    [ "$status" -eq 0 ] || shardsim show names --json "$scenarios/tensor_parallel.yaml"
    holds "--json: bytes of a shard are those of its shape" <<'PY'
assert {x["kind"] for x in r} == {"parameter", "input", "place"}
assert all(x["count"] >= 1 and x["bytes_of_device"] >= 4 for x in r)
PY
    python3 - "$tmp/out" "$scenarios/tensor_parallel.yaml" >"$tmp/named.yaml" <<'PY'
import json, re, sys
text = open(sys.argv[2], encoding="utf-8").read()
places = [x["name"] for x in json.load(open(sys.argv[1])) if x["kind"] == "place"]
kept = re.sub(r"(?m)^constraints:\n(  - .*\n)+", "", text)
rules = "".join("  - [%s, [null, null, null]]\n" % x.split("*/")[-1] for x in dict.fromkeys(places)
                if "mlp" in x)
print(kept + "constraints:\n" + rules)
PY
    shardsim plan -q "$tmp/named.yaml"
    is 0 "every place can be named in a constraint"
}

test_lists
test_names_are_names
shardsim show names "$scenarios/strategies.yaml"
is 2 "several strategies: which is asked"
shardsim show names nowhere.yaml
is 2 "no such file"
done_testing
