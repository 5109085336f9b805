/* trial/given.h - inputs of a trial filled with given values.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_GIVEN_H
#define TRIAL_GIVEN_H

#include "trial/trial.h"

/* Fill the named input from `source`, in the program and in the graph of its verification.  The
 * source's data must live as long as the trial's graph. */
void given_set(const struct trial *trial, const char *input, const struct kern_source *source);

#endif /* TRIAL_GIVEN_H */
