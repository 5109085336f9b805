/* search.h - placement by search: the assignments with which the whole step costs least.
 *
 * The search starts from what the data suggests and goes downhill: one op at a time, then all
 * readers of a value together.  Where it ends depends on what it may do on the way, so it goes
 * several times, each by a tactic with a name, and the best end is kept (search.c lists them). That
 * is mended in windows of several ops (mend.h).  There may be something better (tests/optimum says
 * how much, by optimum.h), and limit.h says where it left something out.
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

/* What a placement costs as a search ranks it: bytes received by all devices, the rest converted
 * to them (price.h), and 2 % more where gradients of constraints were let go.  People expect such a
 * gradient to be sharded as the constraint is. */
double search_price(struct placement *placement);

/* By what the price is more than the costs that tally_total() adds up: 1 or 1.02. */
double search_part(const struct placement *placement);

/* Find how many devices are to share each op's work at least: if it is heavy, as many as by
 * following.  For a placement that is set up, which stays so.  SHD_ENOMEM. */
SHD_MUST_CHECK int search_find_sharers(struct placement *placement, struct shd_error *err);

/* Let the gradients of constraints lie anywhere, in a placement where they are fixed; false: there
 * are none. */
bool search_free_gradients(struct placement *placement);

#endif /* PARTITION_SEARCH_H */
