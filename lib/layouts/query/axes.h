/* axes.h - axes in questions and answers: names, integers, logical rules, specs, meshes.
 *
 * Lists that are read are allocated; the caller frees them.  Names point into the question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_AXES_H
#define LAYOUTS_QUERY_AXES_H

#include <shd/logical.h>
#include <shd/mesh.h>
#include <shd/spec.h>

#include <jansson.h>

#include "base/json_out.h"

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

/* Write null, "a" or ["a", "b"]. */
void write_entry(struct json_out *out, const char *const *axes, size_t naxes);
void write_spec(struct json_out *out, const struct shd_spec *spec); /* NULL is null */

/* Write a list of integers. */
void write_ints(struct json_out *out, const int64_t *numbers, size_t n);

/* Copy a value of the question unchanged. */
void write_verbatim(struct json_out *out, const json_t *value);

/* Write the keys axis_names, shape and device_ids into an open object. */
void write_mesh_keys(struct json_out *out, const struct shd_mesh *mesh);

/* Write a key and its value. */
void write_int_key(struct json_out *out, const char *key, int64_t value);
void write_bool_key(struct json_out *out, const char *key, bool value);

#endif /* LAYOUTS_QUERY_AXES_H */
