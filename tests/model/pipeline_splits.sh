#!/bin/sh
# Tests how layers are split into stages: lists, layouts in Megatron-LM's notation, weighed ones, and
# stages that have the embedding or the head alone.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/splits.yaml" <<'YAML'
version: 1
mesh: {pp: 3}
model: {kind: llama3, d_model: 32, d_ff: 64, layers: 6, heads: 4, vocab: 512, dtype: float64}
batch: {size: 4, seq: 16, microbatches: 2}
step: [forward, backward, update]
optimizer: {kind: adamw}
params: [[.*, []]]
pipeline: {axis: pp}
YAML

# The same split, however it is written.
same() {
    shardsim plan --json -s "pipeline.layers=$1" "$tmp/splits.yaml"
    is 0 "planned: $1"
    cp "$tmp/out" "$tmp/one"
    shardsim plan --json -s "pipeline.layers=$2" "$tmp/splits.yaml"
    is 0 "planned: $2"
    holds "$1 is $2" <<PY
a, b = r, json.load(open("$tmp/one"))
for key in ("flops", "memory", "collectives"):
    assert a[key] == b[key], key
PY
}
same '[3, 2, 1]' '"Et*3|tt|tL"'
same '[0, 6, 0]' '"E|t*6|L"'
same '[2, 2, 2]' '"Ett,|(tt|)*1,ttL"'
same '[5, 1, 0]' '"E(t)*5|t|L"'

refuses() {
    shardsim plan -s "pipeline.layers=$1" "$tmp/splits.yaml"
    is 2 "refused: $1"
    grep -q "$2" "$tmp/err"
    ok $? "and says: $2"
}
refuses '"Et|m|L"' "an MTP layer, is not supported"
refuses '"Ettt|x|tttL"' "unknown letter 'x'"
refuses '"ttt|Ettt|L"' "one E, at the start of the first stage"
refuses '"Ettt|tttL|"' "one L, at the end of the last stage"
refuses '"Ettt|t*4|L"' "pipeline.layers has 3 stages with 7 layers in total"
refuses '"Ettt|ttt*999999|(L|)*999999L"' "more than 1048576 letters"
refuses even "expected the number of layers of each stage"

# Of all splits the weighed one has about the least work on the rank with the most: of what is not a
# product it knows nothing without a cluster.
{
    cat "$tmp/splits.yaml"
    echo "strategies:"
    echo "  - {name: weighed, pipeline: {layers: weighed}}"
    for a in 0 1 2 3 4 5 6; do
        for b in 1 2 3 4 5 6; do
            [ $((a + b)) -gt 6 ] || echo "  - {name: s$a$b, pipeline: {layers: [$a, $b, $((6 - a - b))]}}"
        done
    done
} >"$tmp/all.yaml"
shardsim plan --json "$tmp/all.yaml"
is 0 "planned: all splits"
holds "weighed: of all splits the least on the busiest rank" <<'PY'
most = {s["strategy"]: max(s["flops"]) for s in r}
least = min(most.values())
assert most["weighed"] < 1.03 * least and most["s22"] > 1.1 * least, most
PY
shardsim plan --json -s hardware=h100-sxm -s pipeline.layers=weighed -s model.dtype=bfloat16 \
    -s types.parameters=float32 "$tmp/splits.yaml"
is 0 "weighed by the time on a cluster"
shardsim plan --json -s pipeline.layers=weighed -s recompute=full -s model.layers=2 "$tmp/splits.yaml"
is 0 "weighed: more stages than layers, the ends alone"
shardsim plan -s pipeline.layers=weighed -s model.layers=2 -s mesh.pp=5 "$tmp/splits.yaml"
is 2 "weighed: more stages than parts"
shardsim plan -s pipeline.layers=weighed -s pipeline.axis=null "$tmp/splits.yaml"
is 2 "weighed: without an axis"
grep -q "stages without an axis" "$tmp/err"
ok $? "weighed: which is said"

cat >>"$tmp/splits.yaml" <<'YAML'
strategies:
  - {name: even}
  - {name: ends-alone, pipeline: {layers: "E|t*6|L"}}
  - {name: weighed, pipeline: {layers: weighed}}
  - {name: virtual, pipeline: {schedule: Interleaved1F1B, layers: "E|t|tt|tt|t|L"}, batch: {size: 6, microbatches: 3}}
YAML
shardsim run -q --json "$tmp/splits.yaml"
is 0 "the ends alone, weighed, virtual stages: executed, as without sharding"
cp "$tmp/out" "$tmp/executed"
shardsim plan --json "$tmp/splits.yaml"
holds "the same: flops, bytes and memory as planned" <<PY
for p, s in zip(r, json.load(open("$tmp/executed"))):
    for key in ("flops", "received_bytes"):
        assert s[key] == p[key], (s["strategy"], key)
    assert s["memory"]["peak_bytes"] == p["memory"]["peak_bytes"], s["strategy"]
PY
done_testing
