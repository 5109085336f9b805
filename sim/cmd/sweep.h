/* sweep.h - strategies planned by all ranks: what `plan` and `compare --plan` do under a launcher.
 *
 * Each rank reads the files; a task of the farm (ranks/farm.h) is a strategy, whose program is
 * built and planned by whoever asks for it.  What comes back is the report, or the row of a
 * comparison, so that rank 0 keeps no more than these.
 *
 * Thread class: owned by one thread of each rank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SWEEP_H
#define CMD_SWEEP_H

#include "cmd/work.h"
#include "ranks/farm.h"
#include "report/compare_rows.h"

/* What is wanted of each strategy: the same on all ranks, by their command line. */
struct sweep_wants {
    bool text, json, row; /* its report as text, as JSON; its row */
    bool verbose;         /* as in struct result */
};

/* What came of an item of the work. */
struct sweep_item {
    bool planned; /* else it could not be, which was logged */
    int exit;
    bool fits;
    uint128 peak_bytes;
    size_t file, number; /* which scenario it is */
    struct text what;    /* the model in words */
    struct text text, json;
    struct compare_row row;
};

struct sweep {
    struct work *work;
    struct sweep_wants wants;
    uint64_t *read; /* by file: a hash of what this rank has read */
    struct farm *farm;
    struct sweep_item *items; /* on rank 0, one an item of the work */
    /* The round at hand: */
    const struct sweep_task {
        size_t file, number, item;
        bool fit; /* what would make it fit is wanted, too */
    } * tasks;
    int exit;
};

/* Whether all ranks plan; else rank 0 does it alone. */
bool sweep_is_for(const struct work *work);

/* What rank 0 makes of it: returns the exit status. */
typedef int (*sweep_tell_fn)(void *arg, struct sweep *sweep);

/* All ranks: read the files and plan all strategies that are wanted, of which rank 0 tells, where
 * there are any.  The work then has its items, whose trials are not there, and what was left out;
 * what is wrong is told.  Returns the exit status of rank 0. */
int sweep_run(struct work *work, struct sweep_wants wants, sweep_tell_fn tell, void *arg);

/* Rank 0: look for what would make some items fit, which makes their reports anew. */
int sweep_fit(struct sweep *sweep, const size_t *items, size_t nitems);

#endif /* CMD_SWEEP_H */
