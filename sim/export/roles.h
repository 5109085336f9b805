/* roles.h - what each axis of the mesh is for, in the words of systems that have fixed kinds of
 * parallelism; for the targets that are lists of options.
 *
 * A role is read from what an axis shards, never from its name.  What such a system could not do
 * (an axis that shards a part of what its role shards, ranks in another order) is an error.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_ROLES_H
#define EXPORT_ROLES_H

#include <stdbool.h>

#include "export/export.h"
#include "scenario/scenario.h"

enum export_role {
    EXPORT_PIPELINE,
    EXPORT_REPLICA, /* other sequences, the same parameters and optimizer's state */
    EXPORT_SHARD,   /* other sequences, and parts of parameters or of the optimizer's state */
    EXPORT_EXPERT,  /* other sequences, and other experts */
    EXPORT_CONTEXT, /* other tokens of a sequence */
    EXPORT_TENSOR,  /* other heads, widths and words of the vocabulary */
    EXPORT_NROLES
};

struct export_roles {
    int64_t size[EXPORT_NROLES]; /* devices, at least 1 */
    int64_t experts; /* devices that have different experts: those of EXPERT, with the context's
                        where it shards experts, too; 1: all have all */
    int64_t zero;    /* stage, 0 to 3; 3 also where rules shard parameters over the batch's axes */
    bool shards_over_experts; /* ZeRO shards what is no expert over ranks of experts, too */
    bool sequence;   /* between heads and widths, tokens are sharded over the tensor axes */
    bool data_outside; /* the ranks of a pipeline are neighbours of each other, inside replicas */
};

/* Errors are SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_roles_find(struct export_roles *out, const struct export_layout *layout,
                                     struct shd_error *err);

/* The ways in which a batch is dealt out: replicas, shards and experts. */
int64_t export_roles_data(const struct export_roles *roles);

/* Sequences of one microbatch on one device. */
int64_t export_roles_sequences(const struct export_roles *roles, const struct scenario *scenario);

#endif /* EXPORT_ROLES_H */
