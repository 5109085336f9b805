/* trial/given.h - inputs of a trial with other values than their own.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_GIVEN_H
#define TRIAL_GIVEN_H

#include "trial/trial.h"

/* Let the input of a name be filled from `source`, in the program and in the graph from which it is
 * verified.  What the source refers to must live as long as the trial's graph. */
void given_set(const struct trial *trial, const char *input, const struct kern_source *source);

#endif /* TRIAL_GIVEN_H */
