/* search/crew.h - what other ranks do of a search: they build pieces and plan layouts, as tasks of
 * a farm (ranks/farm.h), and know nothing of what was found so far.
 *
 * What a task says is in task.h; all else, the scenario, each rank has read by itself.
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

#endif /* SEARCH_CREW_H */
