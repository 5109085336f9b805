#!/bin/sh
# Tests a run over several ranks: results, bytes, memory and verdict are those of one process.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
. "${0%/*}/../support/mpirun.sh"
needs_mpi

# Compare all fields that are not measured, which are equal in any two runs of one process.
cat >"$tmp/same.py" <<'PY'
import json, re, sys

MEASURED = re.compile(r"replayed|_ns$|busy_balance|seconds|spread|repeats")

def flat(x, path, out):
    if MEASURED.search(path):
        return
    if isinstance(x, dict):
        for key, value in x.items():
            flat(value, path + "/" + key, out)
    elif isinstance(x, list):
        for i, value in enumerate(x):
            flat(value, "%s/%d" % (path, i), out)
    else:
        out[path] = x

def load(path):
    out = {}
    flat(json.load(open(path)), "", out)
    return out

one, several = load(sys.argv[1]), load(sys.argv[2])
differs = [key for key in sorted(set(one) | set(several)) if one.get(key) != several.get(key)]
for key in differs[:5]:
    print("#", key, one.get(key), several.get(key))
sys.exit(bool(differs) or len(one) < 50)
PY

# same RANKS SCENARIO [OPTION...]: compare a run over RANKS ranks with that of one process in
# $tmp/one.json.
same() {
    n=$1 name=$2
    shift 2
    ranks "$n" "$shardsim" run -q --json "$@" "$scenarios/$name.yaml" >"$tmp/several.json" 2>"$tmp/err"
    status=$?
    [ "$status" -eq "$one_status" ] && python3 "$tmp/same.py" "$tmp/one.json" "$tmp/several.json"
    result=$?
    [ "$result" -eq 0 ] || diag <"$tmp/err"
    ok $result "$name on $n ranks $*"
}

# one SCENARIO [OPTION...]
one() {
    file=$scenarios/$1.yaml
    shift
    "$shardsim" run -q --json "$@" "$file" >"$tmp/one.json" 2>"$tmp/err"
    one_status=$?
}

test_scenarios() {
    if small_size; then
        one fsdp_tp
        same 3 fsdp_tp
        return
    fi
    for name in tensor_parallel fsdp_tp train_pipeline train_mixed experts ring bad_layout block_64_devices; do
        sampled 16 || [ $name = train_pipeline ] || continue # the only one with stages on several ranks
        one $name
        same 3 $name
    done
    sampled 4 || return
    one block_64_devices
    for n in 2 4; do
        same $n block_64_devices
    done
}

