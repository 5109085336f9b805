/* search/search_work.h - shared by the files of a search: search.c goes best first; bound_batch.c
 * bounds layouts; probe.c finds the first ones; layout_queue.c is their queue; plan_batch.c plans
 * them.
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

/* ---- bound_batch.c ---- */

/* Layouts that are bounded together, with their pieces built together: a constant, because the
 * result must not depend on the number of threads. */
#define SEARCH_BOUND_BATCH 64

/* Bound items at a level together, with their pieces built.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_bound_batch(struct search *s, const uint32_t *items, size_t n,
                                      enum search_level level, const struct search_opts *opts,
                                      struct shd_error *err);

/* Report progress: the best so far, and the bound on what is left (0: unknown). */
void search_tell(const struct search *s, const struct search_opts *opts, double next_bound_s);

/* ---- probe.c ---- */

/* Plan a few layouts that seem good: the starts and, with `ends`, those of descents from them.  *out
 * is a search of its own, zeros before the first call, for search_fini(), which shares the pieces of
 * `sets`; a later call goes on.  SHD_ENOMEM, or as journal_add() says. */
SHD_MUST_CHECK int search_probe(struct search *out, struct search *sets,
                                const struct search_opts *opts, bool ends, struct shd_error *err);

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

/* Why all members of a set are refused; NULL: their pieces do not show that all are. */
const char *search_why_set(const struct search *s, const struct search_item *set);

/* Make items of the members of a set, and queue those in a part of the space (NULL: all).
 * They have the set's bounds.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_open(struct search *s, uint32_t set, const struct space *part,
                               struct shd_error *err);

/* The item of a layout; its set is opened.  *item is UINT32_MAX if the set was dropped. SHD_ENOMEM.
 */
SHD_MUST_CHECK int search_item_of(struct search *s, const struct layout *layout, uint32_t *item,
                                  struct shd_error *err);

/* Whether the members of a set share a choice, and a set's layout with the other choices of another
 * layout. */
bool search_is_shared(enum space_choice choice);
struct layout search_as_member(const struct layout *set, const struct layout *other);

/* Whether a layout is a member of a set, judged by the choices that members share. */
bool search_is_member(const struct layout *set, const struct layout *layout);

/* Whether a set, or a layout, may be in a part of the space: judged by all choices except those in
 * which the members of a set differ. */
bool search_may_have(const struct space *part, const struct search_item *item);

/* How many layouts an item stands for. */
static inline size_t search_count(const struct search_item *item)
{
    return item->nmembers > 0 ? item->nmembers : 1;
}

/* ---- plan_batch.c ---- */

/* Whether an item's bound is above the plan of the last of the best: it needs no plan. */
bool search_is_beaten(const struct search *s, const struct search_opts *opts, uint32_t item);

/* Plan at most SEARCH_BATCH items, by the farm unless it is NULL, and note the plans in the items'
 * order.  If the farm ends early, only the plans before the first missing one are noted.
 * SHD_ENOMEM, or as journal_add() says. */
SHD_MUST_CHECK int search_plan_batch(struct search *s, const uint32_t *items, size_t n,
                                     struct farm *farm, int nthreads, struct shd_error *err);

/* Take over the plans of another search of the same subject that were not refused and are not there
 * yet.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_adopt(struct search *s, const struct search *other,
                                struct shd_error *err);

/* ---- filter.c ---- */

/* Drop a layout that the subject's filter refuses, as is known already or, with `ask`, is asked; and,
 * before bounds, all sets that it refuses by their scenarios.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_filter(struct search *s, struct search_item *item, bool ask);
SHD_MUST_CHECK int search_filter_sets(struct search *s, struct shd_error *err);

/* ---- small ---- */

static inline bool search_is_stopped(const struct search_opts *opts)
{
    return opts->stop && __atomic_load_n(opts->stop, __ATOMIC_RELAXED);
}

static inline bool search_is_too_big(const struct search *s, const struct search_item *item)
{
    return item->bound_bytes > s->subject->hardware->memory_bytes;
}

static inline bool search_is_too_slow(const struct search *s, double seconds)
{
    return s->within_s > 0 && seconds > s->within_s;
}

/* Seconds of a monotonic clock. */
static inline double search_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif /* SEARCH_SEARCH_WORK_H */
