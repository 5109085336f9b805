/* steps.h - measured training steps: a JSON object a line, in the form of published tables.
 *
 *   {"id": "a", "set": "mine", "in": {...}, "measured": {"step_seconds": 1.42}}
 *
 * `in` is a question for plan.train_step.  The defaults for `set` and `id` are the file's name and
 * the line's number.  Rows whose `in` is for another cluster, or that have no step_seconds, are
 * left out.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_STEPS_H
#define CALIBRATE_STEPS_H

#include "calibrate/samples.h"

struct steps_file {
    const char *path;          /* of the file; "-": standard input */
    const char *hardware;      /* the name or path of the cluster */
    const char *hardware_name; /* the cluster's name in rows */
    size_t rows;               /* maximum rows of each set, evenly spaced; 0: all */
    size_t left_out;           /* out: rows of another cluster, or without a time */
};

/* Add the steps of a file; faults go to `diag` with their line.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int steps_read(struct samples *samples, struct steps_file *file, struct diag *diag);

#endif /* CALIBRATE_STEPS_H */
