/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/tensors.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>

#include "report/modelled.h"

#define BATCH 256 /* ways planned at once, whatever the number of threads */

static const char *const textbook_names[TENSORS_NTEXTBOOK] = {"data", "fsdp", "tensor",
                                                              "data x tensor"};

const char *tensors_textbook_name(enum tensors_textbook which)
{
    return textbook_names[which];
}

/* ---- specs ---- */

static int64_t nshards_of(const struct tensors *t, const struct tensors_spec *spec)
{
    int64_t n = 1;

    for (uint32_t a = 0; a < t->naxes; a++)
        n *= spec->dim[a] ? t->sizes[a] : 1;
    return n;
}

static bool divides(const struct tensors *t, const struct tensors_kind *kind,
                    const struct tensors_spec *spec)
{
    int64_t left[GRAPH_RANK_MAX];

    memcpy(left, kind->shape, sizeof left);
    for (uint32_t a = 0; a < t->naxes; a++) {
        if (spec->dim[a] == 0)
            continue;
        if (spec->dim[a] > kind->rank || left[spec->dim[a] - 1] % t->sizes[a])
            return false;
        left[spec->dim[a] - 1] /= t->sizes[a];
    }
    return true;
}

/* Every spec of a kind that divides. */
static bool list_specs(struct tensors *t, struct tensors_kind *kind)
{
    size_t most = 1;
    int64_t nshards = 1;

    for (uint32_t a = 0; a < t->naxes; a++)
        most *= kind->rank + 1;
    kind->specs = malloc(most * sizeof *kind->specs);
    if (!kind->specs)
        return false;
    for (size_t i = 0; i < most; i++) {
        struct tensors_spec spec = {{0}};
        size_t rest = i;

        for (uint32_t a = 0; a < t->naxes; a++, rest /= kind->rank + 1)
            spec.dim[a] = (uint8_t)(rest % (kind->rank + 1));
        if (!divides(t, kind, &spec))
            continue;
        kind->specs[kind->nspecs++] = spec;
        if (nshards_of(t, &spec) > nshards)
            nshards = nshards_of(t, &spec);
    }
    kind->least_bytes = kind->bytes / (double)nshards;
    return true;
}

static void print_axes(struct text *out, const struct tensors *t, uint32_t axes)
{
    bool several = (axes & (axes - 1)) != 0, any = false;

    text_add(out, several ? "[" : axes ? "" : "null");
    for (uint32_t a = 0; a < t->naxes; a++)
        if (axes >> a & 1) {
            text_addf(out, "%s%s", any ? ", " : "", t->axes[a]);
            any = true;
        }
    text_add(out, several ? "]" : "");
}

void tensors_print_spec(struct text *out, const struct tensors *t, const struct tensors_way *way,
                        size_t kind)
{
    const struct tensors_kind *k = &t->kinds[kind];

    if (k->held) {
        text_add(out, k->held);
        return;
    }
    text_add_char(out, '[');
    for (uint32_t d = 1; d <= k->rank; d++) {
        uint32_t axes = 0;

        for (uint32_t a = 0; a < t->naxes; a++)
            axes |= way->specs[kind].dim[a] == d ? 1u << a : 0;
        text_add(out, d > 1 ? ", " : "");
        print_axes(out, t, axes);
    }
    text_add_char(out, ']');
}

void tensors_print_batch(struct text *out, const struct tensors *t, const struct tensors_way *way)
{
    print_axes(out, t, way->batch);
}

/* ---- kinds ---- */

/* The scenario's spec of a tensor, with axes in any order. */
static char *held_spec(const struct shd_sharding *s)
{
    struct text text = TEXT_INIT;

    text_add_char(&text, '[');
    for (uint32_t d = 0; d < s->rank; d++) {
        text_addf(&text, "%s%s", d > 0 ? ", " : "", s->dims[d].naxes ? "[" : "null");
        for (uint8_t i = 0; i < s->dims[d].naxes; i++)
            text_addf(&text, "%s%s", i > 0 ? ", " : "",
                      shd_mesh_axis_name(s->mesh, s->dims[d].axes[i]));
        text_add(&text, s->dims[d].naxes ? "]" : "");
    }
    text_add_char(&text, ']');
    return text_take(&text);
}

/* A tensor's name or, with `any_layer`, the common name of all layers: for people, or as a
 * `pattern`. */
