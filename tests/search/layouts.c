/* Tests search/space.h, search/search.h and search/families.h on spaces small enough to plan each
 * of their layouts: the search finds the best, and its bounds and counts are right.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/layout_bounds.h"
#include "search/families.h"
#include "search/own_layout.h"
#include "search/search.h"
#include "search/tensors.h"
#include "search/undivided.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"
#include "../support/tried.h"
#include "trial/trial.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char small[] =
    "version: 1\nname: small\nhardware: h100-sxm\nmesh: {dp: 4}\n"
    "model: {kind: gpt2, d_model: 64, d_ff: 256, layers: 2, heads: 4, vocab: 512, positions: 64,\n"
    "        dtype: bfloat16}\n"
    "batch: {size: 4, seq: 64}\nstep: [forward, backward, update]\n"
    "optimizer: {kind: adamw}\nparams: [['.*', []]]\naxes: {batch: dp}\n";

static const char moe[] =
    "version: 1\nname: moe\nhardware: h100-sxm\nmesh: {dp: 8}\n"
    "model: {kind: mixtral, d_model: 64, d_ff: 128, layers: 2, heads: 4, kv_heads: 4,\n"
    "        vocab: 512, dtype: bfloat16}\nmoe: {experts: 4}\nbatch: {size: 8, seq: 64}\n"
    "step: [forward, backward, update]\noptimizer: {kind: adamw}\n"
    "params: [['.*', []]]\naxes: {batch: dp}\n";

/* A scenario, and the subject of the search that is given of it. */
struct asked {
    struct variant variant;
    struct subject subject;
};

static void read_text(struct variant *out, const char *text)
{
    if (!tried_init(out, text, strlen(text)))
        exit(99);
}

/* Read a scenario and restrict its space by ranges: "tp=1..2", or "!tp=1" to forbid a value. */
static void ask(struct asked *out, const char *text, int64_t devices, const char *const *ranges,
                size_t nranges)
{
    struct space_range read[SPACE_RANGES_MAX];

    read_text(&out->variant, text);
    for (size_t i = 0; i < nranges; i++)
        if (space_parse_range(&read[i], ranges[i] + (ranges[i][0] == '!'), ranges[i][0] == '!',
                              NULL) != SHD_OK)
            exit(99);
    if (subject_init(&out->subject, &out->variant.trial, devices, read, nranges, NULL, NULL) !=
        SHD_OK)
        exit(99);
}

static void forget(struct asked *asked)
{
    subject_fini(&asked->subject);
    variant_fini(&asked->variant);
}

/* ---- the space ---- */

/* The space lists exactly the layouts named in `want`, in that order. */
static void lists(const struct space *space, const char *const *want, size_t nwant,
                  const char *what)
{
    struct layout *layouts;
    size_t n;
    bool good;

    if (space_list(&layouts, &n, space, NULL) != SHD_OK)
        exit(99);
    good = n == nwant;
    for (size_t i = 0; i < n; i++) {
        struct text name = TEXT_INIT;

        space_print(&name, &layouts[i]);
        if (i >= nwant || strcmp(text_get(&name), want[i]) != 0) {
            diag("%s", text_get(&name));
            good = false;
        }
        text_fini(&name);
    }
    ok(good && space_any(space) == (nwant > 0), "%s: %zu layouts", what, n);
    free(layouts);
}

/* Experts are spread over some of the replicas.  ZeRO then cuts weights outside experts over all
 * replicas, or cuts a whole layer over the replicas that hold the same experts; a range of
 * `shards` also asks for ZeRO over the replicas that hold different experts. */
static void test_experts(void)
{
    static const char *const ranges[] = {"tp=1",           "pp=1",   "cp=1",         "ep=4",
                                         "recompute=none", "zero=2", "microbatch=1", "shards=1..8"};
    static const char *const want[] = {"t1 p1 d8 e4 v1 mb1 z2 recompute-none pp-dp-cp-tp",
                                       "t1 p1 d8 e4 v1 mb1 z2/4 recompute-none pp-dp-cp-tp",
                                       "t1 p1 d8 e4 v1 mb1 z2/2 recompute-none pp-dp-cp-tp"};
    static const char *const usual[] = {"t1 p1 d8 e4 v1 mb1 z2 recompute-none pp-dp-cp-tp",
                                        "t1 p1 d8 e4 v1 mb1 z2/2 recompute-none pp-dp-cp-tp"};
    static const enum space_zero_axes axes[] = {SPACE_ZERO_BOTH, SPACE_ZERO_INNER,
                                                SPACE_ZERO_OUTER};
    double bytes[COUNT(axes)];
    struct layout *layouts;
    struct asked asked;
    size_t n;
    bool good;

    ask(&asked, moe, 8, ranges, COUNT(ranges) - 1);
    lists(&asked.subject.space, usual, COUNT(usual), "experts and ZeRO");
    forget(&asked);
    ask(&asked, moe, 8, ranges, COUNT(ranges));
    lists(&asked.subject.space, want, COUNT(want), "experts and any parts of ZeRO");
    if (space_list(&layouts, &n, &asked.subject.space, NULL) != SHD_OK || n != COUNT(axes))
        exit(99);
    good = true;
    for (size_t i = 0; i < n; i++) {
        struct plan plan;

        good = good && space_zero_axes(&layouts[i]) == axes[i];
        if (plan_layout(&plan, &asked.subject, &layouts[i], NULL) != SHD_OK)
            exit(99);
        bytes[i] = plan.figures.memory_bytes;
    }
    ok(good, "experts: over both axes, the inner and the outer");
    ok(bytes[0] < bytes[1] && bytes[0] < bytes[2],
       "experts: a device has least if ZeRO shards over both");
    free(layouts);
    forget(&asked);
}

/* Expert parallelism takes the axes of tokens that it is folded over whole, and then replicas; over
 * tp only where tokens are sharded over tp, too. */
static void test_folds(void)
{
    static const char *const ranges[] = {
        "tp=2",           "pp=1",   "cp=2",         "ep=4",
        "recompute=none", "zero=0", "microbatch=1", "order=pp-dp-cp-tp"};
    static const char *const want[] = {
        "t2 p1 c2 d2 e4 v1 mb1 z0 fold-cp recompute-none pp-dp-cp-tp",
        "t2 p1 c2 d2 e4 v1 mb1 z0 sp fold-cp recompute-none pp-dp-cp-tp",
        "t2 p1 c2 d2 e4 v1 mb1 z0 sp fold-cp-tp recompute-none pp-dp-cp-tp"};
    struct asked asked;

    ask(&asked, moe, 8, ranges, COUNT(ranges));
    lists(&asked.subject.space, want, COUNT(want),
          "experts folded over context and tensor parallelism");
    forget(&asked);
}

