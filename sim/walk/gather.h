/* gather.h - where a run is spread over ranks: what each has recorded becomes known to all.
 *
 * Thread class: one thread of each rank, all ranks together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WALK_GATHER_H
#define WALK_GATHER_H

#include "ranks/spread.h"
#include "program/record.h"

/* The times of ops, moved to the clock of rank 0 where a rank has another. */
void gather_times(struct record *record, const struct spread *spread);

/* All that devices record besides. */
void gather_record(struct record *record, const struct spread *spread);

#endif /* WALK_GATHER_H */
