/* Timing the actions of a timetable.  Ranks are visited from a list of ranks that may be able to go
 * on: all at first, then every rank that may have waited for an action just done.  So each action
 * is examined when its rank gets to it, and at most once more for each action that it waits for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/walk.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"

#define NOBODY UINT32_MAX /* above all action numbers, which are below TIMETABLE_ACTIONS_MAX */

/* Results that actions wait for, each of one stage and microbatch. */
enum { MADE_FORWARD, MADE_INPUT, MADE_WEIGHT, NMADE };

struct walker {
    const struct timetable *t;
    const struct timetable_times *times;
    struct timetable_walk *walk;
    /* Number of the action that makes the output, the input gradient or the weight gradient of a
     * stage for a microbatch: [what][stage * nmicrobatches + microbatch]. */
    uint32_t *maker[NMADE];
    size_t *next;    /* [rank]: number of its first action not done */
    double *clock;   /* [rank]: end of its last action done */
    uint32_t *ready; /* ranks to visit, a ring of nranks */
    bool *is_ready;  /* [rank]: in the ring */
    size_t first_ready, nready;
};

static size_t place_of(const struct timetable *t, uint32_t stage, uint32_t microbatch)
{
    return (size_t)stage * t->nmicrobatches + microbatch;
}

static uint32_t rank_of(const struct walker *w, const struct timetable_action *a)
{
    return w->t->rank_of_stage[a->stage];
}

/* ---- which action makes what ---- */

static int claim(struct walker *w, int what, uint32_t number, struct shd_error *err)
{
    const struct timetable_action *a = &w->t->actions[number];
    uint32_t *maker = &w->maker[what][place_of(w->t, a->stage, a->microbatch)];
    char one[TIMETABLE_ACTION_TEXT_MAX], other[TIMETABLE_ACTION_TEXT_MAX];

    if (*maker != NOBODY)
        return shd_error_set(err, SHD_EINVAL, "rank %u does both %s and %s",
                             (unsigned)rank_of(w, a),
                             timetable_print_action(one, sizeof one, &w->t->actions[*maker]),
                             timetable_print_action(other, sizeof other, a));
    *maker = number;
    return SHD_OK;
}

static int register_action(struct walker *w, uint32_t rank, uint32_t number, struct shd_error *err)
{
    const struct timetable_action *a = &w->t->actions[number];
    int status = SHD_OK;

    if (a->stage >= w->t->nstages || a->microbatch >= w->t->nmicrobatches ||
        a->kind >= TIMETABLE_KINDS)
        return shd_error_set(err, SHD_EINVAL,
                             "rank %u has an action of stage %u and microbatch %u; expected one of "
                             "%u stages and %u microbatches",
                             (unsigned)rank, (unsigned)a->stage, (unsigned)a->microbatch,
                             (unsigned)w->t->nstages, (unsigned)w->t->nmicrobatches);
    if (rank_of(w, a) != rank)
        return shd_error_set(err, SHD_EINVAL,
                             "rank %u has an action of stage %u, which rank %u has", (unsigned)rank,
                             (unsigned)a->stage, (unsigned)rank_of(w, a));
    if (a->kind == TIMETABLE_FORWARD)
        return claim(w, MADE_FORWARD, number, err);
    if (a->kind != TIMETABLE_BACKWARD_WEIGHT)
        status = claim(w, MADE_INPUT, number, err);
    if (status == SHD_OK && a->kind != TIMETABLE_BACKWARD_INPUT)
        status = claim(w, MADE_WEIGHT, number, err);
    return status;
}

/* Check that an overlapped pair is a forward and the full backward right after it. */
static int check_pair(const struct walker *w, uint32_t rank, size_t number, struct shd_error *err)
{
    const struct timetable_action *a = &w->t->actions[number];

    if (!a->overlapped || (a->kind == TIMETABLE_FORWARD && number + 1 < w->t->first[rank + 1] &&
                           a[1].kind == TIMETABLE_BACKWARD && !a[1].overlapped))
        return SHD_OK;
    return shd_error_set(err, SHD_EINVAL,
                         "rank %u: only a forward overlaps with a full backward behind it",
                         (unsigned)rank);
}

static int register_all(struct walker *w, struct shd_error *err)
{
    size_t n = (size_t)w->t->nstages * w->t->nmicrobatches;
    int status = SHD_OK;

    for (int what = 0; what < NMADE; what++)
        for (size_t i = 0; i < n; i++)
            w->maker[what][i] = NOBODY;
    for (uint32_t r = 0; r < w->t->nranks; r++)
        for (size_t i = w->t->first[r]; status == SHD_OK && i < w->t->first[r + 1]; i++) {
            status = register_action(w, r, (uint32_t)i, err);
            if (status == SHD_OK)
                status = check_pair(w, r, i, err);
        }
    return status;
}

