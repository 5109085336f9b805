/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "search/layout_bounds.h"
#include "search/task.h"
#include "search/undivided.h"

/* Plans that are begun together: a constant, because the planned layouts must not depend on the
 * number of threads. */
#define BATCH 4

/* Layouts that are bounded together, with their pieces built together: a constant for the same
 * reason. */
#define BOUND_BATCH 64

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

/* ---- the queue ---- */

double search_bound_of(const struct search *s, size_t item)
{
    return s->within_s > 0 ? s->items[item].bound_bytes : s->items[item].bound_s;
}

/* By the bound on the goal, then by the bound on the step, then by number. */
static bool is_before(const struct search *s, uint32_t a, uint32_t b)
{
    double x = search_bound_of(s, a), y = search_bound_of(s, b);

    if (x != y)
        return x < y;
    if (s->items[a].bound_s != s->items[b].bound_s)
        return s->items[a].bound_s < s->items[b].bound_s;
    return a < b;
}

static void sink(struct search *s, size_t at)
{
    uint32_t item = s->queue[at];

    for (size_t child; (child = 2 * at + 1) < s->nqueue; at = child) {
        if (child + 1 < s->nqueue && is_before(s, s->queue[child + 1], s->queue[child]))
            child++;
        if (!is_before(s, s->queue[child], item))
            break;
        s->queue[at] = s->queue[child];
    }
    s->queue[at] = item;
}

static void push(struct search *s, uint32_t item)
{
    size_t at = s->nqueue++;

    for (; at > 0 && is_before(s, item, s->queue[(at - 1) / 2]); at = (at - 1) / 2)
        s->queue[at] = s->queue[(at - 1) / 2];
    s->queue[at] = item;
}

static uint32_t pop(struct search *s)
{
    uint32_t item = s->queue[0];

    s->queue[0] = s->queue[--s->nqueue];
    if (s->nqueue > 0)
        sink(s, 0);
    return item;
}

/* ---- bounds ---- */

/* The same layout with more sequences at a time, a multiple, so that many layouts share a piece:
 * its time for each sequence is the least.  With experts the multiple is limited, because dispatch
 * of many tokens to experts takes long. */
static struct layout scaled_layout(const struct search *s, const struct layout *layout)
{
    const struct space *space = &s->subject->space;
    int64_t own = layout->value[SPACE_MICROBATCH], most = space_most_sequences(space, layout);
    struct layout scaled = *layout;

    scaled.value[SPACE_MICROBATCH] = (int32_t)(space->experts == 0 ? space->batch
                                               : own < most        ? most / own * own
                                                                   : own);
    return scaled;
}

static bool find_piece(struct search *s, struct search_item *item, enum search_level level)
{
    struct layout scaled;

    if (level == SEARCH_SCALED) {
        scaled = scaled_layout(s, &item->layout);
        item->scaled = pieces_find(s->pieces, &scaled, ATTEMPT_LAYERS);
        return item->scaled != UINT32_MAX;
    }
    if (level == SEARCH_REPLICAS) {
        item->replicas = pieces_find(s->pieces, &item->layout, ATTEMPT_REPLICAS);
        return item->replicas != UINT32_MAX;
    }
    if (level == SEARCH_LAYERS)
        item->layers = pieces_find(s->pieces, &item->layout, ATTEMPT_LAYERS);
    return item->layers != UINT32_MAX || level == SEARCH_TIMED;
}

static int build_pieces(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    double begin = now_s();
    int status = pieces_build(s->pieces, opts->farm, opts->nthreads, opts->stop, err);

    s->pieces_s += now_s() - begin;
    s->npieces = pieces_count(s->pieces);
    return status;
}

/* Whether the cluster's caches are faster than its memory: then more work at a time may be
 * slower. */
static bool has_caches(const struct search *s)
{
    return s->subject->hardware->cache_bytes_per_s > 0;
}

static double scaled_time(const struct search *s, const struct search_item *item,
                          const struct piece *replicas)
{
    const struct piece *many = pieces_get(s->pieces, item->scaled);
    struct piece scaled = {.failed = false};

    if (!many->failed && !has_caches(s))
        piece_scale(&scaled, many,
                    (double)item->layout.value[SPACE_MICROBATCH] /
                        scaled_layout(s, &item->layout).value[SPACE_MICROBATCH]);
    return bound_time(s->subject, &item->layout, replicas, &scaled);
}

