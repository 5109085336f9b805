/* alternatives.h - bytes that the step would move if one op were sharded otherwise, all other ops
 * as chosen.
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
    const char *dim; /* the dimension that the axis shards; NULL: none, the axis's devices repeat
                        the work */
    bool chosen;     /* the program's own placement */
    enum follow_claim claim; /* why the chosen placement was chosen, if by following */
    const char *brought_by;  /* the array that brought the axis; NULL: none */
    bool reduced;            /* the op sums over the dimension, so its result is a partial sum */
    uint128 more_bytes;  /* bytes received by all devices in the step, compared with the chosen
                            placement: */
    uint128 fewer_bytes; /* at most one of the two is not 0 */
    double work;         /* flops of the op on one device, relative to the chosen placement's */
};

#define ALTERNATIVES_MAX 64

/* Place the request's graph again, to try changes on the placement.  The request and all that it
 * points to must outlive the object.  There are no alternatives if axes have to be split (key heads
 * that do not divide).  SHD_ENOMEM, and errors of partition_build(). */
SHD_MUST_CHECK int alternatives_create(struct alternatives **out,
                                       const struct partition_request *request,
                                       struct shd_error *err);
void alternatives_destroy(struct alternatives *alternatives); /* NULL is allowed */

/* Store the possible placements of each axis in the op of a name and phase, other axes unchanged;
 * returns how many. 0 for ops without a choice, and if several kernels have the name. */
uint32_t alternatives_of(struct alternatives *alternatives, const char *name, uint8_t phase,
                         struct alternative out[ALTERNATIVES_MAX]);

/* Whether memory ran out: then alternatives_of() may have returned too few. */
bool alternatives_failed(const struct alternatives *alternatives);

#endif /* PARTITION_ALTERNATIVES_H */
