/* tally.h - what a state of the search costs: steps that bring values where they are read, and
 * work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_TALLY_H
#define PARTITION_TALLY_H

#include "partition/placement.h"

/* Bringing a value from its home to all that is needed of it. */
double tally_value(struct placement *placement, uint32_t node);

/* The work of an op, on all devices. */
double tally_work(const struct placement *placement, uint32_t node);

/* All that changes when the assignment of a node does: its own, its results' and operands'. */
double tally_near(struct placement *placement, uint32_t node);

/* The whole step. */
double tally_total(struct placement *placement);

#endif /* PARTITION_TALLY_H */
