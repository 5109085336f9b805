/* batch.h - along which dimensions a graph's data is a batch, and which values depend on it.
 *
 * The batch is the first dimension of an array of data, unless another array of data has that
 * dimension further behind: beside tokens[batch, seq] a bias[seq] and distances[seq, keys] are the
 * same for the whole batch.  The order in which inputs are declared says nothing.  The batch goes
 * on to each dimension of a result that the op's rule shards as it shards the batch of an operand:
 * tokens that are dispatched to experts lie in slots, group by group of the batch.
 *
 * Thread class: a value, owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_BATCH_H
#define PARTITION_BATCH_H

#include "partition/placement.h"

struct batch {
    bool *dims;    /* by dimension number: it is the batch, or what an op makes of the batch */
    bool *varies;  /* by node: the value depends on which samples the batch has */
    uint32_t axes; /* that shard the batch of the data: bit a for axis a */
};

/* Whether a node is an array of data: an optimizer's state is an input too, and no data. */
bool batch_is_data(const struct graph_node *node);

/* Look at a placement that is set up.  The caller ends it with batch_fini(), also after an error.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int batch_init(struct batch *out, const struct placement *placement,
                              struct shd_error *err);
void batch_fini(struct batch *batch);

/* Whether an array has a dimension of the batch. */
bool batch_has(const struct batch *batch, const struct graph_node *array);

#endif /* PARTITION_BATCH_H */
