/* Export target: a layout as the TOML file of torchtitan.
 *
 * torchtitan lays ranks out with stages outermost, then replicas, shards, context and tensor
 * parallelism.  It names models by flavors, and always shards sequences between heads and widths.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"
#include "export/torchtitan.h"
#include "model/products.h"
#include "scenario/flavors.h"
#include "scenario/recompute_policies.h"
#include "timetable/timetable.h"

/* ---- refusals ---- */

static int check_mesh(struct export_job *j)
{
    const struct export_roles *r = &j->roles;

    if (r->data_outside)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan's pipeline axis is the outermost; expected '%.40s' as the "
                             "first axis of `mesh`",
                             j->source->pipeline.axis);
    if (r->zero == 1 || r->zero == 2)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan has no ZeRO %d; expected zero.stage 0 or 3, or 3 with "
                             "zero.reshard_after_forward never",
                             (int)r->zero);
    if (r->zero == 3 && j->source->zero.reshard > SCENARIO_RESHARD_NEVER)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan cannot reshard parameters over groups of %d; expected "
                             "zero.reshard_after_forward default, always or never",
                             (int)j->source->zero.reshard);
    if (r->size[EXPORT_TENSOR] > 1 && !r->sequence)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan's tensor parallelism includes sequence parallelism; "
                             "expected a constraint such as [out, [dp, tp, null]]");
    if (r->experts > 1 && r->size[EXPORT_TENSOR] > 1 && !r->experts_over_tensor)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan, since 2026, has whole experts on tensor-parallel ranks; "
                             "expected rules that shard experts over the tensor axis, and not "
                             "their widths");
    return SHD_OK;
}

static int find_schedule(struct export_job *j)
{
    return export_find_schedule(j, TIMETABLE_IN_TORCHTITAN, "torchtitan");
}

/* Whether torchtitan can recompute these layers: all, or the last of every N, which it counts over
 * all stages of a rank. */
static bool has_such_layers(const struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_NONE)
        return true;
    return r->group == 1 && r->first == 0 &&
           (r->every == 1 ||
            (!r->policy && r->offset + 1 == r->every &&
             (j->stages.n == 1 || (r->by_stage && export_stages_divide(&j->stages, r->every)))));
}

/* torchtitan's CPU offload is FSDP's, of parameters and state together. */
static bool offloads_all(const struct scenario *s)
{
    return s->offload.optimizer == 1 && s->offload.parameters &&
           !scenario_has_values(&s->offload.activations);
}

/* Parameters, gradients and moments are of training.dtype; gradients are summed over shards in
 * mixed_precision_reduce. */
static int check_types(struct export_job *j)
{
    const struct scenario *s = j->source;
    const struct scenario_types *t = &s->types;
    enum shd_dtype kept = scenario_type(s, t->parameters), reduce = scenario_type(s, t->reduce);

    if (!s->step.update || s->model.dtype == SHD_F32)
        return SHD_OK;
    if (scenario_type(s, t->gradients) != kept || scenario_type(s, t->moments) != kept)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan keeps gradients and moments in the parameters' type; "
                             "expected types.gradients and types.moments %s",
                             shd_dtype_name(kept));
    if (reduce != SHD_F32 && reduce != SHD_BF16)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan reduces gradients in float32 or bfloat16; expected "
                             "types.reduce float32 or bfloat16");
    return SHD_OK;
}

static int refuse(struct export_job *j, const char *what)
{
    return what ? shd_error_set(j->err, SHD_EUNSUPPORTED, "torchtitan has no %s", what) : SHD_OK;
}

static int check_recompute(struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_NAMED || r->nkept > 0 ||
        (r->policy && !torchtitan_is_by_op(r)) || (r->hold && !torchtitan_is_by_op(r)))
        return refuse(j, "recomputation by patterns; expected recompute none, full or "
                         "selective_op");
    if (r->kind == SCENARIO_RECOMPUTE_SELECTIVE)
        return refuse(j, "recomputation of attention alone (its 'selective' keeps matmul results); "
                         "expected recompute none, full or selective_op");
    return SHD_OK;
}

