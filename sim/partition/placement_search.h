/* placement_search.h - placement by search: assignments that minimize the cost of the whole step.
 *
 * The search starts from an initial placement and descends: one op at a time, then all readers of a
 * value together.  Since the end depends on the start and on the moves allowed, the search runs
 * once for each of several named tactics (placement_search.c), and the best end is kept.  That end
 * is mended in windows of several ops (mend.h).  A better placement may exist (tests/partition/optimum
 * measures how much better, by optimum.h), and limit.h tells what the search left out.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PLACEMENT_SEARCH_H
#define PARTITION_PLACEMENT_SEARCH_H

#include "partition/placement.h"

/* Assign every free op of a placement that is set up. */
void search_placement(struct placement *placement);

/* The price by which a search ranks placements: bytes received by all devices, with work converted
 * to bytes (price.h), plus 2 % if gradients of constraints were freed.  People expect such a
 * gradient to have the constraint's sharding. */
double search_price(struct placement *placement);

/* Factor between search_price() and tally_total(): 1 or 1.02. */
double search_part(const struct placement *placement);

/* Find the least number of devices that must share each op's work: for heavy ops as many as by
 * following.  The placement must be set up, and stays as it is. */
void search_find_sharers(struct placement *placement);

/* Let gradients of constraints have any sharding; false if the placement has none. */
bool search_free_gradients(struct placement *placement);

#endif /* PARTITION_PLACEMENT_SEARCH_H */
