/* Assigning layers to pipeline stages (pipeline.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>

#include "graph/layer_name.h"
#include "graph/stages.h"
#include "model/mtp.h"
#include "model/weigh.h"
#include "timetable/walk.h"

/* ---- timetables ---- */

struct pipeline pipeline_of(const struct scenario *scenario)
{
    const struct scenario_pipeline *p = &scenario->pipeline;
    struct pipeline out = {.schedule = p->schedule,
                           .nranks = 1,
                           .stages_per_rank = p->stages_per_rank,
                           .nmicrobatches = (uint32_t)scenario->batch.microbatches,
                           .layers = p->nlayers ? p->layers : NULL,
                           .nlayers = p->nlayers,
                           .weighed = p->weighed,
                           .places = p->places,
                           .nplaces = p->nplaces};

    for (size_t a = 0; a < scenario->nmesh && p->axis; a++)
        if (!strcmp(scenario->mesh[a].name, p->axis))
            out.nranks = (uint32_t)scenario->mesh[a].size;
    return out;
}

static int find_sizes(struct timetable_sizes *out, const struct timetable_schedule **schedule,
                      const struct pipeline *pipeline, struct shd_error *err)
{
    int status = timetable_find(schedule, pipeline->schedule, err);

    if (status == SHD_OK)
        *out = (struct timetable_sizes){
            pipeline->nranks,
            pipeline->stages_per_rank ? (uint32_t)pipeline->stages_per_rank
                                      : (*schedule)->stages_per_rank,
            pipeline->nmicrobatches};
    return status;
}

static int count_stages(uint32_t *out, const struct pipeline *pipeline, struct shd_error *err)
{
    const struct timetable_schedule *schedule;
    struct timetable_sizes sizes;
    int status = find_sizes(&sizes, &schedule, pipeline, err);

    if (status != SHD_OK)
        return status;
    if (__builtin_mul_overflow(sizes.nranks, sizes.stages_per_rank, out))
        return shd_error_set(err, SHD_ERANGE, "%u ranks of %u stages are too many",
                             (unsigned)sizes.nranks, (unsigned)sizes.stages_per_rank);
    return SHD_OK;
}

int pipeline_timetable(struct timetable **out, const struct pipeline *pipeline,
                       struct shd_error *err)
{
    const struct timetable_times unit = TIMETABLE_TIMES_UNIT;
    const struct timetable_schedule *schedule;
    struct timetable *timetable = NULL;
    struct timetable_sizes sizes;
    struct timetable_walk walk;
    int status = find_sizes(&sizes, &schedule, pipeline, err);

    if (status == SHD_OK)
        status = timetable_build(&timetable, schedule, &sizes, err);
    if (status != SHD_OK)
        return status;
    status = timetable_walk(&walk, timetable, &unit, err);
    if (status == SHD_OK) {
        timetable_walk_fini(&walk);
        *out = timetable;
    } else {
        timetable_destroy(timetable);
    }
    return status;
}

/* ---- layers ---- */

struct staging {
    const struct pipeline *pipeline;
    uint32_t nstages;
    struct shd_regex **patterns; /* by place: its pattern, and ... */
    bool *found;                 /* ... whether it matched */
    struct graph_layer *layers; /* found so far, in model order */
    uint32_t nlayers;
    uint32_t nasked; /* number of layers queried so far */
    const int64_t *counts; /* layers of each stage; NULL: as even as possible */
    int64_t *weighed;      /* owned storage of `counts`, if computed here */
};

static bool same_layer(const struct graph_layer *a, const struct graph_layer *b)
{
    return a->number == b->number && a->stack_length == b->stack_length &&
           strncmp(a->stack, b->stack, a->stack_length) == 0;
}

/* The index of a name's layer; GRAPH_NONE if the name belongs to no layer, or to one not found
 * yet. */
static uint32_t find_layer(const struct staging *s, const char *name)
{
    struct graph_layer layer = graph_layer_of(name);
    uint32_t i = s->nlayers;

    while (i > 0 && !same_layer(&s->layers[i - 1], &layer))
        i--;
    return i == 0 ? GRAPH_NONE : i - 1;
}

/* Whether a name is of a module that predicts further tokens. */
static bool is_module(const char *name)
{
    return !strncmp(name, MTP_LAYERS, strlen(MTP_LAYERS));
}

