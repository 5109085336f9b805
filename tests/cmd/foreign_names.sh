#!/bin/sh
# Tests that hostile names stay names in every output: Python, shell, TOML, YAML, JSON, XML, HTML,
# CSV, Markdown and TAP parse to the same program and the same shape, whatever the names are.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

cat >"$tmp/literals.py" <<'PY'
"""literals.py PROGRAM WRITER FOLDER SEED: a TAP line for each language and each document."""
import ast, csv, html.parser, io, json, os, random, re, shlex, subprocess, sys, tomllib, unicodedata
import xml.etree.ElementTree as tree

try:
    import yaml
except ImportError:
    yaml = None
program, writer, folder, seed = sys.argv[1:]
os.chdir(folder)
print("# seed", seed)
count = 0


def ok(passed, what, why=""):
    global count
    count += 1
    print("%sok %d - %s" % ("" if passed else "not ", count, what))
    if not passed:
        print("# %s" % ascii(why)[:1000])


def tried(what, test):
    try:
        why = test()
    except Exception as e:
        why = repr(e)
    ok(not why, what, why)


# ---- every function, by many names of bytes ----

PIECES = [b"'", b'"', b"\\", b"\n", b"\r", b"\t", b"`", b"$(a)", b"${a}", b";", b"&", b"|", b"<b>", b"</r>",
          b"<!--", b"]]>", b"&amp;", b"#", b" #", b": ", b"- ", b"{", b"}", b"[", b"]", b",", b"%0A", b"::",
          b"=", b"+1", b"@", b"\x1b[31m", b"\x01", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
          b"\xf3\xa0\x81\x81", b"\xff", b"\xed\xa0\x80", b"\xc3", b"a", b"0", b"null", b"~", b"*", b"!", b"?",
          b"'''", b'"""', b"-->", b"\xef\xbf\xbf", b"...", b"---", b"\xe4\xb8\xad", b"coding: x", b" ", b"::error::a", b"##[add-mask]",
          b"##vso[task.x]"]
pick = random.Random(int(seed))
names = [b"", *PIECES, *(b"".join(pick.choices(PIECES, k=pick.randint(1, 6))) for _ in range(2000))]


def document(language):
    done = subprocess.run([writer, language], input=b"".join(n + b"\0" for n in names), capture_output=True)
    assert done.returncode == 0, done
    return done.stdout


def is_shown(text):
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") for c in text)


# A byte that is not UTF-8 becomes one U+FFFD, as the program reads bytes.
def read(name):
    return re.sub("[\udc80-\udcff]", "\ufffd", name.decode("utf-8", "surrogateescape"))


def same(found):
    want = [read(n) for n in names]
    return "" if found == want else next(((a, b) for a, b in zip(found, want) if a != b), len(found))


def test_shell():
    out = document("shell")
    with open("words", "wb") as file:
        file.write(out)
    done = subprocess.run(["sh", "-c", '. ./words; printf "%s\\0" "$@"'], capture_output=True)
    if done.stdout != b"".join(n + b"\0" for n in names):
        return done
    return "" if shlex.split(out.decode("latin-1"))[2:] == [n.decode("latin-1") for n in names] else "shlex"


def test_xml():
    root = tree.fromstring(document("xml").decode())
    found = [a.get("b") for a in root]
    return "" if len(found) == len(names) and all(map(is_shown, found)) and not list(root.iter("b")) else len(found)


def test_csv():
    found = list(csv.reader(io.StringIO(document("csv").decode(), newline="")))
    good = all(len(r) == 3 and r[0] == "1" and r[2] == "2" and r[1][:1] not in list("=+-@") and is_shown(r[1])
               for r in found)
    return "" if good and len(found) == len(names) else len(found)


def test_markdown():
    lines = document("markdown").decode().split("\n")[:-1]
    plain = [re.sub(r"\\[!-/:-@\[-`{-~]", "", line) for line in lines]
    bad = [p for p in plain if not (p.startswith("| ") and p.endswith(" |") and is_shown(p)
                                    and not set(p[2:-2]) & set("|<>[]`*_&"))]
    return "" if not bad and len(lines) == len(names) else bad[:1] or len(lines)


def test_comment():
    lines = document("comment").decode().split("\n")[:-1]
    return "" if len(lines) == len(names) and all(n.startswith("# ") and is_shown(n) for n in lines) else len(lines)


def test_yaml(language):
    return lambda: same(yaml.safe_load(document(language)))


