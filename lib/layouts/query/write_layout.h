/* write_layout.h - parts of answers about layouts: specs, meshes, lists.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_WRITE_LAYOUT_H
#define LAYOUTS_QUERY_WRITE_LAYOUT_H

#include <shd/group.h>
#include <shd/mesh.h>
#include <shd/spec.h>

#include "base/json_out.h"

/* Write ["a", "b"]; NULL is null. */
void write_names(struct json_out *out, const char *const *names, size_t n);
void write_axis_names(struct json_out *out, const struct shd_mesh *mesh);

/* Write null, "a" or ["a", "b"]. */
void write_entry(struct json_out *out, const char *const *axes, size_t naxes);
void write_spec(struct json_out *out, const struct shd_spec *spec); /* NULL is null */

/* Write a list of integers. */
void write_ints(struct json_out *out, const int64_t *numbers, size_t n);
void write_int32s(struct json_out *out, const int32_t *numbers, size_t n);

/* The fields of a mesh in an answer, as an op documents them (question/op.h). */
#define MESH_FIELDS                                                           \
    {"axis_names", "names", NULL, "Names of the axes."},                      \
        {"shape", "list of whole numbers", NULL, "Their sizes."},             \
    {                                                                         \
        "device_ids", "list of whole numbers", NULL, "Device ids, row-major." \
    }

/* Write these fields into an open object. */
void write_mesh_keys(struct json_out *out, const struct shd_mesh *mesh);

/* Write [[0, 1], [2, 3]], the members of each group by device id plus `offset`. */
void write_groups(struct json_out *out, const struct shd_groups *groups, int64_t offset);

/* SHD_EUNSUPPORTED for more ranks than the groups of an answer may list. */
SHD_MUST_CHECK int check_ranks_listed(int32_t nranks, struct shd_error *err);

/* Write a key and its value. */
void write_spec_key(struct json_out *out, const char *key, const struct shd_spec *spec);

/* Write [["a", "b"], ["c"]]: every entry as a list of its axes. */
void layout_write_methods(struct json_out *out, const struct shd_spec_entry *methods, size_t n);

#endif /* LAYOUTS_QUERY_WRITE_LAYOUT_H */
