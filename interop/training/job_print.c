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
#include "scenario/scenario.h"
#include "training/job_shape.h"

/* What the system's options say, present or absent, of transfers beside computation. */
static void add_overlap(const struct import_job *j, struct text *out)
{
    static const char *const words[] = {"false", "true"};

    if (!j->known_overlaps)
        return;
    text_addf(out, "overlap: {gradients: %s, weights: %s, products: %s", words[j->overlap_sums],
              words[j->overlap_gathers], words[j->overlap_products]);
    if (j->virtual_stages > 1)
        text_addf(out, ", sends: %s", words[!j->blocked_sends]);
    text_add(out, "} # beside computation, by the job's own options\n");
}

/* What options say of fused kernels: without one the loss is not fused. */
static void add_fused(const struct import_job *j, struct text *out)
{
    if (!j->known_fusions)
        return;
    text_addf(out, "fused: {loss: %s%s", j->fused_loss ? "true" : "false",
              j->split_activation ? ", activation: false" : "");
    if (j->loss_chunks > 1)
        text_addf(out, ", loss_chunks: %" PRId64 "%s", j->loss_chunks,
                  j->loss_again ? ", loss_again: true" : "");
    text_add(out, "}\n");
}

/* Write "KEY: 0.1", indented, with the fewest digits that read back exactly. */
static void add_fraction(struct text *out, const char *key, double value)
{
    char number[32];

    text_addf(out, "  %s: %s\n", key, json_out_print_double(number, sizeof number, value));
}

/* Write a value that differs from the scenario's own standard. */
static void add_count(struct text *out, const char *key, int64_t value, int64_t standard)
{
    if (value != standard)
        text_addf(out, "  %s: %" PRId64 "\n", key, value);
}

/* Whether any layer has an mlp rather than experts. */
static bool has_dense(const struct import_job *j)
{
    return j->experts == 0 || j->first_dense > 0 || j->every > 1;
}

static void add_rope(const struct import_job *j, struct text *out)
{
    char theta[32], factor[32];

    text_addf(out, "  rope: {theta: %s, interleaved: %s",
              json_out_print_double(theta, sizeof theta, j->theta > 0 ? j->theta : 1e4),
              j->interleaved ? "true" : "false");
    if (j->scaled)
        text_addf(
            out, ", scaling: {kind: llama3, factor: %s, original: 8192, low: 1, high: 4}",
            json_out_print_double(factor, sizeof factor, j->rope_factor > 0 ? j->rope_factor : 8));
    text_add(out, "}\n");
}

static void add_t5(const struct import_job *j, const char *dtype, struct text *out)
{
    text_addf(out,
              "model:\n  kind: t5\n  dtype: %s\n  layers: %" PRId64 "\n  decoder_layers: %" PRId64
              "\n  d_model: %" PRId64 "\n  d_ff: %" PRId64 "\n  heads: %" PRId64 "\n",
              dtype, j->layers, j->decoder_layers, j->d_model, j->d_ff, j->heads);
    add_count(out, "head_dim", j->head_dim, 0);
    text_addf(out, "  vocab: %" PRId64 "\n", j->vocab);
    add_count(out, "vocab_multiple", j->vocab_multiple, 0);
    text_addf(out, "  activation: %s\n  tied: %s\n", j->swiglu ? "swiglu" : "gelu",
              j->untied ? "false" : "true");
    add_count(out, "buckets", j->buckets, 0);
    add_count(out, "distance", j->distance, 0);
    if (j->norm_eps > 0)
        add_fraction(out, "norm_eps", j->norm_eps);
}

/* T5 reads sequences of one length and writes those of another. */
static void add_batch(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    text_addf(out, "batch: {size: %" PRId64 ", seq: %" PRId64,
              s->microbatches * j->sequences * s->replicas * s->data * s->nodes * s->experts,
              j->t5 ? j->decoder_seq : j->seq);
    if (j->t5)
        text_addf(out, ", source: %" PRId64, j->seq);
    text_addf(out, ", microbatches: %" PRId64 "}\n", s->microbatches);
}

