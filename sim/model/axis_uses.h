/* model/axis_uses.h - what one axis of a mesh shards of a model: sequences, tokens, experts,
 * widths.
 *
 * Its role in a layout (replicas, context, tensor or expert parallelism) follows from that, and
 * never from its name.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_AXIS_USES_H
#define MODEL_AXIS_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"
#include "model/model.h"

struct axis_uses {
    bool batch, tokens, experts, widths;
    const char *other; /* an array of which the axis shards another dimension; NULL: none */
};

/* What an axis shards of the parameters and inputs of a job or, with `inside`, of the values of its
 * forward phase. */
struct axis_uses axis_uses_of(const struct graph *graph, const struct model_shardings *shardings,
                              size_t axis, bool inside);

/* Whether an axis shards dimension `d`; `sharding` may be NULL. */
bool axis_shards(const struct shd_sharding *sharding, uint32_t d, size_t axis);

/* Whether tensor parallelism shards a dimension of this name. */
bool axis_is_for_width(const char *dim);

#endif /* MODEL_AXIS_USES_H */