tried("Python: strings", lambda: same(ast.literal_eval(document("python").decode())))
tried("shell: words", test_shell)
tried("JSON: strings", lambda: same(json.loads(document("json"))[:-1]))
tried("XML: attributes", test_xml)
tried("CSV: fields", test_csv)
tried("Markdown: cells", test_markdown)
tried("comments: a line each", test_comment)
for language in ("yaml", "flow", "quoted") if yaml else ():
    tried("YAML: strings, %s" % language, test_yaml(language))

# ---- what the program writes, with hostile names and with plain ones ----

SLY = (r"coding: raw_unicode_escape \u000aimport os;1/0", "vim: set modeline:", "-*- coding: utf-7 -*- +AAo-1/0",
       "</script><script>alert(1)</script>", "--> <b onload=x>'\"", "]]></title>&lt;&amp;", "=cmd|' /C x'!A0",
       '@a,b"c', "a|b`c`*d*[e](f)<g>", "$(touch pwned); `touch pwned` '\"", "'''\"\"\"\\", "# SKIP", "a # TODO b",
       "::error::x%0Ay", "..", "...", "---", "{a: [b", "- c: d", "null", "x\u202ey\u2028z\u009b2J", r"\N{BEL}\x00")
PLAIN = ["s%d" % i for i in range(len(SLY))]
LAYOUT = {"version": 1, "mesh": {"dp": 2}, "batch": {"size": 4, "seq": 16}, "hardware": "h100-sxm",
          "model": {"kind": "llama3", "d_model": 32, "d_ff": 64, "heads": 2, "vocab": 64, "layers": 2},
          "step": ["forward", "backward", "update"], "optimizer": {"kind": "adamw"}, "params": [[".*", []]],
          "axes": {"batch": "dp"}, "constraints": [["[^e]/out$", ["dp", None, None]]]}


def write(path, name, strategies):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**LAYOUT, "name": name, "strategies": [{"name": s} for s in strategies]}, file)


write("sly.yaml", SLY[0], SLY)
write("plain.yaml", "n", PLAIN)
write("slyone.yaml", " ".join(SLY[:6]), [" ".join(SLY[6:])])  # of 200 bytes at most each
write("plainone.yaml", "n", ["s"])


def run(*args, status=0):
    done = subprocess.run([program, *args], capture_output=True)
    assert done.returncode == status, done
    return done.stdout


def written(suffix, *args):
    def make(which):
        run(*args, which + ".yaml", "-o", which + suffix)
        with open(which + suffix, "rb") as file:
            return file.read()
    return make


def same_shape(what, make, shape):
    """Of what is written with hostile names, the shape is that with plain ones."""
    tried(what, lambda: "" if shape(make("plain")) == shape(make("sly")) else "another shape")


def shape_of_python(text):
    return ast.dump(ast.parse(text))  # bytes, since only in bytes Python obeys a line with the name of an encoding


def shape_of_shell(text):
    assert subprocess.run(["sh", "-n"], input=text, capture_output=True).returncode == 0
    return shlex.split(text.decode(), comments=True)


class Page(html.parser.HTMLParser):
    """A page's tags with the names of their attributes, but for that of long names."""
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, [k for k, _ in attrs if k != "class"]))

    def handle_endtag(self, tag):
        self.tags.append(tag)


def shape_of_xml(text):
    return [(e.tag, sorted(e.keys())) for e in tree.fromstring(text.decode()).iter()]


def shape_of_csv(text):
    rows = list(csv.reader(io.StringIO(text.decode(), newline="")))
    return [len(r) for r in rows], [c[:1] in "=+-@" for r in rows for c in r if c]


def shape_of_markdown(text):
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", text.decode())
    return [len(line.split("|")) for line in plain.split("\n") if line.startswith("| ")], plain.count("<")


def shape_of_tap(text):
    return [re.sub(r"^((not )?ok \d+ - )[^#]*", r"\1", line) for line in text.decode().split("\n")]


for target, shape in (("jax", shape_of_python), ("pytorch", shape_of_python), ("megatron", shape_of_shell),
                      ("torchtitan", lambda text: tomllib.loads(text.decode()))):
    same_shape("export --to " + target, lambda which: run("export", "--to", target, which + "one.yaml"), shape)
