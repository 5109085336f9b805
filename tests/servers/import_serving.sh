#!/bin/sh
# Tests import and export of servers' options: a command of vLLM or SGLang as a scenario, and back,
# says the same; whatever a scenario does not say is on the first line or an error at its place.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source-path=SCRIPTDIR
. "${0%/*}/../support/tap.sh"
. "${0%/*}/../support/program.sh"
cd "$tmp" || exit 1

# body FILE: what a scenario says, without comments
body() {
    grep -v '^#' "$1"
}

# there_and_back SYSTEM COMMAND...: imported, exported and imported again it is the same, and is read
# by the commands that plan.
there_and_back() {
    system=$1
    shift
    printf '%s\n' "$*" >command.sh
    "$shardsim" import --from "$system" command.sh --allow-unknown --force -o there.yaml &&
        "$shardsim" export --to "$system" there.yaml --force -o back.sh &&
        "$shardsim" import --from "$system" back.sh --allow-unknown --force -o back.yaml &&
        body there.yaml >there && body back.yaml | sed "s/^name: .*/name: $system/" >back &&
        cmp there back
    ok $? "there and back: $*"
}

load='--max-model-len 4096 --max-num-seqs 32'
there_and_back vllm vllm serve Qwen/Qwen3-8B "$load"
there_and_back vllm vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 8 -dp 2 "$load"
there_and_back vllm vllm serve meta-llama/Llama-3.3-70B-Instruct -tp=16 -dcp 2 "$load"
there_and_back vllm vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 32 -dcp 2 "$load"
there_and_back vllm vllm serve deepseek-ai/DeepSeek-V3 --tensor_parallel_size 2 -dp 4 -ep "$load"
there_and_back vllm vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 4 "$load"
there_and_back vllm vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -ep -dcp 8 "$load" --block-size 64
there_and_back vllm vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -dp 4 -ep "$load" --enable-eplb \
    "--eplb-config '{\"window_size\": 1000, \"num_redundant_experts\": 32, \"log_balancedness\": true}'"
there_and_back vllm vllm serve Qwen/Qwen3-8B -tp 2 --quantization fp8 "$load"
there_and_back vllm vllm serve openai/gpt-oss-120b --tensor-parallel 4 --enable-expert-parallel "$load"
there_and_back vllm vllm serve Qwen/Qwen3-30B-A3B -tp 8 "$load" "--kv-transfer-config '{\"kv_role\": \"kv_producer\"}'"
# A step has a token of each sequence, and vLLM's tokens of a step must be as many.
for sequences in 2048: 3000:8192 20000:20000; do
    there_and_back vllm vllm serve Qwen/Qwen3-0.6B --max-model-len 128 --max-num-seqs "${sequences%:*}"
    [ "$(sed -n 's/.*--max-num-batched-tokens \([0-9]*\).*/\1/p' back.sh)" = "${sequences#*:}" ]
    ok $? "${sequences%:*} sequences: tokens of a step"
done
load='--context-length 4096 --max-running-requests 64'
serve='python3 -m sglang.launch_server --model-path'
there_and_back sglang "$serve" Qwen/Qwen3-8B "$load"
there_and_back sglang "$serve" meta-llama/Llama-3.3-70B-Instruct --tp 8 --dp 2 "$load"
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 8 --dp 4 --enable-dp-attention --enable-dp-lm-head "$load"
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 16 --dp 8 --enable-dp-attention --enable-dp-lm-head --ep 8 "$load"
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 16 --attn-dp-size 16 --moe-a2a-backend deepep \
    --moe-dense-tp-size 1 --enable-dp-lm-head "$load" --page-size 64
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 16 --attn-dp-size 4 --moe-a2a-backend deepep \
    --enable-shared-experts-attn-tp --enable-dense-mlp-attn-tp "$load"
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 16 --attn-dp-size 16 --moe-a2a-backend deepep \
    --enable-eplb --ep-num-redundant-experts 32 --enable-dp-lm-head "$load"
there_and_back sglang "$serve" deepseek-ai/DeepSeek-V3 --tp 16 --dcp-size 8 "$load"
there_and_back sglang "$serve" Qwen/Qwen3-235B-A22B --tp 8 --ep 4 "$load"
there_and_back sglang "$serve" Qwen/Qwen3-235B-A22B --tp 8 --ep 8 --disaggregation-mode prefill \
    --context-length 4096 --chunked-prefill-size 65536
