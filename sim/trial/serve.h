/* trial/serve.h - a step of serving executed behind all that it begins with: its prefill, and what a
 * draft proposes.
 *
 * The proposals are those of a draft that errs as often as the scenario says: the tokens that the
 * same layout makes one by one, which is executed first, with the first one behind as many right
 * ones as are accepted in that step, and all after it, replaced by others.  That they are accepted
 * is found out by the step itself, which verifies them.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_SERVE_H
#define TRIAL_SERVE_H

#include "trial/trial.h"

/* handoff_execute(), with proposals if the scenario has a draft; of any other step the same as
 * trial_execute(). */
SHD_MUST_CHECK int serve_execute(struct trial *trial, const int *stop_request,
                                 struct shd_error *err);

#endif /* TRIAL_SERVE_H */
