/* exported.h - a trial's layout as code of another system.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPORT_EXPORTED_H
#define CMD_EXPORT_EXPORTED_H

#include "export/export.h"
#include "search/attempt.h"
#include "trial/trial.h"

/* Append the code of a trial's layout, which needs no program: trial_lay().  Errors as
 * export_write(). */
SHD_MUST_CHECK int exported_write(struct text *out, const struct trial *trial,
                                  const struct export_target *target, struct shd_error *err);

/* Whether a target, `arg`, can express a trial's layout, perhaps of fewer layers, of a scenario that
 * passed export_check_source(): a subject_check_fn. */
int exported_check(const void *arg, const struct trial *trial, struct shd_error *err);

/* Whether a target, `arg`, can express what a layout's scenario says: a subject_read_fn. */
int exported_check_choices(const void *arg, const struct scenario *scenario, struct shd_error *err);

/* The filter of searches for a target; NULL: no layout is excluded. */
struct subject_filter exported_filter(const struct export_target *target);

#endif /* CMD_EXPORT_EXPORTED_H */