static bool is_too_big(const struct search *s, const struct search_item *item)
{
    return item->bound_bytes > s->subject->hardware->memory_bytes;
}

static bool is_too_slow(const struct search *s, double seconds)
{
    return s->within_s > 0 && seconds > s->within_s;
}

/* Bound an item at a level, with its pieces built.  A bound never falls.  SHD_ENOMEM. */
static int bound(const struct search *s, struct search_item *item, enum search_level level,
                 struct shd_error *err)
{
    static const struct piece none;
    const struct piece *replicas =
        level < SEARCH_REPLICAS ? &none : pieces_get(s->pieces, item->replicas);
    const struct piece *layers = level < SEARCH_LAYERS ? NULL : pieces_get(s->pieces, item->layers);
    double seconds = 0, bytes = 0;
    int status = SHD_OK;

    item->level = (uint8_t)level;
    if (replicas->failed || (layers && layers->failed)) {
        item->out = true;
        return SHD_OK;
    }
    if (level == SEARCH_TIMED)
        status = bound_timed(&seconds, &bytes, s->subject, &item->layout, replicas, layers, err);
    else
        seconds = layers ? bound_time(s->subject, &item->layout, replicas, layers)
                         : scaled_time(s, item, replicas);
    if (level == SEARCH_REPLICAS || level == SEARCH_LAYERS)
        bytes = bound_memory(s->subject, &item->layout, replicas, layers);
    if (seconds > item->bound_s)
        item->bound_s = seconds;
    if (bytes > item->bound_bytes)
        item->bound_bytes = (float)bytes;
    item->out = !s->all && (is_too_big(s, item) || is_too_slow(s, item->bound_s));
    return status;
}

static void note_refusal(struct search *s, const char *why)
{
    s->nrefused++;
    if (!s->why[0])
        memcpy(s->why, why, sizeof s->why - 1);
}

static void note_bound(struct search *s, const struct search_item *item)
{
    const struct piece *replicas =
        item->level < SEARCH_REPLICAS ? NULL : pieces_get(s->pieces, item->replicas);
    const struct piece *layers =
        item->level < SEARCH_LAYERS ? NULL : pieces_get(s->pieces, item->layers);

    s->nlevels[item->level]++;
    if (!item->out)
        return;
    if (replicas && replicas->failed)
        note_refusal(s, replicas->why);
    else if (layers && layers->failed)
        note_refusal(s, layers->why);
    else if (is_too_big(s, item))
        s->ntoo_big++;
    else
        s->ntoo_slow++;
}

/* Bound items at a level together. */
static int bound_batch(struct search *s, const uint32_t *items, size_t n, enum search_level level,
                       const struct search_opts *opts, struct shd_error *err)
{
    bool no_memory = false;
    double begin;
    int status;

    for (size_t k = 0; k < n; k++)
        if (!find_piece(s, &s->items[items[k]], level))
            return shd_error_set(err, SHD_ENOMEM, "no memory for the pieces of layouts");
    status = build_pieces(s, opts, err);
    if (status != SHD_OK || stopped(opts))
        return status;
    begin = now_s();
    /* A small batch is done before other threads have started. */
#pragma omp parallel for schedule(dynamic, 16) num_threads(n > BOUND_BATCH ? opts->nthreads : 1) \
    reduction(||                                                                                 \
              : no_memory)
    for (size_t k = 0; k < n; k++) {
        struct shd_error own;

        no_memory |= bound(s, &s->items[items[k]], level, &own) != SHD_OK;
    }
    for (size_t k = 0; k < n; k++)
        note_bound(s, &s->items[items[k]]);
    s->bounds_s += now_s() - begin;
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
    struct search_progress progress = {.what = "layouts", .ntotal = s->nitems};
    double begin = now_s();
    int status;

    tell(opts, &progress);
    s->pieces = pieces_create(s->subject);
    s->queue = malloc(s->nitems * sizeof *s->queue);
    if (!s->pieces || !s->queue)
        return shd_error_set(err, SHD_ENOMEM, "no memory for pieces");
    for (size_t i = 0; i < s->nitems; i++)
        s->queue[i] = (uint32_t)i;
    s->bounds_s += now_s() - begin;
    status = bound_batch(s, s->queue, s->nitems, SEARCH_SCALED, opts, err);
    if (status != SHD_OK || s->nlevels[SEARCH_SCALED] == 0)
        return status;
    begin = now_s();
    for (size_t i = 0; i < s->nitems; i++)
        if (!s->items[i].out)
            s->queue[s->nqueue++] = (uint32_t)i;
    for (size_t i = s->nqueue / 2; i-- > 0;)
        sink(s, i);
    s->bounds_s += now_s() - begin;
    return SHD_OK;
}

