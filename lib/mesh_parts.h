/* mesh_parts.h - the fields of a mesh, for files that make meshes on the stack, without names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MESH_PARTS_H
#define MESH_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include <shd/mesh.h>

/* A device and its position. */
struct mesh_placed {
    int32_t id;
    int32_t position;
};

struct shd_mesh {
    size_t naxes;
    int32_t size; /* product of sizes[] */
    int32_t sizes[SHD_MESH_AXES_MAX];
    int32_t strides[SHD_MESH_AXES_MAX]; /* positions between neighbours along an axis */
    char *names[SHD_MESH_AXES_MAX];
    int32_t *ids;              /* by position; NULL: the id is the position */
    struct mesh_placed *by_id; /* sorted by id; NULL where ids is NULL */
};

#endif /* MESH_PARTS_H */
