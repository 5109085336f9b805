/* scenario/rule_values.h - `rules` and `params`, the two ways to shard parameters.
 *
 * The one given last applies, so that a strategy may use either, whatever the file uses.
 *
 * Thread class: as the reader's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_RULE_VALUES_H
#define SCENARIO_RULE_VALUES_H

#include "scenario/value_reader.h"

/* Report a map (the file or a strategy) that has both `rules: auto` and rules in `params`. */
void rules_check_sources(struct reader *r, const struct yaml_node *node);

/* Called when all layers are read: removes the params if `rules: auto` applies. */
void rules_settle(struct reader *r);

/* Whether a pattern of an option compiles; otherwise reports it. */
bool rules_check_pattern(struct reader *r, const char *option, const char *pattern,
                         struct place place);

/* Read a pattern without a spec behind those of a list of an option, and print a list of them. */
void rules_read_pattern(struct reader *r, const char *option, struct scenario_rule **list,
                        size_t *n, const struct yaml_node *node);
void rules_print_patterns(const struct scenario_rule *list, size_t n, struct text *out);

/* Print the spec of a rule as in a file: "[null, tp]". */
void rules_print_spec(const struct scenario_rule *rule, struct text *out);

#endif /* SCENARIO_RULE_VALUES_H */