/* ---- plans ---- */

double search_goal_of(const struct search *s, const struct plan *plan)
{
    return s->within_s > 0 ? plan->figures.memory_bytes : plan->figures.step_s;
}

/* Order of plans: by goal, then by step, then by item. */
static int compare_plans(const struct search *s, uint32_t a, uint32_t b)
{
    const struct search_plan *x = &s->plans[a], *y = &s->plans[b];
    double of_x = search_goal_of(s, &x->plan), of_y = search_goal_of(s, &y->plan);

    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    if (x->plan.figures.step_s != y->plan.figures.step_s)
        return x->plan.figures.step_s < y->plan.figures.step_s ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

/* Fraction of the memory: recomputation that saves less saves nothing. */
#define SAVED_LEAST 0.001

/* Whether a plan differs from another only by more recomputation, and saves nothing. */
static bool recomputes_for_nothing(const struct search *s, uint32_t plan, uint32_t other)
{
    const struct search_plan *a = &s->plans[plan], *b = &s->plans[other];
    const struct layout *x = &s->items[a->item].layout, *y = &s->items[b->item].layout;
    enum space_choice which;

    return x->value[SPACE_RECOMPUTE] > y->value[SPACE_RECOMPUTE] &&
           a->plan.figures.step_s >= b->plan.figures.step_s &&
           a->plan.figures.memory_bytes >= (1 - SAVED_LEAST) * b->plan.figures.memory_bytes &&
           space_differs(x, y, &which) == 1;
}

/* False if a better plan makes this one redundant; else drops the plans that it makes redundant. */
static bool make_place(struct search *s, uint32_t plan_id)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nbest; i++)
        if (recomputes_for_nothing(s, plan_id, s->best[i]))
            return false;
    for (size_t i = 0; i < s->nbest; i++)
        if (!recomputes_for_nothing(s, s->best[i], plan_id))
            s->best[n++] = s->best[i];
    s->nbest = n;
    return true;
}

/* Insert a plan among the best in their order. */
static void add_best(struct search *s, uint32_t plan_id)
{
    size_t at;

    if (!make_place(s, plan_id))
        return;
    at = s->nbest++;
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

static void note_plan(struct search *s, uint32_t plan_id, const char *why)
{
    const struct search_plan *p = &s->plans[plan_id];

    s->items[p->item].plan = plan_id;
    if (p->plan.state == PLAN_FITS && is_too_slow(s, p->plan.figures.step_s))
        s->ntoo_slow++;
    else if (p->plan.state == PLAN_FITS)
        add_best(s, plan_id);
    else if (p->plan.state == PLAN_REFUSED)
        note_refusal(s, why);
    else
        s->ntoo_big++;
}

/* Plans of a batch, at the end of s->plans until they are noted. */
struct batch {
    struct search *s;
    struct search_plan *plans;
    size_t n;
    bool known[BATCH]; /* from the journal */
    struct shd_error errors[BATCH];
    size_t asked[BATCH], nasked; /* plans asked of a farm */
    uint32_t *next;              /* items whose turn comes next, for idle hands */
    size_t nnext;
    bool no_memory;
};

static const struct layout *layout_of(const struct batch *b, size_t k)
{
    return &b->s->items[b->plans[k].item].layout;
}

static void plan_here(struct batch *b, int nthreads)
{
    bool no_memory = false;

    (void)nthreads;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nthreads) reduction(|| : no_memory)
    for (size_t k = 0; k < b->n; k++)
        if (!b->known[k])
            no_memory |= plan_layout(&b->plans[k].plan, b->s->subject, layout_of(b, k),
                                     &b->errors[k]) != SHD_OK;
    b->no_memory |= no_memory;
}

