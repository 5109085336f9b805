#!/bin/sh
# Tests init: the scenario that it writes can be planned and searched, and fits or says that it does
# not; the steps at the begin of the README work.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
root=$(cd "$top_srcdir" && pwd)
cd "$tmp" || exit 1

for model in gpt2-small llama3-1b t5-small; do
    shardsim init --model $model --devices 4 --seq 256 -o $model.yaml
    is 0 "$model: written"
    shardsim plan -q $model.yaml
    is 0 "$model: can be planned unchanged"
    says out "fsdp=4: 4 devices" "$model: on so many devices"
done
shardsim init
is 0 "all defaults: to standard output"
says out '^model: {size: llama3-8b' "all defaults: the model"
says out '^# Its constants were fitted to [0-9]* steps of [a-z0-9_]*, [0-9.]* % off' "all defaults: what its times are from"
says out '^# h100-80g-roce has the same devices' "all defaults: and which cluster has more measured steps"
says out '^batch: {size: 512, seq: 4096, microbatches: 4}' "all defaults: eight sequences a device"
says out '^recompute: none ' "all defaults: no recomputation, as memory suffices"
says out '^zero: {stage: 2, axis: fsdp}' "all defaults: ZeRO 2, as the parameters fit"

# Layouts that a system can express: that of the cluster's software, or the one that is asked for.
says out '^#   shardsim export --to megatron ' "the cluster's software: what it can express"
for system in megatron torchtitan jax; do
    shardsim init --model qwen3-0.6b --devices 8 --for $system -o "for_$system.yaml"
    is 0 "--for $system: written"
    shardsim export --to $system "for_$system.yaml"
    is 0 "--for $system: is exported"
    grep -q "^software: $(echo $system | sed s/torchtitan/fsdp2/)\$" "for_$system.yaml"
    ok $? "--for $system: its software runs the job"
done
grep -q '^zero: {stage: 3' for_torchtitan.yaml && grep -q '^zero: {stage: [12]' for_megatron.yaml
ok $? "--for torchtitan: no ZeRO 1 or 2, which Megatron-LM has"
shardsim init --model mixtral-8x7b --devices 8 --for torchtitan -o no.yaml
is 2 "--for torchtitan: a model that it lacks"
says err 'torchtitan can express no layout of this model: torchtitan has no model like this mixtral' "is named"
shardsim init --model mixtral-8x7b --devices 8 --hardware h800-sxm -o lacks.yaml
is 0 "a model that the cluster's software lacks is written"

# Equal layers are described once, and layouts compared by few of them.  Where the system does not let
# a program have its memory, under sanitizers, no limit says what it takes.
layers_of_t5() {
    cat <<JSON
{"model_type": "t5", "d_model": 64, "d_ff": 128, "d_kv": 16, "num_heads": 4, "num_layers": $1, "vocab_size": 512, "feed_forward_proj": "relu"}
JSON
}
within() { # KILOBYTES ARGUMENT...: shardsim with a limit of memory
    (
        # shellcheck disable=SC3045  # as dash and bash have it
        ulimit -v "$1"
        shift
        shardsim "$@"
        exit "$status"
    )
    status=$?
}
if [ "${SHD_SANITIZER:-no}" = no ]; then
    layers_of_t5 150 >deep.json
    within 1100000 init --model deep.json --devices 8 --seq 64 --force -o deep.yaml
    is 0 "150 layers of an encoder and a decoder: in 1.1 GB"
    within 200000 init --model deep.json --devices 8 --seq 64 --force -o less.yaml
    is 3 "a limit of memory: ends with 3"
    says err "no memory left" "a limit of memory: is told"
    [ ! -e less.yaml ]
    ok $? "a limit of memory: nothing is written"
fi

# A model by its config.json, which the scenario names as its own folder has it.
mkdir -p models elsewhere
cat >models/config.json <<'JSON'
{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
 "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": true}
