/* Planning layouts together, here or by a farm, and noting the plans in order
 * (search/search_work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "search/search_work.h"
#include "search/task.h"

double search_goal_of(const struct search *s, const struct plan *plan)
{
    return s->within_s > 0 ? plan->figures.memory_bytes : plan->figures.step_s;
}

bool search_is_beaten(const struct search *s, const struct search_opts *opts, uint32_t item)
{
    return !opts->all && s->nbest >= opts->ntop &&
           search_bound_of(s, item) > search_goal_of(s, &s->plans[s->best[opts->ntop - 1]].plan);
}

/* Order of plans: by goal, then by step, then as the space lists them. */
static int compare_plans(const struct search *s, uint32_t a, uint32_t b)
{
    const struct search_plan *x = &s->plans[a], *y = &s->plans[b];
    double of_x = search_goal_of(s, &x->plan), of_y = search_goal_of(s, &y->plan);

    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    if (x->plan.figures.step_s != y->plan.figures.step_s)
        return x->plan.figures.step_s < y->plan.figures.step_s ? -1 : 1;
    return s->items[x->item].number < s->items[y->item].number ? -1 : 1;
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
    if (p->plan.state == VARIANT_FITS && search_is_too_slow(s, p->plan.figures.step_s))
        s->ntoo_slow++;
    else if (p->plan.state == VARIANT_FITS)
        add_best(s, plan_id);
    else if (p->plan.state == VARIANT_REFUSED)
        refusals_add(&s->refusals, 1, why);
    else
        s->ntoo_big++;
}

/* Plans of a batch, at the end of s->plans until they are noted. */
struct batch {
    struct search *s;
    struct search_plan *plans;
    size_t n;
    bool known[SEARCH_BATCH]; /* from the journal */
    struct shd_error errors[SEARCH_BATCH];
    size_t asked[SEARCH_BATCH], nasked; /* plans asked of a farm */
    uint32_t *next;                     /* items whose turn comes next, for idle hands */
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
        b->next[n++] = search_pop(s);
    for (size_t i = 0; i < n; i++)
        search_push(s, b->next[i]);
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

int search_plan_batch(struct search *s, const uint32_t *items, size_t n, struct farm *farm,
                      int nthreads, struct shd_error *err)
{
    struct batch b = {.s = s, .n = n};
    double begin = search_now_s();
    int status = SHD_OK;

    if (!make_room(s, n))
        return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
    b.plans = &s->plans[s->nplans];
    find_known(&b, items);
    if (farm)
        plan_by_farm(&b, farm);
    else
        plan_here(&b, nthreads);
    s->plans_s += search_now_s() - begin;
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
    struct shd_error err;
    int status = SHD_OK;

    if (s->items[item].plan == UINT32_MAX)
        status = search_plan_batch(s, &number, 1, NULL, 1, &err);
    if (status != SHD_OK)
        return NULL;
    return &s->plans[s->items[item].plan];
}

int search_adopt(struct search *s, const struct search *other, struct shd_error *err)
{
    int status = SHD_OK;

    if (other->nplans > 0 && !make_room(s, other->nplans))
        return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
    for (size_t k = 0; k < other->nplans && status == SHD_OK; k++) {
        const struct search_plan *plan = &other->plans[k];
        uint32_t item;

        if (plan->plan.state == VARIANT_REFUSED)
            continue;
        status = search_item_of(s, &other->items[plan->item].layout, &item, err);
        if (status != SHD_OK || item == UINT32_MAX || s->items[item].plan != UINT32_MAX)
            continue;
        s->plans[s->nplans] = (struct search_plan){.plan = plan->plan, .item = item};
        note_plan(s, (uint32_t)s->nplans++, NULL);
    }
    return status;
}