/* Layouts of two devices, as the rules of space.h give them. */
static void test_list(void)
{
    static const char *const ranges[] = {"recompute=none", "!zero=2", "!microbatch=4"};
    static const char *const all[] = {
        "t1 p1 d2 v1 mb1 z0 recompute-none pp-dp-cp-tp",
        "t1 p1 d2 v1 mb1 z1 recompute-none pp-dp-cp-tp",
        "t1 p1 d2 v1 mb1 z3 recompute-none pp-dp-cp-tp",
        "t1 p1 d2 v1 mb2 z0 recompute-none pp-dp-cp-tp",
        "t1 p1 d2 v1 mb2 z1 recompute-none pp-dp-cp-tp",
        "t1 p1 d2 v1 mb2 z3 recompute-none pp-dp-cp-tp",
        "t1 p2 d1 v1 mb1 z0 recompute-none pp-dp-cp-tp",
        "t1 p2 d1 v1 mb1 z0 ZBH1 recompute-none pp-dp-cp-tp",
        "t1 p2 d1 v1 mb2 z0 recompute-none pp-dp-cp-tp",
        "t1 p2 d1 v1 mb2 z0 ZBH1 recompute-none pp-dp-cp-tp",
        "t2 p1 d1 v1 mb1 z0 recompute-none pp-dp-cp-tp",
        "t2 p1 d1 v1 mb1 z0 sp recompute-none pp-dp-cp-tp",
        "t2 p1 d1 v1 mb2 z0 recompute-none pp-dp-cp-tp",
        "t2 p1 d1 v1 mb2 z0 sp recompute-none pp-dp-cp-tp",
    };
    /* On four devices, two axes of two devices each lie in either order, and ZeRO cuts over all
     * replicas or half of them, or over what shares a sequence, too; a value given by a range is
     * tried even if it is unusual. */
    static const char *const orders[] = {"recompute=full", "microbatch=1", "tp=2",      "sp=no",
                                         "pp=1",           "cp=1..2",      "zero=0..1", "!zero=0"};
    static const char *const two[] = {
        "t2 p1 d2 v1 mb1 z1 recompute-full pp-dp-cp-tp",
        "t2 p1 d2 v1 mb1 z1 recompute-full pp-cp-tp-dp",
        "t2 p1 c2 d1 v1 mb1 z1/2 recompute-full pp-dp-cp-tp",
        "t2 p1 c2 d1 v1 mb1 z1/2 recompute-full pp-dp-tp-cp",
    };
    /* Rare values are tried if they have a range. */
    static const char *const rare[] = {
        "recompute=save_qkv_proj",   "microbatch=1", "cp=2", "zero=0", "method=ring..all-to-all",
        "products=given..tensorwise"};
    static const char *const rarely[] = {
        "t1 p1 c2 d1 v1 mb1 z0 recompute-save_qkv_proj pp-dp-cp-tp",
        "t1 p1 c2 d1 v1 mb1 z0 tensorwise recompute-save_qkv_proj pp-dp-cp-tp",
        "t1 p1 c2 d1 v1 mb1 z0 all-to-all recompute-save_qkv_proj pp-dp-cp-tp",
        "t1 p1 c2 d1 v1 mb1 z0 all-to-all tensorwise recompute-save_qkv_proj pp-dp-cp-tp",
    };
    static const char *const shards[] = {"recompute=selective", "microbatch=1", "tp=1", "pp=1",
                                         "zero=1..3",           "!zero=2"};
    static const char *const parts[] = {
        "t1 p1 d4 v1 mb1 z1 recompute-selective pp-dp-cp-tp",
        "t1 p1 d4 v1 mb1 z1/2 recompute-selective pp-dp-cp-tp",
        "t1 p1 d4 v1 mb1 z3 recompute-selective pp-dp-cp-tp",
        "t1 p1 d4 v1 mb1 z3/2 recompute-selective pp-dp-cp-tp",
    };
    static const char *const stages[] = {"recompute=none", "microbatch=1", "pp=1..2",
                                         "cp=2",           "zero=0",       "order=dp-pp-cp-tp"};
    static const char *const cut[] = {
        "t1 p1 c2 d2 v1 mb1 z0 recompute-none dp-pp-cp-tp",
        "t1 p2 c2 d1 v1 mb1 z0 recompute-none dp-pp-cp-tp",
        "t1 p2 c2 d1 v1 mb1 z0 ZBH1 recompute-none dp-pp-cp-tp",
        "t2 p1 c2 d1 v1 mb1 z0 recompute-none dp-pp-cp-tp",
        "t2 p1 c2 d1 v1 mb1 z0 sp recompute-none dp-pp-cp-tp",
    };
    static const struct {
        const char *what;
        int64_t devices;
        const char *const *ranges, *const *want;
        size_t nranges, nwant;
    } cases[] = {
        {"two devices", 2, ranges, all, COUNT(ranges), COUNT(all)},
        {"rare values", 2, rare, rarely, COUNT(rare), COUNT(rarely)},
        {"two axes", 4, orders, two, COUNT(orders), COUNT(two)},
        {"parts of ZeRO", 4, shards, parts, COUNT(shards), COUNT(parts)},
        {"a sharded sequence", 4, stages, cut, COUNT(stages), COUNT(cut)},
        {"three devices", 3, ranges, NULL, COUNT(ranges), 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asked asked;

        ask(&asked, small, cases[i].devices, cases[i].ranges, cases[i].nranges);
        lists(&asked.subject.space, cases[i].want, cases[i].nwant, cases[i].what);
        forget(&asked);
    }
}

static void test_words(void)
{
    enum { ONE_F_ONE_B, INTERLEAVED }; /* the first two schedules that are searched */
    static const struct {
        struct layout layout;
        const char *told, *mesh;
    } cases[] = {
        {{{[SPACE_TP] = 2, 4, 1, 1, 1, 2, INTERLEAVED, 0, 1, SPACE_NONE, 1, 0, 1, 0}},
         "tensor parallelism over 2 with sequence parallelism, a pipeline of 4 ranks with 2 stages "
         "each, 1 data-parallel replica, microbatches of 1 sequence a replica; no "
         "recomputation",
         "t2 p4 z0"},
        {{{[SPACE_TP] = 1, 1, 2, 8, 4, 1, ONE_F_ONE_B, 0, 2, SPACE_FULL, 0, 3, 4, 0}},
         "context parallelism over 2, expert parallelism over 4 replicas, 8 data-parallel replicas "
         "with ZeRO stage 3 over 4 of them, microbatches of 2 sequences a replica; recomputation: "
         "full",
         "c2 d8 e4 z3/4"},
        {{{[SPACE_TP] = 2, 1, 1, 2, 1, 1, ONE_F_ONE_B, 0, 1, SPACE_SELECTIVE, 0, 1, 2, 0}},
         "tensor parallelism over 2, 2 data-parallel replicas with ZeRO stage 1 over all 2, "
         "microbatches of 1 sequence a replica; recomputation: selective",
         "t2 d2 z1"},
    };
    enum space_choice which;

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text told = TEXT_INIT, mesh = TEXT_INIT;

        space_tell(&told, &cases[i].layout);
        space_print_mesh(&mesh, &cases[i].layout);
        if (!ok(!strcmp(text_get(&told), cases[i].told) && !strcmp(text_get(&mesh), cases[i].mesh),
                "words: %s", cases[i].mesh))
            diag("%s: %s", text_get(&mesh), text_get(&told));
        text_fini(&told);
        text_fini(&mesh);
    }
    ok(space_differs(&cases[0].layout, &cases[0].layout, &which) == 0 &&
           space_differs(&cases[0].layout, &cases[2].layout, &which) > 3,
       "words: how many choices differ");
}