/* ---- plans by a farm ----
 *
 * A batch is the same however many hands the farm has.  Hands without a plan of the batch plan the
 * layouts whose turn seems to come next; these plans are kept, and not noted before their turn has
 * come. */

static struct search_ahead *find_ahead(const struct search *s, uint32_t item)
{
    for (size_t i = 0; i < s->nahead; i++)
        if (s->ahead[i].item == item)
            return &s->ahead[i];
    return NULL;
}

static bool is_known(const struct search *s, uint32_t item)
{
    return find_ahead(s, item) || journal_find(s->journal, &s->items[item].layout);
}

/* Find the next items of the queue that are ready to be planned, for the idle ones of `nhands`
 * hands.  False: no memory. */
static bool look_ahead(struct batch *b, size_t nhands)
{
    struct search *s = b->s;
    size_t n = 0, most = nhands > b->nasked ? nhands - b->nasked : 0;
    struct search_ahead *ahead;

    if (most == 0)
        return true;
    ahead = realloc(s->ahead, (s->nahead + most) * sizeof *ahead);
    s->ahead = ahead ? ahead : s->ahead;
    b->next = malloc(most * sizeof *b->next);
    if (!ahead || !b->next)
        return false;
    while (n < most && s->nqueue > 0 && s->items[s->queue[0]].level == SEARCH_TIMED)
        b->next[n++] = pop(s);
    for (size_t i = 0; i < n; i++)
        push(s, b->next[i]);
    for (size_t i = 0; i < n; i++)
        if (!is_known(s, b->next[i]))
            b->next[b->nnext++] = b->next[i];
    return true;
}

static void ask_for_plan(void *arg, size_t task, struct text *out)
{
    const struct batch *b = arg;
    const struct layout *layout = task < b->nasked ? layout_of(b, b->asked[task])
                                                   : &b->s->items[b->next[task - b->nasked]].layout;

    task_ask_plan(out, b->s->subject, layout);
}

static int take_plan(void *arg, size_t task, int status, const struct text *answer)
{
    struct batch *b = arg;
    struct search *s = b->s;

    b->no_memory |= status != 0;
    if (status != 0)
        return status;
    if (task < b->nasked) {
        task_take_plan(answer, &b->plans[b->asked[task]].plan, &b->errors[b->asked[task]]);
    } else {
        struct search_ahead *ahead = &s->ahead[s->nahead++];

        ahead->item = b->next[task - b->nasked];
        task_take_plan(answer, &ahead->plan, &ahead->err);
    }
    return 0;
}

/* Move plans that were made ahead into the batch; the others, unless the journal has them, are to
 * be asked for. */
static void take_ahead(struct batch *b)
{
    struct search *s = b->s;

    for (size_t k = 0; k < b->n; k++) {
        struct search_ahead *ahead = find_ahead(s, b->plans[k].item);

        if (ahead) {
            b->plans[k].plan = ahead->plan;
            b->errors[k] = ahead->err;
            *ahead = s->ahead[--s->nahead];
        } else if (!b->known[k]) {
            b->asked[b->nasked++] = k;
        }
    }
}

/* If the farm ends early, the batch keeps only the plans before the first missing plan. */
static void plan_by_farm(struct batch *b, struct farm *farm)
{
    struct farm_round round = {.ask = ask_for_plan, .take = take_plan, .arg = b};
    struct shd_error err;
    size_t ntaken = 0;

    take_ahead(b);
    if (b->nasked == 0)
        return;
    if (look_ahead(b, farm_hands(farm))) {
        round.ntasks = b->nasked + b->nnext;
        b->no_memory |= farm_run(farm, &round, &ntaken, &err) != SHD_OK;
    } else {
        b->no_memory = true;
    }
    if (ntaken < b->nasked)
        b->n = b->asked[ntaken];
    free(b->next);
}

