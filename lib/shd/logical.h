/* shd/logical.h - ordered rules from logical axis names to mesh axes.
 *
 * A model names the dimensions of its arrays ("embed", "mlp"); rules say which mesh axes these
 * names take, none included.  The order of the rules is their priority: a mesh axis goes to the
 * first rule that asks for it, and a later rule of the same name is its fallback.
 *
 * Thread class: owned by one thread while rules are added; afterwards any number may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_LOGICAL_H
#define SHD_LOGICAL_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_logical_rules; /* opaque */

SHD_API SHD_MUST_CHECK int shd_logical_rules_create(struct shd_logical_rules **out,
                                                    struct shd_error *err);

/* Free rules.  NULL is allowed. */
SHD_API void shd_logical_rules_destroy(struct shd_logical_rules *rules);

/* Add a rule behind the others: `name` takes the mesh axes of an entry, none of them for 0 axes.
 * Everything is copied; an empty axis name counts as no axis.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_logical_rules_add(struct shd_logical_rules *rules, const char *name,
                                                 const struct shd_spec_entry *axes,
                                                 struct shd_error *err);

/* Add all of `more` behind the others, in their order.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_logical_rules_append(struct shd_logical_rules *rules,
                                                    const struct shd_logical_rules *more,
                                                    struct shd_error *err);

SHD_API size_t shd_logical_rules_count(const struct shd_logical_rules *rules);

/* Name and mesh axes of rule 0..count-1; they live as long as the rules. */
SHD_API const char *shd_logical_rules_name(const struct shd_logical_rules *rules, size_t rule);
SHD_API const struct shd_spec_entry *shd_logical_rules_axes(const struct shd_logical_rules *rules,
                                                            size_t rule);

/* T5X's standard rules for meshes with axes "data" and "model", with activations and parameters
 * partitioned along 1 or 2 dimensions (SHD_EINVAL for other numbers), then `additional` (NULL:
 * none) with the lowest priority.  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_logical_rules_standard(struct shd_logical_rules **out,
                                                      int64_t activation_dims,
                                                      int64_t parameter_dims,
                                                      const struct shd_logical_rules *additional,
                                                      struct shd_error *err);

/* The spec of an array whose `ndims` dimensions have the logical `names`, each possibly NULL.
 *
 * Walks the rules once.  A rule applies when a dimension of its name has taken nothing yet and none
 * of the rule's mesh axes was given to any dimension; a rule of no axes applies too, and ends the
 * search for that dimension.  Dimensions without a rule are none, and so is a name that no rule
 * knows.  The spec has `ndims` entries.  SHD_EDUPAXIS (a name twice), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_logical_rules_spec(struct shd_spec **out,
                                                  const struct shd_logical_rules *rules,
                                                  const char *const *names, size_t ndims,
                                                  struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_LOGICAL_H */
