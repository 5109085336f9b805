/* curve.h - figures of each training step: the loss, and the norm of all gradients.
 *
 * Thread class: curve_keep() is called by device threads; of each figure one device writes the
 * value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_CURVE_H
#define TRIAL_CURVE_H

#include "program/record.h"

/* Keep the figures of a step in record->training, for which record_train() has made room.
 * `shards`: the results on the device at a position. */
void curve_keep(struct record *record, int32_t position, uint32_t step, const void *const *shards);

/* If a run is spread over ranks, share the figures with all ranks (`spread` NULL: nothing to
 * do). */
struct spread;
void curve_gather(struct record *record, const struct spread *spread);

#endif /* TRIAL_CURVE_H */
