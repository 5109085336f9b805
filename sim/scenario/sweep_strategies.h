/* scenario/sweep_strategies.h - many strategies from lists of mesh sizes and rule sets.
 *
 *   sweep:
 *     devices: [8, 16]                              # only meshes of this many; else all
 *     mesh: {dp: [1, 2, 4, 8], tp: [1, 2, 4, 8]}    # every combination; or a list of such maps
 *     rules:                                        # each overrides the file, like a strategy
 *       megatron: {params: [[up/kernel, [null, tp]], [.*, []]]}
 *       fsdp: {mesh: {fsdp: [8, 16]}, params: [[kernel, [fsdp]]]}
 *
 * Every mesh with every rule set is a strategy, "megatron-dp2-tp4"; a rule set with a mesh of its
 * own uses only that.  Strategies are YAML nodes like those of a file, and are read like any other
 * strategy.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SWEEP_STRATEGIES_H
#define SCENARIO_SWEEP_STRATEGIES_H

#include "base/yaml.h"

struct sweep {
    const struct yaml_node **strategies; /* maps; they also point into the file's own nodes */
    size_t nstrategies;
    void **blocks; /* memory of the nodes */
    size_t nblocks;
};

/* Expand a `sweep:` node; faults are reported, and may leave fewer strategies.  Free with
 * sweep_fini() either way, after the last use of its nodes. */
void sweep_init(struct sweep *out, const struct yaml_node *node, struct diag *diag);
void sweep_fini(struct sweep *sweep);

#endif /* SCENARIO_SWEEP_STRATEGIES_H */
