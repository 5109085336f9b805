/* Export target: a layout as the command line of Megatron-LM's pretrain_gpt.py.
 *
 * Megatron-LM lays ranks out with tensor parallelism innermost, then context, experts, data, and
 * stages outermost; an option puts stages inside data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"
#include "scenario/recompute_policies.h"
#include "scenario/stage_layout.h"
#include "timetable/timetable.h"

static int refuse(struct export_job *c, const char *what)
{
    return shd_error_set(c->err, SHD_EUNSUPPORTED, "Megatron-LM has no %s", what);
}

static void add_flag(struct export_job *c, const char *flag)
{
    text_addf(c->out, " \\\n    %s", flag);
}

static void add_number(struct export_job *c, const char *option, int64_t value)
{
    text_addf(c->out, " \\\n    %s %" PRId64, option, value);
}

static void add_fraction(struct export_job *c, const char *option, double value)
{
    text_addf(c->out, " \\\n    %s ", option);
    export_add_number(c->out, value);
}

static void add_word(struct export_job *c, const char *option, const char *value)
{
    text_addf(c->out, " \\\n    %s %s", option, value);
}

/* ---- refusals ---- */

static int check_model(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    if (m->kind != SCENARIO_TRANSFORMER && m->kind != SCENARIO_GPT2 && m->kind != SCENARIO_LLAMA3 &&
        m->kind != SCENARIO_MIXTRAL && m->kind != SCENARIO_DECODER)
        return shd_error_set(c->err, SHD_EUNSUPPORTED,
                             "Megatron-LM's pretrain_gpt.py has no model of kind %s; expected "
                             "transformer, gpt2, llama3, mixtral or decoder",
                             scenario_kind_name(m->kind));
    if (m->dtype == SHD_F64)
        return refuse(c, "float64; expected model.dtype float32, bfloat16 or float16");
    if (m->activation != SCENARIO_GELU && m->activation != SCENARIO_SWIGLU)
        return refuse(c, "such activation as this; expected gelu or swiglu");
    if (m->mla.kv_rank > 0)
        return refuse(c, "form of these compressed keys; expected no `mla`");
    if (!m->causal)
        return refuse(c, "attention to what lies ahead in a GPT; expected model.causal true");
    if (m->bias != (m->attention_bias == SCENARIO_BIAS_ALL))
        return refuse(c, "biases of the mlp alone or of attention alone; expected model.bias with "
                         "attention_bias all");
    if (m->rope.used && m->positions > 0)
        return refuse(c, "rotary and learned positions at once; expected model.rope or positions");
    return export_check_model(c, "the export to Megatron-LM");
}

static int check_experts(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;

    if (moe->experts == 0)
        return SHD_OK;
    if (moe->routing != SCENARIO_ROUTING_AUTO && moe->routing != SCENARIO_ROUTING_LEARNED &&
        moe->routing != SCENARIO_ROUTING_UNIFORM)
        return refuse(c, "workload in the place of a router; expected moe.routing learned, or "
                         "uniform, as a balanced router's");
    if (moe->shared > 0 || moe->groups > 1 || moe->first_dense > 0 || moe->every > 1 ||
        moe->score != SCENARIO_SOFTMAX || moe->bias || moe->token_groups > 0)
        return shd_error_set(c->err, SHD_EUNSUPPORTED,
                             "experts of Megatron-LM are written for a softmax over all of them in "
                             "every layer; expected no moe.shared, groups, first_dense, every, "
                             "bias, token_groups");
    return SHD_OK;
}

static int check_pipeline(struct export_job *c)
{
    const struct scenario_pipeline *p = &c->source->pipeline;

    if (c->roles.size[EXPORT_PIPELINE] == 1)
        return SHD_OK;
    if (timetable_find_in(&c->schedule, p->schedule, TIMETABLE_IN_MEGATRON, "Megatron-LM",
                          c->err) != SHD_OK)
        return SHD_EUNSUPPORTED;
    return SHD_OK;
}

static int check_context(struct export_job *c)
{
    const struct scenario_context *x = &c->source->context;

    if (x->documents.mean > 0 || x->documents.nlengths > 0)
        return refuse(c, "option for lengths of packed documents; expected no context.documents");
    if (c->roles.size[EXPORT_CONTEXT] > 1 && x->order != SCENARIO_ZIGZAG)
        return refuse(c, "other order of a sharded sequence than zigzag; expected context.order "
                         "zigzag");
    return SHD_OK;
}

