/* plan.h - a program walked on paper: bytes, flops and memory of every device, nothing allocated.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_PLAN_H
#define COST_PLAN_H

#include "record/record.h"

/* Fill a record of mode RECORD_PLANNED. */
void plan_walk(struct record *record);

#endif /* COST_PLAN_H */
