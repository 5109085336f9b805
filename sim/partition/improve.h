/* improve.h - one step of the search: one op, or all readers of one value, choose again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_IMPROVE_H
#define PARTITION_IMPROVE_H

#include "partition/choose.h"

/* A value's aliases lie where it does. */
void choose_settle_aliases(struct choose *choose, uint32_t node);

/* Make the shardings of a node, and of its extras, follow its assignment. */
void choose_settle(struct choose *choose, uint32_t node);

/* Give a node its best assignment as things stand; true when that changed its shardings. */
bool choose_improve(struct choose *choose, uint32_t node);

/* Let all readers of each value choose together, where that pays; true when some did. */
bool share_all(struct choose *choose);

#endif /* PARTITION_IMPROVE_H */
