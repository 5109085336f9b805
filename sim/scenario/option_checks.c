/* Checks between the options of one strategy (scenario/option_checks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/option_checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "scenario/mesh_value.h"
#include "scenario/model_checks.h"
#include "scenario/partition_axis_value.h"
#include "scenario/recompute_policies.h"
#include "scenario/serving_checks.h"
#include "scenario/table.h"
#include "scenario/value_reader.h"

/* ---- options that say how something is done that a strategy does not do ---- */

static bool has_products(const struct scenario *s)
{
    return s->products.recipe != SCENARIO_NO_RECIPE;
}

static bool has_codes(const struct scenario *s)
{
    return has_products(s) || s->products.weights != SCENARIO_BASE_COMPUTE;
}

static bool has_gathers(const struct scenario *s)
{
    return s->zero.stage == 3;
}

static bool has_adapters(const struct scenario *s)
{
    return s->lora.rank > 0;
}

static bool has_experts(const struct scenario *s)
{
    return s->model.moe.experts > 0;
}

static bool has_gates(const struct scenario *s)
{
    return scenario_gates_results(&s->model);
}

static bool has_cache(const struct scenario *s)
{
    return scenario_serves(s);
}

static bool has_update(const struct scenario *s)
{
    return s->step.update;
}

static bool has_chunks(const struct scenario *s)
{
    return s->fused.loss_chunks > 1;
}

static bool has_blocks(const struct scenario *s)
{
    return scenario_cache_bits(s) == 4;
}

static bool has_draft(const struct scenario *s)
{
    return s->decode.draft > 0;
}

static bool has_offload(const struct scenario *s)
{
    return s->offload.parameters || scenario_has_values(&s->offload.activations) ||
           scenario_policy_offloads(s);
}

/* Options that have an effect only together with another option. */
static const struct dependent {
    const char *section, *key; /* NULL: all of the section */
    const char *of_section, *of_key;
    bool (*is_met)(const struct scenario *s);
    const char *expected;
} dependents[] = {
    {"products", "gradients", "products", "recipe", has_products, "products.recipe"},
    {"products", "amax", "products", "recipe", has_products, "products.recipe"},
    {"products", "gathers", "products", "recipe", has_products, "products.recipe"},
    {"products", "dispatch", "products", "recipe", has_products, "products.recipe"},
    {"products", "kept", "products", "recipe", has_products, "products.recipe"},
    {"products", "block", "products", "recipe", has_codes, "products.recipe or weights"},
    {"products", "except", "products", "recipe", has_codes, "products.recipe or weights"},
    {"products", "gathers", "zero", "stage", has_gathers, "zero.stage 3, which gathers weights"},
    {"lora", "alpha", "lora", "rank", has_adapters, "lora.rank, at least 1"},
    {"lora", "start", "lora", "rank", has_adapters, "lora.rank, at least 1"},
    {"moe", NULL, "moe", "experts", has_experts, "moe.experts, at least 1"},
    {"decode", NULL, NULL, "step", has_cache, "step: [prefill] or [decode]"},
    {"decode", "block", "decode", "cache", has_blocks, "decode.cache: int4 or mxfp4"},
    {"decode", "accepted", "decode", "draft", has_draft, "decode.draft, at least 1"},
    {"fused", "gates", "moe", "experts", has_gates, "moe.experts, with moe.gates_input false"},
    {"fused", "loss_chunks", NULL, "step", has_update, "step: [forward, backward, update]"},
    {"fused", "loss_again", "fused", "loss_chunks", has_chunks, "fused.loss_chunks, at least 2"},
    {"offload", "prefetch", "offload", "parameters", has_offload,
     "offload.parameters or offload.activations"},
};

/* Whether an option is set on the command line. */
static bool is_set(const struct scenario *s, const struct option *option)
{
    const char *file = s->places[option_id(option)].file;

    return file && !strcmp(file, "--set");
}

/* Whether `option` is given with its default, and so turns a feature off on purpose (a strategy
 * may) and makes a dependent option `of` harmless, unless --set gives both. */
static bool is_turned_off(const struct scenario *s, const struct option *option,
                          const struct option *of)
{
    return s->places[option_id(option)].file && option_is_default(s, option) &&
           !(is_set(s, option) && is_set(s, of));
}

