/* tally.h - what a state of the search costs: steps that bring values where they are read, and
 * work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_TALLY_H
#define PARTITION_TALLY_H

#include "partition/placement.h"

/* The shardings in which a value is there by now.  What is made for each microbatch is gone when
 * the step does what it does once: that begins from the value's home. */
struct tally_versions {
    uint32_t count;
    uint32_t numbers[VERSIONS_MAX];
    uint32_t times[VERSIONS_MAX]; /* that a step makes it: who reads as often has it; or ... */
};

#define TALLY_ALWAYS 0 /* ... all have it */

/* What a step pays that takes a value from one sharding to another so many times. */
double tally_reshard(struct placement *placement, uint32_t node, uint32_t from, uint32_t to,
                     uint32_t times);

/* The least that a step pays which needs a value in a sharding so many times. */
double tally_least(struct placement *placement, uint32_t node,
                   const struct tally_versions *versions, uint32_t need, uint32_t times);

/* Bring one more version of a value about; returns what that costs. */
double tally_bring(struct placement *placement, uint32_t node, struct tally_versions *versions,
                   uint32_t need, uint32_t times);

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
