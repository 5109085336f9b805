/* train_step_trial.h - a question about one training step, with its program and its plan.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_STEP_TRIAL_H
#define QUERY_TRAIN_STEP_TRIAL_H

#include "query/train_step.h"
#include "trial/variant.h"

struct train_step_trial {
    struct train_step step;
    struct text text; /* its scenario */
    struct variant variant; /* planned */
};

/* Plan the step of a question (train_step_read()), which must live as long as the result.
 * `hardware`, a name or a path from the working folder, replaces the question's cluster; NULL: no
 * replacement.
 *
 * On success free it with train_step_trial_fini(); on failure there is nothing to free.  Errors as
 * train_step_read() and variant_need(). */
SHD_MUST_CHECK int train_step_trial_init(struct train_step_trial *out, const json_t *in,
                                         const char *hardware, struct shd_error *err);
void train_step_trial_fini(struct train_step_trial *planned);

#endif /* QUERY_TRAIN_STEP_TRIAL_H */