/* What no layout changes: the model, what is learned of it, its loss and documents, and types. */
static int check_source(struct export_job *j)
{
    const struct scenario *s = j->source;
    const char *what = NULL;
    int status = torchtitan_check_model(j);

    if (scenario_offload_option(s) && !offloads_all(s))
        what = "offload of individual arrays; expected offload.optimizer 1, offload.parameters "
               "true and no offload.activations, or no offload";
    else if (s->fused.loss_chunks > 1)
        what = "option for a loss in chunks; expected fused.loss_chunks 1";
    else if (s->lora.rank > 0 || s->frozen.n > 0)
        what = "option for adapters and frozen parameters; expected no lora and no frozen";
    else if (s->context.documents.mean > 0 || s->context.documents.nlengths > 0)
        what = "option for packed document lengths; expected no context.documents";
    else if (s->model.dtype == SHD_F64 || s->model.dtype == SHD_F16)
        what = "other computation types; expected model.dtype float32 or bfloat16";
    else if (s->model.moe.experts > 0 && s->model.moe.routing > SCENARIO_ROUTING_UNIFORM)
        what = "synthetic routing; expected moe.routing auto, learned or uniform";
    else if (s->optimizer.kind == SCENARIO_SGD)
        what = "optimizer SGD; expected adamw";
    if (status == SHD_OK)
        status = refuse(j, what);
    return status == SHD_OK ? check_types(j) : status;
}

static int check_rest(struct export_job *j)
{
    const struct scenario *s = j->source;
    const char *what = NULL;

    if (!has_such_layers(j))
        what = "recomputation of these layers; expected all layers, or {kind: full, every: N, "
               "offset: N - 1}, in a pipeline with count: stage and N that divides the layers of "
               "each stage";
    else if (j->roles.size[EXPORT_CONTEXT] > 1 && s->context.order != SCENARIO_ZIGZAG)
        what = "context-parallel order other than zigzag; expected context.order zigzag";
    else if (export_roles_sequences(&j->roles, s) * export_roles_data(&j->roles) *
                 s->batch.microbatches !=
             s->batch.size)
        what = "parts of sequences; expected a batch divisible by replicas x microbatches";
    return refuse(j, what);
}

#define NMODULES_MAX 32

/* Sort products by their modules, and behind these experts' and all others. */
static int find_modules(struct export_rounding *out, size_t *n, struct export_job *j)
{
    struct scenario_rule groups[NMODULES_MAX + 2] = {{.pattern = NULL}};

    for (*n = 0; family_modules[*n].module && *n < NMODULES_MAX; ++*n)
        groups[*n].pattern = (char *)family_modules[*n].pattern;
    groups[*n].pattern = (char *)MODEL_EXPERT_PRODUCTS;
    groups[*n + 1].pattern = (char *)"";
    return export_find_rounding(out, j->layout->graph, groups, *n + 2, j->err);
}

/* torchtitan's recipes round gradients to e5m2 and to e4m3, as here by the recipe. */
static int check_products(struct export_job *j)
{
    const struct scenario_products *p = &j->source->products;
    int status = export_check_products(
        j->source, "torchtitan",
        1u << SCENARIO_TENSORWISE | 1u << SCENARIO_ROWWISE | 1u << SCENARIO_MXFP8, j->err);

    if (status != SHD_OK || p->recipe == SCENARIO_NO_RECIPE)
        return status;
    if (p->gradients != SCENARIO_CODE_OF_RECIPE)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan's recipe fixes the type of gradients; expected "
                             "products.gradients recipe");
    if (p->recipe == SCENARIO_MXFP8 && p->gathers)
        return shd_error_set(j->err, SHD_EUNSUPPORTED,
                             "torchtitan gathers weights in 16 bits for mx; expected no "
                             "products.gathers");
    return SHD_OK;
}

static int check_modules(struct export_job *j)
{
    struct export_rounding rounding[NMODULES_MAX + 2];
    size_t n;
    int status;

    if (j->source->products.recipe == SCENARIO_NO_RECIPE)
        return SHD_OK;
    status = find_modules(rounding, &n, j);
    if (status == SHD_OK)
        status = export_check_even(rounding, n, "torchtitan", j->err);
    if (status == SHD_OK && rounding[n].rounded)
        status = shd_error_set(j->err, SHD_EUNSUPPORTED,
                               "torchtitan's converters of linear modules do not quantize '%.60s'; "
                               "add a pattern for it to products.except",
                               rounding[n].rounded);
    if (status == SHD_OK && rounding[n + 1].wide)
        status = shd_error_set(j->err, SHD_EUNSUPPORTED,
                               "torchtitan quantizes '%.60s'; remove its pattern from "
                               "products.except",
                               rounding[n + 1].wide);
    return status;
}

/* ---- options ---- */

static void add_products(struct export_job *j)
{
    const struct scenario_products *p = &j->source->products;
    struct export_rounding rounding[NMODULES_MAX + 2];
    const char *comma = "";
    size_t n;

    if (p->recipe == SCENARIO_NO_RECIPE || find_modules(rounding, &n, j) != SHD_OK)
        return;
    if (p->recipe == SCENARIO_MXFP8)
        text_add(j->out, "converters = [\"mx\"]\n\n[mx]\n");
    else
        text_addf(j->out,
                  "converters = [\"float8\"]\n\n[float8]\nrecipe_name = \"%s\"\n"
                  "enable_fsdp_float8_all_gather = %s\n",
                  p->recipe == SCENARIO_ROWWISE ? "rowwise" : "tensorwise",
                  p->gathers ? "true" : "false");
    text_add(j->out, "filter_fqns = [");
    for (size_t m = 0; m < n; m++)
        if (rounding[m].wide) {
            text_addf(j->out, "%s\"%s\"", comma, family_modules[m].module);
            comma = ", ";
        }
    text_add(j->out, "]\n");
}

