#!/usr/bin/env python3
"""mutants.py - change operators, constants and statements of lib and sim at random places, and see
whether a test fails: `make mutants`.

    mutants.py coverage             build with coverage, run every test, note which test reaches which line
    mutants.py draw N SEED          choose N mutants, reached and not
    mutants.py run [WORKERS]        run the tests that reach each, cheapest first, until one fails
    mutants.py table                what was found, as Markdown

All is kept in the folder mutants/ of the current build, so that each step can be run again alone;
mutants.json may come from another version of the sources: a mutant is found again by the text of its
line.  A mutant whose tests take longer than SHD_MUTANT_SECONDS of CPU together (default 90) survives.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import glob
import gzip
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys

TOP = os.path.realpath(os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
HOME = os.path.realpath("mutants")
BUDGET = float(os.environ.get("SHD_MUTANT_SECONDS", "90"))
JOBS = os.environ.get("SHD_JOBS", "2")
AT_ONCE = 8 # tests linked at a time


def tests():
    """Names of the tests of every change, as in tests/tiers."""
    rows = (line.split() for line in open(TOP + "/tests/tiers") if line.strip() and line[0] != "#")
    return [row[0] for row in rows if "c" in row[2] and row[0] not in ("dearest.sh", "headers.sh", "lint.sh")]


def shell(command, folder, **env):
    return subprocess.run(command, cwd=folder, shell=True, check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, **env})


def build(name, *options):
    """A copy of the sources below mutants/NAME, configured and built; returns the folder of the build."""
    source, folder = "%s/%s" % (HOME, name), "%s/%s/build/it" % (HOME, name)
    if not os.path.exists(folder + "/built"):
        shutil.rmtree(source, ignore_errors=True)
        os.makedirs(source)
        shell("git ls-files -z | tar -c --null -T - | tar -x -C '%s'" % source, TOP)
        os.makedirs(folder)
        shell("autoreconf -fi", source)
        shell(" ".join(("../../configure", "--with-mpi", *options)), folder)
        shell("make -j%s all && make -j%s check TESTS= && make tests/shardsim" % (JOBS, JOBS), folder)
        # An archive that names its objects by path always has the last compiled ones.
        shell("rm .libs/libsim.a && find sim lib -name 'libsim_la-*.o' -path '*/.libs/*' | xargs ar rcsT .libs/libsim.a",
              folder)
        open(folder + "/built", "w").close()
    return folder


def run_test(name, folder, seconds, **env):
    """(passed, CPU seconds) of a test in a build of build(); one that takes longer has failed."""
    source = os.path.realpath(folder + "/../..")
    program = "../../tests/" + name if name.endswith(".sh") else "tests/" + name
    command = (["sh"] if name.endswith(".sh") else []) + [program]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = subprocess.run(["timeout", "-k", "2", str(seconds), *command], cwd=folder, check=False,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env={**os.environ, "top_srcdir": source, "top_builddir": folder, "CC": "cc",
                              "SHD_TEST_TIER": "change", "SHD_TEST_TURN": "0", **env})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    good = got.returncode == 0 and not re.search(rb"^not ok", got.stdout, re.M) \
        and re.search(rb"^1\.\.\d", got.stdout, re.M)
    return bool(good), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ---- coverage: which test reaches which line ----

def covered_lines(folder, prefix):
    """{file: [reached lines]} of the counters below `prefix`; the notes lie in the build."""
    gcda = [os.path.join(where, file) for where, _, files in os.walk(prefix) # glob skips .libs
            for file in files if file.endswith(".gcda")]
    for path in gcda:
        note = folder + path[len(prefix):-4] + "gcno"
        if not os.path.lexists(path[:-4] + "gcno"):
            os.symlink(note, path[:-4] + "gcno")
    lines = {}
    for start in range(0, len(gcda), 50):
        out = subprocess.run(["gcov", "-j", "-t", *gcda[start:start + 50]], cwd=folder, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for document in out.splitlines():
            for file in json.loads(document)["files"]:
                path = os.path.normpath(os.path.join(folder, file["file"]))
                path = os.path.relpath(path, os.path.realpath(folder + "/../.."))
                if path.startswith(("sim/", "lib/", "interop/")) and path.endswith(".c"):
                    found = lines.setdefault(path, [set(), set()])
                    found[0].update(line["line_number"] for line in file["lines"] if line["count"])
                    found[1].update(line["line_number"] for line in file["lines"])
    return lines


def cover_one(name, folder):
    prefix = "%s/counters/%s" % (HOME, name)
    shutil.rmtree(prefix, ignore_errors=True)
    strip = str(len(os.path.realpath(folder).split("/")) - 1)
    passed, seconds = run_test(name, folder, 1200, GCOV_PREFIX=prefix, GCOV_PREFIX_STRIP=strip)
    lines = covered_lines(folder, prefix)
    shutil.rmtree(prefix, ignore_errors=True)
    print("%-24s %6.1f s, %d files%s" % (name, seconds, len(lines), "" if passed else ", FAILED"), flush=True)
    return name, passed, seconds, {f: (sorted(x), sorted(y)) for f, (x, y) in lines.items()}


def coverage():
    folder = build("coverage", "CFLAGS='-O1 -g --coverage -fprofile-update=single'")
    with concurrent.futures.ProcessPoolExecutor(int(JOBS)) as pool:
        found = list(pool.map(cover_one, tests(), [folder] * len(tests())))
    with gzip.open(HOME + "/coverage.json.gz", "wt") as out:
        json.dump({name: {"passed": p, "seconds": s, "lines": lines} for name, p, s, lines in found}, out)


# ---- mutants ----

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "%": "/"}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|->|\+\+|--|[-+]=|<=|>=|==|!=|&&|\|\||<<|>>'
                   r"|0[xX][0-9a-fA-F]+\w*|\d+\.?\d*(?:[eE][-+]?\d+)?\w*|[A-Za-z_]\w*|\S")


def changes(line):
    """All mutants of a line of code: (what is done, the line after it)."""
    code = line.split("/*")[0]
    tokens = list(TOKEN.finditer(code))
    for i, token in enumerate(tokens):
        text, before = token[0], tokens[i - 1][0] if i else ""
        spaced = code[token.start() - 1:token.start()] == " " and code[token.end():token.end() + 1] == " "
        new = None
        if text in SWAPS and (spaced or text in ("++", "--")):
            new = SWAPS[text]
        elif re.fullmatch(r"\d+[uUlL]*", text) and before not in ("[", "#"):
            new = re.sub(r"\d+", lambda n: str(int(n[0]) + 1), text)
        if new:
            yield "%s to %s" % (text, new), line[:token.start()] + new + line[token.end():]
    condition = re.fullmatch(r"(\s*(?:\} else )?if \()(.*)(\)(?: \{)?\s*)", code)
    if condition and condition[2].count("(") == condition[2].count(")"):
        yield "negated", "%s!(%s)%s" % condition.groups()
    statement = re.fullmatch(r"(\s+)(?!return|break|continue|goto|case|default|struct|const|static|enum|else)"
                             r"([\w>.\[\]-]+(?: [-+|&]?= .*|\(.*\)|\+\+|--);)\s*", code)
    if statement:
        yield "left out", statement[1] + ";"


def draw(number, seed):
    files = subprocess.run(["git", "ls-files", "sim/*.c", "lib/*.c", "interop/*.c"], cwd=TOP, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    reached = json.load(gzip.open(HOME + "/coverage.json.gz", "rt"))
    code = {}
    for test in reached.values():
        for path, (_, known) in test["lines"].items():
            code.setdefault(path, set()).update(known)
    places = []
    for path in sorted(files):
        for n, line in enumerate(open(os.path.join(TOP, path), encoding="utf-8"), 1):
            if n in code.get(path, ()) and "assert(" not in line:
                places += [(path, n, line, *change) for change in changes(line.rstrip("\n"))]
    rng = random.Random(seed)
    drawn = rng.sample(places, min(3 * number, len(places))) # more than asked, because some do not compile
    json.dump({"seed": seed, "number": number, "places": len(places), "mutants": [
        {"file": f, "line": n, "was": was.rstrip("\n"), "what": what, "is": new}
        for f, n, was, what, new in drawn]}, open(HOME + "/mutants.json", "w"), indent=1)
    print("%d of %d mutants drawn, of which the first %d that compile count" % (len(drawn), len(places), number))


def place(source, mutant):
    """The line of a mutant in these sources: the nearest of the same text; 0 if there is none."""
    path = os.path.join(source, mutant["file"])
    if not os.path.exists(path):
        return 0
    same = [n for n, line in enumerate(open(path, encoding="utf-8"), 1) if line.rstrip("\n") == mutant["was"]]
    return min(same, key=lambda n: abs(n - mutant["line"]), default=0)


def plant(folder, mutant, line):
    """Compile the sources with the mutant; False: no program."""
    source = os.path.realpath(folder + "/../..")
    path = os.path.join(source, mutant["file"])
    text = open(path, encoding="utf-8").read().split("\n")
    text[line - 1] = mutant["is"]
    open(path, "w", encoding="utf-8").write("\n".join(text))
    stem, name = os.path.split(mutant["file"][:-2])
    library = "libsim" if stem.startswith(("sim", "lib/layouts/query")) else "libshd"
    object_ = "%s/%s_la-%s.lo" % (stem, library, name)
    if subprocess.run(["make", "-s", object_, "CFLAGS=-O1 -w"], cwd=folder, check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return False
    if library == "libshd":
        shell("gcc -shared -fopenmp -o .libs/libshd.so.0.0.0 -Wl,-soname,libshd.so.0 "
              "$(find lib -name 'libshd_la-*.o' -path '*/.libs/*') $(pkg-config --libs libpcre2-8) -lm -pthread", folder)
    return True


def restore(folder, mutant):
    source = os.path.realpath(folder + "/../..")
    path = mutant["file"]
    shutil.copy(os.path.join(TOP, path), os.path.join(source, path))


def link(folder, chosen):
    """The programs of these tests with the build folder's libraries; for a script the program itself."""
    targets = {"tests/shardsim" if name.endswith(".sh") else "tests/" + name for name in chosen}
    shell("rm -f " + " ".join(targets), folder)
    shell("make -o libsim.la -o libshd.la -o libtap.la " + " ".join(targets), folder)
    if "tests/shardsim" in targets:
        shell("cp tests/shardsim shardsim.new && mv -f shardsim.new shardsim", folder)