there_and_back sglang "$serve" Qwen/Qwen3-235B-A22B --tp 8 --ep 2 --attn-dp-size 2 "$load"

# sees WHAT PATTERN SYSTEM COMMAND [OPTION...]: the scenario of a command has a line
sees() {
    what=$1 pattern=$2 system=$3
    printf '%s\n' "$4" >command.sh
    shift 4
    shardsim import --from "$system" command.sh "$@"
    says out "$pattern" "$what"
}
sees "experts are dealt out over data and tensor parallelism" 'moe/down/kernel, \[\[dp, tp\], null\]' \
    vllm 'vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 4 --enable-expert-parallel'
sees "without, their widths are sharded over both" 'moe/down/kernel, \[null, \[dp, tp\]\]' \
    vllm 'vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 4'
sees "replicas of a dense model are copies" 'mesh: {replica: 4, tp: 2}' \
    vllm 'vllm serve Qwen/Qwen3-8B -tp 2 -dp 4'
v3='vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -ep'
sees "redundant experts of a part of an option" '^moe: {redundant: 32}' \
    vllm "$v3 --enable-eplb --eplb-config.num_redundant_experts 32 --eplb-config.window_size 100"
sees "and of older releases" '^moe: {redundant: 8}' vllm "$v3 --enable-eplb --num-redundant-experts 8"
sees "a balancer alone is told" '^# Planned differently, --enable-eplb: experts are placed' vllm "$v3 --enable-eplb"
is 1 "a balancer alone is told: status"
sees "copies without a balancer are told" '^# The plan copies the experts with the most tokens' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8 --ep 8 --ep-num-redundant-experts 8"
sees "fewer key heads than devices: on several" 'mesh: {tp: 8, rep: 2}' \
    vllm 'vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 16'
sees "tp counts all devices where attention is done apart" 'mesh: {dp: 4, tp: 2}' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8 --dp 4 --enable-dp-attention"
sees "else data parallelism multiplies" 'mesh: {replica: 4, tp: 8}' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8 --dp 4"
sees "an image of containers" 'mesh: {tp: 2}' \
    vllm 'docker run --gpus all -p 8000:8000 vllm/vllm-openai:latest --model Qwen/Qwen3-8B --tensor-parallel-size 2'
# The variable is the launch file's.
# shellcheck disable=SC2016
sees "a module, with variables of the script" 'mesh: {tp: 4}' \
    vllm 'TP=4; python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --tensor-parallel-size $TP'
# The model is the one word that belongs to no option, wherever it stands.
for words in '--trust-remote-code Qwen/Qwen3-8B' 'Qwen/Qwen3-8B --trust-remote-code' \
    '--port 8000 --no-enable-prefix-caching Qwen/Qwen3-8B --enforce-eager' '--served-model-name a b --trust-rem Qwen/Qwen3-8B' \
    '--enable-chunked-prefill False Qwen/Qwen3-8B' '--enable-lora Qwen/Qwen3-8B' '-asc -ep --disable-log-requests Qwen/Qwen3-8B' \
    '--max-num-seqs=4 --disable-access-log-for-endpoints /health Qwen/Qwen3-8B' '--quite-new Qwen/Qwen3-8B'; do
    sees "the model among options: vllm serve $words" '^model: {size: qwen3-8b' vllm "vllm serve $words"
    sees "the same of an image: $words" '^model: {size: qwen3-8b' vllm \
        "A=1 docker run --gpus all -v /a:/b -p 1:2 vllm/vllm-openai:latest \\
  $words 2>&1 | tee log"
done
sees "the model among options: sglang serve" '^model: {size: qwen3-8b' \
    sglang 'sglang serve --trust-remote-code Qwen/Qwen3-8B --cuda-graph-bs 1 2 --skip-server-warmup'
sees "a list of values is no model" 'mesh: {tp: 2}' \
    sglang "$serve Qwen/Qwen3-8B --cuda-graph-bs 1 2 4 --tp 2 --enable-metrics"
