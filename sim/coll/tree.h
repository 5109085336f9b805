/* tree.h - the binomial tree over a group, for algorithms with a root.
 *
 * A member's rank is its distance behind the root, cyclically; the root has rank 0.  The subtree of
 * rank r begins at r and has as many ranks as the value of the lowest bit set in r, or as many as
 * there are; the root's subtree is the whole group.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLL_TREE_H
#define COLL_TREE_H

#include <stdint.h>

#include "coll/coll.h"

static inline uint32_t tree_rank(const struct coll_shape *shape, uint32_t member)
{
    return (member + shape->nmembers - shape->root) % shape->nmembers;
}

/* Members of a rank's subtree, including the rank. */
static inline uint32_t tree_size(const struct coll_shape *shape, uint32_t rank)
{
    uint32_t left = shape->nmembers - rank;
    uint32_t own = rank & (0 - rank);

    return rank == 0 || left < own ? left : own;
}

#endif /* COLL_TREE_H */
