/* Planning every layout of a step of serving (search/serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/serving.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/serving.h"
#include "search/serving_scenario.h"
#include "trial/largest.h"
#include "trial/variant.h"

#define BATCH_MAX (INT64_C(1) << 20)
#define GAIN 0.02  /* of tokens a second, for which more prompts are taken in at once */
#define HALVINGS 4 /* of a doubling: a sixteenth is left */

/* The search on one mesh, by one thread. */
struct finder {
    struct serving_search *out; /* of this mesh */
    const struct text *text;    /* the scenario as text */
    size_t *nplanned;           /* on all meshes, for progress */
    struct shd_error *err;
    const int64_t *sizes;         /* of the mesh's axes */
    struct text mesh;             /* "dp=2, tp=4" */
    struct serving_layout prompt; /* a prefill of one prompt per group ... */
    bool takes_prompts;           /* ... which was asked for, and fits */
    double rate;                  /* tokens a second with the previous batch size */
    char why[160];                /* the last refused plan was refused for this reason */
};

/* ---- one plan ---- */

/* What a planned trial comes to. */
static void read_plan(struct serving_layout *out, const struct variant *v)
{
    const struct trial *trial = &v->trial;
    const struct scenario *s = trial->scenario;
    const struct result result = {
        .serves = true,
        .decodes = s->step.decode,
        .sequences = s->batch.size,
        .made = scenario_step_tokens(s),
        .tokens = (uint64_t)s->batch.size * (uint64_t)scenario_new_tokens(s),
        .record = trial->record,
    };
    struct serving serving;

    serving_of(&serving, &result);
    *out = (struct serving_layout){
        .batch = s->batch.size,
        .token_s = serving.token_s,
        .attention_s = (double)trial->record->modelled->work_ns[RECORD_ATTENTION] * 1e-9,
        .tokens_per_s = serving.tokens_per_s,
        .device_tokens_per_s = serving.device_tokens_per_s,
        .prompt_s = -1,
        .memory_bytes = v->need_bytes,
        .cache_bytes = serving.cache_bytes_most,
        .bound = serving.bound.word};
}

static void tell_planned(const struct finder *f)
{
    const struct serving_wants *wants = &f->out->wants;

#pragma omp critical
    {
        ++*f->nplanned;
        if (wants->progress)
            wants->progress(wants->arg, *f->nplanned);
    }
}

static int plan_ask(enum variant_outcome *outcome, struct serving_layout *out, struct finder *f,
                    struct variant_ask *ask)
{
    struct serving_search *s = f->out;
    struct variant v;
    int status = variant_init(&v, ask, f->err);

    *outcome = status == SHD_OK ? v.outcome : VARIANT_REFUSED;
    if (status != SHD_OK)
        return status;
    if (v.outcome == VARIANT_REFUSED) {
        snprintf(f->why, sizeof f->why, "%s", diag_first(&v.errors, ""));
    } else {
        read_plan(out, &v);
        s->nplans++;
        tell_planned(f);
    }
    variant_fini(&v);
    return SHD_OK;
}

/* What an earlier search has found of this mesh; NULL: nothing, or that it does not fit. */
static const struct serving_layout *find_known(const struct finder *f, int64_t batch, bool prefill)
{
    const struct serving_search *s = prefill ? f->out->wants.prefills : f->out->wants.decodes;

    for (size_t i = 0; s && i < s->nlayouts; i++)
        if (s->layouts[i].batch == batch && !strcmp(s->layouts[i].mesh, text_get(&f->mesh)))
            return &s->layouts[i];
    return NULL;
}

static struct variant_ask ask_of(const struct finder *f)
{
    return (struct variant_ask){.name = "<layout>", .text = f->text, .margin = true};
}

static int plan(enum variant_outcome *outcome, struct serving_layout *out, struct finder *f,
                int64_t batch, bool prefill)
{
    const struct serving_layout *known = find_known(f, batch, prefill);
    struct variant_ask ask = ask_of(f);

    if (!known) {
        serving_ask(&ask, text_get(&f->mesh), batch, prefill);
        return plan_ask(outcome, out, f, &ask);
    }
    *out = *known;
    out->best_of_user = false; /* that was among its own */
    *outcome = VARIANT_FITS;
    return SHD_OK;
}

