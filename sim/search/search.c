/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "search/layout_bounds.h"
#include "search/search_work.h"
#include "search/undivided.h"

/* Layouts that are bounded together, with their pieces built together: a constant, because the
 * result must not depend on the number of threads. */
#define BOUND_BATCH 64

static bool stopped(const struct search_opts *opts)
{
    return opts->stop && __atomic_load_n(opts->stop, __ATOMIC_RELAXED);
}

static void tell(const struct search_opts *opts, const struct search_progress *progress)
{
    if (opts->progress)
        opts->progress(opts->arg, progress);
}

/* ---- bounds ---- */

static bool find_piece(struct search *s, struct search_item *item, enum search_level level)
{
    if (level <= SEARCH_SET)
        return search_find_of_set(s, item, level);
    if (level == SEARCH_ALIKE || level == SEARCH_REPLICAS) {
        item->replicas = level == SEARCH_ALIKE
                             ? pieces_find_alike(s->pieces, &item->layout)
                             : pieces_find(s->pieces, &item->layout, ATTEMPT_REPLICAS);
        return item->replicas != UINT32_MAX;
    }
    if (level == SEARCH_LAYERS)
        item->layers = pieces_find(s->pieces, &item->layout, ATTEMPT_LAYERS);
    return item->layers != UINT32_MAX || level == SEARCH_TIMED;
}

static int build_pieces(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    double begin = search_now_s();
    int status = pieces_build(s->pieces, opts->farm, opts->nthreads, opts->stop, err);

    s->pieces_s += search_now_s() - begin;
    s->npieces = pieces_count(s->pieces);
    return status;
}

static bool is_too_big(const struct search *s, const struct search_item *item)
{
    return item->bound_bytes > s->subject->hardware->memory_bytes;
}

/* Bound a layout at a level, with its pieces built.  SHD_ENOMEM. */
static int bound_layout(const struct search *s, struct search_item *item, enum search_level level,
                        struct shd_error *err)
{
    static const struct piece none;
    const struct piece *layers = pieces_get(s->pieces, item->layers);
    const struct piece *replicas =
        level < SEARCH_ALIKE ? &none : pieces_get(s->pieces, item->replicas);
    double seconds = 0, bytes = 0;
    int status = SHD_OK;

    item->level = (uint8_t)level;
    if (level == SEARCH_ALIKE && replicas->failed)
        replicas = &none;
    item->out = replicas->failed || layers->failed;
    if (item->out)
        return SHD_OK;
    if (level == SEARCH_TIMED) {
        status = bound_timed(&seconds, &bytes, s->subject, &item->layout, replicas, layers, err);
    } else {
        seconds = bound_time(s->subject, &item->layout, replicas, layers);
        bytes = bound_memory(s->subject, &item->layout, replicas, layers);
    }
    if (level == SEARCH_ALIKE)
        seconds *= 1 - BOUND_ALIKE;
    item->bound_s = fmax(item->bound_s, seconds);
    if (bytes > item->bound_bytes)
        item->bound_bytes = (float)bytes;
    return status;
}

/* Bound an item at a level, with its pieces built.  A bound never falls.  SHD_ENOMEM. */
static int bound(const struct search *s, struct search_item *item, enum search_level level,
                 struct shd_error *err)
{
    int status = SHD_OK;

    if (level <= SEARCH_SET)
        search_bound_set(s, item, level);
    else
        status = bound_layout(s, item, level, err);
    item->out |= !s->all && (is_too_big(s, item) || search_is_too_slow(s, item->bound_s));
    return status;
}

/* Why an item has no program; NULL: it has one. */
static const char *why_refused(const struct search *s, const struct search_item *item)
{
    const struct piece *layers =
        item->layers == UINT32_MAX ? NULL : pieces_get(s->pieces, item->layers);
    const struct piece *replicas =
        item->level < SEARCH_REPLICAS ? NULL : pieces_get(s->pieces, item->replicas);

    if (item->level == SEARCH_SET)
        return search_why_set(s, item);
    if (layers && layers->failed)
        return layers->why;
    return replicas && replicas->failed ? replicas->why : NULL;
}

static void note_bound(struct search *s, const struct search_item *item)
{
    const char *why = item->out ? why_refused(s, item) : NULL;
    size_t n = search_count(item);

    s->nlevels[item->level] += n;
    if (!item->out)
        return;
    if (why)
        refusals_add(&s->refusals, n, why);
    else if (is_too_big(s, item))
        s->ntoo_big += n;
    else
        s->ntoo_slow += n;
}

