/* scenario/tensor_rules.h - Megatron's rules as text of a scenario: what tensor parallelism shards
 * of every model, experts beside it, and values between layers (arXiv 1909.08053, 2205.05198).
 *
 * Queries and keys are sharded by heads, the mlp by its widths, the table of words and the head by
 * the vocabulary.  Parameters that are sharded alike share a rule, with those names alone that the
 * model has: each rule of a scenario must match some parameter.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_TENSOR_RULES_H
#define SCENARIO_TENSOR_RULES_H

#include <stdbool.h>

#include "base/text.h"

struct scenario_model;

/* Axes as in a spec: "tp", "[tp, copy]"; NULL: not sharded. */
struct tensor_axes {
    const char *queries, *keys;
    const char *mlp, *shared; /* widths of layers without experts, and of shared experts */
    const char *vocab;
    const char *experts, *expert_widths;
};

/* The same axes for all but experts. */
struct tensor_axes tensor_axes_same(const char *axes);

/* How a list of rules is written: items of a block, or of a list in brackets. */
enum rules_style { RULES_BLOCK, RULES_FLOW };

/* Add the rules of a model's parameters, and a last one that leaves the others whole.  Of the model
 * only what decides which parameters it has is read. */
void tensor_rules_print(struct text *out, const struct scenario_model *model,
                        const struct tensor_axes *axes, enum rules_style style);

/* Axes of values, each as in a spec; "null": not sharded.  `vocab` are those of logits, and of
 * heads and widths inside layers. */
struct tensor_values {
    const char *batch, *seq, *vocab, *tokens;
};

/* Add the constraints of values between layers: logits are sharded over `vocab`, all others over
 * `tokens`, which are axes of the sequence; both over the axes of the batch, logits also over
 * `seq`. */
void tensor_constraints_print(struct text *out, const struct tensor_values *axes,
                              enum rules_style style);

/* Add those of values inside the layers that a model has, of which those of attention (`heads`) may
 * be left out. */
void tensor_inside_print(struct text *out, const struct tensor_values *axes,
                         const struct scenario_model *model, bool heads, enum rules_style style);

/* Add those of attention that exchanges its tokens for heads (DeepSpeed-Ulysses, arXiv 2309.14509):
 * heads of queries, and with `keys` those of keys, are sharded over `heads`. */
void tensor_exchange_print(struct text *out, const struct tensor_values *axes, const char *heads,
                           bool keys, enum rules_style style);

#endif /* SCENARIO_TENSOR_RULES_H */
