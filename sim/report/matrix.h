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

/* Draw them into an initialized figure; of many devices, as a plan has them by classes of devices
 * that receive alike.  SHD_ENOMEM; SHD_ERANGE: too many for what was executed. */
SHD_MUST_CHECK int matrix_drawing(struct figure *figure, const struct record *record,
                                  const char *scenario, const char *strategy,
                                  struct shd_error *err);

/* The exact figures as JSON; a drawing has them rounded.  A lack of memory for the text is in the
 * text.  SHD_ENOMEM; SHD_ERANGE: too many devices. */
SHD_MUST_CHECK int matrix_json(struct text *out, const struct record *record, const char *scenario,
                               const char *strategy, struct shd_error *err);

#endif /* REPORT_MATRIX_H */
