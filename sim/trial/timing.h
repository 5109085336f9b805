/* timing.h - measure a step's times over repeats, and replay the step from them.
 *
 * All devices first execute a step once or several times in a row; then it may be measured in
 * rounds.  In a round, devices walk the step alone, one at a time, each with the caches of a core
 * to itself and without waiting: as many devices as it takes to measure every work, one if all are
 * alike.  Trials take turns, so that a disturbance of the machine affects all trials alike.  The
 * first repeat of a walk warms up pages and caches and counts only if there is no other.
 *
 * Columns of the works: 0 and 1 belong to the execution before all rounds, its earlier and its
 * later repeats; for a single repeat, the devices of even and of odd position.  Round r has column
 * r + 1.  After two rounds columns 0 and 1 no longer count: the machine was not warm yet.
 *
 * Thread class: owned by one thread; while a walk runs, by its devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_TIMING_H
#define TRIAL_TIMING_H

#include "cost/works.h"
#include "run/walk/walk.h"

/* Repeats of a walk in a round: one to warm up, and enough others that creating the thread and the
 * arguments, once per walk, costs little in comparison. */
#define TIMING_ROUND_REPEATS 5

struct timing {
    struct works *works; /* not owned if `owned` is false */
    bool owned;
    uint32_t *ids;         /* by works_number() */
    struct record *record; /* not owned */
    struct record *walked; /* record that the current walk writes times to; not owned */
    uint32_t repeats;      /* of the current walk */
    uint32_t round;        /* of the current walk; 0: before all rounds */
    int32_t device;        /* the device that walks alone; unused in round 0 */
    int32_t nwalkers;      /* devices needed to measure every work */
    uint32_t nmeasured;    /* repeats before all rounds that count */
};

/* Prepare for a record with times.  `shared` (may be NULL) are works that several trials measure
 * into.  SHD_ENOMEM. */
SHD_MUST_CHECK int timing_init(struct timing *out, struct record *record, struct works *shared,
                               struct shd_error *err);
void timing_fini(struct timing *timing); /* zeros are allowed */

/* Set the options of a walk of all devices, before all rounds, to measure times; other options
 * stay. */
void timing_watch(struct timing *timing, struct walk_opts *opts);

/* Measure round 1, 2 and so on.  Only works that no trial with the same works has measured in the
 * round are walked.  Errors as shd_run(). */
SHD_MUST_CHECK int timing_round(struct timing *timing, uint32_t round, const struct walk_opts *opts,
                                struct shd_error *err);

/* Estimated CPU time of a round, in nanoseconds, from the execution before all rounds. */
int64_t timing_round_ns(const struct timing *timing);

/* Replay the step from all times after `nrounds` rounds.  Errors as steady_replay(). */
SHD_MUST_CHECK int timing_replay(struct timing *timing, uint32_t nrounds,
                                 const struct record_transfers *transfers, struct shd_error *err);

#endif /* TRIAL_TIMING_H */
