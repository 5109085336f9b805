#!/bin/sh
# Tests shardsim runs, and --save of run, plan and compare: the database keeps what was printed; a
# database that is locked, damaged, foreign or on a full disk is reported with status 3.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset XDG_DATA_HOME
HOME=$tmp/home
export HOME
db=$tmp/runs.db

test_kept() {
    shardsim plan --json --save="$db" "$scenarios/strategies.yaml"
    is 0 "plan --save: status 0"
    says err 'stored as runs 1 to 5 in .*/runs.db$' "plan --save: says where"
    cp "$tmp/out" "$tmp/plan.json"
    shardsim run -q --save="$db" "$scenarios/fsdp.yaml"
    is 0 "run --save: status 0"
    silent err "run --save --quiet: says nothing"
    shardsim compare --plan -q --save="$db" "$scenarios/fsdp.yaml" "$scenarios/tensor_parallel.yaml"
    is 0 "compare --save: status 0"
    for id in 1 2 3 4 5; do
        shardsim runs show "$id" --file="$db"
        cp "$tmp/out" "$tmp/run$id.json"
    done
    python3 -c 'import json, sys
plan, *runs = (json.load(open(path)) for path in sys.argv[1:])
assert plan == runs and len(runs) == 5' "$tmp/plan.json" "$tmp"/run[1-5].json
    ok $? "runs show: what --json printed"
}

test_list() {
    shardsim runs list --file="$db"
    is 0 "runs list: status 0"
    [ "$(wc -l <"$tmp/out")" -eq 10 ]
    ok $? "runs list: a row a run, the heads, and the version"
    says out '^  2  20[0-9-]* [0-9:]*  strategies: data  *8  14.0 MiB  2.38 MiB  *-$' "runs list: a plan"
    says out '^  6  .* fsdp  *8  14.0 MiB  1.88 MiB  *[0-9.]* [mu]s$' "runs list: a run"
    says out "^by $("$shardsim" --version)\$" "runs list: by which version"
    [ "$(wc -L <"$tmp/out")" -le 80 ]
    ok $? "runs list: 80 columns"
    says out '^  1  .*  \.\.\..*data-and-tensor  ' "runs list: of a long name the end"
    COLUMNS=100 "$shardsim" runs list --file="$db" >"$tmp/out"
    says out '  strategies: data-and-tensor  ' "runs list: on a wider screen all of it"
    shardsim runs compare 4 2 --file="$db"
    is 0 "runs compare: status 0"
    says out 'sor-sequence .* 17.5 MiB     1.00x  1.16 MiB     1.00x ' "runs compare: the first is the base"
    says out ' data .* 14.0 MiB     0.80x  2.38 MiB     2.05x ' "runs compare: the other runs relative to the base"
    ! grep -q 'compare equal ones' "$tmp/out"
    ok $? "runs compare: two of one model"
    shardsim plan -q --save="$tmp/two.db" "$scenarios/fsdp.yaml" "$scenarios/gpt2.yaml"
    shardsim runs compare 1 2 --file="$tmp/two.db"
    says out '^run 2 has another model or step than the first run; compare equal ones$' \
        "runs compare: two models"
}

