/* by_device.h - a number of each device, as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_BY_DEVICE_H
#define REPORT_BY_DEVICE_H

#include <shd/error.h>

#include "base/json_out.h"
#include "program/record.h"

/* Write a figure of each device as an array, from `rows`, one figure for each row of the record; in
 * large plans one figure for all devices of equal value, with the first of these devices.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int by_device_json(struct json_out *out, const char *key, const uint128 *rows,
                                  const struct record *record);

#endif /* REPORT_BY_DEVICE_H */
