/* search/search.h - the best layouts of a space, proven to be: lower bounds, closer and closer,
 * then plans.
 *
 * All layouts are bounded from few pieces, those of many sequences at a time.  Then the layout of
 * the lowest bound is taken again and again: it is bounded from its own pieces, which are built
 * when they are first wanted; then by its timetable; then planned.  So only what may be best is
 * looked at closely, and the search is over when no bound is below the step of the last of the best
 * so many: whatever is left is worse.  What surely does not fit is left out on the way.  Ties go to
 * the layout that is listed first.
 *
 * Thread class: owned by one thread; it runs threads of its own, and what it finds does not depend
 * on how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "ranks/farm.h"
#include "search/journal.h"
#include "search/pieces.h"
#include "search/plan.h"

/* How closely a layout was looked at. */
enum search_level {
    SEARCH_SCALED,   /* bounded from a piece of more sequences */
    SEARCH_LAYERS,   /* and from its own piece of layers */
    SEARCH_REPLICAS, /* and from its own piece of replicas */
    SEARCH_TIMED     /* and by its timetable */
};

struct search_item {
    struct layout layout;
    uint8_t level; /* enum search_level */
    bool out;      /* refused, or surely too big: not looked at any more */
    float bound_bytes;
    double bound_s;
    uint32_t scaled, replicas, layers; /* pieces; UINT32_MAX: not wanted yet */
    uint32_t plan;                     /* in plans[]; UINT32_MAX: none */
};

struct search_plan {
    struct plan plan;
    uint32_t item; /* in items[] */
};

/* A plan that ranks made which had nothing else to do, of a layout whose turn may come. */
struct search_ahead {
    uint32_t item;
    struct plan plan;
    struct shd_error err;
};

struct search_progress {
    const char *what;
    size_t ndone, ntotal;
    double best_s, next_bound_s; /* 0: none */
    double layouts_per_s;        /* so far, of all; 0: not known */
};

struct search_opts {
    size_t ntop;     /* how many of the best are to be certain, at least 1 */
    size_t nplans;   /* plan no more; 0: as many as it takes */
    bool all;        /* plan every layout, whatever its bounds */
    double within_s; /* above 0: those of least memory whose steps take no longer are the best */
    int nthreads;
    struct farm *farm;       /* ranks that build pieces and plan, too; NULL: this one alone */
    struct journal *journal; /* has plans that are done, and is to have all others; may be NULL */
    const int *stop;         /* ends it, with what there is; may be NULL */
    void (*progress)(void *arg, const struct search_progress *progress); /* may be NULL */
    void *arg;
};

struct search {
    const struct subject *subject; /* not owned */
    struct journal *journal;       /* likewise; may be NULL */
    bool all;                      /* what surely does not fit is kept, too */
    double within_s;               /* as in the options */
    struct search_item *items;     /* all, in the order of the space */
    size_t nitems;
    uint32_t *queue; /* of items that may be best: a heap, by bound and then by number */
    size_t nqueue;
    struct pieces *pieces;
    struct search_plan *plans; /* in the order of planning */
    size_t nplans;
    uint32_t *best; /* plans that fit, by step or, within one, by memory; then by id; without those
                       that compute again for nothing what another of them keeps */
    size_t nbest;
    struct search_ahead *ahead; /* of layouts that are still in the queue */
    size_t nahead;
    /* What was done. */
    size_t nlayouts, npieces;
    size_t ntoo_big, ntoo_slow, nrefused; /* that are known to be */
    size_t nlevels[SEARCH_TIMED + 1];     /* layouts that were bounded so */
    double pieces_s, bounds_s, plans_s;   /* wall time */
    bool over;                            /* not ended by `stop` */
    double proven; /* no layout that was not planned is below, in seconds or, within a step, in
                      bytes; infinite: all were planned */
    char why[160]; /* the first layout that was refused, why */
};

/* On success free it with search_fini().  SHD_ENOMEM; SHD_ENOTFOUND: the space is empty. */
SHD_MUST_CHECK int search_run(struct search *out, const struct subject *subject,
                              const struct search_opts *opts, struct shd_error *err);
void search_fini(struct search *search);

/* What a search looks for the least of: seconds of the step or, within one, bytes of memory. */
double search_bound_of(const struct search *search, size_t item);
double search_goal_of(const struct search *search, const struct plan *plan);

/* Bound an item as closely as can be; false: it is out, or there is no memory. */
bool search_bound_item(struct search *search, size_t item);

/* Plan an item that may not be planned yet; its plan, or NULL without memory. */
const struct search_plan *search_plan_item(struct search *search, size_t item);

/* After a search, plan the best of a part of the layouts, the lowest bound first, unless so much
 * work does not find it.  *first has the lowest bound of those that may still be better;
 * UINT32_MAX: there is none.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_among(struct search *search, const struct space *part,
                                const struct search_opts *opts, uint32_t *first,
                                struct shd_error *err);

/* Of a part of which nothing fits, the layout of the lowest bound of memory, UINT32_MAX if there is
 * none that only its memory keeps out.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_least_memory(struct search *search, const struct space *part,
                                       const struct search_opts *opts, uint32_t *first,
                                       struct shd_error *err);

#endif /* SEARCH_SEARCH_H */
