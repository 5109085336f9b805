/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "training/megatron_options.h"

#include "training/rows.h"

#define NUMBER(option, field) FIELD(option, IMPORT_INT, field, .min = 1)
#define FRACTION(option, field) FIELD(option, IMPORT_FRACTION, field, .min = 0)
#define TAKEN(option, field, number) FIELD(option, IMPORT_FRACTION, field, .standard = number)
#define FLAG(option, field) FIELD(option, IMPORT_FLAG, field, .min = 0)
#define LIST(option, field) FIELD(option, IMPORT_LIST, field, .min = 0)
#define HINT(option, field) FIELD(option, IMPORT_HINT, field, .min = 0)

static const char *const positions[] = {"learned_absolute", "rope", "none", "relative", NULL};
static const char *const norms[] = {"RMSNorm", "LayerNorm", NULL};
static const char *const backends[] = {"auto", "flash", "fused", "unfused", "local", NULL};
static const char *const implementations[] = {"local", "transformer_engine", "inference_optimized",
                                              NULL};
static const char *const scores[] = {"softmax", "sigmoid", NULL};
static const char *const comms[] = {"p2p", "a2a", "all_gather", "allgather", NULL};
static const char *const strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params",
                                         NULL};
static const char *const granularities[] = {"full", "selective", NULL};
static const char *const methods[] = {"uniform", "block", NULL};
static const char *const optimizers[] = {"adam", "sgd", NULL};
static const char *const types[] = {"fp32", "bf16", "fp16", NULL};

static const char *const fsdp_types[] = {"auto", "fp32", "bf16", "fp16", NULL};
static const char *const formats[] = {"hybrid", "e4m3", NULL};
static const char *const recipes[] = {"delayed", "tensorwise", "blockwise", "mxfp8", NULL};
static const char *const e2m1[] = {"e2m1", NULL};

/* Words for what a scenario plans anyway. */
static const char *const nvfp4[] = {"nvfp4", NULL};
static const char *const zero[] = {"0", NULL};
static const char *const fp32[] = {"fp32", NULL};
static const char *const exchanges[] = {"alltoall", "alltoall_seq", "flex", NULL};
static const char *const by_nodes[] = {"deepep", "hybridep", NULL};
static const char *const loss_kernels[] = {"native", "te", "linear", NULL};
static const char *const decoder[] = {"gpt", NULL};
static const char *const automatic[] = {"auto", "fp32", NULL};
static const char *const no_shard[] = {"no_shard", NULL};

#define OTHER_BITS "FP8 matmuls are given by --fp8-format and --fp8-recipe; remove it"
#define ONE_PIPELINE "several pipelines or layouts are not supported; remove it"
#define ELSEWHERE "reads options from another file; give those options in the command and remove it"
#define NO_MODEL "these layers are not modelled; remove it to plan without them"
#define OF_TRAINING "not an option of training; expected a training command"
#define NO_ACTIVATION "this activation is not modelled; remove it to plan gelu, or use --swiglu"
#define GONE "removed from Megatron-LM; expected "
#define NO_TRICK "not modelled; remove it to plan without it"

