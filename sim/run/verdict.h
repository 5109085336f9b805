/* verdict.h - why a run ended, read off its devices after their threads are over.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include <stdint.h>

#include <shd/error.h>

#include "run/device.h"

/* The run's status; stores whose error it is (-1: none, or not one device's). */
int verdict_build(const struct run *run, int32_t *error_device, struct shd_error *err);

#endif /* RUN_VERDICT_H */
