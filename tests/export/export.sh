#!/bin/sh
# Tests export to JAX and PyTorch: the code parses as Python, its arrays have the planned shards,
# and every place with a constraint is constrained so; what cannot be exported is
# refused.  bench/export.py runs the code.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

# Compare the tables of an exported file with the output of `show names`.
cat >"$tmp/tables.py" <<'PY'
import ast, builtins, json, re, sys

tree = ast.parse(open(sys.argv[1], encoding="utf-8").read())
names = json.load(open(sys.argv[2], encoding="utf-8"))
tables = {n.targets[0].id: n.value for n in tree.body if isinstance(n, ast.Assign)}
shards = ast.literal_eval(tables["SHARDS"])
mesh = ast.literal_eval(tables["MESH"])
bytes_of = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4}


def leaf(entry):
    shape, dtype, *rest = entry.elts
    dtype = dtype.value if isinstance(dtype, ast.Constant) else dtype.attr
    return ast.literal_eval(shape), dtype, rest[-1]


def axes_of(spec, rank):
    """By dimension, the axes that shard it: of P(None, ("a", "b")), or of {"a": 1, "b": 1}."""
    if isinstance(spec, ast.Call):
        entries = [ast.literal_eval(a) for a in spec.args] + [None] * (rank - len(spec.args))
        return [[] if e is None else [e] if isinstance(e, str) else list(e) for e in entries]
    given = ast.literal_eval(spec)
    return [[a for a in mesh if given.get(a) == d] for d in range(rank)]


def any_layer(name):
    return re.sub(r"(?<=/)\d+(?=/|$)", "*", name)


found = {}
for table in ("PARAMS", "INPUTS"):
    for key, value in zip(tables[table].keys, tables[table].values):
        shape, dtype, spec = leaf(value)
        local = list(shape)
        for d, axes in enumerate(axes_of(spec, len(shape))):
            for a in axes:
                local[d] //= mesh[a]
        assert tuple(local) == shards[key.value], (key.value, local, shards[key.value])
        size = bytes_of[dtype]
        for n in local:
            size *= n
        found.setdefault(any_layer(key.value), []).append(size)
told = {}
for x in names:
    if x["kind"] in ("parameter", "input"):
        told.setdefault(x["name"], []).extend([x["bytes_of_device"]] * x["count"])
assert {k: sorted(v) for k, v in found.items()} == {k: sorted(v) for k, v in told.items()}, (found, told)
assert set(shards) == {k.value for t in ("PARAMS", "INPUTS") for k in tables[t].keys}

# Gradients are taken of a loss that the forward phase returns.
forward = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "forward"]
if forward and not isinstance(tables["GRADIENTS"].elts[0], ast.Starred):
    returned = {k.value for k in forward[0].body[-1].value.keys}
    outputs = {k.value for k in tables["OUTPUTS"].keys}
    assert "loss" in returned and returned == outputs, (returned, outputs)

# Every name that the code reads is defined, and the functions of the file are called with the
# arguments that they take.
defined = set(dir(builtins)) | {"__file__", "__name__"}
functions = {n.name: n.args for n in tree.body if isinstance(n, ast.FunctionDef)}
for n in ast.walk(tree):
    if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
        defined.add(n.name)
    elif isinstance(n, ast.alias):
        defined.add((n.asname or n.name).split(".")[0])
    elif isinstance(n, ast.arg):
        defined.add(n.arg)
    elif isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
        defined.add(n.id)
    elif isinstance(n, ast.ExceptHandler):
        defined.add(n.name)
unknown = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - defined
assert not unknown, unknown
for n in ast.walk(tree):
    takes = functions.get(getattr(n.func, "id", "")) if isinstance(n, ast.Call) else None
    if takes and not any(isinstance(a, ast.Starred) for a in n.args) and all(k.arg for k in n.keywords):
        names_of = [a.arg for a in takes.posonlyargs + takes.args]
        given = names_of[:len(n.args)] + [k.arg for k in n.keywords]
        needed = names_of[:len(names_of) - len(takes.defaults)]
        needed += [a.arg for a, d in zip(takes.kwonlyargs, takes.kw_defaults) if d is None]
        assert len(n.args) <= len(names_of) and len(set(given)) == len(given) and set(needed) <= set(given) and (
            set(given) <= set(names_of) | {a.arg for a in takes.kwonlyargs}), ast.unparse(n)

# Each place that a rule constrains has the rule's sharding; other places are not constrained.
calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "constrain"]
wanted = []
for x in names:
    if x["kind"] == "place" and x["by"] != "placed":
        dims = [re.findall(r"[^{},]+", d) for d in re.findall(r"\{[^}]*\}", x["sharding"])]
        wanted += [[[a.strip() for a in d] for d in dims]] * x["count"]
if calls or "forward" in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}:
    got = sorted(axes_of(c.args[1], len(wanted[0]) if wanted else 0) for c in calls)
    for g in got:
        while g and not g[-1]:
            g.pop()
    for w in wanted:
        while w and not w[-1]:
            w.pop()
    assert sorted(got) == sorted(wanted), (got, wanted)
PY

# agrees FILE STRATEGY: the code for both targets agrees with the strategy's names.
agrees() {
    shardsim show names --json -S "$2" "$scenarios/$1"
    cp "$tmp/out" "$tmp/names"
    for target in jax pytorch; do
        shardsim export --to $target -S "$2" "$scenarios/$1" --force -o "$tmp/code.py"
        is 0 "$1 $2: to $target"
        python3 -m py_compile "$tmp/code.py" 2>"$tmp/wrong"
        ok $? "$1 $2: $target: it is Python"
        python3 "$tmp/tables.py" "$tmp/code.py" "$tmp/names" >"$tmp/wrong" 2>&1
        ok $? "$1 $2: $target: shards and constraints are the plan's"
        diag <"$tmp/wrong"
    done
}