const struct import_option megatron_options[] = {
    /* ---- the model ---- */
    NUMBER("--num-layers", layers),
    NUMBER("--hidden-size", d_model),
    NUMBER("--ffn-hidden-size", d_ff),
    NUMBER("--num-attention-heads", heads),
    NUMBER("--kv-channels", head_dim),
    FLAG("--group-query-attention", grouped),
    NUMBER("--num-query-groups", kv_heads),
    NUMBER("--vocab-size", given_vocab),
    NUMBER("--padded-vocab-size", padded_vocab),
    NUMBER("--make-vocab-size-divisible-by", divisor),
    NUMBER("--seq-length", seq),
    NUMBER("--encoder-seq-length", seq),
    NUMBER("--max-position-embeddings", positions),
    WORD("--position-embedding-type", position, positions),
    FLAG("--use-rotary-position-embeddings", rotary),
    FLAG("--no-position-embedding", unpositioned),
    FLAG("--rotary-interleaved", interleaved),
    FRACTION("--rotary-base", theta),
    FLAG("--use-rope-scaling", scaled),
    FRACTION("--rope-scaling-factor", rope_factor),
    TEXT("--window-size", window_size),
    WORD("--normalization", norm, norms),
    FRACTION("--norm-epsilon", norm_eps),
    FLAG("--swiglu", swiglu),
    FLAG("--disable-bias-linear", unbiased),
    FLAG("--add-qkv-bias", qkv_bias),
    FLAG("--untie-embeddings-and-output-weights", untied),
    WORD("--attention-backend", backend, backends),
    WORD("--transformer-impl", implementation, implementations),
    FLAG("--use-flash-attn", flash),
    FRACTION("--attention-dropout", dropout[0]),
    FRACTION("--hidden-dropout", dropout[1]),
    FLAG("--bf16", bf16),
    FLAG("--fp16", fp16),
    NUMBER("--encoder-num-layers", encoder_layers),
    NUMBER("--decoder-num-layers", decoder_layers),
    NUMBER("--decoder-seq-length", decoder_seq),
    NUMBER("--relative-attention-num-buckets", buckets),
    NUMBER("--relative-attention-max-distance", distance),
    REFUSED("--bert-no-binary-head", "BERT (bidirectional attention) is not modelled; expected a "
                                     "decoder program"),
    FLAG("--qk-layernorm", qk_norm),
    FLAG("--multi-latent-attention", latent),
    NUMBER("--kv-lora-rank", kv_rank),
    NUMBER("--q-lora-rank", q_rank),
    NUMBER("--qk-head-dim", latent_head),
    NUMBER("--qk-pos-emb-head-dim", rope_dim),
    NUMBER("--v-head-dim", value_dim),
    HINT("--tokenizer-type", tokenizer),
    HINT("--tokenizer-model", tokenizer_model),
    HINT("--merge-file", merge_file),
    REFUSED("--attention-output-gate --experimental-attention-variant --linear-attention-freq "
            "--moe-latent-size --moe-shared-expert-gate --mamba-head-dim --mamba-num-groups "
            "--mamba-num-heads --mamba-state-dim --flextron",
            NO_MODEL),
    REFUSED("--img-h --img-w --patch-dim --vision-pretraining", "vision models are not modelled"),
    UNLESS("--model-provider", decoder, "expected gpt"),
    REFUSED("--num-tokens-to-generate --prompts --prompt-file --perform-rl-step", OF_TRAINING),
    REFUSED("--grpo-",
            "rollouts of reinforcement learning are not read from a job; remove it to plan the "
            "training step alone"),
    REFUSED("--export-kd-cfg --export-kd-teacher-load --logits-load-dir",
            "distillation from a teacher model is not modelled; remove it"),
    REFUSED("--freeze-all-layers", "frozen layers are not read from a job; remove it to train all "
                                   "parameters"),
    REFUSED("--window-attn-skip-freq", "every layer has the same window; remove it to plan without "
                                       "skipping"),
    REFUSED("--heterogeneous-layers-config-path --heterogeneous-layers-config-encoded-json",
            ELSEWHERE),
    REFUSED("--spec", "per-layer configurations are not read; name the model with --model"),
    REFUSED("--yaml-cfg --use-checkpoint-args --use-mp-args-from-checkpoint-args", ELSEWHERE),
    REFUSED("--is-hybrid-model --hybrid-attention-ratio --hybrid-mlp-ratio --hybrid-layer-pattern "
            "--hybrid-override-pattern",
            NO_MODEL),
    REFUSED("--squared-relu --quick-geglu", NO_ACTIVATION),
    WORD("--fp8-format", fp8_format, formats),
    WORD("--fp8-recipe", fp8_recipe, recipes),
    WORD("--fp4-format", fp4_format, e2m1),
    UNLESS("--fp4-recipe", nvfp4, "expected nvfp4"),
    FLAG("--fp8-param-gather", fp8_gathers),
    FLAG("--first-last-layers-bf16", bf16_ends),
    FIELD("--num-layers-at-start-in-bf16", IMPORT_INT, bf16_first, .min = 0),
    FIELD("--num-layers-at-end-in-bf16", IMPORT_INT, bf16_last, .min = 0),
    UNLESS("--fp8-margin", zero, "the FP8 margin is not modelled; remove it"),
    REFUSED("--no-fp8-wgrad", "weight-gradient matmuls are planned in FP8, too; remove it"),
    REFUSED("--fp8-param --fp8-e4m3 --fp8-hybrid --transformer-engine-fp8",
            GONE "--fp8-format, --fp8-recipe and --fp8-param-gather"),
    REFUSED("--reuse-grad-buf-for-mxfp8-param-ag --te-precision-config-file --fp4-param-gather "
            "--kitchen-config-file --kitchen-recipe-number",
            OTHER_BITS),
    REFUSED("--fp32-residual-connection",
            "the residual stream has the type of the model; remove it"),
    REFUSED("--fp16-lm-cross-entropy", "the loss is planned in float32; remove it"),
    FIELD("--mtp-num-layers", IMPORT_INT, mtp, .min = 0),
    FRACTION("--mtp-loss-scaling-factor", mtp_weight),
    /* ---- experts ---- */
    NUMBER("--num-experts", experts),
    NUMBER("--moe-router-topk", top_k),
    NUMBER("--moe-ffn-hidden-size", expert_d_ff),
    TEXT("--moe-layer-freq", layer_freq),
    NUMBER("--moe-shared-expert-intermediate-size", shared_d_ff),
    WORD("--moe-router-score-function", score, scores),
    FLAG("--moe-router-pre-softmax", pre_softmax),
    NUMBER("--moe-router-num-groups", groups),
    NUMBER("--moe-router-group-topk", kept),
    FRACTION("--moe-router-topk-scaling-factor", scale),
    FLAG("--moe-router-enable-expert-bias", expert_bias),
    FRACTION("--moe-aux-loss-coeff", aux_loss),
    FRACTION("--moe-z-loss-coeff", z_loss),
    FRACTION("--moe-expert-capacity-factor", capacity),
    FLAG("--moe-router-force-load-balancing", balanced),
    WORD("--moe-token-dispatcher-type", dispatcher, exchanges),
    FLAG("--moe-layer-recompute", moe_again),
    REFUSED("--moe-extended-tp", "experts are sharded like the MLP; remove it"),
    REFUSED("--moe-router-topk-limited-devices",
            GONE "--moe-router-num-groups and --moe-router-group-topk"),
    FLAG("--moe-enable-deepep", deepep),
    WORD("--moe-flex-dispatcher-backend", flexible, by_nodes),
    UNSAID("--overlap-moe-expert-parallel-comm",
           "Megatron-LM overlaps the experts' all-to-all with another microbatch's computation, "
           "the plan exposes it: the step is shorter than planned"),
    UNSAID("--delay-wgrad-compute",
           "Megatron-LM delays weight gradients to overlap communication, not modelled: the step "
           "is shorter than planned"),
    /* ---- devices ---- */
    NUMBER("--nnodes", nodes),
    NUMBER("--nproc-per-node", node_devices),
    NUMBER("--nproc_per_node", node_devices),
    NUMBER("--tensor-model-parallel-size", tensor),
    FLAG("--sequence-parallel", sequence),
    NUMBER("--pipeline-model-parallel-size", stages),
    NUMBER("--num-virtual-stages-per-pipeline-rank", virtual_stages),
    NUMBER("--num-layers-per-virtual-pipeline-stage", stage_depth),
    NUMBER("--microbatch-group-size-per-virtual-pipeline-stage", schedule_group),
    NUMBER("--decoder-first-pipeline-num-layers", first_depth),
    NUMBER("--decoder-last-pipeline-num-layers", last_depth),
    FLAG("--account-for-embedding-in-pipeline-split", count_embedding),
    FLAG("--account-for-loss-in-pipeline-split", count_loss),
    NUMBER("--context-parallel-size", context),
    WORD("--cp-comm-type", comm, comms),
    NUMBER("--expert-model-parallel-size", expert_devices),
    NUMBER("--expert-tensor-parallel-size", expert_tensor),
    NUMBER("--num-distributed-optimizer-instances", replicas),
    FLAG("--use-tp-pp-dp-mapping", data_outside),
    FLAG("--use-distributed-optimizer", distributed),
    FLAG("--use-megatron-fsdp", fsdp),
    FLAG("--use-custom-fsdp", fsdp),
    WORD("--data-parallel-sharding-strategy", strategy, strategies),
    FLAG("--use-torch-fsdp2", fsdp2),
    FLAG("--torch-fsdp2-no-reshard-after-forward", unshard_once),
    UNLESS("--outer-dp-sharding-strategy", no_shard, NO_TRICK),
    UNLESS("--encoder-tensor-model-parallel-size", zero, ONE_PIPELINE),
    UNLESS("--encoder-pipeline-model-parallel-size", zero, ONE_PIPELINE),
    TEXT("--pipeline-model-parallel-layout", stage_layout),
    REFUSED("--pipeline-model-parallel-split-rank", ONE_PIPELINE),
    FLAG("--standalone-embedding-stage", embedding_alone),
    REFUSED("--model-parallel-size", GONE "--tensor-model-parallel-size"),
    REFUSED("--hierarchical-context-parallel-sizes",
            "context parallelism over several axes or methods is not supported; remove it"),
    REFUSED("--overlap-p2p-communication-warmup-flush --defer-embedding-wgrad-compute "
            "--enable-full-sharding-in-hsdp",
            NO_TRICK),
    UNSAID("--fsdp-double-buffer",
           "Megatron-LM keeps two buffers of gathered parameters for the whole step: slightly more "
           "memory than planned"),
    /* ---- the batch and memory ---- */
    NUMBER("--micro-batch-size", sequences),
    NUMBER("--global-batch-size", batch),
    WORD("--recompute-granularity", recompute, granularities),
    FLAG("--recompute-activations", selective),
    WORD("--recompute-method", method, methods),
    WORD("--activations-checkpoint-method", old_method, methods),
    NUMBER("--recompute-num-layers", recompute_layers),
    NUMBER("--activations-checkpoint-num-layers", recompute_layers),
    LIST("--recompute-modules", modules),
    REFUSED("--batch-size", GONE "--micro-batch-size"),
    LIST("--rampup-batch-size", rampup),
    LIST("--step-batch-size-schedule", batches),
    REFUSED("--decrease-batch-size-if-needed", "a scenario has one batch size; remove it"),
    REFUSED("--checkpoint-activations",
            GONE "--recompute-granularity full --recompute-method uniform"),
    REFUSED("--distribute-saved-activations",
            "saved activations are sharded with --sequence-parallel only; add it"),
    /* ---- the optimizer ---- */
    WORD("--optimizer", optimizer, optimizers),
    FRACTION("--lr", lr),
    TAKEN("--weight-decay", weight_decay, "0.01"),
    TAKEN("--clip-grad", clip, "1.0"),
    FRACTION("--adam-beta1", betas[0]),
    FRACTION("--adam-beta2", betas[1]),
    FRACTION("--adam-eps", eps),
    FRACTION("--sgd-momentum", momentum),
    NUMBER("--loss-scale", loss_scale),
    NUMBER("--initial-loss-scale", loss_scale),
    NUMBER("--loss-scale-window", loss_scale_window),
    FLAG("--accumulate-allreduce-grads-in-fp32", full_sums),
    FLAG("--grad-reduce-in-bf16", half_sums),
    FLAG("--use-precision-aware-optimizer", aware),
    WORD("--main-grads-dtype", grads, types),
    UNLESS("--main-params-dtype", fp32, "parameters are updated in float32; remove it"),
    WORD("--exp-avg-dtype", moment, types),
    WORD("--exp-avg-sq-dtype", second_moment, types),
    UNLESS("--megatron-fsdp-main-params-dtype", automatic,
           "parameters are updated in float32; remove it"),
    WORD("--megatron-fsdp-main-grads-dtype", grads, fsdp_types),
    WORD("--megatron-fsdp-grad-comm-dtype", summed_type, fsdp_types),
    FLAG("--optimizer-cpu-offload", offload_state),
    FIELD("--optimizer-offload-fraction", IMPORT_FRACTION, offload_fraction, .min = 0),
    FIELD("--cpu-offloading-num-layers", IMPORT_INT, offload_layers, .min = 0),
    FLAG("--fine-grained-activation-offloading", fine_grained_offload),
    LIST("--offload-modules", offload_modules),
    QUIET("--cpu-offloading"),
    /* ---- torchrun ---- */
    QUIET("--local-ranks-filter --local_ranks_filter --log-dir --log_dir --master-addr "
          "--master-port --master_addr --master_port --max-restarts --max_restarts --module "
          "--monitor-interval --monitor_interval --no-python --no_python --node-rank --node_rank "
          "--rdzv-backend --rdzv-conf --rdzv-endpoint --rdzv-id --rdzv_backend --rdzv_conf "
          "--rdzv_endpoint --rdzv_id --redirects --run-path --run_path --standalone --start-method "
          "--start_method --tee"),
    /* ---- the schedule of the learning rate, steps and seeds ---- */
    QUIET("--calculate-per-token-loss --data-parallel-random-init --decoupled-lr "
          "--decoupled-min-lr --embedding-init-method-std --end-weight-decay --hysteresis "
          "--init-method-std --init-method-xavier-uniform --init-model-with-meta-device "
          "--iterations-to-skip --lr-decay-iters --lr-decay-samples --lr-decay-style "
          "--lr-warmup-fraction --lr-warmup-init --lr-warmup-iters --lr-warmup-samples "
          "--lr-wsd-decay-iters --lr-wsd-decay-samples --lr-wsd-decay-style --min-loss-scale "
          "--min-lr --no-initialization --override-opt-param-scheduler "
          "--override-opt_param-scheduler --seed --start-weight-decay --train-iters "
          "--train-samples --use-checkpoint-opt-param-scheduler "
          "--use-checkpoint-opt_param-scheduler --use-cpu-initialization --warmup "
          "--weight-decay-incr-style"),
    /* ---- the tokenizer and data ---- */
    QUIET("--fim-"),
    QUIET("--dataloader-defer-npy-index-mmap --dataloader-fast-cache-load "
          "--no-use-tokenizer-model-from-checkpoint-args --per-dataset-sequences-path "
          "--allow-ambiguous-pad-tokens --data-args-path --data-cache-path --data-impl --data-path "
          "--dataloader-type --eod-mask-loss --legacy-tokenizer --mask-prob "
          "--mid-level-dataset-surplus --mock-data --no-create-attention-mask-in-dataloader "
          "--no-mmap-bin-files --num-dataset-builder-threads --num-workers "
          "--object-storage-cache-path --per-split-data-args-path --renormalize-blend-weights "
          "--reset-attention-mask --reset-position-ids --retriever-seq-length --s3-cache-path "
          "--sample-rate --sft --sft-tokenizer-prompt-format --short-seq-prob --split "
          "--test-data-path --tiktoken-num-special-tokens --tiktoken-pattern "
          "--tiktoken-special-tokens --tokenizer-hf-include-special-tokens --tokenizer-metadata "
          "--train-data-path --trust-remote-code --valid-data-path --vocab-extra-ids --vocab-file"),
    /* ---- evaluation, checkpoints, logs ---- */
    QUIET("--async-ckpt-use-cpu-shm --async-strategy --ckpt-drop-redundant-extra-state "
          "--ckpt-fully-parallel-load-per-rank-objects --no-ckpt-load-validate-sharding-integrity "
          "--dist-ckpt-workers --eval-global-batch-size --export-default-te-spec "
          "--export-model-type --export-te-mcore-model"),
    QUIET("--inprocess-"),
    QUIET("--log-memory-interval"),
    QUIET("--logits-save-"),
    QUIET("--no-record-throughput"),
    QUIET("--otel-"),
    QUIET("--verify-integrity --override-ckpt-iteration --adlr-autoresume "
          "--adlr-autoresume-interval --app-tag-run-name --app-tag-run-version --async-save "
          "--auto-detect-ckpt-format --calc-ft-timeouts --check-for-large-grads "
          "--check-for-nan-in-loss-and-grad --check-for-spiky-loss "
          "--check-weight-hash-across-dp-replicas-interval --ckpt-assume-constant-structure "
          "--ckpt-convert-format --ckpt-convert-save --ckpt-convert-update-legacy-dist-opt-format "
          "--ckpt-format --ckpt-fully-parallel-load --ckpt-fully-parallel-save --ckpt-step "
          "--config-logger-dir --disable-straggler-on-startup --dist-ckpt-format "
          "--dist-ckpt-optim-fully-reshardable --dist-ckpt-save-pre-mcore-014 "
          "--dist-ckpt-strictness --enable-ft-package --error-injection-rate "
          "--error-injection-type --eval-interval --eval-iters --exit-duration-in-mins "
          "--exit-interval --exit-on-missing-checkpoint --exit-signal-handler --finetune "
          "--full-validation --inprocess-restart --load --load-main-params-from-ckpt "
          "--log-batch-size-to-tensorboard --log-energy --log-interval "
          "--log-learning-rate-to-tensorboard --log-loss-scale-to-tensorboard "
          "--log-memory-to-tensorboard --log-num-zeros-in-grad --log-params-norm --log-progress "
          "--log-straggler --log-throughput --log-timers-to-tensorboard "
          "--log-validation-ppl-to-tensorboard --log-world-size-to-tensorboard --logging-level "
          "--memory-snapshot-path --moe-per-layer-logging --multiple-validation-sets "
          "--no-barrier-with-level-1-timing --no-check-for-nan-in-loss-and-grad "
          "--no-ckpt-fully-parallel-save --no-load-optim --no-load-rng "
          "--no-log-loss-scale-to-tensorboard --no-one-logger --no-save-optim --no-save-rng "
          "--no-strict-fsdp-dtensor-load --non-persistent-ckpt-type "
          "--non-persistent-global-ckpt-dir --non-persistent-local-ckpt-algo "
          "--non-persistent-local-ckpt-dir --non-persistent-save-interval --one-logger-async "
          "--one-logger-project --one-logger-run-name --persistent-save-interval "
          "--pretrained-checkpoint --profile --profile-ranks --profile-step-end "
          "--profile-step-start --record-memory-history --replication --replication-factor "
          "--replication-jump --rerun-mode --result-rejected-tracker-filename "
          "--run-workload-inspector-server --save --save-interval --save-retain-interval "
          "--skip-train --straggler-ctrlr-port --straggler-minmax-count --tensorboard-dir "
          "--tensorboard-log-interval --tensorboard-queue-size --test-mode --timing-log-level "
          "--timing-log-option --use-dist-ckpt --use-persistent-ckpt-worker --use-pytorch-profiler "
          "--wandb-entity --wandb-exp-name --wandb-project --wandb-save-dir"),
    /* ---- how a process runs ---- */
    QUIET("--cuda-graph-"),
    QUIET("--enable-cuda-graph --external-cuda-graph"),
    QUIET("--inference-"),
    QUIET("--use-nccl-ub --refit-method --use-transformer-engine-op-fuser --deterministic-mode "
          "--disable-gloo-process-groups --disable-msc --distributed-backend "
          "--distributed-timeout-minutes --distributed-timeout-seconds-after-init "
          "--empty-unused-memory-level --enable-experimental --enable-msc "
          "--high-priority-stream-groups --lazy-mpu-init --local-rank --manual-gc "
          "--manual-gc-interval --nccl-communicator-config-path --no-manual-gc-eval "
          "--pipeline-model-parallel-comm-backend --sharp-enabled-group "
          "--tp-comm-bootstrap-backend --train-sync-interval --use-legacy-models "
          "--use-mcore-models --use-ring-exchange-p2p --use-sharp"),
    /* ---- transfers that go beside work, and in which pieces: the same bytes ---- */
    FLAG("--overlap-grad-reduce", overlap_sums),
    FLAG("--overlap-param-gather", overlap_gathers),
    FLAG("--tp-comm-overlap", overlap_products),
    FLAG("--no-overlap-p2p-communication", blocked_sends),
    FLAG("--cross-entropy-loss-fusion", fused_loss),
    WORD("--cross-entropy-fusion-impl", loss_kernel, loss_kernels),
    FLAG("--no-bias-swiglu-fusion", split_activation),
    QUIET("--DDP-impl"), /* until 2022 */
    QUIET("--align-grad-reduce --align-param-gather --ddp-average-in-collective --ddp-bucket-size "
          "--ddp-num-buckets --ddp-pad-buckets-for-high-nccl-busbw --disable-tp-comm-bulk-dgrad "
          "--disable-tp-comm-bulk-wgrad --disable-tp-comm-overlap-ag --disable-tp-comm-overlap-rs "
          "--disable-tp-comm-split-ag --disable-tp-comm-split-rs --moe-shared-expert-overlap "
          "--no-align-grad-reduce --no-align-param-gather "
          "--no-async-tensor-model-parallel-allreduce --no-gradient-reduce-div-fusion "
          "--overlap-param-gather-with-optimizer-step --suggested-communication-unit-size "
          "--tp-comm-overlap-cfg --tp-comm-overlap-rs-dgrad"),
    /* ---- kernels and how values are computed ---- */
    QUIET("--muon-"),
    QUIET("--use-mup"),
    QUIET("--mup-"),
    QUIET("--moe-enable-routing-replay --use-flashinfer-fused-rope --moe-hybridep-num-sms "
          "--moe-flex-dispatcher-num-sms --moe-router-padding-for-quantization "
          "--use-fused-weighted-squared-relu"),
    QUIET("--yarn-"),
    QUIET("--no-yarn-correction-range-round-to-int --mla-down-proj-fusion "
          "--activation-func-clamp-value --apply-layernorm-1p --apply-query-key-layer-scaling "
          "--apply-residual-connection-post-layernorm --attention-softmax-in-fp32 "
          "--disable-bf16-reduced-precision-matmul --glu-linear-offset "
          "--export-moe-apply-probs-on-input --moe-apply-probs-on-input --moe-deepep-num-sms "
          "--moe-grouped-gemm --moe-input-jitter-eps --moe-permute-fusion "
          "--moe-router-bias-update-rate --moe-router-dtype --moe-router-fusion "
          "--moe-router-load-balancing-type --moe-token-drop-policy --moe-upcycling-granularity "
          "--moe-use-legacy-grouped-gemm --moe-use-upcycling --mscale --mscale-all-dim "
          "--no-bias-dropout-fusion --no-bias-gelu-fusion --no-clone-scatter-output-in-embedding "
          "--no-gradient-accumulation-fusion --no-masked-softmax-fusion --no-persist-layer-norm "
          "--no-rope-freq --no-rope-fusion --onnx-safe --openai-gelu --rope-type --rotary-percent "
          "--rotary-scaling-factor --rotary-seq-len-interpolation-factor --softmax-type "
          "--te-rng-tracker --use-te-activation-func"),
    /* ---- of options that are errors here themselves ---- */
    QUIET("--apply-wd-to-qk-layernorm"),
    QUIET("--dsa-"),
    QUIET("--linear-"),
    QUIET("--rl-"),
    QUIET("--langrl-env-config --mtp-use-repeated-layer --fp8-amax-compute-algo "
          "--fp8-amax-history-len --fp8-interval --no-pin-cpu-grads --no-pin-cpu-params "
          "--overlap-cpu-optimizer-d2h-h2d --use-torch-optimizer-for-cpu-offload "
          "--wgrad-deferral-limit"),
    {.name = NULL},
};

_Static_assert(sizeof megatron_options / sizeof *megatron_options <= IMPORT_OPTIONS_MAX,
               "each row has its flag");

void megatron_set(struct import_job *job, const char *name, const char *value, struct place place,
                  struct place of_value, struct diag *diag)
{
    const struct import_option *option = import_option_find(megatron_options, name);

    if (!option)
        import_job_unknown(job, megatron_options, name, place, diag);
    else {
        job->name_place = place;
        import_job_set(job, megatron_options, option, name, value, value ? of_value : place, diag);
    }
}
