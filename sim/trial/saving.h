/* saving.h - figures of the same step with placement by search, for comparison.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_SAVING_H
#define TRIAL_SAVING_H

#include "report/saving.h"
#include "trial/trial.h"

/* The totals of a step, from its record. */
struct saving_totals trial_totals(const struct record *record);

/* Fill in `out` for a trial that is planned or executed; `known` stays false if the trial itself
 * was placed by search, its price is time, its mesh has too many axes, or its program too many
 * ops.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_saving(struct saving *out, const struct trial *trial,
                                struct shd_error *err);

#endif /* TRIAL_SAVING_H */
