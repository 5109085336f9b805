/* share.h - a step of the search in which all readers of a value choose together, for gains that no
 * single op can make.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SHARE_H
#define PARTITION_SHARE_H

#include "partition/placement.h"

/* Let all readers of each value choose together; true if some value's readers changed. */
bool share_all(struct placement *placement);

#endif /* PARTITION_SHARE_H */
