/* timing.h - the times of a step, taken as it is repeated, and the step replayed from them.
 *
 * A step is first executed once or several times in a row, by all devices, and may then be measured
 * in rounds.  In a round devices walk the step alone, one at a time, each with the caches of a core
 * to itself and waiting for nobody: as many as it takes to see every work, one where all are alike.
 * Trials take turns, so that what disturbs the machine for a while disturbs all of them alike.
 * The first repeat of a walk touches pages and fills caches and counts only where there is no
 * other.
 *
 * Columns of the works: 0 and 1 are of the execution before all rounds, its earlier and its later
 * repeats; of a single repeat, the devices of even and of odd position.  Round r has column r + 1.
 * After two rounds columns 0 and 1 no longer count: they are of a machine that was not warm.
 *
 * Thread class: owned by one thread; while a walk runs, by its devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_TIMING_H
#define TRIAL_TIMING_H

#include "cost/works.h"
#include "walk/walk.h"

/* Repeats of a walk in a round: one to warm up, and so many more that thread and arguments, which
 * each walk makes anew, cost little beside them. */
#define TIMING_ROUND_REPEATS 5

struct timing {
    struct works *works; /* not owned where `owned` is false */
    bool owned;
    uint32_t *ids;         /* by works_number() */
    struct record *record; /* not owned */
    struct record *walked; /* where the walk at hand puts its times; not owned */
    uint32_t repeats;      /* of the walk at hand */
    uint32_t round;        /* the same; 0: before all rounds */
    int32_t device;        /* that walks alone; not in round 0 */
    int32_t nwalkers;      /* devices that it takes to see every work */
    uint32_t nmeasured;    /* repeats before all rounds that count */
};

/* Get ready for a record with times.  `shared` (may be NULL) are works in which others measure,
 * too. SHD_ENOMEM. */
SHD_MUST_CHECK int timing_init(struct timing *out, struct record *record, struct works *shared,
                               struct shd_error *err);
void timing_fini(struct timing *timing); /* zeros are allowed */

/* Have a walk of all devices take times, before all rounds; its other options are set. */
void timing_watch(struct timing *timing, struct walk_opts *opts);

/* Measure round 1, 2 and so on.  What no trial of the same works has seen in the round is walked.
 * Errors as shd_run(). */
SHD_MUST_CHECK int timing_round(struct timing *timing, uint32_t round, const struct walk_opts *opts,
                                struct shd_error *err);

/* What a round will take, as far as the execution before it tells: CPU time, in nanoseconds. */
int64_t timing_round_ns(const struct timing *timing);

/* Replay from all times after so many rounds.  Errors as steady_replay(). */
SHD_MUST_CHECK int timing_replay(struct timing *timing, uint32_t nrounds,
                                 const struct record_transfers *transfers, struct shd_error *err);

#endif /* TRIAL_TIMING_H */
