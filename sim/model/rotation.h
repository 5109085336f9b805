/* model/rotation.h - the frequencies of a scenario's rotary embedding.
 *
 * Scalings, with their sources: linear; dynamic, which grows theta with the sequence ("NTK-aware");
 * llama3 (Llama 3.1: long waves are stretched, short ones are not); yarn (arXiv 2309.00071);
 * longrope (arXiv 2402.13753).  Formulas are those of transformers 5, modeling_rope_utils.py, for
 * training on sequences of one length.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_ROTATION_H
#define MODEL_ROTATION_H

#include "graph/graph.h"
#include "scenario/scenario.h"

/* The rotation of heads of `width` elements in sequences of `seq` tokens.  `local`: of layers with
 * a window or chunks.  Lives as long as the graph; NULL, with an error in the graph, without
 * memory. */
const struct kern_rotation *rotation_add(struct graph *graph, const struct scenario_rope *rope,
                                         int64_t width, int64_t seq, bool local);

/* The elements of such heads that are rotated: an even number for scenarios that were checked. */
int64_t rotation_width(const struct scenario_rope *rope, int64_t width);

/* The factor of DeepSeek's scores under yarn: DeepSeek-V2, arXiv 2405.04434, 3.1.4. */
double rotation_score_factor(const struct scenario_rope *rope);

#endif /* MODEL_ROTATION_H */
