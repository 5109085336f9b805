/* Tests sim/timetable for every schedule of its table and many sizes: each action runs once and in
 * an order that finishes, the bubble equals its closed form, and live microbatches are counted
 * right; a timetable that cannot finish is refused with the circle of waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"
#include "timetable/table.h"
#include "timetable/walk.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct timetable_times unit = TIMETABLE_TIMES_UNIT;

/* ---- random numbers: xorshift ---- */

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* A duration in eighths, so that sums are exact. */
static double random_time(void)
{
    return (1 + below(24)) / 8.0;
}

/* ---- every schedule, many sizes ---- */

/* Whether each stage and microbatch has one forward, one input gradient and one weight gradient,
 * all on the rank of the stage. */
static bool is_whole(const struct timetable *t)
{
    size_t n = (size_t)t->nstages * t->nmicrobatches;
    uint8_t *seen = calloc(n, 3);
    bool whole = seen != NULL;

    for (uint32_t r = 0; whole && r < t->nranks; r++)
        for (size_t i = t->first[r]; whole && i < t->first[r + 1]; i++) {
            const struct timetable_action *a = &t->actions[i];
            uint8_t *at = seen + 3 * ((size_t)a->stage * t->nmicrobatches + a->microbatch);

            whole = a->stage < t->nstages && a->microbatch < t->nmicrobatches &&
                    t->rank_of_stage[a->stage] == r;
            if (!whole)
                break;
            at[0] += a->kind == TIMETABLE_FORWARD;
            at[1] += a->kind == TIMETABLE_BACKWARD || a->kind == TIMETABLE_BACKWARD_INPUT;
            at[2] += a->kind == TIMETABLE_BACKWARD || a->kind == TIMETABLE_BACKWARD_WEIGHT;
        }
    for (size_t i = 0; whole && i < 3 * n; i++)
        whole = seen[i] == 1;
    free(seen);
    return whole;
}

/* When the output or gradient of a stage and microbatch is ready, by linear search. */
static double end_of(const struct timetable *t, const struct timetable_walk *walk, uint32_t stage,
                     uint32_t microbatch, bool forward)
{
    for (size_t i = 0; i < timetable_nactions(t); i++) {
        const struct timetable_action *a = &t->actions[i];

        if (a->stage == stage && a->microbatch == microbatch &&
            (a->kind == TIMETABLE_FORWARD) == forward && a->kind != TIMETABLE_BACKWARD_WEIGHT)
            return walk->end[i];
    }
    return INFINITY;
}

/* Whether each action begins exactly when its operand is ready and the rank's previous action has
 * ended. */
static bool times_hold(const struct timetable *t, const struct timetable_walk *walk)
{
    for (uint32_t r = 0; r < t->nranks; r++)
        for (size_t i = t->first[r]; i < t->first[r + 1]; i++) {
            const struct timetable_action *a = &t->actions[i];
            double when = i > t->first[r] ? walk->end[i - 1] : 0;

            if (a->kind == TIMETABLE_FORWARD && a->stage > 0)
                when = fmax(when, end_of(t, walk, a->stage - 1, a->microbatch, true));
            if (a->kind == TIMETABLE_BACKWARD || a->kind == TIMETABLE_BACKWARD_INPUT) {
                when = fmax(when, end_of(t, walk, a->stage, a->microbatch, true));
                if (a->stage + 1 < t->nstages)
                    when = fmax(when, end_of(t, walk, a->stage + 1, a->microbatch, false));
            }
            if (a->kind == TIMETABLE_BACKWARD_WEIGHT)
                when = fmax(when, end_of(t, walk, a->stage, a->microbatch, false));
            if (walk->start[i] != when)
                return false;
        }
    return true;
}

static double idle_longest(const struct timetable *t, const struct timetable_walk *walk)
{
    double least = walk->busy[0];

    for (uint32_t r = 1; r < t->nranks; r++)
        least = fmin(least, walk->busy[r]);
    return walk->makespan - least;
}

/* Whether a rank runs as many forwards before its first backward, and before the first action of
 * its last stage, as its schedule says. */
