/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/ranks/spread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/ranks/ranks.h"

static void fill(struct spread *spread, const struct shd_mesh *mesh, int axis)
{
    int64_t n = axis < 0 ? spread->ndevices : shd_mesh_axis_size(mesh, (size_t)axis);

    for (int32_t p = 0; p < spread->ndevices; p++) {
        int64_t at = axis < 0 ? p : shd_mesh_coord(mesh, p, (size_t)axis);

        spread->rank_of[p] = (uint16_t)(at * spread->nranks / n);
    }
}

int spread_create(struct spread **out, const struct shd_mesh *mesh, const char *axis,
                  struct shd_error *err)
{
    int id = axis ? shd_mesh_find_axis(mesh, axis) : -1;
    struct spread *spread;

    *out = NULL;
    if (shd_mesh_size(mesh) < ranks_count())
        return SHD_OK;
    if (axis && id < 0)
        return shd_error_set(err, SHD_ENOAXIS, "--spread: the mesh has no axis '%.64s'", axis);
    if (axis && shd_mesh_axis_size(mesh, (size_t)id) < ranks_count())
        return shd_error_set(err, SHD_EINVAL,
                             "--spread: axis '%.64s' has %" PRId64
                             " coordinates, too few for %d ranks",
                             axis, (int64_t)shd_mesh_axis_size(mesh, (size_t)id), ranks_count());
    spread = malloc(sizeof *spread + (size_t)shd_mesh_size(mesh) * sizeof spread->rank_of[0]);
    if (!spread)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the table of devices");
    spread->nranks = ranks_count();
    spread->me = ranks_me();
    spread->ndevices = (int32_t)shd_mesh_size(mesh);
    fill(spread, mesh, id);
    *out = spread;
    return SHD_OK;
}

void spread_destroy(struct spread *spread)
{
    free(spread);
}

int32_t spread_first(const struct spread *spread, int32_t ndevices)
{
    for (int32_t p = 0; p < ndevices; p++)
        if (spread_has(spread, p))
            return p;
    return -1;
}

void spread_merge_rows(const struct spread *spread, void *rows, uint64_t row_bytes)
{
    if (!spread)
        return;
    for (int32_t p = 0; p < spread->ndevices; p++)
        if (!spread_has(spread, p))
            memset((char *)rows + (uint64_t)p * row_bytes, 0, row_bytes);
    ranks_merge(rows, row_bytes * (uint64_t)spread->ndevices, RANKS_JOIN);
}