/* Whether an option of a row is given, other than as it is by default. */
static bool is_given(const struct scenario *s, const struct dependent *row, const struct option *o)
{
    return option_is_in(o, row->section) && (!row->key || !strcmp(o->key, row->key)) &&
           s->places[option_id(o)].file && !option_is_default(s, o);
}

/* Report options that would change nothing, such as lora.alpha without lora.rank. */
static void check_dependents(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t d = 0; d < sizeof dependents / sizeof dependents[0]; d++) {
        const struct dependent *row = &dependents[d];

        if (row->is_met(s))
            continue;
        for (size_t i = 0; i < option_count; i++)
            if (is_given(s, row, &option_table[i]) &&
                !is_turned_off(s, option_find(row->of_section, row->of_key), &option_table[i]))
                diag_error(r->diag, s->places[i], "%s has no effect; expected %s",
                           option_path(&option_table[i]).text, row->expected);
    }
}

#define KNOWN_TEXT_MAX 160 /* bytes of logical axes in a message; further axes are left out */

/* The place to report a missing option: its section, or the scenario. */
static struct place missing_place(const struct scenario *s, const struct option *option)
{
    if (option->section) {
        size_t id = option_section_id(option_find_section(option->section));
        if (s->places[id].file)
            return s->places[id];
    }
    return s->place;
}

/* Whether a published size or a config may provide the option. */
static bool is_sized(const struct scenario *s, const struct option *option)
{
    return (s->model.size > 0 || s->model.from) && (option->sized >> s->model.kind & 1);
}

static void check_required(struct reader *r)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (!option->required || r->scenario->places[i].file || r->meant[i] ||
            is_sized(r->scenario, option) || !option_is_of(option, r->scenario->model.kind))
            continue;
        struct text expected = TEXT_INIT;
        option_expect(option, &expected);
        r->diag->no_memory |= expected.failed;
        diag_error(r->diag, missing_place(r->scenario, option), "no '%s'; expected %s",
                   option_path(option).text, text_get(&expected));
        text_fini(&expected);
    }
}

/* Report options that the kind of model does not have: they would change nothing. */
static void check_kind(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t i = 0; i < option_count; i++)
        if (s->places[i].file && !option_is_of(&option_table[i], s->model.kind))
            diag_error(r->diag, s->places[i], "%s is not an option of a model of kind %s",
                       option_path(&option_table[i]).text, scenario_kind_name(s->model.kind));
}

/* A sequence must split into equal pieces; zigzag order gives each rank two.  Tokens behind a cache
 * are not cut like it. */
static void check_pieces(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t pieces = scenario_pieces(s);

    if (!s->context.axis || scenario_kept_tokens(s) > 0 ||
        (s->context.method == SCENARIO_GATHER && s->context.order == SCENARIO_CONTIGUOUS))
        return;
    if (s->batch.seq > 0 && s->batch.seq % pieces != 0)
        WRONG(r, "batch.seq",
              "%" PRId64 " tokens of a sequence do not divide into %" PRId64 " equal chunks%s",
              s->batch.seq, pieces,
              pieces > scenario_cache_parts(s)
                  ? ": zigzag gives each rank one from the head and one from the tail"
                  : "");
}

static void check_documents(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_documents *d = &s->context.documents;
    int64_t sum = 0;

    for (size_t i = 0; i < d->nlengths; i++)
        sum += d->lengths[i]; /* 65536 of them cannot overflow */
    if (d->seed > 0 && d->mean == 0)
        WRONG(r, "context.documents",
              "documents have no mean; expected the mean length in tokens, at least 1");
    if (d->nlengths > 0 && s->batch.seq > 0 && sum != s->batch.seq)
        WRONG(r, "context.documents",
              "documents of %" PRId64 " tokens in total for sequences of %" PRId64
              "; expected equal totals",
              sum, s->batch.seq);
}