sees "a command in a module, behind variables" 'mesh: {tp: 2}' \
    vllm 'VLLM_USE_V1=1 CUDA_VISIBLE_DEVICES=0,1 python3 -m vllm.entrypoints.cli.main serve --enforce-eager Qwen/Qwen3-8B -tp 2 &'
# Models of vLLM's and SGLang's own recipes, by name.
while read -r name size; do
    sees "$name" "^model: {size: $size, dtype" vllm "vllm serve $name --tensor-parallel-size 8 --enable-expert-parallel"
done <<'MODELS'
Qwen/Qwen3-Coder-480B-A35B-Instruct qwen3-coder-480b-a35b
Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8 qwen3-coder-480b-a35b
Qwen/Qwen3-Coder-30B-A3B-Instruct qwen3-coder-30b-a3b
MiniMaxAI/MiniMax-M2.5 minimax-m2
baidu/ERNIE-4.5-300B-A47B-PT ernie4.5-300b-a47b
tencent/Hunyuan-A13B-Instruct hunyuan-a13b
zai-org/GLM-4.7-FP8 glm4.5
MODELS
sees "the longest sequences of a later version" ' 202752 tokens per sequence' vllm 'vllm serve zai-org/GLM-4.6 -tp 8'
# typed WHAT PRODUCTS SYSTEM COMMAND: weights are planned in the types that they are published in, or
# are asked for
typed() {
    sees "$1" "^products: {$2}" "$3" "$4"
    is 0 "$1: status"
}
local='recipe: rowwise, amax: local'
typed "weights of 4 bits" 'weights: int4' vllm 'vllm serve Qwen/Qwen3-32B-AWQ'
typed "those of an option" 'weights: nf4' sglang "$serve Qwen/Qwen3-8B --quantization bitsandbytes"
typed "experts that were published so" 'weights: mxfp4, except: \[attn.*' vllm 'vllm serve openai/gpt-oss-120b -tp 4'
typed "a model published in blocks of FP8" 'recipe: blockwise' vllm 'vllm serve deepseek-ai/DeepSeek-R1 -tp 8'
typed "another version of it" 'recipe: blockwise' sglang "$serve deepseek-ai/DeepSeek-V3.1-Terminus --tp 8"
typed "an option that names what it is" 'recipe: blockwise' vllm 'vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -q fp8'
typed "a name that says FP8, of an owner of blocks" 'recipe: blockwise' vllm 'vllm serve Qwen/Qwen3-8B-FP8'
typed "and of one of arrays" 'recipe: tensorwise, amax: static' vllm 'vllm serve nvidia/Llama-3.3-70B-Instruct-FP8 -tp 2'
typed "and of scales of each token" "$local" vllm 'vllm serve RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic -tp 2'
typed "an option that rounds" "$local" vllm 'vllm serve Qwen/Qwen3-8B --quantization fp8'
typed "the same of SGLang" "$local" sglang "$serve Qwen/Qwen3-8B --quantization w8a8_fp8"
typed "a name with other types than the size" 'weights: int4, block: 32, except: \[attn, shared.*' \
    vllm 'vllm serve moonshotai/Kimi-K2-Thinking -tp 8'
sees "a copy in 16 bits of a model published in FP8" '^model: {size: deepseek-v3, dtype: bfloat16}' \
    vllm 'vllm serve unsloth/DeepSeek-R1-BF16 -tp 16'
! grep -q '^products' "$tmp/out"
ok $? "a copy in 16 bits: its weights are"
sees "products of 4 bits" '^products: {recipe: nvfp4, amax: static, except: \[^head$, router$\]}' \
    vllm 'vllm serve nvidia/DeepSeek-R1-0528-NVFP4 -tp 8'
is 0 "products of 4 bits: status"
says out '# Weights and activations are in 4 bits (products)' "products of 4 bits: in words"
sees "weights of 4 bits alone" '^products: {weights: mxfp4, block: 16, except: \[^head$, router$\]}' \
    vllm 'vllm serve RedHatAI/Llama-3.1-8B-Instruct-NVFP4A16'
