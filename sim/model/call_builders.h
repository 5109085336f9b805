/* call_builders.h - the builders of functions of a `graph:` section, which are rows of calls.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_CALL_BUILDERS_H
#define MODEL_CALL_BUILDERS_H

#include "model/lines.h"

/* Moving elements: calls_move.c. */
lines_build_fn lines_build_transpose, lines_build_repeat, lines_build_full, lines_build_reshape,
    lines_build_slice, lines_build_reverse, lines_build_pad, lines_build_windows,
    lines_build_windows_add, lines_build_shift, lines_build_concat;

/* Numbering and choosing them: calls_choose.c. */
lines_build_fn lines_build_convert, lines_build_iota, lines_build_one_hot, lines_build_place,
    lines_build_log_sum_exp, lines_build_scan, lines_build_embed, lines_build_embed_add,
    lines_build_pick, lines_build_pick_add, lines_build_topk;

#endif /* MODEL_CALL_BUILDERS_H */
