#!/bin/sh
# Tests check: whatever line of a launch script, of a file of torchtitan or of a scenario is
# changed, the annotation is at that line.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
unset CI GITHUB_ACTIONS

# check ARGUMENT...: run `shardsim check --plan` in the project.
check() {
    (cd "$tmp/p" && exec timeout "$LIMIT" "$shardsim" check --plan "$@") >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# changed FILE PROGRAM TEXT: after an edit by sed the annotation is at the first line that differs,
# or at the one before lines that are gone.
changed() {
    cp "$tmp/p/$1" "$tmp/kept"
    sed "$2" "$tmp/kept" >"$tmp/p/$1"
    line=$(diff "$tmp/kept" "$tmp/p/$1" | sed -n '1s/.*[acd]\([0-9]*\).*/\1/p')
    GITHUB_ACTIONS=true check -q "$1"
    says err "^::error file=$1,line=$line,title=" "$1: $3: at line $line"
    cp "$tmp/kept" "$tmp/p/$1"
}

# The script spells its options as people do: in variables, a list, a string, a sum, the command.
write_script() {
    cat >"$tmp/p/train.sh" <<'END'
#!/bin/bash
TP=4
PP=2
GPUS_PER_NODE=8
MICRO=1
ACCUMULATION=16
GLOBAL=$((MICRO * ACCUMULATION * 4))

MODEL_ARGS=(
    --num-layers 8
    --hidden-size 1024
    --num-attention-heads 16
    --seq-length 2048
    --max-position-embeddings 2048
    --padded-vocab-size 32768
)
TRAINING_ARGS="
    --micro-batch-size $MICRO
    --global-batch-size $GLOBAL
    --bf16
    --lr 1e-4
    --use-distributed-optimizer
"
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    $TRAINING_ARGS \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --sequence-parallel \
    --recompute-activations
END
}

# A padding that follows from the layout is the layout's: of tensor parallelism alone the verdict judges.
test_padding() {
    write_script
    sed -i 's/--padded-vocab-size 32768/--vocab-size 32000/; s/NNODES/{NNODES:-4}/' "$tmp/p/train.sh"
    check --update train.sh --hardware h100-sxm
    is 0 "a padded vocabulary: accepted"
    sed -i 's/^TP=4/TP=8/' "$tmp/p/train.sh"
    check train.sh
    says out '"worse: modelled step +' "a padded vocabulary: more tensor parallelism is judged"
    ! grep -q 'the model changed' "$tmp/out"
    ok $? "a padded vocabulary: the model is the same"
    sed -i 's/^TP=8/TP=4/; s/--vocab-size 32000/--vocab-size 31000/' "$tmp/p/train.sh"
    check train.sh
    says out 'the model changed: model.vocab is 31000, was 32000; neither worse nor better' "another vocabulary is another model"
}

test_script() {
    write_script
    check --update train.sh
    is 2 "a script that leaves something open: status 2"
    says out "line 24: .\$NNODES. is not set in this file; add --set NNODES=VALUE" \
        "a script that leaves something open: what, and where"
    check --update train.sh --set NNODES=4 --hardware h100-sxm
    is 0 "a script with what it leaves open, --update: status 0"
    check train.sh
    is 0 "a script: as accepted, with what the baseline keeps"
    check --update train.sh
    says err '0 baselines written, 1 unchanged' "a script: --update again keeps it, too"
    changed train.sh 's/^TP=4/TP=2/' "a variable"
    changed train.sh 's/^GPUS_PER_NODE=8/GPUS_PER_NODE=4/' "a variable of devices"
    changed train.sh 's/^ACCUMULATION=16/ACCUMULATION=8/' "a variable of a sum"
    changed train.sh 's/--num-layers 8/--num-layers 12/' "an option in a list"
    changed train.sh 's/^TP=4/TP=32/' "a variable of what does not divide"
    says err 'tensor-model-parallel-size 32 does not divide the 16 attention heads of --num-attention-heads; expected a divisor' \
        "a variable of what does not divide: said in the script's words"
    changed train.sh 's/--hidden-size 1024/--hidden-size 2048/' "the option behind it"
    changed train.sh 's/--bf16/--fp16/' "an option in a string"
    changed train.sh '/--use-distributed-optimizer/d' "an option taken out of a string"
    changed train.sh '/--sequence-parallel/d' "an option taken out of the command"
    changed train.sh 's/--recompute-activations/--recompute-granularity full --recompute-method uniform --recompute-num-layers 1/' \
        "an option replaced by three"
    changed train.sh 's/^    --lr 1e-4/&\n    --attention-dropout 0 --untie-embeddings-and-output-weights/' "a line put in"
    changed train.sh 's/pretrain_gpt.py .$/pretrain_gpt.py --num-layer 3 \\/' "an option that is misspelt"
    changed train.sh 's/pretrain_gpt.py .$/pretrain_gpt.py --my-own-option 3 \\/' "an option that nobody knows"
    check train.sh --set NNODES=8
    says out '"--set=NNODES is 8, was 4"' "a value that is given otherwise than the baseline keeps: said"
    check --update train.sh --set NNODES=8
    is 0 "a value in place of one that the baseline keeps, --update: status 0"
    check train.sh --hardware h200-sxm
    says out '"--hardware is h200-sxm, was h100-sxm"' "another value beside it: what was kept is still given"
    check --update train.sh --set NNODES=4
    is 0 "the value as before: status 0"
    mkdir "$tmp/p/launch"
    cp "$tmp/p/train.sh" "$tmp/p/launch/mine.sh"
    check launch
    is 2 "a folder of a script that leaves something open: status 2"
    check --update launch/mine.sh --set NNODES=4
    check launch
    is 0 "a folder of a script with a baseline: the script is checked, too"
    says out '^ok 1 - mine.sh: default$' "a folder of a script with a baseline: told"
    check -q "$tmp/p/launch/mine.sh"
    is 0 "an absolute path: the baseline by the path from a folder above"
    (cd "$tmp/p/launch" && exec timeout "$LIMIT" "$shardsim" check --plan -q mine.sh) >"$tmp/out" 2>"$tmp/err"
    status=$?
    is 0 "in the folder of a script: the baseline by the path from a folder above"
    rm "$tmp/p/launch/mine.sh"
    cp "$scenarios/fsdp.yaml" "$tmp/p/launch"
    check launch
    is 1 "a script that is gone: status 1"
    says out 'a baseline without a scenario' "a script that is gone: told"
    printf 'export TP=4\n' >"$tmp/p/env.sh"
    sed 's/^TP=4/source env.sh/' "$tmp/p/train.sh" >"$tmp/p/sourced.sh"
    check --update sourced.sh --set NNODES=4 --with env.sh
    is 0 "a script that reads another file: status 0"
    printf 'export TP=2\n' >"$tmp/p/env.sh"
    check sourced.sh
    says out '"env.sh:1: --tensor-model-parallel-size is 2, was 4"' "a variable of the other file: its line there"
    echo "echo hello" >"$tmp/p/other.sh"
    check other.sh
    is 2 "a script that launches no job: status 2"
    says err 'other.sh is not a scenario; expected .* a job that .shardsim import. reads' "a script that launches no job: said"
    cp "$top_srcdir/examples/step.hlo.txt" "$tmp/p"
    check step.hlo.txt
    is 2 "a compiled step: status 2"
    says err "step.hlo.txt:1:1: error: this is the text of a compiled XLA module; expected a scenario; 'shardsim replay FILE' reads it" \
        "a compiled step: what reads it is said"
    printf 'import jax\n' >"$tmp/p/trace.py"
    check trace.py
    says err "trace.py:1:1: error: this is a Python program; expected a scenario; python3 runs it" \
        "a program that traces a step: said"
    check layouts --devices 4
    is 2 "an option of a script without a script: status 2"
}

# tells LINE TEXT: a line of the report is that.
tells() {
    says out "^$1\$" "$2"
}

# A folder's scripts are found where their baselines are, and where they launch a program that is
# known.
test_found() {
    rm -rf "$tmp/p"
    mkdir -p "$tmp/p/launch/sub" "$tmp/p/src/scenarios"
    serve='vllm serve Qwen/Qwen3-8B -tp 2 --max-model-len 4096 --max-num-seqs 32'
    echo "$serve" >"$tmp/p/launch/mine.sh"
    printf '# Not vllm serve\necho "--num-layers 2"\n' >"$tmp/p/launch/speaks.sh"
    printf 'python3 train.py --num-layers 2\n' >"$tmp/p/launch/own.sh"
    printf '[model]\ncolour = "red"\n' >"$tmp/p/launch/other.toml"
    check launch
    is 1 "a folder of scripts without baselines: status 1"
    tells 'not ok 1 - mine.sh: default' "a folder: a script that launches a server"
    tells '1..1' "a folder: what only speaks of one, or is of another program, is no script"
    (cd "$tmp/p/launch" && exec timeout "$LIMIT" "$shardsim" check --plan -q --update mine.sh) >"$tmp/out" 2>&1
    check launch
    is 0 "a folder: its own folder of baselines"
    tells 'ok 1 - mine.sh: default' "a folder: a script that has its baseline there"
    rm -r "$tmp/p/launch/results"
    echo "$serve" >"$tmp/p/launch/sub/deep.sh"
    check --update launch/sub/deep.sh
    check launch/sub
    is 0 "a folder below: the baseline of a folder above"
    check
    is 0 "no folder: scripts that have a baseline"
    tells 'ok 1 - launch/sub/deep.sh: default' "no folder: a script, by its path"
    tells '1..1' "no folder: no other script"
    echo "$serve" >"$tmp/p/train.sh"
    check --update train.sh
    check
    tells 'ok 2 - train.sh: default' "no folder: a script at the root"
    cp "$scenarios/fsdp.yaml" "$tmp/p/src/scenarios/not_mine.yaml"
    mkdir "$tmp/p/scenarios"
    cp "$scenarios/fsdp.yaml" "$tmp/p/scenarios/"
    check --update
    check .
    is 1 "the root of a project: status 1 for a script without a baseline"
    tells 'ok 1 - fsdp.yaml: default' "the root of a project: scenarios"
    tells 'ok 2 - launch/sub/deep.sh: default' "the root of a project: a script"
    tells 'ok 3 - train.sh: default' "the root of a project: a script at the root"
    tells 'not ok 4 - launch/mine.sh: default' "the root of a project: a script without a baseline"
    tells '1..4' "the root of a project: no other file"
    check --update .
    [ -s "$tmp/p/results/baselines/launch/mine.sh.yaml" ]
    ok $? "the root of a project, --update: the baseline is where that of the script alone is"
    check --update launch/mine.sh
    says err '0 baselines written, 1 unchanged' "a script by another path: its baseline stays"
    rm "$tmp/p/train.sh"
    check
    is 1 "no folder: a script that is gone: status 1"
    says out 'a baseline without a scenario' "no folder: a script that is gone: told"
    check --update --prune
    [ ! -e "$tmp/p/results/baselines/train.sh.yaml" ]
    ok $? "no folder, --prune: the baseline of a script that is gone is removed"
}

test_toml() {
    cat >"$tmp/p/train.toml" <<'END'
[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 8192

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
END
    check --update train.toml --devices 64
    is 0 "a file of torchtitan, --update: status 0"
    changed train.toml 's/^tensor_parallel_degree = 2/tensor_parallel_degree = 4/' "a value"
    changed train.toml 's/^mode = .*/mode = "full"/' "a mode"
    changed train.toml 's/^seq_len.*/&\nglobal_batch_size = 128/' "a line put in"
}

# What a baseline does not know is accepted like any finding, and then not told again.
test_unplanned() {
    printf 'vllm serve Qwen/Qwen3-8B -tp 2 --max-model-len 4096 \\\n    --max-num-seqs 32\n' >"$tmp/p/serve.sh"
    check --update serve.sh --hardware h100-sxm
    is 0 "a server: a baseline"
    changed serve.sh 's/-tp 2/-tp 2 --enable-lora/' "an option that no scenario says"
    says err 'enable-lora cannot be planned' "an option that no scenario says: said"
    changed serve.sh 's/--max-num-seqs 32/--max-sequences 32/' "an option that is misspelt by far"
    sed -i.old 's/-tp 2/-tp 2 --enable-lora/' "$tmp/p/serve.sh"
    check --update serve.sh
    check serve.sh
    is 0 "an option that no scenario says, accepted"
    sed -i.old 's/^seq_len.*/seq_len =/' "$tmp/p/train.toml"
    check train.toml
    is 2 "a key without a value: status 2"
    says out 'has no value' "a key without a value: said"
}

test_scenario() {
    cat >"$tmp/p/layouts/train.yaml" <<'END'
version: 1
mesh:
  dp: 2
  tp: 4
model: {kind: transformer, d_model: 32, d_ff: 128, layers: 2, heads: 4, vocab: 64}
batch: {size: 8, seq: 16}
step: [forward, backward, update]
optimizer: {kind: adamw}
params:
  - [(q|k|v)/kernel, [null, tp]]
  - [attn/o/kernel, [tp]]
  - [mlp/up/kernel, [null, tp]]
  - [mlp/down/kernel, [tp]]
  - [.*, []]
axes: {batch: dp}
zero:
  stage: 1
  axis: dp
END
    file=layouts/train.yaml
    check --update layouts
    changed $file 's/  tp: 4/  tp: 2/' "an axis of the mesh"
    changed $file 's/mlp.up.kernel, .null, tp./mlp\/up\/kernel, [null]/' "an axis dropped from a rule"
    changed $file '/mlp.down/d' "a rule taken out"
    changed $file '/^  - \[\.\*/d; s/^params:/&\n  - [.*, []]/' "the last rule put first"
    changed $file 's/stage: 1/stage: 3/' "an option of a section"
    changed $file 's/^axes: .*/axes: {batch: [dp, tp]}/' "a logical axis"
    changed $file 's/^zero:/recompute: full\n&/' "an option that is new"
}

# Of a program that was traced rules say which line of the program they are of.
test_traced() {
    cat >"$tmp/p/layouts/step.yaml" <<'END'
version: 1
mesh: {dp: 2, tp: 4}
graph:
  dims: {b: 8, d: 32, f: 64}
  inputs: {x: [b, d]}
  params: {up: [d, f]}
  ops: ["step.product[b,f] = einsum(x, up)"]
params: [[up, [null, tp], "step.py:14"], [.*, []]]
constraints: [[^x$, [dp, null], "step.py:14"], [step.product, [dp, tp], "src/step: a.py:6"]]
step: [forward]
END
    check --update layouts
    sed -i 's/\[dp, tp\]/[dp, null]/' "$tmp/p/layouts/step.yaml"
    GITHUB_ACTIONS=true check -q layouts/step.yaml
    says err '^::error file=src/step%3A a.py,line=6,title=' "a traced program: at its own line"
    says out 'src/step: a.py:6: constraint' "and the reasons say so"
    sed -i 's/\[dp, null\], "src/[dp, tp], "src/; s/\[null, tp\]/[tp]/' "$tmp/p/layouts/step.yaml"
    GITHUB_ACTIONS=true check -q layouts/step.yaml
    says err '^::error file=step.py,line=14,title=' "the specs of its arguments: where it was traced"
}

mkdir -p "$tmp/p/layouts"
test_traced
test_script
test_padding
test_toml
test_unplanned
test_scenario
test_found
done_testing
