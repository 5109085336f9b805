#!/bin/sh
# Tests random layouts of experts (experts_nodes.py): right, planned as run, and with the bytes that
# rows must travel along each axis.  Then what plans assume of a router, refusals of an axis of nodes,
# pairs that overlap, and experts that Megatron-LM has whole beside tensor parallelism.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

count=12
small_size && count=4
seed=$((${SHD_TEST_TURN:-0} % 83 * 12))
python3 "$top_srcdir/tests/steps/experts_nodes.py" "$shardsim" "$tmp" "$seed" "$count" >"$tmp/wrong" 2>&1
ok $? "$count random layouts of experts, from number $seed on"
diag <"$tmp/wrong"
# What follows is planned, by one thread, but for a step of tensor parallelism that other tests run.
if [ "${SHD_SANITIZER:-}" = thread ]; then
    done_testing
    exit 0
fi

cat >"$tmp/nodes.yaml" <<'YAML'
version: 1
mesh: {pp: 2, node: 2, ep: 2}
model: {kind: transformer, layers: 4, d_model: 256, d_ff: 256, heads: 4, vocab: 64}
moe: {experts: 8, top_k: 2, groups: 2, kept: 1, node_axis: node}
batch: {size: 32, seq: 64, microbatches: 8}
step: [forward, backward, update]
optimizer: {kind: adamw}
pipeline: {axis: pp, schedule: DualPipeV, stages_per_rank: 2}
params:
  - [moe/(up|down)/kernel, [[node, ep]]]
  - [.*, []]
axes: {batch: [ep, node]}
YAML

# ---- what plans assume ----
shardsim plan "$tmp/nodes.yaml"
is 0 "a plan of a router"
says out 'uniform routing assumed' "its first lines say what routing it assumes"
says out 'iB if every expert may get all tokens' "and beside its peak is that of any routing"
shardsim plan --json "$tmp/nodes.yaml"
mv "$tmp/out" "$tmp/assumed"
shardsim plan --json -s moe.routing=learned "$tmp/nodes.yaml"
python3 - "$tmp/assumed" "$tmp/out" <<'PY'
import json
import sys

assumed, learned = (json.load(open(path, encoding="utf-8"))["memory"] for path in sys.argv[1:])
most = max(c["value"] if isinstance(c, dict) else c for c in learned["peak_bytes"])
sys.exit("worst_routing_peak_bytes" in learned or assumed["worst_routing_peak_bytes"] != most)
PY
ok $? "which is the peak with moe.routing: learned"

# With room for all tokens at each of 512 experts an array has 2^56 bytes, more than are counted.
cat >"$tmp/wide.yaml" <<'YAML'
version: 1
mesh: {dp: 1}
model: {kind: transformer, layers: 1, d_model: 67108864, d_ff: 16, heads: 1, head_dim: 16, vocab: 16,
        dtype: bfloat16}
moe: {experts: 512, top_k: 1, d_ff: 16}
batch: {size: 1024, seq: 1024}
step: [forward]
params: [[.*, []]]
YAML
shardsim plan "$tmp/wide.yaml"
is 0 "a plan whose worst case is too large to be planned"
says out 'unknown if every expert may get all tokens' "says that it is not known"
shardsim plan --json "$tmp/wide.yaml"
says out '"worst_routing_peak_bytes": *null' "and is null"

# ---- another placement ----
# A search of placements would shard the tokens over more axes, as it may not with an axis of nodes.
cat >"$tmp/stored.yaml" <<'YAML'
version: 1
mesh: {sp: 2, node: 2, dp: 2}
model: {kind: mixtral, d_model: 16, d_ff: 32, heads: 2, vocab: 64}
batch: {size: 8, seq: 16, microbatches: 2}
step: [forward, backward, update]
axes: {batch: node}
optimizer: {kind: adamw}
moe: {experts: 2, shared: 1, node_axis: node}
params: [[moe/(up|gate|down), [node]], [.*, []]]
zero: {stage: 3, axis: [dp, sp, node]}
YAML
shardsim plan "$tmp/stored.yaml"
is 0 "ZeRO 3 over the axis of nodes and others is planned"
says out 'stored' "and told"
shardsim plan --json -s placement=search "$tmp/stored.yaml"
is 2 "with placement: search it is refused: status 2"
says err 'stored.yaml:8:.*last of the axes' "at the axis of nodes"

