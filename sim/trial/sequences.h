/* sequences.h - the largest batch of sequences that a layout serves: their KV cache must fit in the
 * devices' memory beside the weights.
 *
 * Nothing is estimated: batch sizes are planned like scenario files, until a size fits and the next
 * larger size does not.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_SEQUENCES_H
#define TRIAL_SEQUENCES_H

#include "trial/trial.h"

/* Find the largest batch.size whose plan fits the cluster's devices and limits.memory.  *out is 0 if
 * no size fits, and -1 if all sizes up to 2^24 new tokens per group of devices fit, or the step does
 * not serve.  SHD_ENOMEM. */
SHD_MUST_CHECK int trial_sequences(int64_t *out, const struct trial *trial, struct shd_error *err);

#endif /* TRIAL_SEQUENCES_H */