static int check_recompute(struct export_job *c)
{
    const struct scenario_recompute *r = &c->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_NAMED || r->nkept > 0 || r->policy || r->hold)
        return refuse(c, "recomputation by patterns of names or by ops; expected recompute none, "
                         "selective or full");
    if (r->kind == SCENARIO_RECOMPUTE_NONE)
        return SHD_OK;
    if (r->every > 1 || (r->first > 0 && r->group > 1) ||
        (r->kind == SCENARIO_RECOMPUTE_SELECTIVE && r->first > 0))
        return refuse(c, "recomputation of such layers; expected full of the first ones "
                         "(recompute.first) or of groups, without recompute.every");
    if (c->stages.n > 1 && !r->by_stage &&
        (r->first > 0 || !export_stages_divide(&c->stages, r->group)))
        return refuse(c, "recomputation of layers that are counted in the model; expected "
                         "recompute.count: stage");
    return SHD_OK;
}

/* --fp8-recipe or --fp4-recipe of a recipe; NULL: it has none. */
static const char *recipe_of(enum scenario_recipe recipe)
{
    static const char *const names[SCENARIO_NRECIPES] = {[SCENARIO_TENSORWISE] = "tensorwise",
                                                         [SCENARIO_BLOCKWISE] = "blockwise",
                                                         [SCENARIO_MXFP8] = "mxfp8",
                                                         [SCENARIO_NVFP4] = "nvfp4"};

    return names[recipe];
}

static int check_products(struct export_job *c)
{
    const struct scenario_products *p = &c->source->products;
    int64_t first, last;
    unsigned recipes = 0;
    int status;

    for (int r = 0; r < SCENARIO_NRECIPES; r++)
        recipes |= recipe_of((enum scenario_recipe)r) ? 1u << r : 0;
    status = export_check_products(c->source, "Megatron-LM", recipes, c->err);
    if (status != SHD_OK || p->recipe == SCENARIO_NO_RECIPE)
        return status;
    if (p->recipe == SCENARIO_NVFP4 && (p->gradients != SCENARIO_CODE_OF_RECIPE || p->gathers))
        return refuse(c, "gradients or gathers of other types with nvfp4; expected "
                         "products.gradients recipe and no products.gathers");
    return export_find_wide_ends(&first, &last, c->layout->graph, c->source->model.layers,
                                 "Megatron-LM", c->err);
}

static int check_offload(struct export_job *c)
{
    const struct scenario_offload *o = &c->source->offload;

    if (o->parameters)
        return refuse(c, "parameters in the host's memory; expected no offload.parameters");
    if (o->activations.npatterns > 0 || (o->activations.all && o->layers == 0))
        return refuse(c, "offload of activations by names, or of all; expected "
                         "offload.activations all, and offload.layers");
    if (o->layers >= c->source->model.layers)
        return refuse(c, "offload of all layers; expected fewer offload.layers than model.layers");
    if (o->activations.all && c->source->recompute.kind != SCENARIO_RECOMPUTE_NONE)
        return refuse(c, "offload of activations beside recomputation; expected one of them");
    return SHD_OK;
}

static int check_rest(struct export_job *c)
{
    const struct scenario *s = c->source;

    if (s->lora.rank > 0 || s->frozen.n > 0)
        return refuse(c, "option for adapters and frozen parameters here; expected no lora and no "
                         "frozen");
    if (c->roles.zero == 3 && s->zero.stage == 3 && s->zero.reshard > SCENARIO_RESHARD_DEFAULT)
        return refuse(
            c, "sharded parameters that stay gathered; expected zero.reshard_after_forward always");
    if (c->roles.sequence && s->gathered == SCENARIO_GATHERED_KEPT)
        return refuse(c, "gathered inputs of products that are kept; expected gathered: again");
    if (export_roles_sequences(&c->roles, s) * export_roles_data(&c->roles) *
            s->batch.microbatches !=
        s->batch.size)
        return refuse(c, "parts of sequences; expected a batch that replicas and microbatches "
                         "divide");
    return export_check_types(s, "Megatron-LM", c->err);
}

/* ---- options ---- */