# All scenarios take minutes, so they are run only with SHD_RANKS_ALL=1.
test_all_scenarios() {
    [ -n "${SHD_RANKS_ALL:-}" ] || return
    for file in "$scenarios"/*.yaml; do
        name=$(basename "$file" .yaml)
        one "$name"
        for n in 2 3 4; do
            same $n "$name"
        done
    done
}

test_host() {
    set -- --set 'offload={activations: all, optimizer: 1, parameters: true}' --set hardware=h100-sxm
    one train_zero "$@"
    same 2 train_zero "$@"
    [ "$one_status" -eq 0 ] && grep -q '"host' "$tmp/one.json"
    ok $? "arrays in the memory of the host, on several ranks"
}

test_spread_by_axis() {
    one train_4d
    same 2 train_4d --spread tp
    one dp_tp
    same 2 dp_tp --spread tp
    ranks 2 "$shardsim" run -q --spread nowhere "$scenarios/dp_tp.yaml" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "the mesh has no axis 'nowhere'" "$tmp/err"
    ok $? "no such axis: exit status 2"
    ranks 4 "$shardsim" run -q --spread tp "$scenarios/dp_tp.yaml" --set mesh.tp=2 >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "axis 'tp' has 2 coordinates, too few for 4 ranks" "$tmp/err"
    ok $? "too few coordinates: exit status 2"
}

test_said_once() {
    ranks 3 "$shardsim" run -q "$scenarios/none.yaml" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(grep -c 'none.yaml' "$tmp/err")" -eq 1 ]
    ok $? "bad input: told once, exit status 2"
    ranks 2 "$shardsim" run -q - <"$scenarios/dp_tp.yaml" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "several ranks cannot share standard input" "$tmp/err"
    ok $? "a scenario from standard input: told, exit status 2"
    cp "$scenarios/dp_tp.yaml" "$tmp/here.yaml"
    # shellcheck disable=SC2016  # for the shell of each rank
    ranks 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 0 ] || set -- "$1" run -q nowhere.yaml
        exec "$@"' sh "$shardsim" run -q "$tmp/here.yaml" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "another rank cannot read the scenarios" "$tmp/err"
    ok $? "a file that one rank does not have: told, exit status 2"
    mkdir "$tmp/0" "$tmp/1"
    cp "$scenarios/dp_tp.yaml" "$tmp/0/here.yaml"
    { cat "$scenarios/dp_tp.yaml" && echo '# another'; } >"$tmp/1/here.yaml"
    # shellcheck disable=SC2016
    ranks 2 sh -c 'cd "$2/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" && exec "$1" run -q here.yaml' \
        sh "$(realpath "$shardsim")" "$tmp" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(grep -c "the scenarios differ between ranks" "$tmp/err")" -eq 1 ]
    ok $? "files that differ from rank to rank: told once, exit status 2"
    ranks 2 "$shardsim" report -q "$scenarios/dp_tp.yaml" >"$tmp/out" 2>"$tmp/err" &&
        grep -q '</html>' "$tmp/out"
    ok $? "report: rank 0 does it alone"
    ranks 2 "$shardsim" plan -q - <"$scenarios/dp_tp.yaml" >"$tmp/out" 2>"$tmp/err" &&
        "$shardsim" plan -q "$scenarios/dp_tp.yaml" | sed 1d >"$tmp/one" && sed 1d "$tmp/out" | cmp -s - "$tmp/one"
    ok $? "plan of standard input: rank 0 does it alone"
    ranks 2 "$shardsim" run -q --json -S draft "$scenarios/answer.yaml" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(grep -c 'answer.yaml:[0-9]*:3[0-9]: error: draft/decode: decode.draft: ' "$tmp/err")" -eq 1 ] &&
        python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))[1]["error"]
line = open(e["file"]).read().splitlines()[e["line"] - 1]
assert line[e["column"] - 1 :].startswith("4, accepted"), (e, line)' "$tmp/out"
    ok $? "what ranks do not execute: told once, at the option, with an object in place of the result"
    ranks 2 "$shardsim" run --bad-option >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(grep -c "bad-option" "$tmp/err")" -eq 1 ]
    ok $? "a wrong option: told once, exit status 2"
}

# within COMMAND...: limit the address space, so that one process cannot hold the whole reference:
# each of four ranks needs 240 MB, one process needs 410.
within() {
    (
        # shellcheck disable=SC3045  # as dash and bash have it
        ulimit -v 330000
        "$@"
    )
}

test_memory() {
    cp "$scenarios/tensor_parallel.yaml" "$tmp/large.yaml"
    large="run -q $tmp/large.yaml --set step=[forward] --set model.d_model=1024
        --set model.d_ff=6144 --set batch.size=4 --set batch.seq=4"
    if ! within "$shardsim" --version >"$tmp/out" 2>"$tmp/err"; then
        skip "a reference that is too large for one process" "sanitizers need addresses"
        return
    fi
    # shellcheck disable=SC2086
    within "$shardsim" $large >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 3 ] && grep -q "no memory for the unsharded computation" "$tmp/err"
    ok $? "a reference that is too large for one process: exit status 3"
    # shellcheck disable=SC2086
    within ranks 4 "$shardsim" $large >"$tmp/out" 2>"$tmp/err" && grep -q "verified      ok" "$tmp/out"
    result=$?
    ok $result "and four ranks run it"
    [ "$result" -eq 0 ] || diag <"$tmp/err"
}

# Without a launcher the program runs as one process.
test_alone() {
    "$shardsim" run -q "$scenarios/dp_tp.yaml" >"$tmp/out" 2>"$tmp/err"
    ok $? "without a launcher"
}

# each PROGRAM TEXT: run a test program on several ranks
each() {
    numbers="2 3 4"
    small_size && numbers=3
    for n in $numbers; do
        small_size || sampled 3 "$n" || continue
        ranks "$n" "$top_builddir/tests/run/$1" >"$tmp/out" 2>"$tmp/err" &&
            ! grep '^not ok' "$tmp/out" && grep -q '^1\.\.' "$tmp/out"
        result=$?
        [ "$result" -eq 0 ] || tail -n 5 "$tmp/err" | diag
        ok $result "$2 on $n ranks"
    done
}

test_scenarios
test_host
test_all_scenarios
test_spread_by_axis
test_said_once
test_memory
test_alone
each ranks_calls "calls, counts and failures of 12 devices"
each ranks_programs "random programs"
done_testing