static bool begins_so(const struct timetable *t, const struct timetable_schedule *schedule,
                      const struct timetable_sizes *sizes, uint32_t r)
{
    uint32_t most = (sizes->stages_per_rank - 1) * timetable_round(schedule, sizes), last = 0;
    uint64_t said = timetable_ahead(schedule, sizes, r);
    size_t ahead = 0, before = 0;

    for (uint32_t s = 0; s < t->nstages; s++)
        last = t->rank_of_stage[s] == r ? s : last;
    while (t->actions[t->first[r] + ahead].kind == TIMETABLE_FORWARD)
        ahead++;
    while (t->actions[t->first[r] + before].stage != last)
        before++;
    return before <= most && (schedule->ahead ? ahead == said : ahead >= said);
}

/* Counts over all sizes of a schedule. */
struct findings {
    unsigned nbuilt, nrefused, nformula;
    unsigned broken, stuck, mistimed, wrong_bubble, wrong_message, wrong_ahead;
    unsigned flags;               /* flags that the schedule's timetables show */
    struct timetable_sizes where; /* the last sizes that were wrong */
};

static void note(struct findings *f, unsigned *count, bool wrong,
                 const struct timetable_sizes *sizes)
{
    if (!wrong)
        return;
    ++*count;
    f->where = *sizes;
}

static void walk_it(struct findings *f, const struct timetable_schedule *schedule,
                    const struct timetable_sizes *sizes, const struct timetable *t,
                    const struct timetable_times *times)
{
    struct timetable_walk walk;
    struct shd_error err;
    int status = timetable_walk(&walk, t, times, &err);

    note(f, &f->stuck, status != SHD_OK, sizes);
    if (status != SHD_OK) {
        diag("%s", err.text);
        return;
    }
    if (times->overlapped == 0 && timetable_nactions(t) < 400)
        note(f, &f->mistimed, !times_hold(t, &walk), sizes);
    if (schedule->bubble.holds(sizes, times)) {
        f->nformula++;
        note(f, &f->wrong_bubble,
             fabs(idle_longest(t, &walk) - schedule->bubble.idle(sizes, times)) >
                 1e-9 * walk.makespan,
             sizes);
    }
    timetable_walk_fini(&walk);
}

static void look_at(struct findings *f, const struct timetable_schedule *schedule,
                    const struct timetable_sizes *sizes, const struct timetable *t)
{
    for (size_t i = 0; i < timetable_nactions(t); i++)
        f->flags |= (t->actions[i].kind == TIMETABLE_BACKWARD_WEIGHT ? TIMETABLE_SPLITS : 0) |
                    (t->actions[i].overlapped ? TIMETABLE_OVERLAPS : 0);
    f->flags |= t->nranks > 1 && t->nstages > t->nranks && t->rank_of_stage[t->nranks] > 0
                    ? TIMETABLE_V_SHAPED
                    : 0;
    f->flags |= sizes->stages_per_rank != schedule->stages_per_rank ? TIMETABLE_ANY_STAGES : 0;
    for (uint32_t r = 0; r < t->nranks; r++)
        note(f, &f->wrong_ahead, !begins_so(t, schedule, sizes, r), sizes);
}

static void try_sizes(struct findings *f, const struct timetable_schedule *schedule,
                      const struct timetable_sizes *sizes)
{
    struct timetable_times times = {random_time(), 0, random_time(), random_time(), 0};
    struct timetable_times even = {0.75, 1.5, 0.75, 0.75, 1.5 + below(7) / 8.0};
    struct timetable *t = NULL;
    struct shd_error err = {.text = ""};
    int status = timetable_build(&t, schedule, sizes, &err);

    if (status != SHD_OK) {
        f->nrefused++;
        note(f, &f->wrong_message,
             t || (status != SHD_EINVAL && status != SHD_EINDIVISIBLE) ||
                 !strstr(err.text, schedule->name),
             sizes);
        return;
    }
    f->nbuilt++;
    note(f, &f->broken, !is_whole(t), sizes);
    look_at(f, schedule, sizes, t);
    times.backward = times.backward_input + times.backward_weight;
    walk_it(f, schedule, sizes, t, &unit);
    walk_it(f, schedule, sizes, t, &times);
    walk_it(f, schedule, sizes, t, &even);
    timetable_destroy(t);
}

