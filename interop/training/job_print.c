/* Writes a job as a scenario: the mesh with the axes that have more than one device, stages
 * outermost; parameters by Megatron's rules for tensor parallelism, which torchtitan shares.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"
#include "scenario/draft.h"
#include "scenario/scenario.h"
#include "scenario/tensor_rules.h"
#include "training/job_shape.h"

/* What the system's options say, present or absent, of transfers beside computation. */
static void add_overlap(const struct import_job *j, struct draft *out)
{
    if (!j->known_overlaps)
        return;
    draft_set_bool(out, "overlap.gradients", j->overlap_sums);
    draft_set_bool(out, "overlap.weights", j->overlap_gathers);
    draft_set_bool(out, "overlap.products", j->overlap_products);
    if (j->virtual_stages > 1)
        draft_set_bool(out, "overlap.sends", !j->blocked_sends);
    draft_remark(out, " # collectives overlap computation, as the job's options say");
}

/* What options say of fused kernels: without one the loss is not fused. */
static void add_fused(const struct import_job *j, struct draft *out)
{
    if (!j->known_fusions)
        return;
    draft_set_bool(out, "fused.loss", j->fused_loss);
    if (j->split_activation)
        draft_set_bool(out, "fused.activation", false);
    if (j->loss_chunks > 1)
        draft_set_count(out, "fused.loss_chunks", j->loss_chunks);
    if (j->loss_chunks > 1 && j->loss_again)
        draft_set_bool(out, "fused.loss_again", true);
}

/* Set a value that differs from the scenario's own standard. */
static void set_count(struct draft *out, const char *path, int64_t value, int64_t standard)
{
    if (value != standard)
        draft_set_count(out, path, value);
}

static void set_positive(struct draft *out, const char *path, double value)
{
    if (value > 0)
        draft_set_number(out, path, value);
}

static void add_rope(const struct import_job *j, struct draft *out)
{
    char theta[32], factor[32];

    json_out_print_double(theta, sizeof theta, j->theta > 0 ? j->theta : 1e4);
    json_out_print_double(factor, sizeof factor, j->rope_factor > 0 ? j->rope_factor : 8);
    draft_set(out, "model.rope", "{theta: %s, interleaved: %s%s%s%s}", theta,
              j->interleaved ? "true" : "false",
              j->scaled ? ", scaling: {kind: llama3, factor: " : "", j->scaled ? factor : "",
              j->scaled ? ", original: 8192, low: 1, high: 4}" : "");
}

/* T5 reads sequences of one length and writes those of another. */
static void add_batch(const struct import_job *j, const struct import_shape *s, struct draft *out)
{
    draft_set_count(out, "batch.size",
                    s->microbatches * j->sequences * s->replicas * s->data * s->nodes * s->experts);
    draft_set_count(out, "batch.seq", j->t5 ? j->decoder_seq : j->seq);
    if (j->t5)
        draft_set_count(out, "batch.source", j->seq);
    draft_set_count(out, "batch.microbatches", s->microbatches);
}

/* The options that only a decoder has. */
static void add_decoder(const struct import_job *j, struct draft *out)
{
    if (!strcmp(j->position, "rope"))
        add_rope(j, out);
    set_count(out, "model.positions", j->positions, 0);
    set_count(out, "model.window", j->window, 0);
    if (j->unfused)
        draft_set(out, "model.attention", "unfused");
    if (j->qk_norm)
        draft_set_bool(out, "model.qk_norm", true);
    if (j->mtp > 0) {
        draft_set_count(out, "model.mtp", j->mtp);
        draft_set_number(out, "model.mtp_weight", j->mtp_weight);
    }
    draft_set_bool(out, "model.bias", !j->unbiased);
    draft_set(out, "model.attention_bias", "%s",
              !j->unbiased  ? "all"
              : j->qkv_bias ? "qkv"
                            : "none");
}

