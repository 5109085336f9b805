#!/bin/sh
# Tests the JSON Schema for editors: the shipped file is the program's output, and schema and reader
# agree about scenarios.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"

shardsim show schema
is 0 "show schema: status 0"
cmp -s "$tmp/out" "$top_srcdir/contrib/scenario.schema.json"
ok $? "contrib/scenario.schema.json is what 'shardsim show schema' prints"
cp "$tmp/out" "$tmp/schema.json"
COLUMNS=4000 shardsim show options
is 0 "show options: status 0"
cp "$tmp/out" "$tmp/options"

if ! python3 -W ignore -c 'import jsonschema' 2>/dev/null; then
    skip "the schema and the reader" "no python3-jsonschema"
    done_testing
    exit
fi

cat >"$tmp/agree.py" <<'PY'
"""agree.py SHARDSIM SCHEMA OPTIONS TMP SCENARIO...: prints what is wrong; the last line is a count."""
import copy, json, os, re, subprocess, sys, warnings
warnings.simplefilter("ignore")
import jsonschema, yaml

shardsim, schema_path, options_path, tmp = sys.argv[1:5]
schema = json.load(open(schema_path))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)


class Core(yaml.SafeLoader):
    """YAML's core schema, as the reader and editors have it; by itself PyYAML has an older one."""


Core.yaml_implicit_resolvers = {}
for tag, pattern, first in [("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
                            ("int", "[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?([0-9]+|[0-9]*\.[0-9]+|[0-9]+\.)([eE][-+]?[0-9]+)?",
                             "-+0123456789."),
                            ("null", "~|null|Null|NULL|", ["~", "n", "N", ""])]:
    Core.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile("^(?:%s)$" % pattern), first)
Core.add_constructor("tag:yaml.org,2002:float", lambda l, n: float(n.value))