static void check_context(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (!s->context.axis && s->context.method == SCENARIO_RING)
        WRONG(r, "context.method",
              "ring attention without an axis; expected context.axis, a mesh axis");
    if (!s->context.axis && s->context.order != SCENARIO_CONTIGUOUS)
        WRONG(r, "context.order",
              "context.order without an axis; expected context.axis, a mesh axis");
    if (s->model.window > 0 && !s->model.causal)
        WRONG(r, "model.window",
              "a sliding window of %" PRId64
              " tokens needs causal attention; expected causal: true",
              s->model.window);
    check_documents(r);
    if (r->mesh_unknown || !s->context.axis)
        return;
    if (!mesh_has(s, s->context.axis))
        mesh_report_no_axis(r, scenario_place(s, "context.axis"), s->context.axis, s->context.axis);
    else
        check_pieces(r);
    if (s->pipeline.axis && !strcmp(s->pipeline.axis, s->context.axis))
        diag_error(r->diag, scenario_place(s, "context.axis"),
                   "context.axis '%s' is already pipeline.axis; expected another axis",
                   s->context.axis);
}

static void check_price(struct reader *r)
{
    const struct scenario *s = r->scenario;

    if (s->price == SCENARIO_PRICE_TIME && !s->hardware)
        WRONG(r, "price", "price: time needs a cluster; expected hardware: NAME, or price: bytes");
}

static void check_mesh(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t product = 1;

    for (size_t i = 0; i < s->nmesh; i++) {
        product *= s->mesh[i].size; /* both fit an int32_t */
        if (product > INT32_MAX) {
            diag_error(r->diag, s->mesh[i].place,
                       "the mesh has more than %d devices; expected a smaller product of sizes",
                       INT32_MAX);
            return;
        }
    }
}

/* The axes named so far in one spec.  Each is a distinct mesh axis, so the array suffices. */
struct names {
    const char *names[SHD_MESH_AXES_MAX];
    size_t count;
};

/* Check that an axis is in the mesh and not named twice. */
static void check_axis(struct reader *r, struct names *seen, struct place place, const char *name,
                       const char *of, const char *where)
{
    struct text source = TEXT_INIT;

    for (size_t i = 0; i < seen->count; i++)
        if (strcmp(seen->names[i], name) == 0) {
            mesh_describe_source(name, of, &source);
            r->diag->no_memory |= source.failed;
            diag_error(r->diag, place, "axis '%s'%s is used twice in %s; expected it once", name,
                       text_get(&source), where);
            text_fini(&source);
            return;
        }
    if (!mesh_has(r->scenario, name))
        mesh_report_no_axis(r, place, name, of);
    else
        seen->names[seen->count++] = name;
}

/* Check a name in the file, which may stand for several mesh axes or none. */
static void check_name(struct reader *r, struct names *seen, struct place place, const char *name,
                       const char *where)
{
    const char *axes[SHD_AXIS_VALUE_MAX];
    size_t naxes = partition_axis_find(axes, r->scenario, name);

    for (size_t a = 0; a < naxes; a++)
        check_axis(r, seen, place, axes[a], name, where);
}

static void check_rules(struct reader *r, const struct scenario_rule *rules, size_t nrules)
{
    for (size_t i = 0; i < nrules; i++) {
        const struct shd_spec *spec = rules[i].written ? rules[i].written : rules[i].spec;
        struct names seen = {{NULL}, 0};
        for (size_t e = 0; e < shd_spec_nentries(spec); e++)
            for (size_t a = 0; a < shd_spec_naxes(spec, e); a++)
                check_name(r, &seen, rules[i].entry_places[e], shd_spec_axis(spec, e, a),
                           "this spec");
    }
}

/* Logical axes of the presets; a graph defines its own. */
static const struct {
    const char *name;
    const char *option; /* models with this option have the axis */
} logical_axes[] = {
    {"batch", "batch.size"},        {"seq", "batch.seq"},       {"embed", "model.d_model"},
    {"mlp", "model.d_ff"},          {"heads", "model.heads"},   {"kv_heads", "model.kv_heads"},
    {"head_dim", "model.head_dim"}, {"vocab", "model.vocab"},   {"positions", "model.positions"},
    {"buckets", "model.buckets"},   {"source", "batch.source"},
};

/* The n-th logical axis of the model, or NULL after the last; "" if this kind of model lacks it. */
static const char *logical_axis(const struct scenario *s, size_t n)
{
    char section[OPTION_PATH_MAX];
    const char *dot;

    if (s->model.kind == SCENARIO_GRAPH)
        return n < s->graph.ndims ? s->graph.dims[n].name : NULL;
    if (n >= sizeof(logical_axes) / sizeof(logical_axes[0]))
        return NULL;
    dot = strchr(logical_axes[n].option, '.');
    snprintf(section, sizeof(section), "%.*s", (int)(dot - logical_axes[n].option),
             logical_axes[n].option);
    return option_is_of(option_find(section, dot + 1), s->model.kind) ? logical_axes[n].name : "";
}

