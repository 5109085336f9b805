/* pipeline.h - which stage of a pipeline each layer of a model is in, and the schedule's timetable.
 *
 * Layers are what names say: all values under "layers/3", or "encoder/layers/3", are of one layer.
 * What is before the first of them lies in stage 0, what is behind the last in the last one's
 * stage, unless it is placed by name.
 *
 * Thread class: pure functions; the graph is the caller's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_PIPELINE_H
#define MODEL_PIPELINE_H

#include <shd/error.h>

#include "graph/graph.h"
#include "scenario/scenario.h"
#include "timetable/timetable.h"

struct pipeline {
    const char *schedule;    /* by name, as timetable_find() takes it */
    uint32_t nranks;         /* devices along the axis of stages */
    int64_t stages_per_rank; /* 0: what the schedule is made for */
    uint32_t nmicrobatches;
    /* How many layers each stage has, nlayers of them; NULL: as even as can be. */
    const int64_t *layers;
    size_t nlayers;
    const struct scenario_stage_place *places; /* the first that fits counts */
    size_t nplaces;
};

/* What a scenario with a pipeline asks for; it points into the scenario. */
struct pipeline pipeline_of(const struct scenario *scenario);

/* The schedule's timetable, walked without data, so that it is known to end.  SHD_ENOTFOUND: no
 * such schedule; SHD_EINVAL, SHD_EINDIVISIBLE: what does not fit; SHD_ESTUCK; SHD_ENOMEM.  Free it
 * with timetable_destroy(). */
SHD_MUST_CHECK int pipeline_timetable(struct timetable **out, const struct pipeline *pipeline,
                                      struct shd_error *err);

/* Give the nodes of a forward graph their stages.  Errors stay in the graph. */
void pipeline_set_stages(struct graph *graph, const struct pipeline *pipeline);

#endif /* MODEL_PIPELINE_H */
