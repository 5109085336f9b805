/* verdict.h - why a run ended, determined from its devices after their threads have ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include <stdint.h>

#include <shd/error.h>

#include "run/device.h"

/* The run's status; stores the device that caused it (-1: none, or not a single one). */
int verdict_build(const struct run *run, int32_t *error_device, struct shd_error *err);

#endif /* RUN_VERDICT_H */
