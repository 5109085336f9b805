/* sequences.h - how many sequences a layout serves at once: those whose cache fits in the devices'
 * memory beside the weights.
 *
 * Nothing is estimated: batches of other sizes are planned like a file that has them, until one
 * fits and the next larger one does not.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_SEQUENCES_H
#define TRIAL_SEQUENCES_H

#include "trial/trial.h"

/* Find the largest batch.size whose plan fits the cluster's devices and limits.memory; *out is 0
 * where not one fits, and -1 where nothing limits it up to 2^24 new tokens of each group of
 * devices, or the step does not serve.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_sequences(int64_t *out, const struct trial *trial, struct shd_error *err);

#endif /* TRIAL_SEQUENCES_H */
