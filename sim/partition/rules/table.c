/* Table of the sharding rules of all ops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

const struct rule_op rule_input, rule_param, rule_extra;
const struct rule_op rule_constraint = {.rule = rule_by_names};
const struct rule_op rule_map = {.rule = rule_by_names, .fuses = true};

#define LISTED(op, called) [op] = &rule_##called,
static const struct rule_op *const rows[GRAPH_NOPS] = {GRAPH_OPS(LISTED)};
#undef LISTED

const struct rule_op *rule_of(enum graph_op op)
{
    return rows[op];
}