static void add_sizes(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    add_number(c, "--num-layers", m->layers);
    add_number(c, "--hidden-size", m->d_model);
    add_number(c, "--ffn-hidden-size", m->d_ff);
    add_number(c, "--num-attention-heads", m->heads);
    add_number(c, "--kv-channels", m->head_dim);
    if (m->kv_heads != m->heads) {
        add_flag(c, "--group-query-attention");
        add_number(c, "--num-query-groups", m->kv_heads);
    }
    add_number(c, "--vocab-size", m->vocab);
    add_number(c, "--make-vocab-size-divisible-by", 1);
    add_number(c, "--seq-length", c->source->batch.seq);
    add_number(c, "--max-position-embeddings",
               m->positions > 0 ? m->positions : c->source->batch.seq);
}

static void add_model(struct export_job *c)
{
    const struct scenario_model *m = &c->source->model;

    add_sizes(c);
    add_word(c, "--position-embedding-type",
             m->positions > 0 ? "learned_absolute"
             : m->rope.used   ? "rope"
                              : "none");
    if (m->rope.used)
        add_fraction(c, "--rotary-base", m->rope.theta);
    if (m->rope.used && m->rope.interleaved)
        add_flag(c, "--rotary-interleaved");
    add_word(c, "--normalization", m->norm == SCENARIO_RMS ? "RMSNorm" : "LayerNorm");
    if (m->norm_eps > 0)
        add_fraction(c, "--norm-epsilon", m->norm_eps);
    if (m->activation == SCENARIO_SWIGLU)
        add_flag(c, "--swiglu");
    if (!m->bias)
        add_flag(c, "--disable-bias-linear");
    if (m->attention_bias == SCENARIO_BIAS_QKV)
        add_flag(c, "--add-qkv-bias");
    if (m->qk_norm)
        add_flag(c, "--qk-layernorm");
    if (!m->tied)
        add_flag(c, "--untie-embeddings-and-output-weights");
    if (m->window > 0)
        text_addf(c->out, " \\\n    --window-size %" PRId64 ",0", m->window - 1);
    if (m->dtype != SHD_F32)
        add_flag(c, m->dtype == SHD_BF16 ? "--bf16" : "--fp16");
    if (m->dtype == SHD_F16) /* --bf16 implies it */
        add_flag(c, "--accumulate-allreduce-grads-in-fp32");
    add_number(c, "--attention-dropout", 0);
    add_number(c, "--hidden-dropout", 0);
}

static void add_experts(struct export_job *c)
{
    const struct scenario_moe *moe = &c->source->model.moe;

    if (moe->experts == 0)
        return;
    add_number(c, "--num-experts", moe->experts);
    add_number(c, "--moe-router-topk", moe->top_k);
    add_number(c, "--moe-ffn-hidden-size", moe->d_ff > 0 ? moe->d_ff : c->source->model.d_ff);
    if (!moe->renormalize)
        add_flag(c, "--moe-router-pre-softmax");
    if (moe->aux_loss > 0) {
        add_word(c, "--moe-router-load-balancing-type", "aux_loss");
        add_fraction(c, "--moe-aux-loss-coeff", moe->aux_loss);
    }
    if (moe->z_loss > 0)
        add_fraction(c, "--moe-z-loss-coeff", moe->z_loss);
    if (moe->capacity > 0)
        add_fraction(c, "--moe-expert-capacity-factor", moe->capacity);
    add_word(c, "--moe-token-dispatcher-type", "alltoall");
    add_number(c, "--expert-model-parallel-size", c->roles.experts);
}

static void add_pipeline(struct export_job *c)
{
    add_number(c, "--pipeline-model-parallel-size", c->roles.size[EXPORT_PIPELINE]);
    if (!c->stages.equal) { /* of which virtual stages follow */
        text_add(c->out, " \\\n    --pipeline-model-parallel-layout '");
        stage_layout_print(c->out, c->stages.layers, c->stages.n);
        text_add(c->out, "'");
    } else if (c->schedule && c->schedule->flags & TIMETABLE_ANY_STAGES)
        add_number(c, "--num-virtual-stages-per-pipeline-rank",
                   c->layout->graph->nstages / c->roles.size[EXPORT_PIPELINE]);
    if (c->roles.data_outside)
        add_flag(c, "--use-tp-pp-dp-mapping");
}

/* Overlap sums of gradients with the backward phase and gathers of parameters with the forward
 * phase, as plans assume; without these options Megatron-LM waits for them. */
static void add_overlap(struct export_job *c)
{
    if (c->roles.size[EXPORT_REPLICA] * c->roles.size[EXPORT_SHARD] > 1)
        add_flag(c, "--overlap-grad-reduce");
    if (c->roles.zero > 0)
        add_flag(c, "--overlap-param-gather");
}

