#!/bin/sh
# Tests reshards chosen by their time on a cluster: the planner's choice and the time of its steps,
# the time of a program's steps, and the partitioner's choice with `price: time`.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# cluster NAME TIER...: write a cluster of round numbers on which only links take time.
cluster() {
    {
        echo 'version: 1'
        echo "name: $1"
        echo 'source: round numbers'
        echo 'rates: {float32: 1TFLOP/s}'
        echo 'memory: {size: 80GiB, rate: 1000000GB/s}'
        echo 'kernels: {launch: 0s, matmul_efficiency: 1, half_k: 0, memory_efficiency: 1,'
        echo '          attention_efficiency: 1, attention_backward_efficiency: 1}'
        echo "tiers: [$2]"
    } >"$tmp/$1.yaml"
}
cluster wire '{name: wire, rate: 1GB/s, latency: 0s, step: 0s}'
cluster nodes '{name: node, devices: 4, rate: 100GB/s, latency: 0s, step: 0s},
    {name: net, rate: 1GB/s, latency: 0s, step: 0s}'

# reshard OPTION...: the planner's answer, in $tmp/reshard.json
reshard() {
    shardsim explain reshard --json "$@"
    is 0 "reshard $*: status 0"
    silent err "reshard $*: nothing on standard error"
    cp "$tmp/out" "$tmp/reshard.json"
}

# ---- the planner, on the links of a cluster ----

# An array of 64 MiB in four partial sums, one per node: each of a node's four devices can reduce a
# quarter of the array and gather the rest inside the node.
reshard -m x=4,y=4 -n 4096,4096 --partial x
holds 'reshard: all-reduce moves the least without what lies beside it' <<'PY'
assert [s["kind"] for s in r["steps"]] == ["all-reduce"], r["steps"]
assert "seconds" not in r and "seconds" not in r["steps"][0]
PY
reshard -m x=4,y=4 -n 4096,4096 --partial x --hardware "$tmp/nodes.yaml"
holds 'reshard: on nodes of four, each device sums a part' <<'PY'
kinds = [s["kind"] for s in r["steps"]]
assert kinds[0] == "slice" and "all-reduce" not in kinds[:1] and len(kinds) > 2, kinds
net = 64 * 2**20 / 4 / 1e9  # bytes of a device over the net, times (n - 1) / n
assert net * 1.5 <= r["seconds"] < net * 1.6, r["seconds"]
assert abs(sum(s["seconds"] for s in r["steps"]) - r["seconds"]) < 1e-12
PY
reshard -m x=4,y=4 -n 4096,4096 --partial x --hardware h100-sxm
cp "$tmp/out" "$tmp/steps.json"
shardsim explain collective all-gather --hardware h100-sxm -m x=4,y=4 --axes y,x --bytes 4MiB --json
holds 'reshard: a step takes what the collective does by itself' <<'PY'
step = json.load(open(sys.argv[1].rsplit("/", 1)[0] + "/steps.json"))["steps"][-1]
assert step["kind"] == "all-gather" and step["seconds"] == r["seconds"] > 0, (step, r)
assert step["collective"] == r
PY
shardsim explain reshard -m x=4,y=4 -n 4096,4096 --partial x --hardware h100-sxm
is 0 "reshard: in words"
tr -s '\n ' '  ' <"$tmp/out" >"$tmp/line"
says line 'step 1 on h100-sxm: 11.8 us, a copy in each device.s memory' "reshard: a local step"
says line 'as all-gather of 4.00 MiB a member over y,x (16 members, nvlink and infiniband), bound by bandwidth' \
    "reshard: a step over two tiers"
says line '\* slice, reduce-scatter, all-gather: ' "reshard: the way that is taken"
shardsim explain reshard -m x=4,y=4 -n 64,64 --from x --to x --to-mesh x=8 --to-first 16 --hardware tpu-v4 --slices 3
is 0 "reshard: to other devices of a torus"
says out 'messages between the meshes' "reshard: to other devices: said"
shardsim explain reshard -m x=3 -n 6 --from x --hardware tpu-v4 --slices 2
is 2 "reshard: no such slices"
says err '3 devices cannot form 2 equal slices' "reshard: no such slices: said"
shardsim explain reshard -m x=4 -n 64 --from x --hardware h100-sxm --link all:1us:1GB/s
is 2 "reshard: links twice"
says err '--hardware and --link both define links; expected only one of the two' "reshard: links twice: said"
shardsim explain reshard -m x=4 -n 64 --from x --slices 2
is 2 "reshard: slices of nothing"

# ---- steps that no collective makes take time in a program ----

