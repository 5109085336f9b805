/* by_device.h - a number of each device, as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_BY_DEVICE_H
#define REPORT_BY_DEVICE_H

#include <shd/error.h>

#include "base/json_out.h"
#include "program/record.h"

/* An array of the numbers of all devices, of which `rows` has one for each row of the record; in
 * large plans one for all devices that have the same, with the first of them.  SHD_ENOMEM. */
SHD_MUST_CHECK int by_device_json(struct json_out *out, const char *key, const uint128 *rows,
                                  const struct record *record);

#endif /* REPORT_BY_DEVICE_H */