static void test_schedule(const struct timetable_schedule *schedule)
{
    const unsigned shown =
        TIMETABLE_SPLITS | TIMETABLE_OVERLAPS | TIMETABLE_V_SHAPED | TIMETABLE_ANY_STAGES;
    struct findings f = {0};
    struct timetable_sizes s;
    const char *name = schedule->name;

    for (s.nranks = 1; s.nranks <= 9; s.nranks++)
        for (s.stages_per_rank = 1; s.stages_per_rank <= 4; s.stages_per_rank++)
            for (s.nmicrobatches = 1; s.nmicrobatches <= 30; s.nmicrobatches++)
                try_sizes(&f, schedule, &s);
    if (f.where.nranks)
        diag("%s: last wrong with p %u, v %u, m %u", name, (unsigned)f.where.nranks,
             (unsigned)f.where.stages_per_rank, (unsigned)f.where.nmicrobatches);
    ok(f.nbuilt > 100, "%s: built for %u sizes", name, f.nbuilt);
    ok(f.wrong_message == 0, "%s: refused for %u sizes, by name", name, f.nrefused);
    ok(f.broken == 0, "%s: each action once, on the rank of its stage", name);
    ok(f.stuck == 0, "%s: finishes", name);
    ok(f.mistimed == 0, "%s: no action begins early or late", name);
    ok(f.wrong_ahead == 0, "%s: forwards before the first backward, and of the last stage", name);
    if (!ok((schedule->flags & shown) == f.flags, "%s: the flags agree with its timetables", name))
        diag("flags %#x, shown %#x", schedule->flags & shown, f.flags);
    ok(f.nformula > 50 && f.wrong_bubble == 0, "%s: bubble is %s, %u times", name,
       schedule->bubble.formula, f.nformula);
}

/* ---- what single schedules are known for ---- */

static struct timetable *build(const char *name, uint32_t p, uint32_t v, uint32_t m)
{
    const struct timetable_sizes sizes = {p, v, m};
    const struct timetable_schedule *schedule;
    struct timetable *t = NULL;

