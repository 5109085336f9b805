/* The options of SGLang's server, those of its releases from 0.4 on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "servers/serving.h"
#include "training/rows.h"

static const char *const dtypes[] = {"auto",  "half",    "float16", "bfloat16",
                                     "float", "float32", NULL};
static const char *const cache_types[] = {"auto",     "bf16",     "bfloat16", "float16",
                                          "fp8_e4m3", "fp8_e5m2", "fp4_e2m1", NULL};
/* The first gathers the tokens of all parts of the batch, the others send each to its experts. */
static const char *const exchanges[] = {"none",       "deepep",    "deepep_v2", "mooncake",
                                        "nixl",       "mori",      "pplx",      "ascend_fuseep",
                                        "flashinfer", "ascend_tp", "megamoe",   NULL};
static const char *const phases[] = {"null", "prefill", "decode", NULL};
static const char *const one[] = {"1", NULL};

#define NO_SUCH "this layout is not modelled; remove it"

const struct import_option sglang_options[] = {
    /* ---- the layout ---- */
    TEXT("--model-path", server.model),
    TEXT("--model", server.model),
    WORD("--dtype", server.dtype, dtypes),
    NUMBER("--page-size", server.page),
    TEXT("--context-length", server.length),
    TEXT("--quantization", server.quantization),
    NUMBER("--max-running-requests", server.sequences),
    NUMBER("--max-total-tokens", server.tokens),
    TEXT("--mem-fraction-static", server.memory),
    FIELD("--chunked-prefill-size", IMPORT_INT, server.step_tokens, .min = -1),
    NUMBER("--tp-size", server.tensor),
    NUMBER("--tensor-parallel-size", server.tensor),
    NUMBER("--pp-size", server.stages),
    NUMBER("--pp", server.stages),
    NUMBER("--pipeline-parallel-size", server.stages),
    NUMBER("--dp-size", server.replicas),
    NUMBER("--data-parallel-size", server.replicas),
    NUMBER("--attn-dp-size", server.batch_parts),
    NUMBER("--attention-data-parallel-size", server.batch_parts),
    FLAG("--enable-dp-attention", server.attention_apart),
    NUMBER("--ep-size", server.expert_devices),
    NUMBER("--ep", server.expert_devices),
    NUMBER("--expert-parallel-size", server.expert_devices),
    NUMBER("--dcp-size", server.cache_parts),
    NUMBER("--decode-context-parallel-size", server.cache_parts),
    NUMBER("--attn-cp-size", server.prefill_parts),
    NUMBER("--attention-context-parallel-size", server.prefill_parts),
    NUMBER("--moe-dense-tp-size", server.dense_devices),
    FLAG("--enable-dp-lm-head", server.local_head),
    FLAG("--enable-shared-experts-attn-tp", server.local_shared),
    FLAG("--enable-dense-mlp-attn-tp", server.local_dense),
    FLAG("--enable-deepep-moe", server.experts_apart),
    FLAG("--enable-ep-moe", server.experts_apart),
    WORD("--moe-a2a-backend", server.exchange, exchanges),
    FLAG("--enable-eplb", server.balances),
    COUNT("--ep-num-redundant-experts", server.copies),
    WORD("--kv-cache-dtype", server.cache_type, cache_types),
    WORD("--disaggregation-mode", server.phase, phases),
    REFUSED("--is-embedding --encoder-only --dllm-algorithm --enable-mis", NOT_SERVED),
    REFUSED("--config", ELSEWHERE),
    UNLESS("--moe-dp-size", one, NO_SUCH),
    UNLESS("--moe-data-parallel-size", one, NO_SUCH),
    UNLESS("--dwdp-size", one, NO_SUCH),
    REFUSED("--shared-experts-tp-size --enable-prefill-cp --enable-dsa-cache-layer-split "
            "--enable-kv-cache-sharding --enable-cp-decode-attn-tp "
            "--enable-nsa-prefill-context-parallel",
            NO_SUCH),
    UNSAID("--enable-attn-tp-input-scattered --enable-layernorm-sp",
           "tokens are planned replicated between attention and MLP"),
    UNSAID("--modelopt-quant --quantize-and-serve --torchao-config",
           "weights are planned in model.dtype"),
    UNSAID("--speculative-", "speculative decoding is not read: a step is planned as one token per "
                             "sequence"),
    UNSAID("--speculative-algorithm --enable-multi-layer-eagle --decoupled-spec-role",
           "speculative decoding is not read: a step is planned as one token per sequence"),
    UNSAID("--init-expert-location", "experts are placed assuming even loads"),
    UNSAID("--elastic-ep-backend --enable-paged-experts", "experts stay on their initial devices"),
    UNSAID("--json-model-override-args", "the published model is planned"),
    UNSAID("--enable-lora --lora-paths --lora-path", "the model is planned without adapters"),
    UNSAID("--cpu-offload-gb --offload-group-size --offload-num-in-group --offload-mode "
           "--kt-weight-path --enable-hisparse",
           "weights and KV cache are planned in device memory"),
    UNSAID("--enable-fp32-lm-head", "logits are planned in model.dtype"),
    UNSAID("--disable-hybrid-swa-memory", "the model's own windows are planned"),
    UNSAID("--enable-pdmux", "a step is planned as one phase (prefill or decode)"),
    UNSAID("--dcp-replicate-q-proj", "queries are planned sharded like heads"),
    /* ---- what says nothing of the layout ---- */
    QUIET("--hicache-"),
    QUIET("--log-"),
    QUIET("--lora-"),
    QUIET("--disaggregation-"),
    QUIET("--mm-"),
    QUIET("--kt-"),
    QUIET("--mamba-"),
    QUIET("--dsa-"),
    QUIET("--debug-"),
    QUIET("--weight-"),
    QUIET("--remote-"),
    QUIET("--crash-"),
    QUIET("--hf-"),
    QUIET("--cuda-graph-"),
    QUIET("--enable-cuda-"),
    QUIET("--bucket-"),
    QUIET("--linear-"),
    QUIET("--paged-"),
    QUIET("--ple-"),
    QUIET("--triton-"),
    QUIET("--eplb-"),
    QUIET("--deepep-"),
    QUIET("--expert-"),
    QUIET("--watermark-"),
    QUIET("--flashinfer-"),
    QUIET("--unified-"),
    QUIET("--elastic-"),
    QUIET("--encoder-"),
    QUIET("--decoupled-"),
    QUIET("--ssl-"),
    QUIET("--dllm-"),
    QUIET("--otlp-"),
    QUIET("--gc-"),
    QUIET("--grpc-"),
    QUIET("--forward-"),
    QUIET("--load-"),
    QUIET("--export-"),
    QUIET("--radix-"),
    QUIET("--mooncake-"),
    QUIET("--http2-"),
    QUIET("--media-"),
    QUIET("--tokenizer-"),
    QUIET("--prefill-delayer-"),
    QUIET("--pdmux-"),
    QUIET("--int8-"),
    QUIET("--abort-on-priority-when-disabled --admin-api-key --allow-auto-truncate "
          "--allowed-media-domains --api-key --asr-max-buffer-seconds "
          "--asr-max-concurrent-sessions --attention-backend --base-gpu-id --batch-notify-size "
          "--bf16-gemm-backend --boundary-reduction --c128-page-size --chat-template "
          "--checkpoint-engine-wait-weights-before-ready --completion-template "
          "--constrained-json-disable-any-whitespace --constrained-json-max-whitespace-cnt "
          "--constrained-json-whitespace-pattern --context-bucket --cp-strategy "
          "--custom-sigquit-handler --custom-weight-loader --dcp-comm-backend "
          "--decode-attention-backend --decode-log-interval --decrypted-config-file "
          "--decrypted-draft-config-file --default-chat-template-kwargs --default-priority-value "
          "--delete-ckpt-after-loading --detokenizer-worker-num --device "
          "--disable-aiter-allreduce-fusion-in-decode --disable-aiter-allreduce-fusion-in-prefill "
          "--disable-attn-tp-gather --disable-chunked-prefix-cache --disable-cuda-graph "
          "--disable-cuda-graph-padding --disable-custom-all-reduce --disable-decode-cuda-graph "
          "--disable-fast-image-processor --disable-flashinfer-autotune "
          "--disable-flashinfer-cutlass-moe-fp4-allgather --disable-mla "
          "--disable-outlines-disk-cache --disable-overlap-schedule --disable-piecewise-cuda-graph "
          "--disable-prefill-cuda-graph --disable-priority-preemption --disable-radix-cache "
          "--disable-shared-experts-fusion --disable-tokenizer-batch-decode --dist-init-addr "
          "--dist-timeout --download-dir --dsv4-attn-backend --dsv4-prefill-backend "
          "--dynamic-batch-tokenizer-batch-size --dynamic-batch-tokenizer-batch-timeout "
          "--enable-adaptive-dispatch-to-encoder --enable-aiter-allreduce-fusion "
          "--enable-amd-monokernel --enable-broadcast-mm-inputs-process --enable-cache-report "
          "--enable-cudagraph-gc --enable-custom-logit-processor "
          "--enable-decoder-swa-bounded-replay --enable-deepseek-v4-fp4-indexer "
          "--enable-deterministic-inference --enable-dp-attention-local-control-broadcast "
          "--enable-draft-weights-cpu-backup --enable-dsa-fused-indexer "
          "--enable-dynamic-batch-tokenizer --enable-dynamic-chunking "
          "--enable-elastic-expert-backup --enable-encoder-swa-bounded-replay "
          "--enable-flashinfer-allreduce-fusion --enable-flashinfer-cutlass-moe "
          "--enable-flashinfer-mla --enable-flashinfer-trtllm-moe --enable-flashmla "
          "--enable-flexkv --enable-forward-pass-metrics --enable-fused-moe-sum-all-reduce "
          "--enable-fused-qk-norm-rope --enable-hicache --enable-hierarchical-cache "
          "--enable-http-worker-reuseport --enable-http2 --enable-int8-mamba-checkpoint "
          "--enable-layerwise-nvtx-marker --enable-lean-attention --enable-linear-replayssm "
          "--enable-linear-replayssm-spec --enable-linker-mla-dedup --enable-lmcache "
          "--enable-lora-overlap-loading --enable-mamba-cache-stochastic-rounding "
          "--enable-megamoe-for-layernorm-sp --enable-memory-saver --enable-metrics "
          "--enable-metrics-for-all-schedulers --enable-mfu-metrics --enable-mixed-chunk "
          "--enable-mm-global-cache --enable-mscclpp --enable-multimodal --enable-nan-detection "
          "--enable-nccl-nvls --enable-nvidia-megakernel --enable-overlap-schedule "
          "--enable-p2p-check --enable-page-major-kv-layout --enable-pd-role-switch "
          "--enable-piecewise-cuda-graph --enable-precise-embedding-interpolation "
          "--enable-prefill-delayer --enable-prefix-mm-cache --enable-priority-scheduling "
          "--enable-profile-cuda-graph --enable-quant-communications "
          "--enable-request-time-stats-logging --enable-response-store "
          "--enable-return-aux-hidden-states --enable-return-hidden-states "
          "--enable-return-indexer-topk --enable-return-routed-experts --enable-scattered-sconv "
          "--enable-session-radix-cache --enable-single-batch-overlap --enable-ssl-refresh "
          "--enable-streaming-session --enable-strict-thinking --enable-symm-mem "
          "--enable-tf32-matmul --enable-tokenizer-batch-encode --enable-torch-compile "
          "--enable-torch-compile-debug-mode --enable-torch-symm-mem "
          "--enable-tp-lm-head-all-to-all --enable-trace --enable-triton-kernel-moe "
          "--enable-two-batch-overlap --enable-unified-cache-external-linker "
          "--enable-unified-memory --enable-w4a4-mxfp4-megamoe --enable-waterfill "
          "--enable-watermark --enable-weights-cpu-backup "
          "--enforce-disable-flashinfer-allreduce-fusion --enforce-shared-experts-fusion "
          "--engine-info-bootstrap-port --ep-dispatch-algorithm --ep-join-mode "
          "--ep-join-rank-offset --experts-shared-outer-loras --extra-metric-labels "
          "--fastapi-root-path --file-storage-path --flexkv-config-file --fp4-gemm-backend "
          "--fp4-gemm-runner-backend --fp8-gemm-backend --fp8-gemm-runner-backend --fuseep-mode "
          "--gated-launch-port --generation-tokens-buckets --gpu-id-step --grammar-backend "
          "--hierarchical-sparse-attention-extra-config --hisparse-config --host "
          "--image-processor-backend --incremental-streaming-output --kv-canary "
          "--kv-canary-real-data --kv-canary-sweep-interval --kv-events-config "
          "--language-model-only --language-only --limit-mm-data-per-request --lmcache-config-file "
          "--max-ep-size --max-loaded-loras --max-lora-chunk-size --max-lora-rank "
          "--max-loras-per-batch --max-mamba-cache-size --max-micro-batch-size "
          "--max-prefill-tokens --max-queued-requests --min-free-slots-delay --mlx-enable-sampling "
          "--model-checksum --model-config-parser --model-impl --model-loader-extra-config "
          "--modelexpress-config --modelopt-checkpoint-restore-path "
          "--modelopt-checkpoint-save-path --modelopt-export-path --moe-runner-backend "
          "--monokernel-backend --msprobe-dump-config --nccl-init-addr --nccl-port --nnodes "
          "--node-rank --nsa-decode-backend --nsa-prefill-backend --num-continuous-decode-steps "
          "--num-reserved-decode-tokens --numa-node --offload-prefetch-step --online-quant-config "
          "--optimistic-prefill-attempts --piecewise-cuda-graph-max-tokens --port "
          "--pp-async-batch-depth --pp-max-micro-batch-size --pre-warm-nccl "
          "--preferred-sampling-params --prefill-attention-backend --prefill-decode-interval "
          "--prefill-decode-interval-min-bs --prefill-kv-cache-dequant-dtype "
          "--prefill-max-requests --prefill-only-disable-kv-cache --prefill-round-robin-balance "
          "--priority-scheduling-preemption-threshold --prompt-tokens-buckets --qsa-indexer-dtype "
          "--quantization-param-path --random-seed --reasoning-parser --retraction-policy "
          "--return-aux-hidden-state-layer-ids --return-hidden-states-mode --return-input-ids "
          "--return-output-ids --revision --rl-on-policy-target --rl-quant-profile "
          "--sampling-backend --sampling-defaults --sampling-mask-max-tokens "
          "--schedule-conservativeness --schedule-low-priority-values-first --schedule-policy "
          "--scheduler-recv-interval --served-model-name --show-time-cost --sidecar --sidecar-args "
          "--skip-server-warmup --skip-tokenizer-init --sleep-on-idle --sm-group-num "
          "--smg-grpc-mode --smg-http-sidecar-port --soft-watchdog-timeout --spec-trace-dir "
          "--speculative-accept-threshold-acc --speculative-accept-threshold-single "
          "--speculative-adaptive --speculative-adaptive-config --speculative-attention-mode "
          "--speculative-dflash-block-size --speculative-domino-candidate-pool-size "
          "--speculative-draft-attention-backend --speculative-draft-kv-cache-dtype "
          "--speculative-draft-load-format --speculative-draft-model "
          "--speculative-draft-model-path --speculative-draft-model-quantization "
          "--speculative-draft-model-revision --speculative-draft-sink-size "
          "--speculative-draft-window-size --speculative-dsa-topk-backend "
          "--speculative-dspark-align-verify-tokens-to-graph-tier --speculative-dspark-block-size "
          "--speculative-dspark-confidence-sts-path --speculative-dspark-sps-table-path "
          "--speculative-eagle-topk --speculative-enable-w4a4-mxfp4-megamoe "
          "--speculative-moe-a2a-backend --speculative-moe-runner-backend "
          "--speculative-ngram-capacity --speculative-ngram-external-corpus-max-tokens "
          "--speculative-ngram-external-corpus-path --speculative-ngram-external-sam-budget "
          "--speculative-ngram-match-type --speculative-ngram-max-bfs-breadth "
          "--speculative-ngram-max-trie-depth --speculative-ngram-min-bfs-breadth "
          "--speculative-num-draft-tokens --speculative-num-steps --speculative-token-map "
          "--speculative-use-block-verification --speculative-use-rejection-sampling "
          "--startup-weight-load-mode --stat-loggers --stream-interval --stream-output "
          "--stream-response-default-include-usage --strip-thinking-cache --swa-full-tokens-ratio "
          "--swa-prefix-tails --tbo-token-distribution-threshold --tool-call-parser --tool-server "
          "--torch-compile-max-bs --trace-modules --trust-mm-content-hashes --trust-remote-code "
          "--trust-request-chat-template --uno-lora-path --use-ray "
          "--uvicorn-access-log-exclude-prefixes --warmups --watchdog-timeout"),
    {.name = NULL},
};

