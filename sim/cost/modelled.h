/* modelled.h - the step of a plan on a stated cluster: an event simulation (events.h) in which each
 * op takes what the cluster's file says (op_seconds.h).
 *
 * A lane is a class of devices alike, so that a million devices take what their few classes do.  On
 * a lane, each tier of links is a stream; transfers are issued from among the computations, and
 * those that sum gradients, where the cluster's software does so, as soon as they are ready.
 *
 * Thread class: pure function of the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_MODELLED_H
#define COST_MODELLED_H

#include "cost/op_seconds.h"
#include "program/record.h"

/* Fill record->modelled of a planned step; with a straggler (NULL: there is none), beside the step
 * without it.  SHD_EINVAL: the cluster has no rate for a product's type; SHD_ENOMEM. */
SHD_MUST_CHECK int modelled_run(struct record *record, const struct hardware *hardware,
                                const struct record_straggler *straggler, struct shd_error *err);

/* Lay a record's modelled step out once more, for a watch; the lanes are modelled_classes().
 * SHD_ENOMEM. */
struct events_watch;
SHD_MUST_CHECK int modelled_tell(const struct record *record, const struct events_watch *watch,
                                 struct shd_error *err);

/* The classes of devices that are the lanes of a modelled step: alike, and a straggler alone.  Free
 * them with program_classes_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int modelled_classes(struct program_classes **out, const struct record *record,
                                    struct shd_error *err);

#endif /* COST_MODELLED_H */
