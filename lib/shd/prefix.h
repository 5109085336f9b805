/* shd/prefix.h - specs for a tree from specs for its branches: a tree prefix, broadcast.
 *
 * An entry names a leaf or an inner node ("" is the whole tree), and gives its spec to every leaf
 * there.  Each leaf must be covered by exactly one entry, and each entry cover some leaf, so that a
 * misspelt name cannot go unseen.  No spec means replicated.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PREFIX_H
#define SHD_PREFIX_H

#include <stddef.h>

#include <shd/error.h>
#include <shd/spec.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_prefix {
    const char *path;            /* "layers/0/mlp"; "": all leaves */
    const struct shd_spec *spec; /* not owned; NULL: replicated */
};

/* Store the specs of all leaves in the tree's order: shd_tree_count() pointers, NULL for
 * replicated.  Without any entries every leaf is replicated.  SHD_ENOTFOUND (a leaf without an
 * entry, an entry without a leaf), SHD_EDUPAXIS (a leaf with two entries). */
SHD_API SHD_MUST_CHECK int shd_prefix_specs(const struct shd_spec **specs,
                                            const struct shd_tree *tree,
                                            const struct shd_prefix *entries, size_t nentries,
                                            struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PREFIX_H */
