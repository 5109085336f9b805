/* shd/mesh_axes.h - what eformer's helpers ask of a mesh by axis names.
 *
 * Where the original looks for a mesh in a thread's context, the mesh in context is an argument
 * here; NULL is none.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_MESH_AXES_H
#define SHD_MESH_AXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The mesh to work with: the one given, else the one in context (get_incontext_mesh() when none is
 * given).  SHD_ENOMESH when both are NULL. */
SHD_API SHD_MUST_CHECK int shd_mesh_find(const struct shd_mesh **out, const struct shd_mesh *given,
                                         const struct shd_mesh *context, struct shd_error *err);

/* The product of the sizes of axes: 1 for none; an axis named twice counts twice.  SHD_ENOMESH
 * (mesh is NULL), SHD_ENOAXIS, SHD_ERANGE (the product does not fit). */
SHD_API SHD_MUST_CHECK int shd_mesh_axes_size(int64_t *out, const struct shd_mesh *mesh,
                                              const char *const *axes, size_t naxes,
                                              struct shd_error *err);

/* The number of a position among those along the axes, the first the most major; 0 for no axes.  An
 * axis named twice is two digits.  Errors as above; SHD_ERANGE also for a position that is not in
 * the mesh. */
SHD_API SHD_MUST_CHECK int shd_mesh_axes_index(int64_t *out, const struct shd_mesh *mesh,
                                               const char *const *axes, size_t naxes,
                                               int32_t position, struct shd_error *err);

/* Whether the mesh has every one of the axes; no mesh has no axes, and no axes are in any mesh. */
SHD_API bool shd_mesh_has_axes(const struct shd_mesh *mesh, const char *const *axes, size_t naxes);

/* The distinct axis names of specs (NULL ones are skipped), sorted by bytes.  Stores at most `size`
 * of them in `names`; they live as long as the specs.  Returns how many there are, counting at most
 * the first `size` distinct ones: give room for all, shd_specs_count_axes() of them at most. */
SHD_API size_t shd_specs_axis_names(const char **names, size_t size,
                                    const struct shd_spec *const *specs, size_t nspecs);

/* Axes in all entries of all specs, repeated ones too. */
SHD_API size_t shd_specs_count_axes(const struct shd_spec *const *specs, size_t nspecs);

/* Whether eformer's with_sharding_constraint() constrains an array or leaves it alone.  It leaves
 * alone what is no device array, and a spec with an axis that the mesh in *context* lacks, even
 * when the sharding has a mesh of its own (`sharding_mesh`, NULL: a bare spec).  SHD_ENOMESH for a
 * bare spec without a mesh in context. */
SHD_API SHD_MUST_CHECK int shd_constraint_applies(bool *out, bool is_device_array,
                                                  const struct shd_spec *spec,
                                                  const struct shd_mesh *sharding_mesh,
                                                  const struct shd_mesh *context,
                                                  struct shd_error *err);

/* The same as it should be: the mesh that counts is the sharding's own where it has one, and an
 * axis that is not in it is an error, not silence.  SHD_ENOMESH, SHD_ENOAXIS. */
SHD_API SHD_MUST_CHECK int shd_constraint_applies_strict(bool *out, bool is_device_array,
                                                         const struct shd_spec *spec,
                                                         const struct shd_mesh *sharding_mesh,
                                                         const struct shd_mesh *context,
                                                         struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_MESH_AXES_H */
