/* optimum.h - the lowest price that any placement of a graph can have, and a placement with that
 * price.
 *
 * placement_search.h descends and may miss the optimum; this exact search does not, and takes as
 * long as it takes: it is for small graphs, to measure how far the search is from the optimum.
 * Prices (price.h, tally.h) and rules (busy.h) are the search's own.  Every way to cut every op
 * (op_ways.h) is considered, where the search considers what neighbours suggest and cuts alike ops
 * alike (region.h).
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OPTIMUM_H
#define PARTITION_OPTIMUM_H

#include "partition/region.h"

/* Find the cheapest placement of a graph that is set up (placement_init()), if it costs less than
 * `below` (INFINITY: any), extending at most `nodes_max` partial placements.  If one is found, the
 * ops have its assignments; else they are unchanged. */
void optimum_find(struct region_best *out, struct placement *placement, double below,
                  uint64_t nodes_max);

/* How far the search's result is from the optimum. */
struct optimum_gap {
    bool proven;
    bool shared;     /* in the search's result, enough devices share all heavy work: busy.h */
    double searched; /* search_price() of the search's result */
    double optimum;  /* the lowest price, with gradients of constraints fixed or free */
    uint64_t nodes;
};

/* Search for a request, and find its optimum.  Errors of placement_init(). */
SHD_MUST_CHECK int optimum_compare(struct optimum_gap *out, struct pool *pool,
                                   const struct partition_request *request, uint64_t nodes_max,
                                   struct shd_error *err);

#endif /* PARTITION_OPTIMUM_H */