    if (timetable_find(&schedule, name, NULL) != SHD_OK ||
        timetable_build(&t, schedule, &sizes, NULL) != SHD_OK)
        return NULL;
    return t;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The most microbatches alive on a rank, by a law of each schedule; 0: no law is known. */
static uint32_t live_gpipe(uint32_t p, uint32_t r, uint32_t m)
{
    (void)p;
    (void)r;
    return m;
}

static uint32_t live_1f1b(uint32_t p, uint32_t r, uint32_t m)
{
    return least(m, p - r);
}

static uint32_t live_all_stages(uint32_t p, uint32_t r, uint32_t m)
{
    (void)p;
    (void)r;
    return 2 * m;
}

/* Two stages per rank, each half a microbatch's work: p whole microbatches. */
static uint32_t live_zbv(uint32_t p, uint32_t r, uint32_t m)
{
    (void)r;
    return m >= 2 * p - 1 ? 2 * p : 0;
}

static uint32_t live_dualpipev(uint32_t p, uint32_t r, uint32_t m)
{
    (void)r;
    return m >= 2 * p ? 2 * p + 1 : 0;
}

/* Megatron-LM, arXiv:2104.04473, two stages per rank: p for the stage that is not the last, 2 (p -
 * 1 - r) on the way to the last rank and back, and the one in progress. */
static uint32_t live_interleaved(uint32_t p, uint32_t r, uint32_t m)
{
    return m % p ? 0 : least(2 * m, p + 2 * (p - 1 - r) + 1);
}

static uint32_t live_zb_h1_weight(uint32_t p, uint32_t r, uint32_t m)
{
    (void)r;
    return least(m, p);
}

static const struct live_law {
    const char *name;
    uint32_t v;
    bool until_weight;
    uint32_t (*live)(uint32_t p, uint32_t r, uint32_t m);
} live_laws[] = {
    {"GPipe", 1, false, live_gpipe},
    {"1F1B", 1, false, live_1f1b},
    {"1F1B", 1, true, live_1f1b},
    {"LoopedBFS", 2, false, live_all_stages},
    {"Interleaved1F1B", 2, false, live_interleaved},
    {"ZBH1", 1, false, live_1f1b},
    {"ZBH1", 1, true, live_zb_h1_weight},
    {"ZBVZeroBubble", 2, false, live_zbv},
    {"ZBVZeroBubble", 2, true, live_zbv},
    {"DualPipeV", 2, true, live_dualpipev},
};

static void test_live(const struct live_law *law)
{
    unsigned wrong = 0, n = 0;

    for (uint32_t p = 1; p <= 8; p++)
        for (uint32_t m = 1; m <= 24; m++) {
            struct timetable *t = build(law->name, p, law->v, m);
            struct timetable_walk walk;

            if (!t || timetable_walk(&walk, t, &unit, NULL) != SHD_OK) {
                timetable_destroy(t);
                continue;
            }
            for (uint32_t r = 0; r < p; r++) {
                uint32_t want = law->live(p, r, m);
                uint32_t got =
                    law->until_weight ? walk.live_until_weight[r] : walk.live_until_input[r];

                n += want > 0;
                if (want > 0 && got != want && wrong++ < 3)
                    diag("p %u, rank %u, m %u: %u, expected %u", (unsigned)p, (unsigned)r,
                         (unsigned)m, (unsigned)got, (unsigned)want);
            }
            timetable_walk_fini(&walk);
            timetable_destroy(t);
        }
    ok(n > 100 && wrong == 0, "%s: live microbatches until the %s gradient", law->name,
       law->until_weight ? "weight" : "input");
}

/* The actions of a rank, written by hand from the description at the top of the schedule's file;
 * '&' joins a pair that overlaps. */
static const struct {
    const char *name;
    uint32_t p, v, m, rank;
    const char *order;
} orders[] = {
    {"GPipe", 2, 1, 2, 1, "1F0 1F1 1B0 1B1"},
    {"1F1B", 3, 1, 4, 1, "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3"},
    {"LoopedBFS", 2, 2, 2, 1, "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0"},
    {"Interleaved1F1B", 2, 2, 4, 0,
     "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3"},
    {"ZBH1", 2, 1, 2, 1, "1F0 1I0 1F1 1I1 1W0 1W1"},
    {"InterleavedZeroBubble", 2, 2, 2, 1, "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1"},
    {"ZBVZeroBubble", 1, 2, 2, 0, "0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 1W1 0I1 0W1"},
    {"ZBVZeroBubble", 2, 2, 4, 1,
     "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 "
     "2W3 1W3"},
    {"DualPipeV", 1, 2, 3, 0, "0F0 1F0 0F1 1B0 1F1&0B0 0F2&1B1 1F2&0B1 1B2 0I2 0W2"},
};

static void test_orders(void)
{
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct timetable *t = build(orders[i].name, orders[i].p, orders[i].v, orders[i].m);
        size_t r = orders[i].rank;
        char text[512] = "", name[TIMETABLE_ACTION_TEXT_MAX];

        for (size_t a = t ? t->first[r] : 0; t && a < t->first[r + 1]; a++) {
            size_t length = strlen(text);
            bool first = a == t->first[r];

            timetable_print_action(name, sizeof name, &t->actions[a]);
            snprintf(text + length, sizeof text - length, "%s%s",
                     first                          ? ""
                     : t->actions[a - 1].overlapped ? "&"
                                                    : " ",
                     name);
        }
        if (!ok(!strcmp(text, orders[i].order), "%s: order of rank %zu of %u", orders[i].name, r,
                (unsigned)orders[i].p))
            diag("%s", text);
        timetable_destroy(t);
    }
}

/* ZB-V with F = I = W: ranks begin and end at different times, but no rank waits in between. */
static void test_zbv_never_waits(void)
{
    unsigned waits = 0, n = 0;

    for (uint32_t p = 1; p <= 8; p++)
        for (uint32_t m = 2 * p - 1; m <= 24; m++) {
            struct timetable *t = build("ZBVZeroBubble", p, 2, m);
            struct timetable_walk walk;

            if (!t || timetable_walk(&walk, t, &unit, NULL) != SHD_OK) {
                waits++;
                timetable_destroy(t);
                continue;
            }
            for (uint32_t r = 0; r < p; r++, n++)
                waits += walk.end[t->first[r + 1] - 1] - walk.start[t->first[r]] != walk.busy[r];
            timetable_walk_fini(&walk);
            timetable_destroy(t);
        }
    ok(n > 100 && waits == 0, "ZBVZeroBubble: %u ranks never wait once they began", n);
}

