/* search.h - placement by search: the assignments with which the whole step costs least.
 *
 * The search starts from what the data suggests and goes downhill: one op at a time, then all
 * readers of a value together.  Where it ends depends on what it may do on the way, so it goes
 * several times, each by a tactic with a name, and the best end is kept (search.c lists them).  It
 * is greedy: there may be something better, and limit.h says where it left something out.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SEARCH_H
#define PARTITION_SEARCH_H

#include "partition/placement.h"

/* Give every free op of a placement that is set up an assignment.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_placement(struct placement *placement, struct shd_error *err);

#endif /* PARTITION_SEARCH_H */