static void find_known(struct batch *b, const uint32_t *items)
{
    for (size_t k = 0; k < b->n; k++) {
        const struct plan *noted;

        b->plans[k] = (struct search_plan){.item = items[k]};
        b->errors[k] = (struct shd_error){.status = SHD_OK};
        noted = journal_find(b->s->journal, layout_of(b, k));
        b->known[k] = noted;
        if (noted)
            b->plans[k].plan = *noted;
    }
}

/* Plan items, and note the plans in the items' order. */
static int plan_batch(struct search *s, const uint32_t *items, size_t n, struct farm *farm,
                      int nthreads, struct shd_error *err)
{
    struct batch b = {.s = s, .n = n};
    int status = SHD_OK;

    if (!make_room(s, n))
        return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
    b.plans = &s->plans[s->nplans];
    find_known(&b, items);
    if (farm)
        plan_by_farm(&b, farm);
    else
        plan_here(&b, nthreads);
    if (b.no_memory)
        return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
    for (size_t k = 0; k < b.n && status == SHD_OK; k++) {
        note_plan(s, (uint32_t)(s->nplans + k), b.errors[k].text);
        if (s->journal && !b.known[k])
            status = journal_add(s->journal, layout_of(&b, k), &b.plans[k].plan, err);
    }
    s->nplans += b.n;
    return status;
}

