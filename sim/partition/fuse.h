/* fuse.h - elementwise ops that are computed where they are read, without a buffer between.
 *
 * A map whose only reader is a map over the same dimensions in the same sharding is inlined: both
 * become one expression, evaluated block by block (kern_map).  Chains fuse up to the expression's
 * limits.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_FUSE_H
#define PARTITION_FUSE_H

#include "partition/placement.h"

/* An expression as it is put together. */
struct fused {
    uint32_t ninputs;
    uint32_t inputs[KERN_MAP_INPUTS_MAX];       /* nodes that are read as arrays ... */
    uint32_t needs[KERN_MAP_INPUTS_MAX];        /* ... in this sharding */
    const int8_t *factors[KERN_MAP_INPUTS_MAX]; /* of their dimensions, in the last op's rule */
    uint32_t ninstrs;
    struct kern_instr instrs[KERN_MAP_INSTRS_MAX]; /* sources as in kern_map */
};

/* Mark the nodes that are inlined into their reader: inlined[node], nnodes entries, zeroed. */
void fuse_mark(bool *inlined, const struct placement *placement);

/* The same for the operands of one node, when those of the nodes before it are marked. */
void fuse_mark_inputs(bool *inlined, const struct placement *placement, uint32_t node);

/* Whether maps may become one kernel at all, however they are cut: operand `k` is a map that this
 * node alone reads. */
bool fuse_can_ever(const struct placement *placement, uint32_t node, uint32_t k);

/* The expression of a map that is not inlined itself. */
void fuse_collect(struct fused *out, const struct placement *placement, const bool *inlined,
                  uint32_t node);

/* Describe the kernel of an expression; `extents` are the local ones of the last op's rule. */
void fuse_lower(struct program_op *op, const struct fused *fused, const struct placement *placement,
                uint32_t node, const int64_t *extents);

#endif /* PARTITION_FUSE_H */
