/* Choosing the layout of a first scenario (first.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/init/first.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/divisor.h"
#include "cmd/export/exported.h"
#include "cmd/init/first_text.h"
#include "hardware/hardware.h"
#include "hardware/margin.h"
#include "report/modelled.h"
#include "search/search.h"

#define NODE 8 /* devices of most nodes: tensor parallelism is no wider */
#define STAGES_MOST 32
#define VIRTUAL_MOST 8            /* stages of a rank: published recipes have no more */
#define TOKENS_OF_PART 16384      /* of a sequence on a device: shorter ones are not sharded ... */
#define TOKENS_LEAST 8192         /* ... but for want of sequences */
#define TOKENS_OF_RING 2048       /* of a device in a search, at least */
#define TOKENS_WITH_EXPERTS 16384 /* of a device's microbatch in a search, about */
#define FEW_LAYERS 3 /* of an estimate, besides the first ones, where these have no experts */

/* ---- layouts ---- */

/* A layout of whole nodes, of which `near` replicas hold a layer's experts, or these and all that
 * share a sequence. */
static struct layout layout_of(const struct first_asked *asked, int64_t pp, int64_t cp, int64_t tp,
                               int64_t near, int64_t stage)
{
    int64_t dp = asked->devices / (pp * cp * tp);
    bool folds = cp > 1 && asked->sizes && asked->sizes->moe.experts > 0 &&
                 asked->sizes->moe.experts % (cp * near) == 0;
    struct layout l = {.value = {[SPACE_PP] = (int32_t)pp,
                                 [SPACE_CP] = (int32_t)cp,
                                 [SPACE_TP] = (int32_t)tp,
                                 [SPACE_DP] = (int32_t)dp,
                                 [SPACE_EP] = (int32_t)(folds ? near * cp : near),
                                 [SPACE_FOLD] = folds ? SPACE_FOLD_CP : 0,
                                 [SPACE_SP] = tp > 1,
                                 [SPACE_ZERO] = (int32_t)stage,
                                 [SPACE_SHARDS] = (int32_t)(dp * cp),
                                 [SPACE_VIRTUAL] = 1,
                                 [SPACE_RECOMPUTE] = SPACE_FULL,
                                 [SPACE_MICROBATCH] = 1}};

    return l;
}

/* The fewest stages, and then the least tensor parallelism, with which a batch divides over the
 * replicas of devices that share no sequence; false: none. */
static bool find_dividing(struct layout *out, const struct first_asked *asked, long cp)
{
    long devices = asked->devices / cp, batch = asked->batch;
    /* Allow stages only if the batch is smaller than the nodes; else it is probably a typo. */
    long most = batch < asked->devices / NODE ? STAGES_MOST : 1;

    for (long pp = 1; pp <= most; pp *= 2)
        for (long tp = 1; tp <= NODE && devices % (pp * tp) == 0; tp *= 2)
            if (batch % (devices / (pp * tp)) == 0) {
                *out = layout_of(asked, pp, cp, tp, 1, pp > 1 ? 1 : 3);
                return true;
            }
    return false;
}

/* ---- plans ---- */

int first_read(struct scenario_model *out, const struct first_asked *asked, const char *step,
               struct diag *diag)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = asked->file, .text = &text, .extent = VARIANT_READ};
    struct draft draft = DRAFT_OF(&text);
    struct variant v;
    int status;

    first_write_head(&text, asked);
    first_write_model(&draft, asked);
    draft_set(&draft, "mesh.dp", "1");
    draft_set(&draft, "step", "[%s]", step);
    draft_set(&draft, "batch.size", "1");
    draft_set_count(&draft, "batch.seq", asked->seq);
    draft_set(&draft, "params", "[[.*, []]]");
    (void)draft_text(&draft);
    status = variant_init(&v, &ask, NULL);
    text_fini(&text);
    if (status != SHD_OK) {
        diag_no_memory(diag);
        return status;
    }
    status = v.status;
    diag_append(diag, &v.errors);
    if (status == SHD_OK)
        *out = v.file->scenarios[0].model;
    variant_fini(&v);
    return status;
}

/* The margin is kept free, unless the layout fills a device or limits.memory leaves less. */
static double room_of(const struct variant *v, bool fills)
{
    bool limited = v->room_bytes < v->trial.hardware->memory_bytes;

    return fills || limited ? v->room_bytes : hardware_room(v->trial.hardware);
}

