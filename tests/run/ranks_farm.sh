#!/bin/sh
# Tests check, search and sweeps on several ranks: they print, write and end as one process does; an
# interrupted search resumes.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
. "${0%/*}/../support/mpirun.sh"
needs_mpi

# A launch takes half a second, so each kind of work runs on some numbers of ranks only.
few=2 some=3 many=4
if small_size; then
    few='' many=''
fi

# on N ARGUMENT...: run the program on N ranks, like shardsim().
on() {
    n=$1
    shift
    ranks "$n" "$shardsim" "$@" >"$tmp/all" 2>"$tmp/err"
    status=$?
    sed '/^-----*$/,/^-----*$/d' "$tmp/all" >"$tmp/out" # what mpirun says of a rank that ended with an error
}

# same TEXT: the last run printed and ended like the run of one process.
same() {
    [ "$status" -eq "$one_status" ] && cmp "$tmp/out" "$tmp/one" | diag
    [ "$status" -eq "$one_status" ] && cmp "$tmp/out" "$tmp/one" >/dev/null
    result=$?
    ok "$result" "$1"
    [ "$result" -eq 0 ] || {
        echo "status $status, not $one_status" | diag
        head -n 5 "$tmp/err" | diag
    }
}

# one ARGUMENT...: keep the output and status of one process.
one() {
    shardsim "$@"
    cp "$tmp/out" "$tmp/one"
    one_status=$status
}

test_farm() {
    for n in $some $many; do
        ranks "$n" "$top_builddir/tests/run/farm" >"$tmp/out" 2>"$tmp/err"
        status=$?
        [ "$status" -eq 0 ] && grep -q '^1\.\.' "$tmp/out" && ! grep -q '^not ok' "$tmp/out"
        result=$?
        ok "$result" "tests/run/farm on $n ranks"
        grep '^not ok\|on rank' "$tmp/out" | sed 's/^# //' | diag
    done
    small_size && return 0
    ranks 2 "$top_builddir/tests/run/farm" --no-memory >"$tmp/out" 2>"$tmp/err"
    status=$?
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    ok $? "a rank without memory for an answer ends the job"
    says err 'no memory for the answer to a task' "and says so"
}

# A folder with every kind of outcome: scenarios of unequal size, a sweep, a wrong one, a changed
# one, one without a baseline, and a baseline without a scenario.
make_folder() {
    mkdir -p "$tmp/layouts" "$tmp/base"
    for name in fsdp tensor_parallel strategies train_zero bad_layout ring; do
        cp "$scenarios/$name.yaml" "$tmp/layouts"
    done
    chmod -R u+w "$tmp/layouts"
    ( unset CI && shardsim check -q --plan --update --baselines "$tmp/base" "$tmp/layouts" )
    sed 's/tp: 8/tp: 4/' "$scenarios/tensor_parallel.yaml" >"$tmp/layouts/tensor_parallel.yaml"
    echo "mesh: [" >"$tmp/layouts/broken.yaml"
    cp "$scenarios/fsdp.yaml" "$tmp/layouts/new.yaml"
    rm "$tmp/layouts/ring.yaml"
}

test_check() {
    make_folder
    one check --plan --baselines "$tmp/base" --junit "$tmp/one.xml" "$tmp/layouts"
    [ "$one_status" -eq 2 ] && [ "$(grep -c '^not ok' "$tmp/one")" -ge 4 ]
    ok $? "a folder with something of each"
    for n in $few $some; do
        on "$n" check --plan --baselines "$tmp/base" --junit "$tmp/junit.xml" "$tmp/layouts"
        same "check --plan on $n ranks"
        for file in junit one; do
            sed 's/ time="[^"]*"//' "$tmp/$file.xml" >"$tmp/$file.same"
        done
        cmp "$tmp/junit.same" "$tmp/one.same" >/dev/null
        ok $? "and the same JUnit XML, but for times"
        says err "tasks on rank 0, .* on rank $((n - 1))" "and how many files each did"
    done
    small_size && return 0
    one check "$tmp/layouts/absent"
    on 2 check "$tmp/layouts/absent"
    same "a folder that is not there"
}

