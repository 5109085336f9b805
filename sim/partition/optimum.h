/* optimum.h - the least price that any placement can have, and a placement that has it.
 *
 * search.h goes downhill and may miss something; this does not, and takes as long as it takes: for
 * small graphs, to see how far the search is from the best there is.  Prices are the search's own
 * (price.h, tally.h), and so are its rules (busy.h).  What is chosen among is every way to cut
 * every op (ways.h), where the search looks at what neighbours suggest and cuts alike ops alike.
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
#ifndef PARTITION_OPTIMUM_H
#define PARTITION_OPTIMUM_H

#include "partition/placement.h"

/* A price that is lower by less than this part is the same: sums are rounded. */
#define OPTIMUM_ROUNDING 1e-9

struct optimum {
    bool proven; /* all was looked at; else it was given up, or an op has more than WAYS_MAX ways */
    bool found;  /* a placement below the price that was given */
    double price;   /* its price, as tally_total() */
    uint64_t nodes; /* partial placements that were looked into further */
};

/* Find the cheapest placement of one that is set up (placement_init()) and costs less than `below`
 * (INFINITY: any), looking into `nodes_max` partial placements at most.  Where one is found, the
 * ops have its assignments; else they are as they were.  SHD_ENOMEM. */
SHD_MUST_CHECK int optimum_find(struct optimum *out, struct placement *placement, double below,
                                uint64_t nodes_max, struct shd_error *err);

/* How far the search is from that. */
struct optimum_gap {
    bool proven;
    double searched; /* search_price() of what the search finds */
    double optimum;  /* the least one, gradients of constraints at their places or let go */
    uint64_t nodes;
};

/* Search for a request, and find the optimum.  SHD_ENOMEM, and what placement_init() returns. */
SHD_MUST_CHECK int optimum_compare(struct optimum_gap *out, const struct partition_request *request,
                                   uint64_t nodes_max, struct shd_error *err);

#endif /* PARTITION_OPTIMUM_H */
