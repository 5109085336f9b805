/* scenario/recompute_policies.h - what systems keep of a layer that they otherwise recompute, and
 * the parts of a layer that they recompute by name.
 *
 * An entry of `recompute.keep` is a pattern of values' names, or an op: "op:attention" are the
 * results of all attentions, "op:product/2" those of every second product with a parameter, counted
 * in each layer from its first one on.  A policy is a name for several entries.
 *
 * Thread class: constant data, and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_RECOMPUTE_POLICIES_H
#define SCENARIO_RECOMPUTE_POLICIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum recompute_op {
    RECOMPUTE_OP_PRODUCT,   /* an activation times a parameter */
    RECOMPUTE_OP_DENSE,     /* the same, but for experts' products */
    RECOMPUTE_OP_ATTENTION, /* fused, or the product of probabilities with values */
    RECOMPUTE_OP_SUM,       /* what tensor parallelism sums over devices */
    RECOMPUTE_OP_EXCHANGE,  /* tokens' rows that an all-to-all brought to experts, and back */
    RECOMPUTE_OP_CHOICE,    /* which experts a router chose */
    RECOMPUTE_NOPS
};

struct recompute_kept_op {
    enum recompute_op op;
    uint32_t every; /* the first of each so many of a layer is kept; at least 1 */
};

/* Whether an entry of `keep` is an op rather than a pattern: it begins with "op:". */
bool recompute_is_op(const char *entry);

/* Read such an entry; false: no op has the name, or its number is none. */
bool recompute_read_op(struct recompute_kept_op *out, const char *entry);

#define RECOMPUTE_OPS_EXPECTED \
    "op:product, op:dense, op:attention, op:sum, op:exchange or op:choice, and /N for every N-th"

struct recompute_policy {
    const char *name;
    const char *system; /* that has it, for help */
    const char *keep;   /* entries, separated by spaces */
    bool offloads;      /* what is kept, all of it patterns, waits in the host's memory */
};

extern const struct recompute_policy recompute_policies[]; /* ended by a row without a name */

const struct recompute_policy *recompute_policy_find(const char *name); /* NULL: unknown */

/* A part of a layer with a name, as Megatron-LM's --recompute-modules. */
struct recompute_module {
    const char *name;
    const char *pattern; /* pattern of the module's values; NULL: attention, as with `selective` */
    bool
        keeps_result; /* whether results with readers outside the module are kept, not recomputed */
};

#define RECOMPUTE_MODULES "core_attn, layernorm, mlp, moe, moe_act, shared_experts, mla_up_proj"

extern const struct recompute_module
    recompute_modules[]; /* at most 32; ended by a row without name */

/* The row of a name of `length` bytes; -1: unknown. */
int recompute_module_find(const char *name, size_t length);

#endif /* SCENARIO_RECOMPUTE_POLICIES_H */
