/* shd/auto_shard.h - specs from shapes alone: eformer's MeshPartitionHelper.
 *
 * A method is a list of mesh axes to be tried on a shape; suggestions come from the axes named dp,
 * fsdp, sp and tp that a mesh has.  The original's walk, quirks and all:
 *
 *   - with T = max(min_elements, elements / (2 x devices)), for each method in order: one axis goes
 *     to the first free dimension that is at least T and divides by it; two axes go to dimensions 0
 *     and 1, or both to dimension 0, and end the walk, when the *product* of the two dimensions
 *     divides by the product of the two sizes; other methods are passed over;
 *   - if that gave nothing, again with T = min_elements; and here the pair (fsdp, sp) goes to
 *     dimensions 0 and 1 whatever their sizes.
 *
 * So a spec may not divide its array, and shd_auto_shard_shape() then says so.  The strict variant
 * gives a pair only where each dimension divides by its own axis (else both axes to dimension 0 if
 * that divides by both), never uses an axis twice, and so never yields a spec that cannot be
 * placed.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_AUTO_SHARD_H
#define SHD_AUTO_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/spec.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHD_AUTO_METHODS_MAX 4     /* one each for dp, sp, tp and fsdp; a pair takes two of them */
#define SHD_AUTO_MIN_ELEMENTS 1024 /* the original's default of min_elements */

struct shd_auto_options {
    int64_t min_elements; /* along a dimension, for it to be given an axis */
    bool strict;
};

/* The original's defaults. */
SHD_API struct shd_auto_options shd_auto_defaults(void);

/* Store the methods suggested for a shape, in the order to try them, and return how many there are.
 * A method is a list of axes; the names are static. */
SHD_API size_t shd_auto_methods(struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX],
                                const struct shd_mesh *mesh, const int64_t *shape, size_t rank);

/* A spec for a shape by methods; it has `rank` entries, even if all are none.  SHD_ENOAXIS for an
 * axis that is not in the mesh, once it is tried on a dimension; SHD_ERANGE for (fsdp, sp) on one
 * dimension in the second walk (not if strict), or a rank over SHD_RANK_MAX; SHD_ENOMESH (mesh is
 * NULL); SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_auto_spec(struct shd_spec **out, const struct shd_mesh *mesh,
                                         const int64_t *shape, size_t rank,
                                         const struct shd_spec_entry *methods, size_t nmethods,
                                         const struct shd_auto_options *options,
                                         struct shd_error *err);

/* What one device holds of an array placed by a spec: shard_array().  The errors of
 * shd_sharding_bind() and shd_sharding_check(). */
SHD_API SHD_MUST_CHECK int shd_auto_shard_shape(int64_t *out, const struct shd_mesh *mesh,
                                                const struct shd_spec *spec, const int64_t *shape,
                                                size_t rank, struct shd_error *err);

/* The leaves of a tree that are the first of their shape, sorted by path; their shapes with
 * shd_auto_methods() are the original's analyze_pytree().  Stores leaf numbers in `leaves`, which
 * has room for shd_tree_count() of them, and how many there are.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_auto_shapes(size_t *leaves, size_t *nleaves,
                                           const struct shd_tree *tree, struct shd_error *err);

/* A spec for each leaf of a tree, by the methods suggested for its shape, checked as by
 * shd_auto_shard_shape(): auto_shard_pytree().  Free each of specs[shd_tree_count()] with
 * shd_spec_destroy(); on failure there are none, and what was stored meanwhile is NULL. */
SHD_API SHD_MUST_CHECK int shd_auto_shard(struct shd_spec **specs, const struct shd_tree *tree,
                                          const struct shd_mesh *mesh,
                                          const struct shd_auto_options *options,
                                          struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_AUTO_SHARD_H */
