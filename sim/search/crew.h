/* search/crew.h - what other ranks do of a search: they build pieces and plan layouts, as tasks of
 * a farm (ranks/farm.h), and know nothing of what was found so far.
 *
 * A task says on how many devices, of which part of the cluster, and of which layouts; all else,
 * the scenario, each rank has read by itself.
 *
 * Thread class: a crew is immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_CREW_H
#define SEARCH_CREW_H

#include "search/plan.h"

struct crew {
    const struct trial *trial; /* NULL: the scenario cannot be read here, and no task be done */
    const struct space_range *ranges;
    size_t nranges;
};

/* The work of a farm_crew; `arg` is the crew.  0, or 1: it cannot be done. */
int crew_work(void *arg, const void *task, size_t bytes, struct text *answer);

/* Begin a task of pieces of a kind, whose n layouts are to be packed behind it.  The answer is as
 * many `struct piece`. */
void crew_ask(struct text *out, const struct subject *subject, enum attempt_kind kind, uint32_t n);

/* A task to plan a layout, and its answer; `err` says why it was refused. */
void crew_ask_plan(struct text *out, const struct subject *subject, const struct layout *layout);
void crew_take_plan(const struct text *answer, struct plan *plan, struct shd_error *err);

#endif /* SEARCH_CREW_H */