static void add_model(const struct import_job *j, struct draft *out)
{
    const char *dtype = j->bf16 ? "bfloat16" : j->fp16 ? "float16" : "float32";

    if (j->size) {
        draft_set(out, "model.size", "%s", j->size);
        draft_set(out, "model.dtype", "%s", dtype);
        return;
    }
    draft_block(out);
    draft_set(out, "model.kind", j->t5 ? "t5" : "transformer");
    draft_set(out, "model.dtype", "%s", dtype);
    draft_set_count(out, "model.layers", j->layers);
    if (j->t5)
        draft_set_count(out, "model.decoder_layers", j->decoder_layers);
    draft_set_count(out, "model.d_model", j->d_model);
    draft_set_count(out, "model.d_ff", j->d_ff);
    draft_set_count(out, "model.heads", j->heads);
    if (j->grouped && !j->t5)
        draft_set_count(out, "model.kv_heads", j->kv_heads > 0 ? j->kv_heads : 1);
    set_count(out, "model.head_dim", j->head_dim, 0);
    draft_set_count(out, "model.vocab", j->vocab);
    set_count(out, "model.vocab_multiple", j->vocab_multiple, 0);
    draft_set(out, "model.activation", j->swiglu ? "swiglu" : "gelu");
    if (!j->t5)
        draft_set(out, "model.norm", j->norm && !strcmp(j->norm, "RMSNorm") ? "rms" : "layer");
    set_positive(out, "model.norm_eps", j->norm_eps);
    if (j->t5) {
        set_count(out, "model.buckets", j->buckets, 0);
        set_count(out, "model.distance", j->distance, 0);
    } else {
        add_decoder(j, out);
    }
    draft_set_bool(out, "model.tied", !j->untied);
    if (!j->latent || j->t5)
        return;
    draft_set_count(out, "mla.kv_rank", j->kv_rank);
    draft_set_count(out, "mla.q_rank", j->q_rank);
    draft_set_count(out, "mla.rope_dim", j->rope_dim);
    draft_set_count(out, "mla.value_dim", j->value_dim);
}

/* Whether the scores of the chosen experts are scaled to a sum of 1; sigmoids of several experts
 * always are. */
static bool divides_by_sum(const struct import_job *j)
{
    return j->score && !strcmp(j->score, "sigmoid") ? j->top_k != 1 : !j->pre_softmax;
}

/* A published model's experts are of its size. */
static void add_expert_sizes(const struct import_job *j, struct draft *out)
{
    draft_set_count(out, "moe.experts", j->experts);
    draft_set_count(out, "moe.top_k", j->top_k > 0 ? j->top_k : 2);
    draft_set_count(out, "moe.d_ff", j->expert_d_ff);
    draft_set_bool(out, "moe.renormalize", divides_by_sum(j));
    set_count(out, "moe.shared", j->shared, 0);
    set_count(out, "moe.first_dense", j->first_dense, 0);
    set_count(out, "moe.every", j->every, 1);
    if (j->score)
        draft_set(out, "moe.score", "%s", j->score);
    if (j->expert_bias)
        draft_set_bool(out, "moe.bias", true);
    if (j->groups > 1) {
        draft_set_count(out, "moe.groups", j->groups);
        draft_set_count(out, "moe.kept", j->kept > 0 ? j->kept : j->groups);
    }
    set_positive(out, "moe.scale", j->scale);
}

static void add_experts(const struct import_job *j, const struct import_shape *s, struct draft *out)
{
    if (j->experts == 0)
        return;
    draft_block(out);
    if (!j->size)
        add_expert_sizes(j, out);
    set_positive(out, "moe.aux_loss", j->aux_loss);
    set_positive(out, "moe.z_loss", j->z_loss);
    if (s->nodes > 1)
        draft_set(out, "moe.node_axis", "en");
    if (j->directly && s->experts * j->tensor * j->context > j->node_devices && j->node_devices > 0)
        draft_set_bool(out, "moe.by_node", false);
    set_positive(out, "moe.capacity", j->capacity);
    if (j->kept_routing) {
        draft_set(out, "moe.routing", "%s", j->kept_routing);
    } else if (j->balanced) {
        draft_set(out, "moe.routing", "uniform");
    } else if (j->capacity ==
               0) { /* all arriving rows are held, and training keeps them balanced */
        draft_set(out, "moe.routing", "auto");
        draft_remark(out,
                     "   # balanced in plans; with learned, memory has room for the worst case");
    }
}

