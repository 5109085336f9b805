/* shd/group.h - process groups: the mesh cut into groups of devices along some of its axes.
 *
 * Two positions are in one group when they differ only along the group's axes.  The member index
 * counts through the axes in the order given, the first the most major; groups are numbered by
 * their lowest position, which is member 0.  Everything is computed in O(axes); nothing is stored
 * per device.
 *
 * Thread class: a value; copy and share it freely as long as the mesh lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_GROUP_H
#define SHD_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_groups {
    const struct shd_mesh *mesh; /* not owned */
    int32_t ngroups;
    int32_t nmembers; /* of each group */
    uint8_t naxes;
    uint8_t axes[SHD_MESH_AXES_MAX]; /* unused ones are 0 */
};

/* The groups along `naxes` axes of a mesh (0 axes: every device is a group of its own).
 * SHD_ENOMESH (mesh is NULL), SHD_ENOAXIS for a number that is no axis, SHD_EDUPAXIS for one that
 * comes twice. */
SHD_API SHD_MUST_CHECK int shd_groups_init(struct shd_groups *out, const struct shd_mesh *mesh,
                                           const uint8_t *axes, size_t naxes,
                                           struct shd_error *err);

/* The group of a position, and the position's index in the group. */
SHD_API int32_t shd_groups_find(const struct shd_groups *groups, int32_t position);
SHD_API int32_t shd_groups_member(const struct shd_groups *groups, int32_t position);

/* The position of member 0..nmembers-1 of group 0..ngroups-1. */
SHD_API int32_t shd_groups_position(const struct shd_groups *groups, int32_t group, int32_t member);

#ifdef __cplusplus
}
#endif

#endif /* SHD_GROUP_H */