# Scenarios are executed by all ranks, baselines written by rank 0.
test_update() {
    small_size && return 0
    for name in broken strategies train_zero bad_layout fsdp; do
        rm "$tmp/layouts/$name.yaml"
    done
    cp -r "$tmp/base" "$tmp/base_one"
    unset CI
    one check -q --update --prune --baselines "$tmp/base_one" "$tmp/layouts"
    on 2 check -q --update --prune --baselines "$tmp/base" "$tmp/layouts"
    sed "s|$tmp/base_one|$tmp/base|" "$tmp/one" >"$tmp/renamed" && mv "$tmp/renamed" "$tmp/one"
    same "check --update, executed"
    diff -r "$tmp/base_one" "$tmp/base" >/dev/null
    ok $? "and the same baselines"
}

# Strategies of a sweep: some do not divide, and for the first few that do not fit changes are
# sought.
test_sweeps() {
    one plan -q "$scenarios/sweep.yaml" "$scenarios/bad_layout.yaml" -s limits.memory=80KiB
    [ "$one_status" -eq 1 ] && grep -q 'would fit' "$tmp/one"
    ok $? "a sweep of which some do not fit"
    for n in $some $many; do
        on "$n" plan "$scenarios/sweep.yaml" "$scenarios/bad_layout.yaml" -s limits.memory=80KiB
        same "plan on $n ranks"
        says err "[1-9][0-9]* tasks on rank 0, .* on rank $((n - 1))" "and how many strategies each did"
    done
    one plan -q --json "$scenarios/strategies.yaml"
    on $some plan -q --json "$scenarios/strategies.yaml"
    same "plan --json"
    one compare --plan -q --color=never "$scenarios/sweep.yaml" --sort received_bytes --top 5
    on $some compare --plan -q --color=never "$scenarios/sweep.yaml" --sort received_bytes --top 5
    same "compare --plan"
    small_size && return 0
    one compare --plan -q --json "$scenarios/sweep.yaml" -s limits.memory=1KiB
    on $few compare --plan -q --json "$scenarios/sweep.yaml" -s limits.memory=1KiB
    same "compare --plan --json, of strategies that do not fit"
    one plan -q "$scenarios/strategies.yaml" "$tmp/layouts/broken.yaml" -s batch.size=7
    on $few plan -q "$scenarios/strategies.yaml" "$tmp/layouts/broken.yaml" -s batch.size=7
    same "plan of what is wrong"
    one plan -q "$scenarios/strategies.yaml" -s batch.size=7
    on $few plan -q "$scenarios/strategies.yaml" -s batch.size=7
    same "plan of strategies that do not divide, of no sweep"
    says err 'extent 7 does not divide' "and it is told"
}

cp "$scenarios/train_zero.yaml" "$tmp"
search="search $tmp/train_zero.yaml -S dp -s hardware=b200 -q --json --top 3 --no-prune
    --range tp=1 --range cp=1 --range microbatch=1 --range virtual=1 --range recompute=none"

# shellcheck disable=SC2086
test_search() {
    one $search --sensitivity --journal "$tmp/journal_one"
    for n in $some $many; do
        rm -f "$tmp/journal"
        on "$n" $search --sensitivity --journal "$tmp/journal"
        same "search --sensitivity on $n ranks, of this cluster and others"
        cmp "$tmp/journal" "$tmp/journal_one" >/dev/null
        ok $? "and the same journal"
    done
}

# A search interrupted by a signal to the launcher, like Ctrl-C, is resumed from its journal.
# shellcheck disable=SC2086
test_interrupted() {
    small_size && return 0
    rm -f "$tmp/journal"
    "$launcher" -n 2 "$shardsim" $search --journal "$tmp/journal" >"$tmp/cut" 2>"$tmp/cut.err" &
    child=$!
    for _ in $(seq 200); do
        [ "$(wc -l 2>/dev/null <"$tmp/journal")" -ge 5 ] 2>/dev/null && break
        sleep 0.02
    done
    kill -s INT $child 2>/dev/null
    wait $child
    cut=$?
    one $search
    lines=$(wc -l <"$tmp/journal")
    on 2 $search --journal "$tmp/journal"
    same "interrupted (status $cut, $lines lines there) and gone on with: the same answer"
}

test_farm
test_check
test_sweeps
test_update
test_search
test_interrupted
done_testing
