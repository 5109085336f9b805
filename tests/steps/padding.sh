#!/bin/sh
# Tests sizes that do not divide: refused with sizes that would do, or padded; padding is reported
# and counted, and changes no result.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

cat >"$tmp/model.yaml" <<'YAML'
version: 1
mesh: {dp: 2, tp: 4}
uneven: pad
model: {kind: gpt2, d_model: 24, heads: 6, head_dim: 4, layers: 2, vocab: 50, d_ff: 50}
batch: {size: 3, seq: 8}
step: [forward, backward, update]
steps: 2
optimizer: {kind: adamw, clip: 1.0, weight_decay: 0.1}
axes: {batch: dp}
params: &tp
  - [embed/table, [tp]]
  - [attn/(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/(up|gate)/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
strategies:
  - {name: gpt2}
  - {name: zero-3, zero: {stage: 3, axis: dp}}
  - {name: sequence, axes: {batch: dp, seq: tp}, batch: {size: 3, seq: 7}, params: [[.*, []]]}
  - {name: several, mesh: {dp: 5, tp: 3}, batch: {size: 14, microbatches: 2}, recompute: full}
  - {name: stages, mesh: {pp: 2, dp: 2, tp: 4}, pipeline: {axis: pp, schedule: 1f1b}, batch: {size: 6, microbatches: 2}}
  - {name: groups, model: {kind: llama3, heads: 6, kv_heads: 2, d_ff: 50, vocab: 50}}
  - {name: one-key-head, model: {kind: llama3, heads: 6, kv_heads: 1, d_ff: 50, vocab: 50},
     params: [[attn/(k|v)/kernel, []], [embed/table, [tp]], [attn/q/kernel, [null, tp]], [attn/o/kernel, [tp]], [.*, []]]}
  - {name: relative, model: {kind: t5, heads: 6, d_ff: 50, vocab: 50},
     params: [[embed/table, [tp]], ['(q|k|v)/kernel', [null, tp]], [/o/kernel, [tp]], [.*, []]]}
  - {name: experts, model: {kind: mixtral, heads: 6, kv_heads: 6, d_ff: 50, vocab: 50}, moe: {experts: 2}, batch: {size: 4},
     params: [[moe/(gate|up)/kernel, [null, null, tp]], [moe/down/kernel, [null, tp]], [embed/table, [tp]], [.*, []]]}
YAML
sed 's/ &tp//' "$tmp/model.yaml" >"$tmp/m.yaml" && mv "$tmp/m.yaml" "$tmp/model.yaml"

shardsim plan --json "$tmp/model.yaml"
is 0 "planned"
cp "$tmp/out" "$tmp/planned"
shardsim run -q --json "$tmp/model.yaml"
is 0 "executed: results are those without sharding and padding"
holds "what is executed is what was planned, and the padding is told" <<PY
plan = json.load(open("$tmp/planned", encoding="utf-8"))
for p, s in zip(plan, r, strict=True):
    for key in "received_bytes", "flops":
        assert p[key] == s[key], (p["strategy"], key)
    assert p["memory"]["peak_bytes"] == s["memory"]["peak_bytes"], p["strategy"]
    assert p["note"] == s["note"] and p["note"].startswith("padded with zeros: "), p["strategy"]
notes = {s["strategy"]: dict(part.replace(" to ", " ").split(" ", 1) for part in s["note"][19:].split(", ")) for s in r}
assert notes["gpt2"] == {"batch": "3 4", "vocab": "50 52", "heads": "6 8", "kv_heads": "6 8", "mlp": "50 52"}, notes["gpt2"]
assert notes["groups"]["heads"] == "6 12" and notes["groups"]["kv_heads"] == "2 4", notes["groups"]
assert notes["sequence"] == {"batch": "3 4", "seq": "7 8"}, notes["sequence"]
assert "kv_heads" not in notes["one-key-head"] and notes["one-key-head"]["heads"] == "6 8", notes["one-key-head"]
PY

shardsim plan --json -S gpt2 "$tmp/model.yaml"
cp "$tmp/out" "$tmp/padded"
shardsim plan --json -S gpt2 -s batch.size=4 -s model.heads=8 -s model.vocab=52 -s model.d_ff=52 "$tmp/model.yaml"
holds "bytes that devices receive are those of the padded sizes; the work of the model is not" <<PY
padded = json.load(open("$tmp/padded", encoding="utf-8"))
a, b = (padded[0] if isinstance(padded, list) else padded), (r[0] if isinstance(r, list) else r)
assert a["received_bytes"]["total"] == b["received_bytes"]["total"]
assert "note" not in b
assert a["work"]["model_flops"] < 0.75 * b["work"]["model_flops"], (a["work"], b["work"])
PY

shardsim plan -S gpt2 -s uneven=refuse "$tmp/model.yaml"
is 2 "refused without being asked for"
says err "'embed/table': dimension 0 of extent 50 does not divide into 4 shards; 2 or 5 would do, or 'uneven: pad'" \
    "the message names the option"
shardsim plan -S experts -s batch.size=3 "$tmp/model.yaml"
is 2 "tokens of experts are counted: a padded batch of them is refused"
says err "'batch' of 3 elements would be padded to 4, and " "with what would be padded, and where"
shardsim plan -S sequence -s model.causal=false "$tmp/model.yaml"
[ "$status" -ne 0 ]
ok $? "positions visible to all tokens are not padded"
for to in jax pytorch; do
    shardsim export --to $to -S gpt2 "$tmp/model.yaml"
    is 2 "export --to $to: not without a word"
    says err "exported code does not support padded dimensions; expected sizes" "export --to $to: why"
done

# Reshards between shards that do not divide receive exactly the missing elements.
cat >"$tmp/uneven.py" <<'PY'
import itertools, json, math, random, subprocess, sys

program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)

def spec(axes, rank):
    axes = rng.sample(axes, len(axes))
    out = [[] for _ in range(rank)]
    for axis in axes:
        if rng.random() < 0.7:
            rng.choice(out).append(axis)
    return out

def held(mesh, shape, spec, device):
    """The numbers of the elements that a device has, as its shard lies."""
    coords, rest = {}, device
    for name, size in reversed(mesh):
        coords[name], rest = rest % size, rest // size
    ranges = []
    for extent, axes in zip(shape, spec):
        shards, index = 1, 0
        for axis in axes:
            size = dict(mesh)[axis]
            shards, index = shards * size, index * size + coords[axis]
        chunk = -(-extent // shards)
        ranges.append(range(min(index * chunk, extent), min(index * chunk + chunk, extent)))
    out = []
    for at in itertools.product(*ranges):
        number = 0
        for extent, i in zip(shape, at):
            number = number * extent + i
        out.append(number)
    return out

cases, lines = [], []
while len(cases) < count:
    mesh = [["abc"[i], rng.choice([1, 2, 2, 3, 4, 5])] for i in range(rng.choice([1, 2, 2, 3]))]
    devices = 1
    for _, size in mesh:
        devices *= size
    rank = rng.choice([1, 2, 2, 3])
    shape = [rng.choice([1, 2, 3, 5, 6, 7, 9, 10, 13]) for _ in range(rank)]
    if devices > 24:
        continue
    names = [name for name, _ in mesh]
    question = {"mesh": mesh, "shape": shape, "dtype": "float32", "from": spec(names, rank), "to": spec(names, rank)}
    if rng.random() < 0.3: # a partial sum, often scattered over the axes of its parts
        parts = [name for name in names if rng.random() < 0.7]
        question["from"] = [[axis for axis in axes if axis not in parts] for axes in question["from"]]
        question["partial"] = parts
        if rng.random() < 0.5:
            question["from"], question["to"] = [[] for _ in shape], [[] for _ in shape]
            rng.choice(question["to"]).extend(parts)
    cases.append((question, devices))
    for op, uneven in ("reshard.plan", "chunk"), ("reshard.run", "chunk"), ("reshard.run", "pad"):
        lines.append(json.dumps({"op": op, "in": {**question, "uneven": uneven}}))
done = subprocess.run([program, "query"], input="\n".join(lines), capture_output=True, text=True, check=True)
answers = [json.loads(line) for line in done.stdout.splitlines()]
uneven = moved = scattered = 0
for (q, devices), plan, chunks, pads in zip(cases, answers[::3], answers[1::3], answers[2::3], strict=True):
    olds = [held(q["mesh"], q["shape"], q["from"], d) for d in range(devices)]
    news = [held(q["mesh"], q["shape"], q["to"], d) for d in range(devices)]
    missing = [4 * len(set(new) - set(old)) for old, new in zip(olds, news)]
    assert "out" in plan, (q, plan)
    out = plan["out"]
    parts = math.prod(dict(q["mesh"])[axis] for axis in q.get("partial", []))
    if parts > 1: # parts that are reduced everywhere, and chunks of a sum that no other axis shards
        operand = math.prod(-(-n // math.prod(dict(q["mesh"])[axis] for axis in axes)) for n, axes in zip(q["shape"], q["from"]))
        whole = [(d, axes) for d, axes in enumerate(q["to"]) if sorted(axes) == sorted(q["partial"])]
        assert out["executed_received_bytes"] == out["received_bytes"]["total"] >= out["bound_bytes"], (q, out)
        assert 4 * devices // parts * (2 * parts - 2) * operand + sum(missing) >= out["received_bytes"]["total"], (q, out)
        if len(whole) == 1 and not any(q["from"]) and not any(a for d, a in enumerate(q["to"]) if d != whole[0][0]):
            chunks_of = math.prod(q["shape"]) // q["shape"][whole[0][0]] * -(-q["shape"][whole[0][0]] // parts)
            assert out["received_bytes"]["total"] <= 4 * devices * (parts - 1) * chunks_of, (q, out)
            scattered += 1
        news = [[parts * x for x in new] for new in news]
    else:
        assert out["received_bytes"] == {"total": sum(missing), "per_device": missing}, (q, missing, out)
        assert out["executed_received_bytes"] == out["bound_bytes"] == sum(missing), (q, out)
    assert "out" in chunks and chunks["out"]["shards"] == news, (q, chunks)
    longest = len(news[0])
    for new, pad in zip(news, pads["out"]["shards"]):
        assert len(pad) == longest, (q, pads)
        assert sorted(x for x in pad if x) == [x for x in sorted(new) if x], (q, pads)
    uneven += len({len(new) for new in news + olds}) > 1
    moved += sum(missing) > 0
print(uneven, moved, scattered)
assert uneven > count / 5 and moved > count / 4 and scattered > 0
PY
n=100
small_size && n=30
python3 "$tmp/uneven.py" "$shardsim" "${SHD_TEST_SEED:-${SHD_TEST_TURN:-1}}" "${SHD_TEST_COUNT:-$n}" >"$tmp/out" 2>"$tmp/err"
ok $? "$n random reshards of shards that do not divide: planned, executed and bound are the elements that were missing"
tail -n 3 "$tmp/err" | diag
done_testing
