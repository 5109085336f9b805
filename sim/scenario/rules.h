/* scenario/rules.h - `rules` and `params`: which of them says how parameters are sharded.
 *
 * The last one that is given does, so that a strategy may have either, whatever the file has.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_RULES_H
#define SCENARIO_RULES_H

#include "scenario/value.h"

/* Report a map, the file or a strategy, that has both `rules: auto` and rules in `params`. */
void rules_check_sources(struct reader *r, const struct yaml_node *node);

/* When all layers are read: with `rules: auto` there are no params. */
void rules_settle(struct reader *r);

/* Whether a pattern compiles; if not, that is reported. */
bool rules_check_pattern(struct reader *r, const char *pattern, struct place place);

#endif /* SCENARIO_RULES_H */