/* ---- which action waits for which ---- */

/* A result that an action waits for. */
struct need {
    int what;
    uint32_t stage, microbatch;
};

/* Fill in the results that an action waits for; returns their number, at most two. */
static int needs_of(struct need *out, const struct timetable *t, const struct timetable_action *a)
{
    int n = 0;

    switch ((enum timetable_kind)a->kind) {
    case TIMETABLE_FORWARD:
        if (a->stage > 0)
            out[n++] = (struct need){MADE_FORWARD, a->stage - 1, a->microbatch};
        break;
    case TIMETABLE_BACKWARD:
    case TIMETABLE_BACKWARD_INPUT:
        out[n++] = (struct need){MADE_FORWARD, a->stage, a->microbatch};
        if (a->stage + 1 < t->nstages)
            out[n++] = (struct need){MADE_INPUT, a->stage + 1, a->microbatch};
        break;
    case TIMETABLE_BACKWARD_WEIGHT:
        out[n++] = (struct need){MADE_INPUT, a->stage, a->microbatch};
        break;
    }
    return n;
}

static uint32_t maker_of(const struct walker *w, const struct need *need)
{
    return w->maker[need->what][place_of(w->t, need->stage, need->microbatch)];
}

/* Raise *when to the time at which all results that an action needs are made; false, with a missing
 * result, if one is not made yet. */
static bool is_there(const struct walker *w, size_t number, double *when, struct need *missing)
{
    struct need needs[2];
    int n = needs_of(needs, w->t, &w->t->actions[number]);

    for (int i = 0; i < n; i++) {
        uint32_t maker = maker_of(w, &needs[i]);

        if (maker == NOBODY || maker >= w->next[w->t->rank_of_stage[needs[i].stage]]) {
            *missing = needs[i];
            return false;
        }
        *when = w->walk->end[maker] > *when ? w->walk->end[maker] : *when;
    }
    return true;
}

/* ---- doing actions ---- */

static void visit_later(struct walker *w, uint32_t rank)
{
    if (w->is_ready[rank])
        return;
    w->is_ready[rank] = true;
    w->ready[(w->first_ready + w->nready++) % w->t->nranks] = rank;
}

/* Visit the ranks that may have waited for the result of an action. */
static void wake(struct walker *w, const struct timetable_action *a)
{
    if (a->kind == TIMETABLE_FORWARD && a->stage + 1 < w->t->nstages)
        visit_later(w, w->t->rank_of_stage[a->stage + 1]);
    if ((a->kind == TIMETABLE_BACKWARD || a->kind == TIMETABLE_BACKWARD_INPUT) && a->stage > 0)
        visit_later(w, w->t->rank_of_stage[a->stage - 1]);
}

static double duration(const struct walker *w, enum timetable_kind kind)
{
    const double durations[TIMETABLE_KINDS] = {w->times->forward, w->times->backward,
                                               w->times->backward_input, w->times->backward_weight};

    return durations[kind];
}

/* Number of actions that a rank does at once from its next action on: two for an overlapped pair
 * with a time of its own, else one. */
static size_t together(const struct walker *w, uint32_t rank)
{
    return w->t->actions[w->next[rank]].overlapped && w->times->overlapped > 0 ? 2 : 1;
}

/* Do the next action or overlapped pair of a rank; false if there is none or a result is
 * missing. */
static bool step(struct walker *w, uint32_t rank)
{
    size_t number = w->next[rank], n;
    double when = w->clock[rank], end;
    struct need missing;

    if (number == w->t->first[rank + 1])
        return false;
    n = together(w, rank);
    for (size_t i = 0; i < n; i++)
        if (!is_there(w, number + i, &when, &missing))
            return false;
    end = when + (n == 2 ? w->times->overlapped : duration(w, w->t->actions[number].kind));
    for (size_t i = 0; i < n; i++) {
        w->walk->start[number + i] = when;
        w->walk->end[number + i] = end;
    }
    w->clock[rank] = end;
    w->next[rank] += n;
    for (size_t i = 0; i < n; i++)
        wake(w, &w->t->actions[number + i]);
    return true;
}

