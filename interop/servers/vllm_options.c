/* The options of vLLM's server, those of its releases from 0.6 on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "servers/serving.h"
#include "training/rows.h"

static const char *const dtypes[] = {"auto",  "half",    "float16", "bfloat16",
                                     "float", "float32", NULL};
static const char *const cache_types[] = {"auto",     "float16", "bfloat16",   "fp8",   "fp8_e4m3",
                                          "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "nvfp4", NULL};
/* The first two gather the tokens of all replicas, the others send each to its experts. */
static const char *const exchanges[] = {"naive",
                                        "allgather_reducescatter",
                                        "pplx",
                                        "deepep_high_throughput",
                                        "deepep_low_latency",
                                        "deepep_v2",
                                        "flashinfer_all2allv",
                                        "flashinfer_nvlink_one_sided",
                                        "flashinfer_nvlink_two_sided",
                                        "moonep",
                                        "mori",
                                        "mori_high_throughput",
                                        "mori_low_latency",
                                        "nixl_ep",
                                        NULL};
static const char *const generate[] = {"generate", "auto", NULL};
static const char *const none[] = {"none", "auto", NULL};
static const char *const one[] = {"1", NULL};

#define STRIPED "the KV cache is planned striped token by token"

const struct import_option vllm_options[] = {
    /* ---- the layout ---- */
    TEXT("--model", server.model),
    WORD("--dtype", server.dtype, dtypes),
    NUMBER("--block-size", server.page),
    TEXT("--max-model-len", server.length),
    NUMBER("--max-num-seqs", server.sequences),
    NUMBER("--max-num-batched-tokens", server.step_tokens),
    TEXT("--gpu-memory-utilization", server.memory),
    TEXT("--device-memory-utilization", server.memory),
    NUMBER("--num-gpu-blocks-override", server.blocks),
    UNSAID("--kv-cache-memory --kv-cache-memory-bytes",
           "the KV cache is planned in the memory that --gpu-memory-utilization leaves"),
    NUMBER("--tensor-parallel-size", server.tensor),
    NUMBER("-tp", server.tensor),
    NUMBER("--pipeline-parallel-size", server.stages),
    NUMBER("-pp", server.stages),
    NUMBER("--data-parallel-size", server.replicas),
    NUMBER("-dp", server.replicas),
    NUMBER("--decode-context-parallel-size", server.cache_parts),
    NUMBER("-dcp", server.cache_parts),
    NUMBER("--prefill-context-parallel-size", server.prefill_parts),
    NUMBER("-pcp", server.prefill_parts),
    FLAG("--enable-expert-parallel", server.experts_apart),
    FLAG("-ep", server.experts_apart),
    WORD("--all2all-backend", server.exchange, exchanges),
    WORD("--kv-cache-dtype", server.cache_type, cache_types),
    FLAG("--enable-eplb", server.balances),
    TEXT("--eplb-config", server.balancing),
    COUNT(VLLM_COPIES, server.copies),
    COUNT("--num-redundant-experts", server.copies),
    TEXT("--kv-transfer-config", server.transfer),
    TEXT("--quantization", server.quantization),
    TEXT("-q", server.quantization),
    UNLESS("--runner", generate, NOT_SERVED),
    UNLESS("--task", generate, NOT_SERVED),
    UNLESS("--convert", none, NOT_SERVED),
    REFUSED("--omni --pooler-config --mm-encoder-only --diffusion-config -dc", NOT_SERVED),
    REFUSED("--config", ELSEWHERE),
    REFUSED("--enable-hc-sp --fully-sharded-loras", "this layout is not modelled; remove it"),
    UNSAID("--quantization-config", "weights are planned in model.dtype"),
    UNSAID("--speculative-config -sc --spec-method --spec-model --spec-tokens --speculative-model "
           "--num-speculative-tokens",
           "speculative decoding is not read: a step is planned as one token per sequence"),
    UNSAID("--enable-elastic-ep", "experts stay on their initial devices"),
    UNSAID("--hf-overrides --hf-config-path --model-class-overrides",
           "the published model is planned"),
    UNSAID("--kv-cache-dtype-skip-layers", "all layers are planned with one cache type"),
    UNSAID("--enable-lora", "the model is planned without adapters"),
    UNSAID("--cpu-offload-gb --cpu-offload-params --offload-backend --offload-group-size "
           "--offload-num-in-group --offload-prefetch-step --offload-params",
           "weights and KV cache are planned in device memory"),
    UNSAID("--disable-sliding-window --disable-hybrid-kv-cache-manager",
           "the model's own windows are planned"),
    UNSAID_UNLESS("--cp-kv-cache-interleave-size", one, STRIPED),
    UNSAID_UNLESS("--dcp-kv-cache-interleave-size", one, STRIPED),
    UNSAID("--dcp-q-replicate", "queries are planned sharded like heads"),
    /* ---- what says nothing of the layout ---- */
    QUIET("--eplb-window-size --eplb-step-interval --eplb-log-balancedness "
          "--eplb-config.window_size --eplb-config.step_interval --eplb-config.log_balancedness "
          "--eplb-config.use_async --eplb-config.policy"),
    QUIET("--mm-"),
    QUIET("--lora-"),
    QUIET("--max-lora-"),
    QUIET("--log-"),
    QUIET("--otlp-"),
    QUIET("--ssl-"),
    QUIET("--mamba-"),
    QUIET("--data-parallel-"),
    QUIET("--h11-"),
    QUIET("--dbo-"),
    QUIET("--numa-"),
    QUIET("--sleep-"),
    QUIET("--kv-offloading-"),
    QUIET("--additional-config --aggregate-engine-logging --allow-credentials "
          "--allow-deprecated-quantization --allowed-headers --allowed-local-media-path "
          "--allowed-media-domains --allowed-methods --allowed-origins "
          "--anthropic-disabled-thinking-effort --api-key --api-server-count --async-engine "
          "--async-scheduling --attention-backend --attention-config --aux-output-config "
          "--calculate-kv-scales --chat-template --chat-template-content-format --code-revision "
          "--cohere-format --cohere-is-reasoning-model --collect-detailed-traces "
          "--compilation-config --compile-mm-encoder --config-format "
          "--cpu-distributed-timeout-seconds --cuda-graph-sizes --cudagraph-capture-sizes "
          "--cudagraph-metrics --custom-histogram-buckets --dcp-comm-backend "
          "--default-chat-template-kwargs --default-mm-loras --device --device-ids "
          "--disable-access-log-for-endpoints --disable-async-output-proc --disable-cascade-attn "
          "--disable-chunked-mm-input --disable-custom-all-reduce --disable-fastapi-docs "
          "--disable-frontend-multiprocessing --disable-log-requests --disable-log-stats "
          "--disable-mm-preprocessor-cache --disable-nccl-for-dp-synchronization "
          "--disable-uvicorn-access-log --distributed-executor-backend "
          "--distributed-timeout-seconds --download-dir --dp-supervisor-probe-failure-threshold "
          "--dp-supervisor-probe-interval-s --dp-supervisor-probe-timeout-s --dp-sync-interval "
          "--ec-manager-config --ec-transfer-config --elastic-ep-max-dp-size "
          "--enable-auto-tool-choice --enable-batch-sharded-sampling --enable-chunked-prefill "
          "--enable-cumem-allocator --enable-dbo --enable-ep-weight-filter "
          "--enable-fault-tolerance --enable-flash-late-interaction --enable-flashinfer-autotune "
          "--enable-force-include-usage --enable-gds --enable-layerwise-nvtx-tracing "
          "--enable-log-deltas --enable-log-outputs --enable-log-requests "
          "--enable-logging-iteration-details --enable-mamba-cache-stochastic-rounding "
          "--enable-mamba-shared-prefix-checkpoint --enable-mfu-metrics "
          "--enable-mixed-moe-lora-format --enable-mm-embeds --enable-moe-shared-loras "
          "--enable-multimodal-encoder-data-parallel --enable-nccl-comm-suspend "
          "--enable-offline-docs --enable-per-request-metrics --enable-prefix-caching "
          "--enable-prompt-adapter --enable-prompt-embeds --enable-prompt-tokens-details "
          "--enable-reasoning --enable-request-id-headers --enable-return-routed-experts "
          "--enable-scale-out --enable-server-load-tracking --enable-shm-tensor-arena "
          "--enable-sleep-mode --enable-ssl-refresh --enable-tokenizer-info-endpoint "
          "--enable-tower-connector-lora --enable-trace-replay --enforce-eager --engram-config "
          "--exclude-tools-when-tool-choice-none --expert-placement-strategy "
          "--fail-on-environ-validation --fault-tolerance-config --fingerprint-mode "
          "--fingerprint-value --gdn-prefill-backend --generation-config --generation-tokens-only "
          "--grpc-port --guided-decoding-backend --headless --hf-token --host --ignore-patterns "
          "--interleave-mm-strings --io-processor-plugin --ir-op-priority --jit-monitor-mode "
          "--jit-monitor-verbose --kda-decode-backend --kda-prefill-backend --kernel-config "
          "--kv-cache-metrics --kv-cache-metrics-sample --kv-events-config "
          "--kv-sharing-fast-prefill --language-model-only --limit-mm-per-prompt --linear-backend "
          "--load-format --logging-config --logits-processor-pattern --logits-processors "
          "--logprobs-mode --long-prefill-token-threshold --long-prefill-token-threshold-adaptive "
          "--master-addr --master-port --max-cpu-loras --max-cudagraph-capture-size --max-log-len "
          "--max-logprobs --max-long-partial-prefills --max-loras --max-num-active-seqs "
          "--max-num-partial-prefills --max-num-queued-reqs --max-num-queued-tokens "
          "--max-num-scheduled-tokens --max-parallel-loading-workers --max-seq-len-to-capture "
          "--media-io-kwargs --middleware --model-impl --model-loader-extra-config --moe-backend "
          "--monokernel --multi-step-stream-outputs --nnodes --no-enable-log-requests --node-rank "
          "--num-lookahead-slots --num-scheduler-steps --optimization-level "
          "--override-attention-dtype --override-generation-config "
          "--per-request-spec-decode-metrics --performance-mode --port --preemption-mode "
          "--prefill-schedule-interval --prefix-cache-retention-interval "
          "--prefix-caching-hash-algo --prefix-match-unit --profiler-config --pt-load-map-location "
          "--ray-workers-use-nsight --reasoning-config --reasoning-effort-map --reasoning-parser "
          "--reasoning-parser-plugin --renderer-num-workers --replayssm-buffer-len --response-role "
          "--return-sampling-mask --return-tokens-as-token-ids --revision --root-path "
          "--rope-scaling --rope-theta --safetensors-load-strategy "
          "--safetensors-prefetch-block-size --safetensors-prefetch-num-threads --scheduler-cls "
          "--scheduler-delay-factor --scheduler-reserve-full-isl --scheduling-policy --seed "
          "--served-model-name --show-hidden-metrics-for-version --shutdown-timeout "
          "--skip-mm-profiling --skip-tokenizer-init --sparse-indexer-topk-backend "
          "--specialize-active-lora --sse-keep-alive-interval --stream-interval "
          "--structured-outputs-config --swap-space --swa-bounded-replay --tokenizer "
          "--tokenizer-mode --tokenizer-pool-size --tokenizer-revision --tokens-only "
          "--tool-call-parser --tool-parser-plugin --tool-server --tool-strict-level "
          "--trust-remote-code --trust-request-chat-template --trust-request-mm-kwargs "
          "--ubatch-size --uds --use-fp64-gumbel --use-replayssm --use-tqdm-on-load "
          "--use-v2-block-manager --uvicorn-log-level --video-pruning-method --video-pruning-rate "
          "--watchdog-config --watermark --watermark-config --weight-transfer-config --worker-cls "
          "--worker-extension-cls -O -O0 -O1 -O2 -O3 -ac -asc -cc -dpa -dpb -dpe -dph -dpl -dpm "
          "-dpn -dpp -dpr -n -r"),
    {.name = NULL},
};