JSON
shardsim init --model models/config.json --devices 8 -o config.yaml
is 0 "a config.json: written"
grep -q '^model: {from: models/config.json, dtype: bfloat16}$' config.yaml
ok $? "a config.json: by its path"
shardsim init --model models/config.json --devices 8 -o elsewhere/config.yaml
is 0 "a config.json: written to another folder"
for file in config.yaml elsewhere/config.yaml; do
    shardsim plan -q $file
    is 0 "a config.json: $file is planned"
    says out "fsdp=8: 8 devices" "a config.json: $file is on so many devices"
done
printf '{"model_type": "mamba"}\n' >models/mamba.json
shardsim init --model models/mamba.json -o no.yaml
is 2 "a config.json that is not modelled"
says err 'mamba.json:1:16: error: model_type is .mamba., which is not modelled' "a config.json that is not modelled: why"
[ ! -e no.yaml ]
ok $? "a config.json that is not modelled: nothing is written"
shardsim init --model models/none.json
is 2 "no config.json at a path"
says err 'models/none.json.*No such file' "no config.json at a path: told"

shardsim init --model mixtral-8x7b --devices 128 --batch 512 --seq 4096 -o mixtral.yaml
is 0 "experts: written"
silent err "experts: nothing to complain of"
shardsim plan -q mixtral.yaml
is 0 "experts: planned"
says out 'memory .* fits$' "experts over an axis of their own: it fits"

# within MODEL DEVICES SECONDS: the written scenario fits, and its step takes at most SECONDS, a
# fifth more than the best step that a search finds.
within() {
    shardsim init --model "$1" --devices "$2" -o within.yaml --force
    is 0 "$1 on $2: written"
    silent err "$1 on $2: nothing to complain of"
    shardsim plan -q within.yaml
    says out 'memory .* fits$' "$1 on $2: fits"
    awk -v most="$3" '/^modelled/ {s = $2 * ($3 == "ms" ? 0.001 : 1)} END {exit !(s > 0 && s <= most)}' out
    ok $? "$1 on $2: a step of at most $3 s"
}
shardsim init --model mixtral-8x7b --devices 1024 --batch 8192 -o within.yaml --force
grep -q '^pipeline: ' within.yaml
ok $? "a batch of more sequences than a scenario has microbatches is searched, too: with stages"
within gpt2-small 8 0.0301
within llama3-8b 8 3.28
within llama3-8b 64 3.27
within mixtral-8x7b 128 8.12
shardsim init --model mixtral-8x7b --devices 128 -o within2.yaml
sed s/within2/within/ within2.yaml | cmp -s - within.yaml
ok $? "the same question has the same answer"
shardsim init --devices 37 -o odd.yaml
is 0 "37 devices, which divide nothing: written"
shardsim plan -q odd.yaml
says out 'memory .* fits$' "37 devices, which divide nothing: fits"
shardsim init --model llama3-70b --devices 32 -o free.yaml
shardsim plan -q free.yaml
awk '/^  memory/ { exit !($2 <= 0.9 * $5 + 0.1) }' "$tmp/out"
ok $? "with a tenth of the memory free, of the GiB that it has"
grep -q '^# The layout leaves 10 % of a device' free.yaml
ok $? "which the file says"
shardsim init --model llama3-70b --devices 16 -o tp.yaml
shardsim plan -q tp.yaml
says out 'memory .* fits$' "too large for replicas alone: fits"
grep -q '^# No layout that was tried leaves 10 % of a device' tp.yaml
ok $? "too large for replicas alone: without the margin, as the file says"
grep -q '^mesh: .*tp: ' tp.yaml
ok $? "too large for replicas alone: tensor parallelism"
shardsim init --model llama3-70b --devices 4 -o tight.yaml
is 0 "too few devices: written all the same"
says err "^shardsim: llama3-70b on 4 devices does not fit: it needs .* of the 79.6 GiB .*'shardsim search tight.yaml'" "too few devices: said"
head -n 1 tight.yaml >first
says first '^# IT DOES NOT FIT: it needs .* of the 79.6 GiB' "too few devices: said at the head"
shardsim plan -q tight.yaml
says out 'does not fit$' "too few devices: as the plan says"

