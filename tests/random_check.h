/* random_check.h - the properties of every random program: what is computed sharded equals what is
 * computed whole, and the plan equals the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANDOM_CHECK_H
#define RANDOM_CHECK_H

#include <shd/reshard.h>

#include "graph/graph.h"
#include "random_program.h"

/* What occurred in all programs. */
struct random_seen {
    unsigned steps[SHD_RESHARD_NKINDS];
    unsigned nodes[GRAPH_NOPS]; /* of the graphs, by op */
    unsigned passed;            /* partial operands of ops */
    unsigned summed;            /* partial sums made */
    unsigned extremes;          /* partial maxima and minima made */
    unsigned tuples;            /* arrays with a dimension over several axes */
    unsigned turned;            /* of them with axes in another order than the mesh's */
    unsigned rings;             /* steps by a ring */
    unsigned ones;              /* meshes with an axis of size 1 */
    unsigned naxes[5];          /* meshes by number of axes */
    unsigned split;             /* programs on a mesh with axes split in parts */
    unsigned converted;         /* values in another type */
    unsigned mixed_sums;        /* sums over microbatches in another type than what they add */
    unsigned backward, f32, ops;
    unsigned padded, masks, not_padded; /* graphs, what they have in place of padding, refused */
};

extern struct random_seen random_seen;

/* Test programs that `make` makes of seeds, as many and from the seed that the environment says
 * (SHD_TEST_SEED, SHD_TEST_COUNT), else `count` from `seed`, and tell what occurred.  True: these
 * were enough to see everything. */
bool random_test(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                 unsigned long count);

/* The same of graphs some of whose dimensions are padded: they compute what they did. */
void random_test_padding(struct random_program *(*make)(uint64_t seed), unsigned long seed,
                         unsigned long count);

#endif /* RANDOM_CHECK_H */
