/* share.h - a step of the search for what one op alone would not do: all readers of a value choose
 * again together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SHARE_H
#define PARTITION_SHARE_H

#include "partition/placement.h"

/* Let all readers of each value choose together, where that pays; true when some did. */
bool share_all(struct placement *placement);

#endif /* PARTITION_SHARE_H */
