/* training.h - every strategy trained, and the loss of each step: as curves, or as JSON.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_TRAINING_H
#define COMMAND_TRAINING_H

#include "command/canvas.h"
#include "command/work.h"

struct training {
    struct canvas canvas;
    struct work work; /* of work_init() */
    bool json;
};

/* Train, and draw or print the losses; returns the exit status. */
int training_run(struct training *training);

#endif /* COMMAND_TRAINING_H */
