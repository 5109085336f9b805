/* experts.h - products over experts' slots, for the rules of such products.
 *
 * Thread class: as rule.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_RULES_EXPERTS_H
#define PARTITION_RULES_EXPERTS_H

#include "partition/rule.h"

/* Make the slots of a rule by names a dimension of groups, as counts, the last operand, have it. */
void experts_cut_slots(struct rule *out, const struct graph *graph, uint32_t node,
                       const struct graph_experts *experts);

/* Describe a node's product on shards, but for its type; the op's next offset is its first expert.
 */
void experts_lower_product(struct kern_grouped *out, struct program_op *op,
                           const struct graph *graph, uint32_t node,
                           const struct graph_experts *experts, const struct rule *rule,
                           const int64_t *extents);

#endif /* PARTITION_RULES_EXPERTS_H */
