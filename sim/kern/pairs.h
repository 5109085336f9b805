/* kern/pairs.h - counts of pairs of query and key that were worked out already, of one sight.
 *
 * In a plan the same blocks of queries meet the same blocks of keys in every layer, forward and
 * backward.  A table keeps the first count of each; when it is full, the rest is counted each time.
 *
 * Thread class: any number of threads may read and add at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_PAIRS_H
#define KERN_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of queries and one of keys, by the indexes in the sequence at which they begin. */
struct kern_blocks {
    int64_t row; /* of the batch */
    int64_t query, nqueries, key, nkeys;
};

struct kern_pairs; /* zeros are an empty table */

/* Bytes of a table. */
size_t kern_pairs_bytes(void);

/* Stores the count of two blocks in *count; false: it is not known.  A table of NULL knows nothing,
 * and keeps nothing. */
bool kern_pairs_find(const struct kern_pairs *pairs, const struct kern_blocks *blocks,
                     uint64_t *count);
void kern_pairs_add(struct kern_pairs *pairs, const struct kern_blocks *blocks, uint64_t count);

#endif /* KERN_PAIRS_H */