# ---- refusals ----
shardsim plan -s 'mesh={pp: 2, node: 8, ep: 8}' -s hardware=h100-sxm -s moe.experts=64 -s batch.size=512 \
    -s 'axes={batch: [node, ep]}' -s moe.node_axis=ep "$tmp/nodes.yaml"
is 2 "an axis inside the nodes of the cluster: status 2"
says err "set:6:15: error: devices 0 and 1, neighbours along 'ep', share a node" "the error says where and what"
shardsim plan -s 'mesh={pp: 2, node: 8, ep: 8}' -s hardware=h100-sxm -s moe.experts=64 -s batch.size=512 "$tmp/nodes.yaml"
is 0 "an axis between them is planned"
shardsim plan -s moe.node_axis=tp "$tmp/nodes.yaml"
is 2 "no such axis: status 2"
shardsim plan -s 'axes={batch: [node, ep]}' "$tmp/nodes.yaml"
is 2 "nodes before places: status 2"
says err 'nodes.yaml:4:.*last of the axes' "the error says where and what"
sed '/^pipeline/d; s/pp: 2, //; s/, microbatches: 8//' "$tmp/nodes.yaml" >"$tmp/flat.yaml"
for target in jax megatron torchtitan; do
    shardsim export --to "$target" "$tmp/flat.yaml"
    is 2 "export to $target refuses an axis of nodes"
    says err 'moe[.]node_axis' "and says so"
done

# ---- pairs ----
for pairs in false true; do
    sed "s/^name: .*/name: $pairs/; s/^software:/software:\\n  overlaps_pairs: $pairs/" \
        "$scenarios/hardware/h800-sxm.yaml" >"$tmp/$pairs.yaml"
    shardsim plan --json -s "hardware=$tmp/$pairs.yaml" -s moe.routing=uniform "$tmp/nodes.yaml"
    cp "$tmp/out" "$tmp/$pairs.json"
done
python3 - "$tmp/false.json" "$tmp/true.json" <<'PY'
import json
import sys

one, both = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
for key in "received_bytes", "memory":
    if one[key] != both[key]:
        sys.exit(key)
one, both = one["time"]["modelled"], both["time"]["modelled"]
hidden = one["exposed_communication_seconds"] - both["exposed_communication_seconds"]
print(hidden, one["step_seconds"], both["step_seconds"])
sys.exit(not (hidden > 0 and both["step_seconds"] < one["step_seconds"]
              and both["step_seconds"] >= both["compute_seconds"] == one["compute_seconds"]))
PY
ok $? "overlapped pairs hide rows of experts, and nothing else changes"

# ---- by node without an axis of nodes, and the host's starts ----
cat >"$tmp/exchange.yaml" <<'YAML'
version: 1
hardware: h100-sxm
mesh: {ep: 16}
model: {kind: transformer, layers: 1, d_model: 1024, d_ff: 512, heads: 8, vocab: 512, dtype: bfloat16,
        activation: swiglu}
moe: {experts: 256, top_k: 8, routing: uniform}
batch: {size: 64, seq: 2048}
step: [forward, backward, update]
optimizer: {kind: adamw}
products: {recipe: tensorwise, amax: local}
params:
  - [moe/(up|gate|down)/kernel, [ep]]
  - [.*, []]
axes: {batch: ep}
YAML
# roofline NAME OPTION...: what each op takes, in $tmp/NAME.json
roofline() {
    name=$1
    shift
    shardsim explain --roofline --json "$@" "$tmp/exchange.yaml"
    cp "$tmp/out" "$tmp/$name.json"
}
roofline default
roofline by_node -s moe.by_node=true
roofline directly -s moe.by_node=false
roofline fsdp2 -s software=fsdp2
roofline grouped -s moe.groups=2 -s moe.kept=1
roofline node -s 'mesh={dp: 2, ep: 8}' -s 'axes={batch: [dp, ep]}'
roofline node_directly -s moe.by_node=false -s 'mesh={dp: 2, ep: 8}' -s 'axes={batch: [dp, ep]}'
roofline numbers -s batch.size=16 -s products.recipe=none
roofline many -s batch.size=1024
roofline idle -s batch.size=1024 -s hardware.software.expert_coding=0us -s hardware.software.expert_launch=0us
roofline few -s batch.size=16
roofline starts -s batch.size=16 -s hardware.software.expert_coding=0us
cat >"$tmp/times.py" <<'PY'
import json
import re
import sys