/* Interleaving with one stage per rank has the bubble of the schedule without interleaving. */
static void test_same_bubble(void)
{
    static const char *const pairs[][2] = {{"Interleaved1F1B", "1F1B"}, {"LoopedBFS", "GPipe"}};
    unsigned wrong = 0;

    for (size_t i = 0; i < COUNT(pairs); i++)
        for (uint32_t p = 1; p <= 6; p++) {
            struct timetable *a = build(pairs[i][0], p, 1, 4 * p);
            struct timetable *b = build(pairs[i][1], p, 1, 4 * p);
            struct timetable_walk x = {0}, y = {0};

            wrong += !a || !b || timetable_walk(&x, a, &unit, NULL) != SHD_OK ||
                     timetable_walk(&y, b, &unit, NULL) != SHD_OK || x.makespan != y.makespan;
            timetable_walk_fini(&x);
            timetable_walk_fini(&y);
            timetable_destroy(a);
            timetable_destroy(b);
        }
    ok(wrong == 0, "one stage a rank: the bubble of the schedule without a loop");
}

/* ---- sizes and names that are refused ---- */

static const struct {
    const char *what, *name;
    struct timetable_sizes sizes;
    int status;
    const char *says;
} refused[] = {
    {"no ranks", "GPipe", {0, 1, 1}, SHD_EINVAL, "at least one"},
    {"no stages", "LoopedBFS", {1, 0, 1}, SHD_EINVAL, "at least one"},
    {"no microbatches", "1F1B", {1, 1, 0}, SHD_EINVAL, "at least one"},
    {"two stages", "GPipe", {2, 2, 4}, SHD_EINVAL, "GPipe takes 1 stage per rank, not 2"},
    {"two stages", "1F1B", {2, 2, 4}, SHD_EINVAL, "1F1B takes 1 stage per rank, not 2"},
    {"two stages", "ZBH1", {2, 2, 4}, SHD_EINVAL, "ZBH1 takes 1 stage per rank, not 2"},
    {"one stage", "ZBVZeroBubble", {2, 1, 4}, SHD_EINVAL, "takes 2 stages per rank, not 1"},
    {"three stages", "DualPipeV", {2, 3, 4}, SHD_EINVAL, "takes 2 stages per rank, not 3"},
    {"too few microbatches", "DualPipeV", {4, 2, 7}, SHD_EINVAL, "stages, 8, not 7"},
    {"rounds", "Interleaved1F1B", {4, 2, 9}, SHD_EINDIVISIBLE, "nearest that do are 8 and 10"},
    {"rounds",
     "InterleavedZeroBubble",
     {4, 2, 13},
     SHD_EINDIVISIBLE,
     "into 3 rounds; the nearest that do are 12 and 15"},
    {"huge", "GPipe", {UINT32_MAX, 1, UINT32_MAX}, SHD_ERANGE, "too large"},
    {"huge", "LoopedBFS", {UINT32_MAX, UINT32_MAX, UINT32_MAX}, SHD_ERANGE, "too large"},
    {"huge", "Interleaved1F1B", {65536, 65536, 1}, SHD_ERANGE, "too large"},
    {"huge", "DualPipeV", {1U << 31, 2, 1}, SHD_ERANGE, "too large"},
    {"many microbatches", "1F1B", {1, 1, UINT32_MAX}, SHD_ERANGE, "too large"},
    {"many ranks of a V", "ZBVZeroBubble", {1U << 22, 2, 1}, SHD_ERANGE, "too large"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        const struct timetable_schedule *schedule;
        struct timetable *t = NULL;
        struct shd_error err = {.text = ""};
        int status = timetable_find(&schedule, refused[i].name, &err);

        if (status == SHD_OK)
            status = timetable_build(&t, schedule, &refused[i].sizes, &err);
        ok(!t && status == refused[i].status && strstr(err.text, refused[i].says), "%s: %s",
           refused[i].name, refused[i].what);
        if (!strstr(err.text, refused[i].says))
            diag("%d: %s", status, err.text);
        timetable_destroy(t);
    }
}

