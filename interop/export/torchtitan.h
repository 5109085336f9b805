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

/* Which parts of a job are compiled, and whether its matmuls overlap collectives of tensor
 * parallelism. */
struct torchtitan_compiled {
    bool model, loss, products;
};

struct torchtitan_compiled torchtitan_compiled_of(const struct export_job *job);

/* Whether operations, not layers, are recomputed: selective_op. */
bool torchtitan_is_by_op(const struct scenario_recompute *recompute);

/* FSDP's policy of resharding: "default", "always" or "never". */
const char *torchtitan_reshard_of(const struct scenario *scenario);

/* Add, as comments, which versions read the file, and the job for those that do not; `flavor`
 * NULL: the model has none. */
void torchtitan_add_command(struct export_job *job, const struct family_flavor *flavor);

#endif /* EXPORT_TORCHTITAN_H */
