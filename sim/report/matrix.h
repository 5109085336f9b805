/* matrix.h - a step's bytes from device to device.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_MATRIX_H
#define REPORT_MATRIX_H

#include <shd/error.h>

#include "base/text.h"
#include "draw/figure.h"
#include "program/record.h"

/* Draw the bytes into an initialized figure; a plan of many devices by classes of devices that
 * receive alike.  SHD_ENOMEM; SHD_ERANGE: too many devices in an executed record. */
SHD_MUST_CHECK int matrix_drawing(struct figure *figure, const struct record *record,
                                  const char *scenario, const char *strategy,
                                  struct shd_error *err);

/* Print the exact bytes as JSON; a drawing rounds them.  If memory runs out, the text has failed.
 * SHD_ENOMEM; SHD_ERANGE: too many devices. */
SHD_MUST_CHECK int matrix_json(struct text *out, const struct record *record, const char *scenario,
                               const char *strategy, struct shd_error *err);

#endif /* REPORT_MATRIX_H */