static const struct {
    const char *written;
    const struct timetable_schedule *schedule;
} names[] = {
    {"GPipe", &timetable_gpipe},
    {"gpipe", &timetable_gpipe},
    {"1f1b", &timetable_one_f_one_b},
    {"interleaved-1f1b", &timetable_interleaved_1f1b},
    {"looped_bfs", &timetable_looped_bfs},
    {"zb-h1", &timetable_zb_h1},
    {"interleaved-zero-bubble", &timetable_interleaved_zero_bubble},
    {"zbv_zero_bubble", &timetable_zbv},
    {"dualpipev", &timetable_dualpipev},
};

static void test_names(void)
{
    const struct timetable_schedule *found = NULL;
    struct shd_error err;

    for (size_t i = 0; i < COUNT(names); i++)
        ok(timetable_find(&found, names[i].written, NULL) == SHD_OK && found == names[i].schedule,
           "name: '%s' is %s", names[i].written, names[i].schedule->name);
    found = NULL;
    ok(timetable_find(&found, "GPype", &err) == SHD_ENOTFOUND && !found &&
           strstr(err.text, "did you mean 'GPipe'?"),
       "name: 'GPype' is not one");
    ok(timetable_find(&found, "", &err) == SHD_ENOTFOUND, "name: nor is ''");
}

/* Schedules that a given system supports, found by name or by the number of stages. */
static void test_systems(void)
{
    static const enum timetable_flag megatron = TIMETABLE_IN_MEGATRON;
    const struct timetable_schedule *found = NULL;
    struct text list = TEXT_INIT;
    struct shd_error err;

    ok(timetable_find_in(&found, "interleaved-1f1b", megatron, "Megatron-LM", NULL) == SHD_OK &&
           found == &timetable_interleaved_1f1b,
       "systems: a schedule of Megatron-LM");
    found = NULL;
    ok(timetable_find_in(&found, "ZBH1", megatron, "Megatron-LM", &err) == SHD_EUNSUPPORTED &&
           !found &&
           !strcmp(err.text, "Megatron-LM has no schedule ZBH1; expected 1F1B or "
                             "Interleaved1F1B"),
       "systems: a schedule that Megatron-LM lacks");
    ok(timetable_find_in(&found, "2F2B", megatron, "it", &err) == SHD_EUNSUPPORTED && !found &&
           strstr(err.text, "it has no schedule 2F2B; expected 1F1B or"),
       "systems: an unknown schedule");
    ok(timetable_made_for(megatron, 1) == &timetable_one_f_one_b &&
           timetable_made_for(megatron, 2) == &timetable_interleaved_1f1b &&
           timetable_made_for(megatron, 7) == &timetable_interleaved_1f1b &&
           !timetable_made_for(TIMETABLE_FILLED, 1) && !timetable_made_for(megatron, 0),
       "systems: the first schedule for a number of stages");
    timetable_names(&list, TIMETABLE_SPLITS | TIMETABLE_USUAL, 0, " or ");
    text_add(&list, "; ");
    timetable_names(&list, TIMETABLE_V_SHAPED | TIMETABLE_USUAL, 0, " or ");
    text_add(&list, "; ");
    timetable_names(&list, TIMETABLE_IN_ROUNDS, TIMETABLE_USUAL, " or ");
    ok(!strcmp(text_get(&list), "ZBH1; ; InterleavedZeroBubble"), "systems: lists of one and none");
    text_fini(&list);
}

/* ---- timetables that are wrong ---- */

static void swap(struct timetable *t, size_t i, size_t j)
{
    struct timetable_action a = t->actions[i];

    t->actions[i] = t->actions[j];
    t->actions[j] = a;
}

/* Walk a timetable that must be refused, and free the timetable. */
static void refuses(struct timetable *t, int status, const char *says, const char *what)
{
    struct timetable_walk walk = {0};
    struct shd_error err = {.text = ""};
    int got = t ? timetable_walk(&walk, t, &unit, &err) : SHD_ENOMEM;

    ok(got == status && !walk.start && strstr(err.text, says), "%s", what);
    if (got != status || !strstr(err.text, says))
        diag("%d: %s", got, err.text);
    timetable_walk_fini(&walk);
    timetable_destroy(t);
}