static void add_mesh(const struct import_job *j, const struct import_shape *s, struct draft *out)
{
    const struct {
        const char *path;
        int64_t size;
    } axes[] = {{"mesh.pp", j->data_outside ? 1 : j->stages},
                {"mesh.replica", s->replicas},
                {"mesh.dp", s->data},
                {"mesh.en", s->nodes},
                {"mesh.ep", s->experts},
                {"mesh.pp", j->data_outside ? j->stages : 1},
                {"mesh.cp", j->context},
                {"mesh.tp", j->tensor}};

    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        set_count(out, axes[i].path, axes[i].size, 1);
    if (!out->section)
        draft_set_count(out, "mesh.dp", 1);
}

struct named_axis {
    const char *name;
    int64_t size;
};

/* Write the axes with more than one device, separated by commas. */
static void add_axes(struct text *out, const struct named_axis *axes, size_t naxes)
{
    size_t n = 0;

    for (size_t i = 0; i < naxes; i++)
        if (axes[i].size > 1)
            text_addf(out, "%s%s", n++ ? ", " : "", axes[i].name);
}

/* The axes of the batch, "[dp]" or "[dp, ep]"; that of nodes is last, as moe.node_axis wants. */
static void add_batch_axes(const struct import_shape *s, struct text *out)
{
    const struct named_axis axes[] = {
        {"replica", s->replicas}, {"dp", s->data}, {"ep", s->experts}, {"en", s->nodes}};

    text_add(out, "[");
    add_axes(out, axes, sizeof axes / sizeof *axes);
    text_add(out, "]");
}

/* What decides which parameters and values the model has. */
static struct scenario_model model_of(const struct import_job *j)
{
    return (struct scenario_model){.kind = j->t5 ? SCENARIO_T5 : SCENARIO_TRANSFORMER,
                                   .tied = !j->untied,
                                   .bias = !j->unbiased,
                                   .attention_bias = !j->unbiased  ? SCENARIO_BIAS_ALL
                                                     : j->qkv_bias ? SCENARIO_BIAS_QKV
                                                                   : SCENARIO_BIAS_NONE,
                                   .mtp = j->mtp,
                                   .mla.kv_rank = j->latent,
                                   .moe = {.experts = j->experts,
                                           .first_dense = j->first_dense,
                                           .every = j->every,
                                           .shared = j->shared}};
}

static void add_params(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    const struct named_axis axes[] = {{"en", s->nodes},
                                      {"ep", s->experts},
                                      {"cp", s->folded ? j->context : 1},
                                      {"tp", s->over_tensor ? j->tensor : 1}};
    const struct scenario_model model = model_of(j);
    struct tensor_axes of = tensor_axes_same(j->tensor > 1 ? "tp" : NULL);
    struct text experts = TEXT_INIT, list = TEXT_INIT;

    add_axes(&experts, axes, sizeof axes / sizeof *axes);
    text_addf(&list, strchr(text_get(&experts), ',') ? "[%s]" : "%s", text_get(&experts));
    of.experts = experts.length > 0 ? text_get(&list) : NULL;
    of.expert_widths = j->tensor > 1 && !import_job_is_expert_whole(j) ? "tp" : NULL;
    text_add(out, "params: # a pattern in a parameter's name, and the sharded dimensions\n");
    tensor_rules_print(out, &model, &of, RULES_BLOCK);
    text_drop(out, &experts);
    text_drop(out, &list);
}

/* Whether devices of context exchange tokens for heads around attention, as Ulysses. */
static bool exchanges_heads(const struct import_job *j)
{
    return j->context > 1 && j->context_method && !strcmp(j->context_method, "all-to-all");
}