/* Refuse a planned layout that the target cannot express. */
static int check_target(struct variant *v, const struct first_asked *asked, struct diag *diag)
{
    struct shd_error err;
    int status = asked->target ? exported_check(asked->target, &v->trial, &err) : SHD_OK;

    if (status == SHD_OK || status == SHD_ENOMEM)
        return status;
    v->outcome = VARIANT_REFUSED;
    if (diag)
        diag_failure(diag, (struct place){NULL, 0, 0}, status, "%s", err.text);
    return diag ? status : SHD_OK;
}

int first_plan(struct first_figures *out, const struct first_asked *asked, struct variant_ask *ask,
               struct diag *diag)
{
    struct modelled_figures figures;
    struct shd_error err;
    struct variant v;
    int status = variant_init(&v, ask, &err);

    *out = (struct first_figures){.bytes = INFINITY};
    if (status != SHD_OK) {
        if (diag)
            diag_failure(diag, (struct place){asked->file, 1, 1}, status, "%s", err.text);
        return diag || status == SHD_ENOMEM ? status : SHD_OK;
    }
    if (v.outcome == VARIANT_REFUSED && diag) {
        status = v.status;
        diag_append(diag, &v.errors);
    } else if (v.outcome != VARIANT_REFUSED) {
        status = check_target(&v, asked, diag);
    }
    if (status == SHD_OK && v.outcome != VARIANT_REFUSED) {
        modelled_figures_of(&figures, v.trial.record, 0);
        *out = (struct first_figures){figures.step_s, v.need_bytes, room_of(&v, asked->fills)};
    }
    variant_fini(&v);
    return status;
}

/* ---- choosing a layout ---- */

#define CANDIDATES_MAX 256

/* The time of a plan of a few layers grows with the pairs of a device and an expert, times the
 * devices of tensor parallelism (some 4 us each).  Beyond this much work no further layout is
 * tried, so that a large model of experts is answered in seconds: a search tries more. */
#define WORK_MOST 200000

struct candidate {
    struct layout layout;
    struct first_figures figures; /* estimated, of all layers */
    bool grown;                   /* twice as many sequences a microbatch were tried */
};

struct choice {
    const struct first_asked *asked;
    int64_t cp; /* of all candidates */
    struct candidate candidates[CANDIDATES_MAX];
    size_t n;
    int64_t work; /* sum over the layouts tried */
};

bool first_fits(const struct first_figures *figures)
{
    return figures->bytes <= figures->limit_bytes;
}

/* Plan a layout with so many layers (0: all), of a model of an encoder and a decoder in both. */
static int plan_simple(struct first_figures *out, const struct choice *c, const struct layout *l,
                       int64_t layers)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = c->asked->file, .text = &text};
    int status;

    first_write_text(&text, c->asked, l);
    if (layers > 0)
        text_addf(variant_set(&ask), "model.layers=%" PRId64, layers);
    if (layers > 0 && c->asked->sizes->kind == SCENARIO_T5 &&
        c->asked->sizes->decoder_layers > layers)
        text_addf(variant_set(&ask), "model.decoder_layers=%" PRId64, layers);
    status = first_plan(out, c->asked, &ask, NULL);
    text_fini(&text);
    return status;
}

/* Estimate the figures of all layers: the last layers are equal, or their types repeat, and the
 * difference of two plans of few layers is one layer, or all that repeat. */
static int estimate(struct first_figures *out, const struct choice *c, const struct layout *l)
{
    int64_t layers = c->asked->sizes->layers;
    int64_t period = c->asked->sizes->layer_types.n > 0 ? c->asked->sizes->layer_types.n : 1;
    int64_t few = c->asked->sizes->moe.first_dense + (period > FEW_LAYERS ? period : FEW_LAYERS);
    struct first_figures more;
    double rest = (double)(layers - few) / (double)period;
    int status;

    if (layers <= few + period)
        return plan_simple(out, c, l, 0);
    status = plan_simple(out, c, l, few);
    if (status != SHD_OK || !first_fits(out))
        return status;
    status = plan_simple(&more, c, l, few + period);
    out->step_s += (more.step_s - out->step_s) * rest;
    out->bytes += (more.bytes - out->bytes) * rest;
    return status;
}