/* An empty space explains why no layout exists and suggests values near the given ones. */
static void test_undivided(void)
{
    static const struct {
        int64_t devices;
        const char *range, *want;
    } cases[] = {
        {4, "tp=3", "model.heads is 4, not a multiple of tp 3; nearest that divide it: 2 and 4"},
        {8, "tp=8", "model.heads is 4, not a multiple of tp 8; nearest that divide it: 4"},
        {3, "dp=3..4",
         "batch.size is 4, not a multiple of dp 3; nearest --devices with layouts: 4"},
        {3, "dp=3",
         "batch.size is 4, not a multiple of dp 3; nearest --devices with layouts: none within "
         "1024"},
        {64, "cp=1",
         "batch.size is 4, not a multiple of dp 64; nearest --devices with layouts: 32"},
        {7, "tp=1..4", "nearest --devices with layouts: 4 and 8"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text why = TEXT_INIT;
        struct asked asked;

        ask(&asked, small, cases[i].devices, &cases[i].range, 1);
        undivided_tell(&why, &asked.subject.space);
        if (!ok(strstr(text_get(&why), cases[i].want) != NULL, "undivided: %s of %d devices",
                cases[i].range, (int)cases[i].devices))
            diag("%s", text_get(&why));
        text_fini(&why);
        forget(&asked);
    }
}

/* ---- the best of a space ---- */

/* A space and the plan of each of its layouts. */
struct all {
    struct asked asked;
    struct layout *layouts;
    struct plan *plans;
    size_t n;
};

static void plan_all(struct all *a)
{
    struct shd_error err;

    for (size_t i = 0; i < a->n; i++)
        if (plan_layout(&a->plans[i], &a->asked.subject, &a->layouts[i], &err) != SHD_OK)
            exit(99);
}

/* Plan all layouts of a scenario's space within `nranges` ranges. */
static void make_all(struct all *a, const char *text, int64_t devices, const char *const *ranges,
                     size_t nranges)
{
    ask(&a->asked, text, devices, ranges, nranges);
    if (space_list(&a->layouts, &a->n, &a->asked.subject.space, NULL) != SHD_OK ||
        !(a->plans = calloc(a->n, sizeof *a->plans)))
        exit(99);
    plan_all(a);
}

/* Whether each layout is found again in the scenario that it becomes. */
static bool own_agree(const struct all *a)
{
    const struct space *space = &a->asked.subject.space;

    for (size_t i = 0; i < a->n; i++) {
        struct layout want = a->layouts[i], found;
        struct shd_error err;
        struct variant v;
        bool same;

        if (a->plans[i].state == VARIANT_REFUSED)
            continue;
        if (want.value[SPACE_RECOMPUTE] == SPACE_MLP || want.value[SPACE_RECOMPUTE] == SPACE_BY_OP)
            want.value[SPACE_RECOMPUTE] = SPACE_NONE; /* not the word of a scenario's option */
        if (attempt_init(&v, &a->asked.subject, &a->layouts[i], ATTEMPT_WHOLE, 0,
                         SCENARIO_NLAYER_TYPES, &err) != SHD_OK)
            exit(99);
        same = own_layout_find(&found, space, &v.trial) && !memcmp(&found, &want, sizeof found);
        variant_fini(&v);
        if (!same) {
            struct text name = TEXT_INIT;

            space_print(&name, &a->layouts[i]);
            text_add(&name, " is read as ");
            space_print(&name, &found);
            diag("%s", text_get(&name));
            text_fini(&name);
            return false;
        }
    }
    return true;
}

static void free_all(struct all *a)
{
    free(a->layouts);
    free(a->plans);
    forget(&a->asked);
}

static double goal_of(const struct plan *plan, double within_s)
{
    return within_s > 0 ? plan->figures.memory_bytes : plan->figures.step_s;
}

static bool counts(const struct plan *plan, double within_s)
{
    return plan->state == VARIANT_FITS && (within_s <= 0 || plan->figures.step_s <= within_s);
}

/* Whether recomputation buys nothing: the same layout without it is as fast and needs no more
 * memory. */
static bool is_for_nothing(const struct all *a, size_t i, double within_s)
{
    struct layout other = a->layouts[i];
    const struct plan *with = &a->plans[i];

    other.value[SPACE_RECOMPUTE] = SPACE_NONE;
    for (size_t k = 0; k < a->n; k++)
        if (k != i && !memcmp(&other, &a->layouts[k], sizeof other) &&
            counts(&a->plans[k], within_s) && with->figures.step_s >= a->plans[k].figures.step_s &&
            with->figures.memory_bytes >= 0.999 * a->plans[k].figures.memory_bytes)
            return true;
    return false;
}

static bool is_better(const struct all *a, size_t x, size_t y, double within_s)
{
    double of_x = goal_of(&a->plans[x], within_s), of_y = goal_of(&a->plans[y], within_s);

    if (of_x != of_y)
        return of_x < of_y;
    if (a->plans[x].figures.step_s != a->plans[y].figures.step_s)
        return a->plans[x].figures.step_s < a->plans[y].figures.step_s;
    return x < y;
}

/* The best layout of `part` (NULL: of the whole space) that ranks behind layout `before` (n:
 * behind none); n if there is none. */
static size_t best_behind(const struct all *a, const struct space *part, size_t before,
                          double within_s)
{
    size_t best = a->n;

    for (size_t i = 0; i < a->n; i++)
        if (counts(&a->plans[i], within_s) && (!part || space_has(part, &a->layouts[i])) &&
            !is_for_nothing(a, i, within_s) &&
            (before == a->n || is_better(a, before, i, within_s)) &&
            (best == a->n || is_better(a, i, best, within_s)))
            best = i;
    return best;
}

/* The item of layout i: the layout itself, or the set that stands for it unopened. */
static const struct search_item *item_of(const struct search *s, size_t i)
{
    for (size_t k = 0; k < s->nitems; k++) {
        const struct search_item *item = &s->items[k];
        size_t n = item->nmembers > 0 ? item->nmembers : 1;

        if (!item->opened && item->number <= i && i < item->number + n)
            return item;
    }
    exit(99);
}

static size_t number_of(const struct search *s, size_t plan)
{
    return (size_t)s->items[s->plans[plan].item].number;
}

/* The best `ntop` layouts that the search found are the best of all plans. */
static bool best_agree(const struct search *s, const struct all *a, size_t ntop)
{
    size_t at = a->n;

    for (size_t k = 0; k < ntop; k++) {
        at = best_behind(a, NULL, at, s->within_s);
        if (at == a->n)
            return s->nbest == k;
        if (k >= s->nbest || number_of(s, s->best[k]) != at)
            return false;
    }
    return true;
}

/* Whether some item that is, or was, a layout or its set has bounds above the layout's plan.  A
 * set's bound on the step is that of its members that may fit. */
static bool is_above(const struct search *s, size_t i, const struct plan *plan)
{
    const struct modelled_figures *f = &plan->figures;

    for (size_t k = 0; k < s->nitems; k++) {
        const struct search_item *item = &s->items[k];
        size_t n = item->nmembers > 0 ? item->nmembers : 1;
        bool timed = s->all || plan->state == VARIANT_FITS;

        if (item->number <= i && i < item->number + n &&
            ((timed && item->bound_s > f->step_s) || item->bound_bytes > f->memory_bytes))
            return true;
    }
    return false;
}

/* No bound exceeds the figure of its plan, and no layout that counts is left out. */
static bool bounds_hold(const struct search *s, const struct all *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct modelled_figures *f = &a->plans[i].figures;
        const struct search_item *item = item_of(s, i);

        if (a->plans[i].state == VARIANT_REFUSED)
            continue;
        if (is_above(s, i, &a->plans[i]) || (item->out && counts(&a->plans[i], s->within_s)) ||
            (item->nmembers == 0 && memcmp(&item->layout, &a->layouts[i], sizeof item->layout))) {
            struct text name = TEXT_INIT;

            space_print(&name, &a->layouts[i]);
            diag("%s: at least %.9g s and %.9g bytes%s, planned %.9g and %.9g", text_get(&name),
                 item->bound_s, (double)item->bound_bytes, item->out ? ", out" : "", f->step_s,
                 f->memory_bytes);
            text_fini(&name);
            return false;
        }
    }
    return true;
}