def judge(worker, mutant, order):
    """What comes of a mutant: killed by a test, survived, not reached, no program, or gone."""
    folder = build("worker%d" % worker, "CFLAGS='-O1 -w'")
    line = place(TOP, mutant)
    if not line:
        return "gone", "", 0
    reaching = [(name, seconds) for name, seconds, lines in order if line in lines.get(mutant["file"], ())]
    killer, spent = "", 0
    try:
        if not plant(folder, mutant, line):
            return "no program", "", 0
        for i, (name, usual) in enumerate(reaching):
            if spent + usual > BUDGET:
                break
            if i % AT_ONCE == 0: # the first few tests kill most mutants
                link(folder, [name for name, _ in reaching[i:i + AT_ONCE]])
            passed, seconds = run_test(name, folder, int(usual * 20 + 30))
            spent += seconds
            if not passed:
                killer = name
                break
    finally:
        restore(folder, mutant)
        plant(folder, {**mutant, "is": mutant["was"]}, line)
        restore(folder, mutant)
    return ("killed" if killer else "survived" if reaching else "not reached"), killer, spent


def work(worker, workers):
    drawn = json.load(open(HOME + "/mutants.json"))
    reached = json.load(gzip.open(HOME + "/coverage.json.gz", "rt"))
    files = {m["file"] for m in drawn["mutants"]}
    order = sorted(((name, test["seconds"], {f: set(test["lines"][f][0]) for f in files & set(test["lines"])})
                    for name, test in reached.items() if test["passed"]), key=lambda t: t[1])
    log = "%s/found.%d.jsonl" % (HOME, worker)
    known = {json.loads(line)["index"] for line in open(log)} if os.path.exists(log) else set()
    for index, mutant in enumerate(drawn["mutants"]):
        if index % workers != worker or index in known:
            continue
        done = sum(1 for path in glob.glob(HOME + "/found.*.jsonl") for line in open(path)
                   if json.loads(line)["outcome"] not in ("no program",))
        if done >= drawn["number"]:
            break
        outcome, killer, seconds = judge(worker, mutant, order)
        with open(log, "a") as out:
            out.write(json.dumps({"index": index, "outcome": outcome, "by": killer, "seconds": round(seconds, 1),
                                  **mutant}) + "\n")
        print("%3d %s:%d %s: %s %s (%.0f s)" % (done + 1, mutant["file"], mutant["line"], mutant["what"], outcome,
                                              killer, seconds), flush=True)