/* Bound items at a level together. */
static int bound_batch(struct search *s, const uint32_t *items, size_t n, enum search_level level,
                       const struct search_opts *opts, struct shd_error *err)
{
    bool no_memory = false;
    double begin;
    int status;

    for (size_t k = 0; k < n; k++)
        if (level == SEARCH_LAYERS && search_filter(s, &s->items[items[k]]) != SHD_OK)
            return shd_error_set(err, SHD_ENOMEM, "no memory for kinds of layouts");
    for (size_t k = 0; k < n && !stopped(opts); k++)
        if (!s->items[items[k]].out && !find_piece(s, &s->items[items[k]], level))
            return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
    if (stopped(opts))
        return SHD_OK;
    status = build_pieces(s, opts, err);
    if (status != SHD_OK || stopped(opts))
        return status;
    least_read(s->least);
    begin = search_now_s();
    /* A small batch is done before other threads have started. */
#pragma omp parallel for schedule(dynamic, 16) num_threads(n > BOUND_BATCH ? opts->nthreads : 1) \
    reduction(||                                                                                 \
              : no_memory)
    for (size_t k = 0; k < n; k++) {
        struct shd_error own;

        if (!s->items[items[k]].out && !stopped(opts))
            no_memory |= bound(s, &s->items[items[k]], level, &own) != SHD_OK;
    }
    for (size_t k = 0; k < n; k++)
        if (s->items[items[k]].level == level)
            note_bound(s, &s->items[items[k]]);
    s->bounds_s += search_now_s() - begin;
    return no_memory ? shd_error_set(err, SHD_ENOMEM, "no memory for the bounds of layouts")
                     : SHD_OK;
}

bool search_bound_item(struct search *s, size_t item)
{
    const struct search_opts opts = {.nthreads = 1};
    uint32_t number = (uint32_t)item;
    struct shd_error err;

    while (!s->items[item].out && s->items[item].level < SEARCH_TIMED)
        if (bound_batch(s, &number, 1, (enum search_level)(s->items[item].level + 1), &opts,
                        &err) != SHD_OK)
            return false;
    return !s->items[item].out;
}

static int bound_all(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    struct search_progress progress = {.what = "layouts", .ntotal = s->nlayouts};
    double begin = search_now_s();
    int status;

    tell(opts, &progress);
    s->pieces = pieces_create(s->subject);
    s->least = s->pieces ? least_create(s->subject, s->pieces) : NULL;
    s->queue = malloc(s->nitems * sizeof *s->queue);
    s->queue_room = s->nitems;
    if (!s->least || !s->queue)
        return shd_error_set(err, SHD_ENOMEM, "no memory for pieces");
    for (size_t i = 0; i < s->nitems; i++)
        s->queue[i] = (uint32_t)i;
    s->bounds_s += search_now_s() - begin;
    status = bound_batch(s, s->queue, s->nitems, SEARCH_ROUGH, opts, err);
    if (status != SHD_OK || s->nlevels[SEARCH_ROUGH] == 0)
        return status;
    begin = search_now_s();
    for (size_t i = 0; i < s->nitems; i++)
        if (!s->items[i].out)
            s->queue[s->nqueue++] = (uint32_t)i;
    for (size_t i = s->nqueue / 2; i-- > 0;)
        search_sink(s, i);
    s->bounds_s += search_now_s() - begin;
    return SHD_OK;
}

/* ---- best first ---- */

/* Whether no layout in the queue can be among the best, or no more plans are allowed. */
static bool is_over(const struct search *s, const struct search_opts *opts)
{
    return s->nqueue == 0 || (opts->nplans && s->nplans >= opts->nplans) ||
           (!opts->all && s->nbest >= opts->ntop &&
            search_bound_of(s, s->queue[0]) >
                search_goal_of(s, &s->plans[s->best[opts->ntop - 1]].plan));
}

/* Whether an item is a set to be opened: there is no closer bound on all of its members. */
static bool is_to_open(const struct search_item *item)
{
    return item->nmembers > 0 && item->level == SEARCH_SET;
}

/* Take the first items of the queue that are at the same level as the very first. */
static size_t take(struct search *s, uint32_t items[BOUND_BATCH], const struct search_opts *opts)
{
    enum search_level level = (enum search_level)s->items[s->queue[0]].level;
    size_t most = level == SEARCH_TIMED ? SEARCH_BATCH : BOUND_BATCH, n = 0;

    if (level == SEARCH_TIMED && opts->nplans && opts->nplans - s->nplans < most)
        most = opts->nplans - s->nplans;
    while (n < most && !is_over(s, opts) && s->items[s->queue[0]].level == level &&
           !is_to_open(&s->items[s->queue[0]]))
        items[n++] = search_pop(s);
    return n;
}