/* ---- the layouts of a mesh ---- */

/* Groups of devices that share sequences: a batch is a multiple of their number. */
static int64_t groups_of(const struct finder *f)
{
    const struct scenario *s = f->out->trial->scenario;
    int64_t groups = 1;

    for (size_t a = 0; a < s->nmesh; a++)
        if (scenario_shards_batch(s, s->mesh[a].name))
            groups *= f->sizes[a];
    return groups;
}

static int print_mesh(struct finder *f)
{
    const struct scenario *s = f->out->trial->scenario;

    text_clear(&f->mesh);
    for (size_t a = 0; a < s->nmesh; a++)
        text_addf(&f->mesh, "%s%s=%" PRId64, a ? ", " : "", s->mesh[a].name, f->sizes[a]);
    return f->mesh.failed ? shd_error_set(f->err, SHD_ENOMEM, "no memory for layouts") : SHD_OK;
}

/* Whether a first token comes in time; negative seconds: it was not found. */
static bool is_soon(const struct serving_wants *wants, double seconds)
{
    return wants->ttft_s <= 0 || (seconds >= 0 && seconds <= wants->ttft_s);
}

/* Tokens of a prompt and of the decodes that a group takes in beside it, as one prompt: a multiple
 * of the pieces into which the mesh cuts a sequence, and no more than the model has positions. */
static int64_t tokens_beside(const struct finder *f, int64_t batch)
{
    const struct scenario *s = f->out->trial->scenario;
    int64_t tokens = s->batch.seq + batch / groups_of(f) * scenario_new_tokens(s), pieces = 1;

    for (size_t a = 0; s->context.axis && a < s->nmesh; a++)
        if (!strcmp(s->mesh[a].name, s->context.axis))
            pieces = f->sizes[a] * (s->context.order == SCENARIO_ZIGZAG ? 2 : 1);
    if (s->model.positions > 0 && tokens > s->model.positions)
        tokens = s->model.positions;
    return (tokens + pieces - 1) / pieces * pieces;
}

/* The time of a step that takes a prompt of each group in beside the tokens of a batch.  It is one
 * step: all but attention is that of a prefill of all their tokens, whose products read the weights
 * once; prompts and decodes attend as in steps of their own. */
static int find_beside(struct finder *f, struct serving_layout *layout)
{
    struct serving_layout all;
    struct variant_ask ask = ask_of(f);
    enum variant_outcome outcome;
    int status;

    layout->prompt_s = -1;
    if (!f->takes_prompts)
        return SHD_OK;
    serving_ask_prompts(&ask, text_get(&f->mesh), groups_of(f), tokens_beside(f, layout->batch));
    status = plan_ask(&outcome, &all, f, &ask);
    if (status == SHD_OK && outcome != VARIANT_REFUSED)
        layout->prompt_s = fmax(layout->token_s, all.token_s - all.attention_s +
                                                     f->prompt.attention_s + layout->attention_s);
    return status;
}

/* A token's time, with a prompt beside some tokens for each sequence that ends; 0: prompts do not
 * fit. */
static double mean_of(const struct finder *f, const struct serving_layout *layout)
{
    double prompts = (double)layout->batch / (double)layout->groups;

    if (f->out->wants.use != SERVING_BOTH)
        return layout->token_s;
    if (layout->prompt_s < 0)
        return 0;
    return layout->token_s +
           prompts / (double)(f->out->wants.answer - 1) * (layout->prompt_s - layout->token_s);
}

