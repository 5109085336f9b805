/* tally.h - what a state of the search costs: steps that bring values where they are read, and
 * work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_TALLY_H
#define PARTITION_TALLY_H

#include "partition/placement.h"

/* The shardings in which a value is there by now. */
struct tally_versions {
    uint32_t count;
    uint32_t numbers[VERSIONS_MAX];
};

/* Bring one more version of a value about; returns what that costs. */
double tally_bring(struct placement *placement, uint32_t node, struct tally_versions *versions,
                   uint32_t need);

/* Start with a value's home, and bring about what its outputs are delivered in. */
double tally_outputs(struct placement *placement, uint32_t node, struct tally_versions *versions);

/* The bytes that an op which moves rows pulls of an operand that it takes as it is sharded; 0 for
 * any other reader. */
double tally_rows(const struct placement *placement, uint32_t reader, uint32_t operand);

/* Bringing a value from its home to all that is needed of it. */
double tally_value(struct placement *placement, uint32_t node);

/* The work of an op, on all devices. */
double tally_work(const struct placement *placement, uint32_t node);

/* All that changes when the assignment of a node does: its own, its results' and operands'. */
double tally_near(struct placement *placement, uint32_t node);

/* The whole step. */
double tally_total(struct placement *placement);

#endif /* PARTITION_TALLY_H */