static void tell_plans(const struct search *s, const struct search_opts *opts, double next_bound_s)
{
    const struct search_progress progress = {
        .what = "plans",
        .ndone = s->nplans,
        .ntotal = s->nlayouts,
        .best_s = s->nbest && s->within_s == 0 ? s->plans[s->best[0]].plan.figures.step_s : 0,
        .next_bound_s = next_bound_s,
        .layouts_per_s = (double)s->nlayouts / (s->pieces_s + s->bounds_s + s->plans_s)};

    tell(opts, &progress);
}

static int look_closer(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    size_t n, before = s->nplans;
    double begin = search_now_s();
    uint32_t items[BOUND_BATCH];
    enum search_level level;
    int status;

    if (is_to_open(&s->items[s->queue[0]])) {
        status = search_open(s, search_pop(s), NULL, err);
        s->bounds_s += search_now_s() - begin;
        return status;
    }
    n = take(s, items, opts);
    level = (enum search_level)s->items[items[0]].level;
    if (level == SEARCH_TIMED) {
        tell_plans(s, opts, s->items[items[0]].bound_s);
        status = search_plan_batch(s, items, n, opts->farm, opts->nthreads, err);
        for (size_t k = s->nplans - before; k < n; k++)
            search_push(s, items[k]); /* the search was stopped */
        s->plans_s += search_now_s() - begin;
        return status;
    }
    status = bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
    for (size_t k = 0; k < n; k++)
        if (!s->items[items[k]].out)
            search_push(s, items[k]);
    return status;
}

static int find_best(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    int status = SHD_OK;

    while (status == SHD_OK && !stopped(opts) && !is_over(s, opts))
        status = look_closer(s, opts, err);
    s->over = s->nlevels[SEARCH_ROUGH] > 0 && is_over(s, opts);
    if (s->nlevels[SEARCH_ROUGH] == 0) /* stopped before any bound */
        s->proven = 0;
    else
        s->proven = s->nqueue > 0 ? search_bound_of(s, s->queue[0]) : INFINITY;
    return status;
}

/* ---- a part of the layouts ---- */

/* A part of the layouts gets limited work: items bounded together, rounds of bounds, and plans. */
#define PART_BATCH 16
#define PART_LOOKS 32
#define PART_PLANS 4

static void queue_part(struct search *s, const struct space *part)
{
    s->nqueue = 0;
    for (uint32_t i = 0; i < s->nitems; i++)
        if (!s->items[i].out && search_may_have(part, &s->items[i]))
            search_push(s, i);
}

/* Open the sets at the head of the queue: all that have no closer bound or, to name a layout, all.
 */
static int open_first(struct search *s, const struct space *part, bool all, struct shd_error *err)
{
    int status = SHD_OK;

    while (status == SHD_OK && s->nqueue > 0 && s->items[s->queue[0]].nmembers > 0 &&
           (all || is_to_open(&s->items[s->queue[0]])))
        status = search_open(s, search_pop(s), part, err);
    return status;
}

/* Bound the first items of the queue at the next level. */
static int look_at_part(struct search *s, const struct space *part, const struct search_opts *opts,
                        struct shd_error *err)
{
    enum search_level level = (enum search_level)s->items[s->queue[0]].level;
    uint32_t items[PART_BATCH];
    size_t n = 0;
    int status;

    do
        items[n++] = search_pop(s);
    while (n < PART_BATCH && s->nqueue > 0 && s->items[s->queue[0]].level == level &&
           !is_to_open(&s->items[s->queue[0]]));
    status = bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
    for (size_t k = 0; k < n; k++)
        if (!s->items[items[k]].out)
            search_push(s, items[k]);
    return status == SHD_OK ? open_first(s, part, false, err) : status;
}

/* Whether no bound in the queue is below the best planned layout of a part; planned layouts leave
 * the queue. */
static bool is_found(struct search *s, double *best)
{
    while (s->nqueue > 0 && s->items[s->queue[0]].plan != UINT32_MAX) {
        const struct plan *plan = &s->plans[s->items[search_pop(s)].plan].plan;

        if (plan->state == VARIANT_FITS && !search_is_too_slow(s, plan->figures.step_s))
            *best = fmin(*best, search_goal_of(s, plan));
    }
    return s->nqueue == 0 || search_bound_of(s, s->queue[0]) >= *best;
}

