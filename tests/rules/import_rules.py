"""What an imported list of rules says of each parameter, beside what the rules say of its name in
the other system: by the program's own answer for such names, or by golden data.

    import_rules.py SHARDSIM lists                the lists below
    import_rules.py SHARDSIM golden DIR           the rules of golden data, on its trees of parameters

Prints what is wrong, and nothing else.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile

SHARDSIM = sys.argv[1]
# Each parameter of the scenario: its name in the rule list, and for each dimension of the listed
# array the dimensions of the parameter that make it up.
LLAMA = {
    "embed/table": ("model/embed_tokens/embedding", "0 1"),
    "final_norm/scale": ("model/norm/kernel", "0"),
    "head/kernel": ("lm_head/kernel", "0 1"),
}
for ours, theirs, dims in (
    ("norm1/scale", "input_layernorm/kernel", "0"),
    ("norm2/scale", "post_attention_layernorm/kernel", "0"),
    ("attn/q/kernel", "self_attn/q_proj/kernel", "0 12"),
    ("attn/k/kernel", "self_attn/k_proj/kernel", "0 12"),
    ("attn/v/kernel", "self_attn/v_proj/kernel", "0 12"),
    ("attn/o/kernel", "self_attn/o_proj/kernel", "01 2"),
    ("mlp/gate/kernel", "mlp/gate_proj/kernel", "0 1"),
    ("mlp/up/kernel", "mlp/up_proj/kernel", "0 1"),
    ("mlp/down/kernel", "mlp/down_proj/kernel", "0 1"),
    ("moe/router/kernel", "block_sparse_moe/gate/kernel", "0 1"),
    ("moe/gate/kernel", "block_sparse_moe/experts/w1/kernel", "0 1 2"),
    ("moe/up/kernel", "block_sparse_moe/experts/w3/kernel", "0 1 2"),
    ("moe/down/kernel", "block_sparse_moe/experts/w2/kernel", "0 1 2"),
):
    LLAMA["layers/*/" + ours] = ("model/layers/*/" + theirs, dims)
APART = {
    ours: (name.replace("experts/", "experts/0/"), dims[2:] if "experts" in name else dims)
    for ours, (name, dims) in LLAMA.items()
}
GPT2 = {
    "embed/table": ("wte/embedding", "0 1"), "embed/positions": ("wpe/embedding", "0 1"),
    "final_norm/scale": ("ln_f/scale", "0"), "final_norm/bias": ("ln_f/bias", "0"),
}
for ours, theirs, dims in (
    ("norm1/scale", "ln_1/scale", "0"), ("norm1/bias", "ln_1/bias", "0"),
    ("norm2/scale", "ln_2/scale", "0"), ("norm2/bias", "ln_2/bias", "0"),
    ("attn/o/kernel", "attn/c_proj/kernel", "2 01"), ("attn/o/bias", "attn/c_proj/bias", "0"),
    ("mlp/up/kernel", "mlp/c_fc/kernel", "1 0"), ("mlp/up/bias", "mlp/c_fc/bias", "0"),
    ("mlp/down/kernel", "mlp/c_proj/kernel", "1 0"), ("mlp/down/bias", "mlp/c_proj/bias", "0"),
    *((f"attn/{p}/kernel", "attn/c_attn/kernel", "12 0") for p in "qkv"),
    *((f"attn/{p}/bias", "attn/c_attn/bias", "01") for p in "qkv"),
):
    GPT2["layers/*/" + ours] = ("h/*/" + theirs, dims)
GPT2 = {ours: ("transformer/" + name, dims) for ours, (name, dims) in GPT2.items()}
T5 = {
    "embed/table": ("token_embedder/embedding", "0 1"),
    "head/kernel": ("decoder/logits_dense/kernel", "0 1"),
}
for side, parts in (
    ("encoder", {"attn": "attention", "norm1": "pre_attention_layer_norm",
                 "norm2": "pre_mlp_layer_norm"}),
    ("decoder", {"attn": "self_attention", "norm1": "pre_self_attention_layer_norm",
                 "cross": "encoder_decoder_attention", "norm2": "pre_cross_attention_layer_norm",
                 "norm3": "pre_mlp_layer_norm"}),
):
    T5[f"{side}/relative/table"] = (f"{side}/relpos_bias/rel_embedding", "1 0")
    T5[f"{side}/final_norm/scale"] = (f"{side}/{side}_norm/scale", "0")
    for ours, theirs in parts.items():
        layer, there = f"{side}/layers/*/{ours}", f"{side}/layers_*/{theirs}"
        if ours.startswith("norm"):
            T5[layer + "/scale"] = (there + "/scale", "0")
            continue
        for p, q in (("q", "query"), ("k", "key"), ("v", "value")):
            T5[f"{layer}/{p}/kernel"] = (f"{there}/{q}/kernel", "0 12")
        T5[layer + "/o/kernel"] = (there + "/out/kernel", "01 2")
    for p, q in (("gate", "wi_0"), ("up", "wi_1"), ("down", "wo")):
        T5[f"{side}/layers/*/mlp/{p}/kernel"] = (f"{side}/layers_*/mlp/{q}/kernel", "0 1")

MESH = "dp:1,fsdp:8,ep:1,tp:4,sp:2"


def run(*args, text=None):
    done = subprocess.run([SHARDSIM, *args], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        print(" ".join(args), "failed:", done.stderr[:400])
    return done.stdout


def entries(spec):
    """As lists of axes, without trailing empty entries."""
    out = [[] if e is None else [e] if isinstance(e, str) else list(e) for e in spec or []]
    while out and not out[-1]:
        out.pop()
    return out


def imported(source, text, names, *options):
    """What the import of a list says: their name -> shape and spec there."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scenario.yaml")
        run("import", "--from", source, "-", "--force", "-o", path, *options, text=text)
        rows = json.loads(run("show", "names", "--json", path) or "[]")
    for row in rows:
        if row["kind"] != "parameter":
            continue
        if row["name"] not in names:
            print("no name for", row["name"])
            continue
        name, dims = names[row["name"]]
        sizes = [int(part.split()[-1]) for part in row["shape"].split(", ")]
        ours = [d.strip("{}").split(",") if d != "{}" else []
                for d in row["sharding"].strip("[]").split(", ")]
        groups = [[int(digit) for digit in group] for group in dims.split()]
        shape, spec = [], []
        for group in groups:
            shape.append(1)
            spec.append([])
            for d in group:
                shape[-1] *= sizes[d]
                spec[-1] += ours[d]
        left = set(range(len(sizes))) - {d for group in groups for d in group}
        if any(ours[d] for d in left):
            print(row["name"], "is sharded along a missing dimension:", row["sharding"])
        if name in found and found[name][1] != entries(spec):
            print(name, "is not one:", found[name][1], entries(spec))
        found[name] = (shape, entries(spec))
    return found


