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

#include "export/megatron_model.h"
#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"
#include "scenario/recompute_policies.h"
#include "scenario/stage_layout.h"
#include "timetable/timetable.h"

/* ---- refusals ---- */

/* Whether microbatches go through a rank's virtual stages in groups. */
static bool goes_in_rounds(const struct export_job *c)
{
    return c->schedule && c->schedule->flags & TIMETABLE_IN_ROUNDS &&
           c->layout->graph->nstages > c->roles.size[EXPORT_PIPELINE];
}

/* Whether the ranks of an interleaved pipeline wait for messages between stages. */
static bool waits_for_sends(const struct export_job *c)
{
    return goes_in_rounds(c) && c->layout->overlap.sends == SCENARIO_EXPOSED;
}

static int find_schedule(struct export_job *c)
{
    return export_find_schedule(c, TIMETABLE_IN_MEGATRON, "Megatron-LM");
}

static int check_rounds(struct export_job *c)
{
    if (goes_in_rounds(c) && c->source->batch.microbatches < c->roles.size[EXPORT_PIPELINE])
        return megatron_refuse(c, "interleaved pipeline with fewer microbatches than ranks; "
                                  "expected batch.microbatches of at least the size of "
                                  "pipeline.axis");
    if (waits_for_sends(c) && c->roles.size[EXPORT_PIPELINE] == 2)
        return megatron_refuse(c, "interleaved pipeline of two ranks without overlapped sends; "
                                  "expected overlap.sends true");
    return SHD_OK;
}

static int check_context(struct export_job *c)
{
    const struct scenario_context *x = &c->source->context;

    if (c->roles.size[EXPORT_CONTEXT] > 1 && x->order != SCENARIO_ZIGZAG)
        return megatron_refuse(
            c, "context-parallel order other than zigzag; expected context.order zigzag");
    return SHD_OK;
}

static int check_recompute(struct export_job *c)
{
    const struct scenario_recompute *r = &c->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_NAMED || r->nkept > 0 || r->policy || r->hold)
        return megatron_refuse(
            c, "recomputation by name pattern or by op; expected recompute none, selective or "
               "full");
    if (r->kind != SCENARIO_RECOMPUTE_NONE &&
        (r->every > 1 || (r->first > 0 && r->group > 1) ||
         (r->kind == SCENARIO_RECOMPUTE_SELECTIVE && r->first > 0)))
        return megatron_refuse(c, "recomputation of these layers; expected full with "
                                  "recompute.first or groups, without recompute.every");
    return SHD_OK;
}