static void add_zero(struct export_job *c)
{
    if (c->roles.zero == 1)
        add_flag(c, "--use-distributed-optimizer");
    if (c->roles.zero > 1) {
        add_flag(c, "--use-distributed-optimizer");
        add_flag(c, "--use-megatron-fsdp");
        add_word(c, "--data-parallel-sharding-strategy",
                 c->roles.zero == 2 ? "optim_grads" : "optim_grads_params");
        add_word(c, "--ckpt-format", "fsdp_dtensor"); /* the only format that works with FSDP */
    }
    if (c->roles.zero > 0 && c->roles.size[EXPORT_REPLICA] > 1)
        add_number(c, "--num-distributed-optimizer-instances", c->roles.size[EXPORT_REPLICA]);
    add_overlap(c);
}

static void add_recompute(struct export_job *c)
{
    const struct scenario_recompute *r = &c->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_SELECTIVE)
        add_word(c, "--recompute-granularity", "selective");
    if (r->modules)
        text_add(c->out, " \\\n    --recompute-modules");
    for (int i = 0; recompute_modules[i].name; i++)
        if (r->modules >> i & 1)
            text_addf(c->out, " %s", recompute_modules[i].name);
    if (r->kind == SCENARIO_RECOMPUTE_FULL) {
        add_word(c, "--recompute-granularity", "full");
        add_word(c, "--recompute-method", r->first > 0 ? "block" : "uniform");
        add_number(c, "--recompute-num-layers", r->first > 0 ? r->first : r->group);
    }
}

static void add_mesh(struct export_job *c)
{
    const struct scenario *s = c->source;

    add_number(c, "--tensor-model-parallel-size", c->roles.size[EXPORT_TENSOR]);
    if (c->roles.sequence)
        add_flag(c, "--sequence-parallel");
    add_pipeline(c);
    add_number(c, "--context-parallel-size", c->roles.size[EXPORT_CONTEXT]);
    if (c->roles.size[EXPORT_CONTEXT] > 1)
        add_word(c, "--cp-comm-type", s->context.method == SCENARIO_RING ? "p2p" : "all_gather");
    add_zero(c);
    add_number(c, "--micro-batch-size", export_roles_sequences(&c->roles, s));
    add_number(c, "--global-batch-size", s->batch.size);
    add_recompute(c);
}

static void add_products(struct export_job *c)
{
    const struct scenario_products *p = &c->source->products;
    bool hybrid = p->gradients == SCENARIO_E5M2 ||
                  (p->gradients == SCENARIO_CODE_OF_RECIPE && p->recipe == SCENARIO_TENSORWISE);

    int64_t first, last;

    if (p->recipe == SCENARIO_NO_RECIPE ||
        export_find_wide_ends(&first, &last, c->layout->graph, c->source->model.layers,
                              "Megatron-LM", c->err) != SHD_OK)
        return;
    if (p->recipe == SCENARIO_NVFP4) {
        add_word(c, "--fp4-format", "e2m1");
    } else {
        add_word(c, "--fp8-format", hybrid ? "hybrid" : "e4m3");
        add_word(c, "--fp8-recipe", recipe_of(p->recipe));
    }
    if (p->gathers)
        add_flag(c, "--fp8-param-gather");
    if (first + last == 0)
        return;
    add_flag(c, "--first-last-layers-bf16");
    add_number(c, "--num-layers-at-start-in-bf16", first);
    add_number(c, "--num-layers-at-end-in-bf16", last);
}

static void add_offload(struct export_job *c)
{
    const struct scenario_offload *o = &c->source->offload;

    if (o->activations.all)
        add_number(c, "--cpu-offloading-num-layers", o->layers);
    if (o->optimizer == 0)
        return;
    add_flag(c, "--optimizer-cpu-offload");
    add_fraction(c, "--optimizer-offload-fraction", o->optimizer);
    add_flag(c, "--overlap-cpu-optimizer-d2h-h2d");
}