/* Each layout is counted once as planned, left out or still queued, and each that has no place
 * among the best as too big, too slow or refused. */
static bool adds_up(const struct search *s, const struct all *a)
{
    size_t nout = 0, nleft = 0, nlost = 0, nqueued = 0;

    for (size_t i = 0; i < a->n; i++) {
        const struct search_item *item = item_of(s, i);

        nout += item->plan == UINT32_MAX && item->out;
        nleft += item->plan == UINT32_MAX && !item->out;
        nlost += item->plan != UINT32_MAX && !counts(&s->plans[item->plan].plan, s->within_s);
        if (item->plan != UINT32_MAX &&
            (number_of(s, item->plan) != i ||
             s->plans[item->plan].plan.figures.step_s != a->plans[i].figures.step_s))
            return false;
    }
    for (size_t i = 0; i < s->nqueue; i++) {
        uint32_t n = s->items[s->queue[i]].nmembers;

        nqueued += n > 0 ? n : 1;
    }
    return s->nlayouts == a->n && nout + nleft + s->nplans == a->n && nleft == nqueued &&
           s->ntoo_big + s->ntoo_slow + s->refusals.n == nout + nlost &&
           s->nlevels[SEARCH_ROUGH] <= a->n;
}

/* No unplanned layout is better than the proven bound; once the search is over, no unplanned
 * layout is better than the last of the best. */
static bool is_proven(const struct search *s, const struct all *a, size_t ntop)
{
    bool any = false;

    for (size_t i = 0; i < a->n; i++) {
        if (item_of(s, i)->plan != UINT32_MAX || !counts(&a->plans[i], s->within_s))
            continue;
        any = true;
        if (goal_of(&a->plans[i], s->within_s) < s->proven)
            return false;
    }
    if (s->nqueue == 0)
        return s->proven == INFINITY && !any;
    return s->proven < INFINITY &&
           (s->nbest < ntop || s->proven > search_goal_of(s, &s->plans[s->best[ntop - 1]].plan));
}

static void run(struct search *s, const struct all *a, const struct search_opts *opts)
{
    if (search_run(s, &a->asked.subject, opts, NULL) != SHD_OK)
        exit(99);
}

static void test_best(const struct all *a, size_t ncases)
{
    size_t first = best_behind(a, NULL, a->n, 0);
    const struct search_opts cases[] = {
        {.ntop = 1, .nthreads = 1},
        {.ntop = a->n, .nthreads = 1, .all = true},
        {.ntop = 2, .nthreads = 1, .within_s = 1.5 * a->plans[first].figures.step_s},
    };

    for (size_t i = 0; i < ncases; i++) {
        size_t ntop = cases[i].ntop;
        struct search s;

        run(&s, a, &cases[i]);
        ok(best_agree(&s, a, ntop), "search %zu: the best of all plans is found", i);
        ok(bounds_hold(&s, a), "search %zu: no bound exceeds its plan", i);
        ok(adds_up(&s, a), "search %zu: each layout is planned, out or left", i);
        ok(s.over && is_proven(&s, a, ntop),
           "search %zu: unplanned layouts are worse than the proven bound", i);
        ok(!cases[i].all || s.nplans == a->n, "search %zu: %zu plans of %zu", i, s.nplans, a->n);
        search_fini(&s);
    }
}

