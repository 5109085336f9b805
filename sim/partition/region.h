/* region.h - the cheapest placement of some ops of a graph, while all others stay as they are.
 *
 * Prices are the search's own (price.h, tally.h), and so are its rules (busy.h).  One more: heavy
 * work that has an assignment, and is cut as its operands agree to, stays cut as they do.  What is
 * chosen among is every way to cut every op of the region (ways.h).
 *
 * Dynamic programming along the order of the ops: what is still to be paid depends on what was
 * chosen only by the states of the values that are still to be read (supply.h), so of two choices
 * that lead to the same states the dearer one is dropped.  And branch and bound: so is one that
 * costs, with a lower bound of what is still to be paid, as much as a placement that is known.
 * Every placement is dropped for one of the two reasons, which is the proof.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_REGION_H
#define PARTITION_REGION_H

#include "partition/placement.h"
#include "partition/ways.h"

/* A price that is lower by less than this part is the same: sums are rounded. */
#define REGION_ROUNDING 1e-9

/* What may be looked at before it is given up. */
struct region_limits {
    struct ways_limits ways; /* of one op */
    uint64_t nodes;          /* partial placements that are looked into further */
    double effort;
};

struct region_best {
    bool proven;    /* all was looked at; else it was given up */
    bool found;     /* a placement below the price that was given */
    double price;   /* its price */
    uint64_t nodes; /* partial placements that were looked into further */
    double effort;  /* what it took, in looks at a price: the same on every machine */
};

struct region; /* opaque */

/* Room for regions of a placement, which must outlive it.  NULL: no memory. */
struct region *region_create(struct placement *placement);
void region_destroy(struct region *region); /* NULL is allowed */

/* Take other nodes: the free ones among them choose anew, each listed once; of others the value
 * counts.  The price of a region is what it takes to bring these values, and all that the free ops
 * read and make, to their readers, and the work of the free ops. */
void region_take(struct region *region, const uint32_t *nodes, uint32_t nnodes);

/* That price as things stand. */
double region_price(struct region *region);

/* Find the cheapest placement of a region that costs less than `below` (INFINITY: any).  Where one
 * is found, its ops have those assignments; else all is as it was.  Ops outside must have an
 * assignment if they read a value of the region.  False: no memory. */
SHD_MUST_CHECK bool region_find(struct region_best *out, struct region *region, double below,
                                const struct region_limits *limits);

#endif /* PARTITION_REGION_H */