sees "types that are not known are told" '^# Planned differently, weights' vllm 'vllm serve Qwen/Qwen3-8B -q gguf'
# What a server takes at most is a limit of the scenario: as the command says, or as the server has it.
sees "the part of the memory by default" '^limits: {memory: 90%, sequences: 256}' vllm 'vllm serve Qwen/Qwen3-8B'
says out '^# Not given, default of vLLM:.* 40960 tokens per sequence, the model.s maximum, .*, 0.9 of the memory' \
    "the part of the memory and the longest sequence: told"
says out 'batch: {size: 256, seq: 40959}' "the longest sequence is the model's"
sees "the longest of a later version" 'seq: 262143}' vllm 'vllm serve Qwen/Qwen3-30B-A3B-Instruct-2507-FP8'
sees "the part of the memory, sequences" '^limits: {memory: 85%, sequences: 7}' \
    vllm 'vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.85 --max-num-seqs 7'
sees "tokens by blocks" '^limits: {memory: 90%, sequences: 256, tokens: 64000}' \
    vllm 'vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 2000 --block-size 32 --max-model-len 8000'
says out 'batch: {size: 8, seq: 7999}' "tokens by blocks: as many sequences as they are for"
sees "a limit in bytes of caches is told" '^# Planned differently, --kv-cache-memory-bytes' \
    vllm 'vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 8G'
sees "the part of SGLang, tokens" '^limits: {memory: 75%, tokens: 100000}' \
    sglang "$serve Qwen/Qwen3-8B --mem-fraction-static 0.75 --max-total-tokens 100000 --context-length 8000"
says out 'batch: {size: 12, seq: 7999}' "the part of SGLang, tokens: sequences"
sees "the part that SGLang takes on eight devices" '^limits: {memory: 81%}' sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8"
says out '^# The server fills its KV cache with sequences: 256 per data-parallel rank' "SGLang has no number of sequences: told"
# Plans and searches keep to it.
printf 'vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 8 --max-model-len 8193 --max-num-seqs 16\n' >command.sh
"$shardsim" import --from vllm command.sh --force -o limits.yaml
shardsim plan -q limits.yaml -s hardware=h100-sxm -s limits.sequences=0
first=$(awk '$1 == "sequences" {print $2}' "$tmp/out")
shardsim plan -q limits.yaml -s hardware=h100-sxm -s limits.sequences=0 -s limits.memory=100%
[ "$first" -gt 0 ] && [ "$(awk '$1 == "sequences" {print $2}' "$tmp/out")" -gt "$first" ]
ok $? "fewer sequences fit in a part of the memory"
shardsim plan -q limits.yaml -s hardware=h100-sxm
says out '^  sequences   16 of 8193 tokens' "no more than the server takes"
shardsim plan -q limits.yaml -s hardware=h100-sxm -s limits.tokens=100000
is 2 "more than there are tokens for: status"
says err 'error: 16 sequences of 8193 tokens exceed limits.tokens 100000; expected at most 12' "more than there are tokens for"
shardsim plan -q limits.yaml -s hardware=h100-sxm -s limits.tokens=100000 -s batch.size=4
says out '^  sequences   12 of 8193 tokens' "no more than there are tokens for"
shardsim search limits.yaml --serve -q -s hardware=h100-sxm
says out ' with 16 sequences: ' "a search keeps to the server's number"
! grep -Eq '^[ *]+tp=8 +(17|18|20|24|32)' "$tmp/out"
ok $? "a search keeps to the server's number: no more"

# One command a node is one server.
one() {
    printf '%s\n' "$4" "$5" >command.sh
    shardsim import --from "$2" command.sh --allow-unknown
    is 0 "$1: one server"
    says out "$3" "$1: its layout"
}
node='vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8'
one "nodes by their rank" vllm 'mesh: {tp: 16}' \
    'vllm serve deepseek-ai/DeepSeek-V3 -tp 16 --nnodes 2 --node-rank 0 --master-addr 10.0.0.1' \
    'vllm serve deepseek-ai/DeepSeek-V3 -tp 16 --nnodes 2 --node-rank 1 --master-addr 10.0.0.1 --headless'
