/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/json_mesh.h"

void json_mesh(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_begin_flat_array(out);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        json_out_begin_array(out);
        json_out_string(out, shd_mesh_axis_name(mesh, a));
        json_out_int(out, shd_mesh_axis_size(mesh, a));
        json_out_end_array(out);
    }
    json_out_end_array(out);
}
