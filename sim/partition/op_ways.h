/* op_ways.h - every way to cut one op, without repeats.
 *
 * candidates.h lists what an op's neighbours suggest; here is every possibility: each axis on any
 * factor, on none, or on partial sums of an operand that may be partial, in any order within a
 * dimension.  An axis of pipeline stages shards nothing.  Assignments that need the same of all
 * arrays are one way.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_OP_WAYS_H
#define PARTITION_OP_WAYS_H

#include "partition/placement.h"

#define WAYS_MAX 512         /* per op */
#define WAYS_TRIED_MAX 20000 /* assignments tried per op; many give the same way */

struct way {
    struct assign assign;
    uint32_t needs[GRAPH_INPUTS_MAX]; /* sharding numbers of the operands ... */
    uint32_t homes[RULE_RESULTS_MAX]; /* ... and of the results */
    uint32_t busy;                    /* axes that share the work ... */
    int64_t sharers;                  /* ... and the number of devices that share it: busy.h */
    double work;                      /* tally_work() */
};

struct ways {
    uint32_t n;
    struct way *list;
    uint32_t sums;   /* bit a: some way leaves result 0 a partial sum over axis a */
    uint32_t tried;  /* assignments tried */
    bool incomplete; /* a limit stopped the listing */
};

/* Limits on the ways listed. */
struct ways_limits {
    uint32_t axes; /* bit a: axis a may move; other axes keep their place in the op's assignment */
    uint32_t ways; /* most ways, up to WAYS_MAX */
};

#define WAYS_ALL_AXES ((1u << SHD_MESH_AXES_MAX) - 1)

/* List the ways of a free op, in a pool; `sums[k]`: axes over which operand k may be partial.  Uses
 * the op's assignment in the placement as scratch, and leaves the last way there. */
void ways_init(struct ways *out, struct pool *pool, struct placement *placement, uint32_t node,
               const uint32_t sums[GRAPH_INPUTS_MAX], const struct ways_limits *limits);

/* Approximate number of assignments that ways_init() tries. */
double ways_estimate(const struct placement *placement, uint32_t node, uint32_t axes);

/* The single way of an op's present assignment, without its work. */
void ways_init_one(struct ways *out, struct pool *pool, struct placement *placement, uint32_t node);

#endif /* PARTITION_OP_WAYS_H */
