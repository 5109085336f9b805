/* scenario/stage_layout.h - which layers a pipeline's stages have, in Megatron-LM's notation.
 *
 * A layout has a letter for each layer and a bar between stages, stage 0 first: E is the embedding,
 * t a layer, L the last norm, head and loss, m a layer that predicts further tokens.  Commas mean
 * nothing, x*3 is xxx, and (tt|)*2 is tt|tt|.  "Et*2|(tt|)*3L" has five stages, of which the last
 * has the head alone.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_STAGE_LAYOUT_H
#define SCENARIO_STAGE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"

/* Count the layers of each stage.  *layers is the caller's, to free.  SHD_EINVAL: a letter that
 * means nothing here, an embedding elsewhere than at the start of the first stage, a head elsewhere
 * than at the end of the last; SHD_ERANGE: too long; SHD_ENOMEM.  Both results are left alone then.
 */
SHD_MUST_CHECK int stage_layout_parse(int64_t **layers, size_t *nstages, const char *text,
                                      struct shd_error *err);

/* Write a layout; equal neighbours are written once, with their number. */
void stage_layout_print(struct text *out, const int64_t *layers, size_t nstages);

#endif /* SCENARIO_STAGE_LAYOUT_H */
