/* A job as a scenario: the mesh with the axes that have more than one device, stages outermost;
 * parameters by Megatron's rules of what tensor parallelism shards, which torchtitan has, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "import/job.h"

struct shape {
    int64_t replicas, data, experts; /* axes of the batch; the rest is as in the job */
    int64_t microbatches;
    bool folded; /* the context's axis shards experts, too */
};

/* ---- sizes that follow from others ---- */

static int64_t world(const struct import_job *job)
{
    int64_t parts = job->tensor * job->stages * job->context;

    if (job->devices > 0)
        return job->devices;
    if (job->node_devices > 0)
        return job->node_devices * (job->nodes > 0 ? job->nodes : 1);
    return job->shards > 0 ? parts * job->replicas * job->shards : 0;
}

static void find_data(struct shape *out, const struct import_job *job, struct diag *diag)
{
    int64_t devices = world(job), parts = job->tensor * job->stages * job->context;
    int64_t data;

    if (devices == 0) {
        diag_error(diag, job->end, "how many devices? expected --devices N");
        return;
    }
    if (devices > INT32_MAX || devices % (parts * job->replicas)) {
        diag_error(diag, job->end,
                   "%" PRId64 " devices do not divide by %" PRId64 " of tensor, context and "
                   "pipeline parallelism times %" PRId64 " replicas",
                   devices, parts, job->replicas);
        return;
    }
    data = devices / parts / job->replicas;
    if (job->shards > 0 && job->shards != data)
        diag_error(diag, job->end,
                   "%" PRId64 " shards of data parallelism, but the devices leave %" PRId64,
                   job->shards, data);
    out->replicas = job->replicas;
    out->folded = job->expert_devices > 1 && job->context > 1;
    out->experts = job->expert_devices / (out->folded ? job->context : 1);
    if ((out->folded && job->expert_devices % job->context) || out->experts == 0 ||
        data % out->experts)
        diag_error(diag, job->end,
                   "experts on %" PRId64 " devices do not go into %" PRId64 " of data and context "
                   "parallelism",
                   job->expert_devices, data * job->context);
    else
        out->data = data / out->experts;
}

static void find_batch(struct shape *out, const struct import_job *job, struct diag *diag)
{
    int64_t ways = out->replicas * out->data * out->experts;
    int64_t batch = job->batch > 0 ? job->batch : ways * (job->local ? job->local : job->sequences);

    if (job->sequences == 0 || job->seq == 0)
        diag_error(diag, job->end, "no batch; expected sequences of a device and their length");
    else if (batch % (job->sequences * ways))
        diag_error(diag, job->end,
                   "a batch of %" PRId64 " does not divide by %" PRId64 " of a device times "
                   "%" PRId64 " ways of data parallelism",
                   batch, job->sequences, ways);
    else
        out->microbatches = batch / (job->sequences * ways);
}

/* ---- the text ---- */

static void add_model(const struct import_job *j, struct text *out)
{
    const char *dtype = j->bf16 ? "bfloat16" : j->fp16 ? "float16" : "float32";

    if (j->size) {
        text_addf(out, "model: {size: %s, dtype: %s}\n", j->size, dtype);
        return;
    }
    text_addf(out,
              "model:\n  kind: transformer\n  dtype: %s\n  layers: %" PRId64 "\n  d_model: %" PRId64
              "\n  d_ff: %" PRId64 "\n  heads: %" PRId64 "\n",
              dtype, j->layers, j->d_model, j->d_ff > 0 ? j->d_ff : 4 * j->d_model, j->heads);
    if (j->grouped)
        text_addf(out, "  kv_heads: %" PRId64 "\n", j->kv_heads > 0 ? j->kv_heads : 1);
    if (j->head_dim > 0)
        text_addf(out, "  head_dim: %" PRId64 "\n", j->head_dim);
    text_addf(out, "  vocab: %" PRId64 "\n  activation: %s\n  norm: %s\n", j->vocab,
              j->swiglu ? "swiglu" : "gelu",
              j->norm && !strcmp(j->norm, "RMSNorm") ? "rms" : "layer");
    if (j->norm_eps > 0)
        text_addf(out, "  norm_eps: %.17g\n", j->norm_eps);
    if (!strcmp(j->position, "rope"))
        text_addf(out, "  rope: {theta: %.17g, interleaved: %s}\n", j->theta > 0 ? j->theta : 1e4,
                  j->interleaved ? "true" : "false");
    if (j->positions > 0)
        text_addf(out, "  positions: %" PRId64 "\n", j->positions);
    text_addf(out, "  bias: %s\n  attention_bias: %s\n  tied: %s\n", j->unbiased ? "false" : "true",
              !j->unbiased  ? "all"
              : j->qkv_bias ? "qkv"
                            : "none",
              j->untied ? "false" : "true");
}

