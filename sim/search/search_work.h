/* search/search_work.h - what the files of a search share: search.c bounds layouts and takes the
 * best first, layout_queue.c is their queue, plan_batch.c plans them.
 *
 * Thread class: as search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_WORK_H
#define SEARCH_SEARCH_WORK_H

#include <time.h>

#include "search/search.h"

/* Plans that are begun together: a constant, because the planned layouts must not depend on the
 * number of threads. */
#define SEARCH_BATCH 4

/* ---- layout_queue.c ---- */

/* Add an item to the queue, and take its first. */
void search_push(struct search *s, uint32_t item);
uint32_t search_pop(struct search *s);

/* Move the item at a place of the queue down to where it belongs. */
void search_sink(struct search *s, size_t at);

/* ---- layout_sets.c ---- */

/* Find the pieces that bound a set at a level; false: no memory. */
bool search_find_of_set(struct search *s, const struct search_item *set, enum search_level level);

/* Bound a set at a level, with its pieces built. */
void search_bound_set(const struct search *s, struct search_item *set, enum search_level level);

/* Why all members of a set are refused; NULL: not all are, as far as their pieces tell. */
const char *search_why_set(const struct search *s, const struct search_item *set);

/* Make items of the members of a set, and queue those in a part of the space (NULL: all).
 * They have the set's bounds.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_open(struct search *s, uint32_t set, const struct space *part,
                               struct shd_error *err);

/* Whether a set, or a layout, may be in a part of the space: all choices but those that the members
 * of a set differ in are. */
bool search_may_have(const struct space *part, const struct search_item *item);

/* How many layouts an item stands for. */
static inline size_t search_count(const struct search_item *item)
{
    return item->nmembers > 0 ? item->nmembers : 1;
}

/* ---- plan_batch.c ---- */

/* Plan at most SEARCH_BATCH items, by the farm unless it is NULL, and note the plans in the items'
 * order.  If the farm ends early, only the plans before the first missing one are noted.
 * SHD_ENOMEM, or as journal_add() says. */
SHD_MUST_CHECK int search_plan_batch(struct search *s, const uint32_t *items, size_t n,
                                     struct farm *farm, int nthreads, struct shd_error *err);

/* ---- filter.c ---- */

/* Drop an item that the subject's filter leaves out.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_filter(struct search *s, struct search_item *item);

/* ---- small ---- */

static inline bool search_is_too_slow(const struct search *s, double seconds)
{
    return s->within_s > 0 && seconds > s->within_s;
}

/* Seconds from some moment on. */
static inline double search_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif /* SEARCH_SEARCH_WORK_H */