static int keep(struct finder *f, struct serving_layout *layout)
{
    struct serving_search *s = f->out;

    layout->groups = groups_of(f);
    layout->mean_s = mean_of(f, layout);
    layout->within = s->wants.use == SERVING_PREFILL
                         ? is_soon(&s->wants, layout->token_s)
                         : layout->mean_s > 0 && is_soon(&s->wants, layout->prompt_s) &&
                               (s->wants.tpot_s <= 0 || layout->mean_s <= s->wants.tpot_s);
    layout->mesh = strdup(text_get(&f->mesh));
    if (!layout->mesh || !array_make_room(&s->layouts, s->nlayouts, sizeof *s->layouts)) {
        free(layout->mesh);
        return shd_error_set(f->err, SHD_ENOMEM, "no memory for layouts");
    }
    s->layouts[s->nlayouts++] = *layout;
    s->nwithin += layout->within;
    return SHD_OK;
}

/* Plan a prompt of each group, if its time is limited or it is taken in beside tokens. */
static int find_prompt(struct finder *f, int64_t groups)
{
    enum variant_outcome outcome;
    int status;

    f->takes_prompts = false;
    if (f->out->wants.use == SERVING_PREFILL ||
        (f->out->wants.ttft_s <= 0 && f->out->wants.use != SERVING_BOTH))
        return SHD_OK;
    status = plan(&outcome, &f->prompt, f, groups, true);
    f->takes_prompts = status == SHD_OK && outcome == VARIANT_FITS;
    return status;
}

/* Plan and keep a batch; *within: it fits, and keeps to the times. */
static int plan_batch(enum variant_outcome *outcome, bool *within, struct finder *f, int64_t batch)
{
    struct serving_layout layout;
    int status = plan(outcome, &layout, f, batch, f->out->wants.use == SERVING_PREFILL);

    *within = false;
    if (*outcome != VARIANT_FITS || status != SHD_OK)
        return status;
    status = find_beside(f, &layout);
    if (status == SHD_OK)
        status = keep(f, &layout);
    *within = status == SHD_OK && f->out->layouts[f->out->nlayouts - 1].within;
    return status;
}

static bool is_stopped(const struct finder *f)
{
    return f->out->wants.stop && __atomic_load_n(f->out->wants.stop, __ATOMIC_RELAXED);
}

/* Between a batch that is within the limits and one that is not, halve to a sixteenth. */
static int refine(struct finder *f, struct largest *l, int64_t groups)
{
    int status = SHD_OK;

    l->tries = HALVINGS;
    for (int64_t n; status == SHD_OK && !is_stopped(f) && (n = largest_next(l)) > 0;) {
        enum variant_outcome outcome;
        bool within;

        status = plan_batch(&outcome, &within, f, n * groups);
        largest_tell(l, n, within ? 0 : 1);
    }
    return status;
}

/* Prompts that are taken in together make a prefill no faster once they fill the devices. */
static bool is_full(struct finder *f, int64_t groups, int64_t batch)
{
    double before = f->rate;

    f->rate = f->out->nlayouts > 0 ? f->out->layouts[f->out->nlayouts - 1].tokens_per_s : 0;
    return f->out->wants.use == SERVING_PREFILL && batch > groups && f->rate < (1 + GAIN) * before;
}

/* The mesh is refused with its smallest batch. */
static void refuse_mesh(struct finder *f, const char *why)
{
    f->out->nrefused++;
    refusals_add(&f->out->refusals, 1, why);
}

/* Refuse the mesh if the system that is searched for cannot express it, judged by a sequence per
 * group. */
static int check_system(struct finder *f, int64_t groups)
{
    const struct subject_filter *filter = f->out->wants.filter;
    struct variant_ask ask = ask_of(f);
    struct shd_error why;
    struct variant v;
    int status;

    if (!filter || !filter->system)
        return SHD_OK;
    ask.extent = VARIANT_LAID;
    serving_ask(&ask, text_get(&f->mesh), groups, f->out->wants.use == SERVING_PREFILL);
    status = variant_init(&v, &ask, f->err);
    if (status != SHD_OK)
        return status;
    if (v.status == SHD_OK) /* else planning says why not */
        status = filter->check(filter->arg, &v.trial, &why);
    variant_fini(&v);
    if (status == SHD_ENOMEM)
        return shd_error_set(f->err, SHD_ENOMEM, "no memory to check layouts");
    if (status != SHD_OK) {
        f->out->nunsaid++;
        refuse_mesh(f, why.text);
    }
    return SHD_OK;
}

