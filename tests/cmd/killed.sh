#!/bin/sh
# Tests kill -9 at any moment of commands that write (run --save, search with a journal, check
# --update, report) beside existing databases, journals, baselines and pages: nothing is lost or
# half-written, and repeating the command gives the result of an undisturbed run.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

cat >"$tmp/killed.py" <<'PY'
import glob, json, os, random, shutil, sqlite3, subprocess, sys, time

program, folder, layouts, moments, seed = sys.argv[1:4] + [int(sys.argv[4]), int(sys.argv[5])]
os.chdir(folder)
rng = random.Random(seed)


def ask(*words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=300)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def kill(words, seconds):
    """Kill the command at a moment of so many seconds; whether it was still there."""
    with subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            run.wait(rng.uniform(0, seconds))
            return False
        except subprocess.TimeoutExpired:
            run.kill()
            return True


class Run:
    words = ["run", "-q", "--save=runs.db", "dp.yaml"]
    name = "run --save"

    def begin(self):
        self.rows = 1
        assert ask(*self.words).returncode == 0

    def after(self, killed):
        listed = ask("runs", "list", "--file=runs.db")
        with sqlite3.connect("runs.db") as db:
            sound = db.execute("pragma integrity_check").fetchall() == [("ok",)]
            n = db.execute("select count(*) from runs").fetchone()[0]
        good = listed.returncode == 0 and sound and self.rows <= n <= self.rows + 1
        self.rows = n
        return good and ask("runs", "show", str(n), "--file=runs.db").returncode == 0

    def end(self):
        again = ask(*self.words)
        return again.returncode == 0 and \
            ask("runs", "compare", "1", str(self.rows + 1), "--file=runs.db").returncode == 0


class Search:
    words = ["search", "-q", "--json", "--threads=2", "--journal=plans.journal", "--top=3", "--devices=8", "--range=pp=1",
             "-S", "dp", "-s", "hardware=h100-sxm", "searched.yaml"]
    name = "search --journal"

    def begin(self):
        self.whole = self.best(ask(*self.words).stdout)
        os.remove("plans.journal")

    @staticmethod
    def best(text):
        return json.dumps(json.loads(text)["best"])

    def after(self, killed):
        if killed and rng.random() < 0.7: # go on from this state
            return True
        again = ask(*self.words)
        good = again.returncode == 0 and self.best(again.stdout) == self.whole
        if os.path.exists("plans.journal"):
            os.remove("plans.journal")
        return good

    def end(self):
        return self.best(ask(*self.words).stdout) == self.whole


class Update:
    words = ["check", "-q", "--plan", "--update", "scenarios"]
    name = "check --update"

    def begin(self):
        assert ask(*self.words).returncode == 0
        self.states = [{p: read(p) for p in glob.glob("results/baselines/scenarios/*")}]
        for path in glob.glob("scenarios/*.yaml"):
            text = read(path)
            open(path, "w", encoding="utf-8").write(text.replace("layers: 2", "layers: 4"))
        assert ask(*self.words).returncode == 0
        self.states.append({p: read(p) for p in self.states[0]})
        assert self.states[0] != self.states[1]

    def after(self, killed):
        there = {p: read(p) for p in glob.glob("results/baselines/scenarios/*")}
        whole = set(there) == set(self.states[0]) and \
            all(text in (self.states[0][p], self.states[1][p]) for p, text in there.items())
        for path, text in self.states[0].items():
            open(path, "w", encoding="utf-8").write(text)
        return whole

    def end(self):
        return ask(*self.words).returncode == 0 and \
            ask("check", "-q", "--plan", "scenarios").returncode == 0


class Report:
    words = ["report", "-q", "--plan", "-o", "page.html", "dp.yaml"]
    name = "report"

    def begin(self):
        assert ask(*self.words).returncode == 0
        self.whole = read("page.html")
        open("page.html", "w", encoding="utf-8").write("before")

    def after(self, killed):
        there = read("page.html")
        open("page.html", "w", encoding="utf-8").write("before")
        return there in ("before", self.whole)

    def end(self):
        return ask(*self.words).returncode == 0 and read("page.html") == self.whole


count = 0
for kind in (Run, Search, Update, Report):
    os.mkdir(kind.__name__)
    os.chdir(kind.__name__)
    os.mkdir("scenarios")
    shutil.copy(layouts + "/fsdp.yaml", "dp.yaml")
    shutil.copy(layouts + "/train_zero.yaml", "searched.yaml")
    for name in ("fsdp", "tensor_parallel", "dp_tp"):
        shutil.copy("%s/%s.yaml" % (layouts, name), "scenarios")
    case = kind()
    case.begin()
    began = time.monotonic()
    ask(*kind.words)
    seconds = time.monotonic() - began
    case.after(False)
    killed, bad = 0, []
    for moment in range(moments):
        was = kill(kind.words, seconds)
        killed += was
        if not case.after(was):
            bad.append(moment)
    left = [path for path in os.listdir(".") if path not in (
        "dp.yaml", "searched.yaml", "scenarios", "results", "runs.db", "plans.journal", "page.html")]
    good = not bad and case.end()
    count += 1
    print("%sok %d - %s: killed %d of %d times, nothing is lost" % ("" if good else "not ", count, kind.name,
                                                               killed, moments))
    print("# moments that went wrong: %s; files left: %s" % (bad, left))
    os.chdir("..")
print(count, file=open("count", "w"))
PY
moments=3
[ "${SHD_TEST_TIER:-}" = change ] || moments=200
mkdir "$tmp/killed"
python3 "$tmp/killed.py" "$(realpath "$shardsim")" "$tmp/killed" "$(realpath "$scenarios")" \
    "${SHD_TEST_KILLS:-$moments}" "${SHD_TEST_SEED:-1}"
tap_count=$(cat "$tmp/killed/count")
done_testing
