/* modelled.h - the step of a plan on a stated cluster: an event simulation (events.h) with the op
 * times of the cluster's file (op_seconds.h).
 *
 * A lane is a class of alike devices, so that a million devices cost as much as their few classes.
 * On a lane, each tier of links is a stream.  Transfers are issued from among the computations;
 * sums of gradients start as soon as they are ready if the cluster's software does so.
 *
 * Thread class: pure function of the record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_MODELLED_H
#define COST_MODELLED_H

#include "cost/op_seconds.h"
#include "program/record.h"

/* Fill record->modelled of a planned step; with a straggler (NULL: none), in addition to the step
 * without the straggler.  SHD_EINVAL: the cluster has no rate for a product's type; SHD_ENOMEM. */
SHD_MUST_CHECK int modelled_run(struct record *record, const struct hardware *hardware,
                                const struct record_straggler *straggler, struct shd_error *err);

/* Schedule a record's modelled step again for a watch; the lanes are modelled_classes().
 * SHD_ENOMEM. */
struct events_watch;
SHD_MUST_CHECK int modelled_tell(const struct record *record, const struct events_watch *watch,
                                 struct shd_error *err);

/* The classes of devices that are the lanes of a modelled step; a straggler is a class by itself.
 * Free with program_classes_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int modelled_classes(struct program_classes **out, const struct record *record,
                                    struct shd_error *err);

#endif /* COST_MODELLED_H */