/* Rank 0: 0F0 0F1 0B0 0B1, rank 1: 1F0 1B0 1F1 1B1. */
static void test_wrong(void)
{
    struct timetable *t = build("1F1B", 2, 1, 2);

    swap(t, 0, 2); /* 0B0 0F1 0F0 0B1 */
    refuses(t, SHD_ESTUCK, "rank 0, at 0B0, waits for 0F0, which it does later itself",
            "circle: of one rank");
    t = build("1F1B", 2, 1, 2);
    swap(t, 1, 2); /* 0F0 0B0 0F1 0B1 */
    swap(t, 5, 6); /* 1F0 1F1 1B0 1B1 */
    refuses(t, SHD_ESTUCK, "rank 0, at 0B0, waits for 1B0 of rank 1, which waits for 0F1 of rank 0",
            "circle: of two ranks");
    t = build("1F1B", 2, 1, 2);
    t->actions[6].microbatch = 0; /* 1F1 */
    refuses(t, SHD_EINVAL, "rank 1 does both 1F0 and 1F0", "an action twice");
    t = build("ZBH1", 2, 1, 1); /* 0F0 0I0 0W0; 1F0 1I0 1W0 */
    t->actions[5].kind = TIMETABLE_BACKWARD;
    refuses(t, SHD_EINVAL, "rank 1 does both 1I0 and 1B0", "a gradient twice");
    t = build("1F1B", 2, 1, 1);
    t->first[2] = 3; /* 1F0 only */
    refuses(t, SHD_ESTUCK, "rank 0, at 0B0, waits for 1B0, which no rank does",
            "an action that nobody does");
    t = build("1F1B", 2, 1, 1);
    t->actions[3].stage = 0;
    refuses(t, SHD_EINVAL, "rank 1 has an action of stage 0, which rank 0 has", "another's stage");
    t = build("1F1B", 2, 1, 1);
    t->actions[3].stage = 2;
    refuses(t, SHD_EINVAL, "expected one of 2 stages", "a stage that is none");
    t = build("1F1B", 2, 1, 1);
    t->actions[3].microbatch = 1;
    refuses(t, SHD_EINVAL, "and 1 microbatches", "a microbatch that is none");
    t = build("1F1B", 2, 1, 2);
    t->actions[0].overlapped = true; /* 0F0 0F1 */
    refuses(t, SHD_EINVAL, "only a forward overlaps", "two forwards do not overlap");
    t = build("1F1B", 2, 1, 1);
    t->actions[3].overlapped = true;
    refuses(t, SHD_EINVAL, "only a forward overlaps", "the last action overlaps with nothing");
}

/* Every rank of a loop runs its second stage first, and so waits for the previous rank: a circle
 * too long to be named completely. */
static void test_long_circle(void)
{
    struct timetable *t = build("LoopedBFS", 1000, 2, 1);
    struct timetable_walk walk = {0};
    struct shd_error err = {.text = ""};

    for (uint32_t r = 0; r < t->nranks; r++)
        swap(t, t->first[r], t->first[r] + 1);
    ok(timetable_walk(&walk, t, &unit, &err) == SHD_ESTUCK &&
           strstr(err.text, "a cycle of 1000 ranks"),
       "circle: of 1,000 ranks, told in short");
    diag("%s", err.text);
    timetable_destroy(t);
}

static void test_times(void)
{
    static const struct timetable_times bad[] = {
        {-1, 1, 1, 1, 0}, {1, NAN, 1, 1, 0}, {1, 1, INFINITY, 1, 0}, {1, 1, 1, 1, -1}};
    static const struct timetable_times zero = {0};
    struct timetable *t = build("GPipe", 2, 1, 2);
    struct timetable_walk walk = {0};

    for (size_t i = 0; i < COUNT(bad); i++)
        ok(timetable_walk(&walk, t, &bad[i], NULL) == SHD_EINVAL, "times: bad ones, %zu", i);
    ok(timetable_walk(&walk, t, &zero, NULL) == SHD_OK && walk.bubble == 0 && walk.makespan == 0,
       "times: none at all is no bubble");
    timetable_walk_fini(&walk);
    timetable_destroy(t);
}