one "replicas by their first rank" vllm 'mesh: {dp: 2, tp: 8}' "$node -dp 2 -ep --data-parallel-size-local 1 --data-parallel-address 10.0.0.1" \
    "$node --headless -dp 2 --data-parallel-start-rank=1 -ep --data-parallel-size-local 1 --data-parallel-address 10.0.0.1"
one "nodes of SGLang" sglang 'mesh: {tp: 16}' "$serve deepseek-ai/DeepSeek-V3 --tp 16 --nnodes 2 --dist-init-addr 10.0.0.1:5000 --node-rank 0" \
    "docker run --gpus all lmsysorg/sglang $serve deepseek-ai/DeepSeek-V3 --tp 16 --nnodes 2 --dist_init_addr 10.0.0.1:5000 --node_rank 1 --host 0.0.0.0"
sees "speculation is told" '^# Planned differently, --speculative-config.method' \
    vllm "vllm serve Qwen/Qwen3-8B --speculative-config.method eagle"
is 1 "speculation is told: status"
other='^# Planned differently, --kv-cache-dtype'
for type in float16 bfloat16; do
    sees "a cache of $type beside a model in float32 is told" "$other" \
        vllm "vllm serve Qwen/Qwen3-8B --dtype float32 --kv-cache-dtype $type"
done
sees "a cache of bfloat16 beside a model in float16 is told" "$other" \
    vllm 'vllm serve Qwen/Qwen3-8B --dtype half --kv-cache-dtype bfloat16'
# plans_cache SYSTEM COMMAND: the type of its cache is planned, and no more is told of it
plans_cache() {
    printf '%s\n' "$2" >command.sh
    shardsim import --from "$1" command.sh
    is 0 "a cache of the model's type is planned: $2"
    ! grep -q "$other" out
    ok $? "and not told: $2"
}
plans_cache vllm 'vllm serve Qwen/Qwen3-8B --dtype bfloat16 --kv-cache-dtype bfloat16'
plans_cache vllm 'vllm serve Qwen/Qwen3-8B --dtype half --kv-cache-dtype float16'
plans_cache sglang "$serve Qwen/Qwen3-8B --kv-cache-dtype bf16"
sees "a cache of 4 bits has the blocks of that system" '^decode: {cache: mxfp4, block: 16}' \
    sglang "$serve Qwen/Qwen3-8B --kv-cache-dtype fp4_e2m1"
sees "a length with a unit" 'seq: 2699}' vllm 'vllm serve Qwen/Qwen3-8B --max-model-len 2.7k'
sees "a length that binary fractions do not have" 'seq: 32299}' vllm 'vllm serve Qwen/Qwen3-8B --max-model-len 32.3k'
sees "an unknown option is told first" '^# Ignored, because unknown.*--quite-new' \
    sglang "$serve Qwen/Qwen3-8B --quite-new 3"
is 1 "an unknown option: status"
sees "a load of one's own" 'batch: {size: 8, seq: 1000}' \
    vllm 'vllm serve Qwen/Qwen3-8B --max-model-len 16k' --batch 8 --seq 1000

# refuses WHAT PATTERN SYSTEM COMMAND: an error, with its place
refuses() {
    printf '%s\n' "$4" >command.sh
    shardsim import --from "$3" command.sh
    is 2 "$1: refused"
    says err "$2" "$1: why"
}
refuses "a pipeline" '^command.sh:[0-9]*:[0-9]*: error: --pipeline-parallel-size 2: pipeline parallelism' \
    vllm 'vllm serve Qwen/Qwen3-8B -pp 2'
refuses "a model of no known sizes" "^command.sh:1:12: error: unknown model 'acme/New-7B'" \
    vllm 'vllm serve acme/New-7B'
while IFS='|' read -r name why; do
    refuses "$name" ":1:12: error: .* is not modelled: $why" vllm "vllm serve $name -tp 8"
    shardsim init --serve --model "$name" -o "$tmp/none.yaml"
    says err "is not modelled: $why" "$name: init, too"
done <<'MODELS'
Qwen/Qwen3-Next-80B-A3B-Instruct-FP8|a hybrid of softmax and linear attention
deepseek-ai/DeepSeek-V3.2-Exp|sparse attention with an indexer
nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8|a hybrid of attention and Mamba-2
MODELS
refuses "a placeholder, which would swallow an option" "^command.sh:1:12: error: '<MODEL>' is a placeholder" \
    vllm 'vllm serve <MODEL> -tp 2'
