/* alternatives.h - what the step would move if one op were sharded otherwise, all else as chosen.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_ALTERNATIVES_H
#define PARTITION_ALTERNATIVES_H

#include "partition/follow.h"
#include "partition/partition.h"

struct alternatives; /* opaque */

struct alternative {
    uint8_t axis;    /* of the mesh */
    const char *dim; /* the dimension that the axis shards; NULL: none, its devices do the same */
    bool chosen;     /* this is how it is */
    enum follow_claim claim; /* of a chosen one that was placed by following: what sharded it so */
    const char *brought_by;  /* the array that brought the axis there; NULL: none did */
    bool reduced;            /* the op sums over the dimension: parts of a sum are left */
    uint128 more_bytes;  /* received by all devices in the whole step, against the chosen one: */
    uint128 fewer_bytes; /* at most one of the two is not 0 */
    double work;         /* flops of the op on one device, against the chosen one */
};

#define ALTERNATIVES_MAX 64

/* Make the partitioner's choice again, to try changes on.  The request and what it points to must
 * stay.  Without alternatives where axes have to be split (kv heads that do not divide).
 * SHD_ENOMEM, and what partition_build() returns. */
SHD_MUST_CHECK int alternatives_create(struct alternatives **out,
                                       const struct partition_request *request,
                                       struct shd_error *err);
void alternatives_destroy(struct alternatives *alternatives); /* NULL is allowed */

/* The placements of each axis in the op of a name and phase, the other axes as they are; returns
 * how many were stored.  0 for ops that leave no choice, and where several have the name. */
uint32_t alternatives_of(struct alternatives *alternatives, const char *name, uint8_t phase,
                         struct alternative out[ALTERNATIVES_MAX]);

/* There was no memory for some: what was returned is not all there is. */
bool alternatives_failed(const struct alternatives *alternatives);

#endif /* PARTITION_ALTERNATIVES_H */
