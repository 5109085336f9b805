/* trial/serve.h - a serving step executed after its inputs are made: by its prefill, and by a draft's
 * proposals.
 *
 * The proposals imitate a draft model with the scenario's acceptance.  First the same layout decodes
 * the right tokens one by one.  In each step's proposals, as many right tokens as the step is to
 * accept stay, and all tokens after these are replaced by others.  The step itself verifies the
 * proposals and finds out how many to accept.
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
