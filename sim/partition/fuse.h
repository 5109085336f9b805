/* fuse.h - fusion of elementwise ops: a map is computed inside its reader, without a buffer
 * between.
 *
 * A map whose only reader is a map over the same dimensions in the same sharding is inlined: both
 * become one expression, evaluated block by block (kern_map).  Chains fuse up to the expression's
 * limits.  A constant that only maps read is inlined into each of them, whatever their number,
 * dimensions, phases and shardings.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_FUSE_H
#define PARTITION_FUSE_H

#include "partition/placement.h"

/* An expression under construction. */
struct fused {
    uint32_t ninputs;
    uint32_t inputs[KERN_MAP_INPUTS_MAX];       /* nodes read as arrays ... */
    uint32_t needs[KERN_MAP_INPUTS_MAX];        /* ... in these shardings */
    const int8_t *factors[KERN_MAP_INPUTS_MAX]; /* of the nodes' dimensions, in the last op's
                                                   rule */
    uint32_t ninstrs;
    struct kern_instr instrs[KERN_MAP_INSTRS_MAX]; /* sources as in kern_map */
};

/* Mark nodes that are inlined into their reader: inlined[node], nnodes entries, zeroed before. */
void fuse_mark(bool *inlined, const struct placement *placement);

/* As fuse_mark(), for the operands of one node, when all earlier nodes are marked. */
void fuse_mark_inputs(bool *inlined, const struct placement *placement, uint32_t node);

/* Whether operand `k` may be fused with the node in any sharding: a map that only this node
 * reads. */
bool fuse_can_ever(const struct placement *placement, uint32_t node, uint32_t k);

/* Collect the expression of a map that is not inlined itself. */
void fuse_collect(struct fused *out, const struct placement *placement, const bool *inlined,
                  uint32_t node);

/* Describe the kernel of an expression; `extents` are the local extents of the last op's
 * factors. */
void fuse_lower(struct program_op *op, union kern_desc *desc, const struct fused *fused,
                const struct placement *placement, uint32_t node, const int64_t *extents);

#endif /* PARTITION_FUSE_H */