shardsim search -q gpt2-small.yaml --top 2 --threads 1 -o best.yaml
is 0 "search goes on from it"
says out '^best          .*data-parallel replica' "search: the best in words"
says out '^  why         .* the second, ' "search: why"
shardsim compare -q --plan gpt2-small.yaml best.yaml
is 0 "and compare"
tr -s ' \n' ' ' <out | grep -q "verdict: .* \(within the model.s error of each other\|have equal figures\)"
ok $? "compare: the search finds nothing that is clearly better"

shardsim plan -q gpt2-small.yaml -s recompute=none
is 0 "without recomputation"

shardsim init
cp out large.yaml
shardsim run -q large.yaml
is 3 "a step that is far too large to be executed here is refused"
says err "use 'shardsim plan', which executes nothing" "too large to be executed: what to do"
shardsim init --model lama3-8b
is 2 "an unknown model: status 2"
says err "did you mean 'llama3-8b'" "an unknown model: a suggestion"
shardsim init --devices 64 --batch 100
is 2 "a batch that does not divide"
says err "such as 128" "a batch that does not divide: a suggestion"
shardsim init --model llama3-8b --devices 1024 --batch 64
is 0 "a batch of fewer sequences than devices have tensor parallelism for: status 0"
says out '^mesh: {pp: 2, fsdp: 64, tp: 8}' "a small batch: with stages, too"
says out '^pipeline: {axis: pp, schedule: 1F1B}' "a small batch: the pipeline"
says out 'into 2 stages over pp: without pp the batch does not divide' "a small batch: why"
shardsim init gpt2-small --devices 8
is 0 "a model as a word: status 0"
says out '^model: {size: gpt2-small' "a model as a word: taken"
shardsim init --model meta-llama/Meta-Llama-3.1-405B-Instruct
says err "did you mean 'meta-llama/Llama-3.1-405B-Instruct'" "a name of the hub of another version: that of its size is meant"
shardsim init --hardware h1000
is 2 "an unknown cluster: status 2"
shardsim init --devices 0
is 2 "no devices"
shardsim init --devices 4 --seq 2k --batch 1k
says out 'batch: {size: 1024, seq: 2048' "sizes such as 2k and 1k"
shardsim init --seq 4x
is 2 "a size that is none"
shardsim init extra
is 2 "an argument"
shardsim init -o nowhere/file.yaml
is 3 "a missing folder: status 3"
shardsim init --model gpt2-small --devices 4
says out 'seq: 1024,' "a model with learned positions: as many tokens"
shardsim init --model gpt2-small --devices 4 --seq 2048
is 2 "more tokens than it has positions for"
says err 'gpt2-small has learned positions for 1024 tokens; expected' "more tokens: said"
echo mine >mine.yaml
shardsim init -o mine.yaml
is 2 "an existing file: status 2"
says err "'mine.yaml' exists; expected .* --force" "an existing file: the message names --force"
grep -q '^mine$' mine.yaml
ok $? "an existing file: unchanged"
shardsim init --force -o mine.yaml && grep -q '^version: 1$' mine.yaml
ok $? "--force replaces it"

# leaves ARGUMENT...: the same of every command that writes what people go on editing.
leaves() {
    echo mine >kept.yaml
    shardsim "$@"
    [ "$status" -eq 2 ] && [ "$(cat kept.yaml)" = mine ] &&
        grep -q "'kept.yaml' exists; expected the name of a new file, or --force" "$tmp/err"
    ok $? "$1: an existing file is left as it is"
}

# replaces ARGUMENT...: and with --force it is replaced.
replaces() {
    leaves "$@"
    shardsim "$@" --force
    [ "$status" -le 1 ] && ! grep -q '^mine$' kept.yaml
    ok $? "$1 --force: it is replaced"
}

