/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/group.h>

#include <stdbool.h>

static bool has_axis(const struct shd_groups *groups, size_t axis)
{
    for (size_t i = 0; i < groups->naxes; i++) {
        if (groups->axes[i] == axis)
            return true;
    }
    return false;
}

int shd_groups_init(struct shd_groups *out, const struct shd_mesh *mesh, const uint8_t *axes,
                    size_t naxes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || !SHD_GIVEN_ARRAY(err, axes, naxes))
        return SHD_EINVAL;

    struct shd_groups groups = {.mesh = mesh, .nmembers = 1};

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    for (size_t i = 0; i < naxes; i++) {
        if (axes[i] >= shd_mesh_naxes(mesh))
            return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis number %u", axes[i]);
        if (has_axis(&groups, axes[i]))
            return shd_error_set(err, SHD_EDUPAXIS, "groups list axis '%.100s' twice",
                                 shd_mesh_axis_name(mesh, axes[i]));
        groups.axes[groups.naxes++] = axes[i];
        groups.nmembers *= shd_mesh_axis_size(mesh, axes[i]);
    }
    groups.ngroups = shd_mesh_size(mesh) / groups.nmembers;
    *out = groups;
    return SHD_OK;
}

/* A group's lowest position has coordinate 0 on its axes, so counting through the other axes in
 * the mesh's order counts groups by their lowest position. */
/* Whether a mesh has the position. */
static bool has_position(const struct shd_groups *groups, int32_t position)
{
    return groups && groups->mesh && position >= 0 && position < shd_mesh_size(groups->mesh);
}

int32_t shd_groups_find(const struct shd_groups *groups, int32_t position)
{
    if (!has_position(groups, position))
        return -1;

    size_t naxes = shd_mesh_naxes(groups->mesh);
    int32_t group = 0;

    for (size_t a = 0; a < naxes; a++) {
        if (!has_axis(groups, a))
            group = group * shd_mesh_axis_size(groups->mesh, a) +
                    shd_mesh_coord(groups->mesh, position, a);
    }
    return group;
}

int32_t shd_groups_member(const struct shd_groups *groups, int32_t position)
{
    if (!has_position(groups, position))
        return -1;

    int32_t member = 0;

    for (size_t i = 0; i < groups->naxes; i++) {
        size_t a = groups->axes[i];

        member = member * shd_mesh_axis_size(groups->mesh, a) +
                 shd_mesh_coord(groups->mesh, position, a);
    }
    return member;
}

int32_t shd_groups_position(const struct shd_groups *groups, int32_t group, int32_t member)
{
    if (!groups || !groups->mesh || group < 0 || group >= groups->ngroups || member < 0 ||
        member >= groups->nmembers)
        return -1;

    int32_t coords[SHD_MESH_AXES_MAX];

    for (size_t a = shd_mesh_naxes(groups->mesh); a-- > 0;) {
        int32_t size = shd_mesh_axis_size(groups->mesh, a);

        if (has_axis(groups, a))
            continue;
        coords[a] = group % size;
        group /= size;
    }
    for (size_t i = groups->naxes; i-- > 0;) {
        int32_t size = shd_mesh_axis_size(groups->mesh, groups->axes[i]);

        coords[groups->axes[i]] = member % size;
        member /= size;
    }
    return shd_mesh_position(groups->mesh, coords);
}
