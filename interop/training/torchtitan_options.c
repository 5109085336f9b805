/* torchtitan's options: a row each, with the field that its value goes to (torchtitan.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "training/torchtitan.h"

#include "training/rows.h"

#define NUMBER(option, field, least) FIELD(option, IMPORT_INT, field, .min = least)
#define SIZE(option, field, taken) FIELD(option, IMPORT_INT, field, .min = 1, .standard = taken)
#define FRACTION(option, field, taken) FIELD(option, IMPORT_FRACTION, field, .standard = taken)

static const char *const types[] = {"float32", "bfloat16", NULL};
static const char *const rotations[] = {"allgather", "alltoall", NULL};
static const char *const balancers[] = {"headtail", "ptrr", "null", NULL};
static const char *const modes[] = {"none", "full", "selective", NULL};
static const char *const truths[] = {"false", "true", NULL};
static const char *const reshards[] = {"default", "always", "never", NULL};
static const char *const optimizers[] = {"AdamW", "Adam", NULL};
static const char *const implementations[] = {"for-loop", "foreach", "fused",
                                              "fused_opt_states_bf16", NULL};

static const char *const recipes[] = {"tensorwise", "rowwise", NULL};
static const char *const mx_recipes[] = {"mxfp8", "mxfp8_cublas", "mxfp8_cublas_rceil",
                                         "mxfp8_emulated", NULL};

/* Words for what a scenario plans anyway. */
static const char *const no[] = {"false", "", NULL};
static const char *const yes[] = {"true", NULL};
static const char *const empty[] = {"[]", "", NULL};
static const char *const gate[] = {"[]", "[\"moe.router.gate\"]", NULL};
static const char *const no_file[] = {"", "null", NULL};
static const char *const nothing[] = {"null", NULL};
static const char *const standard[] = {"standard", "default", NULL};
static const char *const sharded[] = {"fsdp", NULL};
static const char *const causal[] = {"causal", NULL};
static const char *const rms[] = {"rmsnorm", "fused_rmsnorm", "compiled_rmsnorm", NULL};

#define OLD_BITS \
    "FP8 matmuls are planned from model.converters [\"float8\"]; expected that option, or none"
#define OTHER_BITS "expected mxfp8, or mxfp8_cublas and the like"
#define NO_TRICK "not modelled; remove it to plan without it"
#define LOSS_PARALLEL "the loss is planned vocabulary-parallel over tensor parallelism; expected "

/* Keys moved over the years: degrees from training to experimental (2024) to parallelism (March
 * 2025), the batch from batch_size to local_batch_size (June 2025) to tokens (August 2026). */
