/* tree.h - the binomial tree over a group, for the algorithms with a root.
 *
 * A member's rank is how far behind the root it stands, cyclically; the root has rank 0.  The
 * subtree of rank r begins at r and is as long as the lowest binary digit that is set in r, or as
 * long as there are ranks; that of the root holds all.
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

/* Members of a rank's subtree, itself included. */
static inline uint32_t tree_size(const struct coll_shape *shape, uint32_t rank)
{
    uint32_t left = shape->nmembers - rank;
    uint32_t own = rank & (0 - rank);

    return rank == 0 || left < own ? left : own;
}

#endif /* COLL_TREE_H */