static char *name_of(const char *name, bool any_layer, bool pattern)
{
    struct text text = TEXT_INIT;

    text_add(&text, pattern ? "^" : "");
    for (const char *c = name; *c;) {
        size_t digits = strspn(c, "0123456789");
        bool part = (c == name || c[-1] == '/') && (c[digits] == '/' || !c[digits]);

        if (any_layer && digits > 0 && part) {
            text_add(&text, pattern ? "[0-9]+" : "*");
            c += digits;
            continue;
        }
        if (pattern && !isalnum((unsigned char)*c) && !strchr("_/", *c))
            text_add_char(&text, '\\');
        text_add_char(&text, *c++);
    }
    text_add(&text, pattern ? "$" : "");
    return text_take(&text);
}

static struct tensors_kind *find_kind(struct tensors *t, const char *pattern)
{
    for (size_t k = 0; k < t->nkinds; k++)
        if (!strcmp(t->kinds[k].pattern, pattern))
            return &t->kinds[k];
    return NULL;
}

static double bytes_of(const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    double dtype = fmin((double)shd_dtype_size(n->dtype), (double)shd_dtype_size(n->stored));
    int64_t shape[GRAPH_RANK_MAX];

    graph_shape(graph, node, shape);
    for (uint32_t d = 0; d < n->rank; d++)
        dtype *= (double)shape[d];
    return dtype;
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory to search tensors");
}

/* Add a kind that has only this tensor so far; takes `pattern`. */
static int add_kind(struct tensors *t, const struct trial *trial, uint32_t node, bool searched,
                    char *pattern, struct shd_error *err)
{
    const struct graph_node *n = &trial->graph->nodes[node];
    struct tensors_kind *kind = &t->kinds[t->nkinds];

    if (t->nkinds == TENSORS_KINDS_MAX) {
        free(pattern);
        return shd_error_set(err, SHD_EINVAL,
                             "more than %d kinds of parameters, including those that the pattern "
                             "does not match; expected fewer layers (model.layers)",
                             TENSORS_KINDS_MAX);
    }
    *kind = (struct tensors_kind){.pattern = pattern, .rank = n->rank, .count = 1};
    t->nkinds++;
    kind->bytes = bytes_of(trial->graph, node);
    graph_shape(trial->graph, node, kind->shape);
    kind->name = name_of(n->name, searched, false);
    if (searched)
        return kind->name ? SHD_OK : no_memory(err);
    kind->held = held_spec(trial->shardings.nodes[node]);
    kind->specs = calloc(1, sizeof *kind->specs);
    kind->nspecs = 1;
    kind->least_bytes = kind->bytes / (double)shd_mesh_size(trial->mesh);
    return kind->name && kind->held && kind->specs ? SHD_OK : no_memory(err);
}

static int add_tensor(struct tensors *t, const struct trial *trial, uint32_t node,
                      const struct shd_regex *regex, struct shd_error *err)
{
    const char *name = trial->graph->nodes[node].name;
    struct shd_regex_match match = {.found = true};
    struct tensors_kind *kind;
    char *pattern;

    if (regex) {
        int status = shd_regex_search(&match, regex, name, err);

        if (status != SHD_OK)
            return status;
    }
    pattern = name_of(name, match.found, true);
    if (!pattern)
        return no_memory(err);
    kind = find_kind(t, pattern);
    if (!kind)
        return add_kind(t, trial, node, match.found, pattern, err);
    free(pattern);
    kind->bytes += bytes_of(trial->graph, node);
    kind->count++;
    return SHD_OK;
}

/* Whether a pattern is found in the name of any parameter. */
static int find_any(bool *found, const struct trial *trial, const struct shd_regex *regex,
                    struct shd_error *err)
{
    int status = SHD_OK;

    *found = false;
    for (uint32_t node = 0; node < trial->graph->nnodes && status == SHD_OK && !*found; node++) {
        struct shd_regex_match match = {.found = false};

        if (trial->graph->nodes[node].op == GRAPH_PARAM)
            status = shd_regex_search(&match, regex, trial->graph->nodes[node].name, err);
        *found = status == SHD_OK && match.found;
    }
    return status;
}

static int add_tensors(struct tensors *t, const struct trial *trial, const char *pattern,
                       struct shd_error *err)
{
    struct shd_regex *regex = NULL;
    int status = pattern ? shd_regex_compile(&regex, pattern, err) : SHD_OK;
    bool any = true;