/* With exchanged heads, these are sharded over context within attention, and tokens outside it. */
static void add_constraints(const struct import_job *j, const struct import_shape *s,
                            struct text *out)
{
    bool exchanges = exchanges_heads(j), sequence = j->sequence && j->tensor > 1;
    const struct scenario_model model = model_of(j);
    struct text batch = TEXT_INIT;
    struct tensor_values values = {.seq = j->context > 1 ? "cp" : "null",
                                   .vocab = j->tensor > 1 ? "tp" : "null",
                                   .tokens = !sequence        ? "cp"
                                             : j->context > 1 ? "[cp, tp]"
                                                              : "tp"};

    add_batch_axes(s, &batch);
    values.batch = text_get(&batch);
    text_addf(out, "axes: {batch: %s%s}\n", values.batch, j->context > 1 ? ", seq: cp" : "");
    if (exchanges || sequence)
        text_add(out, "constraints: # tokens are sharded between heads and widths\n");
    if (exchanges) {
        text_addf(out, "  - [attn/(in|out), [%s, %s, null]]\n", values.batch, values.tokens);
        tensor_exchange_print(out, &values, j->tensor > 1 ? "[tp, cp]" : "cp", true, RULES_BLOCK);
    }
    if (sequence) {
        tensor_inside_print(out, &values, &model, !exchanges, RULES_BLOCK);
        tensor_constraints_print(out, &values, RULES_BLOCK);
    }
    text_drop(out, &batch);
}

static void add_pipeline(const struct import_job *j, struct draft *out)
{
    if (j->stages == 1)
        return;
    draft_set(out, "pipeline.axis", "pp");
    draft_set(out, "pipeline.schedule", "%s", j->schedule);
    if (j->virtual_stages > 1)
        draft_set_count(out, "pipeline.stages_per_rank", j->virtual_stages);
    if (j->stage_layers.length > 0)
        draft_set(out, "pipeline.layers", "[%s]", text_get(&j->stage_layers));
}

/* Whether ranks other than replicas share what ZeRO shards. */
static bool has_shards(const struct import_job *j, const struct import_shape *s)
{
    return j->zero > 0 && (s->data > 1 || s->nodes > 1 || s->experts > 1 || j->context > 1);
}

/* These systems shard over all ranks but the replicas; experts are sharded over the ranks with the
 * same experts, because no array is sharded over an axis twice. */
static void add_zero(const struct import_job *j, const struct import_shape *s, struct draft *out)
{
    const struct named_axis axes[] = {
        {"dp", s->data}, {"en", s->nodes}, {"ep", s->experts}, {"cp", j->context}};
    struct text names = TEXT_INIT;

    if (!has_shards(j, s))
        return;
    add_axes(&names, axes, sizeof axes / sizeof *axes);
    draft_set_count(out, "zero.stage", j->zero);
    draft_set(out, "zero.axis", strchr(text_get(&names), ',') ? "[%s]" : "%s", text_get(&names));
    if (j->rows)
        draft_set(out, "zero.layout", "pad");
    if (j->resharded)
        draft_set(out, "zero.reshard_after_forward", "%s", j->resharded);
    text_drop(out->out, &names);
}

/* Whether values of recomputed layers that no op reads are recomputed, too. */
static bool repeats_whole(const struct import_job *j)
{
    if (j->kept_whole)
        return !strcmp(j->kept_whole, "true");
    return j->recompute_whole || j->recompute_modules.length > 0;
}

/* Options of full recomputation beside its kind. */
static void add_layers(const struct import_job *j, struct text *out)
{
    bool counted = j->recompute_layers > 1 || j->recompute_every > 1 || j->recompute_first > 0;

    if (j->recompute_layers > 1)
        text_addf(out, ", group: %" PRId64, j->recompute_layers);
    if (j->recompute_every > 1)
        text_addf(out, ", every: %" PRId64 ", offset: %" PRId64, j->recompute_every,
                  j->recompute_every - 1);
    if (j->recompute_first > 0)
        text_addf(out, ", first: %" PRId64, j->recompute_first);
    if (j->recompute_by_stage && counted)
        text_add(out, ", count: stage");
}

