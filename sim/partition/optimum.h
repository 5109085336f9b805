/* optimum.h - the least price that any placement can have, and a placement that has it.
 *
 * search.h goes downhill and may miss something; this does not, and takes as long as it takes: for
 * small graphs, to see how far the search is from the best there is.  Prices are the search's own
 * (price.h, tally.h), and so are its rules (busy.h).  What is chosen among is every way to cut
 * every op (ways.h), where the search looks at what neighbours suggest and cuts alike ops alike
 * (region.h).
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OPTIMUM_H
#define PARTITION_OPTIMUM_H

#include "partition/region.h"

/* Find the cheapest placement of a graph, of one that is set up (placement_init()) and costs less
 * than `below` (INFINITY: any), looking into `nodes_max` partial placements at most.  Where one is
 * found, the ops have its assignments; else they are as they were.  SHD_ENOMEM. */
SHD_MUST_CHECK int optimum_find(struct region_best *out, struct placement *placement, double below,
                                uint64_t nodes_max, struct shd_error *err);

/* How far the search is from that. */
struct optimum_gap {
    bool proven;
    bool shared;     /* by the search, enough devices share all heavy work: busy.h */
    double searched; /* search_price() of what the search finds */
    double optimum;  /* the least one, gradients of constraints at their places or let go */
    uint64_t nodes;
};

/* Search for a request, and find the optimum.  SHD_ENOMEM, and what placement_init() returns. */
SHD_MUST_CHECK int optimum_compare(struct optimum_gap *out, const struct partition_request *request,
                                   uint64_t nodes_max, struct shd_error *err);

#endif /* PARTITION_OPTIMUM_H */
