#!/bin/sh
# nightly.sh - the checks that .ci/run has no time for, in a build's folder: `make stress`.  Every
# test completely, in this build and with each sanitizer; a build with clang and MPICH; many threads
# for a long time; many wrong questions; every allocation that can fail; ten thousand planted faults
# of each kind.  The script takes some hours and goes on after a failure; the status is 1 if there
# was one.
#
# SPDX-License-Identifier: Apache-2.0
set -u
source=${top_srcdir:?} jobs=${SHD_JOBS:-2} failed=
SHD_TEST_TIER=nightly
export SHD_TEST_TIER

# stage NAME COMMAND...: run the command and note a failure.
stage() {
    name=$1
    shift
    echo "nightly: $name"
    "$@" || failed="$failed, $name"
}

# built FOLDER TARGET OPTION...: make a target in a build of its own below nightly/.
built() {
    folder=nightly/$1 target=$2
    shift 2
    mkdir -p "$folder" && (cd "$folder" && "$source/configure" --enable-werror "$@" >/dev/null) &&
        make -k -C "$folder" -j"$jobs" "$target"
}

failures() {
    tests/cmd/failures --whole >failures.md || {
        cat failures.md
        return 1
    }
}

faults() {
    tests/trial/faults 10000 20000 3000 >faults.md || {
        cat faults.md
        return 1
    }
}

mpi=
if grep -q '^#define WITH_MPI 1' config.h; then mpi=--with-mpi; fi
stage "every test" make -k -j"$jobs" check
stage "every test, address and undefined" built asan check --enable-debug --enable-sanitizer=address,undefined $mpi
stage "every test, thread" built tsan check --enable-debug --enable-sanitizer=thread
if command -v clang >/dev/null; then
    stage "clang" built clang all --with-mpi=mpich CC=clang CXX=clang++
fi
stage "many threads" tests/coll/stress
stage "100,000 questions" env SHD_MUTATIONS=100000 sh "$source/tests/query/query_mutated.sh"
stage "5,000 scenarios" env SHD_TEST_COUNT=5000 sh "$source/tests/steps/random_scenarios.sh"
stage "10,000 scenarios on better devices" env SHD_TEST_COUNT=10000 sh "$source/tests/steps/monotone.sh"
stage "5,000 graphs" env SHD_TEST_COUNT=5000 sh "$source/tests/steps/random_graphs.sh"
stage "1,000 steps of serving" env SHD_TEST_COUNT=1000 sh "$source/tests/steps/random_serving.sh"
stage "allocations" failures
stage "faults" faults
if [ -n "$failed" ]; then
    echo "nightly: failed: ${failed#, }"
    exit 1
fi
echo "nightly: all well"