static void add_model(const struct import_job *j, struct text *out)
{
    const char *dtype = j->bf16 ? "bfloat16" : j->fp16 ? "float16" : "float32";

    if (j->size) {
        text_addf(out, "model: {size: %s, dtype: %s}\n", j->size, dtype);
        return;
    }
    if (j->t5) {
        add_t5(j, dtype, out);
        return;
    }
    text_addf(out,
              "model:\n  kind: transformer\n  dtype: %s\n  layers: %" PRId64 "\n  d_model: %" PRId64
              "\n  d_ff: %" PRId64 "\n  heads: %" PRId64 "\n",
              dtype, j->layers, j->d_model, j->d_ff, j->heads);
    if (j->grouped)
        text_addf(out, "  kv_heads: %" PRId64 "\n", j->kv_heads > 0 ? j->kv_heads : 1);
    if (j->head_dim > 0)
        text_addf(out, "  head_dim: %" PRId64 "\n", j->head_dim);
    text_addf(out, "  vocab: %" PRId64 "\n", j->vocab);
    add_count(out, "vocab_multiple", j->vocab_multiple, 0);
    text_addf(out, "  activation: %s\n  norm: %s\n", j->swiglu ? "swiglu" : "gelu",
              j->norm && !strcmp(j->norm, "RMSNorm") ? "rms" : "layer");
    if (j->norm_eps > 0)
        add_fraction(out, "norm_eps", j->norm_eps);
    if (!strcmp(j->position, "rope"))
        add_rope(j, out);
    add_count(out, "positions", j->positions, 0);
    add_count(out, "window", j->window, 0);
    if (j->unfused)
        text_add(out, "  attention: unfused\n");
    if (j->qk_norm)
        text_add(out, "  qk_norm: true\n");
    if (j->mtp > 0) {
        add_count(out, "mtp", j->mtp, 0);
        add_fraction(out, "mtp_weight", j->mtp_weight);
    }
    text_addf(out, "  bias: %s\n  attention_bias: %s\n  tied: %s\n", j->unbiased ? "false" : "true",
              !j->unbiased  ? "all"
              : j->qkv_bias ? "qkv"
                            : "none",
              j->untied ? "false" : "true");
    if (j->latent)
        text_addf(out,
                  "mla: {kv_rank: %" PRId64 ", q_rank: %" PRId64 ", rope_dim: %" PRId64
                  ", value_dim: %" PRId64 "}\n",
                  j->kv_rank, j->q_rank, j->rope_dim, j->value_dim);
}

/* Whether the scores of the chosen experts are scaled to a sum of 1; sigmoids of several experts
 * always are. */
static bool divides_by_sum(const struct import_job *j)
{
    return j->score && !strcmp(j->score, "sigmoid") ? j->top_k != 1 : !j->pre_softmax;
}

/* A published model's experts are of its size. */
static void add_expert_sizes(const struct import_job *j, struct text *out)
{
    text_addf(out,
              "  experts: %" PRId64 "\n  top_k: %" PRId64 "\n  d_ff: %" PRId64
              "\n  renormalize: %s\n",
              j->experts, j->top_k > 0 ? j->top_k : 2, j->expert_d_ff,
              divides_by_sum(j) ? "true" : "false");
    add_count(out, "shared", j->shared, 0);
    add_count(out, "first_dense", j->first_dense, 0);
    add_count(out, "every", j->every, 1);
    if (j->score)
        text_addf(out, "  score: %s\n", j->score);
    if (j->expert_bias)
        text_add(out, "  bias: true\n");
    if (j->groups > 1)
        text_addf(out, "  groups: %" PRId64 "\n  kept: %" PRId64 "\n", j->groups,
                  j->kept > 0 ? j->kept : j->groups);
    if (j->scale > 0)
        add_fraction(out, "scale", j->scale);
}

static void add_experts(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    if (j->experts == 0)
        return;
    text_add(out, "moe:\n");
    if (!j->size)
        add_expert_sizes(j, out);
    if (j->aux_loss > 0)
        add_fraction(out, "aux_loss", j->aux_loss);
    if (j->z_loss > 0)
        add_fraction(out, "z_loss", j->z_loss);
    if (s->nodes > 1)
        text_add(out, "  node_axis: en\n");
    if (j->directly && s->experts * j->tensor * j->context > j->node_devices && j->node_devices > 0)
        text_add(out, "  by_node: false\n");
    if (j->capacity > 0)
        add_fraction(out, "capacity", j->capacity);
    if (j->kept_routing)
        text_addf(out, "  routing: %s\n", j->kept_routing);
    else if (j->balanced)
        text_add(out, "  routing: uniform\n");
    else if (j->capacity == 0) /* all arriving rows are held, and training keeps them balanced */
        text_add(out,
                 "  routing: auto   # balanced in plans; with learned, memory has room for the "
                 "worst case\n");
}

