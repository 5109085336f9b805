/* sweep.h - planning strategies on all ranks, for `plan` and `compare --plan` under a launcher.
 *
 * Each rank reads the files; a task of the farm (run/ranks/farm.h) is a strategy, whose program is
 * built and planned by the rank that takes the task.  The answer is the report, or the row of a
 * comparison, so that rank 0 keeps nothing else.
 *
 * Thread class: owned by one thread of each rank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_SWEEP_H
#define COMMAND_SWEEP_H

#include "command/work.h"
#include "run/ranks/farm.h"
#include "report/compare_rows.h"

/* Parts of the answer for each strategy: equal on all ranks, from their command lines. */
struct sweep_wants {
    bool text, json, row; /* report as text, report as JSON, row of a comparison */
    bool verbose;         /* as in struct result */
};

/* The result of an item of the work. */
struct sweep_item {
    bool planned; /* false: planning failed, which was logged */
    int exit;
    bool fits;
    uint128 peak_bytes;
    size_t file, number; /* file of the scenario, and number in the file */
    struct text what;    /* the model in words */
    struct text text, json;
    struct figures row;
};

struct sweep {
    struct work *work;
    struct sweep_wants wants;
    uint64_t *read; /* [file] hash of the text that this rank has read */
    struct farm *farm;
    struct sweep_item *items; /* on rank 0, one for each item of the work */
    /* The present round: */
    const struct sweep_task {
        size_t file, number, item;
        bool fit; /* also search for changes that make the step fit */
    } * tasks;
    int exit;
};

/* Whether all ranks plan; else rank 0 plans alone. */
bool sweep_is_for(const struct work *work);

/* Rank 0's report on the sweep: returns the exit status. */
typedef int (*sweep_tell_fn)(void *arg, struct sweep *sweep);

/* All ranks: read the files and plan all strategies asked for; rank 0 then reports through `tell`
 * if there are any.  By then the work has its items, without their trials, and the strategies left
 * out; errors are printed.  Returns the exit status of rank 0. */
int sweep_run(struct work *work, struct sweep_wants wants, sweep_tell_fn tell, void *arg);

/* Rank 0: find changes that make some items fit, and rebuild the items' reports. */
int sweep_fit(struct sweep *sweep, const size_t *items, size_t nitems);

#endif /* COMMAND_SWEEP_H */
