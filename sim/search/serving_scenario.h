/* search/serving_scenario.h - a layout of serving as values of its scenario's options, and as a
 * scenario of its own.
 *
 * Thread class: pure functions; a struct serving_sets is owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_SCENARIO_H
#define SEARCH_SERVING_SCENARIO_H

#include "search/serving_apart.h"

#define SERVING_SETS_MAX (SHD_MESH_AXES_MAX + 10)
#define SERVING_SET_BYTES 256 /* of "mesh.tp=8": names have at most SCENARIO_NAME_MAX */

/* The values of a plan: the mesh, the batch, and for a prefill the step. */
struct serving_sets {
    char texts[SERVING_SETS_MAX][SERVING_SET_BYTES];
    const char *each[SERVING_SETS_MAX];
    size_t n;
};

/* Make the values of a layout, by its mesh as serving_layout has it. */
void serving_sets_make(struct serving_sets *sets, const char *mesh, int64_t batch, bool prefill);

/* Make those of a prefill of prompts of `tokens` tokens, whatever a server keeps at most. */
void serving_sets_make_prompts(struct serving_sets *sets, const char *mesh, int64_t batch,
                               int64_t tokens);

/* Print the scenario of a trial with the mesh and the batch of a layout of its decode. */
SHD_MUST_CHECK int serving_scenario_print(struct text *out, const struct trial *trial,
                                          const struct serving_layout *layout,
                                          struct shd_error *err);

/* The same of devices that are shared out: a strategy for a replica of the prefill, and one for a
 * replica of the decode; how many there are of each is in a comment. */
SHD_MUST_CHECK int serving_scenario_print_split(struct text *out, const struct trial *trial,
                                                const struct serving_split *split,
                                                struct shd_error *err);

#endif /* SEARCH_SERVING_SCENARIO_H */
