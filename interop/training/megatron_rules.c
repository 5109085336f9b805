/* Rules that Megatron-LM checks when it runs and not when it parses: validate_args() of
 * megatron/training/arguments.py, __post_init__() of TransformerConfig, and schedules.py.  A job
 * that breaks a rule stops there, so that no plan of it is right.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "training/megatron.h"

static bool is_full(const struct import_job *j)
{
    return j->recompute && !strcmp(j->recompute, "full");
}

static bool uneven_layers(const struct import_job *j)
{
    bool given = j->stage_layout.text || j->first_depth > 0 || j->last_depth > 0 ||
                 j->count_embedding || j->count_loss || j->embedding_alone;

    return j->layers > 0 && !j->t5 && !given && j->layers % j->stages;
}

static bool uneven_context(const struct import_job *j)
{
    return j->context > 1 && j->seq % (2 * j->context);
}

static bool uneven_groups(const struct import_job *j)
{
    return j->grouped && j->kv_heads > 0 && j->kv_heads % j->tensor && j->tensor % j->kv_heads;
}

static bool short_positions(const struct import_job *j)
{
    return j->positions > 0 && j->positions < j->seq;
}

static bool gathers_alone(const struct import_job *j)
{
    return j->overlap_gathers && !j->overlap_sums;
}

static bool gathers_nothing(const struct import_job *j)
{
    return j->overlap_gathers && !j->distributed && !j->fsdp;
}

static bool overlaps_whole_tokens(const struct import_job *j)
{
    return j->overlap_products && (!j->sequence || j->tensor == 1);
}

static bool experts_of_nothing(const struct import_job *j)
{
    return j->expert_devices > 1 && j->experts == 0;
}

static bool experts_of_whole_tokens(const struct import_job *j)
{
    return j->experts > 0 && j->tensor > 1 && !j->sequence;
}

static bool biased_experts(const struct import_job *j)
{
    return j->experts > 0 && !j->size && !j->unbiased && j->tensor > 1 &&
           !import_job_is_expert_whole(j);
}

static bool biased_softmax(const struct import_job *j)
{
    return j->expert_bias && (!j->score || strcmp(j->score, "sigmoid") != 0);
}

static bool softmax_of_one(const struct import_job *j)
{
    return j->experts > 0 && j->top_k == 1 && !j->pre_softmax &&
           (!j->score || !strcmp(j->score, "softmax"));
}

static bool kept_without_groups(const struct import_job *j)
{
    return j->kept > 0 && j->groups == 0;
}

static bool latent_groups(const struct import_job *j)
{
    return j->latent && j->grouped;
}

static bool full_without_method(const struct import_job *j)
{
    return is_full(j) && !j->method && !j->old_method;
}

static bool selective_with_method(const struct import_job *j)
{
    return j->recompute && !strcmp(j->recompute, "selective") && j->method;
}

static bool offloads_in_stages(const struct import_job *j)
{
    return j->offload_layers > 0 && j->stages > 1;
}

static bool offloads_and_recomputes(const struct import_job *j)
{
    return j->offload_layers > 0 && (j->recompute || j->selective || j->old_method);
}

static bool offloads_unaware(const struct import_job *j)
{
    return j->offload_state && !j->aware;
}

static bool fsdp2_in_stages(const struct import_job *j)
{
    return j->fsdp2 && j->stages > 1;
}

static bool fsdp2_of_experts(const struct import_job *j)
{
    return j->fsdp2 && j->expert_devices > 1;
}

static bool fsdp2_and_distributed(const struct import_job *j)
{
    return j->fsdp2 && j->distributed;
}

static bool fsdp2_of_fp16(const struct import_job *j)
{
    return j->fsdp2 && j->fp16;
}

static bool gathers_codes_whole(const struct import_job *j)
{
    return j->fp8_gathers && !j->distributed && !j->fsdp && !j->fsdp2;
}

static bool delayed_ends(const struct import_job *j)
{
    return j->bf16_ends && j->fp8_format && (!j->fp8_recipe || !strcmp(j->fp8_recipe, "delayed"));
}

static bool one_connection(const struct import_job *j)
{
    return (j->fsdp || j->fsdp2) && j->connections == 1;
}

/* What stops a job; `options` (base/words.h): at the first of these that was given. */
static const struct {
    bool (*is_broken)(const struct import_job *job);
    const char *options, *what;
} rules[] = {
    {uneven_layers, "--pipeline-model-parallel-size --num-layers",
     "layers are not a multiple of the pipeline stages; expected --pipeline-model-parallel-size to "
     "divide --num-layers, or --decoder-first-pipeline-num-layers, "
     "--decoder-last-pipeline-num-layers or --pipeline-model-parallel-layout"},
    {uneven_context, "--context-parallel-size --seq-length",
     "expected --seq-length to be a multiple of twice --context-parallel-size"},
    {uneven_groups, "--num-query-groups --tensor-model-parallel-size",
     "expected --num-query-groups to be a multiple or a divisor of --tensor-model-parallel-size"},
    {short_positions, "--max-position-embeddings",
     "expected --max-position-embeddings of at least --seq-length"},
    {gathers_nothing, "--overlap-param-gather",
     "--overlap-param-gather needs a sharded optimizer; add --use-distributed-optimizer or "
     "--use-megatron-fsdp"},
    {gathers_alone, "--overlap-param-gather",
     "--overlap-param-gather needs --overlap-grad-reduce; expected both"},
    {overlaps_whole_tokens, "--tp-comm-overlap",
     "--tp-comm-overlap needs sequence parallelism; expected --sequence-parallel and "
     "--tensor-model-parallel-size above 1"},
    {experts_of_nothing, "--expert-model-parallel-size",
     "--expert-model-parallel-size needs experts; add --num-experts"},
    {experts_of_whole_tokens, "--tensor-model-parallel-size --num-experts",
     "experts with tensor parallelism need sequence parallelism; add --sequence-parallel"},
    {biased_experts, "--num-experts",
     "tensor-parallel experts must not have biases; expected --disable-bias-linear or "
     "--expert-tensor-parallel-size 1"},
    {biased_softmax, "--moe-router-enable-expert-bias",
     "--moe-router-enable-expert-bias with softmax; expected --moe-router-score-function sigmoid"},
    {softmax_of_one, "--moe-router-topk",
     "softmax over the top 1 expert is always 1; add --moe-router-pre-softmax"},
    {kept_without_groups, "--moe-router-group-topk",
     "--moe-router-group-topk needs groups; add --moe-router-num-groups"},
    {latent_groups, "--group-query-attention",
     "--group-query-attention and --multi-latent-attention exclude each other; expected one"},
    {full_without_method, "--recompute-granularity",
     "--recompute-granularity full needs a method; expected --recompute-method uniform or block, "
     "and --recompute-num-layers"},
    {selective_with_method, "--recompute-method",
     "--recompute-method is for --recompute-granularity full only; remove it, or expected full"},
    {offloads_in_stages, "--cpu-offloading-num-layers",
     "--cpu-offloading-num-layers does not support pipelines; expected "
     "--pipeline-model-parallel-size 1"},
    {offloads_and_recomputes, "--cpu-offloading-num-layers",
     "--cpu-offloading-num-layers and recomputation exclude each other; expected one"},
    {offloads_unaware, "--optimizer-cpu-offload",
     "--optimizer-cpu-offload needs --use-precision-aware-optimizer; expected both"},
    {fsdp2_in_stages, "--use-torch-fsdp2",
     "--use-torch-fsdp2 does not support pipelines; expected --pipeline-model-parallel-size 1"},
    {fsdp2_of_experts, "--use-torch-fsdp2",
     "--use-torch-fsdp2 does not support expert parallelism; expected --expert-model-parallel-size "
     "1"},
    {fsdp2_and_distributed, "--use-torch-fsdp2",
     "--use-torch-fsdp2 and --use-distributed-optimizer exclude each other; expected one"},
    {fsdp2_of_fp16, "--use-torch-fsdp2",
     "--use-torch-fsdp2 does not support --fp16; expected --bf16"},
    {gathers_codes_whole, "--fp8-param-gather",
     "--fp8-param-gather needs sharded parameters or optimizer state; add "
     "--use-distributed-optimizer"},
    {delayed_ends, "--first-last-layers-bf16",
     "--first-last-layers-bf16 does not support delayed scaling; expected --fp8-recipe tensorwise, "
     "blockwise or mxfp8"},
    {one_connection, "CUDA_DEVICE_MAX_CONNECTIONS",
     "FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1; expected another value, or unset"},
};

void megatron_check_rules(const struct import_job *job, struct diag *diag)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_broken(job))
            diag_error(diag, import_job_place_named(job, rules[i].options), "Megatron-LM stops: %s",
                       rules[i].what);
}
