/* search/search.h - finds the best layouts of a space, with proof: closer and closer lower bounds,
 * then plans.
 *
 * Best-first branch and bound.  At first whole sets of layouts (space.h) are bounded from few
 * pieces, with many sequences per microbatch and no recomputation.  The item with the lowest bound
 * is then refined, again and again.  A set is bounded from the pieces of its own recomputation,
 * then of its own microbatch, then opened.  A layout is bounded with its own order and ZeRO, then
 * by its timetable, then planned.  So only promising pieces are built, and only promising sets are
 * listed. The search ends when no bound is below the step of the last of the `ntop` best layouts:
 * every remaining layout is worse.  Layouts that certainly do not fit are dropped on the way. Ties
 * go to the layout that the space lists first.
 *
 * Thread class: owned by one thread; a search runs threads of its own, and its result does not
 * depend on how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/map.h"
#include "run/ranks/farm.h"
#include "search/journal.h"
#include "search/layout_pieces.h"
#include "search/layout_plan.h"
#include "search/least_pieces.h"
#include "search/refusals.h"

/* How closely a layout, or all layouts of a set, were looked at. */
enum search_level {
    SEARCH_ROUGH,    /* bounded from a piece of more sequences that recomputes nothing */
    SEARCH_SCALED,   /* and from a piece of more sequences */
    SEARCH_LEAST,    /* and from what replicas cost at least (least_pieces.h) */
    SEARCH_SET,      /* and from pieces of layers, for all orders and stages of ZeRO */
    SEARCH_LAYERS,   /* a layout: and from its own piece of layers */
    SEARCH_ALIKE,    /* and from the program of other numbers of replicas and shards */
    SEARCH_REPLICAS, /* and from its own piece of replicas */
    SEARCH_TIMED     /* and by its timetable */
};

/* A layout, or a set of layouts whose bounds are those of each. */
struct search_item {
    struct layout layout;
    uint64_t number;   /* in the order of the space: of the layout, or of the set's first */
    uint32_t nmembers; /* of a set; 0: the item is a layout */
    uint8_t level;     /* enum search_level */
    bool out;          /* dropped: refused, or certainly too big or too slow; or opened */
    bool opened;       /* a set whose members are items of their own */
    float bound_bytes;
    double bound_s;
    uint32_t replicas, layers; /* pieces of a layout; UINT32_MAX: not needed yet */
    uint32_t plan;             /* in plans[]; UINT32_MAX: none */
};

struct search_plan {
    struct plan plan;
    uint32_t item; /* in items[] */
};

/* A plan that idle ranks made of a layout whose turn may come. */
struct search_ahead {
    uint32_t item;
    struct plan plan;
    struct shd_error err;
};

struct search_progress {
    const char *what;
    size_t ndone, ntotal;
    double best_s, next_bound_s; /* 0: none */
    double layouts_per_s;        /* so far, counting all layouts; 0: unknown */
};

struct search_opts {
    size_t ntop;     /* how many of the best must be proven, at least 1 */
    size_t nplans;   /* most plans to make; 0: no limit */
    bool all;        /* plan every layout, whatever its bounds */
    bool probes;     /* look for a good layout first in a small space, too (probe.c) */
    bool first;      /* as search_first(): few plans */
    double within_s; /* above 0: minimize memory among layouts whose steps take no longer */
    int nthreads;
    struct farm *farm;       /* ranks that also build pieces and plan; NULL: this process alone */
    struct journal *journal; /* gives plans that are done, and gets all others; may be NULL */
    const int *stop;         /* set to end the search early, with its results so far; may be NULL */
    void (*progress)(void *arg, const struct search_progress *progress); /* may be NULL */
    void *arg;
};

struct search_kind; /* filter.c */

struct search {
    const struct subject *subject; /* not owned */
    struct journal *journal;       /* not owned; may be NULL */
    bool all;                      /* also keep layouts that certainly do not fit */
    double within_s;               /* as in the options */
    struct search_item *items;     /* all sets in the order of the space, then layouts of the sets
                                      that were opened */
    size_t nitems;
    uint32_t *queue; /* items that may be best: a heap, by bound, bound on the step, and number */
    size_t nqueue, queue_room;
    struct pieces *pieces;
    struct least *least;       /* of pieces */
    struct search_plan *plans; /* in the order of planning */
    size_t nplans;
    uint32_t *best; /* plans that fit, by step (with `within_s`: by memory, then by step), then by
                       item; without those that recompute more than another of them and save
                       nothing */
    size_t nbest;
    struct search_ahead *ahead; /* plans of layouts that are still in the queue */
    size_t nahead;
    struct search_kind *kinds; /* kinds of layouts that the filter has judged */
    uint32_t nkinds;
    struct map kind_numbers; /* by hash */
    /* What was done. */
    size_t nlayouts, npieces; /* layouts without those that `nunsaid` counts */
    size_t nunsaid; /* layouts dropped before bounds: the filter refuses their scenarios */
    size_t ntoo_big, ntoo_slow;         /* layouts dropped for memory, and for `within_s` */
    struct refusals refusals;           /* of layouts that cannot be laid out */
    size_t nlevels[SEARCH_TIMED + 1];   /* layouts bounded at each level, including those of
                                           sets */
    double pieces_s, bounds_s, plans_s; /* wall time */
    bool over;                          /* the search was not ended by `stop` */
    double proven; /* lower bound on all layouts without a plan, in seconds or, with `within_s`, in
                      bytes; infinite: no layout is left */
};

/* On success free it with search_fini().  SHD_ENOMEM; SHD_ENOTFOUND: the space is empty. */
SHD_MUST_CHECK int search_run(struct search *out, const struct subject *subject,
                              const struct search_opts *opts, struct shd_error *err);
void search_fini(struct search *search);

/* Look for a good layout with little work, by one thread and without a clock: *plan is that of
 * *layout, or refused if none fits.  SHD_ENOMEM; SHD_ENOTFOUND: the space is empty. */
SHD_MUST_CHECK int search_first(struct layout *layout, struct plan *plan,
                                const struct subject *subject, struct shd_error *err);

/* What a search minimizes: seconds of the step or, with `within_s`, bytes of memory. */
double search_bound_of(const struct search *search, size_t item);
double search_goal_of(const struct search *search, const struct plan *plan);

/* Make items of all sets that hold a layout which differs from this one in a single choice.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int search_open_near(struct search *search, const struct layout *layout,
                                    struct shd_error *err);

/* Whether some layout is in a part of the space. */
bool search_has(const struct search *search, const struct space *part);

/* Bound a layout up to the closest level; false: the item is dropped, or there is no memory. */
bool search_bound_item(struct search *search, size_t item);

/* Plan an item unless it is planned; returns its plan, or NULL without memory. */
const struct search_plan *search_plan_item(struct search *search, size_t item);

/* After a search, find and plan the best layout of a part of the space, the lowest bound first,
 * with a limited amount of work.  *first becomes the item with the lowest bound that may still be
 * better; UINT32_MAX: none.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_among(struct search *search, const struct space *part,
                                const struct search_opts *opts, uint32_t *first,
                                struct shd_error *err);

/* In a part of which nothing fits, find the layout with the lowest bound on memory; UINT32_MAX if
 * memory alone excludes no layout.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_least_memory(struct search *search, const struct space *part,
                                       const struct search_opts *opts, uint32_t *first,
                                       struct shd_error *err);

#endif /* SEARCH_SEARCH_H */