def decoder_takes(document):
    with open(tmp + "/mutant.json", "w") as f:
        json.dump(document, f)
    got = subprocess.run([shardsim, "show", "strategies", tmp + "/mutant.json"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=60)
    assert got.returncode in (0, 2), got
    return got.returncode == 0


wrong, counts = [], {"accepted": 0, "refused": 0}


def must(document, what, accepted):
    counts["accepted" if accepted else "refused"] += 1
    for name, takes in (("decoder", decoder_takes(document)), ("schema", validator.is_valid(document))):
        if takes != accepted:
            wrong.append("%s: the %s %s it" % (what, name, "accepts" if takes else "refuses"))


def put(document, path, value):
    """A copy with the value at a path of keys; without it where the value is Ellipsis."""
    document = copy.deepcopy(document)
    at = document
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


# ---- the shipped scenarios ----
shipped = {}
for path in sys.argv[5:]:
    shipped[path] = yaml.load(open(path, encoding="utf-8"), Loader=Core)
    must(shipped[path], path, True)

# ---- from the tables: a file for each kind of model, and every option in it ----
MESH = {"mesh": {"tp": 2}}
ATTENTION = {"kind": "attention", "d_model": 8, "heads": 2}
BLOCK = dict(ATTENTION, kind="block", d_ff=16)
bases = {
    "mlp": dict(MESH, model={"kind": "mlp", "d_model": 8, "d_ff": 16}),
    "attention": dict(MESH, model=ATTENTION),
    "block": dict(MESH, model=BLOCK),
    "transformer": dict(MESH, model=dict(BLOCK, kind="transformer", vocab=32)),
    "gpt2": dict(MESH, model=dict(BLOCK, kind="gpt2", vocab=32)),
    "llama3": dict(MESH, model=dict(BLOCK, kind="llama3", vocab=32)),
    "t5": dict(MESH, model=dict(BLOCK, kind="t5", vocab=32)),
    "graph": dict(MESH, graph={"dims": {"b": 2}, "inputs": {"x": ["b"]}, "ops": ["y[b] = gelu(x[b])"]}),
}
for kind, base in bases.items():
    base["version"] = 1
    if kind != "graph":
        base["batch"] = {"size": 2, "seq": 4}
    must(base, "a base of kind " + kind, True)

options = []
for line in open(options_path, encoding="utf-8"):
    found = re.match(r"([a-z_.]+): (.*)", line)
    if found:
        text = found[2]
        kinds = re.search(r"; (not )?for models ([a-z0-9, ]+)", text)
        standard = re.search(r"; default ([^;]*)", text)
        options.append({
            "path": found[1].split("."), "text": text, "required": "; required" in text,
            "kinds": [k for k in bases if not kinds or (k in kinds[2].split(", ")) != bool(kinds[1])],
            "default": yaml.load(standard[1], Loader=Core) if standard else ...})
in_schema = {(k,) for k in schema["properties"]} - {("version",), ("strategies",), ("sweep",), ("prefill",)}
for section in {o["path"][0] for o in options if len(o["path"]) == 2}:
    in_schema.remove((section,))
    in_schema |= {(section, k) for k in schema["definitions"][section]["properties"]}
if in_schema != {tuple(o["path"]) for o in options}:
    wrong.append("the schema and 'show options' have other options")

FILES = ("data", "graph.values", "model.from", "hardware") # values that no schema can check
MAP, LIST = {"no": {"such": ["thing"]}}, [["no", {"such": "thing"}], 7]
for option in options:
    path, text = option["path"], option["text"]
    name = ".".join(path)
    home = option["kinds"][0]
    for kind, base in bases.items():
        if kind in option["kinds"] and option["default"] is not ...:
            must(put(base, path, option["default"]), "%s of kind %s, by default" % (name, kind), True)
        if kind not in option["kinds"]:
            must(put(base, path, option["default"] if option["default"] is not ... else 2),
                 "%s of kind %s" % (name, kind), False)
        elif option["required"] and not (kind == "graph" and name == "model.kind"):
            must(put(base, path, ...), "%s of kind %s is missing" % (name, kind), False)
    base = bases[home]
    if path[0] == "straggler": # a straggler needs a cluster for its time
        base = put(base, ["hardware"], "h100-sxm")
    if path[0] == "products": # how products are rounded needs them rounded
        base = put(base, ["products", "recipe"], "tensorwise")
    if (path[0] == "moe" and name != "moe.experts") or name == "fused.gates": # how there are experts needs them
        base = put(base, ["moe", "experts"], 4)
    if name == "fused.loss_again": # of the chunks of a step that learns
        base = put(put(put(base, ["fused", "loss_chunks"], 2), ["optimizer"], {"kind": "sgd"}),
                   ["step"], ["forward", "backward", "update"])
    if path[0] == "decode": # tokens are made by a step of serving
        base = put(put(base, ["step"], ["decode"]), ["model", "causal"], True)
    if name == "decode.accepted":
        base = put(base, ["decode", "draft"], 4)
    if name in ("lora.alpha", "lora.start"):
        base = put(base, ["lora"], {"rank": 2, "targets": ["kernel"]})
    must(put(base, path, LIST), name + ": a wrong list", False)
    must(put(base, path, MAP), name + ": a wrong map", False)
    # A schema cannot know the axes of the mesh or the schedules.
    if name not in ("name", "zero.axis", "optimizer.homes", "pipeline.axis", "context.axis", "moe.node_axis", "pipeline.schedule", *FILES):
        must(put(base, path, "no such word"), name + ": a word", False)
        most = re.search(r"a number (?:from 0 to|above 0, at most) (\d+)", text)
        must(put(base, path, 1.5), name + ": a fraction", bool(most) and int(most[1]) > 1)
    if name not in ("zero.axis", "optimizer.homes", "pipeline.axis", "context.axis", "moe.node_axis", *FILES):
        must(put(base, path, -1), name + ": a negative number", name in ("name", "pipeline.schedule"))
    if "null" not in text:
        must(put(base, path, None), name + ": null", False)
    if "true" not in text and name not in ("name", "zero.axis", "optimizer.homes", "zero.reshard_after_forward", "pipeline.axis", "context.axis", "moe.node_axis", "pipeline.schedule", *FILES):
        must(put(base, path, True), name + ": true", False)
    limits = re.search(r"from (\d+) to (\d+)", text)
    if limits:
        must(put(base, path, int(limits[1]) - 1), name + ": below its range", False)
        must(put(base, path, int(limits[2]) + 1), name + ": above its range", False)
    words = re.match(r"one of ([a-z0-9_., -]+)", text)
    for word in words[1].split(", ") if words and name not in ("model.kind", "optimizer.kind", "model.size",
                                                               "loss_scale.kind", "types.parameters", "context.method",
                                                               "context.order", "price", "lora.base",
                                                               "products.weights", "products.amax") else []:
        must(put(base, path, {"true": True, "false": False}.get(word, word)), "%s: %s" % (name, word), True)
        must(put(base, path, word + "x"), "%s: %sx" % (name, word), False)

# ---- maps that are no options ----
two = dict(bases["mlp"], strategies=[{"name": "a"}, {"name": "b", "mesh": {"dp": 2}}])
swept = dict(bases["mlp"], sweep={"devices": [2, 4], "mesh": [{"dp": [2, 4]}, {"tp": 2}],
                                  "rules": {"a": {"step": ["forward"]}, "b": {"mesh": {"x": 4}}}})
rope = put(bases["attention"], ["model", "rope"],
           {"theta": 100, "interleaved": True, "part": 1, "local_theta": 5,
            "scaling": {"kind": "yarn", "factor": 2, "original": 32, "beta_fast": 20, "beta_slow": 2, "mscale": 1,
                        "mscale_all": 1, "attention_factor": 1.5, "untruncated": True}})
graph = put(bases["graph"], ["graph", "inputs", "x"], {"dims": ["b"], "scale": 0.5, "dtype": "bfloat16", "values": False})
documents = {"strategies": two, "sweep": swept, "rope": rope, "graph": graph, **bases}
FREE = {"mesh", "axes", "algorithms", "dims", "inputs", "params", "rules"} # maps that accept any names


def maps(node, path):
    if isinstance(node, dict):
        yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, (dict, list)):
            yield from maps(value, path + [key])