replaces import --from t5x "$root/examples/t5x.gin" --devices 16 -o kept.yaml
replaces export --to jax "$root/scenarios/tensor_parallel.yaml" -o kept.yaml
replaces search -q "$root/scenarios/tensor_parallel.yaml" -s hardware=b200 --tensors --memory 2MiB -o kept.yaml
leaves search -q "$root/scenarios/train_zero.yaml" -S dp -s hardware=b200 -o kept.yaml
leaves calibrate h100-sxm --steps steps.jsonl -o kept.yaml
leaves bench --hardware --output kept.yaml

# Questions are answered as a person does at a terminal.
if ! command -v python3 >/dev/null; then
    skip "questions" "no python3"
    done_testing
    exit 0
fi
cat >"$tmp/person.py" <<'PY'
"""person.py PRINTED? SHARDSIM [ARGUMENT...]: answer the lines of stdin, one whenever it asks.  Prints
what came to the terminal; exits as the program does.  Output goes to the terminal if PRINTED?."""
import fcntl, os, pty, select, subprocess, sys, termios, time

answers = sys.stdin.read().split("\n")[:-1]
ours, theirs = pty.openpty()
program = subprocess.Popen(
    sys.argv[2:], stdin=theirs, stderr=theirs,
    stdout=theirs if sys.argv[1] == "yes" else open("printed", "wb"), start_new_session=True,
    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
os.close(theirs)
seen, answered, deadline = b"", 0, time.monotonic() + 120
while time.monotonic() < deadline:
    if select.select([ours], [], [], 1)[0]:
        try:
            more = os.read(ours, 65536)
        except OSError: # the program has ended
            break
        if not more:
            break
        seen += more
    if answered < len(answers) and seen.endswith(b"]: ") and seen.count(b"]: ") > answered:
        line = answers[answered]
        answered += 1
        keys = {"^C": b"\x03", "^D": b"\x04"}.get(line, line.encode() + b"\n")
        os.write(ours, keys)
else:
    program.kill()
status = program.wait()
sys.stdout.write(seen.decode().replace("\r\n", "\n"))
if answered < len(answers):
    sys.exit("only %d answers were asked for" % answered)
sys.exit(status if status >= 0 else 128 - status)
PY

# person ANSWERS PRINTED? ARGUMENT...: run init with these answers (in printf form, one a line);
# sets status, and $tmp/out has the terminal's contents.
person() {
    rm -f printed
    # shellcheck disable=SC2059
    printf "$1" >answers
    printed=$2
    shift 2
    timeout "$LIMIT" python3 "$tmp/person.py" "$printed" "$shardsim" init "$@" \
        <answers >"$tmp/out" 2>"$tmp/err"
    status=$?
}

# same TEXT: the files `printed` and `meant` are equal and not empty.
same() {
    [ -s meant ] && cmp -s printed meant
    ok $? "$1"
}

test_defaults() {
    "$shardsim" init >meant
    person '\n\n\n\n\n' no
    is 0 "Enter five times: status 0"
    same "Enter five times: what it writes without questions"
    says out '^Batch (sequences per step, on all devices) \[512\]: ' "the fallback of the batch is 8 a device"
}

test_answers() {
    "$shardsim" init --model gpt2-small --devices 8 --hardware b200 --batch 1k --seq 512 >meant
    person 'gpt2-smal\n gpt2-small \n0\nx\n8\nh1000\nb200\n4x\n512\n1k\n' no
    is 0 "answers: status 0"
    same "answers: what it writes with these as options"
    says out "did you mean 'gpt2-small'" "a bad model: what was meant, and it is asked again"
    says out "'x' is not a whole number from 1 to" "a bad number is told"
    says out "no hardware 'h1000'" "a bad cluster is told"
    # A vocabulary of 50,257 words is not sharded over tp: stages leave fewer replicas.
    shardsim init --model gpt2-small --devices 8 --batch 12
    says out '^mesh: {pp: 2, fsdp: 4}' "a batch that does not divide over the devices: stages"
    shardsim init --model gpt2-small --devices 7 --batch 12 -o none.yaml
    is 2 "a bad batch: status 2"
    says err 'a batch of 12 sequences is not divisible over 7 devices; expected a multiple, such as 14' \
        "a bad batch: one that divides"
    [ ! -e none.yaml ]
    ok $? "a bad batch: nothing is written"
    shardsim init --model llama3-405b --devices 16384 --batch 2048 --seq 8192 -o few.yaml
    grep -q '^mesh: {pp: [0-9]*, fsdp: [0-9]*, .*tp: 8}' few.yaml && shardsim plan -q few.yaml && [ "$status" -eq 0 ]
    ok $? "a batch of fewer sequences than devices: replicas are fewer, with stages"
    shardsim init llama3.1-8b --devices 8 --seq 32k
    says out '^batch: {size: 8, seq: 32768' "long sequences: fewer of them by default"
    person '?\n\n\n?\n\n\n\n' no
    is 0 "'?' lists the choices: status 0"
    says out '^  llama3-70b$' "'?' lists the choices: models"
    says out '^  h100-sxm, a device with 79.6 GiB' "what there is: clusters, with the memory of a device"
}

test_files() {
    "$shardsim" init --force -o meant
    sed -i 's/meant/asked/' meant
    person '\n\n\n\n\n' no -o asked
    is 0 "--output: status 0"
    cmp -s asked meant
    ok $? "--output: the file"
    : >there
    person '\n\n\n\n\nthere\nnowhere/x\nnew.yaml\n' yes
    is 0 "a terminal is asked for a file: status 0"
    says out "'there' exists" "a file that is there is not replaced"
    says out "nowhere/x" "a folder that is not there is told"
    [ ! -s there ] && grep -q '^model: {size: llama3-8b' new.yaml
    ok $? "a terminal is asked for a file: it is written"
    says out "next: 'shardsim plan .*shardsim search" "a terminal is asked for a file: what to do with it"
    person '\n\n\n\n\n\n' yes
    says out '^model: {size: llama3-8b' "no file: printed"
}

test_ends() {
    person '\n8\n^D\n' no -o none.yaml
    is 2 "the end of input: status 2"
    says out 'stopped; nothing was written' "the end of input: said"
    [ ! -e none.yaml ]
    ok $? "the end of input: nothing is written"
    person '\n^C\n' no -o none.yaml
    is 130 "Ctrl-C: status 130"
    [ ! -e none.yaml ]
    ok $? "Ctrl-C: nothing is written"
    person '' no --devices 4
    is 0 "with an option nothing is asked"
    "$shardsim" init </dev/null >printed 2>err
    [ -s printed ] && [ ! -s err ]
    ok $? "without a terminal nothing is asked"
}

test_defaults
test_answers
test_files
test_ends
# Products of 8 bits, as recipes are published.
shardsim init --model llama3-1b --devices 1 --hardware b200 --products tensorwise -o eight.yaml
is 0 "products of 8 bits: written"
says eight.yaml '^products: {recipe: tensorwise}' "products of 8 bits: said so"
shardsim plan -q --json eight.yaml
step_of_8=$(sed -n 's/.*"step_seconds": *\([0-9.]*\).*/\1/p' "$tmp/out" | head -1)
shardsim init --model llama3-1b --devices 1 --hardware b200 -o sixteen.yaml
shardsim plan -q --json sixteen.yaml
step_of_16=$(sed -n 's/.*"step_seconds": *\([0-9.]*\).*/\1/p' "$tmp/out" | head -1)
awk "BEGIN {exit !($step_of_8 < 0.8 * $step_of_16)}"
ok $? "products of 8 bits: a shorter step"
shardsim init --model llama3-1b --devices 1 --products fp8
is 2 "a recipe that is none"
says err "^shardsim init: 'fp8' is not a recipe of low-precision matmuls; expected none, tensorwise, rowwise, blockwise, mxfp8, nvfp4$" "names the recipes"
shardsim init --model llama3-1b --devices 1 --products mxfp8 --products bogus
is 2 "a recipe that is none, behind one"
shardsim init --model llama3-1b --devices 1 --hardware tpu-v7 --products tensorwise
is 0 "products that the cluster's system cannot express: layouts of any"
shardsim init --model llama3-1b --devices 1 --hardware tpu-v7 --products tensorwise --for jax
is 2 "products that the system cannot express"
says err 'jax can express no layout of this model: ' "says so"
shardsim init --model llama3-1b --devices 1 --hardware a100-sxm --products mxfp8
is 2 "a cluster without 8 bits"
says err "error: cluster 'a100-sxm' has no rate of float8_e4m3fn" "says what is missing"
shardsim init --serve --model llama3.1-70b --devices 8 --products mxfp8
is 2 "a recipe of training for a server"
says err '^shardsim init: --products is of a training step; ' "says why"

# A server: the layout of most tokens a second that fits, which servers have.
# Long sequences are sharded, with their experts over the same devices; by fewer sequences than nodes, more.
shardsim init --model qwen3-30b-a3b --devices 64 --seq 128k -o long.yaml
is 0 "init: long sequences"
grep -q '^mesh: .*cp: 8' long.yaml && grep -q '^axes: {batch: fsdp, seq: cp}' long.yaml &&
    grep -q 'moe/down/kernel, \[.*cp.*, null' long.yaml && grep -q '^batch: {size: 16, seq: 131072' long.yaml
ok $? "init: their tokens and experts are sharded over cp, and a step has fewer"
shardsim plan -q --json long.yaml
holds "init: they fit, and no work is done twice" <<'PY'
assert r["time"]["modelled"]["fits"] and r["work"]["efficiency"] > 0.99, r["work"]
PY
shardsim init --model t5-small --devices 8 --seq 32k -o long.yaml --force
is 0 "init: long sequences of a model without context parallelism"

shardsim init --model llama3.1-70b --devices 8 --for vllm
is 2 "training for a server"
says err '^shardsim init: --for vllm requires --serve: vllm is for serving steps$' "says what is missing"
shardsim init --serve --model llama3.1-70b --devices 8 --for megatron
is 2 "serving for a system that trains"
says err '^shardsim init: --for megatron cannot be combined with --serve: megatron is for training' "says why"
shardsim init --serve --model llama3.1-70b --devices 8 --seq 8k --for sglang
says out '^#   shardsim search --serve FILE.yaml' "a server: how its layouts are searched"
says out '^#   shardsim export --to sglang FILE.yaml' "a server: for the system that was asked for"
shardsim init --serve --model llama3.1-70b --devices 8 --seq 8k -o server.yaml
is 0 "a server: written"
grep -q '^mesh: {tp: 8}$' server.yaml && grep -q '^step: \[decode\]$' server.yaml
ok $? "a server: tensor parallelism within a node"
shardsim plan -q server.yaml
is 0 "a server: can be planned"
says out 'memory .* fits$' "a server: its caches fit"
shardsim export --to vllm server.yaml
is 0 "a server: can be exported"
says out 'max-num-seqs' "a server: its sequences"
shardsim init --serve --model qwen3-30b-a3b --devices 8 --batch 64 --seq 1k
is 0 "a server of experts: written"
says out '^batch: {size: 64, seq: 1024}' "a server of experts: with the batch that was asked for"
says out "Experts are sharded over all devices" "a server of experts: over all devices"
# A config.json's weights keep their types, and its modules for further tokens are left out.
cat >fp8.json <<'JSON'
{"model_type": "deepseek_v3", "hidden_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 16,
 "intermediate_size": 2048, "vocab_size": 32000, "q_lora_rank": 256, "kv_lora_rank": 128, "qk_nope_head_dim": 64,
 "qk_rope_head_dim": 32, "v_head_dim": 64, "n_routed_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 512,
 "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
 "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}}
JSON
shardsim init --serve fp8.json --devices 8 --seq 1k -o fp8.yaml
is 0 "a server of a config.json: written"
grep -q '^products: {recipe: blockwise}$' fp8.yaml && grep -q '^# Multi-token prediction modules (MTP) are omitted' fp8.yaml
ok $? "a server of a config.json: types of weights, and what is left out"
shardsim plan -q fp8.yaml
is 0 "a server of a config.json: planned"
says out 'sequences  *[0-9]* of 1025 tokens fit' "a server of a config.json: other batches, too"
shardsim init fp8.json --devices 8 --seq 1k -o mtp.yaml
is 0 "the same model in training: written"
shardsim plan -q mtp.yaml -s recompute=none
says out 'further token' "the same model in training: with its modules"
# types WHAT PRODUCTS CONFIG: weights of a quantization_config
types() {
    sed "s|\"quantization_config.*|\"quantization_config\": $3}|" fp8.json >types.json
    shardsim init --serve types.json --devices 8 --seq 64 --batch 8
    says out "^products: {$2}" "a server's weights: $1"
}
group='"config_groups": {"group_0": {"weights":'
types "FP8 of arrays" 'recipe: tensorwise, amax: static' '{"quant_method": "fp8", "activation_scheme": "static"}'
types "FP8 of channels" 'recipe: rowwise, amax: local, except: \[router\$, ^head\$\]' \
    "{\"quant_method\": \"compressed-tensors\", $group {\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\"}, \"input_activations\": {\"num_bits\": 8, \"type\": \"float\", \"dynamic\": true}}}, \"ignore\": [\"lm_head\"]}"
types "groups of 4 bits" 'weights: int4, block: 32' \
    "{\"quant_method\": \"compressed-tensors\", $group {\"num_bits\": 4, \"type\": \"int\", \"group_size\": 32}}}}"
types "groups of 4 bits that are multiplied" 'weights: mxfp4, block: 16, except: \[router\$, ^head\$\]' \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"nvfp4-pack-quantized\", $group {\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16}, \"input_activations\": {\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16, \"dynamic\": \"local\"}}}, \"ignore\": [\"lm_head\"]}"
shardsim init --serve types.json --devices 8 --seq 64 --batch 8 --hardware b200
says out '^products: {recipe: nvfp4, amax: static, except: \[router\$, ^head\$\]}' "a server's weights: and by a cluster that does"
types "GPTQ" 'weights: int4, block: 64' '{"quant_method": "gptq", "bits": 4, "group_size": 64}'
types "attention left as it is" 'weights: mxfp4, except: \[attn, router.*' \
    '{"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}'
shardsim init --serve gpt2-small --devices 1
is 0 "a server of a model with learned positions: written"
says out 'seq: 1023}' "a server of a model with learned positions: the new token has one, too"
shardsim init --serve --model llama3.1-405b --devices 8 --seq 1k
is 0 "a server that does not fit: written"
says out '^# IT DOES NOT FIT' "a server that does not fit: told"
says out "^# 'shardsim search --serve' looks for" "a server that does not fit: what to do"

# What init writes is planned, of every known model, in training and served, on one of four clusters.
shardsim show options model.size
models=$(sed -n '/one of custom/,/; not for models/p' "$tmp/out" | sed 's/.*one of custom,//; s/;.*//' | tr -d ',\n' | tr -s ' ')
[ "$(echo "$models" | wc -w)" -gt 100 ]
ok $? "the known models are listed"
cluster=h100-sxm
next_cluster() {
    case $cluster in
        h100-sxm) cluster=h200-sxm ;;
        h200-sxm) cluster=b200 ;;
        b200) cluster=tpu-v6e ;;
        *) cluster=h100-sxm ;;
    esac
}
for model in $models; do
    for use in '' --serve; do
        sampled 24 || continue
        case $model$use in t5*--serve) continue ;; esac # an encoder is not served
        next_cluster
        shardsim init $use --model "$model" --devices 16 --hardware $cluster --force -o known.yaml
        is 0 "$model $use on $cluster: written"
        fits=0
        ! grep -q 'DOES NOT FIT' known.yaml || fits=1
        shardsim plan -q known.yaml
        is $fits "$model $use: planned, and fits as init says"
        silent err "$model $use: planned without a word"
    done
done
done_testing