/* Whether a name means an axis of experts.  These are sharded by rules, as no input has them; the
 * error message says so. */
static bool is_of_experts(const struct scenario *s, const char *name)
{
    return s->model.moe.experts > 0 && strncmp(name, "expert", strlen("expert")) == 0;
}

static void check_logical_name(struct reader *r, const struct scenario_logical *logical)
{
    struct text known = TEXT_INIT;
    struct nearest nearest;
    const char *name;

    nearest_init(&nearest, logical->name);
    for (size_t i = 0; (name = logical_axis(r->scenario, i)) != NULL; i++) {
        if (strcmp(name, logical->name) == 0) {
            text_fini(&known);
            return;
        }
        if (!name[0] || known.length > KNOWN_TEXT_MAX)
            continue;
        text_addf(&known, "%s%s", known.length ? ", " : "", name);
        nearest_add(&nearest, name);
    }
    r->diag->no_memory |= known.failed;
    if (is_of_experts(r->scenario, logical->name))
        diag_error(r->diag, logical->key_place,
                   "no input has the axis '%s': only parameters have it; expected a rule in "
                   "params, such as [moe/(up|gate|down)/kernel, [ep]]",
                   logical->name);
    else
        diag_error(r->diag, logical->key_place,
                   "the model has no logical axis '%s'; expected one of %s%s", logical->name,
                   text_get(&known), nearest_hint(&nearest).text);
    text_fini(&known);
}

static void check_logical(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t i = 0; i < s->nlogical; i++) {
        const struct scenario_logical *logical = &s->logical[i];
        char *const *axes = logical->written ? logical->written : logical->axes;
        size_t naxes = logical->written ? logical->nwritten : logical->naxes;
        struct names seen = {{NULL}, 0};
        check_logical_name(r, logical);
        for (size_t a = 0; a < naxes && !r->mesh_unknown; a++)
            check_name(r, &seen, logical->place, axes[a], "this list");
    }
}

/* Check the given fields of partition_axis.  Its defaults are not checked: they may name axes that
 * this mesh does not have. */
static void check_partition_axis(struct reader *r)
{
    const struct scenario_partition_axis *p = &r->scenario->partition_axis;

    for (size_t i = 0; i < p->nfields; i++) {
        const struct scenario_logical *field = &p->fields[i];
        struct names seen = {{NULL}, 0};
        for (size_t a = 0; a < field->naxes; a++)
            check_axis(r, &seen, field->place, field->axes[a], field->axes[a], "this list");
    }
}

/* On a mesh without an axis of these names `rules: auto` would replicate every parameter. */
static void check_auto(struct reader *r)
{
    static const char *const names[] = {"dp", "fsdp", "sp", "tp"};
    const struct scenario *s = r->scenario;
    struct text mesh = TEXT_INIT;
    bool any = s->nmesh == 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        any = any || mesh_has(s, names[i]);
    if (s->rules != SCENARIO_RULES_AUTO || any)
        return;
    mesh_describe(s, &mesh);
    r->diag->no_memory |= mesh.failed;
    WRONG(r, "rules", "rules: auto finds no axis in the %s; expected one named dp, fsdp, sp or tp",
          text_get(&mesh));
    text_fini(&mesh);
}