for name, document in documents.items():
    must(document, name, True)
    for path in maps(document, []):
        if FREE.isdisjoint(path[-1:]) and "mesh" not in path:
            must(put(document, path + ["surprise"], 1), "%s: unknown key at %s" % (name, path), False)
for path, value in [(["strategies"], []), (["strategies"], {}), (["strategies"], [1]),
                    (["strategies", 0, "name"], ...), (["strategies", 0, "name"], None),
                    (["strategies", 0, "name"], ""), (["strategies", 0, "sweep"], {}),
                    (["strategies", 0, "version"], 1), (["strategies", 1, "mesh"], {"dp": [2]}),
                    (["version"], ...), (["version"], 2), (["version"], "1"), (["mesh", "9"], 2),
                    (["mesh", "tp"], 0), (["mesh", "tp"], "2"), (["mesh", "a b"], 2)]:
    must(put(two, path, value), "%s is %s" % (path, value), False)
for path, value in [(["sweep"], []), (["sweep", "devices"], []), (["sweep", "devices"], "8"),
                    (["sweep", "mesh"], {}), (["sweep", "mesh"], {"dp": []}), (["sweep", "rules"], {}),
                    (["sweep", "mesh"], {"dp": 0}), (["sweep", "rules", "a"], 1),
                    (["sweep", "rules", "b", "mesh", "x"], "4"), (["sweep", "rules", "a", "stop"], 1)]:
    must(put(swept, path, value), "%s is %s" % (path, value), False)
for value in [[["up"]], [["up", [], 1]], ["up"], [[None, []]], [["up", None]], [["up", {"tp": 1}]],
              [["up", [["tp", None]]]], [["up", [{}]]], [["up", [""]]], [["", []]], [["up", ["tp"] * 17]]]:
    for path in ["params"], ["constraints"]:
        must(put(bases["mlp"], path, value), "%s is %s" % (path[0], value), False)
for value in [[["up", []]], [["up", ["tp"]]], [["up", [None, ["tp"]]]], [["up", "P(None, 'tp')"]]]:
    must(put(bases["mlp"], ["params"], value), "params is %s" % value, True)
for path, values in [
        (["limits", "memory"], [("64MiB", 1), ("1.5 GB", 1), (4096, 1), ("64MB ", 0), ("64mb", 0)]),
        (["transfers", "rate"], [("1.5 TiB/s", 1), ("200GB", 0), (200, 0), ("1 GB/h", 0)]),
        (["transfers", "latency"], [(0, 1), ("0", 1), ("1.5 ms", 1), (5, 0), ("5", 0), ("5us/s", 0)]),
        (["tolerance"], [(1e-3, 1), (1, 1), (None, 1), (0, 0), (1.01, 0), ("1e-3", 0)]),
        (["seed"], [(0, 1), (2 ** 40, 1), ("0", 0)]),
        (["optimizer", "ns_coefficients"], [([2, -1.5, 0.5], 1), ([1, 2], 0), ([1, 2, 1001], 0), (1, 0)]),
        (["optimizer", "betas"], [([0, 0.5], 1), ([0.9], 0), ([0.9, 1], 0), ([-1, 0], 0), (0.9, 0)]),
        (["recompute"], [("none", 1), ([], 0), ({}, 0), ([1, {}], 0), ({"kind": "none"}, 0), ({"every": 0}, 0),
                         ({"first": "2"}, 0), ({"evry": 2}, 0), ("ful", 0)]),
        (["zero", "axis"], [("tp", 1), (None, 1), (["tp"], 1), ([{"tp": 1}], 0)]),
        (["step"], [(["forward", "update"], 0), ("forward", 1), (["backward", "forward"], 1), (["backward"], 0), ([], 0),
                    (["forward", "forward"], 0)]),
        (["axes"], [({"batch": ["tp"]}, 1), ({"batch": None}, 1), ({"batch": {"tp": 1}}, 0)]),
        (["name"], [(7, 1), ("a b", 1), ("", 0), ("a\nb", 0), ("x" * 201, 0)])]:
    for value, accepted in values:
        must(put(bases["mlp"], path, value), "%s is %r" % (".".join(path), value), bool(accepted))
