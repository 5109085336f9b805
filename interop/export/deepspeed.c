/* Export target: a layout as the JSON file of DeepSpeed.
 *
 * The file says batch, types, ZeRO, the optimizer and how many devices AutoTP shards a model over.
 * The model and its recomputation are code, and stages of a pipeline, experts and shards of
 * sequences are laid out by it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/json_out.h"
#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"

/* ---- refusals ---- */

static int refuse(struct export_job *j, const char *what)
{
    return shd_error_set(j->err, SHD_EUNSUPPORTED, "DeepSpeed's JSON cannot express %s", what);
}

static int check_mesh(struct export_job *j)
{
    const struct export_roles *r = &j->roles;

    if (r->size[EXPORT_PIPELINE] > 1)
        return refuse(j, "pipeline stages (they need a PipelineModule); expected none");
    if (r->experts > 1)
        return refuse(j, "expert parallelism; expected every device to hold all experts");
    if (r->size[EXPORT_CONTEXT] > 1)
        return refuse(j, "sequence or context parallelism; expected no `context`");
    if (r->sequence)
        return refuse(j, "sequence parallelism over the tensor axis; expected no constraint "
                         "sharding 'seq' over the tensor axis");
    if (r->zero > 0 && r->zero < 3 && r->size[EXPORT_REPLICA] > 1 && r->size[EXPORT_SHARD] > 1)
        return refuse(j, "ZeRO 1 or 2 over a subset of the replicas; expected zero.axis to be all "
                         "axes of the batch, or zero.stage 3");
    if (r->zero == 3 && j->source->zero.reshard > SCENARIO_RESHARD_DEFAULT)
        return refuse(j, "ZeRO 3 without resharding after the forward pass; expected "
                         "zero.reshard_after_forward always");
    return SHD_OK;
}

static int check_types(struct export_job *j)
{
    const struct scenario *s = j->source;

    if (s->model.dtype == SHD_F32 || !s->step.update)
        return SHD_OK;
    if (scenario_type(s, s->types.parameters) != SHD_F32 ||
        scenario_type(s, s->types.moments) != SHD_F32)
        return refuse(j, "16-bit parameters and moments; expected types.parameters and "
                         "types.moments float32");
    return SHD_OK;
}

/* What no layout changes: types, and the optimizer. */
static int check_source(struct export_job *j)
{
    const struct scenario *s = j->source;

    if (s->model.dtype == SHD_F64)
        return refuse(j, "float64; expected model.dtype float32, bfloat16 or float16");
    if (s->optimizer.kind == SCENARIO_SGD)
        return refuse(j, "SGD that ZeRO is tested with; expected adamw");
    return check_types(j);
}

static int check_products(struct export_job *j)
{
    return export_check_products(j->source, "DeepSpeed", 0, j->err);
}

static int check_recompute(struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;

    if (r->kind != SCENARIO_RECOMPUTE_NONE && (r->kind != SCENARIO_RECOMPUTE_FULL || r->nkept > 0 ||
                                               r->policy || r->hold || r->first || r->every > 1))
        return refuse(j, "selective recomputation; expected recompute none or full");
    return SHD_OK;
}

/* Whether the host's memory has what the file can put there: all of the optimizer's state, and
 * with it parameters. */
static bool is_offload_whole(const struct export_job *j)
{
    const struct scenario_offload *o = &j->source->offload;

    return !scenario_has_values(&o->activations) && o->optimizer == 1 &&
           (!o->parameters || j->roles.zero == 3) && j->roles.zero > 0;
}

static int check_rest(struct export_job *j)
{
    const struct scenario *s = j->source;

    if (scenario_offload_option(s) && !is_offload_whole(j))
        return refuse(j, "this offload; expected offload.optimizer 1 with zero.stage 1 to 3, and "
                         "offload.parameters with stage 3 alone");
    if (export_roles_sequences(&j->roles, s) * export_roles_data(&j->roles) *
            s->batch.microbatches !=
        s->batch.size)
        return refuse(j,
                      "parts of sequences; expected a batch divisible by replicas x microbatches");
    return SHD_OK;
}

/* ---- options ---- */

static const char *type_name(enum shd_dtype type)
{
    return type == SHD_F32 ? "fp32" : type == SHD_BF16 ? "bf16" : "fp16";
}

static void add_batch(const struct export_job *j, struct json_out *out)
{
    const struct scenario *s = j->source;

    json_out_key_int(out, "train_batch_size", s->batch.size);
    json_out_key_int(out, "train_micro_batch_size_per_gpu", export_roles_sequences(&j->roles, s));
    json_out_key_int(out, "gradient_accumulation_steps", s->batch.microbatches);
    if (j->roles.size[EXPORT_TENSOR] > 1) {
        json_out_key_flat_object(out, "tensor_parallel");
        json_out_key_int(out, "autotp_size", j->roles.size[EXPORT_TENSOR]);
        json_out_end_object(out);
    }
}

static void add_loss_scale(const struct scenario_loss_scale *scale, struct json_out *out)
{
    int power = 0;

    json_out_key_int(out, "loss_scale",
                     scale->kind == SCENARIO_DYNAMIC_LOSS_SCALE  ? 0
                     : scale->kind == SCENARIO_STATIC_LOSS_SCALE ? scale->initial
                                                                 : 1);
    if (scale->kind != SCENARIO_DYNAMIC_LOSS_SCALE)
        return;
    while (scale->initial >> power > 1)
        power++;
    json_out_key_int(out, "initial_scale_power", power);
    json_out_key_int(out, "loss_scale_window", scale->growth_interval);
}