int search_among(struct search *s, const struct space *part, const struct search_opts *opts,
                 uint32_t *first, struct shd_error *err)
{
    int status, nlooks = 0, nplans = 0;
    double best = INFINITY;

    queue_part(s, part);
    status = open_first(s, part, false, err);
    while (status == SHD_OK && !is_found(s, &best) && nlooks < PART_LOOKS && nplans < PART_PLANS &&
           !stopped(opts)) {
        if (s->items[s->queue[0]].level < SEARCH_TIMED) {
            status = look_at_part(s, part, opts, err);
            nlooks++;
        } else if (search_plan_item(s, s->queue[0])) {
            nplans++;
        } else {
            status = shd_error_set(err, SHD_ENOMEM, "no memory for plans");
        }
    }
    if (status == SHD_OK)
        status = open_first(s, part, true, err);
    *first = s->nqueue > 0 ? s->queue[0] : UINT32_MAX;
    return status;
}

/* What was dropped as too big returns to the queue, the lowest bound on memory first. */
int search_least_memory(struct search *s, const struct space *part, const struct search_opts *opts,
                        uint32_t *first, struct shd_error *err)
{
    bool all = s->all;
    double within_s = s->within_s;
    int status;

    for (size_t i = 0; i < s->nitems; i++)
        if (s->items[i].out && !s->items[i].opened && is_too_big(s, &s->items[i]) &&
            search_may_have(part, &s->items[i]))
            s->items[i].out = false;
    s->all = true;
    s->within_s = INFINITY; /* minimize memory, however long the step */
    queue_part(s, part);
    status = open_first(s, part, false, err);
    for (int looks = 0; status == SHD_OK && s->nqueue > 0 && looks < PART_LOOKS && !stopped(opts) &&
                        s->items[s->queue[0]].level < SEARCH_TIMED;
         looks++)
        status = look_at_part(s, part, opts, err);
    if (status == SHD_OK)
        status = open_first(s, part, true, err);
    *first = s->nqueue > 0 ? s->queue[0] : UINT32_MAX;
    s->all = all;
    s->within_s = within_s;
    for (size_t i = 0; i < s->nitems; i++)
        s->items[i].out |= !s->all && is_too_big(s, &s->items[i]);
    return status;
}

/* ---- the whole ---- */

static int none_divides(const struct search *s, struct shd_error *err)
{
    struct text why = TEXT_INIT;

    undivided_tell(&why, &s->subject->space);
    shd_error_set(err, SHD_ENOTFOUND, "%s", text_get(&why));
    text_fini(&why);
    return SHD_ENOTFOUND;
}

static int list(struct search *s, struct shd_error *err)
{
    double begin = search_now_s();
    struct space_set *sets;
    size_t n;
    int status = space_list_sets(&sets, &n, &s->subject->space, err);

    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < n && status == SHD_OK; i++) {
        if (!array_make_room(&s->items, i, sizeof *s->items))
            status = shd_error_set(err, SHD_ENOMEM, "no memory for %zu sets of layouts", n);
        else
            s->items[i] = (struct search_item){.layout = sets[i].layout,
                                               .number = s->nlayouts,
                                               .nmembers = sets[i].nmembers,
                                               .replicas = UINT32_MAX,
                                               .layers = UINT32_MAX,
                                               .plan = UINT32_MAX};
        s->nlayouts += sets[i].nmembers;
    }
    free(sets);
    s->nitems = n;
    s->bounds_s += search_now_s() - begin;
    return status == SHD_OK && n == 0 ? none_divides(s, err) : status;
}

int search_run(struct search *out, const struct subject *subject, const struct search_opts *opts,
               struct shd_error *err)
{
    struct search s = {
        .subject = subject, .journal = opts->journal, .all = opts->all, .within_s = opts->within_s};
    int status = list(&s, err);

    if (status == SHD_OK)
        status = bound_all(&s, opts, err);
    if (status == SHD_OK)
        status = find_best(&s, opts, err);
    if (status == SHD_OK)
        *out = s;
    else
        search_fini(&s);
    return status;
}

void search_fini(struct search *search)
{
    least_destroy(search->least);
    pieces_destroy(search->pieces);
    free(search->items);
    free(search->queue);
    free(search->plans);
    free(search->best);
    free(search->ahead);
    free(search->kinds);
    map_fini(&search->kind_numbers);
    *search = (struct search){.subject = NULL};
}