refuses "a placeholder of a size" "'<n>' is a placeholder" vllm 'vllm serve Qwen/Qwen3-8B --port <p> -tp <n>'
refuses "a length that is not whole" "^command.sh:.*is '2.7'; expected a whole number" \
    vllm 'vllm serve Qwen/Qwen3-8B --max-model-len 2.7'
refuses "heads that do not divide" '32 heads and 8 KV heads do not divide over 3' vllm 'vllm serve Qwen/Qwen3-8B -tp 3'
refuses "a cache cut over devices with other key heads" 'a KV cache in 2 shards: only 1 devices have the same' \
    vllm 'vllm serve Qwen/Qwen3-8B -tp 8 -dcp 2'
refuses "a cache of compressed keys in more parts than devices" 'a KV cache in 8 shards: only 4 devices have the same' \
    vllm 'vllm serve deepseek-ai/DeepSeek-V3 -tp 4 -dcp 8'
refuses "the same of SGLang" 'a KV cache in 8 shards: only 4 devices have the same' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp-size 4 --dcp-size 8"
refuses "a cache of compressed keys in parts that do not divide" 'a KV cache in 3 shards: only 4 devices have the same' \
    vllm 'vllm serve deepseek-ai/DeepSeek-V3 -tp 4 -dcp 3'
refuses "parts that do not divide" 'data-parallel attention 3' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8 --dp 3 --enable-dp-attention"
refuses "experts across the parts of the batch" 'expert parallelism over 4 devices crosses' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 48 --attn-dp-size 6 --ep 4"
refuses "redundant experts that do not divide" '256 experts and 3 redundant ones do not divide over 8 devices' \
    vllm "$v3 --enable-eplb --eplb-config '{\"num_redundant_experts\": 3}'"
refuses "redundant experts that are cut" '8 redundant experts need expert parallelism' \
    sglang "$serve deepseek-ai/DeepSeek-V3 --tp 8 --ep-num-redundant-experts 8"
refuses "redundant experts that vLLM would refuse" '8 redundant experts need the load balancer' \
    vllm "$v3 --num-redundant-experts 8"
refuses "options of the balancer that are no map" "^command.sh:.*--eplb-config is '8'; expected a map as JSON" \
    vllm "$v3 --enable-eplb --eplb-config 8"
refuses "two servers" 'a second, different command of vLLM' \
    vllm 'vllm serve Qwen/Qwen3-8B -tp 2
vllm serve Qwen/Qwen3-8B -tp 4'
refuses "two words of no option" "^command.sh:1:26: error: 'other' follows no option, and --model is already given" \
    vllm 'vllm serve Qwen/Qwen3-8B other'
refuses "nodes of two servers" 'a second, different command of vLLM' \
    vllm 'vllm serve Qwen/Qwen3-8B -tp 16 --nnodes 2 --node-rank 0
vllm serve Qwen/Qwen3-8B -tp 8 --nnodes 2 --node-rank 1'
refuses "more than all of the memory" "^command.sh:1:51: error: the server's memory fraction is '1.5'" \
    vllm 'vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 1.5'
refuses "fewer tokens than a sequence has" '1000 tokens fit the KV cache, but a sequence has 40960' \
    sglang "$serve Qwen/Qwen3-8B --max-total-tokens 1000"
refuses "another program's command" 'no command of SGLang found' sglang 'vllm serve Qwen/Qwen3-8B'
refuses "a model of images" 'only servers of generative models are modelled' vllm 'vllm serve Qwen/Qwen3-8B --omni'

# What servers do not do is an error of the export.
printf 'vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 4 -ep %s\n' "--max-model-len 64" >command.sh
"$shardsim" import --from vllm command.sh --allow-unknown --force -o there.yaml
# cannot WHAT PATTERN SED: the exported layout, changed
cannot() {
    sed "$3" there.yaml >changed.yaml
    shardsim export --to vllm changed.yaml
    is 2 "$1: not written"
    says err "$2" "$1: why"
}
cannot "experts over data parallelism alone" 'shards either experts or their widths over all devices' 's/\[\[dp, tp\], null/[dp, null/'
cannot "copies of experts whose widths are cut" 'supports redundant experts only with expert parallelism' \
    's/\[\[dp, tp\], null, null/[null, null, [dp, tp]/; s/\[\[dp, tp\], null/[null, [dp, tp]/; s/^step:/moe: {redundant: 8}\nstep:/'
