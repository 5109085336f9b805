/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/zero.h"

#include <string.h>

bool zero_cut(struct shd_sharding *sharding, const int64_t *shape, uint8_t axis)
{
    int64_t size = shd_mesh_axis_size(sharding->mesh, axis), local[SHD_RANK_MAX];
    int best = -1;

    if (shd_sharding_axes(sharding) >> axis & 1)
        return false;
    shd_sharding_shard_shape(sharding, shape, local);
    for (uint32_t d = 0; d < sharding->rank; d++)
        if (local[d] % size == 0 && local[d] > 0 && (best < 0 || local[d] > local[best]))
            best = (int)d;
    if (best < 0)
        return false;
    sharding->dims[best].axes[sharding->dims[best].naxes++] = axis;
    return true;
}

bool zero_is_sum(const struct graph_node *node)
{
    return node->op == GRAPH_CONSTRAINT && strncmp(node->name, "opt/sum/", 8) == 0;
}
