/* ways.h - every way to cut one op, each once.
 *
 * candidates.h lists what an op's neighbours suggest; here is all that there is: each axis on any
 * factor, on none, or on parts of a sum where an operand may hold such, in any order inside tuples.
 * An axis that holds the stages of a pipeline shards nothing.  Ways that ask the same of all
 * arrays are one.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_WAYS_H
#define PARTITION_WAYS_H

#include "partition/placement.h"

#define WAYS_MAX 512         /* of one op */
#define WAYS_TRIED_MAX 20000 /* assignments of one op, of which many are the same way */

struct way {
    struct assign assign;
    uint32_t needs[GRAPH_INPUTS_MAX]; /* sharding numbers of the operands ... */
    uint32_t homes[RULE_RESULTS_MAX]; /* ... and of the results */
    uint32_t busy;                    /* the axes that are put to work ... */
    int64_t sharers;                  /* ... and how many devices share it: busy.h */
    double work;                      /* tally_work() */
};

struct ways {
    uint32_t n, room;
    struct way *list;
    uint32_t sums;   /* bit a: some way leaves result 0 a partial sum over axis a */
    uint32_t tried;  /* assignments */
    bool incomplete; /* a limit was met: there may be more */
};

/* What is listed. */
struct ways_limits {
    uint32_t axes; /* bit a: axis a may go elsewhere; others stay as the op's assignment has them */
    uint32_t ways; /* how many at most, up to WAYS_MAX */
};

#define WAYS_ALL_AXES ((1u << SHD_MESH_AXES_MAX) - 1)

/* List the ways of a free op; `sums[k]` has the axes over which operand k may come as a partial
 * sum.  The op's place in the placement is used for that, and stays as the last way has it.  False:
 * no memory.  The caller ends it with ways_fini() in any case. */
bool ways_init(struct ways *out, struct placement *placement, uint32_t node,
               const uint32_t sums[GRAPH_INPUTS_MAX], const struct ways_limits *limits);

/* About how many assignments ways_init() will try. */
double ways_estimate(const struct placement *placement, uint32_t node, uint32_t axes);

/* The one way that an op has by its assignment, its work not counted. */
bool ways_init_one(struct ways *out, struct placement *placement, uint32_t node);

void ways_fini(struct ways *ways);

#endif /* PARTITION_WAYS_H */
