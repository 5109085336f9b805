/* train_layout.h - the shardings that a training question's layout requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_LAYOUT_H
#define QUERY_TRAIN_LAYOUT_H

#include "query/train.h"

/* Read {mesh, data, tensor, sequence, zero}: mesh axes for the batch, for Megatron's sharding of
 * weights (with the sequence between layers), and for ZeRO. */
SHD_MUST_CHECK int train_layout(struct train *train, const json_t *layout, struct shd_error *err);

#endif /* QUERY_TRAIN_LAYOUT_H */
