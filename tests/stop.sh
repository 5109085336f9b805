#!/bin/sh
# SIGINT and SIGTERM end every subcommand, with status 130 and no result; a full disk is no success;
# what there is no memory for is refused before any is used.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/tap.sh"
. "${0%/*}/program.sh"
unset CI GITHUB_ACTIONS

# Each case takes minutes when nothing ends it, and is asked to end when it is at it.  Times are not
# asserted: who does not listen is ended after LIMIT seconds, with another status.
cat >"$tmp/stop.py" <<'PY'
import os, signal, subprocess, sys, time

program, folder, scenario = sys.argv[1:]
os.chdir(folder)
os.makedirs("scenarios")
open("scenarios/big.yaml", "w").write(open(scenario).read().replace("layers: 2", "layers: 20000"))
LONG = ["--set", "model.layers=20000", scenario]
CASES = [["run", *LONG], ["plan", *LONG], ["plan", "--json", *LONG], ["compare", "--plan", *LONG],
         ["explain", *LONG], ["show", "matrix", *LONG],
         ["explain", "reshard", "--mesh", "dp=16777216", "--shape", "16777216", "--from", "dp"],
         ["check", "--plan"], ["check", "--plan", "--update"]]
# The thread sanitizer hands a signal over at the next call of the C library, and this one computes
# for minutes without any.
if os.environ.get("SHD_SANITIZER") == "thread":
    CASES = [case for case in CASES if case[:2] != ["explain", "reshard"]]
count = 0
for case in CASES:
    for number in (signal.SIGINT, signal.SIGTERM):
        count += 1
        run = subprocess.Popen([program, *case], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3 if count % 2 else 0.05)
        # A program that has only just begun has no handler yet: that ends it, too, but by the signal.
        while not int(next(line for line in open("/proc/%d/status" % run.pid)
                           if line.startswith("SigCgt")).split()[1], 16) >> (number - 1) & 1:
            time.sleep(0.01)
        run.send_signal(number)
        try:
            out, err = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            out, err = run.communicate()
        good = run.returncode == 130 and (not out or out == b"Bail out! interrupted\n")
        good &= not os.path.exists("results")
        print("%sok %d - %s: %s" % ("" if good else "not ", count, signal.Signals(number).name,
                                    " ".join(case).replace(scenario, "SCENARIO").replace("#", "")))
        if not good:
            print("# status %d\n# %r\n# %r" % (run.returncode, out[:200], err[-300:]))
print(count, file=open("count", "w"))
PY
mkdir "$tmp/stop"
python3 "$tmp/stop.py" "$(realpath "$shardsim")" "$tmp/stop" "$(realpath "$scenarios/fsdp.yaml")"
tap_count=$(cat "$tmp/stop/count")

# full ARGUMENT...: onto a full disk
full() {
    timeout "$LIMIT" "$shardsim" "$@" >/dev/full 2>"$tmp/err" <"$tmp/question"
    status=$?
    is 3 "a full disk: $*"
    says err '^shardsim: error: .*\(No space left on device\|could not be written\)$' "a full disk: said"
}

echo '{"id": 1, "op": "no"}' >"$tmp/question"
if [ -c /dev/full ]; then
    full --help
    full --version
    full show --help
    for command in run plan compare check bench explain query "show mesh" "show tree" "show options" \
        "explain collective" "explain reshard"; do
        # shellcheck disable=SC2086
        full $command --help
    done
    full run --usage
    full run "$scenarios/dp_tp.yaml"
    full plan --json "$scenarios/dp_tp.yaml"
    full compare --plan --format=csv "$scenarios/dp_tp.yaml"
    full check --plan "$scenarios"
    full explain "$scenarios/dp_tp.yaml"
    full show options
    full show mesh dp=2
    full show strategies "$scenarios/dp_tp.yaml"
    full bench --op broadcast --min-bytes 8 --max-bytes 8
    full query
else
    skip "a full disk" "no /dev/full"
fi

# Devices that are alike are planned as one; to run as many there is no memory.
for command in plan compare; do
    shardsim "$command" "$scenarios/fsdp.yaml" --set 'mesh={fsdp: 1, a: 2147483647}'
    is 0 "$command: as many devices as there can be"
    says out '2147483647' "$command: as many devices as there can be: told"
done
shardsim run "$scenarios/fsdp.yaml" --set 'mesh={fsdp: 1, a: 2147483647}'
is 3 "run: a mesh that there is no memory for"
says err 'its devices take .* of memory together, and this machine has ' \
    "run: a mesh that there is no memory for: said"
silent out "run: a mesh that there is no memory for: no result"
shardsim explain reshard --mesh dp=2147483647 --shape 2147483647 --from dp
is 3 "explain reshard: more devices than are looked at"
says err 'a mesh of 2147483647 devices; at most' "explain reshard: more devices: said"
done_testing
