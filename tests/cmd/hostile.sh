#!/bin/sh
# Tests names with terminal control characters, in files, of files and on the command line: no
# subcommand prints such a character, in text, TAP, JUnit, annotations, SVG, CSV or JSON.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

cat >"$tmp/hostile.py" <<'PY'
"""hostile.py PROGRAM FOLDER: a TAP line for each command."""
import json, os, struct, subprocess, sys, unicodedata
import xml.etree.ElementTree as tree

program, folder = sys.argv[1:]
os.chdir(folder)

# The characters: a colour, a title, C1's CSI, reversed writing, invisible ones, line ends, tags.
NASTY = "n\x1b[31m\x1b]0;t\x07\x7f\u009b2J\u0085\u202e\u2066\u200b\u2028\u2029\ufeff\u00ad\U000e0041\n\r\tQ"
SLY = "n\u009b31m\u00ad\u202e\u2066\u200b\u2028\u2029\ufeff\u061cQ"  # only characters that a name may have
BYTES = b"\xff\x9b2J\xc3\xed\xa0\x80"  # not UTF-8
count = 0


def is_nasty(c):
    return unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") and c != "\n"


def ok(passed, what, why=""):
    global count
    count += 1
    print("%sok %d - %s" % ("" if passed else "not ", count, what))
    if not passed:
        print("".join("# %s\n" % line for line in ascii(why)[:1500].split("\\n")), end="")


def fault(data):
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        return "no UTF-8: %r" % data[max(0, e.start - 60) : e.end + 20]
    for i, c in enumerate(text.replace("\r\n", "\n")):
        if is_nasty(c):
            return "%r in %r" % (c, text[max(0, i - 60) : i + 20])
    if "\nQ" in text:  # after the line ends of the name
        return "a name that ends a line: %r" % text[:300]
    return ""


def run(what, *args, env={}, stdin=b"", status=None, said=None):
    done = subprocess.run([program, *args], input=stdin, capture_output=True, timeout=120,
                          env={**os.environ, "COLUMNS": "1000", **env})
    why = fault(done.stdout) or fault(done.stderr)
    if not why and status is not None and done.returncode != status:
        why = "status %d: %r %r" % (done.returncode, done.stderr[-300:], done.stdout[-300:])
    if not why and said and said.encode() not in done.stdout + done.stderr:
        why = "%r is not said: %r" % (said, (done.stderr + done.stdout)[:600])
    ok(not why, what, why)
    return done


def scenario(name="n", strategy="s", axis="tp", param="mlp/up/kernel", **more):
    s = {"version": 1, "name": name, "mesh": {axis: 2},
         "model": {"kind": "mlp", "d_model": 8, "d_ff": 16, "layers": 1},
         "batch": {"size": 2, "seq": 4}, "step": ["forward", "backward"],
         "params": [[param, [None, axis]], [".*", []]],
         "strategies": [{"name": strategy}, {"name": strategy + "2"}]}
    s.update(more)
    return json.dumps(s).replace("\\udb40\\udc41", "\\U000e0041")  # YAML has no surrogates