same_shape("report: HTML", written(".html", "report", "--plan"), lambda text: Page(text).tags)
same_shape("compare: CSV", written(".csv", "compare", "--plan"), shape_of_csv)
same_shape("compare: Markdown", written(".md", "compare", "--plan"), shape_of_markdown)
tried("plan: JSON has the names", lambda: "" if [r["strategy"] for r in json.loads(run("plan", "--json", "sly.yaml"))]
      == list(SLY) else "others")
same_shape("show matrix: SVG", lambda which: written(".svg", "show", "matrix", "-S", (SLY if which == "sly" else PLAIN)[5])
           (which), lambda text: [tag for tag, _ in shape_of_xml(text) if not tag.endswith("text")])
same_shape("trace: JSON", lambda which: written(".json", "trace", "--plan", "-S", (SLY if which == "sly" else PLAIN)[3])
           (which), lambda text: len(json.loads(text)["traceEvents"]))


def checked(which):
    os.makedirs(which + "/scenarios")
    os.rename(which + ".yaml", which + "/scenarios/a.yaml")
    os.chdir(which)
    try:
        return run("check", "--plan", "--junit", "../%s.xml" % which, status=1)
    finally:
        os.chdir("..")


same_shape("check: TAP", checked, shape_of_tap)
same_shape("check: JUnit", lambda which: open(which + ".xml", "rb").read(), shape_of_xml)
ok(not any(os.path.exists(f) for f in ("pwned", "sly/pwned")), "nothing of it was run")

# Texts that a CI runner takes for a command: GitHub's at the beginning of a line, older ones
# anywhere.
COMMAND = re.compile(r"^\s*::|##[a-z]*\[", re.M)
TOLD = ("::error::a", " ::add-mask::b ##vso[c]", "##[error]d", "\u00a0::e", "f" * 60 + " ::g")
FILE = "::debug::.yaml"
write(FILE, TOLD[0] + " " + TOLD[2], TOLD)
os.environ["GITHUB_ACTIONS"] = ""
for args in (["plan"], ["plan", "--json"], ["compare", "--plan", "--columns=all"], ["compare", "--plan", "--format=csv"],
             ["compare", "--plan", "--format=markdown"], ["explain", "-S", TOLD[1]], ["export", "--to", "jax", "-S", TOLD[2]],
             ["plan", "-S", "::x"], ["plan", "-s", "model.vocab=::0"], ["show", "names"]):
    done = subprocess.run([program, *args, FILE], capture_output=True, text=True)
    found = COMMAND.search(done.stdout + "\n" + done.stderr)
    ok(not found and (done.stdout or done.stderr), " ".join(args).replace("#", "") + ": no line is a runner's command",
       found and (done.stdout + done.stderr)[found.start():][:200])
for language in ("python", "shell", "json", "xml", "csv", "markdown", "comment", "yaml", "flow", "quoted"):
    found = COMMAND.search(document(language).decode("utf-8", "replace"))
    ok(not found, language + ": no line is a runner's command", found)

# The first scenario of init prints commands with its own name, and its cluster's in a comment.
FILE = "x: {y # z'\"$(touch pwned).yaml"
run("init", "--model", "gpt2-small", "--devices", "8", "--batch", "8", "--seq", "64", "--hardware", "h100-sxm", "-o", FILE)
with open(FILE, encoding="utf-8") as file:
    lines = file.read().split("\n")
tried("init: its commands name the file", lambda: "" if shlex.split(lines[2].removeprefix("#"))[2] == FILE else lines[:4])
tried("init: what it wrote is planned", lambda: run("plan", FILE) and "")
# A remark about a name with line breaks is one line, which a shell reads as the name or its
# escapes.
with open("a\n::error::x \t::b ##[e].gz", "wb") as file:
    file.write(b"\x1f\x8b\x08")
for args in (["replay", "a\n::error::x \t::b ##[e].gz"], ["init", "--model", "llama3-405b", "--devices", "8", "--batch", "8", "--seq",
             "64", "--hardware", "h100-sxm", "-o", "a\n::error::x \t::b ##[e].yaml"]):
    done = subprocess.run([program, *args], capture_output=True, text=True)
    found = COMMAND.search(done.stdout + "\n" + done.stderr)
    ok(not found and "error::x" in done.stderr, args[0] + ": a remark is no runner's command", done)
print("1..%d" % count)
PY

mkdir "$tmp/f"
python3 "$tmp/literals.py" "$(realpath "$shardsim")" "$(realpath "$top_builddir/tests/base/literals")" "$tmp/f" \
    "${SHD_TEST_SEED:-${SHD_TEST_TURN:-1}}"
