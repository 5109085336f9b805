/* kern/pairs.h - a cache of numbers of query-key pairs, for one sight.
 *
 * In a plan the same blocks of queries meet the same blocks of keys in every layer, forward and
 * backward.  The table keeps the first count for each pair of blocks; when it is full, others are
 * counted each time.
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

/* A block of queries and a block of keys, by the sequence indexes at which they begin. */
struct kern_blocks {
    int64_t row; /* of the batch */
    int64_t query, nqueries, key, nkeys;
};

struct kern_pairs; /* zeros are an empty table */

/* Bytes of a table. */
size_t kern_pairs_bytes(void);

/* Store the count of two blocks in *count; false: not in the table.  A NULL table is always
 * empty. */
bool kern_pairs_find(const struct kern_pairs *pairs, const struct kern_blocks *blocks,
                     uint64_t *count);
void kern_pairs_add(struct kern_pairs *pairs, const struct kern_blocks *blocks, uint64_t count);

#endif /* KERN_PAIRS_H */