_Static_assert(sizeof vllm_options / sizeof *vllm_options <= IMPORT_OPTIONS_MAX,
               "each row has its flag");

/* ---- how many words they take ---- */

const char vllm_bare[] =
    "--enable- --disable- --no- --skip- --use- --trust- --aggregate-engine-logging "
    "--allow-credentials --allow-deprecated-quantization --async-scheduling --calculate-kv-scales "
    "--cohere-is-reasoning-model --cudagraph-metrics --data-parallel-external-lb "
    "--data-parallel-hybrid-lb --data-parallel-multi-port-external-lb --dcp-q-replicate "
    "--enforce-eager --exclude-tools-when-tool-choice-none --fail-on-environ-validation "
    "--fully-sharded-loras --grpc --headless --help --interleave-mm-strings --jit-monitor-verbose "
    "--kv-cache-metrics --kv-sharing-fast-prefill --language-model-only --log-error-stack "
    "--long-prefill-token-threshold-adaptive --mm-device-do-normalize --mm-encoder-only "
    "--monokernel --numa-bind --omni --ray-workers-use-nsight --return-sampling-mask "
    "--return-tokens-as-token-ids --scheduler-reserve-full-isl --sleep-mode-offload-cudagraph "
    "--specialize-active-lora --swa-bounded-replay --tokens-only -O0 -O1 -O2 -O3 -asc -dpe -dph "
    "-dpm -ep";
const char vllm_valued[] = "--disable-access-log-for-endpoints";
const char vllm_lists[] =
    "--allowed-media-domains --collect-detailed-traces --cpu-offload-params "
    "--cudagraph-capture-sizes --device-ids --ignore-patterns --kv-cache-dtype-skip-layers "
    "--logits-processors --lora-modules --lora-target-modules --numa-bind-cpus --numa-bind-nodes "
    "--offload-params --prompt-adapters --served-model-name --sleep-preserve-parameter-names";