static void add_recompute(const struct import_job *j, struct draft *out)
{
    struct text options = TEXT_INIT;
    bool none = !j->recompute || !strcmp(j->recompute, "none");

    if (!none && j->recompute_modules.length > 0)
        text_addf(&options, ", modules: [%s]", text_get(&j->recompute_modules));
    else if (!none && j->recompute_hold)
        text_add(&options, ", hold: true");
    else if (!none && !strcmp(j->recompute, "full"))
        add_layers(j, &options);
    if (!none && repeats_whole(j))
        text_add(&options, ", whole: true");
    if (j->recompute)
        draft_set(out, "recompute", options.length > 0 ? "{kind: %s%s}" : "%s%s", j->recompute,
                  text_get(&options));
    text_drop(out->out, &options);
}

static void add_gathered(const struct import_job *j, struct draft *out)
{
    if (j->kept_gathered ? !strcmp(j->kept_gathered, "keep") : j->keep_values)
        draft_set(out, "gathered", "keep");
}

static void add_offload(const struct import_job *j, struct draft *out)
{
    if (j->offload_layers > 0) {
        draft_set(out, "offload.activations", "all");
        draft_set_count(out, "offload.layers", j->offload_layers);
    }
    if (j->offload_values.length > 0)
        draft_set(out, "offload.activations", "[%s]", text_get(&j->offload_values));
    if (j->offload_state)
        draft_set(out, "offload.optimizer", "%.15g", j->offload_fraction);
    if (j->offload_parameters)
        draft_set_bool(out, "offload.parameters", true);
}

static void add_types(const struct import_job *j, struct draft *out)
{
    const char *reduce = j->reduce ? j->reduce : j->gradients;

    if (!j->bf16 && !j->fp16)
        return;
    draft_set(out, "types.parameters", j->half_parameters ? "compute" : "float32");
    if (j->gradients)
        draft_set(out, "types.gradients", "%s", j->gradients);
    if (reduce)
        draft_set(out, "types.reduce", "%s", reduce);
    /* A cluster's software may halve gradients beside products of 8 bits; the job says that it does
     * not. */
    if (!reduce && j->products.length > 0) {
        draft_set(out, "types.gradients", "parameters");
        draft_set(out, "types.reduce", "parameters");
    }
    if (j->moments)
        draft_set(out, "types.moments", "%s", j->moments);
    if (!reduce && !j->moments && j->products.length == 0)
        draft_remark(out, " # and with them gradients and moments");
}

static void add_loss_scale(const struct import_job *j, struct draft *out)
{
    if (!j->dynamic_scale && j->loss_scale <= 0)
        return;
    draft_set(out, "loss_scale.kind", j->dynamic_scale ? "dynamic" : "static");
    draft_set_count(out, "loss_scale.initial", j->loss_scale > 0 ? j->loss_scale : 65536);
    if (j->dynamic_scale && j->loss_scale_window > 0)
        draft_set_count(out, "loss_scale.growth_interval", j->loss_scale_window);
}

/* One step is planned at one rate: neither the number of steps nor the schedule of the rate affects
 * the layout. */
static void add_optimizer(const struct import_job *j, const struct import_shape *s,
                          struct draft *out)
{
    bool sgd = j->optimizer && !strcmp(j->optimizer, "sgd");
    char betas[2][32];

    draft_set(out, "step", "[forward, backward, update]");
    draft_block(out);
    draft_set(out, "optimizer.kind", sgd ? "sgd" : "adamw");
    set_positive(out, "optimizer.lr", j->lr);
    draft_set_number(out, "optimizer.weight_decay", j->weight_decay);
    draft_set_number(out, "optimizer.clip", j->clip);
    if (sgd) {
        draft_set_number(out, "optimizer.momentum", j->momentum);
    } else {
        draft_set(out, "optimizer.betas", "[%s, %s]",
                  json_out_print_double(betas[0], sizeof betas[0], j->betas[0]),
                  json_out_print_double(betas[1], sizeof betas[1], j->betas[1]));
        draft_set_number(out, "optimizer.eps", j->eps);
    }
    add_types(j, out);
    if (j->products.length > 0)
        text_addf(draft_text(out), "products: {%s%s}\n", text_get(&j->products),
                  j->fp8_gathers && j->zero == 3 && has_shards(j, s) ? ", gathers: true" : "");
    add_loss_scale(j, out);
}