def write(path, data):
    os.makedirs(os.path.dirname(path) or b".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def escaped(start):
    return start + "\\x1b[31m"


write(b"good.yaml", scenario())
write(b"names.yaml", scenario(SLY, SLY, "tp"))
write(b"control.yaml", scenario(NASTY, NASTY, "tp"))
write(b"axis.yaml", scenario(axis="a" + NASTY))
write(b"rule.yaml", scenario(param=NASTY))
write(b"key.yaml", scenario(**{NASTY: NASTY}))
write(b"kind.yaml", scenario(model={"kind": NASTY}))
write(b"algorithm.yaml", scenario(algorithms={NASTY: NASTY}))
write(b"bytes.yaml", b"version: 1\nname: " + BYTES + b"\n")
graph = {"kind": "graph"}
write(b"graph.yaml", scenario(model=graph, graph={"dims": {NASTY: 4}, "inputs": {NASTY: [NASTY]},
                                                 "ops": [NASTY + " = " + NASTY]}))
FILE = NASTY.replace("/", "_").encode() + BYTES + b".yaml"
write(FILE, scenario())
write(b"bad" + FILE, "mesh: 3\n")

for command in ("run", "plan", "compare", "explain", "show matrix", "show strategies"):
    words = command.split()
    one = ["-S", SLY] if command in ("explain", "show matrix") else []
    run(command + ": names of scenario and strategies", *words, *one, "names.yaml", status=0,
        said="n\\u009b31m\\u00ad\\u202e")
    run(command + ": control characters in such names", *words, *one, "control.yaml", status=2,
        said=escaped("n"))
    for file in ("axis", "rule", "key", "kind", "algorithm", "bytes", "graph"):
        more = ["-S", "s"] if one and file in ("axis", "rule") else []
        run(command + ": " + file, *words, *more, file + ".yaml")
    more = ["-S", "s"] if one else []
    run(command + ": the file's name", *words, *more, FILE, status=0)
    run(command + ": a bad file's name", *words, b"bad" + FILE, status=2, said=escaped("badn"))
    run(command + ": no such file", *words, b"none" + FILE, status=2, said=escaped("nonen"))
    run(command + ": an unknown option", *words, "--" + NASTY, "good.yaml", status=2, said=escaped("--n"))
    run(command + ": bytes as an option", *words, b"--" + BYTES, "good.yaml", status=2, said="\\xff")
    run(command + ": a letter", *words, b"-\x9b", "good.yaml", status=2, said="\\x9b")
    run(command + ": letters", *words, b"-\xff\x9b", "good.yaml", status=2, said="\\xff")
    run(command + ": --set", *words, "--set", NASTY + "=" + NASTY, "good.yaml")
    run(command + ": --set of a value", *words, "--set", "mesh.tp=" + NASTY, "good.yaml", status=2)
    run(command + ": --strategy", *words, "--strategy", NASTY, "good.yaml")
for command in ("run", "plan"):
    run(command + ": --json", command, "--json", "names.yaml", status=0)
    run(command + ": --json of axes", command, "--json", "axis.yaml")
run("run: --repeat", "run", "--repeat", NASTY, "good.yaml", status=2, said=escaped("n"))
for kind in ("table", "markdown", "csv", "json"):
    run("compare: --format=" + kind, "compare", "--format", kind, "names.yaml", status=0)
    run("compare: --format=%s of two files" % kind, "compare", "--format", kind, "names.yaml", FILE,
        status=0)
run("compare: an unknown format", "compare", "--format", NASTY, "good.yaml", status=2, said=escaped("n"))
run("compare: --base", "compare", "--base", NASTY, "good.yaml", status=2, said=escaped("n"))
run("compare: --output", "compare", "--output", NASTY, "good.yaml", status=2, said=escaped("n"))
run("compare: no such folder", "compare", "--output", NASTY + "/x.csv", "good.yaml", status=3,
    said=escaped("n"))

run("no such command", NASTY, status=2, said=escaped("n"))
run("nothing to show", "show", NASTY, status=2, said=escaped("n"))
run("explain: no such subject", "explain", NASTY, "x")
run("explain: --op", "explain", "-S", "s", "good.yaml", "--op", NASTY, status=2, said=escaped("n"))
run("explain collective: none", "explain", "collective", NASTY, status=2, said=escaped("n"))
run("explain collective: algorithm", "explain", "collective", "all-reduce", "--algorithm", NASTY,
    status=2, said=escaped("n"))
run("bench: a collective", "bench", "--op", NASTY, status=2)
run("bench: a size", "bench", "--sizes", NASTY, status=2)
run("bench: a word", "bench", NASTY, status=2, said=escaped("n"))
run("check: two folders", "check", "x", NASTY, status=2, said=escaped("n"))
run("check: no folder", "check", NASTY, status=2, said=escaped("n"))
run("check: --whole", "check", "--whole", NASTY, status=2)
MESH = NASTY.replace("\n", "").replace("\t", "") + "=2"
for what in ("mesh", "groups"):
    run("show %s: axes" % what, "show", what, MESH)
    run("show %s: no mesh" % what, "show", what, NASTY, status=2)
run("show timetable: name", "show", "timetable", NASTY, "-r", "2", "-m", "2", status=2)
run("show timetable: times", "show", "timetable", "1F1B", "-r", "2", "-m", "2", "-t", NASTY, status=2)
run("show timetable: ranks", "show", "timetable", "1F1B", "-r", NASTY, "-m", "2", status=2)
run("show mesh: in place", "show", "mesh", "tp=2", NASTY, status=2, said=escaped("n"))
run("show groups: axes", "show", "groups", "tp=2", "--axes", NASTY, status=2)
run("show array: a word", "show", "array", "--mesh", "tp=2", "--shape", "4", NASTY, status=2)
run("show array: axes", "show", "array", "--mesh", MESH, "--shape", "4", "--spec", MESH[:-2])
run("show array: spec", "show", "array", "--mesh", "tp=2", "--shape", "4", "--spec", NASTY, status=2)
run("show array: shape", "show", "array", "--mesh", "tp=2", "--shape", NASTY, status=2)
run("show mesh: an ending", "show", "mesh", "tp=2", "-o", NASTY, status=2, said=escaped("n"))
run("show mesh: a folder", "show", "mesh", "tp=2", "-o", NASTY + "/x.svg", status=3, said=escaped("n"))
HARDWARE = json.dumps({
    "version": 1, "name": NASTY, "source": NASTY, "rates": {"bfloat16": "1TFLOP/s"},
    "memory": {"size": "1GiB", "rate": "1GB/s"},
    "kernels": {"launch": "1us", "matmul_efficiency": 1, "memory_efficiency": 1,
                "attention_efficiency": 1, "attention_backward_efficiency": 1},
    "tiers": [{"name": NASTY, "devices": 2, "rate": "1GB/s", "latency": "1us", "step": "1us"},
              {"name": NASTY, "rate": "1GB/s", "latency": "1us", "step": "1us"}],
    "validation": [{"set": NASTY, "rows": 1, "mape": 0, "cross_validated_mape": 0,
                    "parameters_least": 1, "parameters_most": 1, "devices_least": 1,
                    "devices_most": 1}]}).replace("\\udb40\\udc41", "\\U000e0041")
write(b"hardware.yaml", HARDWARE)
write(b"bad_hardware.yaml", json.dumps({NASTY: NASTY, "tiers": [{NASTY: NASTY}], "fitted": [NASTY]})
      .replace("\\udb40\\udc41", "\\U000e0041"))
run("show hardware: names", "show", "hardware", "hardware.yaml", status=0, said=escaped("n"))
run("show hardware: bad keys", "show", "hardware", "bad_hardware.yaml", status=2, said=escaped("n"))
run("show hardware: none", "show", "hardware", NASTY, status=2, said=escaped("n"))
LINKS = ("explain", "collective", "all-reduce", "-b", "1MiB", "--hardware")
run("explain --hardware: names", *LINKS, "hardware.yaml", "-m", MESH, status=0, said=escaped("n"))
run("explain --hardware: names in JSON", *LINKS, "hardware.yaml", "-m", MESH, "--json", status=0)
run("explain --hardware: bad keys", *LINKS, "bad_hardware.yaml", status=2, said=escaped("n"))
run("explain --hardware: axes", *LINKS, "hardware.yaml", "-m", "x=2", "--axes", NASTY, status=2)
run("explain --hardware: mesh", *LINKS, "hardware.yaml", "-m", NASTY, status=2)
run("explain --hardware: size", *LINKS[:-2], NASTY, "--hardware", "hardware.yaml", status=2)
run("explain reshard: axes", "explain", "reshard", "--mesh", MESH, "--shape", "4", "--from", MESH[:-2],
    "--to", "")
for option in ("--mesh", "--shape", "--from", "--to", "--link", "--memory", "--dtype"):
    given = {"--mesh": "tp=2", "--shape": "4", "--from": "tp", "--to": ""}
    given[option] = NASTY
    run("explain reshard: " + option, "explain", "reshard", *sum(map(list, given.items()), []))
run("query: a bad line", "query", stdin=json.dumps({"id": NASTY, "op": NASTY}, ensure_ascii=False)
    .encode() + b"\n" + BYTES + b"\n")

# SVG
for name, args in (("mesh", ["show", "mesh", MESH]), ("matrix", ["show", "matrix", "-S", SLY, "names.yaml"])):
    run("SVG of %s" % name, *args, "-o", name + ".svg")
    if os.path.exists(name + ".svg"):
        data = open(name + ".svg", "rb").read()
        tree.fromstring(data)
        ok(not fault(data), "SVG of %s: nothing as it is" % name, fault(data))

# Trees: safetensors, JSON and YAML.
JSON = NASTY.replace("\U000e0041", "")
header = json.dumps({JSON: {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]},
                     "__metadata__": {JSON: JSON}}).encode()