static void go(struct walker *w)
{
    for (uint32_t r = 0; r < w->t->nranks; r++)
        visit_later(w, r);
    while (w->nready > 0) {
        uint32_t rank = w->ready[w->first_ready];

        w->first_ready = (w->first_ready + 1) % w->t->nranks;
        w->nready--;
        w->is_ready[rank] = false;
        while (step(w, rank))
            ;
    }
}

/* ---- timetables that cannot finish ---- */

/* A missing result that the next action of a stuck rank waits for. */
static struct need missing_of(const struct walker *w, uint32_t rank)
{
    struct need missing = {0};
    double when = 0;
    size_t n = together(w, rank);

    for (size_t i = 0; i < n; i++)
        if (!is_there(w, w->next[rank] + i, &when, &missing))
            break;
    return missing;
}

/* The rank that a stuck rank waits for; NOBODY if no rank makes the missing result. */
static uint32_t waits_for(const struct walker *w, uint32_t rank)
{
    struct need missing = missing_of(w, rank);

    return maker_of(w, &missing) == NOBODY ? NOBODY : w->t->rank_of_stage[missing.stage];
}

/* Add "1F0 of rank 1", or the missing action that no rank does. */
static void add_awaited(struct text *out, const struct walker *w, uint32_t rank)
{
    static const char *const letters[NMADE] = {"F", "B", "W"};
    struct need missing = missing_of(w, rank);
    uint32_t maker = maker_of(w, &missing);
    char name[TIMETABLE_ACTION_TEXT_MAX];

    if (maker == NOBODY) {
        text_addf(out, "%u%s%u, which no rank does", (unsigned)missing.stage, letters[missing.what],
                  (unsigned)missing.microbatch);
        return;
    }
    timetable_print_action(name, sizeof name, &w->t->actions[maker]);
    if (w->t->rank_of_stage[missing.stage] == rank)
        text_addf(out, "%s, which it does later itself", name);
    else
        text_addf(out, "%s of rank %u", name, (unsigned)w->t->rank_of_stage[missing.stage]);
}

#define SAID_MAX 3 /* ranks of a circle named in a message, which counts all of them */

/* From a stuck rank, follow the waits until a rank comes up again, or no rank makes the missing
 * result.  is_ready[], which has no more use, marks the visited ranks. */
static int tell_stuck(struct walker *w, uint32_t rank, struct shd_error *err)
{
    struct text out = TEXT_INIT;
    char name[TIMETABLE_ACTION_TEXT_MAX];
    uint32_t at, next, n = 0;
    int status;

    while (!w->is_ready[rank]) {
        w->is_ready[rank] = true;
        next = waits_for(w, rank);
        if (next == NOBODY)
            break;
        rank = next;
    }
    text_addf(&out, "the timetable cannot finish: rank %u, at %s, waits for ", (unsigned)rank,
              timetable_print_action(name, sizeof name, &w->t->actions[w->next[rank]]));
    at = rank;
    do {
        if (n > 0 && n < SAID_MAX)
            text_add(&out, ", which waits for ");
        if (n < SAID_MAX)
            add_awaited(&out, w, at);
        at = waits_for(w, at);
        n++;
    } while (at != rank && at != NOBODY);
    if (n > SAID_MAX)
        text_addf(&out, ", and so on: a cycle of %u ranks", (unsigned)n);
    status = out.failed ? shd_error_set(err, SHD_ENOMEM, "no memory for a message")
                        : shd_error_set(err, SHD_ESTUCK, "%s", text_get(&out));
    text_fini(&out);
    return status;
}

static int check_done(struct walker *w, struct shd_error *err)
{
    for (uint32_t r = 0; r < w->t->nranks; r++)
        if (w->next[r] < w->t->first[r + 1])
            return tell_stuck(w, r, err);
    return SHD_OK;
}

/* ---- sums ---- */

static void count_live(const struct timetable *t, uint32_t rank, struct timetable_walk *walk)
{
    uint32_t input = 0, weight = 0, most_input = 0, most_weight = 0;

    for (size_t i = t->first[rank]; i < t->first[rank + 1]; i++) {
        enum timetable_kind kind = t->actions[i].kind;

        if (kind == TIMETABLE_FORWARD) {
            input++;
            weight++;
        }
        most_input = input > most_input ? input : most_input;
        most_weight = weight > most_weight ? weight : most_weight;
        input -= kind == TIMETABLE_BACKWARD || kind == TIMETABLE_BACKWARD_INPUT;
        weight -= kind == TIMETABLE_BACKWARD || kind == TIMETABLE_BACKWARD_WEIGHT;
    }
    walk->live_until_input[rank] = most_input;
    walk->live_until_weight[rank] = most_weight;
}