/* A search stopped by its limit on plans, or before it begins. */
static void test_short(const struct all *a)
{
    const int stop = 1;
    const struct search_opts few = {.ntop = 5, .nplans = 3, .nthreads = 1},
                             none = {.ntop = 1, .nthreads = 1, .stop = &stop};
    double least = INFINITY;
    struct search s;

    run(&s, a, &few);
    for (size_t i = 0; i < a->n; i++)
        if (item_of(&s, i)->plan == UINT32_MAX && counts(&a->plans[i], 0))
            least = fmin(least, a->plans[i].figures.step_s);
    ok(s.nplans == 3 && s.over && s.nqueue > 0 && s.proven <= least && s.proven > 0 &&
           bounds_hold(&s, a) && adds_up(&s, a),
       "three plans: remaining bounds are not below the proven bound");
    search_fini(&s);
    run(&s, a, &none);
    ok(s.nplans == 0 && s.nbest == 0 && !s.over && s.proven == 0,
       "stopped at once: nothing is proven");
    search_fini(&s);
}

static void stop_at_best(void *arg, const struct search_progress *progress)
{
    int *stop = arg;

    *stop = progress->best_s > 0;
}

/* A search has a layout as soon as it tells of one, though nothing is proven then. */
static void test_at_once(const struct all *a)
{
    int stop = 0;
    const struct search_opts opts = {.ntop = 5,
                                     .nthreads = 1,
                                     .probes = true,
                                     .stop = &stop,
                                     .progress = stop_at_best,
                                     .arg = &stop};
    struct search s;

    run(&s, a, &opts);
    ok(stop && s.nbest == 1 && !s.over && s.proven == 0 && bounds_hold(&s, a) && adds_up(&s, a),
       "a good layout at once: %zu plans of %zu", s.nplans, a->n);
    search_fini(&s);
}

/* The part of the space in which `choice` has `value`. */
static struct space part_of(enum space_choice choice, int32_t value)
{
    return (struct space){.nranges = 1, .ranges = {{choice, value, value, false}}};
}

/* Whether the search found the best layout of `part` or spent all plans that it may; `left` is the
 * first unplanned layout that may be better. */
static bool is_looked_at(const struct search *s, const struct all *a, const struct space *part,
                         uint32_t left, size_t nplans)
{
    double found = INFINITY, best = INFINITY;

    for (size_t i = 0; i < a->n; i++)
        if (space_has(part, &a->layouts[i]) && counts(&a->plans[i], 0)) {
            best = fmin(best, a->plans[i].figures.step_s);
            if (item_of(s, i)->plan != UINT32_MAX)
                found = fmin(found, a->plans[i].figures.step_s);
            else if (left == UINT32_MAX || a->plans[i].figures.step_s < search_bound_of(s, left))
                return false; /* faster than the bound of the first unplanned layout */
        }
    if (left == UINT32_MAX || search_bound_of(s, left) >= found)
        return found == best;
    return s->nplans >= nplans + 4;
}

static void test_parts(const struct all *a)
{
    static const struct {
        enum space_choice choice;
        int32_t value;
    } parts[] = {
        {SPACE_TP, 4}, {SPACE_PP, 2}, {SPACE_ZERO, 1}, {SPACE_CP, 9}, {SPACE_RECOMPUTE, 1}};
    const struct search_opts opts = {.ntop = 1, .nthreads = 1};
    struct search s;
    bool good = true;

    run(&s, a, &opts);
    for (size_t i = 0; i < COUNT(parts); i++) {
        const struct space part = part_of(parts[i].choice, parts[i].value);
        size_t nplans = s.nplans;
        uint32_t left;
        bool fine;

        if (search_among(&s, &part, &opts, &left, NULL) != SHD_OK)
            exit(99);
        fine = is_looked_at(&s, a, &part, left, nplans) && bounds_hold(&s, a);
        if (!fine)
            diag("%s %d", space_choice_name(parts[i].choice), (int)parts[i].value);
        good &= fine;
    }
    ok(good, "parts: the best of each is planned, or the possible gain is reported");
    search_fini(&s);
}

/* Families of layouts: a ZeRO stage without other parallelism, or a range of one choice. */
static const struct {
    const char *name;
    enum space_choice choice;
    int32_t least, most;
} kinds[] = {
    {"ZeRO 0", SPACE_ZERO, 0, 0},   {"ZeRO 1", SPACE_ZERO, 1, 1},    {"ZeRO 2", SPACE_ZERO, 2, 2},
    {"FSDP", SPACE_ZERO, 3, 3},     {"tensor", SPACE_TP, 2, 4},      {"no tensor", SPACE_TP, 1, 1},
    {"pipeline", SPACE_PP, 2, 4},   {"no pipeline", SPACE_PP, 1, 1}, {"context", SPACE_CP, 2, 4},
    {"no context", SPACE_CP, 1, 1},
};

/* The part of the space that belongs to a family. */
static struct space kind_of(const char *name)
{
    struct space part = {.nranges = 0};

    for (size_t k = 0; k < COUNT(kinds); k++) {
        if (strcmp(kinds[k].name, name) != 0)
            continue;
        part.ranges[part.nranges++] =
            (struct space_range){kinds[k].choice, kinds[k].least, kinds[k].most, false};
        for (int c = SPACE_TP; kinds[k].choice == SPACE_ZERO && c <= SPACE_CP; c++)
            part.ranges[part.nranges++] = (struct space_range){(enum space_choice)c, 1, 1, false};
    }
    return part;
}

static bool family_agrees(const struct search *s, const struct all *a, const struct family *family)
{
    size_t own = family->item == UINT32_MAX ? a->n : (size_t)s->items[family->item].number;
    const struct space part = kind_of(family->name);
    size_t best = best_behind(a, &part, a->n, 0);

    if (part.nranges == 0)
        return false;
    switch (family->state) {
    case FAMILY_FITS:
        return own < a->n && best < a->n &&
               a->plans[own].figures.step_s <= 1.01 * a->plans[best].figures.step_s &&
               space_has(&part, &a->layouts[own]);
    case FAMILY_NONE:
        return best == a->n && (family->range || family->undivided);
    case FAMILY_TOO_BIG:
        return best == a->n && a->plans[own].state == VARIANT_TOO_BIG &&
               space_has(&part, &a->layouts[own]);
    default:
        return false;
    }
}