cat >"$tmp/boxes.yaml" <<END
version: 1
hardware: $tmp/wire.yaml
mesh: {a: 2, b: 2}
graph:
  dims: {r: 1024, c: 1024}
  inputs: {x: [r, c]}
  ops:
    - columns[r,c] = x * 1
    - both[r,c] = columns * 1
step: [forward]
constraints:
  - [^columns$, [null, [a, b]]]
  - [^both$, [a, b]]
END
shardsim plan --json "$tmp/boxes.yaml"
holds 'boxes: an exchange takes as long as the bytes that a device gets' <<'PY'
m = r["time"]["modelled"]
shard = 4 * 1024 * 1024 / 4 / 1e9  # some devices have half of their new shard already, others nothing
assert abs(m["exposed_communication_seconds"] - shard) < 1e-3 * shard, m
assert set(m["exposed_by_axes"]) == {"a,b"}, m
PY
shardsim plan --json "$top_srcdir/scenarios/ring.yaml" --strategy ring --set hardware="$tmp/wire.yaml" \
    --set model.d_model=64 --set batch.seq=1024
holds 'ring: each hop brings a block over the wire' <<'PY'
m = r["time"]["modelled"]
hops = [c for c in r["collectives"] if c["op"] == "permute"]
least = max(c["operand_bytes"] for c in hops) / 1e9
assert m["exposed_communication_seconds"] > 7 * least, m
assert set(m["exposed_by_axes"]) == {"cp"}, m
PY

# ---- price: time ----

cat >"$tmp/sum.yaml" <<END
version: 1
hardware: $tmp/nodes.yaml
mesh: {x: 4, y: 4}
graph:
  dims: {b: 64, k: 64, n: 64}
  inputs: {x: [b, k]}
  params: {w: [k, n]}
  ops:
    - y[b,n] = einsum(x, w)
step: [forward]
params: [[w, [x, null]]]
constraints: [[^y$, []]]
END

# plans NAME OPTION...: keep a plan in $tmp/NAME.json
plans() {
    name=$1
    shift
    shardsim plan --json "$@"
    is 0 "price, $name: status 0"
    cp "$tmp/out" "$tmp/$name.json"
}

# compare TEXT: check plans by their names, in Python on standard input
compare() {
    {
        printf 'import json, sys\n'
        printf 'def plan(name):\n    return json.load(open(sys.argv[1] + "/" + name + ".json"))\n'
        printf 'def seconds(name):\n    return plan(name)["time"]["modelled"]["step_seconds"]\n'
        printf 'def ops(name):\n    return [c["op"] for c in plan(name)["collectives"]]\n'
        cat
    } >"$tmp/compare.py"
    python3 "$tmp/compare.py" "$tmp" >"$tmp/wrong" 2>&1
    ok $? "$1"
    [ ! -s "$tmp/wrong" ] || tail -n 3 "$tmp/wrong" | diag
}

plans default "$tmp/sum.yaml"
plans bytes "$tmp/sum.yaml" --set price=bytes
plans time "$tmp/sum.yaml" --set price=time
compare 'price: a sum over nodes is cut among the devices of each' <<'PY'
assert ops("default") == ops("bytes") == ["all-reduce"], ops("bytes")
assert ops("time")[-1] == "all-gather" and len(ops("time")) == 2, ops("time")
array = 64 * 64 * 4 / 1e9  # over the net: 2 x 3/4 of the array, or of a quarter of it
assert abs(seconds("bytes") - 1.5 * array) < 0.01 * array, seconds("bytes")
assert seconds("time") < 0.3 * seconds("bytes"), (seconds("time"), seconds("bytes"))
PY
shardsim run "$tmp/sum.yaml" --set price=time
is 0 "price: what is chosen by time computes the same"
says out '^verified *ok' "price: and is verified"
shardsim explain "$tmp/sum.yaml" --set price=time --collectives
is 0 "price: explained"
says out 'all-gather over y for y' "price: explain shows the chosen collective"
sed 's/^hardware.*/price: time/' "$tmp/sum.yaml" >"$tmp/nowhere.yaml"
shardsim plan "$tmp/nowhere.yaml"
is 2 "price: time without a cluster"
says err 'nowhere.yaml:2:8: error: price: time needs a cluster; expected hardware' \
    "price: time without a cluster: said"
for file in fsdp_tp block_2d weights_2d; do
    for price in bytes time; do
        plans $price "$scenarios/$file.yaml" --set hardware=h100-sxm --set placement=search --set price=$price
    done
    compare "price: $file is not slower by time" <<'PY'
assert seconds("time") <= seconds("bytes"), (seconds("time"), seconds("bytes"))
PY
done
done_testing