def ops(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json", encoding="utf-8"))["ops"]


def exchange(name):
    """Seconds of the dispatch, of which latency has 20 us, 8 steps of 5 us between nodes and 7 of 2 us inside."""
    return max(o["seconds"] for o in ops(name) if o["name"] == "layers/*/moe/dispatch" and o["bound_by"] == "network")


def forward(name):
    """Seconds of the experts' ops from a dispatch to its combine."""
    return sum(o["seconds"] for o in ops(name)
               if o["phase"] == "forward" and re.search("moe/(rows|up|gate|gated|down)(/|$)", o["name"]))


bound = {o["bound_by"] for o in ops("few") if o["name"] == "layers/*/moe/down"}
tests = {
    # 8 choices of a token are on 2 nodes but for 2 in 256: (2 - 2/256)/8 of the rows cross.
    "crossing": abs((exchange("by_node") - 74e-6) / (exchange("directly") - 74e-6) - 0.249) < 0.01,
    "default": exchange("default") == exchange("by_node") and exchange("fsdp2") == exchange("directly"),
    # Groups of a node each: each token's 8 rows are for one node.
    "groups": exchange("grouped") < exchange("by_node") and exchange("grouped") < exchange("directly") / 4,
    "inside": exchange("node") == exchange("node_directly"),
    "busy": forward("many") > 16 * (3 * 8 + 2 * 60) * 1e-6 and forward("many") == forward("idle"),
    # 16 experts: 3 products of 8 us and 2 arrays to round of 60 us.
    "starts": abs(forward("few") - 16 * (3 * 8 + 2 * 60) * 1e-6) < 6e-6 and "launch" in bound,
    "products": abs(forward("starts") - 16 * 3 * 8e-6) < 6e-6,
    "numbers": abs(forward("numbers") - 16 * 3 * 8e-6) < 6e-6,
}
print({k: exchange(k) for k in "default by_node directly fsdp2 grouped node".split()},
      {k: forward(k) for k in "few starts numbers many".split()}, bound)
print("wrong:", [k for k in tests if not tests[k]])
sys.exit(not all(tests.values()))
PY
python3 "$tmp/times.py" "$tmp" >"$tmp/times"
ok $? "rows cross once to a node where the software sends them so, and the host starts each expert's kernels"
diag <"$tmp/times"

# ---- experts that are whole beside tensor parallelism ----
cat >"$tmp/job.sh" <<'JOB'
torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 2 --hidden-size 64 \
  --ffn-hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 \
  --vocab-size 128 --micro-batch-size 1 --global-batch-size 16 --bf16 --lr 1e-4 \
  --disable-bias-linear --swiglu --attention-dropout 0 --hidden-dropout 0 \
  --tensor-model-parallel-size 2 --sequence-parallel --num-experts 8 \
  --moe-token-dispatcher-type alltoall --expert-model-parallel-size 8 \
  --expert-tensor-parallel-size 1
JOB
shardsim import --from megatron "$tmp/job.sh" -o "$tmp/job.yaml"
is 0 "experts of --expert-tensor-parallel-size 1"
grep -q 'moe/(gate|up)/kernel, \[\[ep, tp\], null, null\]' "$tmp/job.yaml"
ok $? "lie over data and tensor parallelism, the second fastest"
shardsim run -q -s model.dtype=float32 "$tmp/job.yaml"
is 0 "and are right"
sed 's/ --sequence-parallel//' "$tmp/job.sh" >"$tmp/same.sh"
shardsim import --from megatron "$tmp/same.sh" --force -o "$tmp/job.yaml"
is 2 "without sequence parallelism they are refused"
done_testing