static void add_axis(struct text *out, size_t *n, const char *name, int64_t size)
{
    if (size > 1)
        text_addf(out, "%s%s: %" PRId64, (*n)++ ? ", " : "", name, size);
}

static void add_mesh(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    size_t n = 0;

    text_add(out, "mesh: {");
    if (!j->data_outside)
        add_axis(out, &n, "pp", j->stages);
    add_axis(out, &n, "replica", s->replicas);
    add_axis(out, &n, "dp", s->data);
    add_axis(out, &n, "en", s->nodes);
    add_axis(out, &n, "ep", s->experts);
    if (j->data_outside)
        add_axis(out, &n, "pp", j->stages);
    add_axis(out, &n, "cp", j->context);
    add_axis(out, &n, "tp", j->tensor);
    text_add(out, n ? "}\n" : "dp: 1}\n");
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

static void add_params(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    const struct named_axis axes[] = {{"en", s->nodes},
                                      {"ep", s->experts},
                                      {"cp", s->folded ? j->context : 1},
                                      {"tp", s->over_tensor ? j->tensor : 1}};
    const char *wide = j->tensor > 1 && !import_job_is_expert_whole(j) ? "tp" : "null";
    struct text experts = TEXT_INIT;

    add_axes(&experts, axes, sizeof axes / sizeof *axes);
    text_add(out, "params: # which dimensions of what a pattern is found in are sharded\n");
    if (j->experts > 0 || experts.length > 0) {
        bool several = strchr(text_get(&experts), ',') != NULL;
        struct text dim = TEXT_INIT;

        text_addf(&dim, "%s%s%s", several ? "[" : "",
                  experts.length > 0 ? text_get(&experts) : "null", several ? "]" : "");
        text_addf(out, "  - [moe/(gate|up)/kernel, [%s, null, %s]]\n", text_get(&dim), wide);
        text_addf(out, "  - [moe/down/kernel, [%s, %s, null]]\n", text_get(&dim), wide);
        text_drop(out, &dim);
    }
    text_drop(out, &experts);
    if (j->tensor > 1) {
        text_addf(out, "  - [(q|k|v%s)/kernel, [null, tp]]\n  - [%s/o/kernel, [tp]]\n",
                  j->latent ? "|q_rope" : "", j->t5 ? "(attn|cross)" : "attn");
        if (j->t5)
            text_add(out, "  - [relative/table, [null, tp]]\n");
        if (!j->t5 && (!j->unbiased || j->qkv_bias))
            text_add(out, "  - [(q|k|v)/bias, [tp]]\n");
        if (!j->t5 && !j->unbiased && has_dense(j))
            text_add(out, "  - [mlp/up/bias, [tp]]\n");
        if (has_dense(j))
            text_add(out, "  - [mlp/(gate|up)/kernel, [null, tp]]\n"
                          "  - [mlp/down/kernel, [tp]]\n");
        if (j->shared > 0)
            text_add(out, "  - [shared/(gate|up)/kernel, [null, tp]]\n"
                          "  - [shared/down/kernel, [tp]]\n");
        if (j->mtp > 0)
            text_add(out, "  - [join/kernel, [null, tp]]\n");
        text_add(out, "  - [embed/table, [tp]]\n");
        if (j->untied)
            text_add(out, "  - [head/kernel, [null, tp]]\n");
    }
    text_add(out, "  - [.*, []]\n");
}

/* Whether devices of context exchange tokens for heads around attention, as Ulysses. */
static bool exchanges_heads(const struct import_job *j)
{
    return j->context > 1 && j->context_method && !strcmp(j->context_method, "all-to-all");
}

/* Heads are sharded over context within attention, and tokens outside it. */
static void add_exchange(const struct import_job *j, const char *batch, bool sequence,
                         struct text *out)
{
    const char *tokens = sequence ? "[cp, tp]" : "cp", *tensor = j->tensor > 1 ? "tp" : "null";

    text_addf(out, "  - [attn/(in|out), [%s, %s, null]]\n", batch, tokens);
    text_addf(out, "  - [attn/(projected|attended), [%s, cp, %s, null]]\n", batch, tensor);
    text_addf(out, "  - [attn/(q|kv), [%s, null, %s, null]]\n", batch,
              j->tensor > 1 ? "[tp, cp]" : "cp");
}

static void add_constraints(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    struct text batch = TEXT_INIT;
    const char *seq = j->context > 1 ? "cp" : "null";
    bool exchanges = exchanges_heads(j), sequence = j->sequence && j->tensor > 1;

    add_batch_axes(s, &batch);
    text_addf(out, "axes: {batch: %s%s}\n", text_get(&batch), j->context > 1 ? ", seq: cp" : "");
    if (exchanges || sequence)
        text_add(out, "constraints: # tokens are sharded between heads and widths\n");
    if (exchanges)
        add_exchange(j, text_get(&batch), sequence, out);
    if (sequence) {
        if (!exchanges)
            text_addf(out, "  - [%s/(q|kv), [%s, %s, tp, null]]\n", j->t5 ? "(attn|cross)" : "attn",
                      text_get(&batch), seq);
        if (has_dense(j))
            text_addf(out, "  - [mlp/hidden, [%s, %s, tp]]\n", text_get(&batch), seq);
        if (j->shared > 0)
            text_addf(out, "  - [shared/hidden, [%s, %s, tp]]\n", text_get(&batch), seq);
        text_addf(out, "  - [head/out, [%s, %s, tp]]\n", text_get(&batch), seq);
        text_addf(out, "  - [out, [%s, %s, null]]\n", text_get(&batch),
                  j->context > 1 ? "[cp, tp]" : "tp");
    }
    out->failed |= batch.failed;
    text_fini(&batch);
}

static void add_pipeline(const struct import_job *j, struct text *out)
{
    if (j->stages == 1)
        return;
    text_addf(out, "pipeline: {axis: pp, schedule: %s", j->schedule);
    if (j->virtual_stages > 1)
        text_addf(out, ", stages_per_rank: %" PRId64, j->virtual_stages);
    if (j->stage_layers.length > 0)
        text_addf(out, ", layers: [%s]", text_get(&j->stage_layers));
    text_add(out, "}\n");
}

/* Whether ranks other than replicas share what ZeRO shards. */
static bool has_shards(const struct import_job *j, const struct import_shape *s)
{
    return j->zero > 0 && (s->data > 1 || s->nodes > 1 || s->experts > 1 || j->context > 1);
}

/* These systems shard over all ranks but the replicas; experts are sharded over the ranks with the
 * same experts, because no array is sharded over an axis twice. */
static void add_zero(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    const struct named_axis axes[] = {
        {"dp", s->data}, {"en", s->nodes}, {"ep", s->experts}, {"cp", j->context}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        n += axes[i].size > 1;
    if (!has_shards(j, s))
        return;
    text_addf(out, "zero: {stage: %" PRId64 ", axis: ", j->zero);
    text_add(out, n > 1 ? "[" : "");
    add_axes(out, axes, sizeof axes / sizeof *axes);
    text_addf(out, "%s%s%s%s}\n", n > 1 ? "]" : "", j->rows ? ", layout: pad" : "",
              j->resharded ? ", reshard_after_forward: " : "", j->resharded ? j->resharded : "");
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

static void add_recompute(const struct import_job *j, struct text *out)
{
    struct text options = TEXT_INIT;

    if (!j->recompute || !strcmp(j->recompute, "none")) {
        if (j->recompute)
            text_add(out, "recompute: none\n");
        return;
    }
    if (j->recompute_modules.length > 0)
        text_addf(&options, ", modules: [%s]", text_get(&j->recompute_modules));
    else if (j->recompute_hold)
        text_add(&options, ", hold: true");
    else if (!strcmp(j->recompute, "full"))
        add_layers(j, &options);
    if (repeats_whole(j))
        text_add(&options, ", whole: true");
    if (options.length > 0)
        text_addf(out, "recompute: {kind: %s%s}\n", j->recompute, text_get(&options));
    else
        text_addf(out, "recompute: %s\n", j->recompute);
    out->failed |= options.failed;
    text_fini(&options);
}

static void add_gathered(const struct import_job *j, struct text *out)
{
    bool kept = j->kept_gathered ? !strcmp(j->kept_gathered, "keep") : j->keep_values;

    if (kept)
        text_add(out, "gathered: keep\n");
}

static void add_offload(const struct import_job *j, struct text *out)
{
    const char *comma = "";

    if (!j->offload_state && !j->offload_parameters && j->offload_layers == 0 &&
        j->offload_values.length == 0)
        return;
    text_add(out, "offload: {");
    if (j->offload_layers > 0)
        text_addf(out, "activations: all, layers: %" PRId64, j->offload_layers);
    if (j->offload_values.length > 0)
        text_addf(out, "activations: [%s]", text_get(&j->offload_values));
    if (j->offload_layers > 0 || j->offload_values.length > 0)
        comma = ", ";
    if (j->offload_state) {
        text_addf(out, "%soptimizer: %.15g", comma, j->offload_fraction);
        comma = ", ";
    }
    text_addf(out, "%s}\n", j->offload_parameters ? ", parameters: true" : "");
}

static void add_types(const struct import_job *j, struct text *out)
{
    const char *reduce = j->reduce ? j->reduce : j->gradients;

    if (!j->bf16 && !j->fp16)
        return;
    text_addf(out, "types: {parameters: %s", j->half_parameters ? "compute" : "float32");
    if (j->gradients)
        text_addf(out, ", gradients: %s", j->gradients);
    if (reduce)
        text_addf(out, ", reduce: %s", reduce);
    /* A cluster's software may halve gradients beside products of 8 bits; the job says that it does
     * not. */
    if (!reduce && j->products.length > 0)
        text_add(out, ", gradients: parameters, reduce: parameters");
    if (j->moments)
        text_addf(out, ", moments: %s", j->moments);
    text_add(out, reduce || j->moments || j->products.length > 0
                      ? "}\n"
                      : "} # and with them gradients and moments\n");
}

static void add_loss_scale(const struct import_job *j, struct text *out)
{
    if (j->dynamic_scale) {
        text_addf(out, "loss_scale: {kind: dynamic, initial: %" PRId64,
                  j->loss_scale > 0 ? j->loss_scale : 65536);
        if (j->loss_scale_window > 0)
            text_addf(out, ", growth_interval: %" PRId64, j->loss_scale_window);
        text_add(out, "}\n");
    } else if (j->loss_scale > 0)
        text_addf(out, "loss_scale: {kind: static, initial: %" PRId64 "}\n", j->loss_scale);
}

/* One step is planned at one rate: neither the number of steps nor the schedule of the rate affects
 * the layout. */
static void add_optimizer(const struct import_job *j, const struct import_shape *s, struct text *out)
{
    bool sgd = j->optimizer && !strcmp(j->optimizer, "sgd");
    char betas[2][32];

    text_addf(out, "step: [forward, backward, update]\noptimizer:\n  kind: %s\n",
              sgd ? "sgd" : "adamw");
    if (j->lr > 0)
        add_fraction(out, "lr", j->lr);
    add_fraction(out, "weight_decay", j->weight_decay);
    add_fraction(out, "clip", j->clip);
    if (sgd)
        add_fraction(out, "momentum", j->momentum);
    else {
        text_addf(out, "  betas: [%s, %s]\n",
                  json_out_print_double(betas[0], sizeof betas[0], j->betas[0]),
                  json_out_print_double(betas[1], sizeof betas[1], j->betas[1]));
        add_fraction(out, "eps", j->eps);
    }
    add_types(j, out);
    if (j->products.length > 0)
        text_addf(out, "products: {%s%s}\n", text_get(&j->products),
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
    add_comment(out, "Left out, as it is not known here; look whether it changes the layout", "",
                &j->unknown);
    text_add(out, text_get(&j->unsaid));
    text_addf(out, "# Written by 'shardsim import --from %s'.\n", from);
    add_comment(out, "Left out, as it says nothing of the layout", "", &j->left_out);
    add_comment(out, "Not said, taken as in ", j->system, &j->taken);
    text_add(out, text_get(&j->notes));
    text_addf(out, "version: 1\nname: %s\n", from);
    if (j->software)
        text_addf(out, "software: %s\n", j->software);
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
    struct import_shape shape = {0};

    import_job_check_parts(job, diag);
    if (diag->nerrors == 0)
        import_job_find_data(&shape, job, diag);
    if (diag->nerrors == 0)
        import_job_find_batch(&shape, job, diag);
    if (diag->nerrors > 0)
        return;
    add_mesh(job, &shape, out);
    add_model(job, out);
    add_experts(job, &shape, out);
    add_batch(job, &shape, out);
    add_optimizer(job, &shape, out);
    add_params(job, &shape, out);
    add_constraints(job, &shape, out);
    add_pipeline(job, out);
    if (job->context > 1 && !exchanges_heads(job))
        text_addf(out, "context: {axis: cp, method: %s, order: zigzag}\n",
                  job->context_method ? job->context_method : "ring");
    add_zero(job, &shape, out);
    add_gathered(job, out);
    add_recompute(job, out);
    add_offload(job, out);
    add_overlap(job, out);
    add_fused(job, out);
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