for path, value in [(["graph", "ops"], []), (["graph", "ops"], ["x" * 2001]), (["graph", "dims", "0b"], 2),
                    (["graph", "dims", "b"], 0), (["graph", "dims"], 3), (["graph", "dims"], ["b"]),
                    (["graph", "inputs"], 3), (["graph", "inputs"], ["x"]), (["graph", "ops"], "y = x"),
                    (["graph", "inputs", "x"], 3), (["graph", "inputs", "x", "dtype"], "int7"),
                    (["graph", "inputs", "x", "dims"], ...),
                    (["graph", "inputs", "x", "dims"], ["b"] * 13), (["graph", "inputs", "x", "scale"], 0),
                    (["graph", "inputs", "x", "below"], 3), (["graph", "inputs", "x y"], ["b"])]:
    must(put(graph, path, value), "%s is %s" % (path, value), False)
trained = dict(bases["mlp"], step=["forward", "backward", "update"], optimizer={"kind": "sgd"})
for value in ["selective", "full", ["mlp/gelu"], [".*", 7], {"kind": "selective", "first": None}, {"every": 2},
              {"group": 2, "every": 1, "first": 3}]:
    must(put(trained, ["recompute"], value), "recompute is %s" % value, True)
on_cluster = dict(bases["mlp"], hardware="h100-sxm")
for value in ["bytes", "time"]:
    must(put(on_cluster, ["price"], value), "price is %s" % value, True)
must(put(on_cluster, ["price"], "times"), "price is times", False)
cut = put(bases["attention"], ["context", "axis"], "tp")
for path, value in [(["method"], "ring"), (["method"], "gather"), (["order"], "zigzag"), (["order"], "striped"),
                    (["documents"], {"mean": 3}), (["documents"], {"mean": 3, "seed": 0}), (["documents"], None)]:
    must(put(cut, ["context"] + path, value), "context.%s is %s" % (path[0], value), True)
for path, value in [(["method"], "rings"), (["order"], "zig"), (["documents"], {}), (["documents"], {"seed": 1}),
                    (["documents"], {"mean": 0}), (["documents"], {"mean": 3, "seed": -1}), (["documents"], []),
                    (["documents"], [0]), (["documents"], {"mean": 3, "men": 3}), (["documents"], 3)]:
    must(put(cut, ["context"] + path, value), "context.%s is %s" % (path[0], value), False)
for path, value in [(["theta"], 1), (["theta"], "100"), (["interleaved"], 1)]:
    must(put(rope, ["model", "rope"] + path, value), "rope: %s is %s" % (path, value), False)

# ---- changed shipped scenarios: the reader refuses whatever the schema refuses ----
def leaves(node, path):
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield path + [key]
        if isinstance(value, (dict, list)):
            yield from leaves(value, path + [key])


nloose, first, every = 0, 0, 29
if os.environ.get("SHD_TEST_TIER") == "change":
    first, every = int(os.environ.get("SHD_TEST_TURN", "0")) % 8 * every, 8 * every
for path, document in shipped.items():
    for at in list(leaves(document, []))[first::every]:
        for value in (..., None, [], {}, "nothing", 3):
            mutant = put(document, at, value)
            if not validator.is_valid(mutant):
                nloose += 1
                if decoder_takes(mutant):
                    wrong.append("%s: %s is %s: the schema alone refuses it" % (path, at, value))

for line in wrong[:20]:
    print(line)
print("%d wrong; %d accepted by both, %d refused by both; %d more that the schema refuses" % (
    len(wrong), counts["accepted"], counts["refused"], nloose))
sys.exit(bool(wrong) or counts["refused"] < 100)
PY
python3 "$tmp/agree.py" "$shardsim" "$tmp/schema.json" "$tmp/options" "$tmp" \
    "$scenarios"/*.yaml "$top_srcdir"/docs/course/*.yaml >"$tmp/agreed" 2>&1
ok $? "the schema and the reader accept and refuse the same"
diag <"$tmp/agreed"
done_testing
