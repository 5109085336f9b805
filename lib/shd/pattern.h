/* shd/pattern.h - eformer's create_pattern_based_partition_spec(): specs from one line of text.
 *
 *     attention|mlp->data,hidden->model.sp
 *
 * Commas part rules; a part without "->" is skipped.  Left of "->" are regular expressions between
 * bars, right of it one axis a dimension between points; an empty axis is none.  A name takes the
 * spec of the first expression found in it, else the fallback.  So commas and bars cannot be used
 * inside an expression, spaces count, and an entry of several axes cannot be written.  An
 * expression that does not compile is an error only for a name that none before it is found in.
 *
 * Thread class: immutable once created; any number of threads may search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PATTERN_H
#define SHD_PATTERN_H

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_pattern; /* opaque */

/* Read a pattern.  The fallback is copied; NULL is [].  The original needs a mesh and makes no use
 * of it: NULL is SHD_ENOMESH.  SHD_EINVAL for a rule with two arrows, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_pattern_create(struct shd_pattern **out, const char *text,
                                              const struct shd_mesh *mesh,
                                              const struct shd_spec *fallback,
                                              struct shd_error *err);

/* The same, and nothing wrong is let through: an expression must compile (SHD_EREGEX,
 * SHD_EUNSUPPORTED), a part must have an arrow (SHD_EINVAL), an axis be in the mesh (SHD_ENOAXIS)
 * and be named once in a rule (SHD_EDUPAXIS). */
SHD_API SHD_MUST_CHECK int shd_pattern_create_strict(struct shd_pattern **out, const char *text,
                                                     const struct shd_mesh *mesh,
                                                     const struct shd_spec *fallback,
                                                     struct shd_error *err);

SHD_API void shd_pattern_destroy(struct shd_pattern *pattern); /* NULL is allowed */

/* The spec for a name; it lives as long as the pattern.  SHD_EREGEX, SHD_EUNSUPPORTED, SHD_EINVAL
 * (the name is not UTF-8), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_pattern_find(const struct shd_spec **out,
                                            const struct shd_pattern *pattern, const char *name,
                                            struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PATTERN_H */
