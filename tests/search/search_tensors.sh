#!/bin/sh
# Tests search --tensors: the best sharding is the best of all that plan prices one by one, with and
# without a limit on memory; the written scenario executes, verifies, and plans to the same step;
# wrong arguments are refused.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# model MESH SPEC: a model whose parameters are most of its memory, so that some do not fit
# unsharded
model() {
    cat <<END
version: 1
name: tensors
hardware: b200
mesh: $1
model: {kind: mlp, d_model: 64, d_ff: 256, activation: gelu, layers: 2}
batch: {size: 8, seq: 8}
step: [forward, backward]
params: [[kernel, $2]]
axes: {batch: dp}
constraints: [[mlp/hidden, [dp, null, null]]]
END
}
model '{dp: 2, tp: 2}' '[dp, tp]' >"$tmp/mlp.yaml"
model '{dp: 4}' '[dp]' >"$tmp/line.yaml"

# The same search by brute force: plan every sharding in a process of its own, and take the best
# that fits.
cat >"$tmp/all.py" <<'PY'
import itertools, json, subprocess, sys

program, file, limit, axes, kinds, held = sys.argv[1:]
axes, kinds = axes.split(","), kinds.split(",")
places = list(itertools.product(range(3), repeat=len(axes)))
batches = ["[" + ", ".join(b) + "]" if b else "null"
           for n in range(len(axes) + 1) for b in itertools.combinations(axes, n)]


def spec(where):
    dims = [[a for a, d in zip(axes, where) if d == n] for n in (1, 2)]
    return "[" + ", ".join("[" + ", ".join(d) + "]" if d else "null" for d in dims) + "]"


best, nfit = None, 0
for *specs, batch in itertools.product(*[places for _ in kinds], batches):
    rules = ", ".join(f"[{k}/kernel, {spec(s)}]" for k, s in zip(kinds, specs))
    sets = [f"params=[{rules}{held}]", f"axes={{batch: {batch}}}", "constraints=[]"]
    sets += [f"limits.memory={limit}"] if limit != "none" else []
    run = subprocess.run([program, "plan", "-q", "--json", file, *[a for s in sets for a in ("-s", s)]],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    plan = json.loads(run.stdout)
    peak = max(c["value"] if isinstance(c, dict) else c for c in plan["memory"]["peak_bytes"])
    if limit != "none" and peak > int(limit):
        continue
    nfit += 1
    step = plan["time"]["modelled"]["step_seconds"]
    if best is None or (step, peak) < best:
        best = (step, peak)
print(nfit, *(best or ()))
PY
figures() {
    python3 -c '
import json, sys
found = json.load(open(sys.argv[1]))
best = found["best"]
print(found["fit"], *((best["step_seconds"], best["peak_bytes"]) if best else ()))' "$tmp/out"
}

# by_hand FILE LIMIT AXES KINDS HELD PATTERN TEXT: search and brute force agree.
by_hand() {
    file=$tmp/$1.yaml limit=$2 axes=$3 kinds=$4 held=$5 pattern=$6 text=$7
    set -- --tensors="$pattern" --json
    [ "$limit" = none ] || set -- "$@" --memory "${limit}B"
    shardsim search "$file" "$@"
    is 0 "$text: searched"
    figures >"$tmp/found"
    python3 "$tmp/all.py" "$shardsim" "$file" "$limit" "$axes" "$kinds" "$held" >"$tmp/hand"
    cmp -s "$tmp/found" "$tmp/hand"
    ok $? "$text: as many fit, and the same is best, as by hand"
    cmp -s "$tmp/found" "$tmp/hand" || cat "$tmp/found" "$tmp/hand" | diag
}
# The brute force runs single-threaded processes, in which the thread sanitizer finds nothing.
if [ "${SHD_SANITIZER:-}" != thread ]; then
    by_hand line 240000 dp mlp/up,mlp/down '' mlp "two kinds, one axis"
    [ "$(sed -n 's/.*"planned": \([0-9]*\).*/\1/p' "$tmp/out")" -eq 16 ]
    ok $? "the parameters alone do not fit when both kinds are whole"
fi
if ! small_size; then
    by_hand mlp 400000 dp,tp mlp/up ', [kernel, [dp, tp]]' /up/ "one kind, two axes"
fi

# Without a limit the memory of the cluster's devices decides: whole kernels of 36 GiB do not fit into
# 24 GiB, and shards of 9 GiB do.
shardsim search "$tmp/line.yaml" --tensors=mlp --json -s hardware=rtx4090 -s model.d_model=49152 \
    -s model.d_ff=196608 -s model.layers=1 -s model.dtype=bfloat16
is 0 "no limit, a large model: searched"
holds "no limit: what does not fit the devices is too big" <<'PY'
states = {name: way["state"] for name, way in r["textbook"].items()}
assert 0 < r["fit"] < r["planned"] and r["fit"] + r["too_big"] + r["refused"] == r["planned"], r
assert states["data"] == "too big" and states["tensor"] == "fits", states
PY

for n in 1 2; do
    shardsim search "$tmp/mlp.yaml" --tensors --json --memory 240000B --threads $n
    cp "$tmp/out" "$tmp/by$n"
done
cmp -s "$tmp/by1" "$tmp/by2"
ok $? "two threads find the same"

shardsim search "$tmp/mlp.yaml" --tensors --json --memory 240000B --output "$tmp/best.yaml"
is 0 "the best is written"
figures | cut -d ' ' -f 2 >"$tmp/said"
shardsim plan --json "$tmp/best.yaml"
is 0 "and planned, within the limit"
python3 -c 'import json, sys; print(json.load(sys.stdin)["time"]["modelled"]["step_seconds"])' \
    <"$tmp/out" >"$tmp/plans"
cmp -s "$tmp/said" "$tmp/plans"
ok $? "to the same step, to the last digit"
shardsim run -q "$tmp/best.yaml"
is 0 "and executed"
says out '^verified *ok' "with the right numbers"

shardsim search "$tmp/mlp.yaml" --tensors --memory 240000B
says out '^  best ' "an answer for people"
says out '^  data x tensor ' "beside the textbook's ways"
says out 'layers/\*/mlp/up/kernel  *\[' "tensor by tensor"
shardsim search "$tmp/mlp.yaml" --tensors=/up/
says out 'mlp/down/kernel  *\[\[dp\], \[tp\]\]  *the scenario.s own' "others are kept"
shardsim search "$tmp/mlp.yaml" --tensors --memory 1000B
is 1 "nothing fits"
says out '^no choice fits' "which is told"

shardsim search "$tmp/mlp.yaml" --tensors -s hardware=null
is 2 "no cluster"
says err 'names no cluster' "which is told"
shardsim search "$tmp/mlp.yaml" --tensors=nothing
is 2 "no such parameter"
says err "no parameter's name matches 'nothing'" "which is told"
shardsim search "$tmp/mlp.yaml" --tensors='('
is 2 "no pattern"
shardsim search "$tmp/mlp.yaml" --tensors -s 'model={kind: block, heads: 4}' \
    -s 'params=[[.*, []]]' -s 'constraints=[]'
is 2 "too many ways"
says err 'ways to shard these tensors; expected at most' "which is told"
shardsim search "$tmp/mlp.yaml" --tensors --range tp=2
is 2 "an option of layouts"
shardsim search "$tmp/mlp.yaml" --memory 1MiB
is 2 "an option of tensors"
done_testing
