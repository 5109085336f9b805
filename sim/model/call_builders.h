/* call_builders.h - the builders of functions of a `graph:` section, which are rows of calls.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_CALL_BUILDERS_H
#define MODEL_CALL_BUILDERS_H

#include "model/lines.h"

/* Moving elements: calls_move.c. */
uint32_t lines_build_transpose(struct lines *l, const struct expr *call,
                               const struct expr_dims *target);
uint32_t lines_build_repeat(struct lines *l, const struct expr *call,
                            const struct expr_dims *target);
uint32_t lines_build_full(struct lines *l, const struct expr *call, const struct expr_dims *target);
uint32_t lines_build_reshape(struct lines *l, const struct expr *call,
                             const struct expr_dims *target);
uint32_t lines_build_slice(struct lines *l, const struct expr *call,
                           const struct expr_dims *target);
uint32_t lines_build_reverse(struct lines *l, const struct expr *call,
                             const struct expr_dims *target);
uint32_t lines_build_pad(struct lines *l, const struct expr *call, const struct expr_dims *target);
uint32_t lines_build_windows(struct lines *l, const struct expr *call,
                             const struct expr_dims *target);
uint32_t lines_build_windows_add(struct lines *l, const struct expr *call,
                                 const struct expr_dims *target);
uint32_t lines_build_shift(struct lines *l, const struct expr *call,
                           const struct expr_dims *target);
uint32_t lines_build_concat(struct lines *l, const struct expr *call,
                            const struct expr_dims *target);

/* Numbering and choosing them: calls_choose.c. */
uint32_t lines_build_convert(struct lines *l, const struct expr *call,
                             const struct expr_dims *target);
uint32_t lines_build_iota(struct lines *l, const struct expr *call, const struct expr_dims *target);
uint32_t lines_build_one_hot(struct lines *l, const struct expr *call,
                             const struct expr_dims *target);
uint32_t lines_build_place(struct lines *l, const struct expr *call,
                           const struct expr_dims *target);
uint32_t lines_build_log_sum_exp(struct lines *l, const struct expr *call,
                                 const struct expr_dims *target);
uint32_t lines_build_scan(struct lines *l, const struct expr *call, const struct expr_dims *target);
uint32_t lines_build_embed(struct lines *l, const struct expr *call,
                           const struct expr_dims *target);
uint32_t lines_build_embed_add(struct lines *l, const struct expr *call,
                               const struct expr_dims *target);
uint32_t lines_build_pick(struct lines *l, const struct expr *call, const struct expr_dims *target);
uint32_t lines_build_pick_add(struct lines *l, const struct expr *call,
                              const struct expr_dims *target);
uint32_t lines_build_topk(struct lines *l, const struct expr *call, const struct expr_dims *target);

#endif /* MODEL_CALL_BUILDERS_H */
