/* read_layout.h - fields of questions about layouts: lists of integers and names, shapes, rules.
 *
 * A call returns SHD_ETYPE, SHD_EINVAL or SHD_ERANGE naming the key if the JSON has another form.
 * Names point into the question.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_READ_LAYOUT_H
#define LAYOUTS_QUERY_READ_LAYOUT_H

#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/rules.h>
#include <shd/tpu_mesh.h>
#include <shd/tree.h>

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Read in[key] as read_mesh() does; NULL if it is null or missing. */
SHD_MUST_CHECK int layout_read_mesh(struct shd_mesh **out, const json_t *in, const char *key,
                                    struct shd_error *err);

/* Read [2, 3]; extents are at least 0. */
SHD_MUST_CHECK int layout_read_shape(int64_t *out, size_t *rank, const json_t *value,
                                     struct shd_error *err);

/* Read [2, -1]: any integers, at most `room`. */
SHD_MUST_CHECK int layout_read_ints(int64_t *out, size_t *n, size_t room, const json_t *value,
                                    const char *what, struct shd_error *err);

/* Read ["a", "b"], at most `room` names. */
SHD_MUST_CHECK int layout_read_names(const char **out, size_t *n, size_t room, const json_t *value,
                                     const char *what, struct shd_error *err);

/* Read [["regex", spec or null], ...] for shd_rules_add_late(); free with shd_rules_destroy(). */
SHD_MUST_CHECK int layout_read_rules(struct shd_rules **out, const json_t *in, const char *key,
                                     struct shd_error *err);

/* Read in["params"] = [[name, shape], ...], arrays of type in["dtype"]; free with
 * shd_tree_destroy(). */
SHD_MUST_CHECK int read_params(struct shd_tree **out, const json_t *in, struct shd_error *err);

/* Read [name, shape] into the name, shape and rank of a leaf; `shape` has room for SHD_RANK_MAX
 * extents. */
SHD_MUST_CHECK int read_param(struct shd_leaf *out, int64_t *shape, const json_t *param,
                              struct shd_error *err);

/* Read in[key] = [1, -2, ...]; *out is NULL if the key is missing, but not for an empty list. */
SHD_MUST_CHECK int read_ints(int64_t **out, size_t *n, const json_t *in, const char *key,
                             struct shd_error *err);

/* Read "a" or ["a", null, ...] as names, NULL for null. */
SHD_MUST_CHECK int read_names_value(const char ***out, size_t *n, const json_t *value,
                                    struct shd_error *err);

/* Read [["name", null | "axis" | ["a", "b"]], ...]; a missing list is no rules.  A rule without a
 * name is left out, as it never applies.  SHD_EINVAL for a value that is neither a list nor null.
 * Free with shd_logical_rules_destroy(). */
SHD_MUST_CHECK int read_logical_rules(struct shd_logical_rules **out, const json_t *value,
                                      struct shd_error *err);

/* Read in[names_key] and in["mesh_shape"], the names and the sizes of axes, as a mesh of row-major
 * ids.  `noun` is what messages call an axis. */
SHD_MUST_CHECK int read_named_mesh(struct shd_mesh **out, const json_t *in, const char *names_key,
                                   const char *noun, struct shd_error *err);

/* Read the fields of a request for one of T5X's default meshes; `num_partitions` is the default of
 * the field of that name.  Free with free_mesh_request(), also on failure. */
SHD_MUST_CHECK int read_mesh_request(struct shd_mesh_request *out, const json_t *in,
                                     int64_t num_partitions, struct shd_error *err);
void free_mesh_request(struct shd_mesh_request *request);

#endif /* LAYOUTS_QUERY_READ_LAYOUT_H */
