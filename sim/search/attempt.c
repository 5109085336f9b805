/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/attempt.h"

#include <inttypes.h>
#include <stdio.h>

#include "scenario/tensor_rules.h"

/* ---- what is set ---- */

struct sets {
    struct variant_ask ask;
    const struct subject *subject;
    const struct layout *layout;
    enum attempt_kind kind;
    enum scenario_layer_type type;
    int64_t layers;
};

static int32_t value_of(const struct sets *s, enum space_choice choice)
{
    return s->layout->value[choice];
}

/* Whether the mesh has the replicas' axis. */
static bool has_replicas(const struct sets *s)
{
    return s->kind != ATTEMPT_LAYERS;
}

/* The name of the axis inside the replicas' axis, or NULL: experts are sharded there in each
 * microbatch, ZeRO's parts only if the mesh has replicas. */
static const char *inner_axis(const struct sets *s)
{
    if (space_expert_replicas(s->layout) > 1)
        return "ep";
    return has_replicas(s) && space_inner(s->layout) > 1 ? "shard" : NULL;
}

/* The axes that shard the batch, as in a spec. */
static const char *batch_axes(const struct sets *s)
{
    bool ep = space_expert_replicas(s->layout) > 1;

    if (!has_replicas(s))
        return ep ? "ep" : "null";
    return ep ? "[dp, ep]" : inner_axis(s) ? "[dp, shard]" : "dp";
}

/* In a model with experts all layers of a piece have experts. */
static bool has_like_layers(const struct sets *s)
{
    return s->kind != ATTEMPT_WHOLE && !space_is_uniform(&s->subject->space);
}

/* Where a layer is one part, those of a piece have experts only if that is their type. */
static bool has_no_experts(const struct sets *s)
{
    return s->subject->model->residual == SCENARIO_ALONE && s->type != SCENARIO_LAYER_EXPERTS &&
           s->type < SCENARIO_NLAYER_TYPES && s->subject->model->moe.experts > 0;
}

/* ---- the mesh ---- */

/* Each axis of a layout is one axis of the mesh, the replicas' axis up to two; a piece adds a
 * pipeline axis. */
#define AXES_MAX (SPACE_AXES + 2)

struct axes {
    char names[AXES_MAX][16];
    int32_t sizes[AXES_MAX];
    size_t n;
};

static void add_axis(struct axes *axes, const char *before, const char *name, int32_t size)
{
    snprintf(axes->names[axes->n], sizeof axes->names[0], "%s%s", before, name);
    axes->sizes[axes->n++] = size;
}

static void add_choice(struct axes *axes, const struct sets *s, enum space_choice axis)
{
    bool piece = s->kind != ATTEMPT_WHOLE;
    bool idle = (piece && axis == SPACE_PP) || (axis == SPACE_DP && !has_replicas(s));
    const char *inner = axis == SPACE_DP ? inner_axis(s) : NULL;
    int32_t size = value_of(s, axis), inside = inner ? space_inner(s->layout) : 1;

    size /= inside;
    if (size > 1 || axis == SPACE_TP || (axis == SPACE_DP && !idle))
        add_axis(axes, idle ? "same_" : "", space_choice_name(axis), size);
    if (inner)
        add_axis(axes, "", inner, inside);
}

/* A piece has a pipeline of one rank; its idle axes (same_*) only keep the mesh's size. */
static void find_axes(struct axes *out, const struct sets *s)
{
    const uint8_t *order = space_order(value_of(s, SPACE_ORDER));

    out->n = 0;
    if (s->kind != ATTEMPT_WHOLE && value_of(s, SPACE_PP) > 1)
        add_axis(out, "", "pp", 1);
    for (int i = 0; i < SPACE_AXES; i++)
        add_choice(out, s, (enum space_choice)order[i]);
}

static void set_mesh(struct sets *s)
{
    struct text *out = variant_set(&s->ask);
    struct axes axes;

    find_axes(&axes, s);
    text_add(out, "mesh={");
    for (size_t a = 0; a < axes.n; a++)
        text_addf(out, "%s%s: %" PRId32, a > 0 ? ", " : "", axes.names[a], axes.sizes[a]);
    text_add(out, "}");
}

int attempt_mesh(struct shd_mesh **out, const struct layout *layout, enum attempt_kind kind,
                 struct shd_error *err)
{
    const struct sets sets = {.layout = layout, .kind = kind};
    const char *names[AXES_MAX];
    struct axes axes;

