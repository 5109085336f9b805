/* curve.h - the numbers of each step of a training: its loss, and the norm of all gradients.
 *
 * Thread class: curve_keep() is called by device threads; device 0 alone writes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRIAL_CURVE_H
#define TRIAL_CURVE_H

#include "program/record.h"

/* Keep the numbers of a step, whose results the device at a position has in `shards`, in
 * record->training, for which record_train() has made room. */
void curve_keep(struct record *record, int32_t position, uint32_t step, const void *const *shards);

/* Where a run is spread over ranks: make them known to all (`spread` NULL: nothing to do). */
struct spread;
void curve_gather(struct record *record, const struct spread *spread);

#endif /* TRIAL_CURVE_H */
