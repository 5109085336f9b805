/* shd/tree.h - a parameter tree: arrays by name, in the order they were added.
 *
 * Names are paths joined with '/': "layers/0/mlp/kernel".  Only leaves are stored; a name cannot be
 * a leaf and the way to another one.  Dimensions may carry logical axis names.
 *
 * Thread class: owned by one thread while leaves are added; afterwards any number may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_TREE_H
#define SHD_TREE_H

#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_tree; /* opaque */

struct shd_leaf {
    const char *name;
    enum shd_dtype dtype;
    size_t rank;
    const int64_t *shape;            /* rank extents */
    const char *const *logical_axes; /* rank names, each possibly NULL; or NULL: there are none */
};

SHD_API SHD_MUST_CHECK int shd_tree_create(struct shd_tree **out, struct shd_error *err);
SHD_API void shd_tree_destroy(struct shd_tree *tree); /* NULL is allowed */

/* Add a leaf; everything is copied.  On failure the tree is as before.  SHD_EINVAL (an empty name
 * or part of one, a negative extent, a name that is a leaf and an inner node), SHD_EDUPAXIS (the
 * name is there already), SHD_ERANGE (the rank is over SHD_RANK_MAX, or elements or bytes of the
 * leaf or of the whole tree do not fit, or its leaves or the name's bytes do not fit 32 bits),
 * SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_tree_add(struct shd_tree *tree, const struct shd_leaf *leaf,
                                        struct shd_error *err);

SHD_API size_t shd_tree_count(const struct shd_tree *tree);

/* Leaf 0..count-1 in the order they were added.  The pointer is valid until the next
 * shd_tree_add(); what the leaf points to lives as long as the tree. */
SHD_API const struct shd_leaf *shd_tree_leaf(const struct shd_tree *tree, size_t i);

/* The number of the leaf of a name.  SHD_ENOTFOUND. */
SHD_API SHD_MUST_CHECK int shd_tree_find(size_t *out, const struct shd_tree *tree, const char *name,
                                         struct shd_error *err);

/* Elements and bytes of all leaves. */
SHD_API int64_t shd_tree_nelements(const struct shd_tree *tree);
SHD_API uint64_t shd_tree_bytes(const struct shd_tree *tree);

#ifdef __cplusplus
}
#endif

#endif /* SHD_TREE_H */