cannot "heads unsharded" 'is sharded along heads over other axes' 's/attn.(q|q_rope|k|v)/attn\/(k|v)/'
cannot "training" 'vllm is for serving' 's/step: .*/step: [forward]/; /^limits/d'
cannot "other sizes" 'loads a model as it was published; expected no model.layers with model.size' \
    's/dtype: bfloat16/dtype: bfloat16, layers: 4/'
cannot "weights in other types than the published ones" 'in its published types; expected products.recipe blockwise' \
    '/^products/d'
cannot "weights in types that no option makes" 'in its published types; expected products.recipe blockwise' \
    's/recipe: blockwise/recipe: mxfp8/'
shardsim export --to megatron there.yaml
is 2 "a step of serving is none of Megatron-LM"
says err 'megatron is for training steps' "a step of serving is none of Megatron-LM: why"

# A server refuses more tokens than its model has positions.
longest() {
    "$shardsim" export --to "$2" "$scenarios/models/serve-llama3-70b.yaml" -s batch.seq="$3" >"$tmp/out"
    says out "^    $4 " "the longest sequence, $1: $2"
}
longest "as planned" vllm 4096 '--max-model-len 4097'
! grep -q 'positions' "$tmp/out"
ok $? "the longest sequence, as planned: nothing is said"
longest "of the model" vllm 8192 '--max-model-len 8192'
says out '^# Sequences of 8193 tokens were planned, and the model has 8192 positions' \
    "the longest sequence, of the model: said"
longest "of the model" sglang 8192 '--context-length 8192'

# What makes the model another one is refused by its name, and what does not is no matter.
cat >folder.yaml <<'YAML'
version: 1
mesh: {tp: 2}
model: {from: "my model's $(x)/config.json", dtype: bfloat16}
step: [decode]
batch: {size: 8, seq: 127}
params:
  - [(q|k|v|gate|up)/kernel, [null, tp]]
  - [(o|down)/kernel, [tp]]
  - [embed/table, [tp]]
  - [head/kernel, [null, tp]]
  - [.*, []]
