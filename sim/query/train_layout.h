/* train_layout.h - the layout of a training question as shardings of its arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_LAYOUT_H
#define QUERY_TRAIN_LAYOUT_H

#include "query/train.h"

/* Read {mesh, data, tensor, sequence, zero}: axes of the mesh for the batch, for Megatron's cut of
 * weights (with the sequence between layers), and for ZeRO. */
SHD_MUST_CHECK int train_layout(struct train *train, const json_t *layout, struct shd_error *err);

#endif /* QUERY_TRAIN_LAYOUT_H */
