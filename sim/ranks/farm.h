/* farm.h - work for all ranks, which is asked for, not dealt out beforehand.
 *
 * Rank 0 has tasks, round after round, and hands them out: to the other ranks by letters, one at a
 * time to each of their hands, and to hands of its own.  So a slow rank does less.  A task is some
 * bytes that say all of it, and its answer is some bytes, too; answers are taken in the order of
 * the tasks, by the thread that runs the round.  What a rank cannot do (work() returns other than
 * 0) rank 0 does once more before it says so: the message is then one process's.
 *
 * With one rank there are no letters, and with one hand no threads: a task is done, and its answer
 * taken, one after the other.
 *
 * Thread class: a farm is owned by one thread of a rank; work() is called by several at once, and
 * ask() by another one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_FARM_H
#define RANKS_FARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

struct farm; /* opaque */

/* What each rank brings. */
struct farm_crew {
    /* Do a task: its answer, and 0, or why it cannot be done, as the program's exit status. */
    int (*work)(void *arg, const void *task, size_t bytes, struct text *answer);
    void *arg;
    int nhands; /* threads that work; at least 1 */
    /* Not 0: no more is to be done.  Set where another rank was asked to stop, too. */
    int *stop;
};

/* A round. */
struct farm_round {
    size_t ntasks;
    /* Say what a task is: reads only what take() does not change. */
    void (*ask)(void *arg, size_t task, struct text *out);
    /* An answer, or the status of who could not; other than 0 ends the round. */
    int (*take)(void *arg, size_t task, int status, const struct text *answer);
    void *arg;
};

/* All ranks begin a farm, in the same order as all else that they do together; then rank 0 runs
 * rounds and ends it, and all others serve.  NULL: no memory. */
struct farm *farm_create(const struct farm_crew *crew);

/* Rank 0: do a round.  Returns when all answers were taken; earlier when take() did not return 0,
 * or when it is to stop.  `ntaken` (may be NULL) is how many were taken.  SHD_ENOMEM. */
SHD_MUST_CHECK int farm_run(struct farm *farm, const struct farm_round *round, size_t *ntaken,
                            struct shd_error *err);

/* Other ranks: work until rank 0 ends the farm; returns the exit status that it gave. */
int farm_serve(struct farm *farm);

/* Free it; rank 0 lets the others go, with an exit status. */
void farm_destroy(struct farm *farm, int exit_status); /* NULL is allowed */

/* Rank 0: hands of all ranks that are there by now. */
size_t farm_hands(struct farm *farm);

/* Rank 0: how many tasks each rank has done: "12 tasks on rank 0, 30 on rank 1". */
void farm_tell(const struct farm *farm, struct text *out);

#endif /* RANKS_FARM_H */
