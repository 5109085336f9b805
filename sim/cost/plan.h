/* plan.h - a program walked on paper: bytes, flops and memory of every class of devices, nothing
 * allocated for them.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_PLAN_H
#define COST_PLAN_H

#include "program/record.h"

/* Make a record of mode RECORD_PLANNED and fill it.  SHD_ENOMEM. */
SHD_MUST_CHECK int plan_create(struct record **out, const struct program *program,
                               struct shd_error *err);

/* The bytes of a step from device to device, [receiver][source]: an array for free() of as many
 * entries as the square of the devices.  NULL: no memory. */
uint128 *plan_matrix(const struct program *program);

#endif /* COST_PLAN_H */
