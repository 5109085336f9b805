/* scenario/published.h - models whose sizes were published: what a scenario need not say itself.
 *
 * What gpt2, llama3 and t5 have in common with all of their kind, what a published size or a
 * config.json says, shrunk by `scale`: these fill in the options of `model:` that are not given.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_PUBLISHED_H
#define SCENARIO_PUBLISHED_H

#include "scenario/value.h"

/* Fill in what is not given, once all that is has been read.  Reports a size of another kind, a
 * config that cannot be read, a scale of nothing. */
void published_apply(struct reader *r);

/* The sizes alone, for tests and for people: the n-th model of the table, whole, or NULL behind the
 * last; its name in *name. */
const struct scenario_model *published_model(size_t n, const char **name);

/* What holds of a kind whatever its size; NULL: of none that is published. */
const struct scenario_model *published_kind(enum scenario_kind kind);

/* Whether it is by the kind what an option is when it is not given. */
bool published_is_trait(const struct option *option);

#endif /* SCENARIO_PUBLISHED_H */