# The list shows the peak memory of a class of devices if they are too many to list one by one.
test_classes() {
    shardsim plan -q --save="$tmp/many.db" "$scenarios/block_1024_devices.yaml"
    shardsim plan -q --json "$scenarios/block_1024_devices.yaml"
    peak=$(python3 -c 'import json, sys
print(round(max(c["value"] for c in json.load(open(sys.argv[1]))["memory"]["peak_bytes"]) / 1024))' "$tmp/out")
    shardsim runs list --file="$tmp/many.db"
    says out " 1024 .* $peak KiB " "classes of devices: the most memory of one"
}

test_default_place() {
    shardsim plan --save "$scenarios/fsdp.yaml"
    is 0 "--save without a file: status 0"
    [ -f "$HOME/.local/share/shardsim/runs.db" ]
    ok $? "--save without a file: in the folder of the user's data"
    XDG_DATA_HOME=$tmp/data
    export XDG_DATA_HOME
    shardsim runs list
    is 3 "runs list: none kept there, status 3"
    says err 'no runs stored; run, plan and compare store them with --save' "runs list: says how to keep some"
    shardsim plan -q --save "$scenarios/fsdp.yaml"
    shardsim runs list
    is 0 "XDG_DATA_HOME: it is looked at"
    unset XDG_DATA_HOME
}

# Names that SQLite takes for other things are names of files here; an empty one, as of a variable that is not
# set, is an error.
test_names() {
    program=$(realpath "$shardsim") scenario=$(realpath "$scenarios/fsdp.yaml")
    (
        mkdir "$tmp/names" && cd "$tmp/names" || exit 1
        for name in ':memory:' 'file:x.db' 'file:y.db?mode=memory' 'file::memory:?cache=shared'; do
            "$program" plan -q "--save=$name" "$scenario" >/dev/null && [ -s "$name" ] &&
                "$program" runs list "--file=$name" | grep -q '^ *1  .*fsdp' || echo "$name"
        done
    ) >"$tmp/lost" 2>&1
    [ ! -s "$tmp/lost" ]
    ok $? "--save: names of SQLite's are names of files"
    diag <"$tmp/lost"
    for option in "plan --save=" "runs list --file=" "run --outputs=" "search --journal=" "check --junit=" \
        "check --baselines=" "serve --trace=" "explain --output="; do
        # shellcheck disable=SC2086
        shardsim $option "$scenarios/fsdp.yaml"
        is 2 "$option: status 2"
        says err " is ''; expected the name of a fi\?l\?" "$option: an empty name"
    done
}

# cannot WHAT PATTERN COMMAND...: status 3 and a message
cannot() {
    what=$1
    pattern=$2
    shift 2
    shardsim "$@"
    is 3 "$what: status 3"
    says err "error: .*$pattern" "$what: the reason"
}

test_broken() {
    echo 'no database, but long enough to be looked at' >"$tmp/text.db"
    cannot "no database" 'text.db: it is not a database' runs list --file="$tmp/text.db"
    cannot "no database, --save" 'cannot store the results: .*text.db: it is not a database' \
        plan --save="$tmp/text.db" "$scenarios/fsdp.yaml"
    cannot "a folder" ': a folder; name a file' runs list --file="$tmp"
    python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("CREATE TABLE other (a)").connection.commit()
later = sqlite3.connect(sys.argv[2])
later.executescript("PRAGMA application_id = 1936221298; PRAGMA user_version = 2; CREATE TABLE runs (a)")' \
        "$tmp/other.db" "$tmp/later.db"
    cannot "another's database" 'a database, but not of runs' plan --save="$tmp/other.db" "$scenarios/fsdp.yaml"
    cannot "a later format" 'runs of format 2; this program reads and writes format 1' runs list --file="$tmp/later.db"
    cp "$db" "$tmp/damaged.db"
    python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(4096)
    f.write(b"\xff" * 8192)' "$tmp/damaged.db"
    cannot "damaged" 'damaged.db: it is damaged' runs list --file="$tmp/damaged.db"
    python3 -c 'import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
time.sleep(60)' "$db" "$tmp/locked" &
    locker=$!
    tries=0
    while [ ! -e "$tmp/locked" ] && [ $((tries += 1)) -lt 200 ]; do sleep 0.1; done
    cannot "locked" 'another program is writing to it; try again' plan --save="$db" "$scenarios/fsdp.yaml"
    kill "$locker"
    wait "$locker" 2>/dev/null
    shardsim runs show 6 --file="$db"
    is 0 "unlocked: it can be read again"
    # A limit on the size of files acts like a full disk: the same call fails.
    (
        trap '' XFSZ
        ulimit -f 8
        "$shardsim" plan --save="$tmp/full.db" "$scenarios/fsdp.yaml" >/dev/null 2>"$tmp/err"
        echo "$?" >"$tmp/status"
    )
    [ "$(cat "$tmp/status")" -eq 3 ]
    ok $? "no room: status 3"
    says err 'full.db: it could not be read or written; is the disk full?' "no room: what is wrong"
}

# killed.py DATABASE: a program that is killed while it writes, with half of the pages written.
cat >"$tmp/killed.py" <<'PY'
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE runs SET version = 'half'")
for i in range(40):
    db.execute("INSERT INTO runs (time, version, result) VALUES ('t', 'half', ?)", ('"%s"' % ("x" * 8000),))
os.kill(os.getpid(), signal.SIGKILL)
PY

test_killed() {
    shardsim runs list --file="$db"
    cp "$tmp/out" "$tmp/before"
    cp "$db" "$tmp/hot.db"
    python3 "$tmp/killed.py" "$tmp/hot.db" 2>/dev/null
    [ -s "$tmp/hot.db-journal" ] && ! cmp -s "$db" "$tmp/hot.db"
    ok $? "killed: pages are half written"
    shardsim runs list --file="$tmp/hot.db"
    is 0 "killed: runs list, status 0"
    cmp -s "$tmp/out" "$tmp/before"
    ok $? "killed: the database has exactly the earlier runs"
}

# hostile.py DATABASE WHAT: make a hostile database
cat >"$tmp/hostile.py" <<'PY'
import json, sqlite3, sys
path, what = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None)
TABLE = ("CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, "
         "version TEXT NOT NULL, result TEXT NOT NULL)")
NASTY = "v\x1b]0;t\x07\u009b2J\u202e\n"
schemas = {"view": "CREATE VIEW runs AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
                   "SELECT id, 't' AS time, 'v' AS version, '{}' AS result FROM n",
           "columns": "CREATE TABLE runs (id, time, result)",
           "generated": TABLE.replace("version TEXT NOT NULL", "version TEXT AS (zeroblob(1000000000))")}
