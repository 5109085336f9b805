/* ways.h - every way to cut one op, each once.
 *
 * candidates.h lists what an op's neighbours suggest; here is all that there is: each axis on any
 * factor, on none, or on parts of a sum where an operand may hold such, in any order inside tuples.
 * Ways that ask the same of all arrays are one.
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
    uint32_t busy;                    /* the axes that are put to work */
    double work;                      /* tally_work() */
};

struct ways {
    uint32_t n, room;
    struct way *list;
    uint32_t sums;   /* bit a: some way leaves result 0 a partial sum over axis a */
    bool incomplete; /* a limit above was met: there may be more */
};

/* List the ways of a free op; `sums[k]` has the axes over which operand k may come as a partial
 * sum.  The op's place in the placement is used for that, and stays as the last way has it.  False:
 * no memory.  The caller ends it with ways_fini() in any case. */
bool ways_init(struct ways *out, struct placement *placement, uint32_t node,
               const uint32_t sums[GRAPH_INPUTS_MAX]);
void ways_fini(struct ways *ways);

#endif /* PARTITION_WAYS_H */