def compare(what, found, truth):
    """`truth`: their name -> spec."""
    if not found:
        print(what, "has no parameters")
    for name, (shape, spec) in found.items():
        want = truth(name, shape)
        if want != spec:
            print(f"{what}: {name} {shape} is {spec}, not {want}")


def as_python(rules):
    """A list in a user's notation."""
    def spec(entries_):
        return "P(" + ", ".join(repr(tuple(e) if isinstance(e, list) else e) for e in entries_) + ")"
    return "rules = (\n" + "".join(f"    ({p!r}, {spec(s)}),\n" for p, s in rules) + ")\n"


def asked(rules, found):
    """The truth of a list: what eformer's function says of their names and shapes."""
    tree = {}
    for name, (shape, _) in found.items():
        at = tree
        *way, last = name.replace("*", "0").split("/")
        for part in way:
            at = at.setdefault(part, {})
        at[last] = {"$shape": shape}
    answer = json.loads(run("query", text=json.dumps({
        "id": 1, "op": "eformer.match_partition_rules",
        "in": {"rules": rules, "tree": tree, "min_sharding_size": 16384}})))
    return lambda name, _: entries(answer["out"][name.replace("*", "0")])


LISTS = {
    "tensor and fsdp": [
        ["model/embed_tokens/embedding", ["tp", ["fsdp", "sp"]]],
        ["self_attn/(q_proj|k_proj|v_proj)/kernel", [["fsdp", "sp"], "tp"]],
        ["self_attn/o_proj/kernel", ["tp", ["sp", "fsdp"]]],
        [r"layers/\d+/mlp/(?!down)\w+/kernel", [["fsdp", "sp"], "tp"]],
        ["mlp/down_proj/kernel", ["tp", "fsdp"]],
        ["experts/w[13]/kernel$", ["ep", "fsdp", "tp"]],
        ["experts/w2", ["ep", "tp", "fsdp"]],
        ["norm/", [None]],
        [".*", []],
    ],
    # Keys have fewer heads than there are devices; the remaining axes shard the width of a head.
    "heads over all": [
        ["self_attn/(k|v)_proj", [None, ["fsdp", "sp"]]],
        ["self_attn/o_proj", [["tp", "fsdp"], "sp"]],
        [".*", [["fsdp", "sp"]]],
    ],
}