    find_axes(&axes, &sets);
    for (size_t a = 0; a < axes.n; a++)
        names[a] = axes.names[a];
    return shd_mesh_create(out, names, axes.sizes, axes.n, err);
}

/* ---- what else is set ---- */

int64_t attempt_microbatches(const struct subject *subject, const struct layout *layout,
                             enum attempt_kind kind)
{
    int64_t all = space_microbatches(&subject->space, layout);

    if (kind == ATTEMPT_WHOLE)
        return all;
    return all < 2 ? 1 : 2;
}

static void set_batch(struct sets *s)
{
    const struct space *space = &s->subject->space;
    int64_t microbatches = attempt_microbatches(s->subject, s->layout, s->kind);
    int64_t size = space->batch;

    if (s->kind == ATTEMPT_LAYERS)
        size = microbatches * value_of(s, SPACE_MICROBATCH) * space_expert_replicas(s->layout);
    else if (s->kind == ATTEMPT_REPLICAS)
        size = microbatches * value_of(s, SPACE_DP);
    text_addf(variant_set(&s->ask),
              "batch={size: %" PRId64 ", seq: %" PRId64 ", microbatches: %" PRId64 "}", size,
              space->seq, microbatches);
}

static void set_zero(struct sets *s)
{
    struct text *out = variant_set(&s->ask);
    int32_t stage = has_replicas(s) ? value_of(s, SPACE_ZERO) : 0;
    const char *context = space_expert_replicas(s->layout) > 1 ? "[dp, ep, cp]" : "[dp, cp]";
    const char *const axes[] = {"dp", inner_axis(s), "[dp, ep]", context};

    if (stage == 0)
        text_add(out, "zero={stage: 0}");
    else
        text_addf(out, "zero={stage: %" PRId32 ", axis: %s%s}", stage,
                  axes[space_zero_axes(s->layout)],
                  stage < 3                                         ? ""
                  : s->subject->hardware->software.overlaps_weights ? ", prefetch: 1"
                                                                    : ", prefetch: 0");
}

static void set_recompute(struct sets *s)
{
    int32_t kind = s->kind == ATTEMPT_REPLICAS ? SPACE_NONE : value_of(s, SPACE_RECOMPUTE);
    struct text *out;

    if (kind == SPACE_GIVEN)
        return;
    out = variant_set(&s->ask);
    text_add(out, "recompute=");
    recompute_choice_set(out, kind, s->subject->space.experts > 0,
                         s->subject->hardware->software.recomputes_layers);
}

bool attempt_splits(const struct layout *layout, enum attempt_kind kind)
{
    return kind == ATTEMPT_LAYERS && space_schedule(layout)->flags & TIMETABLE_SPLITS;
}

/* Append the number of layers of each stage, unless the layers are split evenly. */
static void add_split(const struct sets *s, struct text *out)
{
    const struct space *space = &s->subject->space;
    int64_t nstages = (int64_t)value_of(s, SPACE_PP) * value_of(s, SPACE_VIRTUAL);
    bool given = value_of(s, SPACE_SPLIT) == SPACE_SPLIT_GIVEN;

    if (value_of(s, SPACE_SPLIT) == SPACE_SPLIT_EVEN)
        return;
    for (int64_t i = 0; i < nstages; i++)
        text_addf(out, "%s%" PRId64, i ? ", " : ", layers: [",
                  given ? space->stage_layers[i]
                        : (i + 1 < nstages ? space_light(space, nstages, i + 1) : space->layers) -
                              space_light(space, nstages, i));
    text_add(out, "]");
}

/* With one rank nothing is set: the subject's text has no pipeline. */
static void set_pipeline(struct sets *s)
{
    struct text *out;

    if (value_of(s, SPACE_PP) == 1)
        return;
    out = variant_set(&s->ask);
    if (s->kind != ATTEMPT_WHOLE) {
        text_addf(out,
                  "pipeline={axis: pp, schedule: %s, stages_per_rank: 4, layers: [1, 1, 2, 1]}",
                  attempt_splits(s->layout, s->kind) ? "InterleavedZeroBubble" : "LoopedBFS");
        return;
    }
    text_add(out, "pipeline={axis: pp, schedule: ");
    space_print_value(out, SPACE_SCHEDULE, value_of(s, SPACE_SCHEDULE));
    text_addf(out, ", stages_per_rank: %" PRId32, value_of(s, SPACE_VIRTUAL));
    add_split(s, out);
    text_add(out, "}");
}

