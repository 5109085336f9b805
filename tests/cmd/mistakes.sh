#!/bin/sh
# Tests the mistakes of a newcomer who has read the README: every message says what to do.  A row is
# a mistake and a phrase of its remedy: the meant name, the allowed values, or a helpful
# command.  docs/mistakes.md shows the most common ones with the program's messages
# (MISTAKES_UPDATE=1 writes the page anew).
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
page=$top_srcdir/docs/mistakes.md
case $page in /*) ;; *) page=$PWD/$page ;; esac
case $shardsim in /*) ;; *) shardsim=$PWD/$shardsim ;; esac

# The newcomer's folder: the shipped scenarios, and files made from them.
sit() {
    mkdir -p "$tmp/place" && cp -R "$scenarios" "$top_srcdir/examples" "$tmp/place" &&
        chmod -R u+w "$tmp/place" && cd "$tmp/place" || exit 1
    : >empty.yaml
    echo 'torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4' \
        '--seq-length 64 --max-position-embeddings 64 --global-batch-size 8' \
        '--tensor-model-parallel-sise 2' >job.sh
    "$shardsim" plan --json "$good" >result.json
    "$shardsim" plan -q --save=runs.db "$good" >plan.txt
}
good=scenarios/tensor_parallel.yaml

# Under a sanitizer, where programs start slowly, every fourth row is tried.
every=1
small_size && every=4
nrows=0
missed=0

# no REMEDY ARGUMENT...: status 2 or 3, nothing on standard output, and the remedy in a few lines
no() {
    remedy=$1
    shift
    nrows=$((nrows + 1))
    [ $((nrows % every)) -eq 0 ] || return 0
    shardsim "$@" </dev/null
    { [ "$status" -eq 2 ] || [ "$status" -eq 3 ]; } && [ ! -s "$tmp/out" ] &&
        grep -q -F -e "$remedy" "$tmp/err" && [ "$(wc -l <"$tmp/err")" -le 12 ] && return 0
    missed=$((missed + 1))
    echo "$*: status $status; expected: $remedy" | diag
    head -n 12 "$tmp/err" | diag
}

# edit SED-SCRIPT REMEDY: the same for the good scenario after an edit, with the place and the line
edit() {
    sed "$1" "$good" >mine.yaml
    no "$2" plan mine.yaml
    [ $((nrows % every)) -eq 0 ] || return 0
    grep -q '^mine.yaml:[0-9]*:[0-9]*: error: ' "$tmp/err" && grep -q '^ *| *^$' "$tmp/err" && return 0
    missed=$((missed + 1))
    echo "$1: no place, or no line" | diag
}

# all TEXT: none of the rows since the last point was missed.
all() {
    ok "$missed" "$1"
    missed=0
}

test_commands() {
    no "did you mean 'run'?" rnu "$good"
    no "did you mean 'run'?" simulate "$good"
    no "did you mean 'search'?" optimize "$good"
    no "before the file, expected one of init, run, plan," "$good"
    no "before options, expected one of init, run, plan," --verbose run "$good"
    no "expected one of init, run, plan," frobnicate
    no "no scenario file given" plan
    no "did you mean 'mesh'?" show mseh
    no "expected list, show or compare" runs delete 1
    no "did you mean 'all-reduce'?" explain collective allreduce
    no "did you mean 'all-reduce'?" bench --op psum
    no "did you mean '--verbose'?" run "$good" --verbsoe
    no "set the scenario's key: --set mesh=VALUE" run "$good" --devices 8
    no "set the scenario's key: --set model.layers=VALUE" plan "$good" --num-layers 4
    no "expected table, markdown, csv or json" compare --plan "$good" --format html
    no "is not a known format; expected .txt, .md, .csv, .json," compare --plan "$good" -o table.html
    no "did you mean 'peak_memory_bytes_most'?" compare --plan "$good" --sort memory
    no "expected auto, always or never" compare --plan "$good" --color=yes
    all "commands and options"
}

test_files() {
    no "did you mean 'scenarios/tensor_parallel.yaml'?" run scenarios/tensor_paralel.yaml
    no "did you mean 'scenarios/tensor_parallel.yaml'?" plan tensor_parallel
    no "expected a file, such as 'scenarios/answer.yaml'" plan scenarios
    no "empty; expected" plan empty.yaml
    no "this is a result that --json printed; expected a scenario" plan result.json
    no "this is a result that --json printed; expected a scenario" export --to jax result.json
    no "'shardsim runs --file=FILE' reads it; '--save=FILE' of a command adds a run to it" plan "$good" --save runs.db
    no "'shardsim replay FILE' reads it" plan examples/step.hlo.txt
    no "a scenario names it: 'hardware: FILE'" plan scenarios/hardware/h100-sxm.yaml
    no "'shardsim import --from megatron FILE' makes a scenario of it" plan job.sh
    no "'shardsim plan FILE' reads it" replay "$good"
    no "which begins with 'HloModule'" replay plan.txt
    no "'shardsim plan FILE' reads it" import --from megatron "$good"
    no "'shardsim import --from megatron FILE'" import --from torchtitan job.sh
    no "this is a scenario; expected the file of a cluster" plan "$good" -s hardware="./$good"
    no "this is a scenario; expected a list of measured steps" \
        calibrate h100-sxm --constants kernels.launch --steps "$good"
    no "expected a file written by --save=FILE" runs list --file="$good"
    no "run, plan and compare store them with --save" runs list --file=none.db
    no "this is a result that --json printed; expected a scenario" check result.json
    no "neither a scenario (.yaml, .yml) nor a launch script" check examples
    no "its folder does not exist; make it first" report "$good" -o none/report.html
    no "it is a folder; expected a file" trace "$good" -o scenarios
    no "expected a name that ends in .html: open that page in a browser and print it to PDF" report "$good" -o page.pdf
    no "expected a name that ends in .json, which Perfetto opens" trace "$good" -o step.html
    all "files of another kind, and none"
}

# A misspelled key is reported alone, without the keys that are missing only because of it.
test_consequences() {
    for key in mesh model batch size d_model; do
        sed "s/\b$key:/${key}z:/" "$good" >mine.yaml
        no "unknown key '${key}z'" plan mine.yaml
        [ $((nrows % every)) -eq 0 ] || continue
        [ "$(grep -c ': error: ' "$tmp/err")" -eq 1 ] && continue
        missed=$((missed + 1))
        diag <"$tmp/err"
    done
    printf '  \n\n' >blank.yaml
    no "empty; expected" plan blank.yaml
    [ $((nrows % every)) -ne 0 ] || [ "$(grep -c ': error: ' "$tmp/err")" -eq 1 ] || missed=$((missed + 1))
    all "one fault is one message"
}

test_set() {
    no "did you mean 'mesh.tp'?" plan "$good" --set tp=4
    no "did you mean 'mesh.tp'?" plan "$good" --set tensor_parallel=4
    no "did you mean 'mesh.tp'?" plan "$good" --set tensor_model_parallel_size=4
    no "did you mean 'model.d_model'?" plan "$good" --set model.dmodel=64
    no "did you mean 'model.d_model'?" plan "$good" --set hidden_size=64
    no "did you mean 'batch.size'?" plan "$good" --set global_batch_size=64
    no "did you mean 'batch.seq'?" plan "$good" --set seq_len=64
    no "did you mean 'limits.memory'?" plan "$good" --set memory=80GiB
    no "'shardsim show options' lists all" plan "$good" --set frobs=1
    no "for example batch.size=8" plan "$good" --set batch.size 8
    no "expected a map of its options: size, seq" plan "$good" --set batch=16
    no "expected a map of its options: stage, axis" plan "$good" --set zero=3
    no "expected a map of its options: axis, schedule" plan "$good" --set pipeline=1f1b
    no "such as {dp: 2, tp: 4}" plan "$good" --set mesh=tp=4
    no "added by the whole mesh, as in --set 'mesh={dp: 2, tp: 4}'" plan "$good" --set mesh.dp=2
    no "expected a whole number from 1 to" plan "$good" --set mesh.tp=0
    no "2 or 4 would do" plan "$good" --set mesh.tp=3
    no "did you mean 'bfloat16'?" plan "$good" --set model.dtype=bf16
    no "did you mean 'silu'?" plan "$good" --set model.activation=swish
    no "did you mean 'llama3'?" plan "$good" --set model.kind=llama
    no "did you mean 'adamw'?" plan "$good" --set optimizer.kind=adam
    no "did you mean 'forward'?" plan "$good" --set 'step=[fwd, bwd]'
    no "did you mean 'h100-sxm'?" plan "$good" --set hardware=h100
    no "did you mean 'h100-sxm'?" plan "$good" --set hardware=H100-SMX
    no "expected a number and B, KiB, MiB, GiB" plan "$good" --set limits.memory=80gb
    no "needs no --strategy" plan "$good" --strategy tp
    no "did you mean 'fsdp'?" plan scenarios/strategies.yaml --strategy fsdpp
    no "choose one with --strategy: " explain scenarios/strategies.yaml
    no "did you mean 'Interleaved1F1B'?" plan scenarios/train_pipeline.yaml -S 1f1b \
        -s pipeline.schedule=interleaved
    all "values that are set"
}

test_yaml() {
    edit 's/^mesh:.*/mesh:\n\ttp: 8/' "expected spaces"
    edit 's/^mesh:.*/mesh:\n   tp: 4\n  dp: 2/' "expected the keys of a map in one column"
    edit 's/^mesh: /mesh:/' "expected a space after the ':' of a key"
    edit 's/^mesh:.*/mesh: {tp: 8, tp: 4}/' "appears twice, first on line 7"
    edit 's/^mesh:.*/mesh: {tp: 8/' "is a '}' or ',' missing?"
    edit 's/^mesh:.*/mesh: [8]/' "expected a map of axis names to sizes, such as {dp: 2, tp: 4}"
    edit 's/^mesh:.*/mesh: {tp=8}/' "such as {dp: 2, tp: 4}"
    edit 's/^mesh:.*//' "no 'mesh'; expected a map of axis names to sizes"
    edit 's/^model:.*//' "no 'model.kind'; expected one of mlp, attention,"
    edit 's/^version:.*//' "expected 'version: 1' at the top"
    edit 's/d_model: 128/d_model: "128"/' "without quotes"
    edit 's/d_model: 128/hidden_size: 128/' "did you mean 'd_model'?"
    edit "s/\[null, tp\]\]  /P(None, 'tp')]  /" "quote text that contains brackets"
    edit 's/\[null, tp\]\]  /[None, tp]]  /' "did you mean 'null'?"
    edit 's/\[null, tp\]\]  /[null, model]]  /' "did you mean 'tp'?"
    edit 's/\[null, tp\]\]  /[null, TP]]  /' "did you mean 'tp'?"
    edit 's/\[null, tp\]\]  /[tp, tp]]  /' "is used twice in this spec; expected it once"
    edit 's/\[null, tp\]\]  /tp]  /' "expected a list such as [null, tp]"
    edit 's/\[null, tp\]\]  /null, tp]  /' "expected [pattern, spec], such as [mlp/up, [null, tp]]"
    edit 's/\[null, tp\]\]  /[null, tp, null]]  /' "the spec has 3 entries, the array 2 dimensions"
    edit 's#mlp/up/kernel#mlp/up/weight#' "did you mean 'mlp/up/kernel'?"
    edit 's#mlp/up/kernel#gate_proj#' "'shardsim show names' lists all"
    edit 's#mlp/up/kernel#*/kernel#' "the pattern for any text is '.*'"
    edit 's#mlp/hidden#mlp/hiden#' "did you mean 'mlp/hidden'?"
    edit '/mlp.down.kernel/d' "end the list with [.*, []] to replicate the rest"
    edit 's/d_ff: 512/d_ff: 500/' "5 or 10 would do"
    all "scenarios, with place and line"
}

