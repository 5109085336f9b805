/* shd/match.h - eformer's match_partition_rules(): a spec for every array of a tree, by its name.
 *
 * An array of rank 0 stays whole and needs no rule.  Any other must match a rule, and takes the
 * spec of the first one that it matches; but it stays whole if it has fewer elements than a
 * threshold, and a spec with more entries than the array has dimensions is cut.  The threshold is
 * looked at after the rules, so that a tiny array without a rule is still an error.  Whether the
 * axes exist and divide the array is not looked at.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_MATCH_H
#define SHD_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/rules.h>
#include <shd/spec.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHD_MIN_SHARDING_ELEMENTS 16384 /* the original's threshold, MIN_SHARDING_SIZE */

#define SHD_NO_RULE SIZE_MAX /* the rule of an array that needs none */

/* How an array's spec was found. */
struct shd_match {
    size_t rule;                 /* the number of the rule; SHD_NO_RULE for rank 0 */
    const struct shd_spec *spec; /* the rule's; NULL where the array stays whole: [] */
    size_t nentries;             /* how many entries of the spec count; 0 without a spec */
};

struct shd_match_options {
    int64_t min_elements; /* smaller arrays stay whole */
    /* Count elements exactly, where the original wraps around at 64 bits, and refuse to cut a spec
     * (SHD_ESPECLONG) unless all entries that would be cut are none. */
    bool strict;
};

/* The original's defaults. */
SHD_API struct shd_match_options shd_match_defaults(void);

/* Match one array by name, rank and shape.  SHD_ENOTFOUND when no rule matches; SHD_ETYPE when the
 * rule has no spec and the array is large enough to need one; the errors of shd_rules_match(). */
SHD_API SHD_MUST_CHECK int shd_match_leaf(struct shd_match *out, const struct shd_rules *rules,
                                          const struct shd_leaf *leaf,
                                          const struct shd_match_options *options,
                                          struct shd_error *err);

/* Match all leaves of a tree into out[shd_tree_count()]; what was found lives as long as the rules.
 * On failure the content of `out` is undefined. */
SHD_API SHD_MUST_CHECK int shd_match_tree(struct shd_match *out, const struct shd_rules *rules,
                                          const struct shd_tree *tree,
                                          const struct shd_match_options *options,
                                          struct shd_error *err);

/* The spec that was found, cut; free it with shd_spec_destroy().  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_match_spec(struct shd_spec **out, const struct shd_match *match,
                                          struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_MATCH_H */
