/* reshard_words.h - how an array gets from one sharding to another, in words and as JSON.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_WORDS_H
#define CMD_EXPLAIN_RESHARD_WORDS_H

#include <shd/reshard_figures.h>

#include "base/text.h"
#include "hardware/hardware.h"

/* What is asked. */
struct reshard_question {
    struct shd_mesh *mesh, *to_mesh; /* equal if only one was given */
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    enum shd_dtype dtype;
    struct shd_reshard_opts opts;
    struct hardware *hardware; /* laid out for the devices of both meshes; NULL: none is asked */
};

/* The plan: its steps, what they move and what no method can do without, and the other ways that
 * were tried, in lines of at most `width` columns.  Errors of shd_reshard_measure(); SHD_ENOMEM. */
SHD_MUST_CHECK int reshard_words(struct text *out, const struct reshard_question *question,
                                 const struct shd_reshard_plan *plan, size_t width,
                                 struct shd_error *err);

/* The same as JSON, with a newline behind it. */
SHD_MUST_CHECK int reshard_json(struct text *out, const struct reshard_question *question,
                                const struct shd_reshard_plan *plan, struct shd_error *err);

#endif /* CMD_EXPLAIN_RESHARD_WORDS_H */