/* Time that a rank works: numbers of actions times durations, which round less than a long sum. */
static double busy(const struct walker *w, uint32_t rank)
{
    size_t n[TIMETABLE_KINDS] = {0}, npairs = 0;
    double sum = 0;

    for (size_t i = w->t->first[rank]; i < w->t->first[rank + 1]; i++) {
        if (w->t->actions[i].overlapped && w->times->overlapped > 0) {
            npairs++;
            i++; /* skip the backward of the pair */
        } else {
            n[w->t->actions[i].kind]++;
        }
    }
    for (int k = 0; k < TIMETABLE_KINDS; k++)
        sum += (double)n[k] * duration(w, (enum timetable_kind)k);
    return sum + (double)npairs * w->times->overlapped;
}

static void sum_up(const struct walker *w)
{
    struct timetable_walk *walk = w->walk;
    double span = 0, work = 0;

    for (uint32_t r = 0; r < w->t->nranks; r++) {
        span = w->clock[r] > span ? w->clock[r] : span;
        walk->busy[r] = busy(w, r);
        work += walk->busy[r];
        count_live(w->t, r, walk);
    }
    walk->makespan = span;
    walk->bubble = span > 0 ? 1 - work / (span * w->t->nranks) : 0;
}

/* ---- the whole walk ---- */

static int check_times(const struct timetable_times *t, struct shd_error *err)
{
    const double all[] = {t->forward, t->backward, t->backward_input, t->backward_weight,
                          t->overlapped};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!(all[i] >= 0 && all[i] <= 1e100))
            return shd_error_set(err, SHD_EINVAL,
                                 "an action takes a time of %g; expected 0 to 1e100", all[i]);
    return SHD_OK;
}

static bool allocate(struct walker *w)
{
    size_t nactions = timetable_nactions(w->t), nranks = w->t->nranks;
    size_t nplaces = (size_t)w->t->nstages * w->t->nmicrobatches;
    struct timetable_walk *walk = w->walk;
    bool there = true;

    for (int what = 0; what < NMADE; what++) {
        w->maker[what] = malloc(nplaces * sizeof *w->maker[what]);
        there &= w->maker[what] != NULL;
    }
    w->next = malloc(nranks * sizeof *w->next);
    w->clock = calloc(nranks, sizeof *w->clock);
    w->ready = calloc(nranks, sizeof *w->ready);
    w->is_ready = calloc(nranks, sizeof *w->is_ready);
    walk->start = calloc(nactions + 1, sizeof *walk->start);
    walk->end = calloc(nactions + 1, sizeof *walk->end);
    walk->busy = calloc(nranks, sizeof *walk->busy);
    walk->live_until_input = calloc(nranks, sizeof *walk->live_until_input);
    walk->live_until_weight = calloc(nranks, sizeof *walk->live_until_weight);
    return there && w->next && w->clock && w->ready && w->is_ready && walk->start && walk->end &&
           walk->busy && walk->live_until_input && walk->live_until_weight;
}

void timetable_walk_fini(struct timetable_walk *walk)
{
    free(walk->start);
    free(walk->end);
    free(walk->busy);
    free(walk->live_until_input);
    free(walk->live_until_weight);
    *walk = (struct timetable_walk){0};
}

int timetable_walk(struct timetable_walk *out, const struct timetable *timetable,
                   const struct timetable_times *times, struct shd_error *err)
{
    struct timetable_walk walk = {0};
    struct walker w = {.t = timetable, .times = times, .walk = &walk};
    int status = check_times(times, err);

    assert(timetable_nactions(timetable) <= TIMETABLE_ACTIONS_MAX);
    if (status == SHD_OK && !allocate(&w))
        status = shd_error_set(err, SHD_ENOMEM, "no memory to walk the timetable of %u ranks",
                               (unsigned)timetable->nranks);
    if (status == SHD_OK)
        status = register_all(&w, err);
    if (status == SHD_OK) {
        for (uint32_t r = 0; r < timetable->nranks; r++)
            w.next[r] = timetable->first[r];
        go(&w);
        status = check_done(&w, err);
    }
    if (status == SHD_OK) {
        sum_up(&w);
        *out = walk;
    } else {
        timetable_walk_fini(&walk);
    }
    for (int what = 0; what < NMADE; what++)
        free(w.maker[what]);
    free(w.next);
    free(w.clock);
    free(w.ready);
    free(w.is_ready);
    return status;
}
