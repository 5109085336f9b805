#!/bin/sh
# Tests that SIGINT and SIGTERM end every subcommand with status 130, one message and no result;
# that check closes its TAP at any moment; that a full disk is an error; and that tasks too large
# for memory are refused before any is used.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

# Each case would take minutes and is interrupted while it works.  Durations are not asserted: a
# program that ignores the signal is killed after LIMIT seconds and has another status.
cat >"$tmp/stop.py" <<'PY'
import fcntl, os, signal, struct, subprocess, sys, termios, time

program, folder, scenario = sys.argv[1:]
os.chdir(folder)
os.makedirs("scenarios")
open("scenarios/big.yaml", "w").write(open(scenario).read().replace("layers: 2", "layers: 20000"))
LONG = ["--set", "model.layers=20000", scenario]
CASES = [["run", *LONG], ["plan", *LONG], ["plan", "--json", *LONG], ["compare", "--plan", *LONG],
         ["explain", *LONG], ["show", "matrix", *LONG],
         ["explain", "reshard", "--mesh", "dp=16777216", "--shape", "16777216", "--from", "dp"],
         ["check", "--plan"], ["check", "--plan", "--update"]]
# The thread sanitizer delivers a signal at the next call of the C library, and `explain reshard`
# computes for minutes without one.
if os.environ.get("SHD_SANITIZER") == "thread":
    CASES = [case for case in CASES if case[:2] != ["explain", "reshard"]]
count = 0
for case in CASES:
    for number in (signal.SIGINT, signal.SIGTERM):
        count += 1
        run = subprocess.Popen([program, *case], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3 if count % 2 else 0.05)
        # A program that has just begun has no handler yet and would die by the signal itself.
        while not int(next(line for line in open("/proc/%d/status" % run.pid)
                           if line.startswith("SigCgt")).split()[1], 16) >> (number - 1) & 1:
            time.sleep(0.01)
        run.send_signal(number)
        try:
            out, err = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            out, err = run.communicate()
        good = run.returncode == 130 and out == b"Bail out! interrupted\n" * (case[0] == "check")
        good &= [line for line in err.splitlines() if b"; strategies done: " not in line] \
            == [b"shardsim: interrupted"]
        good &= not os.path.exists("results")
        print("%sok %d - %s: %s" % ("" if good else "not ", count, signal.Signals(number).name,
                                    " ".join(case).replace(scenario, "SCENARIO").replace("#", "")))
        if not good:
            print("# status %d\n# %r\n# %r" % (run.returncode, out[:200], err[-300:]))
# Interrupt check at moments spread over all its phases: reading, planning, executing, writing.
os.makedirs("layouts")
for name in "abc":
    open("layouts/%s.yaml" % name, "w").write(open(scenario).read().replace("layers: 2", "layers: 8"))
CHECK = [program, "check", "-q", "--baselines", "none", "--junit", "check.xml", "layouts"]
began = time.monotonic()
whole = subprocess.run(CHECK, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
seconds = time.monotonic() - began
xml = len(open("check.xml").read().splitlines())
bad, cut = [], 0
whole_test = os.environ.get("SHD_TEST_TIER") != "change" and os.environ.get("SHD_TEST_SIZE") != "small"
moments = 20 if whole_test else 3 # each moment needs a whole run of check
for moment in range(moments):
    if os.path.exists("check.xml"):
        os.remove("check.xml")
    number = (signal.SIGINT, signal.SIGTERM)[moment % 2]
    run = subprocess.Popen(CHECK, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # In a build tree, a script of libtool starts the program, and a shell catches signals, too.
    while "shardsim" not in os.path.basename(os.readlink("/proc/%d/exe" % run.pid)) or not int(
            open("/proc/%d/status" % run.pid).read().split("SigCgt:")[1].split()[0],
            16) >> (number - 1) & 1:
        time.sleep(0.002)
    time.sleep(seconds * moment / moments)
    run.send_signal(number)
    out, err = run.communicate()
    there = os.path.exists("check.xml") and len(open("check.xml").read().splitlines())
    if run.returncode == 130:
        cut += 1
        good = out.endswith(b"Bail out! interrupted\n") and out.count(b"Bail out!") == 1
        good &= err == b"shardsim: interrupted\n" and there in (False, xml)
    else:
        good = run.returncode == 1 and out == whole and there == xml
    if not good:
        bad.append((moment, run.returncode, out[-200:], err, there))
count += 1
print("%sok %d - check, ended at several moments: closed with a message, or whole" %
      ("" if cut >= moments // 6 and not bad else "not ", count))
print("# %d were cut short" % cut)
for wrong in bad:
    print("# moment %d, status %d: %r, %r, %r" % wrong)
# A full pipe whose reader has stopped reading does not keep the program from ending.
run = subprocess.Popen([program, "check", "-q", "--plan", os.path.dirname(scenario)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
fcntl.fcntl(run.stdout, fcntl.F_SETPIPE_SZ, 4096)
held, before = 0, -1
while run.poll() is None and (held == 0 or held > before):
    time.sleep(max(1, seconds / 4))
    before, held = held, struct.unpack("i", fcntl.ioctl(run.stdout, termios.FIONREAD, b"0000"))[0]
run.send_signal(signal.SIGTERM)
try:
    status = run.wait(timeout=60)
except subprocess.TimeoutExpired:
    run.kill()
    status = run.wait()
count += 1
said = run.stderr.read()
print("%sok %d - a full pipe: ended all the same" %
      ("" if status == 130 and said == b"shardsim: interrupted\n" else "not ", count))
print("# status %d, %r" % (status, said))
print(count, file=open("count", "w"))
PY
mkdir "$tmp/stop"
python3 "$tmp/stop.py" "$(realpath "$shardsim")" "$tmp/stop" "$(realpath "$scenarios/fsdp.yaml")"
tap_count=$(cat "$tmp/stop/count")

# full ARGUMENT...: write the output to a full disk
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

# Equal devices are planned as one; executing as many devices takes more memory than any machine
# has.
for command in plan compare; do
    shardsim "$command" "$scenarios/fsdp.yaml" --set 'mesh={fsdp: 1, a: 2147483647}'
    is 0 "$command: the largest number of devices"
    says out '2147483647' "$command: the largest number of devices is printed"
done
shardsim run "$scenarios/fsdp.yaml" --set 'mesh={fsdp: 1, a: 2147483647}'
is 3 "run: a mesh that there is no memory for"
says err 'its devices need .* of memory in total, and this machine has ' \
    "run: a mesh that there is no memory for: said"
silent out "run: a mesh that there is no memory for: no result"
shardsim explain reshard --mesh dp=2147483647 --shape 2147483647 --from dp
is 3 "explain reshard: more devices than are looked at"
says err 'the mesh has 2147483647 devices; expected at most' "explain reshard: more devices: said"
done_testing
