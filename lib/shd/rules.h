/* shd/rules.h - ordered rules from parameter names to partition specs.
 *
 * A rule is a regular expression (shd/regex.h) and a spec.  A name takes the spec of the first rule
 * whose expression is found anywhere in it.
 *
 * Thread class: owned by one thread while rules are added; afterwards any number may match.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_RULES_H
#define SHD_RULES_H

#include <stddef.h>

#include <shd/error.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_rules; /* opaque */

SHD_API SHD_MUST_CHECK int shd_rules_create(struct shd_rules **out, struct shd_error *err);
SHD_API void shd_rules_destroy(struct shd_rules *rules); /* NULL is allowed */

/* Add a rule behind the others; pattern and spec are copied, the pattern is compiled once.
 * SHD_EREGEX, SHD_EUNSUPPORTED (see shd_regex_compile()), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_rules_add(struct shd_rules *rules, const char *pattern,
                                         const struct shd_spec *spec, struct shd_error *err);

/* Add a rule as Python would have it: what is wrong with the pattern is no error here, but one of
 * shd_rules_match() for a name that none of the rules before matches.  Only SHD_ENOMEM is returned.
 * `spec` may be NULL: the rule matches, and has no spec. */
SHD_API SHD_MUST_CHECK int shd_rules_add_late(struct shd_rules *rules, const char *pattern,
                                              const struct shd_spec *spec, struct shd_error *err);

SHD_API size_t shd_rules_count(const struct shd_rules *rules);

/* Pattern and spec of rule 0..count-1; they live as long as the rules.  The spec is NULL only for a
 * rule added without. */
SHD_API const char *shd_rules_pattern(const struct shd_rules *rules, size_t rule);
SHD_API const struct shd_spec *shd_rules_spec(const struct shd_rules *rules, size_t rule);

/* The number of the first rule that a name matches.  SHD_ENOTFOUND when none does; SHD_EREGEX,
 * SHD_EINVAL (the name is not UTF-8), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_rules_match(size_t *rule, const struct shd_rules *rules,
                                           const char *name, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_RULES_H */