test_others() {
    no "did you mean 'llama3-8b'?" init --model llama-3-8B
    no "expected a whole number from 1 to" init --devices 0
    no "expected a multiple, such as 64" init --devices 64 --batch 10
    no "The new file is --output FILE" init mine.yaml
    no "expected 'hardware: NAME' with a NAME from 'shardsim show hardware'" search "$good"
    no "without a cluster; expected hardware=NAME first" plan "$good" -s hardware.infiniband.rate=25GB/s
    no "each of 8 microbatches has 2 of 16 sequences" plan scenarios/train_zero.yaml -S zero-3 \
        -s batch.size=16 -s batch.microbatches=8
    no "did you mean 'llama3-8b'?" plan scenarios/llama3.yaml -s 'model={size: llama3-8B}'
    [ "$(grep -c ' error: ' "$tmp/err")" -eq 1 ]
    ok $? "a misspelled size is one message"
    no "expected tp, pp, cp, dp, ep," search scenarios/train_zero.yaml -S dp -s hardware=b200 --range tq=2
    no "'shardsim show names' lists them" search scenarios/fsdp.yaml -s hardware=b200 --tensors=nothing
    no "did you mean 'pytorch'?" export --to torch "$good"
    no "expected --to deepspeed, jax, megatron, pytorch, sglang, torchtitan or vllm" export "$good"
    no "expected transformer, gpt2, llama3, mixtral, deepseek or decoder" export --to megatron "$good"
    no "expected --from with one of easydel|eformer|megatron" import job.sh
    no "did you mean 'easydel'?" import --from easydell job.sh
    no "--mesh is for rules (easydel, eformer, t5x)" import --from megatron --mesh dp:2 job.sh
    no "did you mean '--tensor-model-parallel-size'?" import --from megatron --devices 4 job.sh
    no "has 6 devices, and examples/step.hlo.txt has 4" replay examples/step.hlo.txt --mesh dp=3,tp=2
    no "expected axes as 'dp=2,tp=4'" replay examples/step.hlo.txt --mesh 2,2
    no "expected a number from 'shardsim runs list'" runs show tensor-parallel
    no "the last run is 1" runs show 9 --file=runs.db
    no "expected e.g. -s hardware=h100-sxm" trace --plan "$good"
    no "as explain without --op numbers them" explain "$good" --op mlp/up
    no "or --set hardware=NAME" explain "$good" --roofline
    no "did you mean 'ring'?" explain collective all-reduce --algorithm rnig
    no "did you mean 'tiers.0.step'?" calibrate h100-sxm --constants tier.0.step --steps none
    no "expected --steps, --collectives or --kernels" calibrate h100-sxm
    no "did you mean 'model.d_model'?" show options hidden_size
    no "expected step: [forward, backward, update]" show curves "$good"
    no "did you mean '1F1B'?" show timetable 1f1bb --ranks 4 --microbatches 8
    no "did you mean 'llama3-8b'?" init --model llama3-8
    no "did you mean 'Qwen/Qwen3-8B'?" init --model Qwen/Qwen3-8b
    no "did you mean 'h100-80g-roce'?" init --model llama3-8b --hardware H100-80GB
    no "its folder does not exist; make it first" init --model llama3-8b -o nowhere/mine.yaml
    no "did you mean '10GB'?" plan "$good" -s limits.memory=10gb
    no "did you mean '10GiB'?" plan "$good" -s 'limits.memory=10 G'
    no "expected a model's file, or a scenario" show tree --mesh dp=2
    no "1 or 3 would do" show array --mesh dp=2,tp=4 --shape 9,16 --spec dp,tp
    no "did you mean 'tp'?" show array --mesh dp=2,tp=4 --shape 8,16 --spec dp,tensor
    all "the other commands"
}