db.executescript(schemas.get(what, TABLE) + "; PRAGMA application_id = 1936221298; PRAGMA user_version = 1")
result = {"scenario": NASTY, "strategy": NASTY, "mode": "planned", "devices": 8, "received_bytes": {"total": 1},
          "memory": {"peak_bytes": [1]}, "time": {}, "work": {}}
if what == "numbers":
    result.update(received_bytes={"total": -1e300}, memory={"peak_bytes": [1e300]}, devices="many",
                  time={"replayed": {"step_seconds": 1e300}}, work={"model_flops": [1]})
text = '{"scenario": ' if what == "nojson" else json.dumps(result, ensure_ascii=False)
if what in ("nojson", "escapes", "numbers", "trigger"):
    db.execute("INSERT INTO runs (time, version, result) VALUES (?, ?, ?)", (NASTY, NASTY, text))
if what == "trigger":
    db.execute("CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET version = 'by the trigger'; END")
if what == "cycle":
    for i in range(200):
        db.execute("INSERT INTO runs (time, version, result) VALUES ('t', 'v', ?)", (json.dumps(result) + " " * 900,))
    size = db.execute("PRAGMA page_size").fetchone()[0]
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'runs'").fetchone()[0]
    db.close()
    with open(path, "r+b") as file: # every child of the root becomes its first one
        page = bytearray(file.read()[(root - 1) * size:root * size])
        assert page[0] == 5, page[0]
        cells = [int.from_bytes(page[12 + 2 * i:14 + 2 * i], "big") for i in range(int.from_bytes(page[3:5], "big"))]
        first = page[cells[0]:cells[0] + 4]
        for cell in cells:
            page[cell:cell + 4] = first
        page[8:12] = first
        file.seek((root - 1) * size)
        file.write(page)
PY

# shows_nothing: $tmp/out and $tmp/err have no character on which a terminal acts.
shows_nothing() {
    python3 -c 'import sys, unicodedata
for path in sys.argv[1:]:
    text = open(path, "rb").read().decode()
    bad = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"]
    assert not bad, (path, bad)' "$tmp/out" "$tmp/err" 2>"$tmp/wrong"
    ok $? "$1"
    diag <"$tmp/wrong"
}

test_hostile() {
    for kind in view columns generated nojson escapes numbers trigger cycle; do
        python3 "$tmp/hostile.py" "$tmp/$kind.db" "$kind"
    done
    for kind in view columns generated; do
        cannot "a $kind of another's" 'unknown layout of its table of runs; name another file' \
            runs list --file="$tmp/$kind.db"
        cannot "a $kind of another's, --save" 'unknown layout of its table of runs' plan --save="$tmp/$kind.db" "$scenarios/fsdp.yaml"
    done
    cannot "no JSON" 'nojson.db: it has an invalid result' runs list --file="$tmp/nojson.db"
    cannot "no JSON, shown" 'nojson.db: it has an invalid result' runs show 1 --file="$tmp/nojson.db"
    cannot "pages in a circle" 'cycle.db: it is damaged' runs list --file="$tmp/cycle.db"
    shardsim runs list --file="$tmp/escapes.db"
    is 0 "escapes: status 0"
    shows_nothing "escapes: listed as they may be shown"
    shardsim runs show 1 --file="$tmp/escapes.db"
    shows_nothing "escapes: shown as they may be"
    holds "escapes: in JSON the same names" <<'PY'
assert r["scenario"] == "v\x1b]0;t\x07\u009b2J\u202e\n", r
PY
    shardsim runs list --file="$tmp/numbers.db"
    is 0 "numbers of nothing: status 0"
    says out ' ?  *? ' "numbers of nothing: told"
    shardsim plan -q --save="$tmp/trigger.db" "$scenarios/fsdp.yaml"
    is 0 "a trigger: kept"
    python3 -c 'import sqlite3, sys
assert "by the trigger" not in [v for v, in sqlite3.connect(sys.argv[1]).execute("SELECT version FROM runs")]' \
        "$tmp/trigger.db"
    ok $? "a trigger: is not run"
    mkfifo "$tmp/pipe.db"
    cannot "a pipe" 'pipe.db: not a regular file; name a file' runs list --file="$tmp/pipe.db"
}

# usage PATTERN ARGUMENT...: runs refuses the arguments.
usage() {
    pattern=$1
    shift
    shardsim runs "$@"
    is 2 "runs $*: status 2"
    says err "$pattern" "runs $*: $pattern"
}

test_usage() {
    usage 'no action; expected list, show or compare'
    usage "unknown action 'lists'" lists
    usage 'show needs the number of one run' show
    usage 'compare needs the numbers of at least two runs' compare 1
    usage "'x' is not a run; expected a number" show x
    usage 'list shows all runs' list 1
    usage 'no run 99; the last run is 8' show 99 --file="$db"
}

test_kept
test_list
test_classes
test_default_place
test_names
test_broken
test_killed
test_hostile
test_usage
done_testing
