/* rules_match.h - matching many names against rules.
 *
 * Thread class: a finder is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_MATCH_H
#define RULES_MATCH_H

#include <shd/rules.h>

#include "regex/find.h"

/* shd_rules_match() with a finder, which is reused for one name after the other. */
SHD_MUST_CHECK int rules_match(size_t *rule, const struct shd_rules *rules, const char *name,
                               struct regex_finder *finder, struct shd_error *err);

#endif /* RULES_MATCH_H */
