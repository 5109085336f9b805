#!/bin/sh
# Tests bad input and usage: the message says where, what, and what was expected; status 2; nothing
# on standard output; and no long wait.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
good=$scenarios/tensor_parallel.yaml
bad=$tmp/bad.yaml

# refused TEXT PATTERN [ARGUMENT...]: run and plan refuse with FILE:LINE:COLUMN and PATTERN.
refused() {
    what=$1
    pattern=$2
    shift 2
    [ $# -gt 0 ] || set -- "$bad"
    for command in run plan; do
        shardsim $command "$@"
        is 2 "$command: $what: status 2"
        silent out "$command: $what: nothing on standard output"
        says err "^[^ ]*:[0-9][0-9]*:[0-9][0-9]*: error: $pattern" "$command: $what: place and reason"
    done
}

# change SED-SCRIPT: make the good scenario bad
change() {
    sed "$1" "$good" >"$bad"
}

test_values() {
    change 's/^batch:/bach:/'
    refused "unknown key" "unknown key 'bach'.*did you mean 'batch'"
    change 's/d_model: 128/d_model: lots/'
    refused "wrong type" "model.d_model is 'lots'; expected a whole number"
    cat >"$bad" <<'EOF'
version: 1
mesh: {fsdp: 3}
model: {kind: mlp, d_model: 12, d_ff: 24}
batch: {size: 6, seq: 2}
step: [forward]
params: [[kernel, [fsdp, null]]]
axes: {batch: fsdp}
algorithms: {all-gather: recursive-doubling}
EOF
    refused "algorithm for other groups" \
        "all-gather/recursive-doubling does not support groups of 3 .*powers of two"
    change 's/d_ff: 512/d_ff: 1001/'
    refused "indivisible dimension" ".*1001 does not divide into 8 shards"
    change 's/\[null, tp\]\]  /[null, xx]]  /'
    refused "unknown axis" "axis 'xx' is not in the mesh (tp=8)"
    change 's/\[null, tp\]\]  /[tp, tp]]  /'
    refused "axis used twice" ".*'tp'.*twice"
    change 's/\[null, tp\]\]  /[null, null, tp]]  /'
    refused "spec longer than the array" ".*3"
    change 's#mlp/up/kernel#mlp/upp/kernel#'
    refused "rule that matches nothing" "rule 'mlp/upp/kernel' matches no parameter of this model; did you mean 'mlp/up/kernel'"
    refused "parameters without a rule: once" "no rule matches parameter 'layers/0/mlp/up/kernel' and 1 more;"
    change 's#mlp/hidden#mlp/hiden#'
    refused "constraint that matches nothing" "constraint 'mlp/hiden' matches no value of this model; did you mean 'mlp/hidden'"
    change 's#mlp/hidden#somewhere#'
    refused "constraint unlike all names" "constraint 'somewhere' matches no value .*; one of its names is 'layers/0/mlp/in'"
    change '/mlp.down.kernel/d'
    refused "parameter without a rule" "no rule matches parameter 'layers/0/mlp/down/kernel'"
    change 's#mlp/up/kernel#mlp/(up/kernel#'
    refused "pattern that is no regex" "params: 'mlp/(up/kernel' is not a valid pattern: missing )"
    # Each letter can match in four ways, so that matching never ends; it must not count as no
    # match.
    change "s#mlp/up/kernel#'^([a-z/]|[^A]|[a-z0-9/]|.)+/kerne[l]?[^l]\$'#"
    refused "pattern without end" "'.*' in 'layers/0/mlp/.*/kernel': the pattern went over its match limit"
    says err '^[^ ]*/bad.yaml:12:6: ' "pattern without end: the rule's line"
    change 's/^version: 1/version: 7/'
    refused "unknown version" ".*7"
    change 's/^mesh: .*/mesh: {tp: 0}/'
    refused "axis of no device" ".*0"
}

test_files() {
    refused "missing file" "cannot be opened: No such file" "$tmp/missing.yaml"
    : >"$bad"
    refused "empty file" "empty; expected"
    refused "directory" "this is a directory" "$tmp"
    head -c 100000000 /dev/zero | tr '\0' '#' >"$bad"
    refused "100 MB" "the file has 95.4 MiB; at most"
    head -c 100000000 "$bad" | timeout "$LIMIT" "$shardsim" plan - >"$tmp/out" 2>"$tmp/err"
    says err ':1:1: error: the file has more than' "100 MB on standard input: refused"
    silent out "100 MB on standard input: nothing on standard output"
    printf 'version: 1\nname: caf\351\n' >"$bad"
    refused "not UTF-8" "byte 0xe9 is not UTF-8"
    head -c 4096 /dev/zero >"$bad"
    refused "zero bytes" ""
    printf 'version: 1\nmesh:\n\ttp: 8\n' >"$bad"
    refused "tab" "a tab before the first word of a line; expected spaces"
    printf '\t- x: [\n' >"$bad"
    refused "not YAML" ""
}

test_bombs() {
    {
        echo 'a: &a [x, x, x, x, x, x, x, x, x]'
        last=a
        for next in b c d e f g h i j; do
            echo "$next: &$next [*$last, *$last, *$last, *$last, *$last, *$last, *$last, *$last]"
            last=$next
        done
    } >"$bad"
    refused "alias bomb" "anchors and aliases"
    { printf 'mesh: ' && head -c 100000 /dev/zero | tr '\0' '[' && echo; } >"$bad"
    refused "nested 100,000 deep, flow" "nested too deep"
    awk 'BEGIN { for (i = 0; i < 100000; i++) printf "- "; print "x" }' >"$bad"
    refused "nested 100,000 deep, block" "nested too deep"
    awk 'BEGIN { print "version: 1"; for (i = 0; i < 50000; i++) print "k" i ": 1" }' >"$bad"
    refused "50,000 unknown keys" "unknown key"
    says err '^error: and .* more$' "50,000 unknown keys: only the first are told"
}

test_options() {
    refused "--set of no option" "no option 'model.dff'.*did you mean 'model.d_ff'" \
        "$good" --set model.dff=3
    refused "--set without =" "'nonsense' has no '='" "$good" --set nonsense
    refused "--set of no YAML" "" "$good" --set 'mesh={tp: [}'
    refused "--set of a wrong type" "model.layers is 'two'" "$good" --set model.layers=two
    refused "--strategy not there" "there is no strategy 'dat'; .*'fsdp'.*did you mean 'data'" \
        "$scenarios/strategies.yaml" --strategy dat
    cat "$good" - >"$tmp/two.yaml" <<'EOF'
strategies:
  - {name: wrong, params: [[kernel, [nosuch]]]}
  - {name: right}
EOF
    refused "a strategy that is wrong" ".*nosuch" "$tmp/two.yaml"
    shardsim plan -S right "$tmp/two.yaml"
    is 0 "--strategy: the others' faults do not matter"
    shardsim explain -S right "$tmp/two.yaml"
    is 0 "explain --strategy: the others' faults do not matter"
    refused "one bad file of two" "cannot be opened" "$good" "$tmp/missing.yaml"
    change 's/^batch:/bach:/; s/d_model: 128/d_model: lots/'
    shardsim run "$bad"
    [ "$(grep -c ': error: ' "$tmp/err")" -ge 2 ]
    ok $? "all errors are told at once"
}

# usage TEXT PATTERN ARGUMENT...: the command line is refused.
usage() {
    what=$1
    pattern=$2
    shift 2
    shardsim "$@"
    is 2 "$what: status 2"
    silent out "$what: nothing on standard output"
    says err "$pattern" "$what: said"
}

test_usage() {
    usage "no command" '^Usage: shardsim'
    usage "unknown command" "unknown command 'rum'; did you mean 'run'" rum "$good"
    usage "no file" 'no scenario file' run
    usage "unknown option" "unrecognized option '--bogus'" run --bogus "$good"
    usage "a misspelt key" "'--hardwar'; set the scenario's key: --set hardware=VALUE" plan --hardwar x "$good"
    printf '#!/bin/sh\n[ a ] || {\n}\n' >"$tmp/script.sh"
    # Names of other tools for an option of the command, a range of a search, or a key of a
    # scenario.
    for word in gpus num-gpus nodes world-size; do
        usage "init --$word" "did you mean '--devices'?" init --$word 8
        usage "search --$word" "did you mean '--devices'?" search --$word 8 "$good"
        usage "plan --$word" 'set the scenario.s key: --set mesh=VALUE' plan --$word 8 "$good"
    done
    for word in gbs global-batch-size batch-size; do
        usage "init --$word" "did you mean '--batch'?" init --$word 8
        usage "plan --$word" 'set the scenario.s key: --set batch.size=VALUE' plan --$word 8 "$good"
    done
    usage "init --seq-len" "did you mean '--seq'?" init --seq-len 8
    for word in tp tensor-parallel-size; do
        usage "init --$word" 'set mesh.tp in the scenario' init --$word 8
        usage "search --$word" "did you mean '--range tp=VALUE'?" search --$word 8 "$good"
        usage "plan --$word" 'set the scenario.s key: --set mesh.tp=VALUE' plan --$word 8 "$good"
    done
    usage "search --pp" "did you mean '--range pp=VALUE'?" search --pp 8 "$good"
    usage "search --mbs" "did you mean '--range microbatch=VALUE'?" search --mbs 8 "$good"
    usage "plan --hidden-size" 'set the scenario.s key: --set model.d_model=VALUE' plan --hidden-size 8 "$good"
    usage "init --hidden-size" 'set model.d_model in the scenario' init --hidden-size 8
    usage "a file of another kind" "script.sh:1:1: error: not a scenario" plan "$tmp/script.sh"
    usage "option without its value" 'requires an argument' run "$good" --set
    usage "query with an argument" 'standard input' query file
}

# meant WORD ARGUMENT...: refused, with WORD as the suggestion
meant() {
    word=$1
    shift
    shardsim "$@"
    is 2 "$*: status 2"
    says err "; did you mean '$word'?" "$*: did you mean '$word'?"
}

# in_file WORD SED-SCRIPT [SCENARIO]: a bad scenario is refused with WORD as the suggestion
in_file() {
    sed "$2" "$scenarios/${3:-tensor_parallel}.yaml" >"$bad"
    shardsim plan "$bad"
    is 2 "$2: status 2"
    says err "; did you mean '$1'?" "$2: did you mean '$1'?"
}

# For sed a dollar sign means the last line.
# shellcheck disable=SC2016
test_meant() {
    meant run rnu "$good"
    meant --version --verison
    meant array show aray
    meant collective explain colective all-reduce
    meant all-reduce explain collective all-redcue
    meant ring explain collective all-reduce --algorithm rng
    meant all-gather bench --op all-reduce,all-gahter
    meant ring bench --algorithm rng
    for option in --json --set --strategy --threads; do
        meant "$option" run "${option}x=1" "$good"
    done
    meant --base compare --bsae=x "$good"
    meant --update check --udpate
    meant --samples bench --smaples 3
    meant --values explain --valeus "$good"
    meant --algorithm explain collective all-reduce --algoritm ring
    meant --spec show array --mesh tp=2 --shape 4 --sepc tp
    meant --rules show tree --ruels x y
    meant --help query --hlep
    meant tensor compare --base tensr "$scenarios/strategies.yaml"
    meant tensor explain --strategy tensr "$scenarios/strategies.yaml"
    meant tp show groups --mesh dp=2,tp=4 --axes tq
    meant dp show array --mesh dp=2,tp=4 --shape 8,16 --spec '[[tp, dq], null]'
    printf -- '- [kernel, [null, tq]]\n' >"$tmp/rules.yaml"
    echo '{"a/kernel": [4, 4]}' >"$tmp/tree.json"
    meant tp show tree "$tmp/tree.json" --rules "$tmp/rules.yaml" --mesh tp=2
    meant model.d_ff plan "$good" --set modle.d_ff=4
    meant tp plan "$good" --set mesh.tq=4
    # A beginning of an option counts as the option; the word after an option with a value is its
    # value.
    shardsim plan --quie "$good"
    is 0 "--quie is --quiet"
    shardsim plan "$good" -S --jsn
    says err "there is no strategy '--jsn'" "-S --jsn is no option"
    shardsim plan "$good" --strategy --jsn
    says err "there is no strategy '--jsn'" "--strategy --jsn is no option"

    in_file mesh 's/^mesh:/mehs:/'
    in_file d_ff 's/d_ff:/d_fff:/'
    in_file memory '$alimits: {memroy: 1}'
    in_file mlp 's/kind: mlp/kind: mpl/'
    in_file gelu 's/gelu/gleu/'
    in_file tp 's/\[null, tp\]\]/[null, tq]]/'
    in_file tp '$aaxes: {batch: tpp}'
    in_file batch '$aaxes: {bacth: tp}'
    in_file all-reduce '$aalgorithms: {all-redcue: ring}'
    in_file ring '$aalgorithms: {all-reduce: rng}'
    in_file strategies 's/^strategies/stratgeies/' strategies
    in_file rules 's/rules:/ruels:/' sweep
    in_file params 's/params:/parmas:/' sweep
    in_file theta 's/rope: {[^}]*}/rope: {thta: 3}/' llama_gqa_block
    in_file dims 's/dims:/dmis:/' own_graph
    in_file scale 's/x: \[b, s, d\]/x: {dims: [b, s, d], sclae: 2}/' own_graph
    in_file einsum 's/einsum(/einsmu(/' own_graph
    in_file token.up 's/, token.up/, tokn.up/' own_graph
}

# What is found when the step is built is told at the option or rule that it is about.
test_built() {
    cat >"$tmp/built.yaml" <<'YAML'
version: 1
mesh: {pp: 2, dp: 2}
model: {kind: mlp, d_model: 16, d_ff: 32, layers: 2}
batch: {size: 8, seq: 1, microbatches: 2}
pipeline: {axis: pp}
step: [forward, backward, update]
optimizer: {kind: sgd, lr: 0.1}
params: [[up/kernel, [null, pp]], [.*, []]]
YAML
    refused "a rule over the axis of stages" ".*'pp' holds the stages of the pipeline" "$tmp/built.yaml"
    says err 'built.yaml:8:22: error' "... at the rule"
    sed -e 's/d_model: 16, d_ff: 32/d_model: 1048576, d_ff: 1048576/; s/size: 8/size: 16777216/' \
        -e '/^pipeline/d; s/pp\]/dp]/; s/microbatches: 2/microbatches: 1/' "$tmp/built.yaml" >"$tmp/large.yaml"
    refused "an op that is too large" 'mesh: .*is too large for one device' "$tmp/large.yaml"
    says err 'large.yaml:2:7: error' "... at the mesh"
}

test_values
test_built
test_files
test_bombs
test_options
test_usage
test_meant
done_testing