/* Try a layout if its sizes divide evenly. */
static int add(struct choice *c, const struct layout *l)
{
    const int32_t *v = l->value;
    const struct first_asked *asked = c->asked;
    struct candidate *candidate = &c->candidates[c->n];

    if (c->n == CANDIDATES_MAX || c->work > WORK_MOST ||
        asked->devices % ((int64_t)v[SPACE_CP] * v[SPACE_TP]) != 0 ||
        v[SPACE_DP] % space_expert_replicas(l) != 0 ||
        asked->batch % ((int64_t)v[SPACE_DP] * v[SPACE_MICROBATCH]) != 0)
        return SHD_OK;
    *candidate = (struct candidate){.layout = *l};
    c->n++;
    c->work += asked->devices * v[SPACE_TP] *
               (asked->sizes->moe.experts > 0 ? asked->sizes->moe.experts : 1);
    return estimate(&candidate->figures, c, l);
}

/* Try a layout with each amount of recomputation, the least memory first: if that does not fit, the
 * others do not either. */
static int add_recomputed(struct choice *c, struct layout layout)
{
    static const enum space_recompute recompute[] = {SPACE_FULL, SPACE_SELECTIVE, SPACE_NONE};
    int status = SHD_OK;

    for (size_t i = 0, before = c->n; i < 3 && status == SHD_OK; i++) {
        layout.value[SPACE_RECOMPUTE] = (int32_t)recompute[i];
        status = add(c, &layout);
        if (c->n == before || !first_fits(&c->candidates[before].figures))
            break;
    }
    return status;
}

/* Experts are spread over the devices of a node, or over as many as possible.  ZeRO does not shard
 * parameters of experts, because that is far slower. */
static int add_all(struct choice *c, int64_t tp)
{
    int64_t replicas = c->asked->devices / (c->cp * tp);
    int64_t experts = c->asked->sizes->moe.experts;
    int64_t inside = experts % c->cp == 0 ? c->cp : 1; /* of ranks that hold a layer's experts */
    int64_t most = experts > 0 ? divisor_common(experts / inside, replicas) : 1;
    int64_t near = divisor_common(most, inside < NODE ? NODE / inside : 1);
    int status = SHD_OK;

    c->n = 0;
    for (int64_t stage = 2; stage <= (experts > 0 ? 2 : 3) && status == SHD_OK; stage++) {
        status = add_recomputed(c, layout_of(c->asked, 1, c->cp, tp, near, stage));
        if (status == SHD_OK && most > near)
            status = add_recomputed(c, layout_of(c->asked, 1, c->cp, tp, most, stage));
    }
    return status;
}

/* The fitting candidate with the shortest step; NULL: none fits. */
static struct candidate *shortest(struct choice *c)
{
    struct candidate *best = NULL;

    for (size_t i = 0; i < c->n; i++)
        if (first_fits(&c->candidates[i].figures) &&
            (!best || c->candidates[i].figures.step_s < best->figures.step_s))
            best = &c->candidates[i];
    return best;
}

/* Mark the candidates that differ from a layout only in recomputation. */
static void mark_grown(struct choice *c, const struct layout *l)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct layout *other = &c->candidates[i].layout;

        if (other->value[SPACE_EP] == l->value[SPACE_EP] &&
            other->value[SPACE_ZERO] == l->value[SPACE_ZERO] &&
            other->value[SPACE_MICROBATCH] == l->value[SPACE_MICROBATCH])
            c->candidates[i].grown = true;
    }
}

/* The best candidate, with microbatches grown as long as the step gets shorter; NULL: none fits. */
static int grow(struct candidate **out, struct choice *c)
{
    int status = SHD_OK;

    while ((*out = shortest(c)) != NULL && !(*out)->grown && status == SHD_OK) {
        struct layout twice = (*out)->layout;

        mark_grown(c, &twice);
        twice.value[SPACE_MICROBATCH] *= 2;
        status = add_recomputed(c, twice);
    }
    return status;
}

/* The best candidate that also fits when all its layers are planned. */
static int choose_of(struct candidate *out, bool *found, struct choice *c, int64_t tp)
{
    struct candidate *best;
    int status = add_all(c, tp);

    while (!*found && status == SHD_OK && (status = grow(&best, c)) == SHD_OK && best) {
        status = plan_simple(&best->figures, c, &best->layout, 0);
        *found = status == SHD_OK && first_fits(&best->figures);
        *out = *best;
    }
    if (status == SHD_OK && !*found && c->n > 0 && !isinf(c->candidates[0].figures.bytes))
        *out = c->candidates[0];
    return status;
}

/* Of layouts with so much context parallelism; if none fits, take the last of those that save the
 * most memory. */