static int check_recomputed_layers(struct export_job *c)
{
    const struct scenario_recompute *r = &c->source->recompute;

    if (r->kind != SCENARIO_RECOMPUTE_NONE && c->stages.n > 1 && !r->by_stage &&
        (r->first > 0 || !export_stages_divide(&c->stages, r->group)))
        return megatron_refuse(c, "recomputation of layers counted over the whole model; expected "
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
    unsigned recipes = 0;
    int status;

    for (int r = 0; r < SCENARIO_NRECIPES; r++)
        recipes |= recipe_of((enum scenario_recipe)r) ? 1u << r : 0;
    status = export_check_products(c->source, "Megatron-LM", recipes, c->err);
    if (status != SHD_OK || p->recipe == SCENARIO_NO_RECIPE)
        return status;
    if (p->recipe == SCENARIO_NVFP4 && (p->gradients != SCENARIO_CODE_OF_RECIPE || p->gathers))
        return megatron_refuse(c, "nvfp4 with other types of gradients or gathers; expected "
                                  "products.gradients recipe and no products.gathers");
    return SHD_OK;
}

static int check_wide_ends(struct export_job *c)
{
    int64_t first, last;

    if (c->source->products.recipe == SCENARIO_NO_RECIPE)
        return SHD_OK;
    return export_find_wide_ends(&first, &last, c->layout->graph, c->source->model.layers,
                                 "Megatron-LM", c->err);
}

static int check_offload(struct export_job *c)
{
    const struct scenario_offload *o = &c->source->offload;

    if (o->parameters)
        return megatron_refuse(c, "offload of parameters to host memory; expected no "
                                  "offload.parameters");
    if (o->activations.npatterns > 0 || (o->activations.all && o->layers == 0))
        return megatron_refuse(c, "offload of activations by name, or of every layer; expected "
                                  "offload.activations all, and offload.layers");
    if (o->layers >= c->source->model.layers)
        return megatron_refuse(
            c, "offload of every layer; expected fewer offload.layers than model.layers");
    if (o->activations.all && c->source->recompute.kind != SCENARIO_RECOMPUTE_NONE)
        return megatron_refuse(c,
                               "offload of activations together with recomputation; expected one "
                               "of the two");
    return SHD_OK;
}

static int check_rest(struct export_job *c)
{
    const struct scenario *s = c->source;
    int64_t multiple = s->model.vocab_multiple;

    if (s->model.vocab % multiple && multiple % c->roles.size[EXPORT_TENSOR])
        return megatron_refuse(c, "vocabulary padding that tensor parallelism does not divide; "
                                  "expected model.vocab_multiple to be a multiple of the "
                                  "tensor-parallel size");

    if (c->roles.zero == 3 && s->zero.stage == 3 && s->zero.reshard > SCENARIO_RESHARD_DEFAULT)
        return megatron_refuse(c, "ZeRO 3 without resharding after the forward pass; expected "
                                  "zero.reshard_after_forward always");
    if (c->roles.sequence && s->gathered == SCENARIO_GATHERED_KEPT)
        return megatron_refuse(c, "kept all-gathered matmul inputs; expected gathered: again");
    if (export_roles_sequences(&c->roles, s) * export_roles_data(&c->roles) *
            s->batch.microbatches !=
        s->batch.size)
        return megatron_refuse(
            c, "parts of sequences; expected a batch divisible by replicas x microbatches");
    return SHD_OK;
}

/* What no layout changes: the model, what is learned of it, its loss and documents, and types. */
static int check_source(struct export_job *c)
{
    const struct scenario *s = c->source;
    int status = megatron_check_model(c);

    if (status != SHD_OK)
        return status;
    if (s->context.documents.mean > 0 || s->context.documents.nlengths > 0)
        return megatron_refuse(c,
                               "option for packed document lengths; expected no context.documents");
    if (s->fused.loss_chunks > 1)
        return megatron_refuse(c, "loss in chunks of tokens; expected fused.loss_chunks 1");
    if (s->lora.rank > 0 || s->frozen.n > 0)
        return megatron_refuse(
            c, "option for adapters and frozen parameters in pretrain_gpt.py; expected no lora and "
               "no frozen");
    status = export_check_types(s, "Megatron-LM", c->err);
    return status == SHD_OK && s->model.moe.experts > 0 ? megatron_check_router(c) : status;
}

/* ---- options ---- */

/* The group of microbatches that a rank takes through one virtual stage before the next: as large
 * as the pipeline by default. */
static void add_group(struct export_job *c)
{
    uint32_t ranks = (uint32_t)c->roles.size[EXPORT_PIPELINE], round;

    if (!goes_in_rounds(c))
        return;
    round = timetable_round(
        c->schedule,
        &(struct timetable_sizes){.nranks = ranks,
                                  .stages_per_rank = c->layout->graph->nstages / ranks,
                                  .nmicrobatches = (uint32_t)c->source->batch.microbatches});
    if (round != ranks)
        megatron_add_number(c, "--microbatch-group-size-per-virtual-pipeline-stage", round);
}

static void add_pipeline(struct export_job *c)
{
    megatron_add_number(c, "--pipeline-model-parallel-size", c->roles.size[EXPORT_PIPELINE]);
    if (!c->stages.equal) { /* of which virtual stages follow */
        text_add(c->out, " \\\n    --pipeline-model-parallel-layout '");
        stage_layout_print(c->out, c->stages.layers, c->stages.n);
        text_add(c->out, "'");
    } else if (c->schedule && c->schedule->flags & TIMETABLE_ANY_STAGES)
        megatron_add_number(c, "--num-virtual-stages-per-pipeline-rank",
                            c->layout->graph->nstages / c->roles.size[EXPORT_PIPELINE]);
    add_group(c);
    if (c->roles.data_outside)
        megatron_add_flag(c, "--use-tp-pp-dp-mapping");
}

/* Options of fused kernels that the plan assumes. */
static void add_fused(struct export_job *c)
{
    const struct scenario_fused *fused = &c->layout->source->fused;

    if (fused->loss == SCENARIO_ONE_KERNEL)
        megatron_add_flag(c, "--cross-entropy-loss-fusion");
    if (fused->activation != SCENARIO_ONE_KERNEL &&
        scenario_is_gated(c->layout->source->model.activation))
        megatron_add_flag(c, "--no-bias-swiglu-fusion");
}

/* Sums of gradients beside the backward phase and gathers of parameters beside the forward phase,
 * where the plan has them there; without these options Megatron-LM waits for them, and gathers do
 * not overlap alone. */
static void add_overlap(struct export_job *c)
{
    const struct scenario_overlap *o = &c->layout->overlap;
    int64_t ways = export_roles_data(&c->roles) * c->roles.size[EXPORT_CONTEXT];
    bool sums = o->gradients != SCENARIO_EXPOSED || c->roles.zero > 1;

    if (ways > 1 && sums)
        megatron_add_flag(c, "--overlap-grad-reduce");
    if (c->roles.zero > 0 && ways > 1 && sums &&
        (o->weights != SCENARIO_EXPOSED || c->roles.zero == 3))
        megatron_add_flag(c, "--overlap-param-gather");
    if (waits_for_sends(c))
        megatron_add_flag(c, "--no-overlap-p2p-communication");
}

static void add_zero(struct export_job *c)
{
    if (c->roles.zero == 1)
        megatron_add_flag(c, "--use-distributed-optimizer");
    if (c->roles.zero > 1) {
        megatron_add_flag(c, "--use-distributed-optimizer");
        megatron_add_flag(c, "--use-megatron-fsdp");
        megatron_add_word(c, "--data-parallel-sharding-strategy",
                          c->roles.zero == 2 ? "optim_grads" : "optim_grads_params");
        megatron_add_word(c, "--ckpt-format",
                          "fsdp_dtensor"); /* the only format that works with FSDP */
    }
    if (c->roles.zero > 0 && c->roles.size[EXPORT_REPLICA] > 1)
        megatron_add_number(c, "--num-distributed-optimizer-instances",
                            c->roles.size[EXPORT_REPLICA]);
    add_fused(c);
    add_overlap(c);
}

static void add_recompute(struct export_job *c)
{
    const struct scenario_recompute *r = &c->source->recompute;

    if (r->kind == SCENARIO_RECOMPUTE_SELECTIVE)
        megatron_add_word(c, "--recompute-granularity", "selective");
    if (r->modules)
        text_add(c->out, " \\\n    --recompute-modules");
    for (int i = 0; recompute_modules[i].name; i++)
        if (r->modules >> i & 1)
            text_addf(c->out, " %s", recompute_modules[i].name);
    if (r->kind == SCENARIO_RECOMPUTE_FULL) {
        megatron_add_word(c, "--recompute-granularity", "full");
        megatron_add_word(c, "--recompute-method", r->first > 0 ? "block" : "uniform");
        megatron_add_number(c, "--recompute-num-layers", r->first > 0 ? r->first : r->group);
    }
}

static void add_mesh(struct export_job *c)
{
    const struct scenario *s = c->source;

    megatron_add_number(c, "--tensor-model-parallel-size", c->roles.size[EXPORT_TENSOR]);
    if (c->roles.sequence)
        megatron_add_flag(c, "--sequence-parallel");
    if (c->roles.sequence && c->layout->overlap.products == SCENARIO_BESIDE_WORK)
        megatron_add_flag(c, "--tp-comm-overlap"); /* as the plan times it */
    add_pipeline(c);
    megatron_add_number(c, "--context-parallel-size", c->roles.size[EXPORT_CONTEXT]);
    if (c->roles.size[EXPORT_CONTEXT] > 1)
        megatron_add_word(c, "--cp-comm-type",
                          s->context.method == SCENARIO_RING ? "p2p" : "all_gather");
    add_zero(c);
    megatron_add_number(c, "--micro-batch-size", export_roles_sequences(&c->roles, s));
    megatron_add_number(c, "--global-batch-size", s->batch.size);
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
        megatron_add_word(c, "--fp4-format", "e2m1");
    } else {
        megatron_add_word(c, "--fp8-format", hybrid ? "hybrid" : "e4m3");
        megatron_add_word(c, "--fp8-recipe", recipe_of(p->recipe));
    }
    if (p->gathers)
        megatron_add_flag(c, "--fp8-param-gather");
    if (first + last == 0)
        return;
    megatron_add_flag(c, "--first-last-layers-bf16");
    megatron_add_number(c, "--num-layers-at-start-in-bf16", first);
    megatron_add_number(c, "--num-layers-at-end-in-bf16", last);
}

