/* trial.h - one strategy, tried: from its scenario to a filled record, executed or planned.
 *
 * The order is always scenario -> graph and shardings -> program -> record; a trial owns all of
 * them.
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
#include "trial/outputs.h"
#include "trial/timing.h"
#include "run/walk/walk.h"

struct trial {
    const struct scenario *scenario; /* not owned, or `resolved` */
    struct scenario *resolved; /* copy of the scenario, its strings shared, with the defaults of the
                                  cluster's software; NULL: `scenario` is not a copy */
    struct shd_mesh *mesh;
    struct graph *graph;
    struct graph *unpadded; /* the graph before padding (graph/pad.h); NULL: `graph` is not
                               padded */
    struct timetable *timetable;  /* of a pipeline; NULL: one stage */
    struct program_stages stages; /* the pipeline's stages and axis */
    struct model_shardings shardings;
    const struct coll_algo *algos[COLL_NKINDS]; /* the scenario's; NULL entries: the default */
    struct program *program;
    struct hardware *hardware; /* the cluster that the scenario names; NULL: none */
    uint64_t memory_limit_bytes; /* of a device, as limits.memory says; 0: none */
    bool *offloads; /* [node of `graph`] whether it is on the host (partition.h); NULL: none */
    bool has_nodes;            /* moe.node_axis is an axis of `mesh`: ... */
    uint8_t node_axis;         /* ... this one */
    bool by_time;              /* the program is the partitioner's choice by time on `hardware` */
    /* Options of an execution; set after trial_init(). */
    uint32_t repeats;    /* of a step without state; 0: one */
    int nthreads;        /* threads in the kernels of each device; 0: one */
    const char *memory;  /* as in shd_run_opts; NULL: the default */
    bool keeps_outputs;  /* `outputs` are wanted; not over ranks */
    walk_together_fn together; /* called with the results; not over ranks, nor with
                                  `keeps_outputs`.  NULL: nothing to do */
    void *together_arg;
    struct outputs *outputs; /* of the execution; NULL: none (trial/outputs.h) */
    bool over_ranks;     /* devices are spread over all ranks, which execute together ... */
    const char *spread_axis;  /* ... by their coordinates on this axis; NULL: by their order */
    struct spread *spread;    /* set when executed; NULL: this rank has all devices */
    struct works *works; /* times shared by several trials; NULL: each has its own.  Not owned */
    struct timing timing;
    struct record *record; /* NULL until executed or planned */
};

/* Build everything up to the program.  Errors go to `diag` with their place in the scenario;
 * SHD_EINDIVISIBLE: the only errors are dimensions that their shardings do not divide. */
SHD_MUST_CHECK int trial_init(struct trial *out, const struct scenario *scenario,
                              struct diag *diag);

/* Like trial_init(), for a scenario derived from a valid one: an error has no place in a file and
 * goes to `err`, after `what`. */
SHD_MUST_CHECK int trial_init_made(struct trial *out, const struct scenario *scenario,
                                   const char *what, struct shd_error *err);

/* Like trial_init(), but without a program, which exporting does not need: only the mesh, the
 * graph and its shardings. */
SHD_MUST_CHECK int trial_lay(struct trial *out, const struct scenario *scenario, struct diag *diag);
void trial_fini(struct trial *trial);

/* The request to the partitioner. */
struct partition_request trial_request(const struct trial *trial);

/* Execute with real numbers and verify against the unsharded computation.  `stop_request` (may be
 * NULL) ends the run when a signal handler sets it.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_execute(struct trial *trial, const int *stop_request,
                                 struct shd_error *err);

/* Execute an executed trial again to measure times only: round 1, 2 and so on (trial/timing.h).
 * Needs nthreads of one.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_time(struct trial *trial, uint32_t round, const int *stop_request,
                              struct shd_error *err);

/* Replay the step from all measurements of `nrounds` rounds.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_replay(struct trial *trial, uint32_t nrounds, struct shd_error *err);

/* Execute a training step as often as the scenario says, to record losses only, without measuring
 * or verifying.  Errors as shd_run(). */
SHD_MUST_CHECK int trial_train(struct trial *trial, const int *stop_request, struct shd_error *err);

/* Plan the program: walk it analytically, nothing executed, and model it on the scenario's cluster. */
SHD_MUST_CHECK int trial_plan(struct trial *trial, struct shd_error *err);

/* For a trial planned with uniform routing to experts, find the worst-case peak memory, with room for
 * all tokens at each expert: the record's worst_peak_bytes, or worst_unknown if this cannot be
 * planned.  Does nothing for other trials. */
void trial_find_worst(struct trial *trial);

/* Like trial_plan(), into a separate record, for example in addition to an executed one.  Free *out
 * with record_destroy() either way. */
SHD_MUST_CHECK int trial_make_plan(const struct trial *trial, struct record **out,
                                   struct shd_error *err);

/* Memory of the fullest device, in bytes: the peak of the record (of the program before there is a
 * record), with the allocator's fragments and the memory of the runtime. */
double trial_need_bytes(const struct trial *trial);

/* Memory that a device offers for trial_need_bytes(): the cluster's device, less the `margin`
 * (hardware/margin.h), or limits.memory if smaller.  Infinite without a cluster and a limit. */
double trial_room_bytes(const struct trial *trial, bool margin);

/* Whether the plan's peak memory is within the scenario's limit, if there is one. */
bool trial_fits(const struct trial *trial);

#endif /* TRIAL_TRIAL_H */