static void test_families(const struct all *a, const char *want)
{
    static const char *const states[] = {"fits", "too big", "open", "refused", "none"};
    const struct search_opts opts = {.ntop = 1, .nthreads = 1};
    struct text names = TEXT_INIT;
    struct families families;
    struct search s;
    bool good = true;

    run(&s, a, &opts);
    if (families_find(&families, &s, &opts, NULL) != SHD_OK)
        exit(99);
    for (size_t k = 0; k < families.n; k++) {
        bool fine = family_agrees(&s, a, &families.of[k]);

        text_addf(&names, "%s%s %s", k ? ", " : "", families.of[k].name,
                  states[families.of[k].state]);
        if (!fine)
            diag("%s: state %d", families.of[k].name, (int)families.of[k].state);
        good &= fine;
    }
    ok(good, "families: each has the best of its part");
    if (!ok(!strcmp(text_get(&names), want), "families: %s", want))
        diag("%s", text_get(&names));
    text_fini(&names);
    search_fini(&s);
}

/* Reduce memory until about half of the layouts do not fit, and plan them again. */
static void suppose_less(struct all *a)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < a->n; i++) {
        least = fmin(least, a->plans[i].figures.memory_bytes);
        most = fmax(most, a->plans[i].figures.memory_bytes);
    }
    subject_suppose(&a->asked.subject, 1,
                    (least + most) / 2 / a->asked.subject.cluster.memory_bytes);
    plan_all(a);
}

static void test_all(void)
{
    static const char *const ranges[] = {"order=pp-dp-cp-tp",
                                         "recompute=none..selective",
                                         "zero=0..3",
                                         "schedule=1F1B",
                                         "microbatch=1..2",
                                         "!shards=2",
                                         "sp=no",
                                         "!tp=2"};
    struct all a = {.n = 0};
    size_t nbig = 0;

    make_all(&a, small, 4, ranges, COUNT(ranges));
    diag("%zu layouts", a.n);
    ok(own_agree(&a), "each layout is found in its own scenario");
    test_best(&a, 3);
    test_short(&a);
    test_at_once(&a);
    test_parts(&a);
    test_families(&a,
                  "ZeRO 1 fits, ZeRO 2 fits, FSDP fits, tensor fits, pipeline fits, context none");
    suppose_less(&a);
    for (size_t i = 0; i < a.n; i++)
        nbig += a.plans[i].state == VARIANT_TOO_BIG;
    ok(nbig > 0 && nbig < a.n, "less memory: %zu of %zu do not fit", nbig, a.n);
    test_best(&a, 1);
    test_families(&a, "ZeRO 0 too big, ZeRO 1 too big, ZeRO 2 too big, FSDP too big, "
                      "no tensor too big, pipeline too big, context none");
    free_all(&a);
}

/* Cases in which bounds come closest to step times: software that waits for its collectives, with
 * all stages of ZeRO; and software that fuses chains of elementwise ops, where the chains of the
 * update depend on the number of layers. */
static const struct near {
    const char *what, *text;
    int64_t devices;
    const char *ranges[10];
    size_t nranges;
    double least; /* the part of its layout's step that each bound reaches */
} nears[] = {
    {"waiting",
     "version: 1\nname: waiting\nhardware: a100-80g-selene\nmesh: {pp: 4, dp: 16, tp: 2}\n"
     "model: {kind: gpt2, d_model: 2048, d_ff: 8192, layers: 8, heads: 16, vocab: 51200,\n"
     "        positions: 2048, dtype: bfloat16}\n"
     "batch: {size: 256, seq: 2048}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\nparams: [['.*', []]]\naxes: {batch: dp}\n",
     128,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=0..3", "microbatch=1", "pp=4", "tp=2",
      "!shards=2", "!shards=4", "!schedule=ZBH1"},
     9,
     0.94},
    {"chains",
     "version: 1\nname: chains\nhardware: tpu-v5p\nmesh: {dp: 32}\n"
     "model: {kind: llama3, d_model: 2048, d_ff: 5632, layers: 8, heads: 16, kv_heads: 8,\n"
     "        vocab: 32768, dtype: bfloat16}\n"
     "batch: {size: 64, seq: 2048}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     32,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=0", "tp=1", "pp=1", "cp=2"},
     6,
     0.93},
    {"scattering",
     "version: 1\nname: scattering\nhardware: h100-sxm\nmesh: {pp: 2, dp: 32}\n"
     "model: {kind: llama3, d_model: 2048, d_ff: 5632, layers: 8, heads: 16, kv_heads: 8,\n"
     "        vocab: 32768, dtype: bfloat16}\n"
     "batch: {size: 128, seq: 2048}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     64,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=2", "microbatch=1..4", "tp=1", "pp=1..2", "cp=1",
      "shards=8..64"},
     8,
     0.65},
    {"combining",
     "version: 1\nname: combining\nhardware: h100-sxm\nmesh: {pp: 2, dp: 32}\n"
     "model: {kind: llama3, d_model: 2048, d_ff: 5632, layers: 8, heads: 16, kv_heads: 8,\n"
     "        vocab: 32768, dtype: bfloat16}\n"
     "batch: {size: 64, seq: 512}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     64,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=0..1", "microbatch=1", "tp=1", "pp=2", "cp=1",
      "shards=8..64"},
     8,
     0.65},
    {"experts",
     "version: 1\nname: experts\nhardware: h100-sxm\nmesh: {dp: 8}\n"
     "model: {kind: mixtral, d_model: 256, d_ff: 512, layers: 4, heads: 8, kv_heads: 4,\n"
     "        vocab: 512, dtype: bfloat16}\nmoe: {experts: 8, top_k: 2}\n"
     "batch: {size: 16, seq: 256}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     8,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=1..3", "microbatch=1", "tp=1", "pp=1..2", "cp=1",
      "ep=2..4"},
     8,
     0.5},
    {"folded experts",
     "version: 1\nname: folded\nhardware: h100-sxm\nmesh: {dp: 8}\n"
     "model: {kind: mixtral, d_model: 256, d_ff: 512, layers: 4, heads: 8, kv_heads: 4,\n"
     "        vocab: 512, dtype: bfloat16}\nmoe: {experts: 8, top_k: 2}\n"
     "batch: {size: 16, seq: 256}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     8,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=1..3", "microbatch=1", "tp=1..2", "pp=1..2",
      "cp=2", "sp=yes", "!fold=none"},
     9,
     0.42},
    {"layers of one part",
     "version: 1\nname: parts\nhardware: h100-sxm\nmesh: {dp: 8}\n"
     "model: {kind: decoder, residual: alone, d_model: 256, d_ff: 512, layers: 4, heads: 8,\n"
     "        kv_heads: 4, vocab: 512, layer_types: [mamba, experts, full-plain, mlp],\n"
     "        dtype: bfloat16}\nmoe: {experts: 8, top_k: 2}\n"
     "batch: {size: 16, seq: 256}\nstep: [forward, backward, update]\n"
     "optimizer: {kind: adamw}\ntypes: {parameters: float32}\nparams: [['.*', []]]\n"
     "axes: {batch: dp}\n",
     8,
     {"order=pp-dp-cp-tp", "recompute=none", "zero=1..3", "microbatch=1", "tp=1..2", "pp=1..2",
      "cp=1", "ep=1..2"},
     8,
     0.1},
};