    if (status == SHD_OK && pattern)
        status = find_any(&any, trial, regex, err);
    if (!any)
        status = shd_error_set(err, SHD_EINVAL,
                               "no parameter's name matches '%.100s'; 'shardsim show names' lists "
                               "them",
                               pattern);
    for (uint32_t node = 0; node < trial->graph->nnodes && status == SHD_OK; node++)
        if (trial->graph->nodes[node].op == GRAPH_PARAM)
            status = add_tensor(t, trial, node, regex, err);
    shd_regex_destroy(regex);
    for (size_t k = 0; k < t->nkinds && status == SHD_OK; k++)
        if (!t->kinds[k].held && !list_specs(t, &t->kinds[k]))
            status = no_memory(err);
    return status;
}

static int add_axes(struct tensors *t, const struct shd_mesh *mesh, struct shd_error *err)
{
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        if (shd_mesh_axis_size(mesh, a) == 1)
            continue;
        if (t->naxes == TENSORS_AXES_MAX)
            return shd_error_set(err, SHD_EINVAL, "more than %d axes of several devices",
                                 TENSORS_AXES_MAX);
        t->axes[t->naxes] = shd_mesh_axis_name(mesh, a);
        t->sizes[t->naxes++] = shd_mesh_axis_size(mesh, a);
    }
    return SHD_OK;
}

static int count_ways(struct tensors *t, struct shd_error *err)
{
    double n = (double)(1u << t->naxes);

    for (size_t k = 0; k < t->nkinds; k++)
        n *= (double)t->kinds[k].nspecs;
    if (n > TENSORS_WAYS_MAX)
        return shd_error_set(err, SHD_EINVAL,
                             "%.3g ways to shard these tensors; expected at most %d: select fewer "
                             "tensors with --tensors=PATTERN",
                             n, TENSORS_WAYS_MAX);
    t->nways = (uint64_t)n;
    return SHD_OK;
}

/* ---- one way ---- */

/* The variant of a way, made up to `extent`. */
static int make_way(struct variant *out, const struct tensors *t, const struct tensors_way *way,
                    enum variant_extent extent, struct shd_error *err)
{
    struct variant_ask ask = {.name = "<way>", .text = &t->base, .extent = extent};
    struct text *set;

    text_add(variant_set(&ask), "rules=params");
    text_add(set = variant_set(&ask), "params=[");
    for (size_t k = 0; k < t->nkinds; k++) {
        text_addf(set, "%s['%s', ", k > 0 ? ", " : "", t->kinds[k].pattern);
        tensors_print_spec(set, t, way, k);
        text_add_char(set, ']');
    }
    text_add_char(set, ']');
    text_add(set = variant_set(&ask), "axes={batch: ");
    print_axes(set, t, way->batch);
    text_add_char(set, '}');
    if (t->memory_bytes > 0)
        text_addf(variant_set(&ask), "limits.memory=%" PRIu64, t->memory_bytes);
    return variant_init(out, &ask, err);
}

/* Plan a way; one that is refused has no step. */
static int plan_way(struct tensors_plan *plan, const struct tensors *t, struct shd_error *err)
{
    struct modelled_figures figures;
    struct variant v;
    int status = make_way(&v, t, &plan->way, VARIANT_PLANNED, err);

    plan->state = status == SHD_OK ? v.outcome : VARIANT_REFUSED;
    if (status != SHD_OK)
        return status;
    if (v.outcome != VARIANT_REFUSED) {
        modelled_figures_of(&figures, v.trial.record, 0);
        plan->step_s = figures.step_s;
        plan->peak_bytes = program_peak_bytes(v.trial.program);
    } else {
        snprintf(plan->why, sizeof plan->why, "%s", diag_first(&v.errors, ""));
    }
    variant_fini(&v);
    return SHD_OK;
}

int tensors_scenario(struct text *out, const struct tensors *t, const struct tensors_way *way,
                     struct shd_error *err)
{
    struct variant v;
    int status = make_way(&v, t, way, VARIANT_READ, err);

    if (status != SHD_OK)
        return status;
    if (v.file)
        scenario_print(&v.file->scenarios[0], out);
    else
        status =
            shd_error_set(err, v.status, "%s", diag_first(&v.errors, "the sharding is refused"));
    variant_fini(&v);
    return out->failed ? no_memory(err) : status;
}

/* ---- all ways ---- */

/* By step, then by memory, then by number. */
static bool is_better(const struct tensors_plan *a, const struct tensors_plan *b)
{
    if (a->step_s != b->step_s)
        return a->step_s < b->step_s;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes;
    return a->number < b->number;
}

