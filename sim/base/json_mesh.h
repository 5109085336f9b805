/* json_mesh.h - a mesh as JSON.
 *
 * Thread class: as json_out.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_JSON_MESH_H
#define BASE_JSON_MESH_H

#include <shd/mesh.h>

#include "base/json_out.h"

/* Write the mesh's axes in order: [["dp", 2], ["tp", 4]]. */
void json_mesh(struct json_out *out, const struct shd_mesh *mesh);

#endif /* BASE_JSON_MESH_H */
