/* local.h - the kernel that one op becomes on a device's shards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_LOCAL_H
#define PARTITION_LOCAL_H

#include "graph/graph.h"
#include "partition/assign.h"
#include "program/program.h"

/* Fill in kind, kernel, flops and workspace of `op` for a node that is no leaf and no constraint.
 * `extents` are the local ones of `dims`; buffers are row-major. */
void local_op(struct program_op *op, const struct graph *graph, uint32_t node,
              const struct op_dims *dims, const int64_t *extents);

#endif /* PARTITION_LOCAL_H */
