#!/bin/sh
# Tests check: shipped scenarios match their baselines; a changed scenario fails, and the report
# says in words what changed.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

# project NAME: create a project of two scenarios and their baselines in $tmp/NAME.
project() {
    rm -rf "${tmp:?}/$1"
    mkdir -p "$tmp/$1/scenarios" "$tmp/$1/results/baselines/scenarios"
    for file in dp_tp strategies; do
        cp "$scenarios/$file.yaml" "$tmp/$1/scenarios"
        cp "$top_srcdir/results/baselines/scenarios/$file.yaml" "$tmp/$1/results/baselines/scenarios"
    done
    chmod -R u+w "$tmp/$1"
}

# check ARGUMENT...: run `shardsim check` in the project.
check() {
    (cd "$tmp/p" && exec timeout "$LIMIT" "$shardsim" check "$@") >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# edit FILE PROGRAM: edit a file of the project with sed.
edit() {
    sed "$2" "$tmp/p/$1" >"$tmp/edited" && cp "$tmp/edited" "$tmp/p/$1"
}

test_shipped() {
    # Executing all scenarios takes minutes, so per change they are only planned; tests/steps/scenarios.sh
    # executes some and compares with their plans.
    case ${SHD_TEST_TIER:-}${SHD_TEST_SIZE:-} in
        change* | *small) set -- --plan ;;
    esac
    LIMIT=1200 shardsim check -q "$@" "$scenarios"
    is 0 "the shipped scenarios: as their baselines"
    n=$(grep -c '^ok ' "$tmp/out")
    tail -n 1 "$tmp/out" | grep -q "^1\.\.$((n + 0))$"
    ok $? "the shipped scenarios: TAP with a plan"
    prove -e cat "$tmp/out" >"$tmp/proved" 2>&1
    ok $? "the shipped scenarios: prove is content"
    [ $# -eq 0 ] || return
    shardsim check -q --plan "$scenarios"
    is 0 "the shipped scenarios: the same on paper"
}

test_older() {
    project p
    edit results/baselines/scenarios/dp_tp.yaml 's/, sharding: /, lies: /'
    check --plan scenarios/dp_tp.yaml
    is 0 "an older baseline, which has another word for a sharding, is read"
    edit results/baselines/scenarios/dp_tp.yaml '
        s/^version: 2/version: 1/
        /^    figures:$/d
        s/^      \(received\|peak_memory\|flops\)/    \1/
        s/peak_memory_bytes_total/peak_memory_bytes/'
    check --plan scenarios/dp_tp.yaml
    is 0 "a baseline of format 1 is read: as accepted"
    says out "^ok 1 - dp_tp.yaml: default # baseline: its baseline has format 1, .*writes format 2$" \
        "a baseline of format 1: a remark"
    check --plan --update scenarios/dp_tp.yaml
    cmp -s "$tmp/p/results/baselines/scenarios/dp_tp.yaml" \
        "$top_srcdir/results/baselines/scenarios/dp_tp.yaml"
    ok $? "a baseline of format 1: --update writes the same as of format 2"
}

test_regression() {
    project p
    edit scenarios/dp_tp.yaml 's|\[mlp/up/kernel, \[null, tp\]\]|[mlp/up/kernel, []]|'
    check --plan --junit check.xml
    is 1 "an axis dropped from a rule: status 1"
    says out '^not ok 1 - dp_tp.yaml: default$' "an axis dropped: the strategy"
    says err '1 of 6 changed or is wrong' "an axis dropped: the verdict"
    says out '^    - "worse: total received +37.5 % (11.0 MiB, was 8.00 MiB), peak memory of a device +34.8 % .*; .shardsim check --update. accepts it"$' \
        "an axis dropped: worse, by how much, and how to accept it"
    says out "line 11: parameter 'layers/\*/mlp/up/kernel' is sharded as \[{}, {}\], was \[{}, {tp}\], no longer sharded over tp; has 262144 bytes on a device, 196608 more" \
        "an axis dropped: the parameter, the axis, the bytes, the line"
    says out 'backward all-gather over tp at .*mlp/up/kernel and 1 more is new.* 3145728 more bytes received over tp' \
        "an axis dropped: the op"
    says out 'received over tp: 9437184 bytes, 3145728 more' "an axis dropped: bytes over the axis"
    says out 'peak memory of a device: .* bytes, .* more' "an axis dropped: memory"
    says out '^ok 2 - strategies.yaml' "an axis dropped: others pass"
    ! prove -e cat "$tmp/out" >"$tmp/proved" 2>&1 && grep -q 'Failed test: *1$' "$tmp/proved"
    ok $? "an axis dropped: prove sees one failure"
    sed -n '/^  ---$/,/^  \.\.\.$/p' "$tmp/out" | sed '1d; $d' >"$tmp/block"
    python3 -c 'import sys, yaml
d = yaml.safe_load(open(sys.argv[1]))
assert d["file"] == "scenarios/dp_tp.yaml" and d["line"] == 11 and len(d["reasons"]) > 3' "$tmp/block"
    ok $? "an axis dropped: the block is YAML"
    python3 - "$tmp/p/check.xml" <<'PY' 2>"$tmp/wrong"
import sys, xml.etree.ElementTree as t
root = t.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites" and root.get("tests") == "6" and root.get("failures") == "1"
cases = root.findall("testsuite/testcase")
assert len(cases) == 6 and all(c.get("classname") and c.get("name") for c in cases)
failed = [c for c in cases if c.find("failure") is not None]
assert failed[0].find("failure").get("message").startswith("worse: total received +37.5 %")
assert all(c.get("file").startswith("scenarios/") and float(c.get("time")) >= 0 for c in cases)
assert failed[0].get("line") == "11" and sum(float(c.get("time")) for c in cases) > 0
assert len(failed) == 1 and "mlp/up/kernel" in failed[0].find("failure").text
assert sum(int(s.get("tests")) for s in root) == 6
PY
    ok $? "--junit: cases, suites and the failure"
    diag <"$tmp/wrong"
    if grep '^::' "$tmp/err"; then false; fi
    ok $? "no annotation without GitHub"
    GITHUB_ACTIONS=true check --plan
    says err "^::error file=scenarios/dp_tp.yaml,line=11,title=dp_tp.yaml%3A default::worse: .*%0Aparameter 'layers.*%0A" \
        "GITHUB_ACTIONS: an annotation at the rule"
    CI=true check --plan --update
    is 2 "--update where CI is set: status 2"
    silent out "--update where CI is set: nothing done"
    cp "$tmp/p/results/baselines/scenarios/dp_tp.yaml" "$tmp/before"
    check --plan --update
    is 0 "--update: status 0"
    says out 'accepted:' "--update: says what"
    ! cmp -s "$tmp/before" "$tmp/p/results/baselines/scenarios/dp_tp.yaml"
    ok $? "--update: another baseline"
    cmp -s "$top_srcdir/results/baselines/scenarios/strategies.yaml" "$tmp/p/results/baselines/scenarios/strategies.yaml"
    ok $? "--update: what did not change is byte for byte the same"
    [ "$(find "$tmp/p/results/baselines" -type f | wc -l)" -eq 2 ]
    ok $? "--update: no other file is left"
    check
    is 0 "--update: accepted"
    edit scenarios/dp_tp.yaml 's|\[mlp/up/kernel, \[\]\]|[mlp/up/kernel, [null, tp]]|'
    check --plan
    is 1 "an improvement is a change too: status 1"
    says out 'is gone, .* 3145728 fewer bytes received over tp' "an improvement: fewer"
    says out '"better: total received -27.3 % ' "an improvement: better"
}

test_other_changes() {
    project p
    edit scenarios/dp_tp.yaml 's|mlp/hidden, \[dp, null, tp\]|mlp/hidden, [dp]|'
    check --plan
    says out "constraint 'layers/\*/mlp/hidden' is sharded as \[{dp}, {}, {}\], was .*, no longer sharded over tp" \
        "a constraint: named"
    project p
    edit scenarios/dp_tp.yaml 's/layers: 2/layers: 3/'
    check --plan
    says out "parameter 'layers/\*/mlp/up/kernel' has .*; appears 3 times, was 2" "a layer more: said"
    says out 'all-reduce over tp at .* receives .* more over tp; times 3, was 2' "a layer more: ops"
    project p
    edit scenarios/dp_tp.yaml 's/mesh: {dp: 2/mesh: {dp: 4/'
    check --plan
    says out 'mesh is dp=4, tp=4, was dp=2, tp=4' "another mesh: said"
    project p
    edit scenarios/dp_tp.yaml 's/^step/tolerance: 1e-30\nstep/'
    check scenarios/dp_tp.yaml
    is 1 "wrong numbers: status 1"
    says out 'differs from the unsharded computation: error' "wrong numbers: said"
    check --update scenarios/dp_tp.yaml
    is 1 "wrong numbers are not accepted: status 1"
    project p
    echo 'limits: {memory: 1MiB}' >>"$tmp/p/scenarios/dp_tp.yaml"
    check scenarios/dp_tp.yaml
    says out 'does not fit: a device needs 1.44 MiB, and limits.memory is 1.00 MiB' "does not fit: said"
    project p
    printf 'hardware: h100-sxm\n' >>"$tmp/p/scenarios/dp_tp.yaml"
    edit scenarios/dp_tp.yaml 's/^batch:.*/batch: {size: 67108864, seq: 4096}/'
    check scenarios/dp_tp.yaml
    is 1 "more than a device of the cluster has: status 1"
    says out 'does not fit: a device needs .*, and the cluster has 79.6 GiB' "more than the cluster has: said"
    says err "planned, not executed: default needs more than half of this machine's memory" \
        "what is too large to be executed is planned"
    project p
    printf 'steps: 8\noptimizer: {kind: sgd, lr: 1000}\n' >>"$tmp/p/scenarios/dp_tp.yaml"
    edit scenarios/dp_tp.yaml 's/^step:.*/step: [forward, backward, update]/'
    check scenarios/dp_tp.yaml
    says out 'elements that are infinite or not a number, also in the unsharded step' "training that diverges: said"
}

# A longer modelled step is worse than the baseline; another cluster is neither worse nor better.
test_step() {
    project p
    cp "$tmp/p/results/baselines/scenarios/dp_tp.yaml" "$tmp/before"
    edit scenarios/dp_tp.yaml 's/mesh: {dp: 2, tp: 4}/mesh: {dp: 2, tp: 8}/'
    echo 'hardware: h100-sxm' >>"$tmp/p/scenarios/dp_tp.yaml"
    check --plan scenarios/dp_tp.yaml
    says out '"the hardware changed: hardware is h100-sxm, was the default; neither worse nor better: ' \
        "a cluster that was not there: a change"
    check --plan --update
    says p/results/baselines/scenarios/dp_tp.yaml '^      modelled_step_seconds: 0.*[1-9]' "a cluster: the baseline has the step"
    says p/results/baselines/scenarios/dp_tp.yaml '^      hardware: h100-sxm$' "a cluster: the baseline names it"
    check --plan
    is 0 "a cluster: as accepted"
    check scenarios/dp_tp.yaml
    is 0 "a cluster: executed, the same step"
    edit scenarios/dp_tp.yaml 's/mesh: {dp: 2, tp: 8}/mesh: {tp: 8, dp: 2}/'
    check --plan
    is 1 "axes in another order: status 1"
    says out '"worse: modelled step +[1-9][0-9.]* % (.*, was .*' "axes in another order: a longer step is worse"
    check scenarios/dp_tp.yaml
    says out '"worse: modelled step +' "axes in another order: executed, too"
    check --plan --update
    edit scenarios/dp_tp.yaml 's/mesh: {tp: 8, dp: 2}/mesh: {dp: 2, tp: 8}/'
    check --plan
    says out '"better: modelled step -' "and back: better"
    check --plan --update
    edit scenarios/dp_tp.yaml 's/h100-sxm/h200-sxm/'
    check --plan
    is 1 "another cluster: status 1"
    says out '"the hardware changed: hardware is h200-sxm, was h100-sxm; neither worse nor better: ' \
        "another cluster: neither worse nor better"
    edit scenarios/dp_tp.yaml 's/h200-sxm/h100-sxm/'
    longer 1 1100
    cp "$tmp/p/results/baselines/scenarios/dp_tp.yaml" "$tmp/before"
    check --plan --update
    is 0 "a step that rounding made longer: as accepted"
    cmp -s "$tmp/p/results/baselines/scenarios/dp_tp.yaml" "$tmp/before"
    ok $? "a step that rounding made longer: the baseline stays byte for byte"
    longer -1 500
    check --plan
    says out '"worse: modelled step +0.1 %' "a step that is longer than that: worse"
}

# longer SIGN PARTS: the baseline's step is longer by one of so many parts, or shorter
longer() {
    awk -v sign="$1" -v parts="$2" '
        /^      modelled_step_seconds: / { printf "%s %.9f\n", "      modelled_step_seconds:", $2 * (1 + sign / parts); next }
        { print }' "$tmp/p/results/baselines/scenarios/dp_tp.yaml" >"$tmp/edited"
    cp "$tmp/edited" "$tmp/p/results/baselines/scenarios/dp_tp.yaml"
}

# computes EDIT WORDS: after an edit of the computation the report says what changed and does not
# judge.
computes() {
    project p
    edit scenarios/dp_tp.yaml "$1"
    check --plan scenarios/dp_tp.yaml
    is 1 "$1: status 1"
    says out "\"$2; neither worse nor better: " "$1: something else is computed"
}

# A scenario that computes less is not called better.
test_given() {
    computes 's/layers: 2/layers: 1/' 'the model changed: model.layers is the default, was 2'
    computes 's/d_model: 128/d_model: 64/' 'the model changed: model.d_model is 64, was 128'
    computes 's/gelu/relu/' 'the model changed: model.activation is relu, was the default'
    computes 's/size: 8/size: 4/' 'the batch changed: batch.size is 4, was 8'
    computes 's/, backward\]/]/' 'the step changed: step is \[forward\], was the default'
    computes 's/layers: 2/layers: 3/; s/size: 8/size: 4/' \
        'the model and the batch changed: model.layers is 3, was 2, batch.size is 4, was 8'
    says out 'line 7: model.layers is' "model and batch: the change is at its line"
    project p
    edit scenarios/dp_tp.yaml 's/^step.*/step: [forward, backward, update]/'
    echo 'optimizer: {kind: adamw}' >>"$tmp/p/scenarios/dp_tp.yaml"
    check --plan --update scenarios/dp_tp.yaml
    echo 'zero: {stage: 1, axis: dp}' >>"$tmp/p/scenarios/dp_tp.yaml"
    check --plan scenarios/dp_tp.yaml
    says out '"line 18: zero.stage is 1, was the default"' "an option of the layout: the cause"
    says out '"better.*: ' "an option of the layout: judged"
    project p
    printf 'hardware: h100-sxm\n' >>"$tmp/p/scenarios/dp_tp.yaml"
    check --plan --update scenarios/dp_tp.yaml
    edit scenarios/dp_tp.yaml 's/size: 8/size: 16/'
    check --plan scenarios/dp_tp.yaml
    says out '"the batch changed: batch.size is 16, was 8; better by token: [0-9.]* us of the step, was [0-9.]* us (-[0-9.]* %): modelled step' \
        "another batch: its step is judged by token"
    project p
    edit results/baselines/scenarios/dp_tp.yaml '/^    given:$/d; /^      [a-z_]*\./d'
    printf 'hardware: h100-sxm\n' >>"$tmp/p/scenarios/dp_tp.yaml"
    check --plan scenarios/dp_tp.yaml
    is 0 "an older baseline, which does not hold what is computed: as accepted"
    says out "^ok 1 - dp_tp.yaml: default # baseline: its baseline is of an older shardsim.*--update' adds them$" \
        "an older baseline: a remark"
    check --plan --update
    says p/results/baselines/scenarios/dp_tp.yaml '^      model.layers: ' "an older baseline: --update adds it"
    says p/results/baselines/scenarios/dp_tp.yaml '^      modelled_step_seconds: ' "an older baseline: --update adds the step"
}

test_files() {
    project p
    cp "$scenarios/fsdp.yaml" "$tmp/p/scenarios/new.yaml"
    rm "$tmp/p/scenarios/dp_tp.yaml"
    edit scenarios/strategies.yaml 's/name: data$/name: date/'
    check --plan
    is 1 "new and orphaned baselines: status 1"
    says out '^not ok 1 - new.yaml: default$' "a new scenario: told"
    says out 'has no baseline' "a new scenario: why"
    says out '^not ok 7 - strategies.yaml: data$' "a strategy that is gone: told"
    says out '^not ok 8 - dp_tp.yaml$' "an orphaned baseline: told"
    check --plan --update
    is 1 "new and orphaned, --update: status 1, for one is left over"
    says out "a baseline without a scenario; 'shardsim check --update --prune' removes it" \
        "new and orphaned, --update: how to remove it"
    [ -s "$tmp/p/results/baselines/scenarios/dp_tp.yaml" ] && [ -s "$tmp/p/results/baselines/scenarios/new.yaml" ]
    ok $? "new and orphaned, --update: made, and nothing removed"
    check --plan --update --prune
    is 0 "new and orphaned, --prune: status 0"
    says out '^# to be removed: results/baselines/scenarios/dp_tp.yaml$' "--prune: lists first"
    [ ! -e "$tmp/p/results/baselines/scenarios/dp_tp.yaml" ] && [ -s "$tmp/p/results/baselines/scenarios/new.yaml" ]
    ok $? "new and orphaned, --prune: removed"
    check --plan
    is 0 "new and orphaned: accepted"
    check --plan --prune
    is 2 "--prune without --update: status 2"
    project p
    echo 'mesh: 3' >"$tmp/p/scenarios/bad.yaml"
    check scenarios/dp_tp.yaml
    is 0 "one file: status 0"
    says out '^ok 1 - dp_tp.yaml: default$' "one file: its strategy is checked"
    says out '^1\.\.1$' "one file: no other file is read"
    check scenarios/none.yaml
    is 2 "no such file: status 2"
    says err "no folder or file 'scenarios/none.yaml'" "no such file: told"
    check --plan
    is 2 "a scenario that cannot be read: status 2"
    says out '^not ok 1 - bad.yaml$' "a scenario that cannot be read: told"
    says out '^ok 2 - dp_tp.yaml: default$' "a scenario that cannot be read: the others are checked"
    project p
    edit results/baselines/scenarios/dp_tp.yaml 's/^version: [12]/version: 7/'
    check --plan
    is 2 "a broken baseline: status 2"
    says out 'not a baseline of version 1' "a broken baseline: said"
    says out '^  file: "results/baselines/scenarios/dp_tp.yaml"$' "a broken baseline: by its own file"
    GITHUB_ACTIONS=true check --plan
    says err '^::error file=results/baselines/scenarios/dp_tp.yaml,line=2,' "a broken baseline: annotated there"
    mkdir "$tmp/p/scenarios/sub" "$tmp/p/scenarios/hardware"
    mv "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/sub"
    echo 'chip: x' >"$tmp/p/scenarios/hardware/chip.yaml"
    rm "$tmp/p/results/baselines/scenarios/dp_tp.yaml"
    check --plan --update
    [ -s "$tmp/p/results/baselines/scenarios/sub/dp_tp.yaml" ]
    ok $? "folders below: the same below the baselines; hardware is none of them"
    check --plan scenarios/sub/dp_tp.yaml
    is 0 "a file in a folder below: its baseline is found"
    says out '^ok 1 - sub/dp_tp.yaml: default$' "a file in a folder below: by its path"
    check --plan scenarios/sub//dp_tp.yaml
    is 2 "a file by another spelling: status 2, not nothing"
    mv "$tmp/p/scenarios/strategies.yaml" "$tmp/p/scenarios/strategies.yml"
    check --plan
    is 1 "a file that ends in .yml: checked"
    says out '^not ok 2 - strategies.yml: ' "a file that ends in .yml: told"
    mv "$tmp/p/scenarios/strategies.yml" "$tmp/p/scenarios/strategies.yaml"
    shardsim check "$tmp/nothing"
    is 2 "no such folder: status 2"
    shardsim check --plan "$tmp/p/scenarios/hardware/.."
    is 0 "a folder by a longer way: its own baselines"
}

# Another version of shardsim, and not the file, may be why figures differ.
test_versions() {
    project p
    baseline=results/baselines/scenarios/dp_tp.yaml
    cp "$tmp/p/$baseline" "$tmp/before"
    edit $baseline "s/^shardsim: .*/shardsim: '0.0.9'/"
    check --plan --update scenarios/dp_tp.yaml
    grep -q "^shardsim: '0.0.9'" "$tmp/p/$baseline"
    ok $? "a baseline of another version that still holds: --update leaves it"
    edit $baseline 's/received_bytes: 8388640/received_bytes: 8388000/'
    check --plan --junit check.xml scenarios/dp_tp.yaml
    is 1 "another version, which counts otherwise: status 1"
    says out 'this file is unchanged since shardsim 0.0.9 wrote the baseline: the difference comes from shardsim ' \
        "another version: the version, not the layout"
    grep -q 'type="changed-by-version"' "$tmp/p/check.xml"
    ok $? "another version: in JUnit"
    edit scenarios/dp_tp.yaml 's/mlp.up.kernel, \[null, tp\]/mlp\/up\/kernel, []/'
    check --plan scenarios/dp_tp.yaml
    says out 'shardsim 0.0.9 wrote the baseline; this is .*: part of the difference may come from the version' \
        "another version and another layout: both"
    cp "$tmp/before" "$tmp/p/$baseline"
    project p
    edit $baseline 's/received_bytes: 8388640/received_bytes: 8388000/'
    check --plan scenarios/dp_tp.yaml
    says out 'this file is unchanged; a file named in it may differ' "the same version and file: what it names"
}

# Files left out are listed with -v, or if no file is left.
test_left_out() {
    project p
    mkdir "$tmp/p/scenarios/models" "$tmp/p/scenarios/sub"
    ln -s .. "$tmp/p/scenarios/sub/loop"
    cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/UP.YAML"
    cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/.hidden.yaml"
    cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/models/model.yaml"
    check --plan
    is 0 "files skipped: status 0"
    says out '^1\.\.6$' "files skipped: a link to a folder above is not followed"
    ! grep -q 'skipped' "$tmp/err"
    ok $? "files skipped: not said"
    check --plan -v
    says err '4 files skipped: .hidden.yaml, UP.YAML, models/model.yaml, sub/loop;' "-v: files left out"
    ln -s nowhere "$tmp/p/scenarios/gone.yaml"
    ln -s nowhere "$tmp/p/scenarios/gone.txt"
    mkfifo "$tmp/p/scenarios/pipe.yaml"
    check --plan -v
    is 0 "a pipe and a link to nothing: status 0"
    says err '6 files skipped: .hidden.yaml, UP.YAML, gone.yaml, models/model.yaml, pipe.yaml, sub/loop;' \
        "-v: a pipe and a link to nothing"
    rm "$tmp/p/scenarios/gone.yaml" "$tmp/p/scenarios/gone.txt" "$tmp/p/scenarios/pipe.yaml"
    rm "$tmp/p/scenarios"/*.yaml
    check --plan
    is 2 "all files skipped: status 2"
    says err '4 files skipped: ' "all files skipped: said"
}

# annotated LINE TEXT: the first annotation is at that line of the scenario.
annotated() {
    GITHUB_ACTIONS=true check --plan -q
    says err "^::error file=[a-z_/]*.yaml,line=$1,title=" "$2"
}

# A changed rule is blamed at its line for its parameter first, and in the same line of the report
# for the optimizer's states of that parameter.
test_states() {
    project p
    rm -rf "$tmp/p/scenarios"/* "$tmp/p/results/baselines/scenarios"/*
    cat >"$tmp/p/scenarios/adam.yaml" <<'END'
version: 1
mesh: {tp: 2}
model: {kind: mlp, d_model: 8, d_ff: 8}
batch: {size: 2, seq: 4}
step: [forward, backward, update]
optimizer: {kind: adamw}
params:
  - [mlp/up/kernel, [null, tp]]
  - [.*, []]
END
    check --plan --update
    edit scenarios/adam.yaml 's/null, tp/tp/'
    annotated 8 "another rule: a remark at it, though arrays of the optimizer have it, too"
    check --plan
    says out "line 8: parameter '.*; also 2 optimizer states of it\"" "another rule: states in the line of their parameter"
    ! grep -q "'opt/[mv]/" "$tmp/out"
    ok $? "another rule: no line of a state alone"
    check --plan -v
    says out "line 8: input 'opt/m/.* is sharded as" "another rule: -v tells of states at the rule of their parameter"
}

# An annotation is at the key that changed, and one cause does not print a hundred reasons.
test_causes() {
    project p
    (cd "$tmp/p/scenarios" && rm dp_tp.yaml &&
        "$shardsim" init --model llama3-8b --devices 64 --hardware h100-sxm -o train.yaml &&
        sed -i 's/^recompute: none/recompute: full/; s/stage: 2/stage: 3/' train.yaml) >"$tmp/out" 2>"$tmp/err"
    rm "$tmp/p/results/baselines/scenarios/dp_tp.yaml"
    check --plan --update
    cp "$tmp/p/scenarios/train.yaml" "$tmp/train"
    for key in mesh zero recompute batch; do
        case $key in
        mesh) edit scenarios/train.yaml 's/^mesh: {fsdp: 64}/mesh: {fsdp: 32}/' ;;
        zero) edit scenarios/train.yaml 's/stage: 3/stage: 2/' ;;
        recompute) edit scenarios/train.yaml 's/^recompute: full/recompute: none/' ;;
        batch) edit scenarios/train.yaml 's/microbatches: 4/microbatches: 8/' ;;
        esac
        annotated "$(grep -n "^$key" "$tmp/train" | cut -d : -f 1)" "another $key: a remark at its line"
        cp "$tmp/train" "$tmp/p/scenarios/train.yaml"
    done
    edit scenarios/train.yaml 's/^mesh: {fsdp: 64}/mesh: {fsdp: 32}/'
    check --plan
    n=$(grep -c '^    - ' "$tmp/out")
    [ "$n" -ge 8 ] && [ "$n" -le 16 ]
    ok $? "another mesh: some ten reasons, not a hundred"
    says out '"and [0-9]* more (.shardsim check -v. lists all)"$' "another mesh: how many more"
    grep '^    - ' "$tmp/out" | sed -n 2p | grep -q 'line [0-9]*: mesh.fsdp is 32, was 64'
    ok $? "another mesh: the cause behind the verdict"
    check --plan -v
    [ "$(grep -c '^    - ' "$tmp/out")" -ge 50 ]
    ok $? "another mesh: -v tells all reasons"
    cp "$tmp/train" "$tmp/p/scenarios/train.yaml"
    edit scenarios/strategies.yaml '22s/dp: 8/dp: 4/'
    annotated 22 "another mesh of a strategy: a remark there"
    project p
    edit scenarios/dp_tp.yaml 's/layers: 2/layers: 1/'
    check --plan
    says out 'all-reduce over dp at gradient of .* and 1 more receives .*; was at gradient of .* and 3 more; ' \
        "a collective of fewer arrays: one reason, not a new one and one that is gone"
}

# A renamed scenario is recognized by its baseline.
test_renamed() {
    project p
    mv "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/zwei.yaml"
    check --plan
    is 1 "a scenario under another name: status 1"
    says out "equals that of dp_tp.yaml: renamed? 'shardsim check --update --prune' moves the" \
        "another name: the scenario"
    says out "a baseline without a scenario, equal to zwei.yaml now: renamed?" "another name: the baseline"
    check --plan --update --prune
    check --plan
    is 0 "another name: the remedy"
    mv "$tmp/p/scenarios/zwei.yaml" "$tmp/p/scenarios/drei.yaml"
    edit scenarios/drei.yaml 's/layers: 2/layers: 3/'
    check --plan
    ! grep -q 'renamed' "$tmp/out"
    ok $? "another name and another model: not the same"
    says out "has no baseline; 'shardsim check --update' writes it" "another name and another model: new"
}

# Unreadable input of every kind gives status 2, and the other scenarios are checked all the same.
test_unreadable() {
    project p
    printf '' >"$tmp/p/scenarios/a_empty.yaml"
    printf 'mesh: {dp: 2\n' >"$tmp/p/scenarios/b_broken.yaml"
    printf 'name: \377\n' >"$tmp/p/scenarios/c_bytes.yaml"
    cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/d_new.yaml"
    sed 's/^model/limits: {memory: 1MiB}\nmodel/' "$tmp/p/scenarios/dp_tp.yaml" >"$tmp/p/scenarios/e_large.yaml"
    edit scenarios/dp_tp.yaml 's/layers: 2/layers: 3/'
    edit results/baselines/scenarios/strategies.yaml 's/^version: [12]/version: 7/'
    cp "$top_srcdir/results/baselines/scenarios/sweep.yaml" "$tmp/p/results/baselines/scenarios"
    check --plan --junit check.xml
    is 2 "what cannot be read, beside changes: status 2"
    says out '^1\.\.8$' "what cannot be read: all are checked"
    says err '4 of 8 changed or are wrong' "what cannot be read: changes are counted"
    says err '4 of 8 could not be read' "what cannot be read: the unreadable files are counted"
    python3 - "$tmp/p/check.xml" <<'PY' 2>"$tmp/wrong"
import sys, xml.etree.ElementTree as t
root = t.parse(sys.argv[1]).getroot()
assert (root.get("failures"), root.get("errors")) == ("4", "4"), root.attrib
types = {s.get("name"): [f.get("type") for f in s.iter() if f.tag in ("failure", "error")] for s in root}
want = {"a_empty.yaml": ["unreadable-scenario"], "b_broken.yaml": ["unreadable-scenario"],
        "c_bytes.yaml": ["unreadable-scenario"], "d_new.yaml": ["new"], "e_large.yaml": ["does-not-fit"],
        "dp_tp.yaml": ["changed"], "strategies.yaml": ["unreadable-baseline"], "sweep.yaml": ["missing"]}
assert types == want, types
assert len(root.findall(".//error")) == 4
PY
    ok $? "what cannot be read: errors, and failures of each type"
    diag <"$tmp/wrong"
}

# --update says only what it does: no baseline of a strategy that does not fit, or that cannot be
# written.
test_update() {
    project p
    sed 's/^model/limits: {memory: 1MiB}\nmodel/' "$tmp/p/scenarios/dp_tp.yaml" >"$tmp/p/scenarios/large.yaml"
    check --plan scenarios/large.yaml
    says out 'does not fit: .*make it fit .* or remove the limit' "does not fit: the remedy"
    ! grep -q 'has no baseline\|--update' "$tmp/out"
    ok $? "does not fit: no word of a baseline"
    check --plan --update scenarios/large.yaml
    is 1 "does not fit, --update: status 1"
    ! grep -q 'has no baseline\|--update' "$tmp/out"
    ok $? "does not fit, --update: no word of a baseline"
    project p
    edit scenarios/strategies.yaml 's/^  - name: data$/  - name: data\n    limits: {memory: 1KiB}/; s/layers: 2/layers: 3/'
    check --plan --update scenarios/strategies.yaml
    is 1 "one strategy does not fit, --update: status 1"
    says out '^not ok 1 - strategies.yaml: data-and-tensor$' "one does not fit: no other is accepted"
    says out 'not accepted, because another strategy of this file is wrong' "one does not fit: why"
    cmp -s "$top_srcdir/results/baselines/scenarios/strategies.yaml" "$tmp/p/results/baselines/scenarios/strategies.yaml"
    ok $? "one does not fit: the baseline stays"
    project p
    check --plan --update --baselines /proc/none scenarios
    is 3 "baselines cannot be written: status 3"
    ! grep -q '^ok' "$tmp/out"
    ok $? "baselines cannot be written: nothing is said to be accepted"
    says out '^Bail out! .*/proc/none' "baselines cannot be written: why, in the report"
}

# The report marks a scenario that was planned only because this machine's memory is too small.
test_planned() {
    project p
    printf 'hardware: h100-sxm\n' >>"$tmp/p/scenarios/dp_tp.yaml"
    edit scenarios/dp_tp.yaml 's/^batch:.*/batch: {size: 67108864, seq: 4096}/'
    check -q --junit check.xml scenarios/dp_tp.yaml
    says out "^not ok 1 - dp_tp.yaml: default # planned: needs more than half of this machine's memory$" \
        "planned, not executed: in TAP, though quiet"
    grep -q '<property name="planned" value="needs more than half of this machine' "$tmp/p/check.xml"
    ok $? "planned, not executed: in JUnit"
    check -q --plan scenarios/dp_tp.yaml
    says out '^not ok 1 - dp_tp.yaml: default$' "--plan: not said of each"
}

# refused TITLE ARGUMENT...: refuse folders of scenarios and baselines that lie in one another, and
# change no file.
refused() {
    title=$1
    shift
    find "$tmp/p" -type f -exec cksum {} + | sort >"$tmp/before"
    check --plan --update --prune "$@"
    is 2 "$title: status 2"
    says err 'are nested folders; expected separate folders' "$title: said"
    find "$tmp/p" -type f -exec cksum {} + | sort >"$tmp/after"
    cmp -s "$tmp/before" "$tmp/after"
    ok $? "$title: nothing changed"
}

# --update --prune leaves files alone that the program did not write or that belong to another
# folder.
test_others() {
    project p
    mkdir "$tmp/p/layouts" "$tmp/p/b"
    cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/layouts/mine.yaml"
    echo 'a: stranger' >"$tmp/p/stranger.yaml"
    ln -s scenarios "$tmp/p/link"
    ln -s ../scenarios "$tmp/p/b/scenarios"
    refused "--baselines=. (they would be the scenarios)" --baselines=. layouts
    refused "the scenarios as baselines" --baselines=scenarios scenarios
    refused "by a link" --baselines=link scenarios/
    refused "by a link that is called as the scenarios" --baselines=b scenarios
    refused "by .." --baselines=none/../scenarios/below scenarios
    refused "by a path from the root" "--baselines=$tmp/p/scenarios//" ./scenarios
    refused "scenarios in baselines" --baselines=.. "$tmp/p/scenarios/../../p/b/.."
    rm -r "$tmp/p/b" "$tmp/p/link"
    check --plan --update --prune layouts
    is 0 "another folder: status 0"
    [ -s "$tmp/p/results/baselines/layouts/mine.yaml" ] &&
        [ "$(find "$tmp/p/results/baselines/scenarios" -name '*.yaml' | wc -l)" -eq 2 ]
    ok $? "another folder: the baselines of the first are there still"
    check --plan --update --baselines=some/b layouts
    [ -s "$tmp/p/some/b/layouts/mine.yaml" ]
    ok $? "--baselines: below that folder, by the name of the scenarios'"
    edit some/b/layouts/mine.yaml 's/^version: [12]/version: 7/'
    check --plan --baselines=some/b// layouts
    says out '^  file: "some/b/layouts/mine.yaml"$' "--baselines: a slash behind it is no part of it"
    rm -r "$tmp/p/some"
    check --plan scenarios/
    is 0 "another folder: none of the first one's business"

    file=results/baselines/scenarios/dp_tp.yaml
    edit $file "1s/What/Who/"
    edit scenarios/dp_tp.yaml 's/layers: 2/layers: 3/'
    echo 'a: stranger' >"$tmp/p/results/baselines/scenarios/stranger.yaml"
    mkdir "$tmp/p/results/baselines/scenarios/strategies"
    cp "$tmp/p/$file" "$tmp/before"
    check --plan --update --prune
    is 2 "a damaged first line: status 2"
    says out '^not ok 1 - dp_tp.yaml$' "a damaged first line: told"
    says out 'first line is not a baseline.s, so the file is not overwritten' "a damaged first line: why"
    cmp -s "$tmp/p/$file" "$tmp/before"
    ok $? "a damaged first line: left as it is"
    says out '^not ok 7 - stranger.yaml$' "a stranger: told"
    ! grep -q '^# to be removed' "$tmp/out"
    ok $? "a stranger: not listed"
    [ "$(cat "$tmp/p/results/baselines/scenarios/stranger.yaml")" = 'a: stranger' ]
    ok $? "a stranger: unchanged"
    [ "$(cat "$tmp/p/stranger.yaml")" = 'a: stranger' ]
    ok $? "a stranger above: never looked at"
    rm "$tmp/p/$file"
    ln -s ../../../scenarios/dp_tp.yaml "$tmp/p/$file"
    check --plan --update
    [ -L "$tmp/p/$file" ] && grep -q 'layers: 3' "$tmp/p/scenarios/dp_tp.yaml"
    ok $? "a baseline that is a link to its scenario: both left as they are"
}

# --junit: each kind of outcome, with names that XML must escape, is valid by the schema.
test_junit() {
    if ! command -v xmllint >/dev/null; then
        skip "--junit: by the schema" "no xmllint"
        return
    fi
    project p
    edit scenarios/dp_tp.yaml 's|\[mlp/up/kernel, \[null, tp\]\]|[mlp/up/kernel, []]|'
    edit scenarios/strategies.yaml "s/name: data$/name: 'a<b>\\&\"c\"'/"
    cp "$scenarios/sweep.yaml" "$tmp/p/scenarios"
    cp "$top_srcdir/results/baselines/scenarios/sweep.yaml" "$tmp/p/results/baselines/scenarios"
    echo 'mesh: 3' >"$tmp/p/scenarios/bad.yaml"
    check --plan --junit check.xml
    xmllint --noout --schema "$top_srcdir/tests/check/junit.xsd" "$tmp/p/check.xml" >"$tmp/wrong" 2>&1
    ok $? "--junit: by the schema"
    diag <"$tmp/wrong"
    [ "$(xmllint --xpath 'count(//failure)' "$tmp/p/check.xml")" -eq 3 ] &&
        [ "$(xmllint --xpath 'count(//error)' "$tmp/p/check.xml")" -eq 1 ] &&
        [ "$(xmllint --xpath 'count(//skipped)' "$tmp/p/check.xml")" -eq 6 ]
    ok $? "--junit: what failed and what a sweep leaves out"
    [ "$(xmllint --xpath 'string(//testcase[failure][starts-with(@name, "a")]/@name)' "$tmp/p/check.xml")" = 'a<b>&"c"' ]
    ok $? "--junit: a name with what XML has for itself"
}

test_hook() {
    if ! command -v git >/dev/null; then
        skip "the pre-commit hook" "no git"
        return
    fi
    project p
    (
        cd "$tmp/p" && git init -q . && cp "$top_srcdir/contrib/pre-commit" .git/hooks/pre-commit &&
            chmod +x .git/hooks/pre-commit && git config user.name tester &&
            git config user.email tester@example.org
    ) >"$tmp/out" 2>"$tmp/err"
    commit
    is 0 "pre-commit: a project as its baselines is committed"
    edit scenarios/dp_tp.yaml 's|\[mlp/up/kernel, \[null, tp\]\]|[mlp/up/kernel, []]|'
    commit
    is 1 "pre-commit: a regression is refused"
    says err "no longer sharded over tp" "pre-commit: with the reason"
    check --plan --update
    commit
    is 0 "pre-commit: with its baseline it is committed"
    # Names that git writes in quotes.
    for name in 'a"b' 'a\b' "$(printf 'a\tb')" "$(printf 'a\nb')"; do
        cp "$tmp/p/scenarios/dp_tp.yaml" "$tmp/p/scenarios/$name.yaml"
        (cd "$tmp/p" && git add "scenarios/$name.yaml" && git commit -q -m odd) >"$tmp/out" 2>"$tmp/err"
        status=$?
        is 1 "pre-commit: a name with quotes, backslashes, tabs or line ends is checked"
        (cd "$tmp/p" && git rm -q --cached "scenarios/$name.yaml")
        rm "$tmp/p/scenarios/$name.yaml"
    done
    echo text >"$tmp/p/other"
    commit
    is 0 "pre-commit: other changes are none of its business"
    mkdir "$tmp/p/launch"
    echo 'TP=2' >"$tmp/p/launch/env.sh"
    # shellcheck disable=SC2016
    printf '. launch/env.sh\nvllm serve Qwen/Qwen3-8B -tp $TP --max-model-len 4096 --max-num-seqs 32\n' \
        >"$tmp/p/launch/serve.sh"
    check --plan --update launch/serve.sh --with launch/env.sh
    commit
    is 0 "pre-commit: a launch script as its baseline is committed"
    echo 'TP=4' >"$tmp/p/launch/env.sh"
    commit
    is 1 "pre-commit: a file that a launch script reads has changed: refused"
    says err 'launch/env.sh:1: -tp is 4, was 2\|launch/env.sh:1: --tensor-parallel-size is 4, was 2' \
        "pre-commit: a file that a launch script reads has changed: its line"
    echo 'TP=2' >"$tmp/p/launch/env.sh"
    sed -i.old 's/Qwen3-8B/Qwen3-14B/' "$tmp/p/launch/serve.sh"
    rm "$tmp/p/launch/serve.sh.old"
    commit
    is 1 "pre-commit: a launch script has changed: refused"
    sed -i.old 's/Qwen3-14B/Qwen3-8B/' "$tmp/p/launch/serve.sh"
    rm "$tmp/p/launch/serve.sh.old"
    commit
    mv "$tmp/p/launch/serve.sh" "$tmp/p/launch/other.sh"
    commit
    is 1 "pre-commit: a launch script has another name, and its baseline has not: refused"
    mv "$tmp/p/launch/other.sh" "$tmp/p/launch/serve.sh"
    commit
    rm -r "$tmp/p/launch"
    commit
    is 1 "pre-commit: a launch script is gone, and its baseline is not: refused"
    rm -r "$tmp/p/results/baselines/launch"
    commit
    rm -r "$tmp/p/scenarios"
    commit
    is 1 "pre-commit: no scenario is left, but its baseline: refused"
    says err 'scenarios/ is empty, and results/baselines/ is not' "pre-commit: no scenario is left: said"
    rm -r "$tmp/p/results"
    commit
    is 0 "pre-commit: both are gone"
}

commit() {
    (
        cd "$tmp/p" && git add -A && SHARDSIM=$shardsim git commit -q -m change
    ) >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# The steps of contrib/github-actions.yml that can run here: Check and the comparison of branches.
test_workflow() {
    project p
    python3 - "$top_srcdir/contrib/github-actions.yml" "$tmp/steps" <<'PY' 2>"$tmp/wrong"
import sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
assert flow["name"] and True in flow or "on" in flow
steps = flow["jobs"]["check"]["steps"]
assert all("run" in s or "uses" in s for s in steps)
runs = {s["name"]: s["run"] for s in steps if "run" in s}
for name, file in (("Check", "check"), ("Compare", "compare"), ("Comment", "comment")):
    open(sys.argv[2] + "." + file, "w").write(runs[name])
after = steps[[s.get("name") for s in steps].index("Check") + 1:]
# A failed build causes no second failure, and neither does a comment that the token may not write.
assert all("steps.build.outcome == 'success'" in s["if"] or s["name"] == "Comment" for s in after)
comment, = (s for s in after if s.get("name") == "Comment")
assert comment["continue-on-error"] and "steps.branches.outcome == 'success'" in comment["if"]
assert "head.repo.full_name == github.repository" in comment["if"]
PY
    ok $? "the workflow: YAML of jobs and steps"
    diag <"$tmp/wrong"
    flow_step check
    is 0 "the workflow: the check passes"
    mkdir "$tmp/p/scenarios/hardware"
    echo 'layers: 1' | tee "$tmp/p/scenarios/broken.yaml" >"$tmp/p/scenarios/hardware/own.yaml"
    flow_step compare
    is 0 "the workflow: a scenario that is broken does not end the summary"
    grep -q '^|:--' "$tmp/summary" && [ -s "$tmp/p/check.xml" ]
    ok $? "the workflow: a summary and JUnit"
    grep -A 3 '^### scenarios/broken.yaml$' "$tmp/summary" | grep -q '^    *scenarios/broken.yaml.*error: '
    ok $? "the workflow: what is broken is said in its place"
    ! grep -q 'different models\|hardware/own' "$tmp/summary"
    ok $? "the workflow: a table for each scenario"
    test_comment
}

# flow_step NAME: run a step of the workflow as GitHub does.
flow_step() {
    (
        cd "$tmp/p" && PATH="$tmp/flow:$bin:$PATH" CI=true GITHUB_ACTIONS=true \
            GITHUB_STEP_SUMMARY="$tmp/summary" GITHUB_REPOSITORY=own/layouts NUMBER=7 sh -e "$tmp/steps.$1"
    ) >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# A fake `gh` writes down its arguments and answers with the comments of $tmp/comments.
test_comment() {
    mkdir "$tmp/flow"
    echo '#!/bin/sh' >"$tmp/flow/apt-get"
    cat >"$tmp/flow/gh" <<END
#!/bin/sh
echo "\$*" >>"$tmp/asked"
case "\$*" in *--jq*) cat "$tmp/comments" ;; esac
END
    chmod +x "$tmp/flow/gh" "$tmp/flow/apt-get"
    : >"$tmp/comments"
    : >"$tmp/asked"
    flow_step comment
    grep -q 'POST repos/own/layouts/issues/7/comments ' "$tmp/asked"
    ok $? "the workflow: a first comment"
    printf '41\n42\n' >"$tmp/comments"
    flow_step comment
    grep -q 'PATCH repos/own/layouts/issues/comments/41 ' "$tmp/asked" && [ "$(grep -c POST "$tmp/asked")" -eq 1 ]
    ok $? "the workflow: its own comment is changed, no matter which is the last"
}

# branches TEXT: compare base/ with head/; the point TEXT is ok if that works.
branches() {
    (cd "$tmp" && PATH="$bin:$PATH" python3 "$top_srcdir/contrib/compare_branches.py" base head) \
        >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "$1"
}

# compare_branches.py prints the comment of a pull request.
# shellcheck disable=SC2016 # names in Markdown
test_branches() {
    rm -rf "$tmp/base" "$tmp/head"
    project head
    mkdir "$tmp/base"
    ! (cd "$tmp" && PATH="$bin:$PATH" python3 "$top_srcdir/contrib/compare_branches.py" base heads) \
        >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/out" ]
    ok $? "a checkout that is not there: not compared"
    says err "no folder 'heads'" "a checkout that is not there: said"
    branches "a first pull request: the base branch has no scenarios"
    says out '^Nothing to compare' "a first pull request: nothing to compare"
    says out '^New: `scenarios/dp_tp.yaml`; `scenarios/strategies.yaml`, ' "a first pull request: all are new"
    project base
    branches "no change"
    says out '^Bytes, memory, flops and collectives are the same' "no change: said"
    cp "$tmp/head/scenarios/dp_tp.yaml" "$tmp/head/scenarios/same_name.yaml"
    sed -i 's|\[mlp/up/kernel, \[null, tp\]\]|[mlp/up/kernel, []]|' "$tmp/head/scenarios/dp_tp.yaml"
    sed -i 's/^mesh:.*/mesh: {none: 2}/' "$tmp/base/scenarios/strategies.yaml"
    branches "a change, beside a file of the same name inside, and one that could not be planned"
    says out '^1 layout got worse in a figure; the most is total received of `scenarios/dp_tp.yaml`: 11 MiB, was 8 MiB' \
        "a change: the verdict"
    says out '^| `scenarios/dp_tp.yaml` | total received | 8 MiB | 11 MiB | +37.5 % |$' "a change: the figures"
    says out '^New: `scenarios/same_name.yaml`\.$' "a change: what is new beside it"
    says out '^Can be planned now, and could not before: `scenarios/strategies.yaml`' "a mended one: said"
    mv "$tmp/head" "$tmp/swap" && mv "$tmp/base" "$tmp/head" && mv "$tmp/swap" "$tmp/base"
    branches "one that cannot be planned"
    says out '^- `scenarios/strategies.yaml`, [a-z-]*: `scenarios/strategies.yaml:[0-9:]* error: ' "an unplannable strategy: its error"
    says out '^1 layout got better\.$' "an unplannable strategy: others are compared"
    rm -rf "$tmp/base" "$tmp/head"
    mkdir -p "$tmp/base/scenarios" "$tmp/head/scenarios"
    echo 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4' \
        '--seq-length 64 --vocab-size 256 --micro-batch-size 1 --global-batch-size 16 --bf16 --lr 1e-4' \
        '--tensor-model-parallel-size 2' >"$tmp/base/scenarios/train.sh"
    sed 's/parallel-size 2/parallel-size 4/' "$tmp/base/scenarios/train.sh" >"$tmp/head/scenarios/train.sh"
    branches "a launch script"
    says out '^| `scenarios/train.sh` | total received | ' "a launch script: its figures"
    test_branches_memory
}

# over MEMORY: print a scenario of three strategies, two of which change sides at that limit
over() {
    cat <<END
version: 1
name: over
mesh: {dp: 8}
model: {kind: mlp, d_model: 64, d_ff: 128, layers: 2}
batch: {size: 16, seq: 16}
limits: {memory: $1}
axes: {batch: dp}
params: [['.*', []]]
strategies:
  - name: whole
  - {name: shards, params: [['kernel', [dp, []]]]}
END
}

# shellcheck disable=SC2016 # names in Markdown
test_branches_memory() {
    rm -rf "$tmp/base" "$tmp/head"
    mkdir -p "$tmp/base/scenarios/hardware" "$tmp/base/scenarios/models" "$tmp/head"
    over 400KiB >"$tmp/base/scenarios/over.yaml"
    echo 'layers: 1' | tee "$tmp/base/scenarios/hardware/a.yaml" "$tmp/base/scenarios/models/b.yml" \
        >"$tmp/base/scenarios/.hidden.yaml"
    cp -r "$tmp/base/scenarios" "$tmp/head"
    over 200KiB >"$tmp/head/scenarios/over.yaml"
    over 200KiB >"$tmp/head/scenarios/added.yaml"
    branches "memory"
    sed -n 3p "$tmp/out" >"$tmp/third"
    says third '^\*\*No longer fits\*\*: `scenarios/over.yaml`, whole (320 KiB a device)\.$' "memory: no longer fits, first"
    says out '^\*\*New, does not fit\*\*: `scenarios/added.yaml`, whole (320 KiB a device)\.$' "memory: new, does not fit"
    ! grep -q 'Cannot be planned\|hidden\|hardware\|models' "$tmp/out"
    ok $? "memory: only what check takes as a scenario"
    sed -i 's/  - name: whole/&\n  - {name: bad, params: [[".*", [nope]]]}/' "$tmp/head/scenarios/over.yaml"
    branches "one strategy that is wrong"
    says out '^- `scenarios/over.yaml`, bad: `scenarios/over.yaml:11:.*axis .nope. is not in the mesh' "a wrong strategy: its error"
    says out '^1 layout got worse in a figure; .* of `scenarios/over.yaml`, shards: ' "a wrong strategy: the others are compared"
    says out '^\*\*No longer fits\*\*: `scenarios/over.yaml`, whole' "a wrong strategy: the memory of the others"
}

test_shipped
test_older
test_regression
test_other_changes
test_step
test_given
test_files
test_versions
test_left_out
test_states
test_causes
test_renamed
test_unreadable
test_update
test_planned
test_others
test_junit
test_hook
test_workflow
test_branches
done_testing
