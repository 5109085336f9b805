/* limit.h - the partitioner's search limits: each with its value and its reason.
 *
 * A limit never makes a program wrong; at worst the program moves more bytes than needed.  Each
 * limit counts how often it stopped something, and a note of the program reports the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_LIMIT_H
#define PARTITION_LIMIT_H

#include <stdint.h>

enum {
    /* Passes over all ops.  The programs of tests/ converge after 3 to 5 passes; two ops that undo
     * each other's gains by rounding would never converge. */
    SWEEPS_MAX = 8,
    /* Rounds of share.h, each followed by passes. */
    SHARES_MAX = 4,
    /* Ways to put the axes of the mesh on the dimensions of one op: four axes with eight places
     * each.  An op of a transformer has at most 7 dimensions. */
    COMBINATIONS_MAX = 4096,
    /* Shardings (versions) of a value that its readers need. */
    VERSIONS_MAX = 64,
    /* Readers of one value that choose together, and values whose costs they may change: a
     * transformer's value has at most 6 readers, with about 30 values around them. */
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

/* How often each limit was hit. */
struct limits {
    uint64_t hits[LIMIT_COUNT];
};

/* What a limit left out, to end "the search left out "; NULL beyond the last limit. */
const char *limit_text(enum limit limit);

#endif /* PARTITION_LIMIT_H */