/* Whether all ranks can finish, by repeated attempts: the reference for timetable_walk(). */
static bool can_finish(const struct timetable *t)
{
    size_t next[8];
    bool done[3][8][8] = {{{false}}},
         moved = true; /* [forward, input, weight][stage][microbatch] */

    for (uint32_t r = 0; r < t->nranks; r++)
        next[r] = t->first[r];
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < t->nranks; r++) {
            const struct timetable_action *a = &t->actions[next[r]];
            bool can;

            if (next[r] == t->first[r + 1])
                continue;
            if (a->kind == TIMETABLE_FORWARD)
                can = a->stage == 0 || done[0][a->stage - 1][a->microbatch];
            else if (a->kind == TIMETABLE_BACKWARD_WEIGHT)
                can = done[1][a->stage][a->microbatch];
            else
                can = done[0][a->stage][a->microbatch] &&
                      (a->stage + 1 == t->nstages || done[1][a->stage + 1][a->microbatch]);
            if (!can)
                continue;
            done[a->kind == TIMETABLE_FORWARD           ? 0
                 : a->kind == TIMETABLE_BACKWARD_WEIGHT ? 2
                                                        : 1][a->stage][a->microbatch] = true;
            next[r]++;
            moved = true;
        }
    }
    for (uint32_t r = 0; r < t->nranks; r++)
        if (next[r] < t->first[r + 1])
            return false;
    return true;
}

/* Reorder some actions of a rank: walk and reference agree whether the timetable finishes. */
static void test_shuffled(void)
{
    static const char *const shuffled[] = {"1F1B", "ZBH1", "Interleaved1F1B", "ZBVZeroBubble"};
    unsigned nstuck = 0, nfine = 0, disagree = 0;

    for (unsigned i = 0; i < 4000; i++) {
        const char *name = shuffled[below(COUNT(shuffled))];
        uint32_t v = name[0] == 'I' || name[2] == 'V' ? 2 : 1;
        uint32_t p = 1 + below(4);
        struct timetable *t = build(name, p, v, p * (1 + below(2)));
        struct timetable_walk walk = {0};
        struct shd_error err = {.text = ""};
        int status;

        for (unsigned k = below(4); k > 0; k--) {
            uint32_t r = below(t->nranks);
            size_t n = t->first[r + 1] - t->first[r];
            size_t at = t->first[r] + below((uint32_t)n - 1);

            swap(t, at, at + 1);
        }
        status = timetable_walk(&walk, t, &unit, &err);
        nstuck += status == SHD_ESTUCK;
        nfine += status == SHD_OK;
        disagree += (status == SHD_OK) != can_finish(t) ||
                    (status != SHD_OK &&
                     (status != SHD_ESTUCK || !strstr(err.text, "the timetable cannot finish: ")));
        timetable_walk_fini(&walk);
        timetable_destroy(t);
    }
    ok(disagree == 0 && nstuck > 300 && nfine > 300,
       "shuffled: %u finish and %u do not, as a plain search finds", nfine, nstuck);
}

/* The makespan of 1,024 ranks and 4,096 microbatches is the formula's. */
static void test_large(void)
{
    uint32_t p = small_size() ? 128 : 1024, m = 4 * p;
    struct timetable *t = build("1F1B", p, 1, m);
    struct timetable_walk walk = {0};

    ok(t && timetable_nactions(t) == (size_t)2 * p * m &&
           timetable_walk(&walk, t, &unit, NULL) == SHD_OK && walk.makespan == 3.0 * (m + p - 1),
       "large: %u ranks, %u microbatches", (unsigned)p, (unsigned)m);
    timetable_walk_fini(&walk);
    timetable_destroy(t);
}

int main(void)
{
    plan(0);
    for (size_t i = 0; timetable_schedules[i]; i++)
        test_schedule(timetable_schedules[i]);
    for (size_t i = 0; i < COUNT(live_laws); i++)
        test_live(&live_laws[i]);
    test_orders();
    test_zbv_never_waits();
    test_same_bubble();
    test_refused();
    test_names();
    test_systems();
    test_wrong();
    test_long_circle();
    test_times();
    test_shuffled();
    test_large();
    return done();
}
