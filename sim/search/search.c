/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "search/bound.h"

/* Plans that are begun together: so many whatever the number of threads, for what is planned must
 * not depend on it. */
#define BATCH 4

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

static double room_of(const struct subject *subject)
{
    return subject->hardware->memory_bytes;
}

/* Keep the items of which a test says so. */
typedef bool (*keep_fn)(struct search *s, const struct pieces *pieces, struct search_item *item);

static void note_refusal(struct search *s, const char *why)
{
    s->nrefused++;
    if (!s->why[0])
        memcpy(s->why, why, sizeof s->why - 1);
}

static bool keep_state(struct search *s, const struct pieces *pieces, struct search_item *item)
{
    const struct piece *replicas = pieces_get(pieces, item->replicas);

    if (replicas->failed) {
        note_refusal(s, replicas->why);
        return false;
    }
    item->bound_bytes = (float)bound_memory(s->subject, &item->layout, replicas, NULL);
    return s->all || item->bound_bytes <= room_of(s->subject);
}

static bool keep_bounded(struct search *s, const struct pieces *pieces, struct search_item *item)
{
    const struct piece *replicas = pieces_get(pieces, item->replicas);
    const struct piece *layers = pieces_get(pieces, item->layers);

    if (layers->failed) {
        note_refusal(s, layers->why);
        return false;
    }
    item->bound_bytes = (float)bound_memory(s->subject, &item->layout, replicas, layers);
    item->bound_s = bound_time(s->subject, &item->layout, replicas, layers);
    return s->all || item->bound_bytes <= room_of(s->subject);
}

static void keep(struct search *s, const struct pieces *pieces, keep_fn fn)
{
    size_t refused = s->nrefused, before = s->nitems, n = 0;

    for (size_t i = 0; i < before; i++)
        if (fn(s, pieces, &s->items[i]))
            s->items[n++] = s->items[i];
    s->nitems = n;
    s->ntoo_big += before - n - (s->nrefused - refused);
}