/* Report what muon lacks, and matrices' homes that are no axes. */
static void check_muon(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_optimizer *o = &s->optimizer;
    size_t momentum = option_id(option_find("optimizer", "momentum"));
    struct names seen = {{NULL}, 0};

    if (o->kind != SCENARIO_MUON)
        return;
    if (!s->places[momentum].file && !r->meant[momentum])
        WRONG(r, "optimizer.kind",
              "muon without a momentum; expected optimizer.momentum, usually "
              "0.95, or 0 to keep no state");
    if (o->layout == SCENARIO_OWNED && o->homes.n == 0)
        WRONG(r, "optimizer.layout",
              "matrices are owned over no axis; expected optimizer.homes, a mesh axis");
    if (o->layout != SCENARIO_OWNED && o->homes.n > 0)
        WRONG(r, "optimizer.homes", "homes of matrices need optimizer.layout: owned");
    for (size_t a = 0; a < o->homes.n && !r->mesh_unknown; a++)
        check_axis(r, &seen, scenario_place(s, "optimizer.homes"), o->homes.names[a],
                   o->homes.names[a], "optimizer.homes");
    if (s->pipeline.axis && scenario_has_axis(&o->homes, s->pipeline.axis))
        WRONG(r, "optimizer.homes",
              "optimizer.homes '%s' is already pipeline.axis; expected another axis",
              s->pipeline.axis);
    if (s->offload.optimizer > 0)
        WRONG(r, "offload.optimizer",
              "muon's update on the host is not modelled; expected optimizer.kind adamw or sgd");
}

/* Report update options without an update, and an update that lacks what it needs. */
static void check_update(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_optimizer *o = &s->optimizer;

    if (s->step.update && !s->step.backward)
        WRONG(r, "step", "step has update without backward; expected [forward, backward, update]");
    if (s->step.update && o->kind == SCENARIO_NO_OPTIMIZER &&
        !r->meant[option_id(option_find("optimizer", "kind"))])
        WRONG(r, "step",
              "step has update, but there is no optimizer; expected optimizer.kind sgd, adamw or "
              "muon");
    if (!s->step.update && o->kind != SCENARIO_NO_OPTIMIZER)
        WRONG(r, "optimizer.kind",
              "an optimizer needs an update; expected step: [forward, backward, update]");
    if (!s->step.update && s->steps > 1 && !scenario_serves(s))
        WRONG(
            r, "steps",
            "%" PRId64
            " steps without update would be identical; expected step: [forward, backward, update]",
            s->steps);
    if (o->kind != SCENARIO_NO_OPTIMIZER && o->decay == SCENARIO_COSINE && o->warmup >= s->steps)
        WRONG(r, "optimizer.warmup",
              "a warm-up of %" PRId64 " of %" PRId64
              " steps leaves none for cosine decay; expected fewer",
              o->warmup, s->steps);
}

/* Check the options that split a training step or save memory: microbatches and recomputation. */
static void check_parts(struct reader *r)
{
    const struct scenario *s = r->scenario;
    int64_t n = s->batch.microbatches;

    if (n > 1 && !s->step.update)
        WRONG(r, "batch.microbatches",
              "%" PRId64 " microbatches need an update; expected an optimizer and step: [forward, "
              "backward, update]",
              n);
    if (n > 1 && s->batch.size > 0 && s->batch.size % n != 0)
        WRONG(r, "batch.microbatches",
              "%" PRId64 " microbatches do not divide a batch of %" PRId64
              " sequences; expected a divisor",
              n, s->batch.size);
    if (s->recompute.kind != SCENARIO_RECOMPUTE_NONE && !s->step.update)
        WRONG(r, "recompute",
              "recompute needs an update; expected an optimizer and step: [forward, backward, "
              "update]");
    if (s->recompute.offset >= s->recompute.every && s->recompute.offset > 0)
        WRONG(r, "recompute",
              "recompute.offset %" PRId64 " with every %" PRId64 "; expected a smaller offset",
              s->recompute.offset, s->recompute.every);
    if (s->recompute.modules >> recompute_module_find("mla_up_proj", 11) & 1 &&
        s->model.mla.kv_rank == 0)
        WRONG(r, "recompute", "recompute.modules: 'mla_up_proj' needs a model with mla");
    if (s->recompute.hold && s->recompute.kind == SCENARIO_RECOMPUTE_FULL && !s->recompute.policy &&
        s->recompute.nkept == 0)
        WRONG(
            r, "recompute",
            "recompute.hold without kept results; expected keep, or a policy such as selective_op");
    if (s->recompute.modules && s->recompute.kind != SCENARIO_RECOMPUTE_SELECTIVE)
        WRONG(r, "recompute", "recompute.modules need kind selective");
}

