/* cost/timeline.h - who does what when in a replayed or modelled step, kept to be drawn.
 *
 * A lane is a device, or the first of devices that the program treats alike where there are more
 * than are wanted.  Times are those of the record's own step, which is laid out once more.
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
    struct program_class devices; /* that it stands for */
    uint32_t rank;                /* of the pipeline */
    struct events_seen *actions;  /* in the order of the program */
    size_t nactions;
    struct events_seen *stretches; /* of transfers, by stream, in the order of time */
    size_t nstretches;
    uint64_t *base; /* by op: where its actions begin in `when`; program_number_actions() */
    size_t *when;   /* which of `actions` it is */
};

struct timeline {
    const struct record *record; /* not owned */
    bool modelled;               /* else replayed */
    int64_t step_ns;
    struct timeline_lane *lanes;
    uint32_t nlanes;
    uint32_t nleft_out;              /* lanes beyond those wanted */
    const struct record_replay *all; /* the record's; by `at` of a lane */
    int32_t *at;                     /* [lane] in `all` */
    struct program_classes *classes; /* owned; NULL: a lane is a device */
    uint32_t *lane_of;               /* [class or device]: its lane, or PROGRAM_NONE */
};

/* Whether a record has times to lay out. */
bool timeline_is_known(const struct record *record);

/* Lay out a record that has times; of more devices than `nmost` those that differ, and of these the
 * first `nmost`.  Free with timeline_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int timeline_create(struct timeline **out, const struct record *record,
                                   uint32_t nmost, struct shd_error *err);
void timeline_destroy(struct timeline *timeline); /* NULL is allowed */

/* The lane of a position; PROGRAM_NONE: left out. */
uint32_t timeline_find(const struct timeline *timeline, int32_t position);

/* Which of a lane's actions an op is for a microbatch; nactions: none. */
size_t timeline_action(const struct timeline *timeline, uint32_t lane, uint32_t op,
                       uint32_t microbatch);

/* How a lane spends the step. */
const struct record_replayed *timeline_spent(const struct timeline *timeline, uint32_t lane);

#endif /* COST_TIMELINE_H */
