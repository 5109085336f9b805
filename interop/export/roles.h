/* roles.h - the role of each mesh axis in systems that have fixed kinds of parallelism; for targets
 * that are lists of options.
 *
 * A role is derived from what an axis shards, never from its name.  A layout that such a system
 * cannot run (an axis that shards only part of what its role shards, ranks in another order) is an
 * error.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_ROLES_H
#define EXPORT_ROLES_H

#include <stdbool.h>

#include "export/export.h"
#include "export/stage_layers.h"
#include "scenario/scenario.h"
#include "timetable/timetable.h"

enum export_role {
    EXPORT_PIPELINE,
    EXPORT_REPLICA, /* different sequences, equal parameters and optimizer state */
    EXPORT_SHARD,   /* other sequences, and parts of parameters or of optimizer state */
    EXPORT_EXPERT,  /* other sequences, and other experts */
    EXPORT_CONTEXT, /* other tokens of a sequence */
    EXPORT_TENSOR,  /* other heads, widths and words of the vocabulary */
    EXPORT_NROLES
};

struct export_roles {
    int64_t size[EXPORT_NROLES]; /* devices, at least 1 */
    int64_t experts; /* devices with different experts: those of EXPERT, times the context and
                        tensor axes that shard experts; 1: every device has all experts */
    bool experts_over_tensor; /* the tensor axes shard experts, and so leave each expert whole */
    int64_t zero;    /* ZeRO stage, 0 to 3; 3 also if rules shard parameters over the batch's
                        axes */
    bool shards_over_experts; /* ZeRO shards non-expert parameters over ranks of experts */
    bool sequence;            /* tokens are sharded over the tensor axes between heads and widths */
    bool data_outside;        /* the ranks of a pipeline are neighbours, inside replicas */
};

/* A job of such a system that is being written. */
struct export_job {
    const struct export_layout *layout;
    const struct scenario *source;
    struct export_roles roles;
    const struct timetable_schedule *schedule; /* where there is a pipeline */
    struct export_stages stages;               /* one stage where there is none */
    struct text *out;
    struct shd_error *err;
};

/* Refuse options of the model that differ from what all models have had, unless the targets read
 * them, each by itself: a new option is refused until they do.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_model(const struct export_job *job, const char *system);

/* Find the schedule of a job whose pipeline has several ranks, of those with a flag.
 * SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_find_schedule(struct export_job *job, enum timetable_flag flag,
                                        const char *system);

/* Check a job by a list that ends with NULL. */
SHD_MUST_CHECK int export_job_check(struct export_job *job, export_check *const *checks);

/* Begin a job whose source passed its checks: find its roles and stages, and then check the rest by
 * `checks`, which end with NULL.  SHD_EUNSUPPORTED, SHD_ENOMEM.  Free it with export_job_fini(). */
SHD_MUST_CHECK int export_job_init(struct export_job *out, const struct export_layout *layout,
                                   struct text *text, export_check *const *checks,
                                   struct shd_error *err);

void export_job_fini(struct export_job *job);

/* Errors are SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_roles_find(struct export_roles *out, const struct export_layout *layout,
                                     struct shd_error *err);

/* Number of ways the batch is split: over replicas, shards and experts. */
int64_t export_roles_data(const struct export_roles *roles);

/* Sequences that a device computes in a microbatch. */
int64_t export_roles_sequences(const struct export_roles *roles, const struct scenario *scenario);

#endif /* EXPORT_ROLES_H */