static void check_offload(struct reader *r)
{
    const struct scenario_offload *o = &r->scenario->offload;
    bool activations = scenario_has_values(&o->activations);

    if (o->layers > 0 && !activations)
        WRONG(r, "offload.layers",
              "offload.layers without offloaded activations; expected offload.activations: all, or "
              "patterns");
    if (r->scenario->step.update)
        return;
    if (scenario_policy_offloads(r->scenario))
        WRONG(r, "recompute",
              "offloading activations needs an update; expected an optimizer and step: [forward, "
              "backward, update]");
    if (activations)
        WRONG(r, "offload.activations",
              "offloading activations needs an update; expected an optimizer and step: [forward, "
              "backward, update]");
    if (o->optimizer > 0)
        WRONG(r, "offload.optimizer",
              "offloading optimizer state needs an update; expected an optimizer and step: "
              "[forward, backward, update]");
    if (o->parameters)
        WRONG(r, "offload.parameters",
              "offloading parameters needs an update; expected an optimizer and step: [forward, "
              "backward, update]");
}

static void check_zero(struct reader *r)
{
    const struct scenario *s = r->scenario;
    struct names seen = {{NULL}, 0};

    if (s->zero.stage > 0 && !s->step.update)
        WRONG(r, "zero.stage",
              "ZeRO stage %" PRId64
              " needs an update; expected an optimizer and step: [forward, backward, update]",
              s->zero.stage);
    if (s->zero.stage > 0 && s->zero.axes.n == 0)
        WRONG(r, "zero.stage",
              "ZeRO stage %" PRId64 " without an axis; expected zero.axis, a mesh axis",
              s->zero.stage);
    for (size_t a = 0; a < s->zero.axes.n && !r->mesh_unknown; a++)
        check_axis(r, &seen, scenario_place(s, "zero.axis"), s->zero.axes.names[a],
                   s->zero.axes.names[a], "zero.axis");
}

/* Neighbours must be equal groups, along one axis, of the devices that shard a parameter. */
static void check_reshard(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_axis_list *axes = &s->zero.axes;
    struct place place = scenario_place(s, "zero.reshard_after_forward");
    int64_t n = s->zero.reshard;

    if (n <= SCENARIO_RESHARD_NEVER)
        return;
    if (axes->n > 1)
        diag_error(r->diag, place,
                   "resharding over %" PRId64
                   " neighbours needs a single axis; expected one axis in zero.axis",
                   n);
    for (size_t a = 0; axes->n == 1 && !r->mesh_unknown && a < s->nmesh; a++)
        if (!strcmp(s->mesh[a].name, axes->names[0]) && s->mesh[a].size % n != 0)
            diag_error(r->diag, place,
                       "%" PRId64
                       " neighbours do not divide axis '%s' of %d devices; expected a divisor",
                       n, axes->names[0], (int)s->mesh[a].size);
}

static void check_pipeline(struct reader *r)
{
    const struct scenario *s = r->scenario;
    bool split = s->pipeline.nlayers > 0 || s->pipeline.weighed;

    if (!s->pipeline.axis && (split || s->pipeline.nplaces > 0))
        diag_error(r->diag, scenario_place(s, split ? "pipeline.layers" : "pipeline.place"),
                   "pipeline stages without an axis; expected pipeline.axis, a mesh axis");
    if (s->pipeline.weighed && s->recompute.by_stage)
        WRONG(r, "pipeline.layers",
              "weighed stages depend on recomputation, which recompute.count: stage counts per "
              "stage; expected a list of layers per stage");
    if (s->pipeline.axis && !r->mesh_unknown && !mesh_has(s, s->pipeline.axis))
        mesh_report_no_axis(r, scenario_place(s, "pipeline.axis"), s->pipeline.axis,
                            s->pipeline.axis);
    if (scenario_has_axis(&s->zero.axes, s->pipeline.axis))
        WRONG(r, "zero.axis", "zero.axis '%s' is already pipeline.axis; expected another axis",
              s->pipeline.axis);
}

/* Check the types of the optimizer's arrays, and the loss scale. */
static void check_types(struct reader *r)
{
    const struct scenario *s = r->scenario;
    enum shd_dtype parameters = scenario_type(s, s->types.parameters);

    if (parameters != s->model.dtype && !s->step.update)
        WRONG(r, "types.parameters",
              "master parameters need an update; expected an optimizer and step: [forward, "
              "backward, update]");
    if (s->loss_scale.kind == SCENARIO_NO_LOSS_SCALE)
        return;
    if (!s->step.update)
        WRONG(r, "loss_scale.kind",
              "loss scaling needs an update; expected an optimizer and step: [forward, backward, "
              "update]");
    if (parameters != SHD_F32 && parameters != SHD_F64)
        WRONG(r, "loss_scale.kind",
              "loss scaling with parameters in %s, which may overflow with unscaled gradients; "
              "expected types.parameters float32",
              shd_dtype_name(parameters));
}

