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

/* ---- bounds of all ---- */

/* Sets of a space whose bounds take so long that a good layout is looked for first: a constant,
 * because the planned layouts must not depend on the machine. */
#define SETS_BEFORE_PROBE 4000

/* In a space of fewer sets than these the proof is tried before descents look for better layouts:
 * it ends within so many pieces, and plans for each layout to be proven, or the descents take their
 * turn.  Constants, too. */
#define SETS_BEFORE_ENDS 40000
#define PIECES_BEFORE_ENDS 16000
#define PLANS_BEFORE_ENDS 4

static int create_pieces(struct search *s, struct shd_error *err)
{
    s->pieces = pieces_create(s->subject);
    s->least = s->pieces ? least_create(s->subject, s->pieces) : NULL;
    return s->least ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for pieces");
}

static int begin(struct search *s, struct search *found, const struct search_opts *opts,
                 struct shd_error *err)
{
    const struct search_progress progress = {.what = "layouts", .ntotal = s->nlayouts};
    int status;

    if (opts->progress)
        opts->progress(opts->arg, &progress);
    status = create_pieces(s, err);
    if (status != SHD_OK)
        return status;
    if ((s->nitems < SETS_BEFORE_PROBE && !opts->probes) || opts->all)
        return SHD_OK;
    return search_probe(found, s, opts, s->nitems >= SETS_BEFORE_ENDS, err);
}

/* Bound all sets. */
static int bound_all(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    double begin = search_now_s();

    s->queue = malloc(s->nitems * sizeof *s->queue);
    s->queue_room = s->nitems;
    if (!s->queue)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the queue of layouts");
    for (size_t i = 0; i < s->nitems; i++)
        if (!s->items[i].out)
            s->queue[s->nqueue++] = (uint32_t)i;
    s->bounds_s += search_now_s() - begin;
    return search_bound_batch(s, s->queue, s->nqueue, SEARCH_ROUGH, opts, err);
}

/* Queue all that is not planned. */
static void queue_all(struct search *s)
{
    double begin = search_now_s();

    s->nqueue = 0;
    for (size_t i = 0; i < s->nitems; i++)
        if (!s->items[i].out && s->items[i].plan == UINT32_MAX)
            s->queue[s->nqueue++] = (uint32_t)i;
    for (size_t i = s->nqueue / 2; i-- > 0;)
        search_sink(s, i);
    s->bounds_s += search_now_s() - begin;
}

/* ---- best first ---- */

/* Whether no layout in the queue can be among the best, or no more plans are allowed. */
static bool is_over(const struct search *s, const struct search_opts *opts)
{
    return s->nqueue == 0 || (opts->nplans && s->nplans >= opts->nplans) ||
           search_is_beaten(s, opts, s->queue[0]);
}

/* Whether an item is a set to be opened: there is no closer bound on all of its members. */
static bool is_to_open(const struct search_item *item)
{
    return item->nmembers > 0 && item->level == SEARCH_SET;
}

/* Take the first items of the queue that are at the same level as the very first. */
static size_t take(struct search *s, uint32_t items[SEARCH_BOUND_BATCH],
                   const struct search_opts *opts)
{
    enum search_level level = (enum search_level)s->items[s->queue[0]].level;
    size_t most = level == SEARCH_TIMED ? SEARCH_BATCH : SEARCH_BOUND_BATCH, n = 0;

    if (level == SEARCH_TIMED && opts->nplans && opts->nplans - s->nplans < most)
        most = opts->nplans - s->nplans;
    while (n < most && !is_over(s, opts) && s->items[s->queue[0]].level == level &&
           !is_to_open(&s->items[s->queue[0]]))
        items[n++] = search_pop(s);
    return n;
}

static int look_closer(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    size_t n, before = s->nplans;
    double begin = search_now_s();
    uint32_t items[SEARCH_BOUND_BATCH];
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
        search_tell(s, opts, s->items[items[0]].bound_s);
        status = search_plan_batch(s, items, n, opts->farm, opts->nthreads, err);
        for (size_t k = s->nplans - before; k < n; k++)
            search_push(s, items[k]); /* the search was stopped */
        return status;
    }
    status = search_bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
    for (size_t k = 0; k < n; k++)
        if (!s->items[items[k]].out)
            search_push(s, items[k]);
    return status;
}