def try_lists():
    for what, rules in LISTS.items():
        for model in ("llama3-8b", "mixtral-8x7b"):
            if "experts" not in str(rules) and model == "mixtral-8x7b":
                continue  # 8 experts do not divide over all devices
            found = imported("eformer", as_python(rules), LLAMA, "--mesh", MESH, "--model",
                             f"{{size: {model}, layers: 2}}")
            compare(f"{what}, {model}", found, asked(rules, found))


def anyone(name):
    """The name with '*' for the layer; of experts only the first counts."""
    parts = name.split("/")
    for i, part in enumerate(parts):
        if part.isdigit() and parts[i - 1] != "experts":
            parts[i] = "*"
        elif part.startswith("layers_"):
            parts[i] = "layers_*"
    return "/".join(parts)


def read_tree(path):
    with open(path, encoding="utf-8") as file:
        return {anyone(name): shape for name, shape in json.load(file)["params"]}


def try_golden(folder):
    trees = {
        "llama3_8b": (LLAMA, "{size: llama3-8b, layers: 2}", MESH, []),
        "mixtral_8x7b": (APART, "{size: mixtral-8x7b, layers: 2}", MESH,
                         ["--names", "easydel-apart"]),
        # GPT-2's vocabulary divides by no axis, so only the names are compared.
        "gpt2_small": (GPT2, "{size: gpt2-small, layers: 2}", "dp:1,fsdp:1,tp:1,sp:1", []),
        "t5_1_1_small": (T5, "{size: t5-v1.1-small, layers: 1, decoder_layers: 1}",
                         "data:4,model:2", []),
        "t5_1_1_base": (T5, "{size: t5-v1.1-base, layers: 1, decoder_layers: 1}",
                        "data:4,model:2", []),
    }
    ntried = 0
    with open(os.path.join(folder, "layout", "trees.jsonl"), encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            tree = case["id"].split(".")[1]
            if tree not in trees or case["op"] == "tree.auto":
                continue
            names, model, mesh, options = trees[tree]
            if case["op"] == "tree.match_rules":
                source, text = "easydel", as_python(case["in"]["rules"])
            else:
                source, text = "t5x", "".join(
                    f"standard_logical_axis_rules.{key} = {case['in'][key]}\n"
                    for key in ("activation_partitioning_dims", "parameter_partitioning_dims"))
            found = imported(source, text, names, "--mesh", mesh, "--model", model, *options)
            specs = {anyone(name): entries(spec) for name, spec in case["out"]["specs"].items()
                     if "/experts/" not in name or "/experts/0/" in name}
            shapes = read_tree(os.path.join(folder, case["in"]["tree_file"]))
            compare(case["id"], found, lambda name, _, specs=specs: specs.get(name))
            for name, (shape, _) in found.items():
                # The listed shape is a part of this one for arrays that join three projections and
                # for single experts.
                if "c_attn" not in name and "relpos" not in name and shapes.get(name) != shape:
                    print(case["id"], name, shape, "is not", shapes.get(name))
            more = {name for name in specs if name not in found} - {"lm_head/kernel"}
            if more:
                print(case["id"], "has", more, "besides")
            ntried += 1
    if ntried < 15:
        print("only", ntried, "were tried")


if sys.argv[2] == "golden":
    try_golden(sys.argv[3])
else:
    try_lists()
