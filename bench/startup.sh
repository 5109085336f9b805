#!/bin/sh
# startup.sh - measure the time of the whole process for a small run; the goal is 0.2 s.
#
# usage: bench/startup.sh [TIMES [SCENARIO...]]     in the build directory
#
# SPDX-License-Identifier: Apache-2.0
top_srcdir=$(cd "$(dirname "$0")/.." && pwd)
times=${1:-21}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- "$top_srcdir"/scenarios/tensor_parallel.yaml

exec python3 - ./shardsim "$times" "$@" <<'PY'
import os, statistics, subprocess, sys, time

program, times, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
print(f"whole process, {times} times each, {os.cpu_count()} cores; goal for 8 devices: 0.200 s")
for path in files:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run([program, "run", path], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - began)
    print(f"  median {statistics.median(seconds):.3f} s, least {min(seconds):.3f}, "
          f"most {max(seconds):.3f}: {os.path.basename(path)}")
PY
