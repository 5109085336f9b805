/* saving.h - what the same step comes to where a search places what nobody asked for.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_SAVING_H
#define TRIAL_SAVING_H

#include "report/saving.h"
#include "trial/trial.h"

/* Fill in `out` for a trial that is planned or executed; `known` stays false where the trial was
 * placed by search itself, or its price is time.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_saving(struct saving *out, const struct trial *trial,
                                struct shd_error *err);

#endif /* TRIAL_SAVING_H */
