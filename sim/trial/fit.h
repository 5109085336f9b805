/* fit.h - look for the smallest changes of a scenario with which its step fits a device's memory.
 *
 * Nothing is estimated: each change is made to the scenario, which is checked and planned as a file
 * that says so would be, and the plan's peak is looked at.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_FIT_H
#define TRIAL_FIT_H

#include "report/fit.h"
#include "trial/trial.h"

/* As many plans as this are made at most: 80 layers take some 0.1 s each. */
#define FIT_PLANS_MAX 48

/* Fill in `out` for a trial that has a program; a step that fits wants nothing.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_fit(struct fit *out, const struct trial *trial, struct shd_error *err);

#endif /* TRIAL_FIT_H */
