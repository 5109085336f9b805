/* reshard/axes.c - the axes of the mesh along which the devices of a step exchange data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/reshard.h>

#include <string.h>

#include "step.h"

uint32_t reshard_axes_from(const struct shd_dim_axes *dim, uint8_t first)
{
    uint32_t axes = 0;

    for (uint8_t i = first; i < dim->naxes; i++)
        axes |= UINT32_C(1) << dim->axes[i];
    return axes;
}

/* The axes that cut a dimension differently before and after.  Leading axes that are equal both
 * times do not count: a device and all its partners in the exchange have the same coordinates on
 * these. */
static uint32_t changed_axes(const struct shd_reshard_step *step)
{
    uint32_t axes = 0;

    for (size_t d = 0; d < step->from.rank; d++) {
        const struct shd_dim_axes *from = &step->from.dims[d], *to = &step->to.dims[d];
        uint8_t common = 0;

        while (common < from->naxes && common < to->naxes && from->axes[common] == to->axes[common])
            common++;
        axes |= reshard_axes_from(from, common) | reshard_axes_from(to, common);
    }
    return axes;
}

size_t shd_reshard_step_axes(const struct shd_reshard_step *step, uint8_t axes[SHD_MESH_AXES_MAX])
{
    if (!step || !axes)
        return 0;

    uint32_t mask;
    size_t n = 0;

    if (step->kind == SHD_RESHARD_SLICE || step->kind == SHD_RESHARD_MASK ||
        !shd_mesh_equal(step->from.mesh, step->to.mesh))
        return 0;
    if (reshard_is_collective(step)) {
        memcpy(axes, step->axes, step->naxes * sizeof *axes);
        return step->naxes;
    }
    if (step->shift > 0 || step->reach.extent > 0)
        mask = reshard_axes_from(&step->from.dims[step->dim], 0) |
               reshard_axes_from(&step->to.dims[step->dim], 0);
    else if (step->from.uneven || step->to.uneven) /* intervals do not nest */
        mask = shd_sharding_axes(&step->from) | shd_sharding_axes(&step->to);
    else
        mask = changed_axes(step);
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        if (mask >> a & 1)
            axes[n++] = a;
    return n;
}
