/* Bounds of layouts and sets, raised together a level at a time (search_work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>

#include "search/layout_bounds.h"
#include "search/search_work.h"

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
    item->out |= !s->all && (search_is_too_big(s, item) || search_is_too_slow(s, item->bound_s));
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
    else if (search_is_too_big(s, item))
        s->ntoo_big += n;
    else
        s->ntoo_slow += n;
}

int search_bound_batch(struct search *s, const uint32_t *items, size_t n, enum search_level level,
                       const struct search_opts *opts, struct shd_error *err)
{
    bool no_memory = false;
    double begin;
    int status;

    /* An answer of the filter takes a graph: what is too slow is dropped before. */
    for (size_t k = 0; k < n && level >= SEARCH_LAYERS; k++)
        if (!s->items[items[k]].out &&
            search_filter(s, &s->items[items[k]], level == SEARCH_TIMED) != SHD_OK)
            return shd_error_set(err, SHD_ENOMEM, "no memory for kinds of layouts");
    for (size_t k = 0; k < n && !search_is_stopped(opts); k++)
        if (!s->items[items[k]].out && !find_piece(s, &s->items[items[k]], level))
            return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
    if (search_is_stopped(opts))
        return SHD_OK;
    status = build_pieces(s, opts, err);
    if (status != SHD_OK || search_is_stopped(opts))
        return status;
    least_read(s->least);
    begin = search_now_s();
    /* A small batch is done before other threads have started. */
#pragma omp parallel for schedule(dynamic, 16)                            \
    num_threads(n > SEARCH_BOUND_BATCH ? opts->nthreads : 1) reduction(|| \
                                                                       : no_memory)
    for (size_t k = 0; k < n; k++) {
        struct shd_error own;

        if (!s->items[items[k]].out && !search_is_stopped(opts))
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
        if (search_bound_batch(s, &number, 1, (enum search_level)(s->items[item].level + 1), &opts,
                               &err) != SHD_OK)
            return false;
    return !s->items[item].out;
}

void search_tell(const struct search *s, const struct search_opts *opts, double next_bound_s)
{
    const struct search_progress progress = {
        .what = "plans",
        .ndone = s->nplans,
        .ntotal = s->nlayouts,
        .best_s = s->nbest && s->within_s == 0 ? s->plans[s->best[0]].plan.figures.step_s : 0,
        .next_bound_s = next_bound_s,
        .layouts_per_s = (double)s->nlayouts / (s->pieces_s + s->bounds_s + s->plans_s)};

    if (opts->progress)
        opts->progress(opts->arg, &progress);
}
