/* limit.h - where the partitioner stops looking: each limit, its value and its reason.
 *
 * No limit makes a program wrong, it may only move more than it must.  Each is counted where it
 * stops something, and the program says so in a note.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_LIMIT_H
#define PARTITION_LIMIT_H

#include <stdint.h>

enum {
    /* Passes over all ops.  A pass only ever lowers the cost, and the programs of tests/ come to
     * rest after 3 to 5; two that undo each other's gains by rounding would never. */
    SWEEPS_MAX = 8,
    /* Rounds of moving all readers of a value, each followed by passes. */
    SHARES_MAX = 4,
    /* Ways to put the axes of the mesh on the dimensions of one op: four axes with eight places
     * each.  An op of a transformer has at most 7 dimensions. */
    COMBINATIONS_MAX = 4096,
    /* Shardings in which one value is needed at the same time. */
    VERSIONS_MAX = 64,
    /* Readers of one value that are moved together, and the values whose costs that may change: a
     * value of a transformer has at most 6 readers, with some 30 values around them. */
    TOGETHER_MAX = 16,
    AFFECTED_MAX = 256
};

enum limit {
    LIMIT_SWEEPS,
    LIMIT_SHARES,
    LIMIT_COMBINATIONS,
    LIMIT_VERSIONS,
    LIMIT_TOGETHER,
    LIMIT_AFFECTED,
    LIMIT_COUNT
};

/* How often each limit stopped something. */
struct limits {
    uint64_t hits[LIMIT_COUNT];
};

/* What was left out, as the end of "the search left out "; NULL beyond the last. */
const char *limit_text(enum limit limit);

#endif /* PARTITION_LIMIT_H */