static void add_offload(struct export_job *c)
{
    const struct scenario_offload *o = &c->source->offload;

    if (o->activations.all)
        megatron_add_number(c, "--cpu-offloading-num-layers", o->layers);
    if (o->optimizer == 0)
        return;
    megatron_add_flag(c, "--optimizer-cpu-offload");
    megatron_add_flag(c, "--use-precision-aware-optimizer"); /* without which it stops */
    megatron_add_fraction(c, "--optimizer-offload-fraction", o->optimizer);
    megatron_add_flag(c, "--overlap-cpu-optimizer-d2h-h2d");
}

static void add_optimizer(struct export_job *c)
{
    const struct scenario_optimizer *o = &c->source->optimizer;

    if (o->kind == SCENARIO_NO_OPTIMIZER)
        return;
    megatron_add_word(c, "--optimizer", o->kind == SCENARIO_SGD ? "sgd" : "adam");
    megatron_add_fraction(c, "--lr", o->lr);
    megatron_add_number(c, "--lr-warmup-iters", o->warmup);
    megatron_add_word(c, "--lr-decay-style", o->decay == SCENARIO_COSINE ? "cosine" : "constant");
    megatron_add_fraction(c, "--weight-decay", o->weight_decay);
    megatron_add_fraction(c, "--clip-grad", o->clip);
    megatron_add_number(c, "--train-iters", c->source->steps);
    if (o->kind == SCENARIO_SGD) {
        megatron_add_fraction(c, "--sgd-momentum", o->momentum);
        return;
    }
    megatron_add_fraction(c, "--adam-beta1", o->betas[0]);
    megatron_add_fraction(c, "--adam-beta2", o->betas[1]);
    megatron_add_fraction(c, "--adam-eps", o->eps);
}

