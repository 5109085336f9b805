/* Writing layouts into answers (write_layout.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "layouts/query/write_layout.h"

#define RANKS_MAX 1048576 /* an answer lists every rank, in a group of each kind */

void write_names(struct json_out *out, const char *const *names, size_t n)
{
    json_out_begin_array(out);
    for (size_t i = 0; i < n; i++)
        json_out_string(out, names[i]);
    json_out_end_array(out);
}

void write_entry(struct json_out *out, const char *const *axes, size_t naxes)
{
    if (naxes == 0)
        json_out_null(out);
    else if (naxes == 1)
        json_out_string(out, axes[0]);
    else
        write_names(out, axes, naxes);
}

void write_spec(struct json_out *out, const struct shd_spec *spec)
{
    if (!spec) {
        json_out_null(out);
        return;
    }
    json_out_begin_array(out);
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        size_t n = shd_spec_naxes(spec, e);

        if (n == 0)
            json_out_null(out);
        if (n > 1)
            json_out_begin_array(out);
        for (size_t a = 0; a < n; a++)
            json_out_string(out, shd_spec_axis(spec, e, a));
        if (n > 1)
            json_out_end_array(out);
    }
    json_out_end_array(out);
}

void write_ints(struct json_out *out, const int64_t *numbers, size_t n)
{
    json_out_begin_array(out);
    for (size_t i = 0; i < n; i++)
        json_out_int(out, numbers[i]);
    json_out_end_array(out);
}

void write_int32s(struct json_out *out, const int32_t *numbers, size_t n)
{
    json_out_begin_array(out);
    for (size_t i = 0; i < n; i++)
        json_out_int(out, numbers[i]);
    json_out_end_array(out);
}

void write_axis_names(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_begin_array(out);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        json_out_string(out, shd_mesh_axis_name(mesh, a));
    json_out_end_array(out);
}

void write_mesh_keys(struct json_out *out, const struct shd_mesh *mesh)
{
    json_out_key(out, "axis_names");
    write_axis_names(out, mesh);
    json_out_key_array(out, "shape");
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        json_out_int(out, shd_mesh_axis_size(mesh, a));
    json_out_end_array(out);
    json_out_key_array(out, "device_ids");
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++)
        json_out_int(out, shd_mesh_device_id(mesh, p));
    json_out_end_array(out);
}

void write_groups(struct json_out *out, const struct shd_groups *groups, int64_t offset)
{
    json_out_begin_array(out);
    for (int32_t g = 0; g < groups->ngroups; g++) {
        json_out_begin_array(out);
        for (int32_t m = 0; m < groups->nmembers; m++) {
            int32_t p = shd_groups_position(groups, g, m);

            json_out_int(out, shd_mesh_device_id(groups->mesh, p) + offset);
        }
        json_out_end_array(out);
    }
    json_out_end_array(out);
}

int check_ranks_listed(int32_t nranks, struct shd_error *err)
{
    if (nranks > RANKS_MAX)
        return shd_error_set(err, SHD_EUNSUPPORTED, "groups of %d ranks are too many to list",
                             (int)nranks);
    return SHD_OK;
}

void write_spec_key(struct json_out *out, const char *key, const struct shd_spec *spec)
{
    json_out_key(out, key);
    write_spec(out, spec);
}

void layout_write_methods(struct json_out *out, const struct shd_spec_entry *methods, size_t n)
{
    json_out_begin_array(out);
    for (size_t m = 0; m < n; m++)
        write_names(out, methods[m].axes, methods[m].naxes);
    json_out_end_array(out);
}