static int compare_bounds(const void *a, const void *b)
{
    const struct search_item *x = a, *y = b;

    if (x->bound_s != y->bound_s)
        return x->bound_s < y->bound_s ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Build what pieces the items want of a kind. */
static int find_pieces(struct search *s, struct pieces *pieces, enum attempt_kind kind,
                       const struct search_opts *opts, struct shd_error *err)
{
    struct search_progress progress = {.what = "pieces"};
    double begin = now_s();
    int status;

    for (size_t i = 0; i < s->nitems; i++) {
        uint32_t piece = pieces_find(pieces, &s->items[i].layout, kind);

        if (piece == UINT32_MAX)
            return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
        *(kind == ATTEMPT_LAYERS ? &s->items[i].layers : &s->items[i].replicas) = piece;
    }
    s->bounds_s += now_s() - begin;
    progress.ntotal = pieces_count(pieces);
    tell(opts, &progress);
    begin = now_s();
    status = pieces_build(pieces, opts->nthreads, opts->stop, err);
    s->pieces_s += now_s() - begin;
    s->npieces = pieces_count(pieces);
    return status;
}

static int bound_all(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    struct pieces *pieces = pieces_create(s->subject);
    int status = pieces ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for pieces");
    double begin;

    if (status == SHD_OK)
        status = find_pieces(s, pieces, ATTEMPT_REPLICAS, opts, err);
    if (status == SHD_OK && !stopped(opts)) {
        begin = now_s();
        keep(s, pieces, keep_state);
        s->bounds_s += now_s() - begin;
        status = find_pieces(s, pieces, ATTEMPT_LAYERS, opts, err);
    }
    if (status == SHD_OK && stopped(opts))
        s->nitems = 0; /* some pieces are not built */
    if (status == SHD_OK) {
        begin = now_s();
        keep(s, pieces, keep_bounded);
        qsort(s->items, s->nitems, sizeof *s->items, compare_bounds);
        s->bounds_s += now_s() - begin;
    }
    pieces_destroy(pieces);
    return status;
}

/* ---- plans ---- */

static enum search_state plan(struct modelled_figures *out, const struct subject *subject,
                              const struct layout *layout, struct shd_error *err)
{
    struct attempt attempt;
    enum search_state state = SEARCH_REFUSED;
    int status = attempt_init(&attempt, subject, layout, ATTEMPT_WHOLE, 0, err);

    if (status != SHD_OK)
        return state;
    status = trial_plan(&attempt.trial, err);
    if (status == SHD_OK) {
        modelled_figures_of(out, attempt.trial.record,
                            (uint64_t)(subject->space.batch * subject->space.seq));
        state = out->fits && trial_fits(&attempt.trial) ? SEARCH_PLANNED : SEARCH_TOO_BIG;
    }
    attempt_fini(&attempt);
    return state;
}

/* Plans in the order of what is best. */
static int compare_plans(const struct search *s, uint32_t a, uint32_t b)
{
    const struct search_plan *x = &s->plans[a], *y = &s->plans[b];

    if (x->figures.step_s != y->figures.step_s)
        return x->figures.step_s < y->figures.step_s ? -1 : 1;
    return s->items[x->item].id < s->items[y->item].id ? -1 : 1;
}

/* Put a plan in its place among the best. */
static void add_best(struct search *s, uint32_t plan_id)
{
    size_t at = s->nbest++;

    while (at > 0 && compare_plans(s, plan_id, s->best[at - 1]) < 0) {
        s->best[at] = s->best[at - 1];
        at--;
    }
    s->best[at] = plan_id;
}

static bool make_room(struct search *s, size_t more)
{
    struct search_plan *plans = realloc(s->plans, (s->nplans + more) * sizeof *plans);
    uint32_t *best;

    if (!plans)
        return false;
    s->plans = plans;
    best = realloc(s->best, (s->nplans + more) * sizeof *best);
    if (!best)
        return false;
    s->best = best;
    return true;
}

/* Plan items first..first + n - 1; they are noted in their order. */
static int plan_batch(struct search *s, size_t first, size_t n, int nthreads, struct shd_error *err)
{
    struct shd_error errors[BATCH];

    (void)nthreads;
    if (!make_room(s, n))
        return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
#pragma omp parallel for schedule(dynamic, 1) num_threads(nthreads)
    for (size_t k = 0; k < n; k++) {
        struct search_plan *p = &s->plans[s->nplans + k];

        errors[k] = (struct shd_error){.status = SHD_OK};
        *p = (struct search_plan){.item = (uint32_t)(first + k)};
        p->state = plan(&p->figures, s->subject, &s->items[first + k].layout, &errors[k]);
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t plan_id = (uint32_t)(s->nplans + k);

        if (errors[k].status == SHD_ENOMEM)
            return shd_error_set(err, SHD_ENOMEM, "%s", errors[k].text);
        s->items[first + k].plan = plan_id;
        if (s->plans[plan_id].state == SEARCH_PLANNED)
            add_best(s, plan_id);
        else if (s->plans[plan_id].state == SEARCH_REFUSED)
            note_refusal(s, errors[k].text);
        else
            s->ntoo_big++;
    }
    s->nplans += n;
    return SHD_OK;
}

const struct search_plan *search_plan_item(struct search *s, size_t item)
{
    double begin = now_s();
    struct shd_error err;
    int status = SHD_OK;

    if (s->items[item].plan == UINT32_MAX)
        status = plan_batch(s, item, 1, 1, &err);
    s->plans_s += now_s() - begin;
    if (status != SHD_OK)
        return NULL;
    return &s->plans[s->items[item].plan];
}

static int plan_best(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    size_t most = opts->nplans && opts->nplans < s->nitems ? opts->nplans : s->nitems, i = 0;
    double begin = now_s();
    int status = SHD_OK;

    while (status == SHD_OK && i < most && !stopped(opts)) {
        struct search_progress progress = {.what = "plans", .ndone = i, .ntotal = s->nitems};
        size_t n = most - i < BATCH ? most - i : BATCH;

        progress.next_bound_s = s->items[i].bound_s;
        progress.best_s = s->nbest ? s->plans[s->best[0]].figures.step_s : 0;
        tell(opts, &progress);
        if (!opts->all && s->nbest >= opts->ntop &&
            s->items[i].bound_s > s->plans[s->best[opts->ntop - 1]].figures.step_s)
            break;
        status = plan_batch(s, i, n, opts->nthreads, err);
        i += n;
    }
    s->proven_s = i < s->nitems ? s->items[i].bound_s : INFINITY;
    s->plans_s = now_s() - begin;
    return status;
}

/* ---- the whole ---- */

static int list(struct search *s, struct shd_error *err)
{
    struct layout *layouts;
    int status = space_list(&layouts, &s->nlayouts, &s->subject->space, err);

    if (status != SHD_OK)
        return status;
    s->items =
        s->nlayouts && s->nlayouts < UINT32_MAX ? calloc(s->nlayouts, sizeof *s->items) : NULL;
    for (size_t i = 0; i < s->nlayouts && s->items; i++)
        s->items[i] =
            (struct search_item){.layout = layouts[i], .id = (uint32_t)i, .plan = UINT32_MAX};
    free(layouts);
    if (s->nlayouts == 0)
        return shd_error_set(err, SHD_ENOTFOUND,
                             "no layout is left: nothing divides as the ranges ask");
    if (!s->items)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu layouts", s->nlayouts);
    s->nitems = s->nlayouts;
    return SHD_OK;
}

int search_run(struct search *out, const struct subject *subject, const struct search_opts *opts,
               struct shd_error *err)
{
    struct search s = {.subject = subject, .all = opts->all};
    int status = list(&s, err);

    if (status == SHD_OK)
        status = bound_all(&s, opts, err);
    s.nbounds = s.nlayouts;
    if (status == SHD_OK)
        status = plan_best(&s, opts, err);
    if (status == SHD_OK)
        *out = s;
    else
        search_fini(&s);
    return status;
}

void search_fini(struct search *search)
{
    free(search->items);
    free(search->plans);
    free(search->best);
    *search = (struct search){.subject = NULL};
}