static void note(struct tensors *t, const struct tensors_plan *plan)
{
    t->nplanned++;
    t->nfit += plan->state == VARIANT_FITS;
    t->ntoo_big += plan->state == VARIANT_TOO_BIG;
    if (plan->state == VARIANT_REFUSED)
        refusals_add(&t->refusals, 1, plan->why);
    if (plan->state != VARIANT_FITS || (t->found && !is_better(plan, &t->best)))
        return;
    t->best = *plan;
    t->found = true;
}

/* An enumeration of ways; `plans` wait to be planned. */
struct walk {
    struct tensors *t;
    const struct tensors_opts *opts;
    struct tensors_plan *plans; /* BATCH */
    size_t n;
    struct tensors_way way; /* kinds before the current kind are placed */
    uint64_t number;        /* of the next way */
    struct shd_error *err;
};

static int plan_waiting(struct walk *w)
{
    struct shd_error errors[BATCH];
    int status = SHD_OK;
    size_t n = w->n;

    w->n = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(w->opts->nthreads)
    for (size_t i = 0; i < n; i++) {
        errors[i] = (struct shd_error){.status = SHD_OK};
        if (plan_way(&w->plans[i], w->t, &errors[i]) != SHD_OK)
            w->plans[i].state = VARIANT_REFUSED;
    }
    for (size_t i = 0; i < n && status == SHD_OK; i++) {
        status = errors[i].status;
        if (status != SHD_OK)
            *w->err = errors[i];
        else
            note(w->t, &w->plans[i]);
    }
    if (w->opts->stop && __atomic_load_n(w->opts->stop, __ATOMIC_RELAXED))
        w->t->stopped = true;
    return status;
}

static int add_way(struct walk *w)
{
    for (uint32_t batch = 0; batch < 1u << w->t->naxes; batch++) {
        int status = w->n == BATCH ? plan_waiting(w) : SHD_OK;

        if (status != SHD_OK || w->t->stopped)
            return status;
        w->way.batch = batch;
        w->plans[w->n++] = (struct tensors_plan){.number = w->number++, .way = w->way};
    }
    return SHD_OK;
}

/* Place kinds from number `k` on; `bytes` is a lower bound on a device's bytes of the kinds
 * before. */
static int place_kinds(struct walk *w, size_t k, double bytes)
{
    const struct tensors *t = w->t;
    const struct tensors_kind *kind = &t->kinds[k];
    double later = 0;
    int status = SHD_OK;

    if (k == t->nkinds)
        return add_way(w);
    for (size_t i = k + 1; i < t->nkinds; i++)
        later += t->kinds[i].least_bytes;
    for (size_t s = 0; s < kind->nspecs && status == SHD_OK && !t->stopped; s++) {
        double own =
            kind->held ? kind->least_bytes : kind->bytes / (double)nshards_of(t, &kind->specs[s]);

        if (t->memory_bytes > 0 && bytes + own + later > (double)t->memory_bytes)
            continue;
        w->way.specs[k] = kind->specs[s];
        status = place_kinds(w, k + 1, bytes + own);
    }
    return status;
}

static int plan_all(struct tensors *t, const struct tensors_opts *opts, struct shd_error *err)
{
    struct walk walk = {.t = t, .opts = opts, .err = err};
    int status;

    walk.plans = malloc(BATCH * sizeof *walk.plans);
    if (!walk.plans)
        return no_memory(err);
    status = place_kinds(&walk, 0, 0);
    if (status == SHD_OK && !t->stopped)
        status = plan_waiting(&walk);
    free(walk.plans);
    return status;
}

/* ---- the textbook ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && !strcmp(name + n - m, end);
}

/* The dimension that Megatron-LM shards, from 1 on: columns of kernels into heads and the mlp, rows
 * of kernels out of them (arXiv 1909.08053); 0: none. */
static uint8_t megatron_dim(const struct tensors_kind *kind)
{
    static const char *const columns[] = {"q/kernel",  "k/kernel",    "v/kernel",
                                          "up/kernel", "gate/kernel", "head/kernel"};
    static const char *const rows[] = {"/o/kernel", "down/kernel", "embed/table"};

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (ends_with(kind->name, columns[i]) && kind->rank >= 2)
            return 2;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ends_with(kind->name, rows[i]))
            return 1;
    return 0;
}