static void test_near(const struct near *near)
{
    const struct search_opts opts = {.ntop = 1000, .nthreads = 1};
    struct all a = {.n = 0};
    struct search s;
    size_t nabove = 0;
    double least = 1, least_bytes = 1;

    make_all(&a, near->text, near->devices, near->ranges, near->nranges);
    run(&s, &a, &opts);
    for (size_t i = 0; i < a.n; i++) {
        double part = item_of(&s, i)->bound_s / a.plans[i].figures.step_s;
        double bytes = item_of(&s, i)->bound_bytes / a.plans[i].figures.memory_bytes;

        if (a.plans[i].state != VARIANT_FITS)
            continue;
        nabove += part > 1 || bytes > 1;
        least = part < least ? part : least;
        least_bytes = bytes < least_bytes ? bytes : least_bytes;
    }
    ok(nabove == 0 && least > near->least,
       "%s: of %zu layouts no bound is above the step, nor far below", near->what, a.n);
    diag("%zu are above; the least is %.3f of its step, %.3f of its memory", nabove, least,
         least_bytes);
    search_fini(&s);
    free_all(&a);
}

/* ---- random spaces ---- */

static uint32_t random_state;

static int draw(int n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (int)((random_state >> 8) % (unsigned)n);
}

#define PICK(array) ((array)[draw((int)COUNT(array))])

/* Layouts of a random space at most: each is planned. */
#define RANDOM_LAYOUTS_MOST 150

/* A random model on a random cluster, and ranges that leave few layouts. */
static void draw_space(char *text, size_t size, const char *ranges[8])
{
    static const char *const clusters[] = {"h100-sxm", "a100-80g-selene", "b200", "tpu-v5p"};
    static const char *const models[] = {"llama3", "mixtral", "mixtral", "mixtral"};
    static const char *const tps[] = {"tp=1", "tp=1..2", "tp=2", "tp=4"};
    static const char *const cps[] = {"cp=1..2", "cp=2", "cp=1..4", "cp=1"};
    static const char *const pps[] = {"pp=1", "pp=1", "pp=1..2", "pp=2"};
    static const char *const zeros[] = {"zero=0..3", "zero=1", "zero=3", "zero=1..2"};
    static const char *const recomputes[] = {"recompute=none", "recompute=full",
                                             "recompute=none..selective"};
    static const char *const folds[] = {"!ep=1", "!fold=none", "fold=cp-tp", "ep=1..2"};
    static const char *const types[] = {"",
                                        "",
                                        ", window: 16, layer_types: [window, full]",
                                        ", window: 16, layer_types: [full, window]",
                                        ", layer_types: [mamba, full]",
                                        ", window: 16, layer_types: [window, full-plain]",
                                        ", window: 16, layer_types: [mamba, window]",
                                        ", layer_types: [full, delta]",
                                        ", layer_types: [kda, kda, full]",
                                        ", layer_types: [conv, full, delta]",
                                        ", layer_types: [lightning, full]",
                                        ", layer_types: [full-mamba, full]"};
    static const char *const alone[] = {
        "layer_types: [mamba, mlp", "layer_types: [delta, mlp, mamba",
        "layer_types: [full, mlp, conv, mlp", "window: 16, layer_types: [mlp, window"};
    static const char *const orders[] = {"order=pp-dp-cp-tp", "order=pp-dp-cp-tp",
                                         "order=cp-pp-dp-tp", "order=tp-dp-pp-cp"};
    const char *kind = PICK(models);
    char experts[64] = "", layers[128];

    snprintf(layers, sizeof layers, "%s", PICK(types));
    if (draw(4) == 0) /* each layer is one part; of experts, where the model has some */
        snprintf(layers, sizeof layers, ", residual: alone, %s%s]", PICK(alone),
                 *kind == 'm' ? ", experts" : "");
    if (*kind == 'm')
        snprintf(experts, sizeof experts, "moe: {experts: %d, top_k: %d}\n", 4 << draw(3),
                 1 + draw(3));
    snprintf(text, size,
             "version: 1\nname: random\nhardware: %s\nmesh: {dp: 1}\n"
             "model: {kind: %s, d_model: %d, d_ff: %d, layers: %d, heads: 8, kv_heads: 4,\n"
             "        vocab: 512, dtype: bfloat16%s}\n%sbatch: {size: %d, seq: %d}\n"
             "step: [forward, backward, update]\noptimizer: {kind: adamw}\n%s"
             "params: [['.*', []]]\naxes: {batch: dp}\n",
             PICK(clusters), kind, 64 << draw(4), 256 << draw(3), 2 + draw(3), layers, experts,
             8 << draw(2), 64 << draw(5),
             draw(6) == 0 ? "lora: {rank: 8, targets: [(down|o)/kernel]}\n" : "");
    ranges[0] = PICK(tps);
    ranges[1] = PICK(cps);
    ranges[2] = PICK(pps);
    ranges[3] = PICK(zeros);
    ranges[4] = PICK(recomputes);
    ranges[5] = PICK(orders);
    ranges[6] = "microbatch=1..2";
    ranges[7] = *experts ? PICK(folds) : "!virtual=9";
}

/* Whether a first layout is one of the space that fits, with its own plan, and twice the same; that
 * it is fast is not promised. */
static bool first_holds(const struct all *a)
{
    struct layout layouts[2];
    struct plan plans[2];
    struct shd_error err;

    for (int k = 0; k < 2; k++)
        if (search_first(&layouts[k], &plans[k], &a->asked.subject, &err) != SHD_OK)
            return false;
    if (plans[0].state == VARIANT_REFUSED)
        return plans[1].state == VARIANT_REFUSED;
    for (size_t i = 0; i < a->n; i++)
        if (!memcmp(&a->layouts[i], &layouts[0], sizeof layouts[0]))
            return !memcmp(&layouts[0], &layouts[1], sizeof layouts[0]) &&
                   plans[0].state == VARIANT_FITS && a->plans[i].state == VARIANT_FITS &&
                   plans[0].figures.step_s == a->plans[i].figures.step_s &&
                   plans[0].figures.memory_bytes == a->plans[i].figures.memory_bytes;
    return false;
}