static void add_experts(const struct import_job *j, struct text *out)
{
    if (j->experts == 0)
        return;
    text_addf(out,
              "moe:\n  experts: %" PRId64 "\n  top_k: %" PRId64 "\n  d_ff: %" PRId64
              "\n  renormalize: %s\n",
              j->experts, j->top_k > 0 ? j->top_k : 2, j->expert_d_ff,
              j->pre_softmax ? "false" : "true");
    if (j->aux_loss > 0)
        text_addf(out, "  aux_loss: %.17g\n", j->aux_loss);
    if (j->z_loss > 0)
        text_addf(out, "  z_loss: %.17g\n", j->z_loss);
    if (j->capacity > 0)
        text_addf(out, "  capacity: %.17g\n", j->capacity);
}

static void add_axis(struct text *out, size_t *n, const char *name, int64_t size)
{
    if (size > 1)
        text_addf(out, "%s%s: %" PRId64, (*n)++ ? ", " : "", name, size);
}

static void add_mesh(const struct import_job *j, const struct shape *s, struct text *out)
{
    size_t n = 0;

    text_add(out, "mesh: {");
    if (!j->data_outside)
        add_axis(out, &n, "pp", j->stages);
    add_axis(out, &n, "replica", s->replicas);
    add_axis(out, &n, "dp", s->data);
    add_axis(out, &n, "ep", s->experts);
    if (j->data_outside)
        add_axis(out, &n, "pp", j->stages);
    add_axis(out, &n, "cp", j->context);
    add_axis(out, &n, "tp", j->tensor);
    text_add(out, n ? "}\n" : "dp: 1}\n");
}

/* The axes of the batch, "dp" or "[dp, ep]", or null. */
static void add_batch_axes(const struct shape *s, struct text *out)
{
    const struct {
        const char *name;
        int64_t size;
    } axes[] = {{"replica", s->replicas}, {"dp", s->data}, {"ep", s->experts}};
    size_t n = 0;

    text_add(out, "[");
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (axes[i].size > 1)
            text_addf(out, "%s%s", n++ ? ", " : "", axes[i].name);
    text_add(out, "]");
}

static void add_params(const struct import_job *j, const struct shape *s, struct text *out)
{
    const char *experts = s->folded && s->experts > 1 ? "[ep, cp]"
                          : s->folded                 ? "cp"
                          : s->experts > 1            ? "ep"
                                                      : "null";

    text_add(out, "params: # which dimensions of what a pattern is found in are sharded\n");
    if (j->experts > 0 || strcmp(experts, "null") != 0) {
        text_addf(out, "  - [moe/(gate|up)/kernel, [%s, null, %s]]\n", experts,
                  j->tensor > 1 ? "tp" : "null");
        text_addf(out, "  - [moe/down/kernel, [%s, %s, null]]\n", experts,
                  j->tensor > 1 ? "tp" : "null");
    }
    if (j->tensor > 1) {
        text_add(out, "  - [(q|k|v)/kernel, [null, tp]]\n  - [attn/o/kernel, [tp]]\n");
        if (!j->size && (!j->unbiased || j->qkv_bias))
            text_add(out, "  - [(q|k|v)/bias, [tp]]\n");
        if (!j->size && !j->unbiased && j->experts == 0)
            text_add(out, "  - [mlp/up/bias, [tp]]\n");
        if (j->experts == 0)
            text_add(out, "  - [mlp/(gate|up)/kernel, [null, tp]]\n"
                          "  - [mlp/down/kernel, [tp]]\n");
        text_add(out, "  - [embed/table, [tp]]\n");
        if (j->untied || j->size)
            text_add(out, "  - [head/kernel, [null, tp]]\n");
    }
    text_add(out, "  - [.*, []]\n");
}

