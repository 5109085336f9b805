/* read_field.h - fields of questions read: mesh, spec, shape, dtype, numbers, texts.
 *
 * Each call returns SHD_ETYPE or SHD_EINVAL naming the key if the JSON has another form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUESTION_READ_FIELD_H
#define QUESTION_READ_FIELD_H

#include <shd/dtype.h>
#include <shd/mesh.h>
#include <shd/sharding.h>
#include <shd/spec.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Read in[key] = [["dp",2],["tp",4]]; free with shd_mesh_destroy(). */
SHD_MUST_CHECK int read_mesh(struct shd_mesh **out, const json_t *in, const char *key,
                             struct shd_error *err);

/* Read [null, "a", ["a","b"]]; free with shd_spec_destroy(). */
SHD_MUST_CHECK int read_spec_value(struct shd_spec **out, const json_t *value,
                                   struct shd_error *err);

/* Read a spec and bind it to a mesh, for an array of a rank. */
SHD_MUST_CHECK int read_sharding_spec(struct shd_sharding *out, const json_t *value,
                                      const struct shd_mesh *mesh, size_t rank,
                                      struct shd_error *err);

/* read_sharding_spec() for an array of a shape, which must divide. */
SHD_MUST_CHECK int read_sharding_value(struct shd_sharding *out, const json_t *value,
                                       const struct shd_mesh *mesh, const int64_t *shape,
                                       size_t rank, struct shd_error *err);

/* Read in[key] = [8, 16]; extents are at least 0, at most SHD_RANK_MAX of them. */
SHD_MUST_CHECK int read_shape(int64_t *out, size_t *rank, const json_t *in, const char *key,
                              struct shd_error *err);

/* Read in[key] = "float32"; SHD_F32 if the key is missing. */
SHD_MUST_CHECK int read_dtype(enum shd_dtype *out, const json_t *in, const char *key,
                              struct shd_error *err);

/* Read an integer, a number, a string or a boolean; `fallback` if the key is missing. */
SHD_MUST_CHECK int read_int(int64_t *out, const json_t *in, const char *key, int64_t fallback,
                            struct shd_error *err);
/* Read a required integer from 1 to `most`; SHD_ERANGE. */
SHD_MUST_CHECK int read_size_up_to(int64_t *out, const json_t *in, const char *key, int64_t most,
                                   struct shd_error *err);
SHD_MUST_CHECK int read_number(double *out, const json_t *in, const char *key, double fallback,
                               struct shd_error *err);
SHD_MUST_CHECK int read_string(const char **out, const json_t *in, const char *key,
                               const char *fallback, struct shd_error *err);
SHD_MUST_CHECK int read_bool(bool *out, const json_t *in, const char *key, bool fallback,
                             struct shd_error *err);

#endif /* QUESTION_READ_FIELD_H */