static void find_layers(struct staging *s, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const char *name = graph->nodes[i].name;
        struct graph_layer layer = graph_layer_of(name);

        if (layer.number == GRAPH_NO_LAYER || graph->nodes[i].op <= GRAPH_PARAM ||
            is_module(name) || find_layer(s, name) != GRAPH_NONE)
            continue;
        s->layers[s->nlayers++] = layer;
    }
}

/* The stage of a layer, from the number of layers in each stage. */
static uint32_t stage_by_counts(const struct staging *s, uint32_t layer)
{
    int64_t end = 0;
    uint32_t stage = 0;

    while (stage + 1 < s->nstages && layer >= (end += s->counts[stage]))
        stage++;
    return stage;
}

static uint32_t stage_of_layer(const struct staging *s, uint32_t layer)
{
    if (s->counts)
        return stage_by_counts(s, layer);
    return (uint32_t)((uint64_t)layer * s->nstages / s->nlayers);
}

/* The stage of a value outside all layers: a first or last stage without layers gets the values
 * before the first layer or after the last one. -1: no such stage. */
static int64_t stage_of_end(const struct staging *s)
{
    const int64_t *counts = s->counts;

    if (counts && s->nasked == 0 && counts[0] == 0)
        return 0;
    if (counts && s->nasked == s->nlayers && counts[s->nstages - 1] == 0)
        return (int64_t)s->nstages - 1;
    return -1;
}

/* The stage of a module for further tokens: that of the values after the last layer. */
static int64_t stage_of_modules(const struct staging *s)
{
    int64_t end = stage_of_end(s);

    return end >= 0 || s->nlayers == 0 ? end : (int64_t)stage_of_layer(s, s->nlayers - 1);
}

/* A graph_stage_fn.  The graph queries values in model order. */
static int64_t asked_stage(void *arg, const char *name)
{
    struct staging *s = arg;
    uint32_t layer = find_layer(s, name);

    for (size_t i = 0; i < s->pipeline->nplaces; i++) {
        struct shd_regex_match match;

        if (shd_regex_search(&match, s->patterns[i], name, NULL) != SHD_OK || !match.found)
            continue;
        s->found[i] = true;
        return s->pipeline->places[i].stage;
    }
    if (is_module(name))
        return stage_of_modules(s);
    if (layer == GRAPH_NONE)
        return stage_of_end(s);
    s->nasked = layer >= s->nasked ? layer + 1 : s->nasked;
    return (int64_t)stage_of_layer(s, layer);
}

static bool compile_places(struct staging *s, struct graph *graph)
{
    for (size_t i = 0; i < s->pipeline->nplaces; i++) {
        const struct scenario_stage_place *place = &s->pipeline->places[i];
        struct shd_error err;
        int status = shd_regex_compile(&s->patterns[i], place->pattern, &err);

        if (status == SHD_OK && place->stage < (int64_t)s->nstages)
            continue;
        if (status != SHD_OK)
            graph_fail(graph, status, "%s", err.text);
        else
            graph_fail(graph, SHD_ERANGE,
                       "'%.60s' is placed in stage %lld of %u stages, numbered from 0",
                       place->pattern, (long long)place->stage, s->nstages);
        return false;
    }
    return true;
}

static bool check_counts(const struct staging *s, struct graph *graph)
{
    int64_t sum = 0;

    for (size_t i = 0; i < s->pipeline->nlayers; i++)
        sum += s->pipeline->layers[i];
    if (s->pipeline->layers && (s->pipeline->nlayers != s->nstages || sum != s->nlayers))
        graph_fail(graph, SHD_EINVAL,
                   "pipeline.layers has %zu stages with %lld layers in total; expected %u stages "
                   "and %u layers",
                   s->pipeline->nlayers, (long long)sum, s->nstages, s->nlayers);
    else if (!s->pipeline->layers && !s->pipeline->weighed && s->pipeline->nplaces == 0 &&
             s->nlayers < s->nstages)
        graph_fail(graph, SHD_EINVAL, "%u layers do not fill %u stages%s", s->nlayers, s->nstages,
                   s->nlayers ? "" : "; pipeline.place assigns arrays to stages by name");
    return graph->err.status == SHD_OK;
}

