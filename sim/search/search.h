/* search/search.h - the best layouts of a space, proven to be: lower bounds of all, then plans.
 *
 * Layouts that surely do not fit the device are left out first.  The others are planned, the lowest
 * bound first, in batches of a fixed size, until no bound is below the step of the last of the best
 * so many: whatever is left is worse.  Ties go to the layout that is listed first.
 *
 * Thread class: owned by one thread; it runs threads of its own, and what it finds does not depend
 * on how many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "report/modelled.h"
#include "search/pieces.h"

enum search_state {
    SEARCH_UNPLANNED,
    SEARCH_REFUSED, /* there is no such program */
    SEARCH_TOO_BIG, /* it does not fit */
    SEARCH_PLANNED
};

struct search_item {
    struct layout layout;
    uint32_t id; /* in the order of the space */
    float bound_bytes;
    double bound_s;
    uint32_t replicas, layers; /* pieces */
    uint32_t plan;             /* in plans[]; UINT32_MAX: none */
};

struct search_plan {
    enum search_state state;
    struct modelled_figures figures;
    uint32_t item; /* in items[] */
};

struct search_progress {
    const char *what;
    size_t ndone, ntotal;
    double best_s, next_bound_s; /* 0: none */
};

struct search_opts {
    size_t ntop;   /* how many of the best are to be certain, at least 1 */
    size_t nplans; /* plan no more; 0: as many as it takes */
    bool all;      /* plan every layout, whatever its bounds */
    int nthreads;
    const int *stop; /* ends it, with what there is; may be NULL */
    void (*progress)(void *arg, const struct search_progress *progress); /* may be NULL */
    void *arg;
};

struct search {
    const struct subject *subject; /* not owned */
    bool all;                      /* what surely does not fit is kept, too */
    struct search_item *items;     /* that may fit; by bound, then by id */
    size_t nitems;
    struct search_plan *plans; /* in the order of planning */
    size_t nplans;
    uint32_t *best; /* plans that fit, by step, then by id */
    size_t nbest;
    /* What was done. */
    size_t nlayouts, ntoo_big, nrefused, npieces, nbounds;
    double pieces_s, bounds_s, plans_s; /* wall time; bounds with one thread */
    double proven_s; /* no layout that was not planned is below; infinite: all were planned */
    char why[160];   /* the first layout that was refused, why */
};

/* On success free it with search_fini().  SHD_ENOMEM; SHD_ENOTFOUND: the space is empty. */
SHD_MUST_CHECK int search_run(struct search *out, const struct subject *subject,
                              const struct search_opts *opts, struct shd_error *err);
void search_fini(struct search *search);

/* Plan an item that may not be planned yet; its plan, or NULL without memory. */
const struct search_plan *search_plan_item(struct search *search, size_t item);

#endif /* SEARCH_SEARCH_H */
