/* torchtitan.h - parts of the export to torchtitan.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_TORCHTITAN_H
#define EXPORT_TORCHTITAN_H

#include "export/roles.h"
#include "scenario/flavors.h"

/* The flavor of the model's sizes; NULL: it has none. */
const struct family_flavor *torchtitan_find_flavor(const struct scenario_model *model);

/* Whether torchtitan has such a model. */
export_check torchtitan_check_model;

void torchtitan_add_model(struct export_job *job);

/* Note where the model scales positions otherwise than torchtitan does. */
void torchtitan_add_positions(struct export_job *job);

/* Add, as comments, which versions read the file, and the command of those that do not; `flavor`
 * NULL: the model has none. */
void torchtitan_add_command(struct export_job *job, const struct family_flavor *flavor);

#endif /* EXPORT_TORCHTITAN_H */
