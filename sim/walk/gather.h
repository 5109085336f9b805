/* gather.h - exchange records between ranks: afterwards each rank has the figures of all devices.
 *
 * Thread class: one thread of each rank, all ranks together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WALK_GATHER_H
#define WALK_GATHER_H

#include "program/record.h"
#include "ranks/spread.h"

/* Gather the times of ops, converted to rank 0's clock if a rank's clock differs. */
void gather_times(struct record *record, const struct spread *spread);

/* Gather everything recorded per device: bytes, flops, expert rows, times. */
void gather_record(struct record *record, const struct spread *spread);

#endif /* WALK_GATHER_H */