/* Whether a proof that is tried first has taken all that it may. */
static bool is_tried(const struct search *s, const struct search_opts *opts)
{
    return s->npieces > PIECES_BEFORE_ENDS || s->nplans > PLANS_BEFORE_ENDS * opts->ntop;
}

/* Look until the search is over or, if it is only tried, has taken all that it may. */
static int find_best(struct search *s, const struct search_opts *opts, bool tried,
                     struct shd_error *err)
{
    int status = SHD_OK;

    while (status == SHD_OK && !search_is_stopped(opts) && !is_over(s, opts) &&
           !(tried && is_tried(s, opts)))
        status = look_closer(s, opts, err);
    s->over = is_over(s, opts);
    s->proven = s->nqueue > 0 ? search_bound_of(s, s->queue[0]) : INFINITY;
    return status;
}

/* Descents follow a proof that was tried and did not end. */
static int prove(struct search *s, struct search *found, const struct search_opts *opts,
                 struct shd_error *err)
{
    bool tried = found->nitems > 0 && s->nitems < SETS_BEFORE_ENDS;
    struct search_opts rest = *opts;
    int status = search_adopt(s, found, err);

    if (status != SHD_OK)
        return status;
    queue_all(s);
    status = find_best(s, opts, tried, err);
    if (status != SHD_OK || s->over || search_is_stopped(opts))
        return status;
    if (opts->nplans)
        rest.nplans = opts->nplans - s->nplans + found->nplans;
    status = search_probe(found, s, &rest, true, err);
    if (status == SHD_OK)
        status = search_adopt(s, found, err);
    if (status != SHD_OK)
        return status;
    queue_all(s);
    return find_best(s, opts, false, err);
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
    status = search_bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
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
           !search_is_stopped(opts)) {
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
        if (s->items[i].out && !s->items[i].opened && search_is_too_big(s, &s->items[i]) &&
            search_may_have(part, &s->items[i]))
            s->items[i].out = false;
    s->all = true;
    s->within_s = INFINITY; /* minimize memory, however long the step */
    queue_part(s, part);
    status = open_first(s, part, false, err);
    for (int looks = 0; status == SHD_OK && s->nqueue > 0 && looks < PART_LOOKS &&
                        !search_is_stopped(opts) && s->items[s->queue[0]].level < SEARCH_TIMED;
         looks++)
        status = look_at_part(s, part, opts, err);
    if (status == SHD_OK)
        status = open_first(s, part, true, err);
    *first = s->nqueue > 0 ? s->queue[0] : UINT32_MAX;
    s->all = all;
    s->within_s = within_s;
    for (size_t i = 0; i < s->nitems; i++)
        s->items[i].out |= !s->all && search_is_too_big(s, &s->items[i]);
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
    struct search found = {.subject = NULL};
    int status = list(&s, err);

    if (status == SHD_OK)
        status = search_filter_sets(&s, err);
    if (status == SHD_OK)
        status = begin(&s, &found, opts, err);
    if (status == SHD_OK)
        status = bound_all(&s, opts, err);
    if (status == SHD_OK)
        status = prove(&s, &found, opts, err);
    search_fini(&found);
    if (status == SHD_OK)
        *out = s;
    else
        search_fini(&s);
    return status;
}

int search_first(struct layout *layout, struct plan *plan, const struct subject *subject,
                 struct shd_error *err)
{
    const struct search_opts opts = {.ntop = 1, .nthreads = 1, .first = true};
    struct search s = {.subject = subject}, found = {.subject = NULL};
    int status = list(&s, err);

    *plan = (struct plan){.state = VARIANT_REFUSED};
    if (status == SHD_OK)
        status = search_filter_sets(&s, err);
    if (status == SHD_OK)
        status = create_pieces(&s, err);
    if (status == SHD_OK)
        status = search_probe(&found, &s, &opts, true, err);
    if (status == SHD_OK && found.nbest > 0) {
        const struct search_plan *best = &found.plans[found.best[0]];

        *layout = found.items[best->item].layout;
        *plan = best->plan;
    }
    search_fini(&found);
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