static void add_fraction(struct export_job *j, const char *key, double value)
{
    text_addf(j->out, "%s = ", key);
    export_add_number(j->out, value);
    text_add_char(j->out, '\n');
}

static void add_training(struct export_job *j)
{
    const struct scenario *s = j->source;
    const struct scenario_optimizer *o = &s->optimizer;
    int64_t sequences = export_roles_sequences(&j->roles, s);
    bool pipeline = j->roles.size[EXPORT_PIPELINE] > 1;

    text_addf(j->out,
              "\n[training]\nlocal_batch_size = %" PRId64 "\nglobal_batch_size = %" PRId64
              "\nseq_len = %" PRId64 "\nsteps = %" PRId64 "\nmixed_precision_param = \"%s\"\n",
              pipeline ? sequences * s->batch.microbatches : sequences, s->batch.size, s->batch.seq,
              s->steps, shd_dtype_name(s->model.dtype));
    if (s->model.dtype == SHD_BF16 && scenario_type(s, s->types.parameters) == SHD_BF16)
        text_add(j->out, "dtype = \"bfloat16\"\n");
    if (s->model.dtype == SHD_BF16 && scenario_type(s, s->types.reduce) == SHD_BF16)
        text_add(j->out, "mixed_precision_reduce = \"bfloat16\"\n");
    if (s->offload.parameters)
        text_add(j->out, "enable_cpu_offload = true\n");
    if (o->kind == SCENARIO_NO_OPTIMIZER)
        return;
    if (o->clip > 0)
        add_fraction(j, "max_norm", o->clip);
    else
        text_add(j->out, "max_norm = inf\n"); /* torchtitan's default is 1.0 */
    text_add(j->out, "\n[optimizer]\nname = \"AdamW\"\n");
    add_fraction(j, "lr", o->lr);
    add_fraction(j, "beta1", o->betas[0]);
    add_fraction(j, "beta2", o->betas[1]);
    add_fraction(j, "eps", o->eps);
    add_fraction(j, "weight_decay", o->weight_decay);
    text_addf(j->out, "\n[lr_scheduler]\nwarmup_steps = %" PRId64 "\n", o->warmup);
}

/* List the modules of each stage: torchtitan's own split counts embedding and head as layers. */
static void add_stages(struct export_job *j)
{
    int64_t layer = 0;

    text_add(j->out, "module_fqns_per_model_part = [\n");
    for (uint32_t i = 0; i < j->stages.n; i++) {
        const char *between = i == 0 ? ", " : "";

        text_add(j->out, i == 0 ? "    [\"tok_embeddings\"" : "    [");
        for (int64_t n = 0; n < j->stages.layers[i]; n++, between = ", ")
            text_addf(j->out, "%s\"layers.%" PRId64 "\"", between, layer++);
        if (i + 1 == j->stages.n)
            text_addf(j->out, "%s\"norm\", \"output\"", between);
        text_add(j->out, "],\n");
    }
    text_add(j->out, "]\n");
}

/* If no parts are named, torchtitan compiles both. */
static void add_compile(struct export_job *j)
{
    const struct torchtitan_compiled c = torchtitan_compiled_of(j);

    if (!c.loss && !c.model && !torchtitan_is_by_op(&j->source->recompute))
        return;
    text_addf(j->out, "\n[compile]\nenable = %s\n", c.loss || c.model ? "true" : "false");
    if (c.loss != c.model)
        text_addf(j->out, "components = [\"%s\"]\n", c.loss ? "loss" : "model");
}

static void add_recompute(struct export_job *j)
{
    const struct scenario_recompute *r = &j->source->recompute;

    text_addf(j->out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
              r->kind == SCENARIO_RECOMPUTE_NONE       ? "none"
              : torchtitan_is_by_op(r) || r->every > 1 ? "selective"
                                                       : "full");
    if (torchtitan_is_by_op(r))
        text_add(j->out, "selective_ac_option = \"op\"\n");
    else if (r->kind != SCENARIO_RECOMPUTE_NONE && r->every > 1)
        text_addf(j->out, "selective_ac_option = \"%" PRId64 "\"\n", r->every);
    add_compile(j);
}

