/* scenario/published.h - models with published sizes, which a scenario need not repeat.
 *
 * Options of `model:` that are not given are filled in from the traits common to a kind (gpt2,
 * llama3, t5, ...) and from a published size or a config.json, scaled down by `scale`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_PUBLISHED_H
#define SCENARIO_PUBLISHED_H

#include "scenario/value_reader.h"

/* Fill in missing options after all given ones were read.  Reports a size of another kind, a config
 * that cannot be read, and a scale without a size. */
void published_apply(struct reader *r);

/* The config of model n of the table, as the inside of a map in YAML. */
const char *published_text(size_t n);

/* The most tokens of a sequence (max_position_embeddings) with which model n of the table was
 * published, where its config here does not say it; 0: not known. */
int64_t published_longest(size_t n);

/* Model n of the table at full size, for sequences of `seq` tokens, by its config.json.  False
 * after an error, which is reported: memory ran out. */
bool published_model(struct scenario_model *out, size_t n, int64_t seq, struct diag *diag);

/* The traits of a kind, which do not depend on the size; NULL if no model of it was published. */
const struct scenario_model *published_kind(enum scenario_kind kind);

#endif /* SCENARIO_PUBLISHED_H */