_Static_assert(sizeof sglang_options / sizeof *sglang_options <= IMPORT_OPTIONS_MAX,
               "each row has its flag");

/* ---- how many words they take ---- */

const char sglang_bare[] =
    "--enable- --disable- --no- --skip- --use- --trust- --abort-on-priority-when-disabled "
    "--allow-auto-truncate --checkpoint-engine-wait-weights-before-ready "
    "--collect-tokens-histogram --constrained-json-disable-any-whitespace --dcp-replicate-q-proj "
    "--debug-cuda-graph --delete-ckpt-after-loading --disaggregation-decode-enable-offload-kvcache "
    "--disaggregation-decode-enable-radix-cache --disaggregation-enable-kv-checksum --dllm-fdfo "
    "--encoder-only --enforce-disable-flashinfer-allreduce-fusion --enforce-shared-experts-fusion "
    "--experts-shared-outer-loras --export-metrics-to-file --flashinfer-mla-disable-ragged "
    "--grpc-mode --help --incremental-streaming-output --is-embedding --language-model-only "
    "--language-only --log-requests --lora-strict-loading --lora-use-virtual-experts "
    "--mlx-enable-sampling --mm-enable-dp-encoder --ple-offload-embedding --pre-warm-nccl "
    "--prefill-only-disable-kv-cache --prefill-round-robin-balance --quantize-and-serve "
    "--remote-instance-weight-loader-start-seed-via-transfer-engine --return-input-ids "
    "--return-output-ids --schedule-low-priority-values-first --show-time-cost --sleep-on-idle "
    "--smg-grpc-mode --speculative-adaptive --speculative-dspark-align-verify-tokens-to-graph-tier "
    "--speculative-enable-w4a4-mxfp4-megamoe --speculative-use-block-verification "
    "--speculative-use-rejection-sampling --stream-output --stream-response-default-include-usage "
    "--strip-thinking-cache --triton-attention-reduce-in-fp32 --weight-loader-disable-mmap "
    "--weight-loader-drop-cache-after-load --weight-loader-prefetch-checkpoints";
const char sglang_lists[] =
    "--bucket-e2e-request-latency --bucket-inter-token-latency --bucket-time-to-first-token "
    "--cuda-graph-bs --custom-weight-loader --debug-tensor-dump-layers "
    "--flashinfer-autotune-skip-ops --generation-tokens-buckets --log-requests-target --lora-paths "
    "--lora-target-modules --model-checksum --numa-node --piecewise-cuda-graph-tokens "
    "--prompt-tokens-buckets --return-aux-hidden-state-layer-ids --trace-modules "
    "--uvicorn-access-log-exclude-prefixes";
