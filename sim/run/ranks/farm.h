/* farm.h - distribute tasks over all ranks on demand.
 *
 * Rank 0 has tasks, round after round, and hands them out: to other ranks by letter, one at a time
 * to each of their hands (worker threads), and to hands of its own.  So a slow rank does less.  A
 * task is described completely by some bytes, and so is its answer; the thread that runs the round
 * takes answers in the order of tasks.  A task that a rank fails to do (work() returns other than
 * 0) is repeated by rank 0 before the failure counts, so that the message is the same as with one
 * process.
 *
 * With one rank there are no letters, and with one hand no threads: tasks are done, and their
 * answers taken, one after the other.
 *
 * Thread class: a farm is owned by one thread of a rank; work() is called by several at once, and
 * ask() by another one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_FARM_H
#define RUN_RANKS_FARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

struct farm; /* opaque */

/* What each rank contributes. */
struct farm_crew {
    /* Do a task: writes its answer and returns 0, or returns an exit status that says why it
     * failed. */
    int (*work)(void *arg, const void *task, size_t bytes, struct text *answer);
    void *arg;
    int nhands; /* worker threads; at least 1 */
    /* Not 0: stop.  Set also if another rank was asked to stop. */
    int *stop;
};

/* A round. */
struct farm_round {
    size_t ntasks;
    /* Describe a task; may only read data that take() does not change. */
    void (*ask)(void *arg, size_t task, struct text *out);
    /* Take an answer, or the status of a failed task; a nonzero return ends the round. */
    int (*take)(void *arg, size_t task, int status, const struct text *answer);
    void *arg;
};

/* Create a farm on all ranks, in the same order as other operations on all ranks; then rank 0 runs
 * rounds and ends the farm, and all others serve.  NULL: no memory. */
struct farm *farm_create(const struct farm_crew *crew);

/* Rank 0: run a round.  Returns when all answers were taken; earlier if take() returned nonzero, or
 * `stop` was set.  `ntaken` (may be NULL): number of answers taken.  SHD_ENOMEM. */
SHD_MUST_CHECK int farm_run(struct farm *farm, const struct farm_round *round, size_t *ntaken,
                            struct shd_error *err);

/* Other ranks: work until rank 0 ends the farm; returns rank 0's exit status. */
int farm_serve(struct farm *farm);

/* Free a farm; rank 0 ends it for the others, with an exit status. */
void farm_destroy(struct farm *farm, int exit_status); /* NULL is allowed */

/* Rank 0: number of hands of all ranks that are ready by now. */
size_t farm_hands(struct farm *farm);

/* Rank 0: add how many tasks each rank has done: "12 tasks on rank 0, 30 on rank 1". */
void farm_tell(const struct farm *farm, struct text *out);

#endif /* RUN_RANKS_FARM_H */
