/* fit.h - find the smallest changes of a scenario with which its step fits a device's memory.
 *
 * Nothing is estimated: each change is applied to the scenario, which is checked and planned like a
 * file, and the plan's peak memory decides.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_FIT_H
#define TRIAL_FIT_H

#include "report/fit.h"
#include "trial/trial.h"

/* Limit on the number of plans; a plan of 80 layers takes about 0.1 s. */
#define FIT_PLANS_MAX 48

/* Fill in `out` for a trial that has a program; for a step that fits, `out` has no changes.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int trial_fit(struct fit *out, const struct trial *trial, struct shd_error *err);

#endif /* TRIAL_FIT_H */