/* Double the batch for as long as it fits; then look where the limits are reached. */
static int plan_mesh(struct finder *f)
{
    int64_t groups = groups_of(f), batch = groups;
    struct largest l = {.most = 0};
    enum variant_outcome outcome = VARIANT_FITS;
    int status = print_mesh(f);

    f->out->nmeshes++;
    if (status == SHD_OK)
        status = check_system(f, groups);
    if (f->out->nunsaid > 0 || status != SHD_OK)
        return status;
    status = find_prompt(f, groups);
    for (; batch <= BATCH_MAX && outcome == VARIANT_FITS && status == SHD_OK; batch *= 2) {
        bool within;

        if (is_stopped(f))
            return SHD_OK;
        status = plan_batch(&outcome, &within, f, batch);
        if (status == SHD_OK && outcome == VARIANT_REFUSED && batch == groups)
            refuse_mesh(f, f->why);
        largest_tell(&l, batch / groups, within ? 0 : 1);
        if (is_full(f, groups, batch))
            break;
    }
    f->out->nlarge += batch > BATCH_MAX && outcome == VARIANT_FITS && status == SHD_OK;
    return f->out->wants.use != SERVING_PREFILL && l.fits > 0 && status == SHD_OK
               ? refine(f, &l, groups)
               : status;
}

/* ---- all meshes ---- */

struct meshes {
    int64_t (*sizes)[SHD_MESH_AXES_MAX];
    size_t n, naxes;
};

/* List every way to make `devices` of the axes from `axis` on, after those in `sizes`. */
static bool list_meshes(struct meshes *out, int64_t sizes[SHD_MESH_AXES_MAX], size_t axis,
                        int64_t devices)
{
    bool good = true;

    if (axis + 1 == out->naxes) {
        sizes[axis] = devices;
        good = array_make_room(&out->sizes, out->n, sizeof *out->sizes);
        if (good)
            memcpy(out->sizes[out->n++], sizes, sizeof *out->sizes);
        return good;
    }
    for (int64_t size = 1; size <= devices && good; size++) {
        if (devices % size != 0)
            continue;
        sizes[axis] = size;
        good = list_meshes(out, sizes, axis + 1, devices / size);
    }
    return good;
}

/* Take over what was found on a mesh, which is then empty. */
static int join(struct serving_search *out, struct serving_search *mesh)
{
    for (size_t i = 0; i < mesh->nlayouts; i++) {
        if (!array_make_room(&out->layouts, out->nlayouts, sizeof *out->layouts))
            return SHD_ENOMEM;
        out->layouts[out->nlayouts++] = mesh->layouts[i];
        mesh->layouts[i].mesh = NULL;
    }
    out->nwithin += mesh->nwithin;
    out->nmeshes += mesh->nmeshes;
    out->nrefused += mesh->nrefused;
    out->nunsaid += mesh->nunsaid;
    out->nlarge += mesh->nlarge;
    out->nplans += mesh->nplans;
    refusals_join(&out->refusals, &mesh->refusals);
    return SHD_OK;
}