/* Experts are sharded over ep and the folded axes; unless tp is one of these, each over tp like an
 * mlp. */
static void set_params(struct sets *s)
{
    struct text *out = variant_set(&s->ask);
    struct tensor_axes axes = tensor_axes_same("tp");
    struct scenario_model model = *s->subject->model;

    axes.experts = space_expert_axes(s->layout);
    axes.expert_widths = value_of(s, SPACE_FOLD) & SPACE_FOLD_TP ? NULL : "tp";
    if (has_like_layers(s)) {
        model.moe.first_dense = 0;
        model.moe.every = 1;
    }
    if (s->type < SCENARIO_NLAYER_TYPES)
        model.layer_types = (struct scenario_layer_types){1, {(uint8_t)s->type}};
    if (has_no_experts(s))
        model.moe.experts = 0;
    text_add(out, "params=[");
    tensor_rules_print(out, &model, &axes, RULES_FLOW);
    text_add(out, "]");
}

/* While heads attend, their number is sharded over cp in place of the sequence; where there are too
 * few key heads for that, these are brought to the heads that read them. */
static void add_all_to_all(const struct sets *s, const struct tensor_values *values,
                           struct text *out)
{
    int64_t ways = (int64_t)value_of(s, SPACE_TP) * value_of(s, SPACE_CP);
    bool attends = s->type == SCENARIO_NLAYER_TYPES || scenario_layer_attends(s->type);

    if (attends && value_of(s, SPACE_METHOD) == SPACE_ALL_TO_ALL)
        tensor_exchange_print(out, values, value_of(s, SPACE_TP) > 1 ? "[tp, cp]" : "cp",
                              s->subject->space.kv_heads % ways == 0, RULES_FLOW);
}

/* Activations between layers are replicated over tp or, with sp, sharded along the sequence. */
static void set_constraints(struct sets *s)
{
    struct text *out = variant_set(&s->ask);
    const char *cp = value_of(s, SPACE_CP) > 1 ? "cp" : "null";
    const struct tensor_values values = {.batch = batch_axes(s),
                                         .seq = cp,
                                         .vocab = value_of(s, SPACE_TP) > 1 ? "tp" : "null",
                                         .tokens = !value_of(s, SPACE_SP)      ? cp
                                                   : value_of(s, SPACE_CP) > 1 ? "[cp, tp]"
                                                                               : "tp"};

    text_add(out, "constraints=[");
    add_all_to_all(s, &values, out);
    if (value_of(s, SPACE_TP) > 1)
        tensor_constraints_print(out, &values, RULES_FLOW);
    text_add(out, "]");
}

/* Where the products of weights are rounded as the scenario has it, nothing is set. */
static void set_products(struct sets *s)
{
    struct text *out;

    if (value_of(s, SPACE_PRODUCTS) == 0)
        return;
    out = variant_set(&s->ask);
    text_add(out, "products={recipe: ");
    space_print_value(out, SPACE_PRODUCTS, value_of(s, SPACE_PRODUCTS));
    text_add(out, "}");
}

/* The axes that the batch and the sequence are sharded over. */
static void set_axes(struct sets *s)
{
    struct text *out = variant_set(&s->ask);
    bool batch = has_replicas(s) || space_expert_replicas(s->layout) > 1;
    bool cut = value_of(s, SPACE_CP) > 1;

    text_add(out, "axes={");
    if (batch)
        text_addf(out, "batch: %s%s", batch_axes(s), cut ? ", " : "");
    text_addf(out, "%s}", cut ? "seq: cp" : "");
}

/* All layers of one type; a size that they do not see is left out, as it would have no effect. */
static void set_type(struct sets *s)
{
    const struct scenario_model *m = s->subject->model;
    enum scenario_layer_type sees = scenario_layer_sight(s->type);

    text_addf(variant_set(&s->ask), "model.layer_types=[%s]", scenario_layer_type_name(s->type));
    if (m->window > 0 && sees != SCENARIO_LAYER_WINDOW)
        text_add(variant_set(&s->ask), "model.window=0");
    if (m->chunk > 0 && sees != SCENARIO_LAYER_CHUNK)
        text_add(variant_set(&s->ask), "model.chunk=0");
    if (has_no_experts(s))
        text_add(variant_set(&s->ask), "moe.experts=0");
}

