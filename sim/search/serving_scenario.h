/* search/serving_scenario.h - a layout of serving as settings of its scenario, and as a scenario of
 * its own.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_SCENARIO_H
#define SEARCH_SERVING_SCENARIO_H

#include "search/serving_apart.h"
#include "trial/variant.h"

/* Set the mesh, as serving_layout has it, and the batch; for a prefill also the step. */
void serving_ask(struct variant_ask *ask, const char *mesh, int64_t batch, bool prefill);

/* Like serving_ask(), for a prefill of prompts of `tokens` tokens, without a limit on kept tokens. */
void serving_ask_prompts(struct variant_ask *ask, const char *mesh, int64_t batch, int64_t tokens);

/* Print the scenario of a trial with the mesh and the batch of a layout of its decode. */
SHD_MUST_CHECK int serving_scenario_print(struct text *out, const struct trial *trial,
                                          const struct serving_layout *layout,
                                          struct shd_error *err);

/* Print the scenario of a disaggregated layout: one strategy for a prefill replica and one for a
 * decode replica; a comment has the number of each. */
SHD_MUST_CHECK int serving_scenario_print_split(struct text *out, const struct trial *trial,
                                                const struct serving_split *split,
                                                struct shd_error *err);

#endif /* SEARCH_SERVING_SCENARIO_H */