write(b"m/a.safetensors", struct.pack("<Q", len(header)) + header + bytes(64))
header = json.dumps({"x": {"dtype": NASTY, "shape": [4, 4], "data_offsets": [0, 64]}}).encode()
write(b"bad/a.safetensors", struct.pack("<Q", len(header)) + header + bytes(64))
write(b"tree.json", json.dumps([[JSON, [4, 4]], ["w", [8]]]))
write(b"tree.yaml", json.dumps([{"name": JSON, "shape": [4, 3], "dtype": "float32"}]))
write(b"badtree.yaml", json.dumps([{"name": "x", "shape": [4, 3], "dtype": NASTY}]))
write(b"config/config.json", json.dumps({"model_type": NASTY, "architectures": [NASTY]}))
write(b"rules.yaml", json.dumps([[SLY, ["tp"]], ["w", ["tp"]], [".*", []]]))
for model in ("m", "m/a.safetensors", "bad", "tree.json", "tree.yaml", "badtree.yaml", "config", NASTY):
    for more in ([], ["--json"]):
        run("show tree: %s %s" % (ascii(model)[:20], more), "show", "tree", model, "--mesh", "tp=2",
            "--rules", "rules.yaml", *more)
run("show tree: names", "show", "tree", "m/a.safetensors", "--mesh", "tp=2", "--rules", "rules.yaml", status=0,
    said=escaped("n"))
