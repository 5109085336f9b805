/* region.h - the cheapest placement of some ops of a graph, while all other ops stay.
 *
 * Prices (price.h, tally.h) and rules (busy.h) are the search's own, with one more rule: a heavy op
 * that is cut by the axes its operands agree on stays cut so.  Every way to cut every op of the
 * region (op_ways.h) is considered.
 *
 * Dynamic programming along the order of the ops: earlier choices affect the remaining cost only
 * through the states of the values still to be read (supply.h), so of two partial placements with
 * equal states the more expensive is dropped.  Branch and bound: a partial placement is also
 * dropped if its price plus a lower bound of the remaining cost reaches that of a known placement.
 * Every other placement is dropped for one of these two reasons, which proves the optimum.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_REGION_H
#define PARTITION_REGION_H

#include "partition/placement.h"
#include "partition/op_ways.h"

/* Prices that differ by less than this relative amount are equal: sums are rounded. */
#define REGION_ROUNDING 1e-9

/* Limits after which the search of a region gives up. */
struct region_limits {
    struct ways_limits ways; /* of one op */
    uint64_t nodes;          /* partial placements that are extended */
    double effort;
};

struct region_best {
    bool proven;    /* the search was complete; false: a limit stopped it */
    bool found;     /* a placement below the given price exists */
    double price;   /* its price */
    uint64_t nodes; /* partial placements that were extended */
    double effort;  /* effort in price look-ups, equal on every machine */
};

struct region; /* opaque */

/* Create an object for regions of a placement, which must outlive it. */
struct region *region_create(struct pool *pool, struct placement *placement);

/* Set the region's nodes, each listed once: free nodes choose anew; of other nodes only the value's
 * cost counts.  The price of a region is the cost of resharding these values, and all values that
 * the free ops read and make, for their readers, and the work of the free ops. */
void region_take(struct region *region, const uint32_t *nodes, uint32_t nnodes);

/* The region's price in the present placement. */
double region_price(struct region *region);

/* Find the cheapest placement of the region that costs less than `below` (INFINITY: any).  If
 * found, the region's ops have its assignments; else the placement is unchanged.  Ops outside that
 * read a value of the region must have an assignment. */
void region_find(struct region_best *out, struct region *region, double below,
                 const struct region_limits *limits);

#endif /* PARTITION_REGION_H */
