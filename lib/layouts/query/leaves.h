/* leaves.h - the leaves of trees in questions, given as nested objects and lists.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_LEAVES_H
#define LAYOUTS_QUERY_LEAVES_H

#include <shd/error.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The leaves of a tree, in the order of sorted keys. */
struct layout_leaf {
    char *path;         /* keys joined with '/' */
    const json_t *node; /* null for an empty place */
    const json_t *beside;
};

struct layout_leaves {
    size_t n;
    struct layout_leaf *leaves;
};

/* Whether a node is a leaf; null and any value that is neither object nor list always is. */
typedef bool layout_is_leaf(const json_t *node);

/* Collect leaves.  Items of lists, and of objects {"$list": [...]}, have numbers as keys.  `beside`
 * (NULL: none) is a tree with the same keys, whose nodes are stored with the leaves; SHD_EINVAL
 * when the keys differ.  SHD_ETYPE when there is no tree.  Free with layout_leaves_fini(), also on
 * failure. */
SHD_MUST_CHECK int layout_collect(struct layout_leaves *out, const json_t *tree,
                                  const json_t *beside, layout_is_leaf *is_leaf,
                                  struct shd_error *err);
void layout_leaves_fini(struct layout_leaves *leaves);

#endif /* LAYOUTS_QUERY_LEAVES_H */