static void check_found(const struct staging *s, struct graph *graph)
{
    for (size_t i = 0; i < s->pipeline->nplaces && graph->err.status == SHD_OK; i++)
        if (!s->found[i])
            graph_fail(graph, SHD_EINVAL,
                       "'%.60s' places nothing: no unplaced array of the model matches",
                       s->pipeline->places[i].pattern);
}

/* ---- weighed layers ---- */

struct units {
    double *work;     /* before the layers, each layer, behind the layers */
    bool front, back; /* whether there are values before and behind the layers */
};

/* Sum up the work of each unit.  Values outside of layers belong to the layers before them, until
 * the last layer is complete. */
static void add_work(struct units *units, const struct staging *s, const struct graph *graph)
{
    uint32_t nseen = 0;

    for (uint32_t i = 0; i < graph->nnodes; i++) {
        uint32_t layer = find_layer(s, graph->nodes[i].name);
        uint32_t unit = layer != GRAPH_NONE ? layer + 1 : nseen == s->nlayers ? nseen + 1 : nseen;
        bool again = s->pipeline->again && s->pipeline->again[i];

        if (graph->nodes[i].op <= GRAPH_PARAM)
            continue;
        nseen = layer != GRAPH_NONE && layer >= nseen ? layer + 1 : nseen;
        units->front |= unit == 0;
        units->back |= unit > s->nlayers;
        units->work[unit] += (again ? 4 : 3) * weigh_value(graph, i, s->pipeline->hardware);
    }
}

/* Split the units, of which those at the ends may be alone in a stage if they have values. */
static void split_units(struct staging *s, struct graph *graph, struct units *units, uint32_t *room)
{
    uint32_t *counts = room, *need = room + s->nstages;
    uint32_t first = units->front ? 0 : 1, nunits = s->nlayers + (units->back ? 2 : 1) - first;

    if (nunits < s->nstages) {
        graph_fail(graph, SHD_EINVAL, "%u layers, with embedding and head, do not fill %u stages",
                   s->nlayers, s->nstages);
        return;
    }
    weigh_split(counts, s->nstages, units->work + first, nunits, need);
    for (uint32_t stage = 0; stage < s->nstages; stage++)
        s->weighed[stage] = counts[stage];
    s->weighed[0] -= units->front;
    s->weighed[s->nstages - 1] -= units->back;
    s->counts = s->weighed;
}

static void weigh(struct staging *s, struct graph *graph)
{
    struct units units = {.work = calloc((size_t)s->nlayers + 2, sizeof *units.work)};
    uint32_t *room = calloc((size_t)s->nstages + s->nlayers + 3, sizeof *room);

    s->weighed = calloc(s->nstages, sizeof *s->weighed);
    if (units.work && room && s->weighed) {
        add_work(&units, s, graph);
        split_units(s, graph, &units, room);
    } else {
        graph_fail(graph, SHD_ENOMEM, "no memory to weigh %u layers", s->nlayers);
    }
    free(units.work);
    free(room);
}

static void set_stages(struct staging *s, struct graph *graph)
{
    find_layers(s, graph);
    if (!compile_places(s, graph) || !check_counts(s, graph))
        return;
    if (s->pipeline->weighed)
        weigh(s, graph);
    if (graph->err.status != SHD_OK)
        return;
    graph_set_stages(graph, s->nstages, asked_stage, s);
    check_found(s, graph);
}

void pipeline_set_stages(struct graph *graph, const struct pipeline *pipeline)
{
    struct staging s = {.pipeline = pipeline, .counts = pipeline->layers};
    struct shd_error err;

    if (graph->err.status != SHD_OK)
        return;
    if (count_stages(&s.nstages, pipeline, &err) != SHD_OK) {
        graph_fail(graph, err.status, "%s", err.text);
        return;
    }
    s.layers = calloc((size_t)graph->nnodes + 1, sizeof *s.layers);
    s.patterns = calloc(pipeline->nplaces + 1, sizeof *s.patterns);
    s.found = calloc(pipeline->nplaces + 1, sizeof *s.found);
    if (s.layers && s.patterns && s.found)
        set_stages(&s, graph);
    else
        graph_fail(graph, SHD_ENOMEM, "no memory for the stages of %u nodes", graph->nnodes);
    for (size_t i = 0; s.patterns && i < pipeline->nplaces; i++)
        shd_regex_destroy(s.patterns[i]);
    free(s.weighed);
    free(s.found);
    free(s.patterns);
    free(s.layers);
}
