/* reshard_words.h - a reshard, from one sharding of an array to another, as text and as JSON.
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

/* The reshard to explain. */
struct reshard_question {
    struct shd_mesh *mesh, *to_mesh; /* equal if only one was given */
    struct shd_sharding from, to;
    int64_t shape[SHD_RANK_MAX];
    size_t rank;
    enum shd_dtype dtype;
    struct shd_reshard_opts opts;
    struct hardware *hardware; /* laid out for the devices of both meshes; NULL: not given */
};

/* Print the plan in lines of at most `width` columns: its steps, the bytes moved, the lower bound of
 * any method, and the alternatives tried.  Errors of shd_reshard_measure(); SHD_ENOMEM. */
SHD_MUST_CHECK int reshard_words(struct text *out, const struct reshard_question *question,
                                 const struct shd_reshard_plan *plan, size_t width,
                                 struct shd_error *err);

/* Print the plan as JSON, ended by a newline. */
SHD_MUST_CHECK int reshard_json(struct text *out, const struct reshard_question *question,
                                const struct shd_reshard_plan *plan, struct shd_error *err);

#endif /* CMD_EXPLAIN_RESHARD_WORDS_H */