static void add_types(const struct export_job *j, struct json_out *out)
{
    const struct scenario *s = j->source;

    if (s->model.dtype == SHD_F32)
        return;
    json_out_key_flat_object(out, type_name(s->model.dtype));
    json_out_key_bool(out, "enabled", true);
    if (s->model.dtype == SHD_F16)
        add_loss_scale(&s->loss_scale, out);
    json_out_end_object(out);
    json_out_key_string(out, "communication_data_type",
                        type_name(scenario_type(s, s->types.reduce)));
    json_out_key_flat_object(out, "data_types");
    json_out_key_string(out, "grad_accum_dtype", type_name(scenario_type(s, s->types.gradients)));
    json_out_end_object(out);
}

static void add_host(struct json_out *out, const char *key, bool offloaded)
{
    if (!offloaded)
        return;
    json_out_key_flat_object(out, key);
    json_out_key_string(out, "device", "cpu");
    json_out_key_bool(out, "pin_memory", true);
    json_out_end_object(out);
}

static void add_zero(const struct export_job *j, struct json_out *out)
{
    const struct export_roles *r = &j->roles;

    json_out_key_object(out, "zero_optimization");
    json_out_key_int(out, "stage", r->zero);
    if (r->zero > 0) /* of gradients, beside the backward phase */
        json_out_key_bool(out, "overlap_comm", j->layout->overlap.gradients != SCENARIO_EXPOSED);
    if (r->zero == 3 && r->size[EXPORT_REPLICA] > 1)
        json_out_key_int(out, "mics_shard_size", r->size[EXPORT_SHARD]);
    add_host(out, "offload_optimizer", j->source->offload.optimizer == 1);
    add_host(out, "offload_param", j->source->offload.parameters);
    json_out_end_object(out);
}

static void add_optimizer(const struct scenario *s, struct json_out *out)
{
    const struct scenario_optimizer *o = &s->optimizer;

    if (o->kind == SCENARIO_NO_OPTIMIZER)
        return;
    json_out_key_double(out, "gradient_clipping", o->clip);
    json_out_key_object(out, "optimizer");
    json_out_key_string(out, "type", "AdamW");
    json_out_key_object(out, "params");
    json_out_key_double(out, "lr", o->lr);
    json_out_key_flat_array(out, "betas");
    json_out_double(out, o->betas[0]);
    json_out_double(out, o->betas[1]);
    json_out_end_array(out);
    json_out_key_double(out, "eps", o->eps);
    json_out_key_double(out, "weight_decay", o->weight_decay);
    json_out_end_object(out);
    json_out_end_object(out);
}

/* JSON has no comments, and DeepSpeed reads no section of this name. */
static void add_notes(const struct export_job *j, struct json_out *out)
{
    const struct scenario *s = j->source;

    json_out_key_object(out, "shardsim");
    json_out_key_string(out, "scenario", j->layout->scenario);
    json_out_key_string(out, "strategy", j->layout->strategy);
    json_out_key_string(out, "model", j->layout->what);
    json_out_key_int(out, "devices", shd_mesh_size(j->layout->mesh));
    json_out_key_array(out, "notes");
    json_out_string(out, "choose learning rates, weight decay and the number of steps yourself");
    if (s->recompute.kind == SCENARIO_RECOMPUTE_FULL)
        json_out_string(out, "planned with recomputation: the model must checkpoint each layer");
    if (j->roles.size[EXPORT_TENSOR] > 1)
        json_out_string(out, "planned with sharded embedding and head; AutoTP decides that by the "
                             "model's modules");
    if (j->roles.zero == 3 && j->roles.size[EXPORT_REPLICA] > 1)
        json_out_string(out, "MiCS: construct the model under deepspeed.zero.MiCS_Init");
    if (!s->step.update)
        json_out_string(out, "planned without an optimizer; DeepSpeed trains with one");
    json_out_end_array(out);
    json_out_end_object(out);
}

static void add_all(const struct export_job *j, struct json_out *out)
{
    const struct scenario_recompute *r = &j->source->recompute;

    json_out_begin_object(out);
    add_batch(j, out);
    add_types(j, out);
    add_zero(j, out);
    if (r->kind == SCENARIO_RECOMPUTE_FULL) {
        json_out_key_flat_object(out, "activation_checkpointing");
        json_out_key_int(out, "number_checkpoints",
                         (j->source->model.layers + r->group - 1) / r->group);
        json_out_end_object(out);
    }
    add_optimizer(j->source, out);
    add_notes(j, out);
    json_out_end_object(out);
}

static export_check *const choices[] = {check_products, check_recompute, NULL};

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    static export_check *const checks[] = {check_mesh, check_rest, NULL};
    struct export_job j;
    struct json_out json;
    int status = export_job_init(&j, layout, out, checks, err);

    if (status != SHD_OK)
        return status;
    json_out_init_text(&json, out, JSON_OUT_PRETTY);
    add_all(&j, &json);
    status = json_out_fini(&json);
    text_add(out, "\n");
    export_job_fini(&j);
    return status == SHD_OK ? SHD_OK : shd_error_set(err, status, "no memory for the code");
}

const struct export_target export_deepspeed = {
    .name = "deepspeed",
    .desc = "DeepSpeed JSON config, from what each mesh axis shards",
    .write = write,
    .source = check_source,
    .choices = choices,
    .offloads = true};