run("show tree: rules", "show", "tree", "m", "--mesh", "tp=2", "--rules", NASTY, status=2)
run("show tree: --large", "show", "tree", "m", "--mesh", "tp=2", "--rules", "rules.yaml", "--large", NASTY)

# check: TAP, JUnit and annotations
os.makedirs("p/scenarios")
os.chdir("p")
write(b"scenarios/names.yaml", scenario(SLY, SLY))
write(b"scenarios/" + FILE, scenario())
write(b"scenarios/bad" + FILE, "mesh: 3\n")
write(b"results/baselines/scenarios/gone" + FILE,
      "# What 'shardsim check' expects of x; 'shardsim check --update' accepts changes.\n")
for what, more in (("check", []), ("check --update", ["--update"]), ("check again", []),
                   ("check --update --prune", ["--update", "--prune"])):
    run(what, "check", "--plan", "--junit", "j.xml", *more, env={"GITHUB_ACTIONS": "true"}, status=2)
    data = open("j.xml", "rb").read()
    root = tree.fromstring(data)
    ok(not fault(data), what + ": JUnit shows nothing as it is", fault(data))
    names = {case.get("name") for case in root.iter("testcase")}
    ok(any("\\xff\\x9b" in name for name in names), what + ": JUnit names the file", names)
os.remove(b"scenarios/bad" + FILE)
run("check: accepted", "check", "--plan", status=0)
print("1..%d" % count)
PY

mkdir "$tmp/f"
if ! mkdir "$tmp/$(printf '\377')" 2>/dev/null; then
    skip "names from outside" "a file system without such names"
    done_testing
    exit 0
fi
python3 "$tmp/hostile.py" "$shardsim" "$tmp/f"