/* Shard a dimension of a kind over some axes, unless the kind is held or the axes do not divide
 * it. */
static void cut(struct tensors_way *way, const struct tensors *t, size_t k, uint32_t axes,
                uint8_t dim)
{
    struct tensors_spec spec = {{0}};

    for (uint32_t a = 0; a < t->naxes; a++)
        spec.dim[a] = axes >> a & 1 ? dim : 0;
    if (!t->kinds[k].held && divides(t, &t->kinds[k], &spec))
        way->specs[k] = spec;
}

/* Shard the first dimension that all axes divide. */
static void cut_whole(struct tensors_way *way, const struct tensors *t, size_t k)
{
    uint32_t all = (1u << t->naxes) - 1;

    for (uint8_t d = (uint8_t)t->kinds[k].rank; d > 0; d--)
        cut(way, t, k, all, d);
}

static void make_textbook(struct tensors_way *way, const struct tensors *t,
                          enum tensors_textbook which)
{
    uint32_t all = (1u << t->naxes) - 1;

    *way = (struct tensors_way){.batch = which == TENSORS_TENSOR ? 0 : all};
    if (which == TENSORS_BOTH)
        way->batch = all & 1;
    for (size_t k = 0; k < t->nkinds; k++) {
        if (which == TENSORS_FSDP)
            cut_whole(way, t, k);
        else if (which != TENSORS_DATA && megatron_dim(&t->kinds[k]) > 0)
            cut(way, t, k, all & ~way->batch, megatron_dim(&t->kinds[k]));
    }
}

static int plan_textbook(struct tensors *t, struct shd_error *err)
{
    int status = SHD_OK;

    t->ntextbook = t->naxes > 1 ? TENSORS_NTEXTBOOK : TENSORS_BOTH;
    for (uint32_t i = 0; i < t->ntextbook && status == SHD_OK; i++) {
        make_textbook(&t->textbook[i].way, t, (enum tensors_textbook)i);
        status = plan_way(&t->textbook[i], t, err);
    }
    return status;
}

/* ---- all of it ---- */

/* Print the scenario without the settings of ways: settings are added to maps and do not replace
 * them. */
static int print_base(struct tensors *t, struct shd_error *err)
{
    struct scenario base = *t->scenario;

    base.zero.stage = 0;
    base.zero.axes.n = 0;
    base.zero.prefetch = 1;
    base.nconstraints = 0;
    base.nlogical = 0;
    scenario_print(&base, &t->base);
    return t->base.failed ? no_memory(err) : SHD_OK;
}

static int check(const struct trial *trial, struct shd_error *err)
{
    if (!trial->hardware)
        return shd_error_set(err, SHD_EINVAL,
                             "the scenario names no cluster; expected 'hardware: NAME' with a "
                             "NAME from 'shardsim show hardware'");
    if (trial->scenario->pipeline.axis || trial->scenario->context.axis)
        return shd_error_set(
            err, SHD_EINVAL,
            "--tensors does not support a pipeline or context parallelism; remove it");
    return SHD_OK;
}

static int set_up(struct tensors *t, const struct trial *trial, const struct tensors_opts *opts,
                  struct shd_error *err)
{
    int status = check(trial, err);

    t->scenario = trial->scenario;
    t->memory_bytes = opts->memory_bytes > 0 ? opts->memory_bytes : trial->memory_limit_bytes;
    if (status == SHD_OK)
        status = add_axes(t, trial->mesh, err);
    if (status == SHD_OK)
        status = add_tensors(t, trial, opts->pattern, err);
    if (status == SHD_OK)
        status = count_ways(t, err);
    if (status == SHD_OK)
        status = print_base(t, err);
    return status;
}

int tensors_run(struct tensors *out, const struct trial *trial, const struct tensors_opts *opts,
                struct shd_error *err)
{
    int status;

    *out = (struct tensors){.base = TEXT_INIT};
    status = set_up(out, trial, opts, err);
    if (status == SHD_OK)
        status = plan_textbook(out, err);
    if (status == SHD_OK)
        status = plan_all(out, opts, err);
    if (status != SHD_OK)
        tensors_fini(out);
    return status;
}

void tensors_fini(struct tensors *t)
{
    for (size_t k = 0; k < t->nkinds; k++) {
        free(t->kinds[k].name);
        free(t->kinds[k].pattern);
        free(t->kinds[k].held);
        free(t->kinds[k].specs);
    }
    text_fini(&t->base);
}