def run(workers):
    processes = [subprocess.Popen([sys.executable, __file__, "work", str(i), str(workers)]) for i in range(workers)]
    sys.exit(max(process.wait() for process in processes))


def room(path):
    parts = path.split("/")
    return "lib" if parts[0] == "lib" else parts[1] if len(parts) > 2 else "main"


def table():
    drawn = json.load(open(HOME + "/mutants.json"))
    found = sorted((json.loads(line) for path in glob.glob(HOME + "/found.*.jsonl") for line in open(path)),
                   key=lambda m: m["index"])
    found = [m for m in found if m["outcome"] != "no program"][:drawn["number"]]
    rooms = {}
    for mutant in found:
        row = rooms.setdefault(room(mutant["file"]), {})
        row[mutant["outcome"]] = row.get(mutant["outcome"], 0) + 1
    kinds = ("killed", "survived", "not reached")
    print("| room | tried | killed | survived | not reached |\n|---|---:|---:|---:|---:|")
    for name, row in sorted(rooms.items()) + [("all", {k: sum(r.get(k, 0) for r in rooms.values()) for k in kinds})]:
        print("| %s | %d | %s |" % (name, sum(row.get(k, 0) for k in kinds),
                                    " | ".join(str(row.get(k, 0)) for k in kinds)))
    print("\n| place | mutant | outcome |\n|---|---|---|")
    for m in found:
        if m["outcome"] in kinds[1:]:
            print("| `%s:%d` | `%s`: %s | %s |" % (m["file"], m["line"], m["was"].strip().replace("|", "\\|"),
                                                 m["what"].replace("|", "\\|"), m["outcome"]))


def main():
    os.makedirs(HOME, exist_ok=True)
    command, arguments = (sys.argv[1:2] or [""])[0], [int(a) for a in sys.argv[2:]]
    steps = {"coverage": coverage, "draw": draw, "run": run, "work": work, "table": table}
    if command not in steps:
        sys.exit(__doc__)
    steps[command](*(arguments or ([2] if command == "run" else [])))


if __name__ == "__main__":
    main()