static void add_loss_scale(struct export_job *c)
{
    const struct scenario_loss_scale *scale = &c->source->loss_scale;

    if (scale->kind == SCENARIO_STATIC_LOSS_SCALE)
        megatron_add_number(c, "--loss-scale", scale->initial);
    if (scale->kind != SCENARIO_DYNAMIC_LOSS_SCALE)
        return;
    megatron_add_number(c, "--initial-loss-scale", scale->initial);
    megatron_add_number(c, "--loss-scale-window", scale->growth_interval);
}

/* Note as comments where Megatron-LM differs from the plan. */
static void add_notes(struct export_job *c)
{
    const struct scenario *s = c->source;

    if (!s->step.update)
        text_add(c->out, "# Planned without an optimizer; Megatron-LM always trains with one.\n");
    if (c->source->optimizer.kind != SCENARIO_NO_OPTIMIZER)
        text_add(c->out, EXPORT_OWN_RATES);
    if (c->roles.zero > 1)
        text_add(c->out, "# Megatron-LM's FSDP refuses CUDA_DEVICE_MAX_CONNECTIONS=1: unset it.\n");
    else if (c->roles.size[EXPORT_TENSOR] > 1 || c->roles.size[EXPORT_CONTEXT] > 1)
        text_add(c->out, "# On Hopper and older GPUs set CUDA_DEVICE_MAX_CONNECTIONS=1: "
                         "Megatron-LM requires it.\n");
    if (c->roles.sequence && c->layout->overlap.products == SCENARIO_AS_CLUSTER)
        text_add(c->out, "# No cluster is named, so overlap of collectives with matmuls is unknown "
                         "(overlaps_products): add --tp-comm-overlap where yours overlap.\n");
    if (c->roles.zero > 1 && c->layout->overlap.gradients == SCENARIO_EXPOSED)
        text_add(c->out, "# Megatron-LM's FSDP overlaps gradient reduction with the backward pass: "
                         "less time than planned.\n");
    if (c->roles.zero > 0 && c->roles.size[EXPORT_CONTEXT] > 1 &&
        !scenario_has_axis(&s->zero.axes, s->context.axis))
        text_add(c->out, "# Megatron-LM also shards optimizer state over context-parallel ranks: "
                         "less memory than planned.\n");
    if (c->roles.zero > 0 && c->roles.size[EXPORT_EXPERT] > 1 && !c->roles.shards_over_experts)
        text_add(c->out, "# Megatron-LM also shards the optimizer state of dense parameters over "
                         "expert-parallel ranks: less memory than planned.\n");
    if (s->model.dtype != SHD_F32 && s->step.update &&
        scenario_type(s, s->types.parameters) != SHD_F32)
        text_add(c->out, "# Megatron-LM keeps a float32 copy of parameters: more memory than "
                         "planned.\n");
    if ((s->recompute.kind == SCENARIO_RECOMPUTE_FULL || s->recompute.modules) &&
        !s->recompute.whole)
        text_add(c->out, "# Megatron-LM recomputes whole layers, unread results included: more "
                         "work than planned without recompute.whole.\n" EXPORT_REMARK
                         "recompute.whole=false\n");
    if (s->model.moe.experts > 0 && s->model.moe.routing == SCENARIO_ROUTING_LEARNED)
        text_add(c->out, EXPORT_REMARK "moe.routing=learned\n");
}

static export_check *const choices[] = {find_schedule, check_recompute, check_products,
                                        check_offload, NULL};

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    static export_check *const checks[] = {
        find_schedule,           megatron_check_experts, check_rounds, check_context,
        check_recomputed_layers, check_wide_ends,        check_rest,   NULL};
    struct export_job c;
    int32_t devices = shd_mesh_size(layout->mesh);
    int32_t node = devices % 8 == 0 ? 8 : devices < 8 ? devices : 1;
    int status = export_job_init(&c, layout, out, checks, err);

    if (status != SHD_OK)
        return status;
    text_add(out, "#!/bin/sh\n"
                  "# Written by 'shardsim export --to megatron'; add options for data and "
                  "tokenizer.\n");
    export_add_title(out, layout);
    add_notes(&c);
    text_addf(out, "torchrun --nnodes %d --nproc-per-node %d pretrain_gpt.py", devices / node,
              node);
    megatron_add_model(&c);
    megatron_add_experts(&c);
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
    .desc = "Megatron-LM launch command, from what each mesh axis shards",
    .write = write,
    .software = "megatron",
    .source = check_source,
    .choices = choices,
    .offloads = true};
