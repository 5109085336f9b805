/* training/job_shape.h - sizes of a job's mesh and batch that follow from those of its options.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_JOB_SHAPE_H
#define TRAINING_JOB_SHAPE_H

#include "training/job.h"

struct import_shape {
    /* Axes of the batch; other sizes are in the job.  Experts that rows reach once a node have an
     * axis of nodes as well. */
    int64_t replicas, data, nodes, experts;
    int64_t microbatches;
    bool folded;      /* the context's axis also shards experts */
    bool over_tensor; /* the tensor's axis also shards experts */
};

/* Find the axes of the batch, and the microbatches, for which these have to be found.  Sizes that do
 * not divide are reported. */
void import_job_find_data(struct import_shape *out, const struct import_job *job,
                          struct diag *diag);
void import_job_find_batch(struct import_shape *out, const struct import_job *job,
                           struct diag *diag);

#endif /* TRAINING_JOB_SHAPE_H */
