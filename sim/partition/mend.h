/* mend.h - the end of a search: small windows of ops are placed again together, each optimally.
 *
 * Descent op by op gets stuck where moving a reshard some ops earlier or later would be cheaper,
 * but no op alone gains.  So windows of a few ops around the most expensive ones are placed
 * optimally, with all other ops fixed (region.h proves the optimum); the windows grow as long as
 * the effort lasts.  The rest of the effort goes to windows of ops that share only parameters or
 * inputs: two readers of a parameter may have no other op in common, but share one reshard of the
 * parameter.
 *
 * Effort counts price look-ups, not time, so that a search ends the same on every machine.  For a
 * large graph the effort is small compared with the rest of the search: only the most expensive ops
 * get windows, and small ones.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_MEND_H
#define PARTITION_MEND_H

#include "partition/placement.h"

/* Mend a placement in which every op has an assignment.  Each change lowers `total`, which is
 * tally_total() before and after.  If costs are bytes, no change moves more bytes, whatever work it
 * saves. */
void mend_placement(struct placement *placement, double *total);

#endif /* PARTITION_MEND_H */