static void check_products(struct reader *r)
{
    const struct scenario_products *p = &r->scenario->products;

    if (p->dispatch && p->recipe != SCENARIO_BLOCKWISE && p->recipe != SCENARIO_MXFP8)
        WRONG(r, "products.dispatch",
              "a quantized all-to-all needs block scales along a row; expected products.recipe "
              "blockwise or mxfp8");
    if (p->weights == SCENARIO_BASE_COMPUTE)
        return;
    if (!scenario_serves(r->scenario))
        WRONG(r, "products.weights",
              "quantized weights cannot be trained; expected step: [prefill] or [decode], or "
              "lora.base for adapters");
    else if (p->recipe != SCENARIO_NO_RECIPE)
        WRONG(r, "products.weights",
              "products.recipe quantizes weights already; expected recipe none");
    else if (r->scenario->lora.rank > 0)
        WRONG(r, "products.weights",
              "lora.base sets the type of weights with adapters; expected no lora");
    else if (r->scenario->uneven == SCENARIO_PADDED)
        WRONG(r, "products.weights",
              "block-quantized weights cannot be padded; expected uneven: refuse");
}

static void check_lora(struct reader *r)
{
    const struct scenario_lora *lora = &r->scenario->lora;

    if (lora->rank > 0 && lora->targets.n == 0)
        WRONG(r, "lora.targets",
              "adapters of rank %" PRId64
              " without target weights; expected a list of patterns, such as [attn/q, attn/v]",
              lora->rank);
    if (lora->rank == 0 && (lora->targets.n > 0 || lora->base != SCENARIO_BASE_COMPUTE))
        WRONG(r, lora->targets.n > 0 ? "lora.targets" : "lora.base",
              "adapters without a rank; expected lora.rank, at least 1");
    if (lora->base != SCENARIO_BASE_COMPUTE && r->scenario->uneven == SCENARIO_PADDED)
        WRONG(
            r, "lora.base",
            "block-quantized weights cannot be padded; expected uneven: refuse, or base: compute");
}

/* The product of the mesh's sizes; it fits 32 bits. */
static int64_t devices_of(const struct scenario *s)
{
    int64_t n = 1;

    for (size_t a = 0; a < s->nmesh; a++)
        n *= s->mesh[a].size;
    return n;
}

static void check_straggler(struct reader *r)
{
    const struct scenario *s = r->scenario;
    const struct scenario_straggler *straggler = &s->straggler;
    bool slow = straggler->compute > 0 || straggler->links > 0;

    if (slow && !s->hardware)
        diag_error(
            r->diag,
            scenario_place(s, straggler->compute > 0 ? "straggler.compute" : "straggler.links"),
            "a straggler changes modelled times only, which need a cluster; expected hardware: "
            "NAME");
    if (straggler->device > 0 && !r->mesh_unknown && straggler->device >= devices_of(s))
        WRONG(r, "straggler.device",
              "device %" PRId64 " is not in the mesh; expected 0 to %" PRId64, straggler->device,
              devices_of(s) - 1);
}

void check_scenario(struct reader *r)
{
    const struct scenario *s = r->scenario;
    bool has_mesh = s->places[option_id(option_find(NULL, "mesh"))].file != NULL;

    if (!has_mesh)
        r->mesh_unknown = true;
    check_required(r);
    check_kind(r);
    check_model(r);
    check_context(r);
    check_price(r);
    check_mesh(r);
    check_logical(r);
    check_update(r);
    check_muon(r);
    check_serving(r);
    check_parts(r);
    check_types(r);
    check_products(r);
    check_lora(r);
    check_dependents(r);
    check_zero(r);
    check_offload(r);
    check_reshard(r);
    check_straggler(r);
    check_pipeline(r);
    if (r->mesh_unknown)
        return;
    check_partition_axis(r);
    check_auto(r);
    check_rules(r, s->params, s->nparams);
    check_rules(r, s->constraints, s->nconstraints);
}