YAML
folder="my model's \$(x)"
mkdir "$folder" bin
cat >"$folder/config.json" <<'JSON'
{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 128,
 "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 256}
JSON
# another BY FILE OPTION=VALUE: not exported, as the option stands beside BY
another() {
    for system in vllm sglang; do
        shardsim export --to $system "$2" -s "$3"
        is 2 "$3 beside $1 to $system: not written"
        says err "expected no ${3%%=*} with $1" "$3 beside $1 to $system: why"
    done
}
# alike FILE OPTION=VALUE: exported as without it
alike() {
    shardsim export --to vllm "$1"
    body out >without
    shardsim export --to vllm "$1" -s "$2"
    is 0 "$2 leaves the model as it is"
    body out | cmp - without
    ok $? "$2: the same command"
}
another model.from folder.yaml model.layers=2
another model.from folder.yaml model.scale=0.5
another model.from folder.yaml model.qk_norm=true
another model.from folder.yaml 'model.rope={theta: 500000}'
alike folder.yaml model.layers=4
alike folder.yaml model.mtp_weight=0.1
# Without rules for what there then is not.
sed -e '/^  - .mlp/d' -e '/^  - .shared/d' there.yaml >bare.yaml
for value in moe.first_dense=0 moe.shared=0 moe.score=softmax mla.q_rank=64 moe.capacity=2 moe.token_groups=8; do
    another model.size bare.yaml $value
done
alike there.yaml moe.first_dense=3
alike there.yaml moe.routing=zipf

# Types of weights that are only in the file that ModelOpt writes beside a config.json.
mkdir beside
printf '%s\n' '{"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2048, "num_attention_heads": 16,' \
    ' "num_key_value_heads": 8, "num_hidden_layers": 4, "vocab_size": 32000}' >beside/config.json
cluster=h100-sxm
# beside WHAT PRODUCTS TYPES: init --serve has these, and export takes them for the published ones
beside() {
    printf '%s\n' "$3" >beside/hf_quant_config.json
    "$shardsim" init --serve beside/config.json --hardware "$cluster" --devices 2 --seq 64 --batch 8 --force -o beside.yaml &&
        grep -q "^products: {$2}" beside.yaml && "$shardsim" export --to vllm beside.yaml --force -o beside.sh
    ok $? "types beside a config.json: $1"
}
beside "FP8" 'recipe: tensorwise, amax: static' '{"quantization": {"quant_algo": "FP8"}}'
beside "FP8 of tokens" "$local" '{"quantization": {"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}}'
beside "integers" 'weights: int4, block: 64' '{"quantization": {"quant_algo": "W4A16_AWQ", "group_size": 64}}'
beside "attention left out, on a cluster that does not multiply 4 bits" 'weights: mxfp4, block: 16, except: \[attn, .*' \
    '{"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head", "model.layers.*.self_attn*"]}}'
grep -q 'Differs from the published types: the cluster has no rate of 4-bit matmuls' beside.yaml
ok $? "types beside a config.json: and says so"
cluster=b200
beside "products of 4 bits" 'recipe: nvfp4, amax: static, except: \[router\$, ^head\$\]' \
    '{"quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}}'
beside "weights of 4 bits, products of 8" 'weights: mxfp4, block: 16' '{"quantization": {"quant_algo": "W4A8_NVFP4_FP8"}}'
printf '[1]\n' >beside/hf_quant_config.json
"$shardsim" init --serve beside/config.json --devices 2 2>err
[ $? -eq 2 ] && grep -q "hf_quant_config.json:1:1: error: no quantized types; expected a map" err
ok $? "types beside a config.json: none in the file"
printf 'vllm serve none/Unknown-7B\n' >unknown.sh
"$shardsim" import --from vllm unknown.sh 2>err
[ $? -eq 2 ] && grep -q "^unknown.sh:1:12: error: .* init --serve --model DIR/config.json" err
ok $? "a model without published sizes: its config.json will do"

# With data parallelism the experts' weights stay where they are and tokens are gathered, whatever type the weights have.
# traffic TYPE: bytes that the devices receive in a step
traffic() {
    "$shardsim" plan -q dp.yaml -s "products={$1}" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["received_bytes"]["total"])'
}
for command in 'vllm serve openai/gpt-oss-120b -tp 2 -dp 2' \
    "$serve openai/gpt-oss-120b --tp 4 --dp 4 --enable-dp-attention"; do
    system=sglang
    case $command in vllm*) system=vllm ;; esac
    printf '%s\n' "$command" >dp.sh
    "$shardsim" import --from $system dp.sh --batch 32 --seq 64 --allow-unknown --force -o dp.yaml
    none=$(traffic 'recipe: none')
    [ "$none" -gt 0 ] && [ "$none" = "$(traffic 'weights: mxfp4, except: [attn, router$, ^head$]')" ] &&
        [ "$none" = "$(traffic 'weights: int8, except: [attn, router$, ^head$]')" ]
    ok $? "experts in 4 or 8 bits stay where they are: $command"
done

# A folder of any name is one word, of the command and not of its options.
# The variables are the scripts'.
# shellcheck disable=SC2016
printf '#!/bin/sh\nprintf "%%s\\n" "$2" >model\n' >bin/vllm
# shellcheck disable=SC2016
printf '#!/bin/sh\nprintf "%%s\\n" "$4" >model\n' >bin/python3
chmod +x bin/vllm bin/python3
cp -r "$folder" ./-folder
sed 's/from: "[^/]*/from: "-folder/' folder.yaml >dash.yaml
# starts SYSTEM FILE FOLDER: the command is given the folder
starts() {
    "$shardsim" export --to "$1" "$2" --force -o serve.sh && PATH=$PWD/bin:$PATH sh serve.sh && [ "$(cat model)" = "$3" ]
    ok $? "to $1: the folder is one word: $3"
}
for system in vllm sglang; do
    starts $system folder.yaml "$folder/"
    starts $system dash.yaml ./-folder/
done
done_testing
