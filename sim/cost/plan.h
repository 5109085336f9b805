/* plan.h - plan a program on paper: bytes, flops and memory of every class of devices, without
 * allocating any device memory.
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

/* Bytes of a step from device to device, [receiver][source]: an array for free() with the square of
 * the number of devices as its length.  NULL: no memory. */
uint128 *plan_matrix(const struct program *program);

#endif /* COST_PLAN_H */
