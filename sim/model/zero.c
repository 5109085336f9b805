/* Sharding arrays over ZeRO's axes (zero.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/zero.h"

#include <string.h>

/* The axes that do not shard the array yet. */
static struct zero_axes left_axes(const struct shd_sharding *sharding,
                                  const struct zero_axes *axes)
{
    uint32_t used = shd_sharding_axes(sharding);
    struct zero_axes left = {.layout = axes->layout};

    for (uint8_t i = 0; i < axes->n; i++)
        if (!(used >> axes->axes[i] & 1))
            left.axes[left.n++] = axes->axes[i];
    return left;
}

/* Cut one dimension over all axes; false, without a change, if none divides. */
static bool cut_dim(struct shd_sharding *sharding, const int64_t *shape,
                    const struct zero_axes *axes)
{
    int64_t size = shd_mesh_size_of_axes(sharding->mesh, axes->axes, axes->n), local[SHD_RANK_MAX];
    struct shd_dim_axes *dim;
    int best = -1;

    shd_sharding_shard_shape(sharding, shape, local);
    for (uint32_t d = 0; d < sharding->rank; d++)
        if (local[d] % size == 0 && local[d] > 0 && (best < 0 || local[d] > local[best]))
            best = (int)d;
    if (best < 0)
        return false;
    dim = &sharding->dims[best];
    for (uint8_t i = 0; i < axes->n; i++)
        dim->axes[dim->naxes++] = axes->axes[i];
    return true;
}

static void cut_flat(struct shd_sharding *sharding, const int64_t *shape,
                     const struct zero_axes *axes)
{
    int64_t local[SHD_RANK_MAX], rows = 1;
    uint8_t n = 0;

    shd_sharding_shard_shape(sharding, shape, local);
    for (uint8_t i = 0; i < axes->n; i++)
        sharding->flat.axes[sharding->flat.naxes++] = axes->axes[i];
    while (n < sharding->rank && (n == 0 || axes->layout == ZERO_FLAT ||
                                  rows < shd_sharding_npieces(sharding)))
        rows *= local[n++];
    sharding->flat_dims = n;
}

uint32_t zero_cut(struct shd_sharding *sharding, const int64_t *shape,
                  const struct zero_axes *axes)
{
    uint32_t before = shd_sharding_axes(sharding);
    struct zero_axes left = left_axes(sharding, axes);

    if (left.n > 0 && sharding->rank > 0 && !cut_dim(sharding, shape, &left))
        cut_flat(sharding, shape, &left);
    return shd_sharding_axes(sharding) & ~before;
}

bool zero_is_sum(const struct graph_node *node)
{
    return node->op == GRAPH_CONSTRAINT && strncmp(node->name, "opt/sum/", 8) == 0;
}

bool zero_scatters_each(const struct graph *graph, int64_t stage)
{
    return stage >= 2 && (stage < 3 || graph->nstages == 1);
}