static void add_optimizer(struct export_job *c)
{
    const struct scenario_optimizer *o = &c->source->optimizer;

    if (o->kind == SCENARIO_NO_OPTIMIZER)
        return;
    add_word(c, "--optimizer", o->kind == SCENARIO_SGD ? "sgd" : "adam");
    add_fraction(c, "--lr", o->lr);
    add_number(c, "--lr-warmup-iters", o->warmup);
    add_word(c, "--lr-decay-style", o->decay == SCENARIO_COSINE ? "cosine" : "constant");
    add_fraction(c, "--weight-decay", o->weight_decay);
    add_fraction(c, "--clip-grad", o->clip);
    add_number(c, "--train-iters", c->source->steps);
    if (o->kind == SCENARIO_SGD) {
        add_fraction(c, "--sgd-momentum", o->momentum);
        return;
    }
    add_fraction(c, "--adam-beta1", o->betas[0]);
    add_fraction(c, "--adam-beta2", o->betas[1]);
    add_fraction(c, "--adam-eps", o->eps);
}

static void add_loss_scale(struct export_job *c)
{
    const struct scenario_loss_scale *scale = &c->source->loss_scale;

    if (scale->kind == SCENARIO_STATIC_LOSS_SCALE)
        add_number(c, "--loss-scale", scale->initial);
    if (scale->kind != SCENARIO_DYNAMIC_LOSS_SCALE)
        return;
    add_number(c, "--initial-loss-scale", scale->initial);
    add_number(c, "--loss-scale-window", scale->growth_interval);
}

/* Note as comments where Megatron-LM differs from the plan. */
static void add_notes(struct export_job *c)
{
    const struct scenario *s = c->source;

    if (!s->step.update)
        text_add(c->out,
                 "# Planned without the optimizer, with which Megatron-LM always trains.\n");
    if (c->source->optimizer.kind != SCENARIO_NO_OPTIMIZER)
        text_add(c->out, EXPORT_OWN_RATES);
    if (c->roles.zero > 1)
        text_add(c->out, "# Megatron-LM's FSDP refuses the variable CUDA_DEVICE_MAX_CONNECTIONS=1: "
                         "unset it.\n");
    else if (c->roles.size[EXPORT_TENSOR] > 1 || c->roles.size[EXPORT_CONTEXT] > 1)
        text_add(c->out, "# On Hopper and older devices set the variable "
                         "CUDA_DEVICE_MAX_CONNECTIONS=1: Megatron-LM demands it.\n");
    if (c->roles.zero > 0 && c->roles.size[EXPORT_CONTEXT] > 1 &&
        !scenario_has_axis(&s->zero.axes, s->context.axis))
        text_add(c->out, "# Megatron-LM shards the optimizer's state over ranks of context, too: "
                         "less memory than planned.\n");
    if (c->roles.zero > 0 && c->roles.size[EXPORT_EXPERT] > 1 && !c->roles.shards_over_experts)
        text_add(c->out, "# Megatron-LM shards the optimizer's state of all but experts over ranks "
                         "of experts, too: less memory than planned.\n");
    if (s->model.dtype != SHD_F32 && s->step.update &&
        scenario_type(s, s->types.parameters) != SHD_F32)
        text_add(c->out, "# Megatron-LM keeps a float32 copy of parameters: more memory than "
                         "planned.\n");
    if ((s->recompute.kind == SCENARIO_RECOMPUTE_FULL || s->recompute.modules) &&
        !s->recompute.whole)
        text_add(c->out, "# Megatron-LM computes layers again to their end, with what nobody reads "
                         "there: more work than planned without recompute.whole.\n");
}

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    static export_check *const checks[] = {
        check_experts,  check_pipeline, check_context, check_recompute,
        check_products, check_offload,  check_rest,    NULL};
    struct export_job c;
    int32_t devices = shd_mesh_size(layout->mesh);
    int32_t node = devices % 8 == 0 ? 8 : devices < 8 ? devices : 1;
    int status = export_job_init(&c, layout, out, check_model, checks, err);

    if (status != SHD_OK)
        return status;
    text_add(out, "#!/bin/sh\n"
                  "# Written by 'shardsim export --to megatron'; data and tokenizer are given as "
                  "further options.\n");
    export_add_title(out, layout);
    add_notes(&c);
    text_addf(out, "torchrun --nnodes %d --nproc-per-node %d pretrain_gpt.py", devices / node,
              node);
    add_model(&c);
    add_experts(&c);
    add_mesh(&c);
    add_products(&c);
    add_optimizer(&c);
    add_offload(&c);
    add_loss_scale(&c);
    text_add(out, " \"$@\"\n");
    export_job_fini(&c);
    return SHD_OK;
}

const struct export_target export_megatron = {
    .name = "megatron",
    .desc = "a command of Megatron-LM, from what each axis of the mesh shards",
    .write = write,
    .offloads = true};
