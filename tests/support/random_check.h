/* random_check.h - checks on every random program: the sharded computation gives the values of the
 * unsharded one, and the run has the figures of the plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANDOM_CHECK_H
#define RANDOM_CHECK_H

#include <shd/reshard.h>

#include "graph/graph.h"
#include "random_program.h"

/* Counts of the situations in all programs. */
struct random_seen {
    unsigned steps[SHD_RESHARD_NKINDS];
    unsigned nodes[GRAPH_NOPS]; /* of the graphs, by op */
    unsigned passed;            /* operands that are partial sums */
    unsigned summed;            /* partial sums made */
    unsigned extremes;          /* partial maxima and minima made */
    unsigned tuples;            /* arrays with a dimension over several axes */
    unsigned turned;            /* of those, with axes in another order than the mesh's */
    unsigned rings;             /* steps by a ring algorithm */
    unsigned ones;              /* meshes with an axis of size 1 */
    unsigned naxes[5];          /* meshes by number of axes */
    unsigned split;             /* programs on a mesh with axes split in factors */
    unsigned functions[KERN_NFNS];
    unsigned converted;         /* values in another type */
    unsigned mixed_sums;        /* sums over microbatches in another type than their terms */
    unsigned backward, f32, ops;
    unsigned padded, masks, not_padded; /* graphs that were padded; masks in padded graphs;
                                         * graphs whose padding was refused */
};

extern struct random_seen random_seen;

/* Test programs that `make` makes of seeds, and report what occurred.  SHD_TEST_SEED and
 * SHD_TEST_COUNT give the first seed and the number of programs, else `seed` and `count` do.  True:
 * the programs covered every situation. */
bool random_test(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                 unsigned long count);

/* Test graphs that `make` makes, with some of their dimensions padded: they compute the same
 * values. */
void random_test_padding(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                         unsigned long count);

#endif /* RANDOM_CHECK_H */
