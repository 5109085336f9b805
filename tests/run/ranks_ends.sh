#!/bin/sh
# Tests that a rank that is killed, hangs or leaves ends the job on all ranks, and that nothing is
# left half-written.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
. "${0%/*}/../support/mpirun.sh"
needs_mpi

# SHD_RANKS_MOMENTS asks for more moments.  Durations are printed; they fail only if the job outlives
# the limit, which is many times the expected duration.
cat >"$tmp/ends.py" <<'PY'
import os, random, signal, subprocess, sys, time

launcher, program, scenario, folder, moments = sys.argv[1:]
LIMIT_S = 60
AT_WORK_S = 4
random.seed(18)

def ranks_of(job):
    """The processes of the program, by rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0")
            env = open("/proc/%s/environ" % pid, "rb").read().split(b"\0")
        except OSError:
            continue
        if not any(part.endswith(b"shardsim") for part in line[:1]) or b"SHD_JOB=%d" % job not in env:
            continue
        for name in (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="):
            for entry in env:
                if entry.startswith(name):
                    found[int(entry[len(name):])] = int(pid)
    return found

def is_at_work(pid):
    """Whether a rank knows the others: before, nobody could tell which of them is missing.

    The thread that drives its messages is named on Linux; a build with --enable-portable names none,
    so there a rank counts that has computed for longer than starting takes."""
    try:
        names = [open("/proc/%d/task/%s/comm" % (pid, t)).read() for t in os.listdir("/proc/%d/task" % pid)]
        ticks = sum(map(int, open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[11:13]))
    except OSError:
        return False
    return "courier\n" in names or ticks > AT_WORK_S * os.sysconf("SC_CLK_TCK")

wrong, longest = 0, 0
for job in range(int(moments)):
    n, how = 2 + job % 3, (signal.SIGKILL, signal.SIGSTOP)[job % 2]
    out = os.path.join(folder, "out.json")
    if os.path.exists(out):
        os.remove(out)
    run = subprocess.Popen([launcher, "-n", str(n), program, "run", "-q", "--json", "--repeat=1000000",
                            scenario], stdout=open(out, "wb"), stderr=subprocess.PIPE,
                           env=dict(os.environ, SHD_JOB=str(job)))
    while sum(map(is_at_work, ranks_of(job).values())) < n and run.poll() is None:
        time.sleep(0.02)
    time.sleep(random.random() * 1.5)
    there, rank = ranks_of(job), random.randrange(n)
    if rank in there:
        os.kill(there[rank], how)
    began = time.monotonic()
    try:
        err = run.communicate(timeout=LIMIT_S)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        run.kill()
        for pid in ranks_of(job).values():
            os.kill(pid, signal.SIGKILL)
        err = run.communicate()[1].decode(errors="replace")
        print("# job %d: rank %d of %d, signal %d: not ended after %d s" % (job, rank, n, how, LIMIT_S))
        wrong += 1
    took = time.monotonic() - began
    longest = max(longest, took)
    left = ranks_of(job)
    named = "rank %d" % rank in err
    if run.returncode == 0 or left or os.path.getsize(out) or not named:
        print("# job %d: rank %d of %d, signal %d: status %d, left %s, %d bytes, %.1f s: %s" % (
            job, rank, n, how, run.returncode, left, os.path.getsize(out), took, err[:600]))
        wrong += 1
print("# the longest took %.1f s" % longest)
sys.exit(wrong > 0)
PY

test_signals() {
    python3 "$tmp/ends.py" "$launcher" "$shardsim" "$scenarios/fsdp_tp.yaml" "$tmp" \
        "${SHD_RANKS_MOMENTS:-2}"
    ok $? "a killed and a stopped rank end the job, which names them"
}

# A rank that runs out of memory ends the job; rank 1 has a limit on its address space.
test_no_memory() {
    for n in 2 3; do
        # shellcheck disable=SC2016  # for the shell of each rank
        ranks $n sh -c 'if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then ulimit -v 250000; fi
            exec "$@"' sh "$shardsim" run -q --set batch.seq=512 "$scenarios/tensor_parallel.yaml" \
            >"$tmp/out" 2>"$tmp/err"
        status=$?
        [ $status -ne 0 ] && [ $status -ne 124 ] && [ ! -s "$tmp/out" ]
        result=$?
        [ $result -eq 0 ] || diag <"$tmp/err"
        ok $result "a rank of $n without memory ends the job (status $status)"
    done
}

test_signals
test_no_memory
done_testing