static int choose_with(struct candidate *out, bool *found, const struct first_asked *asked,
                       int64_t cp)
{
    struct choice choice = {.asked = asked, .cp = cp};
    int status = SHD_OK;

    find_dividing(&out->layout, asked, cp);
    for (int64_t tp = 1; tp <= NODE && asked->devices % (cp * tp) == 0; tp *= 2)
        if (!*found && status == SHD_OK)
            status = choose_of(out, found, &choice, tp);
    return status;
}

/* Choose among simple layouts with so much context parallelism, or without any: the model may have
 * none, and *cp is 1 then. */
static int choose(struct candidate *out, const struct first_asked *asked, int64_t *cp)
{
    bool found = false;
    int status = choose_with(out, &found, asked, *cp);

    if (status == SHD_OK && !found && *cp > 1)
        status = choose_with(out, &found, asked, 1);
    if (found && out->layout.value[SPACE_CP] == 1)
        *cp = 1;
    return status;
}

/* Where a batch has fewer sequences than there are nodes that share one, more devices share it. */
long first_context(long devices, long seq, long batch)
{
    long cp = 1;

    while (devices % (2 * cp) == 0 && seq % (4 * cp) == 0 &&
           seq / (2 * cp) >=
               (batch > 0 && batch < devices / (cp * NODE) ? TOKENS_LEAST : TOKENS_OF_PART))
        cp *= 2;
    return cp;
}

bool first_divides(long devices, long batch, long seq)
{
    const struct first_asked asked = {.devices = devices, .batch = batch};
    struct layout layout;

    return find_dividing(&layout, &asked, first_context(devices, seq, batch));
}

/* ---- a short search ---- */

/* What a first layout is searched among: what its text can say, tensor parallelism within a node,
 * and at least so much context parallelism, more only within a node.  Without experts a start has
 * stage 1 or 3 of ZeRO, which search_first() keeps. */
static size_t set_ranges(struct space_range ranges[], const struct first_asked *asked, int64_t cp)
{
    const struct space_range all[] = {{SPACE_TP, 1, NODE, false},
                                      {SPACE_CP, (int32_t)cp, (int32_t)cp, false},
                                      {SPACE_VIRTUAL, 1, VIRTUAL_MOST, false},
                                      {SPACE_ORDER, 0, 0, false},
                                      {SPACE_SPLIT, SPACE_SPLIT_EVEN, SPACE_SPLIT_EVEN, false},
                                      {SPACE_PRODUCTS, 0, 0, false},
                                      {SPACE_RECOMPUTE, SPACE_NONE, SPACE_FULL, false}};
    size_t n = sizeof all / sizeof all[0];

    memcpy(ranges, all, sizeof all);
    while (asked->seq / (2 * ranges[1].most) >= TOKENS_OF_RING && 2 * ranges[1].most <= NODE)
        ranges[1].most *= 2;
    if (asked->sizes->moe.experts > 0)
        ranges[n++] = (struct space_range){
            SPACE_MICROBATCH, 1, (int32_t)(1 + (TOKENS_WITH_EXPERTS * cp - 1) / asked->seq), false};
    else
        ranges[n++] = (struct space_range){SPACE_ZERO, 2, 2, true};
    for (int32_t k = 0; space_schedule_of(k); k++)
        if (space_schedule_of(k) != timetable_made_for(TIMETABLE_USUAL, 1) &&
            space_schedule_of(k) != timetable_made_for(TIMETABLE_USUAL, 2))
            ranges[n++] = (struct space_range){SPACE_SCHEDULE, k, k, true};
    return n;
}

/* Replace a layout by what a short search finds, if that fits and its step is shorter. */
static int improve(struct candidate *best, const struct first_asked *asked,
                   const struct trial *trial, int64_t cp)
{
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t n = set_ranges(ranges, asked, cp);
    const struct subject_filter filter = exported_filter(asked->target);
    struct subject subject;
    struct layout layout;
    struct plan plan = {.state = VARIANT_REFUSED};
    struct shd_error err;
    int status = subject_init(&subject, trial, asked->devices, ranges, n, &filter, &err);

    if (status == SHD_OK && asked->fills)
        subject_suppose(&subject, 1, 1);
    if (status == SHD_OK)
        status = search_first(&layout, &plan, &subject, &err);
    if (status == SHD_OK && plan.state == VARIANT_FITS &&
        (!first_fits(&best->figures) || plan.figures.step_s < best->figures.step_s))
        *best = (struct candidate){.layout = layout,
                                   .figures = {plan.figures.step_s, plan.figures.memory_bytes,
                                               subject.hardware->memory_bytes}};
    subject_fini(&subject);
    return status == SHD_ENOMEM ? status : SHD_OK;
}