/* Search on each mesh, and keep what was found in the order of the meshes. */
static int plan_meshes(struct serving_search *out, const struct meshes *meshes,
                       const struct text *text, struct shd_error *err)
{
    struct serving_search *found = calloc(meshes->n, sizeof *found);
    struct shd_error *errors = calloc(meshes->n, sizeof *errors);
    int status = found && errors ? SHD_OK : SHD_ENOMEM;
    size_t nplanned = 0;

#pragma omp parallel for schedule(dynamic, 1) num_threads(out->wants.nthreads)
    for (size_t i = 0; i < (status == SHD_OK ? meshes->n : 0); i++) {
        struct finder f = {.out = &found[i],
                           .text = text,
                           .nplanned = &nplanned,
                           .err = &errors[i],
                           .sizes = meshes->sizes[i],
                           .mesh = TEXT_INIT};

        found[i] = (struct serving_search){.trial = out->trial, .wants = out->wants};
        errors[i].status = SHD_OK;
        if (!is_stopped(&f) && plan_mesh(&f) != SHD_OK && errors[i].status == SHD_OK)
            errors[i].status = SHD_ENOMEM;
        text_fini(&f.mesh);
    }
    for (size_t i = 0; found && errors && i < meshes->n; i++) {
        if (status == SHD_OK && errors[i].status != SHD_OK) {
            *err = errors[i];
            status = errors[i].status;
        }
        if (status == SHD_OK && join(out, &found[i]) != SHD_OK)
            status = shd_error_set(err, SHD_ENOMEM, "no memory for layouts");
        serving_search_fini(&found[i]);
    }
    if (!found || !errors)
        shd_error_set(err, SHD_ENOMEM, "no memory for meshes");
    free(found);
    free(errors);
    return status;
}

/* ---- the best ---- */

/* Those within the limits first, by tokens a second, and of equal ones that with the shorter token;
 * meshes are told apart by their names. */
static int by_rate(const void *left, const void *right)
{
    const struct serving_layout *a = left, *b = right;

    if (a->within != b->within)
        return a->within ? -1 : 1;
    if (a->tokens_per_s < b->tokens_per_s || a->tokens_per_s > b->tokens_per_s)
        return a->tokens_per_s > b->tokens_per_s ? -1 : 1;
    if (a->token_s < b->token_s || a->token_s > b->token_s)
        return a->token_s < b->token_s ? -1 : 1;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return strcmp(a->mesh, b->mesh);
}

/* From the most tokens a second on, each one whose token takes less than all before. */
static void mark_frontier(struct serving_search *s)
{
    double least = 0;

    for (size_t i = 0; i < s->nwithin; i++) {
        struct serving_layout *layout = &s->layouts[i];

        layout->best_of_user = i == 0 || layout->token_s < least;
        if (layout->best_of_user)
            least = layout->token_s;
    }
}

int serving_search_run(struct serving_search *out, const struct trial *trial,
                       const struct serving_wants *wants, struct shd_error *err)
{
    struct meshes meshes = {.naxes = trial->scenario->nmesh};
    int64_t sizes[SHD_MESH_AXES_MAX] = {0};
    struct text text = TEXT_INIT;
    int64_t devices = wants->devices > 0 ? wants->devices : shd_mesh_size(trial->mesh);
    int status;

    *out = (struct serving_search){.trial = trial, .wants = *wants, .batch_max = BATCH_MAX};
    if (!trial->scenario->step.decode)
        return shd_error_set(err, SHD_EINVAL,
                             "--serve searches decode steps; expected step: [decode]");
    if (!trial->hardware)
        return shd_error_set(
            err, SHD_EINVAL,
            "the time per token needs a cluster; expected hardware, e.g. -s hardware=h100");
    if (trial->scenario->nmesh == 0)
        return shd_error_set(err, SHD_EINVAL,
                             "a mesh without axes has only one layout; expected axes");
    scenario_print(trial->scenario, &text);
    status = text.failed || !list_meshes(&meshes, sizes, 0, devices)
                 ? shd_error_set(err, SHD_ENOMEM, "no memory to plan layouts")
                 : plan_meshes(out, &meshes, &text, err);
    free(meshes.sizes);
    text_fini(&text);
    out->over = !wants->stop || !*wants->stop;
    if (status != SHD_OK)
        return status;
    if (out->nlayouts > 0)
        qsort(out->layouts, out->nlayouts, sizeof *out->layouts, by_rate);
    mark_frontier(out);
    return SHD_OK;
}

void serving_search_fini(struct serving_search *search)
{
    for (size_t i = 0; i < search->nlayouts; i++)
        free(search->layouts[i].mesh);
    free(search->layouts);
}