const struct import_option torchtitan_options[] = {
    /* ---- the model ---- */
    TEXT("model.name", model_name),
    TEXT("model.flavor", flavor),
    TEXT("model.converters", converters),
    UNLESS("model_converters.converters", empty, OLD_BITS),
    UNLESS("model.norm_type", rms, "only RMS norms are modelled; expected rmsnorm"),
    UNLESS("model.attn_mask_type", causal, "only causal attention is modelled; expected causal"),
    QUIET("model.hf_assets_path model.print_after_conversion model.tokenizer_path "
          "model.use_flex_attn"),
    QUIET("model_converters."),
    /* ---- the batch and types ---- */
    SIZE("training.local_batch_size", sequences, "8"),
    NUMBER("training.batch_size", sequences, 1),
    NUMBER("training.num_tokens_per_microbatch_per_dp_rank", tokens, 1),
    NUMBER("training.global_batch_size", batch, -1),
    NUMBER("training.num_tokens_per_train_step", batch_tokens, -1),
    SIZE("training.seq_len", seq, "2048"),
    NUMBER("training.max_context_length", seq, 1),
    WORD("training.mixed_precision_param", type, types),
    FIELD("training.max_norm", IMPORT_LIMIT, clip, .standard = "1.0"),
    WORD("training.mixed_precision_reduce", summed_type, types),
    WORD("training.dtype", kept_type, types),
    WORD("training.enable_cpu_offload", cpu_offload, truths),
    UNLESS("training.fp8_linear", no, OLD_BITS),
    UNLESS("training.enable_fp8_linear", no, OLD_BITS),
    UNLESS("training.enable_float8_linear", no, OLD_BITS),
    UNLESS("training.enable_selective_ac", no,
           "expected the section [activation_checkpoint] with mode"),
    QUIET("training.checkpoint_folder training.checkpoint_interval "
          "training.checkpoint_interval_type"),
    FIELD("training.compile", IMPORT_FLAG, compiled, .min = 0),
    QUIET("training.dataloader."),
    QUIET("training.dataset training.dataset_path training.debug_moe_force_load_balance "
          "training.deterministic training.disable_cuda_graphs "
          "training.enable_fsdp_float8_all_gather training.enable_fsdp_fp8_all_gather "
          "training.gc_debug training.gc_freq training.precompute_float8_dynamic_scale_for_fsdp "
          "training.seed training.steps training.warmup_pct training.warmup_steps"),
    /* ---- the optimizer ---- */
    WORD("optimizer.name", optimizer, optimizers),
    FRACTION("optimizer.lr", lr, "0.0008"),
    FRACTION("optimizer.beta1", betas[0], "0.9"),
    FRACTION("optimizer.beta2", betas[1], "0.95"),
    FRACTION("optimizer.eps", eps, "1e-08"),
    FRACTION("optimizer.weight_decay", weight_decay, "0.1"),
    WORD("optimizer.implementation", implementation, implementations),
    UNSAID_UNLESS("optimizer.early_step_in_backward", no,
                  "torchtitan updates parameters during the backward pass, the plan after it: less "
                  "memory than planned"),
    QUIET("optimizer.fused optimizer.optimizer_factory_kwargs_by_name"),
    /* ---- devices ---- */
    NUMBER("parallelism.data_parallel_replicate_degree", replicas, 1),
    NUMBER("training.data_parallel_replicate_degree", replicas, 1),
    NUMBER("parallelism.data_parallel_shard_degree", shards, -1),
    NUMBER("training.data_parallel_shard_degree", shards, -1),
    NUMBER("training.data_parallel_degree", shards, -1),
    UNLESS("training.data_parallel_type", sharded,
           "expected data_parallel_replicate_degree for replicas, and a shard degree of 1"),
    NUMBER("parallelism.tensor_parallel_degree", tensor, 1),
    NUMBER("training.tensor_parallel_degree", tensor, 1),
    NUMBER("training.sequence_parallel_degree", tensor, 1),
    NUMBER("parallelism.context_parallel_degree", context, 1),
    NUMBER("experimental.context_parallel_degree", context, 1),
    NUMBER("parallelism.expert_parallel_degree", expert_devices, 1),
    NUMBER("parallelism.expert_tensor_parallel_degree", expert_tensor, 1),
    WORD("parallelism.fsdp_reshard_after_forward", reshard, reshards),
    WORD("training.fsdp_reshard_after_forward", reshard, reshards),
    WORD("parallelism.context_parallel_rotate_method", comm, rotations),
    WORD("experimental.context_parallel_rotate_method", comm, rotations),
    WORD("parallelism.context_parallel_load_balancer", balancer, balancers),
    UNLESS("parallelism.enable_sequence_parallel", yes,
           "tokens are planned sharded between layers; expected true"),
    UNLESS("parallelism.disable_loss_parallel", no, LOSS_PARALLEL "false"),
    UNLESS("training.disable_loss_parallel", no, LOSS_PARALLEL "false"),
    UNLESS("training.enable_loss_parallel", yes, LOSS_PARALLEL "true"),
    UNLESS("experimental.torch_spmd", no, "not modelled; expected false"),
    UNLESS("parallelism.expert_parallel_a2a_impl", standard, NO_TRICK),
    UNLESS("parallelism.expert_parallel_comm_backend", standard, NO_TRICK),
    UNLESS("parallelism.hybridep_non_blocking_expert_capacity_factor", nothing, NO_TRICK),
    UNLESS("override.imports", empty, "replaced modules are not read; remove it"),
    /* ---- stages ---- */
    NUMBER("parallelism.pipeline_parallel_degree", stages, 1),
    NUMBER("training.pipeline_parallel_degree", stages, 1),
    NUMBER("experimental.pipeline_parallel_degree", old_stages, 1),
    TEXT("parallelism.pipeline_parallel_schedule", schedule_name),
    TEXT("experimental.pipeline_parallel_schedule", schedule_name),
    NUMBER("parallelism.pipeline_parallel_microbatch_size", microbatch, 1),
    NUMBER("parallelism.pipeline_parallel_microbatches", microbatches, 1),
    NUMBER("experimental.pipeline_parallel_microbatches", microbatches, 1),
    NUMBER("parallelism.num_pp_microbatches", microbatches, 1),
    TEXT("parallelism.module_fqns_per_model_part", stage_modules),
    NUMBER("parallelism.pipeline_parallel_first_stage_less_layers", first_less, 0),
    NUMBER("parallelism.pipeline_parallel_last_stage_less_layers", last_less, 0),
    NUMBER("parallelism.pipeline_parallel_layers_per_stage", stage_depth, 1),
    UNLESS("parallelism.pipeline_parallel_schedule_csv", no_file,
           "expected a schedule by its name, pipeline_parallel_schedule"),
    UNLESS("experimental.pipeline_parallel_schedule_csv", no_file,
           "expected a schedule by its name, pipeline_parallel_schedule"),
    TEXT("parallelism.pipeline_parallel_split_points", split_points),
    TEXT("experimental.pipeline_parallel_split_points", split_points),
    FIELD("parallelism.enable_async_tensor_parallel", IMPORT_FLAG, overlap_products, .min = 0),
    FIELD("experimental.enable_async_tensor_parallel", IMPORT_FLAG, overlap_products, .min = 0),
    FIELD("compile.enable_async_tensor_parallel", IMPORT_FLAG, overlap_products, .min = 0),
    QUIET("parallelism.context_parallel_ptrr_mask_key parallelism.enable_compiled_autograd "
          "parallelism.enable_fsdp_symm_mem parallelism.full_dtensor "
          "parallelism.pipeline_parallel_expert_parallel_overlap parallelism.spmd_backend "
          "experimental.custom_args_module experimental.custom_import "
          "experimental.enable_compiled_autograd experimental.pipeline_parallel_split_mode"),
    /* ---- what is computed again ---- */
    FIELD("activation_checkpoint.mode", IMPORT_WORD, recompute, .words = modes,
          .standard = "selective"),
    TEXT("activation_checkpoint.selective_ac_option", every_layer),
    UNLESS("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", gate,
           "saved matmuls are chosen by their order only; remove it"),
    UNLESS("activation_checkpoint.force_recompute_mm_shapes_by_fqns", gate,
           "saved matmuls are chosen by their order only; remove it"),
    QUIET("activation_checkpoint."),
    /* ---- types of 8 bits, where model.converters does not turn them on ---- */
    UNLESS("float8.enable_float8_linear", no, OLD_BITS),
    WORD("float8.recipe_name", fp8_recipe, recipes),
    WORD("quantize.linear.float8.recipe_name", fp8_recipe, recipes),
    WORD("quantize.dense.float8.recipe_name", fp8_recipe, recipes),
    WORD("float8.enable_fsdp_float8_all_gather", fp8_all_gather, truths),
    WORD("quantize.linear.float8.enable_fsdp_float8_all_gather", fp8_all_gather, truths),
    WORD("quantize.dense.float8.enable_fsdp_float8_all_gather", fp8_all_gather, truths),
    TEXT("float8.filter_fqns", fp8_filter),
    TEXT("quantize.linear.float8.filter_fqns", fp8_filter),
    TEXT("quantize.dense.float8.filter_fqns", fp8_filter),
    TEXT("mx.filter_fqns", fp8_filter),
    TEXT("quantize.linear.mx.filter_fqns", fp8_filter),
    TEXT("quantize.dense.mx.filter_fqns", fp8_filter),
    UNLESS("mx.recipe_name", mx_recipes, OTHER_BITS),
    UNLESS("quantize.linear.mx.recipe_name", mx_recipes, OTHER_BITS),
    UNLESS("quantize.dense.mx.recipe_name", mx_recipes, OTHER_BITS),
    QUIET("float8."),
    QUIET("mx."),
    QUIET("quantize."),
    /* ---- what says nothing of the layout ---- */
    UNLESS("fault_tolerance.enable", no, "the number of replicas is fixed; expected false"),
    QUIET("fault_tolerance."),
    QUIET("checkpoint."),
    QUIET("comm."),
    FIELD("compile.enable", IMPORT_FLAG, compiled, .min = 0),
    TEXT("compile.components", compiled_parts),
    QUIET("compile."),
    QUIET("dataloader."),
    QUIET("debug."),
    QUIET("dump_folder"),
    QUIET("estimate."),
    QUIET("global."),
    QUIET("hf_assets_path"),
    QUIET("job."),
    NUMBER("loss.num_chunks", loss_chunks, 1),
    QUIET("loss."),
    QUIET("lr_scheduler."),
    QUIET("memory_estimation."),
    QUIET("metrics."),
    QUIET("override."),
    QUIET("profiler."),
    QUIET("profiling."),
    QUIET("tokenizer."),
    QUIET("validation."),
    QUIET("validator."),
    {.name = NULL},
};

