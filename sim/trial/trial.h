/* trial.h - one strategy, tried: from its scenario to a filled record, executed or planned.
 *
 * The way is scenario -> graph and shardings -> program -> record, always in this order; a trial
 * owns all of them.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_TRIAL_H
#define TRIAL_TRIAL_H

#include <shd/error.h>
#include <shd/mesh.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "hardware/hardware.h"
#include "model/model.h"
#include "partition/partition.h"
#include "program/program.h"
#include "program/record.h"
#include "scenario/scenario.h"
#include "trial/timing.h"

struct trial {
    const struct scenario *scenario; /* not owned */
    struct shd_mesh *mesh;
    struct graph *graph;
    struct graph *unpadded; /* what `graph` is a padded form of (graph/pad.h); NULL: nothing */
    struct timetable *timetable;  /* of a pipeline; NULL: there is one stage ... */
    struct program_stages stages; /* ... else on its axis */
    struct model_shardings shardings;
    const struct coll_algo *algos[COLL_NKINDS]; /* asked for; NULL: the default */
    struct program *program;
    struct hardware *hardware; /* that the scenario names; NULL: none */
    bool by_time;              /* the program is the partitioner's choice by time on it */
    /* Of an execution; set after trial_init(). */
    uint32_t repeats;    /* of a step that leaves nothing to the next; 0: one */
    int nthreads;        /* in the kernels of each device; 0: one */
    const char *memory;  /* as in shd_run_opts; NULL: the default */
    bool over_ranks;     /* devices are spread over all ranks, which execute it together ... */
    const char *spread_axis;  /* ... by their coordinates on an axis; NULL: by their order */
    struct spread *spread;    /* set when it is executed; NULL: all devices are here */
    struct works *works; /* where several trials keep their times; NULL: each its own.  Not owned */
    struct timing timing;
    struct record *record; /* NULL until executed or planned */
};

/* Build all up to the program.  Errors go to `diag` with their place in the scenario;
 * SHD_EINDIVISIBLE: only some dimensions do not divide by what shards them. */
SHD_MUST_CHECK int trial_init(struct trial *out, const struct scenario *scenario,
                              struct diag *diag);
void trial_fini(struct trial *trial);

/* What the partitioner was asked for. */
struct partition_request trial_request(const struct trial *trial);

/* Execute with real numbers and verify against the unsharded computation.  `stop_request` (may be
 * NULL) ends the run when a signal handler sets it.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_execute(struct trial *trial, const int *stop_request,
                                 struct shd_error *err);

/* Execute an executed trial again, for its times alone: round 1, 2 and so on (trial/timing.h).
 * Needs nthreads of one.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_time(struct trial *trial, uint32_t round, const int *stop_request,
                              struct shd_error *err);

/* Replay the step from all that was measured in so many rounds.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_replay(struct trial *trial, uint32_t nrounds, struct shd_error *err);

/* Execute a step that trains as often as the scenario says, for its losses alone: nothing is
 * measured or verified.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_train(struct trial *trial, const int *stop_request, struct shd_error *err);

/* Walk the program on paper, and lay it out on the cluster that the scenario names. */
SHD_MUST_CHECK int trial_plan(struct trial *trial, struct shd_error *err);

/* The same as a record of its own, beside one that was executed, say; *out is for
 * record_destroy() either way. */
SHD_MUST_CHECK int trial_make_plan(const struct trial *trial, struct record **out,
                                   struct shd_error *err);

/* The plan's peak memory is within the scenario's limit (or there is none). */
bool trial_fits(const struct trial *trial);

#endif /* TRIAL_TRIAL_H */
