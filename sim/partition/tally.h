/* tally.h - the cost of a placement: reshards of values for their readers, and work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_TALLY_H
#define PARTITION_TALLY_H

#include "partition/placement.h"

/* The shardings in which a value is available so far.  Versions made for each microbatch are gone
 * when ops run once a step: these reshard from the value's home. */
struct tally_versions {
    uint32_t count;
    uint32_t numbers[VERSIONS_MAX];
    uint32_t times[VERSIONS_MAX]; /* how often a step makes this version; only readers that run
                                     equally often may use it ... */
};

#define TALLY_ALWAYS 0 /* ... or all readers may */

/* Cost per step of resharding a value `times` times. */
double tally_reshard(struct placement *placement, uint32_t node, uint32_t from, uint32_t to,
                     uint32_t times);

/* Lowest cost per step of making a needed sharding `times` times from the existing versions. */
double tally_least(struct placement *placement, uint32_t node,
                   const struct tally_versions *versions, uint32_t need, uint32_t times);

/* Make a further version of a value from the cheapest existing one; returns the cost. */
double tally_bring(struct placement *placement, uint32_t node, struct tally_versions *versions,
                   uint32_t need, uint32_t times);

/* Start with a value's home, and reshard for its outputs; returns the cost. */
double tally_outputs(struct placement *placement, uint32_t node, struct tally_versions *versions);

/* Cost of the rows that an op pulls from an operand taken in its home sharding; 0 for any other
 * reader. */
double tally_rows(const struct placement *placement, uint32_t reader, uint32_t operand);

/* Cost of resharding a value from its home to all its needs. */
double tally_value(struct placement *placement, uint32_t node);

/* Cost of an op's work, on all devices. */
double tally_work(const struct placement *placement, uint32_t node);

/* All costs that change with the assignment of a node: its own, its results' and operands'. */
double tally_near(struct placement *placement, uint32_t node);

/* Cost of the whole step. */
double tally_total(struct placement *placement);

#endif /* PARTITION_TALLY_H */