_Static_assert(sizeof torchtitan_options / sizeof *torchtitan_options <= IMPORT_OPTIONS_MAX,
               "each row has its flag");

/* Whether TOML has a value without quotes: a number, a truth, a list or a map. */
static bool is_bare(const char *value)
{
    char *end;

    if (*value == '[' || *value == '{' || !strcmp(value, "true") || !strcmp(value, "false"))
        return true;
    (void)strtod(value, &end); /* reads inf, nan and hexadecimals, too */
    return end != value && !*end;
}

bool torchtitan_check_quotes(const char *name, const char *value, bool quoted, struct place place,
                             struct diag *diag)
{
    const struct import_option *o = import_option_find(torchtitan_options, name);
    bool number = o && (o->type == IMPORT_INT || o->type == IMPORT_FRACTION ||
                        o->type == IMPORT_LIMIT || o->type == IMPORT_FLAG);

    if (quoted && number && !o->refused) {
        diag_error(diag, place, "%s is the string \"%.60s\"; expected %s without quotes", name,
                   value, o->type == IMPORT_FLAG ? "true or false" : "a number");
        return false;
    }
    if (quoted || is_bare(value))
        return true;
    diag_error(diag, place,
               "%s is %.60s, neither a number nor a boolean; expected quotes around a string", name,
               value);
    return false;
}

void torchtitan_set(struct import_job *job, const char *name, const char *value, struct place key,
                    struct place place, struct diag *diag)
{
    const struct import_option *option = import_option_find(torchtitan_options, name);

    if (!option)
        import_job_unknown(job, torchtitan_options, name, key, diag);
    else if (option->type != IMPORT_QUIET && job->said[option - torchtitan_options])
        diag_error(diag, key, "%s is given twice", name);
    else {
        job->name_place = key;
        import_job_set(job, torchtitan_options, option, name, value, place, diag);
    }
}
