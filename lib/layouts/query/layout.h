/* layout.h - common parts of questions about layouts: trees as nested objects, rules, axes; and of
 * answers: specs and shapes.
 *
 * A call that reads returns SHD_ETYPE, SHD_EINVAL or SHD_ERANGE naming the key if the JSON has
 * another form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_LAYOUT_H
#define LAYOUTS_QUERY_LAYOUT_H

#include <shd/mesh.h>
#include <shd/rules.h>
#include <shd/spec.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_out.h"

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
 * when the keys differ.  Free with layout_leaves_fini(), also on failure. */
SHD_MUST_CHECK int layout_collect(struct layout_leaves *out, const json_t *tree,
                                  const json_t *beside, layout_is_leaf *is_leaf,
                                  struct shd_error *err);
void layout_leaves_fini(struct layout_leaves *leaves);


/* Write [["a", "b"], ["c"]]: every entry as a list of its axes. */
void layout_write_methods(struct json_out *out, const struct shd_spec_entry *methods, size_t n);

#endif /* LAYOUTS_QUERY_LAYOUT_H */