static void add_comment(struct text *out, const char *what, const char *by, const struct text *list)
{
    if (list->length == 0)
        return;
    text_addf(out, "# %s%s:", what, by);
    escape_add(out, text_get(list)); /* the list has words of the file */
    text_add(out, "\n");
}

static void add_head(const struct import_job *j, const char *from, struct text *out)
{
    struct draft draft = DRAFT_OF(out);

    add_comment(out, "Ignored, because unknown; check the effect on the layout", "", &j->unknown);
    text_add(out, text_get(&j->unsaid));
    text_addf(out, "# Written by 'shardsim import --from %s'.\n", from);
    add_comment(out, "Ignored, because it does not affect the layout", "", &j->left_out);
    add_comment(out, "Not given, default of ", j->system, &j->taken);
    text_add(out, text_get(&j->notes));
    draft_set(&draft, "version", "1");
    draft_set(&draft, "name", "%s", from);
    if (j->software)
        draft_set(&draft, "software", "%s", j->software);
    (void)draft_text(&draft);
}

/* Check that the text is a scenario, and report the reader's faults. */
static void check_scenario(const struct import_job *job, struct text *out, struct diag *diag)
{
    struct scenario_file *file = NULL;
    struct diag faults = DIAG_INIT;

    if (!out->failed && scenario_parse(&file, "the scenario", text_get(out), out->length, NULL, 0,
                                       &faults) != SHD_OK) {
        for (size_t i = 0; i < faults.nmessages; i++)
            diag_error(diag, job->end, "as a scenario: %s", faults.messages[i].text);
        if (faults.no_memory)
            diag_no_memory(diag);
    }
    scenario_file_destroy(file);
    diag_fini(&faults);
}

static void add_training(const struct import_job *job, struct text *out, struct diag *diag)
{
    struct draft draft = DRAFT_OF(out);
    struct import_shape shape = {0};

    import_job_check_parts(job, diag);
    if (diag->nerrors == 0)
        import_job_find_data(&shape, job, diag);
    if (diag->nerrors == 0)
        import_job_find_batch(&shape, job, diag);
    if (diag->nerrors > 0)
        return;
    add_mesh(job, &shape, &draft);
    add_model(job, &draft);
    add_experts(job, &shape, &draft);
    add_batch(job, &shape, &draft);
    add_optimizer(job, &shape, &draft);
    add_params(job, &shape, draft_text(&draft));
    add_constraints(job, &shape, out);
    add_pipeline(job, &draft);
    if (job->context > 1 && !exchanges_heads(job)) {
        draft_set(&draft, "context.axis", "cp");
        draft_set(&draft, "context.method", "%s",
                  job->context_method ? job->context_method : "ring");
        draft_set(&draft, "context.order", "zigzag");
    }
    add_zero(job, &shape, &draft);
    add_gathered(job, &draft);
    add_recompute(job, &draft);
    add_offload(job, &draft);
    add_overlap(job, &draft);
    add_fused(job, &draft);
    (void)draft_text(&draft);
}

void import_job_print(const struct import_job *job, const char *from, struct text *out,
                      struct diag *diag)
{
    if (diag->nerrors > 0)
        return;
    add_head(job, from, out);
    if (job->scenario.length > 0)
        text_add(out, text_get(&job->scenario));
    else
        add_training(job, out, diag);
    if (diag->nerrors > 0) {
        text_clear(out);
        return;
    }
    if (job->scenario.failed || job->unsaid.failed || job->left_out.failed || job->unknown.failed ||
        job->taken.failed || job->notes.failed || job->programs.failed ||
        job->stage_layers.failed || job->recompute_modules.failed || job->offload_values.failed ||
        job->unread.failed || job->products.failed)
        diag_no_memory(diag);
    check_scenario(job, out, diag);
}
