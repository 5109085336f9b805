/* roofline.h - what each op of a plan takes on its cluster, and what bounds it.
 *
 * Ops alike, as those of equal layers are, are one line.  Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_ROOFLINE_H
#define EXPLAIN_ROOFLINE_H

#include "base/text.h"
#include "cost/op_seconds.h"

/* Append the table for the device at a position, the ops that take longest first.  SHD_ENOMEM. */
SHD_MUST_CHECK int roofline_text(const struct program *program, const struct hardware *hardware,
                                 int32_t position, struct text *out, struct shd_error *err);

/* Draw it as an SVG document: each op at its flops a byte and the flops a second that it reaches,
 * below the roofs of the cluster's memory and units.  SHD_ENOMEM; SHD_ERANGE: no op does flops. */
SHD_MUST_CHECK int roofline_picture(const struct program *program, const struct hardware *hardware,
                                    int32_t position, struct text *out, struct shd_error *err);

#endif /* EXPLAIN_ROOFLINE_H */