# Numbers are accepted and mean something else than the user probably meant, which the report says.
test_told() {
    shardsim plan "$good" --set limits.memory=80
    is 1 "a limit without a unit: status 1"
    says out 'was 80GiB meant?$' "a limit without a unit: which was meant"
    shardsim plan -q --save=two.db "$good" scenarios/gpt2.yaml
    shardsim runs compare 1 2 --file=two.db
    says out 'compare equal ones' "runs of two models"
    shardsim compare --plan "$good" scenarios/gpt2.yaml
    says out 'compare only equal ones' "two models"
    shardsim help plan
    says out '^Usage: shardsim plan ' "help of a command, asked for in words"
    [ "$nrows" -ge 100 ]
    ok $? "mistakes: a hundred at least"
}

# ---- the page ----

# tell COMMAND: the output of a command of the page, without the progress lines of a slow machine
tell() {
    eval "set -- $1"
    shift
    "$shardsim" "$@" 2>&1 </dev/null | grep -v 'strategies done: '
}

# Print the page with current messages: a block of yaml is the file named in its first line, and a
# block of console has commands with their outputs.
print_page() {
    block=
    while IFS= read -r line; do
        case $block,$line in
        ,'```yaml' | ,'```console')
            block=${line#\`\`\`}
            file=
            echo "$line"
            ;;
        *,'```')
            block=
            echo "$line"
            ;;
        yaml,*)
            [ "$file" ] || { file=${line#'# '} && : >"$file"; }
            echo "$line" >>"$file"
            echo "$line"
            ;;
        console,'$ shardsim '*)
            echo "$line"
            tell "${line#'$ '}"
            ;;
        console,*) ;;
        *) echo "$line" ;;
        esac
    done <"$page"
}

test_page() {
    print_page >"$tmp/page"
    [ -z "${MISTAKES_UPDATE:-}" ] || cp "$tmp/page" "$page"
    diff "$page" "$tmp/page" >"$tmp/wrong"
    ok $? "docs/mistakes.md: the messages are the program's"
    diag <"$tmp/wrong"
    [ "$(grep -c '^\$ shardsim ' "$page")" -ge 10 ]
    ok $? "docs/mistakes.md: it has messages"
}

sit
test_commands
test_files
test_consequences
test_set
test_yaml
test_others
test_told
[ "$every" -gt 1 ] || test_page
done_testing