/* Whether a search finds the best of all plans of a space, below no bound; an empty or large space
 * is left out. */
static bool random_space_holds(uint32_t seed, bool *tried)
{
    const struct search_opts opts = {.ntop = 3, .nthreads = 1, .probes = seed % 2};
    const char *ranges[8];
    char text[1024];
    struct all a = {.n = 0};
    struct search s;
    bool good = true;

    random_state = seed * 2654435761u + 1;
    draw_space(text, sizeof text, ranges);
    ask(&a.asked, text, 4 << draw(3), ranges, COUNT(ranges));
    if (space_list(&a.layouts, &a.n, &a.asked.subject.space, NULL) != SHD_OK ||
        !(a.plans = calloc(a.n + 1, sizeof *a.plans)))
        exit(99);
    *tried = a.n > 1 && a.n <= RANDOM_LAYOUTS_MOST;
    if (*tried) {
        plan_all(&a);
        run(&s, &a, &opts);
        good = best_agree(&s, &a, opts.ntop) && bounds_hold(&s, &a) && adds_up(&s, &a) &&
               own_agree(&a) && first_holds(&a);
        search_fini(&s);
    }
    if (!good)
        diag("seed %u, %zu layouts:\n%s%s %s %s %s %s %s %s %s", seed, a.n, text, ranges[0],
             ranges[1], ranges[2], ranges[3], ranges[4], ranges[5], ranges[6], ranges[7]);
    free_all(&a);
    return good;
}

/* SHD_RANDOM_SPACES spaces, from the seed SHD_RANDOM_SEED on: by default a few that the commit
 * selects. */
static void test_random_spaces(void)
{
    const char *count = getenv("SHD_RANDOM_SPACES"), *first = getenv("SHD_RANDOM_SEED");
    unsigned n = count ? (unsigned)strtoul(count, NULL, 10) : 4, nbad = 0;
    uint32_t seed = first ? (uint32_t)strtoul(first, NULL, 10) : 1;

    for (unsigned k = 0; k < n; seed++) {
        bool tried;

        if (!sampled(count ? 1 : 50, seed))
            continue;
        nbad += !random_space_holds(seed, &tried);
        k += tried;
    }
    ok(nbad == 0, "of %u random spaces %u have their best not found, or a bound above a plan", n,
       nbad);
}

#define GIVEN(mesh, more)                                                                 \
    "version: 1\nname: given\nhardware: h100-sxm\nmesh: " mesh                            \
    "\nmodel: {kind: llama3, d_model: 256, d_ff: 512, layers: 2, heads: 4, vocab: 512,\n" \
    "        dtype: bfloat16}\nbatch: {size: 8, seq: 64, microbatches: 2}\n"              \
    "step: [forward, backward, update]\noptimizer: {kind: adamw}\n"                       \
    "params: [['.*', []]]\naxes: {batch: dp}\n" more

/* The layout that a scenario itself gives has no influence on the layouts that are searched. */
static void test_given(void)
{
    static const char plain[] = GIVEN("{dp: 4}", "");
    static const char given[] =
        GIVEN("{pp: 2, cp: 2, dp: 2}", "zero: {stage: 3, axis: dp, prefetch: 0}\n"
                                       "pipeline: {axis: pp, schedule: GPipe}\n"
                                       "context: {axis: cp, method: ring, order: striped}\n");
    static const char *const ranges[] = {"tp=1",         "pp=1..2", "cp=1..2",
                                         "microbatch=1", "zero=1",  "order=pp-dp-cp-tp"};
    struct all a = {.n = 0}, b = {.n = 0};
    size_t nfit = 0, nsame = 0;

    make_all(&a, plain, 8, ranges, COUNT(ranges));
    make_all(&b, given, 8, ranges, COUNT(ranges));
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        nfit += a.plans[i].state == VARIANT_FITS;
        nsame += a.plans[i].state == b.plans[i].state &&
                 a.plans[i].figures.step_s == b.plans[i].figures.step_s &&
                 a.plans[i].figures.memory_bytes == b.plans[i].figures.memory_bytes;
    }
    ok(a.n > 4 && nfit == a.n && b.n == a.n && nsame == a.n,
       "given: of %zu layouts %zu fit; of a scenario with a layout of its own %zu are the same",
       a.n, nfit, nsame);
    free_all(&a);
    free_all(&b);
}

/* ---- tensors ---- */

/* Two kinds of parameters of two dimensions, each whole or cut along one, times a batch that is
 * cut or not. */
static void test_tensors(void)
{
    static const char text[] =
        "version: 1\nname: tensors\nhardware: h100-sxm\nmesh: {dp: 2}\n"
        "model: {kind: mlp, d_model: 16, d_ff: 32, layers: 1}\nbatch: {size: 4, seq: 4}\n"
        "step: [forward, backward]\nparams: [['.*', []]]\n";
    const struct tensors_opts opts = {.nthreads = 1};
    struct variant asked;
    struct tensors t;

    read_text(&asked, text);
    if (tensors_run(&t, &asked.trial, &opts, NULL) != SHD_OK)
        exit(99);
    ok(t.nkinds == 2 && t.kinds[0].nspecs == 3 && t.kinds[1].nspecs == 3 && t.nways == 2 * 3 * 3,
       "tensors: %llu ways", (unsigned long long)t.nways);
    ok(t.nplanned == t.nways && t.nfit + t.ntoo_big + t.refusals.n == t.nplanned && t.found &&
           t.best.number < t.nways,
       "tensors: every way is planned");
    for (uint32_t k = 0; k < t.ntextbook; k++)
        ok(t.textbook[k].state != VARIANT_FITS || t.best.step_s <= t.textbook[k].step_s,
           "tensors: the best is no slower than %s",
           tensors_textbook_name((enum tensors_textbook)k));
    tensors_fini(&t);
    variant_fini(&asked);
}

int main(void)
{
    plan(0);
    test_list();
    test_experts();
    test_folds();
    test_words();
    test_undivided();
    test_all();
    for (size_t i = 0; i < COUNT(nears); i++)
        test_near(&nears[i]);
    test_random_spaces();
    test_given();
    test_tensors();
    return done();
}
