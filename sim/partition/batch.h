/* batch.h - find a graph's batch dimensions and the values that depend on the batch's samples.
 *
 * The batch is the first dimension of a data array, unless another data array has that dimension
 * later: beside tokens[batch, seq], a bias[seq] and distances[seq, keys] are the same for the whole
 * batch.  The order in which inputs are declared does not matter.  A result's dimension also counts
 * as batch if the op's rule shards it with a batch dimension of an operand: tokens that are
 * dispatched to experts lie in slots, group by group of the batch.
 *
 * Thread class: a value, owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BATCH_H
#define PARTITION_BATCH_H

#include "partition/placement.h"

struct batch {
    bool *dims;    /* by dimension number: the batch, or derived from the batch by an op */
    uint32_t *of;  /* by dimension number: the data whose batch it is, or GRAPH_NONE */
    bool *varies;  /* by node: the value depends on the samples in the batch */
    uint32_t axes; /* bit a: axis a shards the batch of the data */
};

/* Whether a node is a data array.  An optimizer's state and an array of one number are inputs, but
 * no data. */
bool batch_is_data(const struct graph_node *node);

/* Find the batch of a placement that is set up; the arrays are in the pool. */
void batch_init(struct batch *out, const struct placement *placement, struct pool *pool);

/* Whether an array has a dimension of the batch. */
bool batch_has(const struct batch *batch, const struct graph_node *array);

#endif /* PARTITION_BATCH_H */
