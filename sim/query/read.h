/* read.h - the common forms of questions: mesh, spec, shape, tensors.
 *
 * Each call returns SHD_ETYPE or SHD_EINVAL naming the key where the JSON is not of the form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_READ_H
#define QUERY_READ_H

#include <shd/dtype.h>
#include <shd/mesh.h>
#include <shd/sharding.h>
#include <shd/spec.h>

#include <jansson.h>

#include "kern/kern.h"

/* in[key] = [["dp",2],["tp",4]]; free with shd_mesh_destroy(). */
SHD_MUST_CHECK int read_mesh(struct shd_mesh **out, const json_t *in, const char *key,
                             struct shd_error *err);

/* [null, "a", ["a","b"]]; free with shd_spec_destroy(). */
SHD_MUST_CHECK int read_spec_value(struct shd_spec **out, const json_t *value,
                                   struct shd_error *err);

/* A spec bound to a mesh for an array of a rank. */
SHD_MUST_CHECK int read_sharding_spec(struct shd_sharding *out, const json_t *value,
                                      const struct shd_mesh *mesh, size_t rank,
                                      struct shd_error *err);

/* The same of an array of a shape, which must divide. */
SHD_MUST_CHECK int read_sharding_value(struct shd_sharding *out, const json_t *value,
                                       const struct shd_mesh *mesh, const int64_t *shape,
                                       size_t rank, struct shd_error *err);

/* in[key] = [8, 16]; extents at least 0, at most SHD_RANK_MAX of them. */
SHD_MUST_CHECK int read_shape(int64_t *out, size_t *rank, const json_t *in, const char *key,
                              struct shd_error *err);

/* in[key] = "float32"; SHD_F32 where there is none. */
SHD_MUST_CHECK int read_dtype(enum shd_dtype *out, const json_t *in, const char *key,
                              struct shd_error *err);

/* A whole number, a number, a string, a boolean; `fallback` where there is none. */
SHD_MUST_CHECK int read_int(int64_t *out, const json_t *in, const char *key, int64_t fallback,
                            struct shd_error *err);
/* A whole number from 1 to `most`, which must be there; SHD_ERANGE. */
SHD_MUST_CHECK int read_size_up_to(int64_t *out, const json_t *in, const char *key, int64_t most,
                                   struct shd_error *err);
SHD_MUST_CHECK int read_number(double *out, const json_t *in, const char *key, double fallback,
                               struct shd_error *err);
SHD_MUST_CHECK int read_string(const char **out, const json_t *in, const char *key,
                               const char *fallback, struct shd_error *err);
SHD_MUST_CHECK int read_bool(bool *out, const json_t *in, const char *key, bool fallback,
                             struct shd_error *err);

/* {"shape", "seed", "scale", "offset"}: what is in a tensor. */
SHD_MUST_CHECK int read_source(struct kern_source *out, const json_t *tensor,
                               struct shd_error *err);

#endif /* QUERY_READ_H */