/* Read the scenario of one device, to which every model and batch can be laid out. */
static int read_alone(struct variant *out, const struct first_asked *asked,
                      enum variant_extent extent)
{
    struct first_asked alone = *asked;
    struct text text = TEXT_INIT;
    struct variant_ask ask = {.name = asked->file, .text = &text, .extent = extent};
    struct layout one;
    int status;

    alone.devices = 1;
    one = layout_of(&alone, 1, 1, 1, 1, 0);
    while (asked->batch % one.value[SPACE_MICROBATCH] != 0 ||
           asked->batch / one.value[SPACE_MICROBATCH] > SCENARIO_MICROBATCHES_MAX)
        one.value[SPACE_MICROBATCH]++;
    first_write_text(&text, &alone, &one);
    status = variant_init(out, &ask, NULL);
    text_fini(&text);
    return status;
}

/* Improve a layout.  What is searched is read from the scenario of one device. */
static int search_from(struct candidate *best, const struct first_asked *asked, int64_t cp)
{
    struct variant v;
    int status = read_alone(&v, asked, VARIANT_LAID);

    if (status != SHD_OK)
        return status == SHD_ENOMEM ? status : SHD_OK;
    if (v.status == SHD_OK)
        status = improve(best, asked, &v.trial, cp);
    variant_fini(&v);
    return status;
}

/* ---- the whole ---- */

/* Simple layouts of a model without experts are planned in less time than they save.  With experts
 * they are planned only where the search finds none that fits, or supports no such model. */
static int write_best(struct text *out, struct first_figures *need, const struct first_asked *asked,
                      struct diag *diag)
{
    const int64_t longest = first_context(asked->devices, asked->seq, asked->batch);
    int64_t cp = longest;
    struct candidate best = {.layout = layout_of(asked, 1, cp, 1, 1, 3),
                             .figures = {.bytes = INFINITY}};
    struct variant_ask ask = {.name = asked->file, .text = out};
    bool experts = asked->sizes->moe.experts > 0;
    int status = experts ? search_from(&best, asked, cp) : SHD_OK;

    if (status == SHD_OK && !first_fits(&best.figures)) {
        status = choose(&best, asked, &cp);
        if (status == SHD_OK && (!experts || cp != longest))
            status = search_from(&best, asked, cp);
    }
    if (status != SHD_OK)
        return status;
    text_clear(out);
    first_write_text(out, asked, &best.layout);
    if (!first_fits(&best.figures))
        status = first_plan(&best.figures, asked, &ask, diag);
    if (status == SHD_OK)
        *need = best.figures;
    return status;
}

/* Drop a target that has no word for the model or its products, whatever the layout, or refuse the
 * model if the target was asked for. */
static int settle_target(struct first_asked *asked, struct diag *diag)
{
    struct shd_error err;
    struct variant v;
    int refused = SHD_OK, status = asked->target ? read_alone(&v, asked, VARIANT_READ) : SHD_OK;

    if (status != SHD_OK || !asked->target)
        return status;
    if (v.status == SHD_OK) /* else planning says why not */
        refused = export_check_source(asked->target, &v.file->scenarios[0], &err);
    if (v.status == SHD_OK && refused == SHD_OK && asked->products)
        refused = export_check_choices(asked->target, &v.file->scenarios[0], &err);
    variant_fini(&v);
    if (refused != SHD_OK && asked->insists) {
        diag_failure(diag, (struct place){NULL, 0, 0}, refused,
                     "%s can express no layout of this model: %s", asked->target->name, err.text);
        return refused;
    }
    asked->target = refused == SHD_OK ? asked->target : NULL;
    return SHD_OK;
}

int first_write(struct text *out, struct first_figures *need, const struct first_asked *asked,
                struct diag *diag)
{
    struct scenario_model model;
    struct first_asked filling = *asked;
    int status = first_read(&model, asked, "forward, backward", diag);

    filling.sizes = &model;
    if (status == SHD_OK)
        status = settle_target(&filling, diag);
    if (status == SHD_OK)
        status = write_best(out, need, &filling, diag);
    filling.fills = true;
    return status != SHD_OK || first_fits(need) ? status : write_best(out, need, &filling, diag);
}