const struct search_plan *search_plan_item(struct search *s, size_t item)
{
    uint32_t number = (uint32_t)item;
    double begin = now_s();
    struct shd_error err;
    int status = SHD_OK;

    if (s->items[item].plan == UINT32_MAX)
        status = plan_batch(s, &number, 1, NULL, 1, &err);
    s->plans_s += now_s() - begin;
    if (status != SHD_OK)
        return NULL;
    return &s->plans[s->items[item].plan];
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

/* Take the first items of the queue that are at the same level as the very first. */
static size_t take(struct search *s, uint32_t items[BOUND_BATCH], const struct search_opts *opts)
{
    enum search_level level = (enum search_level)s->items[s->queue[0]].level;
    size_t most = level == SEARCH_TIMED ? BATCH : BOUND_BATCH, n = 0;

    if (level == SEARCH_TIMED && opts->nplans && opts->nplans - s->nplans < most)
        most = opts->nplans - s->nplans;
    while (n < most && !is_over(s, opts) && s->items[s->queue[0]].level == level)
        items[n++] = pop(s);
    return n;
}

static void tell_plans(const struct search *s, const struct search_opts *opts, double next_bound_s)
{
    const struct search_progress progress = {
        .what = "plans",
        .ndone = s->nplans,
        .ntotal = s->nitems,
        .best_s = s->nbest && s->within_s == 0 ? s->plans[s->best[0]].plan.figures.step_s : 0,
        .next_bound_s = next_bound_s,
        .layouts_per_s = (double)s->nlayouts / (s->pieces_s + s->bounds_s + s->plans_s)};

    tell(opts, &progress);
}

static int look_closer(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    uint32_t items[BOUND_BATCH];
    size_t n = take(s, items, opts);
    enum search_level level = (enum search_level)s->items[items[0]].level;
    size_t before = s->nplans;
    double begin = now_s();
    int status;

    if (level == SEARCH_TIMED) {
        tell_plans(s, opts, s->items[items[0]].bound_s);
        status = plan_batch(s, items, n, opts->farm, opts->nthreads, err);
        for (size_t k = s->nplans - before; k < n; k++)
            push(s, items[k]); /* the search was stopped */
        s->plans_s += now_s() - begin;
        return status;
    }
    status = bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
    for (size_t k = 0; k < n; k++)
        if (!s->items[items[k]].out)
            push(s, items[k]);
    return status;
}

static int find_best(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    int status = SHD_OK;

    while (status == SHD_OK && !stopped(opts) && !is_over(s, opts))
        status = look_closer(s, opts, err);
    s->over = s->nlevels[SEARCH_SCALED] > 0 && is_over(s, opts);
    if (s->nlevels[SEARCH_SCALED] == 0) /* stopped before any bound */
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
        if (!s->items[i].out && space_has(part, &s->items[i].layout))
            push(s, i);
}

/* Bound the first items of the queue at the next level. */
static int look_at_part(struct search *s, const struct search_opts *opts, struct shd_error *err)
{
    enum search_level level = (enum search_level)s->items[s->queue[0]].level;
    uint32_t items[PART_BATCH];
    size_t n = 0;
    int status;

    do
        items[n++] = pop(s);
    while (n < PART_BATCH && s->nqueue > 0 && s->items[s->queue[0]].level == level);
    status = bound_batch(s, items, n, (enum search_level)(level + 1), opts, err);
    for (size_t k = 0; k < n; k++)
        if (!s->items[items[k]].out)
            push(s, items[k]);
    return status;
}

/* Whether no bound in the queue is below the best planned layout of a part; planned layouts leave
 * the queue. */
static bool is_found(struct search *s, double *best)
{
    while (s->nqueue > 0 && s->items[s->queue[0]].plan != UINT32_MAX) {
        const struct plan *plan = &s->plans[s->items[pop(s)].plan].plan;

        if (plan->state == PLAN_FITS && !is_too_slow(s, plan->figures.step_s))
            *best = fmin(*best, search_goal_of(s, plan));
    }
    return s->nqueue == 0 || search_bound_of(s, s->queue[0]) >= *best;
}

int search_among(struct search *s, const struct space *part, const struct search_opts *opts,
                 uint32_t *first, struct shd_error *err)
{
    int status = SHD_OK, nlooks = 0, nplans = 0;
    double best = INFINITY;

    queue_part(s, part);
    while (status == SHD_OK && !is_found(s, &best) && nlooks < PART_LOOKS && nplans < PART_PLANS &&
           !stopped(opts)) {
        if (s->items[s->queue[0]].level < SEARCH_TIMED) {
            status = look_at_part(s, opts, err);
            nlooks++;
        } else if (search_plan_item(s, s->queue[0])) {
            nplans++;
        } else {
            status = shd_error_set(err, SHD_ENOMEM, "no memory for plans");
        }
    }
    *first = s->nqueue > 0 ? s->queue[0] : UINT32_MAX;
    return status;
}

/* Layouts that were dropped as too big return to the queue, the lowest bound on memory first. */
int search_least_memory(struct search *s, const struct space *part, const struct search_opts *opts,
                        uint32_t *first, struct shd_error *err)
{
    bool all = s->all;
    double within_s = s->within_s;
    int status = SHD_OK;

    for (size_t i = 0; i < s->nitems; i++)
        if (s->items[i].out && is_too_big(s, &s->items[i]) && space_has(part, &s->items[i].layout))
            s->items[i].out = false;
    s->all = true;
    s->within_s = INFINITY; /* minimize memory, however long the step */
    queue_part(s, part);
    for (int looks = 0; status == SHD_OK && s->nqueue > 0 && looks < PART_LOOKS && !stopped(opts) &&
                        s->items[s->queue[0]].level < SEARCH_TIMED;
         looks++)
        status = look_at_part(s, opts, err);
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
    struct layout *layouts;
    double begin = now_s();
    size_t n;
    int status = space_list(&layouts, &n, &s->subject->space, err);

    if (status != SHD_OK)
        return status;
    s->items = n && n < UINT32_MAX ? calloc(n, sizeof *s->items) : NULL;
    for (size_t i = 0; i < n && s->items; i++)
        s->items[i] = (struct search_item){.layout = layouts[i],
                                           .scaled = UINT32_MAX,
                                           .replicas = UINT32_MAX,
                                           .layers = UINT32_MAX,
                                           .plan = UINT32_MAX};
    free(layouts);
    if (n == 0)
        return none_divides(s, err);
    if (!s->items)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu layouts", n);
    s->nitems = s->nlayouts = n;
    s->bounds_s += now_s() - begin;
    return SHD_OK;
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
    pieces_destroy(search->pieces);
    free(search->items);
    free(search->queue);
    free(search->plans);
    free(search->best);
    free(search->ahead);
    *search = (struct search){.subject = NULL};
}
