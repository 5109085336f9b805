/* search/crew.h - the work of other ranks in a search: building pieces and planning layouts as tasks
 * of a farm (run/ranks/farm.h), independent of the search's results so far.
 *
 * task.h defines the contents of a task; each rank has read the scenario by itself.
 *
 * Thread class: a crew is immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_CREW_H
#define SEARCH_CREW_H

#include "search/layout_plan.h"

struct crew {
    const struct trial *trial; /* NULL: this rank could not read the scenario and can do no task */
    const struct space_range *ranges;
    size_t nranges;
    const struct subject_filter *filter; /* NULL: none */
};

/* Do a task of a farm_crew; `arg` is the crew.  Returns 1 if the task cannot be done, else 0. */
int crew_work(void *arg, const void *task, size_t bytes, struct text *answer);

#endif /* SEARCH_CREW_H */