static void add_parallelism(struct export_job *j)
{
    const struct scenario *s = j->source;
    const struct export_roles *r = &j->roles;

    text_addf(j->out,
              "\n[parallelism]\ndata_parallel_replicate_degree = %" PRId64
              "\ndata_parallel_shard_degree = %" PRId64 "\ntensor_parallel_degree = %" PRId64
              "\ncontext_parallel_degree = %" PRId64 "\npipeline_parallel_degree = %" PRId64 "\n",
              r->size[EXPORT_REPLICA], r->size[EXPORT_SHARD] * r->size[EXPORT_EXPERT],
              r->size[EXPORT_TENSOR], r->size[EXPORT_CONTEXT], r->size[EXPORT_PIPELINE]);
    if (r->experts > 1)
        text_addf(j->out,
                  "expert_parallel_degree = %" PRId64 "\nexpert_tensor_parallel_degree = %" PRId64
                  "\n",
                  r->experts, r->experts_over_tensor ? 1 : r->size[EXPORT_TENSOR]);
    if (torchtitan_compiled_of(j).products)
        text_add(j->out, "enable_async_tensor_parallel = true\n");
    if (r->zero == 3)
        text_addf(j->out, "fsdp_reshard_after_forward = \"%s\"\n", torchtitan_reshard_of(s));
    if (r->size[EXPORT_CONTEXT] > 1)
        text_addf(j->out, "context_parallel_rotate_method = \"%s\"\n",
                  s->context.method == SCENARIO_RING ? "alltoall" : "allgather");
    if (r->size[EXPORT_PIPELINE] > 1)
        text_addf(j->out,
                  "pipeline_parallel_schedule = \"%s\"\npipeline_parallel_microbatch_size = "
                  "%" PRId64 "\n",
                  j->schedule->name, export_roles_sequences(r, s));
    if (r->size[EXPORT_PIPELINE] > 1)
        add_stages(j);
    add_recompute(j);
}

static void add_head(struct export_job *j)
{
    text_addf(j->out, "# Written by 'shardsim export --to torchtitan', for %d devices.\n#\n",
              (int)shd_mesh_size(j->layout->mesh));
    export_add_title(j->out, j->layout);
    torchtitan_add_command(j, torchtitan_find_flavor(&j->source->model));
    torchtitan_add_positions(j);
    if (!j->source->step.update)
        text_add(j->out, "# Planned without an optimizer; torchtitan always trains with one.\n");
    if (j->source->optimizer.kind != SCENARIO_NO_OPTIMIZER)
        text_add(j->out, EXPORT_OWN_RATES);
    if (j->roles.size[EXPORT_CONTEXT] > 1 &&
        !scenario_has_axis(&j->source->zero.axes, j->source->context.axis))
        text_add(j->out, "# torchtitan also shards parameters over context-parallel ranks: less "
                         "memory than planned.\n");
    if (j->roles.size[EXPORT_EXPERT] > 1 && !j->roles.shards_over_experts)
        text_add(j->out, "# torchtitan also shards dense parameters over expert-parallel ranks: "
                         "less memory than planned.\n");
    if (j->roles.sequence && j->source->gathered == SCENARIO_GATHER_AGAIN)
        text_add(j->out,
                 "# torchtitan keeps inputs that tensor parallelism all-gathers (gathered: keep): "
                 "more memory than planned.\n" EXPORT_REMARK "gathered=again\n");
    if (j->source->recompute.kind == SCENARIO_RECOMPUTE_FULL && j->source->recompute.whole)
        text_add(j->out,
                 "# torchtitan recomputes only what the backward pass reads: less work than "
                 "planned with recompute.whole.\n" EXPORT_REMARK "recompute.whole=true\n");
    if (j->source->model.moe.experts > 0 && j->source->model.moe.routing != SCENARIO_ROUTING_AUTO)
        text_addf(j->out, EXPORT_REMARK "moe.routing=%s\n",
                  scenario_routing_name(j->source->model.moe.routing));
}

static export_check *const choices[] = {find_schedule, check_recompute, check_products, NULL};

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    static export_check *const checks[] = {find_schedule, check_mesh, check_modules, check_rest,
                                           NULL};
    struct export_job j;
    int status = export_job_init(&j, layout, out, checks, err);

    if (status != SHD_OK)
        return status;
    add_head(&j);
    torchtitan_add_model(&j);
    add_products(&j);
    add_training(&j);
    add_parallelism(&j);
    export_job_fini(&j);
    return SHD_OK;
}

const struct export_target export_torchtitan = {
    .name = "torchtitan",
    .desc = "torchtitan TOML config, from what each mesh axis shards",
    .write = write,
    .software = "fsdp2",
    .source = check_source,
    .choices = choices,
    .offloads = true};