static void set_alike(struct sets *s)
{
    if (s->type < SCENARIO_NLAYER_TYPES)
        set_type(s);
    if (!has_like_layers(s))
        return;
    text_add(variant_set(&s->ask), "moe.first_dense=0");
    text_add(variant_set(&s->ask), "moe.every=1");
}

static void set_all(struct sets *s)
{
    set_mesh(s);
    text_addf(variant_set(&s->ask), "model.layers=%" PRId64, s->layers);
    set_alike(s);
    set_batch(s);
    set_zero(s);
    set_recompute(s);
    set_pipeline(s);
    if (value_of(s, SPACE_CP) > 1 && value_of(s, SPACE_METHOD) == SPACE_RING)
        text_add(variant_set(&s->ask), "context={axis: cp, method: ring, order: zigzag}");
    set_params(s);
    set_axes(s);
    set_constraints(s);
    text_add(variant_set(&s->ask), "rules=params");
    set_products(s);
}

/* ---- the program ---- */

/* Build an attempt up to `extent`. */
static int build(struct variant *out, struct sets sets, enum variant_extent extent,
                 struct shd_error *err)
{
    const struct subject *subject = sets.subject;
    int status;

    sets.ask = (struct variant_ask){.name = "<layout>", .text = &subject->text, .extent = extent};
    set_all(&sets);
    status = variant_need(out, &sets.ask, err);
    if (status == SHD_OK && extent != VARIANT_READ)
        hardware_suppose(out->trial.hardware, subject->links, subject->memory);
    return status;
}

int attempt_init(struct variant *out, const struct subject *subject, const struct layout *layout,
                 enum attempt_kind kind, int64_t layers, enum scenario_layer_type type,
                 struct shd_error *err)
{
    const struct sets sets = {.subject = subject,
                              .layout = layout,
                              .kind = kind,
                              .type = type,
                              .layers = kind == ATTEMPT_WHOLE ? subject->space.layers : layers};

    return build(out, sets, VARIANT_BUILT, err);
}

/* The first layers of a model, of which some are of each kind. */
static int64_t layers_of_kinds(const struct subject *subject)
{
    const struct space *space = &subject->space;
    int64_t kinds = space_is_uniform(space) ? 1 : space->first_dense + space->every;

    return subject->model->layer_types.n > 0 ? kinds * subject->model->layer_types.n : kinds;
}

/* A layout with the fewest layers that its stages and the kinds of layers allow. */
static struct sets fewest_layers(const struct subject *subject, const struct layout *layout)
{
    int64_t stages = (int64_t)layout->value[SPACE_PP] * layout->value[SPACE_VIRTUAL];
    int64_t kinds = layers_of_kinds(subject), rows = (kinds + stages - 1) / stages;
    bool even = layout->value[SPACE_SPLIT] == SPACE_SPLIT_EVEN;

    return (struct sets){.subject = subject,
                         .layout = layout,
                         .kind = ATTEMPT_WHOLE,
                         .type = SCENARIO_NLAYER_TYPES,
                         .layers = even && rows * stages < subject->space.layers
                                       ? rows * stages
                                       : subject->space.layers};
}

/* A split of layers into stages changes no sharding, so an even one, of fewer layers, stands for
 * it. */
int attempt_check(const struct subject *subject, const struct layout *layout, struct shd_error *err)
{
    struct layout even = *layout;
    struct variant attempt;
    int status;

    even.value[SPACE_SPLIT] = SPACE_SPLIT_EVEN;
    status = build(&attempt, fewest_layers(subject, &even), VARIANT_LAID, err);
    if (status != SHD_OK)
        return status;
    status = subject->filter.check(subject->filter.arg, &attempt.trial, err);
    variant_fini(&attempt);
    return status;
}

int attempt_read(const struct subject *subject, const struct layout *layout, struct shd_error *err)
{
    struct variant attempt;
    int status = build(&attempt, fewest_layers(subject, layout), VARIANT_READ, err);

    if (status != SHD_OK)
        return status == SHD_ENOMEM ? status : SHD_OK;
    status = subject->filter.read(subject->filter.arg, &attempt.file->scenarios[0], err);
    variant_fini(&attempt);
    return status;
}
