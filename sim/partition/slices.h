/* slices.h - what devices give each other where slices, padding, reversals and concatenations go
 * along a dimension that is cut.
 *
 * A device gets of each operand the elements that go to its part of the result, from where they
 * lie: a reach (shd/reshard.h), which moves just those that it lacks.  Where the reach is all of
 * the op, there is no kernel; else a kernel puts the elements at their places.
 *
 * Thread class: values; as emit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_SLICES_H
#define PARTITION_SLICES_H

#include <shd/reshard.h>

#include "partition/placement.h"
#include "partition/versions.h"

struct slices {
    uint32_t dim;
    bool alone;                /* the reach of the one operand makes the result */
    struct shd_sharding to[2]; /* of what a device gets of each operand */
    struct shd_reach reach[2];
    int64_t from[2], place[2]; /* of the first element, in the operand and in the result */
    int64_t count[2];
};

/* Whether an op is a slice with a sharded slice dimension. */
bool slices_find(struct slices *out, const struct placement *p, uint32_t node);

/* Cost of bringing the elements of an operand. */
double slices_cost(const struct placement *p, uint32_t node, uint32_t operand);

/* Emit the step that brings an operand's elements: *buffer has the operand, and gets them.  If
 * `made` is not PROGRAM_NONE, it is the buffer that gets them. */
SHD_MUST_CHECK int slices_emit_step(struct emit *e, uint32_t node, const struct slices *s,
                                    uint32_t operand, uint32_t made, uint32_t *buffer);

/* Emit all of an op whose kernel is set, and its operands and result.  `desc` is the op's
 * description. */
SHD_MUST_CHECK int slices_emit(struct emit *e, uint32_t node, const struct slices *s,
                               struct program_op *op, union kern_desc *desc);

#endif /* PARTITION_SLICES_H */