static void add_constraints(const struct import_job *j, const struct shape *s, struct text *out)
{
    struct text batch = TEXT_INIT;
    const char *seq = j->context > 1 ? "cp" : "null";

    add_batch_axes(s, &batch);
    text_addf(out, "axes: {batch: %s%s}\n", text_get(&batch), j->context > 1 ? ", seq: cp" : "");
    if (j->sequence && j->tensor > 1) {
        text_add(out, "constraints: # tokens are sharded between heads and widths\n");
        text_addf(out, "  - [attn/(q|kv), [%s, %s, tp, null]]\n", text_get(&batch), seq);
        if (j->experts == 0)
            text_addf(out, "  - [mlp/hidden, [%s, %s, tp]]\n", text_get(&batch), seq);
        text_addf(out, "  - [head/out, [%s, %s, tp]]\n", text_get(&batch), seq);
        text_addf(out, "  - [out, [%s, %s, null]]\n", text_get(&batch),
                  j->context > 1 ? "[cp, tp]" : "tp");
    }
    out->failed |= batch.failed;
    text_fini(&batch);
}

static void add_parallelism(const struct import_job *j, const struct shape *s, struct text *out)
{
    if (j->stages > 1 && j->virtual_stages > 1)
        text_addf(out, "pipeline: {axis: pp, schedule: %s, stages_per_rank: %" PRId64 "}\n",
                  j->schedule, j->virtual_stages);
    else if (j->stages > 1)
        text_addf(out, "pipeline: {axis: pp, schedule: %s}\n", j->schedule);
    if (j->context > 1)
        text_addf(out, "context: {axis: cp, method: %s, order: zigzag}\n",
                  j->gathers ? "gather" : "ring");
    if (j->zero > 0 && s->data > 1)
        text_addf(out, "zero: {stage: %" PRId64 ", axis: dp%s}\n", j->zero,
                  j->keep ? ", reshard_after_forward: false" : "");
    if (j->recompute && !strcmp(j->recompute, "full") && j->recompute_layers > 1)
        text_addf(out, "recompute: {kind: full, group: %" PRId64 "}\n", j->recompute_layers);
    else if (j->recompute)
        text_addf(out, "recompute: %s\n", j->recompute);
}

static void add_optimizer(const struct import_job *j, struct text *out)
{
    bool sgd = j->optimizer && !strcmp(j->optimizer, "sgd");

    text_addf(out,
              "step: [forward, backward, update]\nsteps: %" PRId64 "\noptimizer:\n  kind: %s\n",
              j->steps > 0 ? j->steps : 1, sgd ? "sgd" : "adamw");
    if (j->lr > 0)
        text_addf(out, "  lr: %.17g\n", j->lr);
    text_addf(out, "  warmup: %" PRId64 "\n  decay: %s\n  weight_decay: %.17g\n  clip: %.17g\n",
              j->warmup, j->decay ? j->decay : "constant", j->weight_decay, j->clip);
    if (sgd)
        text_addf(out, "  momentum: %.17g\n", j->momentum);
    else
        text_addf(out, "  betas: [%.17g, %.17g]\n  eps: %.17g\n", j->betas[0], j->betas[1], j->eps);
    if (j->bf16 || j->fp16)
        text_add(out, "types: {parameters: float32} # and with them gradients and moments\n");
    if (j->dynamic_scale)
        text_addf(out,
                  "loss_scale: {kind: dynamic, initial: %" PRId64 ", growth_interval: %" PRId64
                  "}\n",
                  j->loss_scale > 0 ? j->loss_scale : 65536, j->loss_scale_window);
    else if (j->loss_scale > 0)
        text_addf(out, "loss_scale: {kind: static, initial: %" PRId64 "}\n", j->loss_scale);
}

void import_job_print(const struct import_job *job, const char *from, struct text *out,
                      struct diag *diag)
{
    struct shape shape = {0};

    if (diag->nerrors == 0)
        find_data(&shape, job, diag);
    if (diag->nerrors == 0)
        find_batch(&shape, job, diag);
    if (diag->nerrors > 0)
        return;
    text_addf(out, "# Written by 'shardsim import --from %s'.\n", from);
    if (*text_get(&job->left_out))
        text_addf(out, "# Left out, as it says nothing of the layout:%s\n",
                  text_get(&job->left_out));
    text_addf(out, "version: 1\nname: %s\n", from);
    add_mesh(job, &shape, out);
    add_model(job, out);
    add_experts(job, out);
    text_addf(out, "batch: {size: %" PRId64 ", seq: %" PRId64 ", microbatches: %" PRId64 "}\n",
              shape.microbatches * job->sequences * shape.replicas * shape.data * shape.experts,
              job->seq, shape.microbatches);
    add_optimizer(job, out);
    add_params(job, &shape, out);
    add_constraints(job, &shape, out);
    add_parallelism(job, &shape, out);
    if (job->left_out.failed)
        diag_no_memory(diag);
}
