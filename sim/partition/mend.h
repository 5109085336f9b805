/* mend.h - the end of a search: small windows of ops choose again together, each at its best.
 *
 * Going downhill one op at a time misses a step between shardings that would be cheaper some ops
 * earlier or later, where no op alone gains by moving.  So around the ops that pay most a few
 * neighbours are taken and placed anew, all others staying, by a proof that there is nothing
 * cheaper (region.h); the windows grow as long as the effort lasts.  What is left of it goes to
 * windows that reach beyond arrays from outside: two readers of a parameter may have no other op in
 * common, but pay for one reshard of it together.
 *
 * Effort is counted in looks at a price, not in time, so that a search ends the same everywhere.
 * What is there for a large graph is little beside what the rest of a search takes: only the
 * dearest steps are looked at, in small windows.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_MEND_H
#define PARTITION_MEND_H

#include "partition/placement.h"

/* Mend a placement in which every op has an assignment.  Each change lowers `total`, which is
 * tally_total() before and after.  Where costs are bytes no change adds to what is moved, whatever
 * work it saves.  SHD_ENOMEM. */
SHD_MUST_CHECK int mend_placement(struct placement *placement, double *total,
                                  struct shd_error *err);

#endif /* PARTITION_MEND_H */