agrees tensor_parallel.yaml default
agrees fsdp_tp.yaml default
agrees block_2d.yaml default
agrees llama3.yaml default
agrees t5.yaml default
agrees train_zero.yaml tp-dp
agrees train_microbatches.yaml microbatches
agrees train_pipeline.yaml 1f1b
agrees strategies.yaml tensor-sequence
agrees ring.yaml ring
agrees experts.yaml ep-over-dp
agrees mixtral.yaml default
agrees deepseek.yaml default

# Recomputation keeps the values between layers and recomputes those inside.
shardsim export --to jax -S microbatches "$scenarios/train_microbatches.yaml"
! grep -q checkpoint "$tmp/out"
ok $? "no recomputation: no checkpoint in the code"
shardsim export --to jax -S tp-recompute "$scenarios/train_microbatches.yaml"
says out 'save_only_these_names("kept")' "recomputation: only what is named is kept"
says out '^    layers_0_out_[0-9]* = checkpoint_name(.*, "kept")$' "recomputation: a layer's result is kept"
says out '^    layers_1_mlp_up_[0-9]* = jnp.einsum(' "recomputation: what a layer computes is not"
! grep -q 'checkpoint_name(params\[' "$tmp/out"
ok $? "recomputation: parameters need no name"
shardsim export --to jax -S whole -s 'recompute={keep: [mlp/up$]}' "$scenarios/train_microbatches.yaml"
says out '^    layers_1_mlp_up_[0-9]* = checkpoint_name(' "recomputation but for a pattern: that is kept, too"

# JAX sums gradients in their own type; the code says so if the plan has another type.
shardsim export --to jax -S float16 "$scenarios/train_mixed.yaml"
says out '^# Gradients are reduced in float16, .* the plan reduces in float32 (types.reduce)' \
    "gradients planned to be summed in another type than JAX's: told"
shardsim export --to jax -S bfloat16-alone "$scenarios/train_mixed.yaml"
! grep -q types.reduce "$tmp/out"
ok $? "gradients planned to be summed in JAX's type: nothing is told"

# Experts: queues of groups of tokens are sharded like the batch.
shardsim export --to jax -S ep-over-dp "$scenarios/experts.yaml"
says out 'groups=1, sharding=None)' "experts, one queue for all: not sharded"
says out '^CHOICES = {"routing"}' "experts: ids that a workload gives"
! grep -q '^def attention_to_seen' "$tmp/out"
ok $? "experts: every function is called"
sed 's/routing: zipf}/routing: zipf, token_groups: 8, capacity: 1.25}/' "$scenarios/experts.yaml" >"$tmp/groups.yaml"
shardsim export --to jax -S ep-over-dp "$tmp/groups.yaml"
[ "$(grep -c 'groups=8, .*sharding=NamedSharding(mesh, P("dp")))' "$tmp/out")" -eq 4 ]
ok $? "experts, a queue a rank: sharded as the batch, both ways in both layers"
sed 's/token_groups: 8/token_groups: 4/' "$tmp/groups.yaml" >"$tmp/fewer.yaml"
shardsim export --to jax -S ep-over-dp "$tmp/fewer.yaml"
[ "$(grep -c 'groups=4, .*sharding=None)' "$tmp/out")" -eq 4 ]
ok $? "experts, fewer queues than ranks: not sharded"

python3 - >"$tmp/dims.yaml" <<'PY'
dims = [f"d{i}" for i in range(53)]
print("version: 1\nname: dims\nmesh: {dp: 2}\nstep: [forward]\ngraph:")
print("  dims: {" + ", ".join(f"{d}: 2" for d in dims) + "}")
print("  inputs: {" + ", ".join(f"x{d}: [{d}]" for d in dims) + "}")
print("  ops:\n" + "\n".join(f"    - y{d}[{d}] = x{d}[{d}] * 2" for d in dims))
PY
shardsim export --to jax "$tmp/dims.yaml"
is 2 "more dimensions than letters, to JAX: refused"
says err 'the model has 53 dimensions, .*at most 52' "more dimensions than letters, to JAX: why"
sed 's/mesh: {tp: 8}/mesh: {a: 2, b: 4}/; s/null, tp\]]/null, [b, a]]]/; s/\[tp, null\]]/[[b, a], null]]/
    s/null, null, tp\]]/null, null, [b, a]]]/' "$scenarios/tensor_parallel.yaml" >"$tmp/order.yaml"
shardsim export --to pytorch "$tmp/order.yaml"
is 2 "axes in another order than the mesh's, to PyTorch: refused"
says err "reorder the axes" "axes in another order than the mesh's: what to do"
shardsim export --to jax "$tmp/order.yaml"
is 0 "axes in another order than the mesh's, to JAX"
says out 'P(None, ("b", "a"))' "axes in another order than the mesh's, to JAX: as they are"
shardsim export --to jaxx "$scenarios/fsdp.yaml"
is 2 "no such target"
says err "did you mean 'jax'" "no such target: a suggestion"
shardsim export "$scenarios/fsdp.yaml"
is 2 "no target"
shardsim export --to jax "$scenarios/fsdp.yaml" -o "$tmp/none/code.py"
is 3 "a missing folder: status 3"
done_testing
