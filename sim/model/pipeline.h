/* pipeline.h - the stage of each layer in a pipeline, and the schedule's timetable.
 *
 * Names define layers: all values under "layers/3", or "encoder/layers/3", belong to one layer.
 * Values before the first layer are in stage 0, values after the last layer in its stage, unless a
 * place pattern says otherwise.  Modules that predict further tokens (mtp.h) are after the last
 * layer.
 *
 * Thread class: pure functions; the graph is the caller's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_PIPELINE_H
#define MODEL_PIPELINE_H

#include <shd/error.h>

#include "graph/graph.h"
#include "hardware/hardware.h"
#include "scenario/scenario.h"
#include "timetable/timetable.h"

struct pipeline {
    const char *schedule;    /* its name for timetable_find() */
    uint32_t nranks;         /* devices along the stage axis */
    int64_t stages_per_rank; /* 0: the schedule's own number */
    uint32_t nmicrobatches;
    /* Number of layers in each of nlayers stages; NULL: weighed, or as even as possible. */
    const int64_t *layers;
    size_t nlayers;
    bool weighed;                              /* stages of even work: model/weigh.h */
    const struct hardware *hardware;           /* weighed: whose seconds count; NULL: flops do */
    const bool *again;                         /* weighed: by node, whether it is computed again */
    const struct scenario_stage_place *places; /* the first pattern that matches a name decides */
    size_t nplaces;
};

/* The pipeline that a scenario requests; it points into the scenario. */
struct pipeline pipeline_of(const struct scenario *scenario);

/* The schedule's timetable.  It is walked once without data, to prove that it ends.  SHD_ENOTFOUND:
 * unknown schedule; SHD_EINVAL, SHD_EINDIVISIBLE: sizes do not fit; SHD_ESTUCK; SHD_ENOMEM.  Free
 * it with timetable_destroy(). */
SHD_MUST_CHECK int pipeline_timetable(struct timetable **out, const struct pipeline *pipeline,
                                      struct shd_error *err);

/* Assign the nodes of a forward graph to stages.  Errors stay in the graph. */
void pipeline_set_stages(struct graph *graph, const struct pipeline *pipeline);

#endif /* MODEL_PIPELINE_H */
