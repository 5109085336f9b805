/* rules/list.h - finds the one list of rules in a file: pairs of a text and its value.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_LIST_H
#define RULES_LIST_H

#include "rules/rules.h"
#include "rules/statements.h"

/* The list of pairs that a file binds, returns, or passes to a call.  NULL with a report: no list,
 * or more than one.  `example` is a pair, for messages. */
const struct value *rules_list_find(const struct statements *statements, const char *example,
                                    struct place end, struct diag *diag);

/* Read a pair of the list: two values, the first a text.  False with a report. */
bool rules_list_pair(const struct value *pair[2], const struct statements *statements,
                     const struct value *item, const char *example, struct diag *diag);

/* Report a list with too many rules, and return false. */
bool rules_list_check(const struct value *list, struct diag *diag);

#endif /* RULES_LIST_H */
