/* timeline.h - the schedule of a replayed or modelled step, kept for drawing.
 *
 * A lane is a device, or a class of devices that the program treats alike if there are too many
 * devices.  Times are those of the record's own step, which is scheduled again.
 *
 * Thread class: immutable once created, as long as the record is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_TIMELINE_H
#define COST_TIMELINE_H

#include <stdbool.h>

#include "cost/events.h"

struct timeline_lane {
    struct program_class devices; /* devices that the lane stands for */
    uint32_t rank;                /* pipeline rank */
    struct events_seen *actions;  /* in program order */
    size_t nactions;
    struct events_seen *stretches; /* busy intervals of transfers, by stream, then in order of
                                      time */
    size_t nstretches;
    uint64_t *base; /* by op: index of its first action in `when`; program_number_actions() */
    size_t *when;   /* by action number: index in `actions` */
};

struct timeline {
    const struct record *record; /* not owned */
    bool modelled;               /* false: replayed */
    int64_t step_ns;
    struct timeline_lane *lanes;
    uint32_t nlanes;
    uint32_t nleft_out;              /* lanes beyond the number wanted */
    const struct record_replay *all; /* the record's replay, indexed by `at` */
    int32_t *at;                     /* [lane]: row in `all` */
    struct program_classes *classes; /* owned; NULL: a lane is a device */
    uint32_t *lane_of;               /* [class or device]: lane, or PROGRAM_NONE */
};

/* Whether a record has times to lay out. */
bool timeline_is_known(const struct record *record);

/* Schedule a record that has times.  With more than `nmost` devices a lane is a class of alike
 * devices, and the first `nmost` classes are kept.  Free with timeline_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int timeline_create(struct timeline **out, const struct record *record,
                                   uint32_t nmost, struct shd_error *err);
void timeline_destroy(struct timeline *timeline); /* NULL is allowed */

/* The lane of a position; PROGRAM_NONE: no lane. */
uint32_t timeline_find(const struct timeline *timeline, int32_t position);

/* Index of the lane's action that does an op for a microbatch; nactions: none. */
size_t timeline_action(const struct timeline *timeline, uint32_t lane, uint32_t op,
                       uint32_t microbatch);

/* How a lane spends the step: busy, exposed, waiting and idle time. */
const struct record_replayed *timeline_spent(const struct timeline *timeline, uint32_t lane);

#endif /* COST_TIMELINE_H */
