/* roofline.h - the time of each op of a plan on its cluster, and what bounds that time.
 *
 * Equal ops, such as those of equal layers, are one line.  Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_ROOFLINE_H
#define CMD_EXPLAIN_ROOFLINE_H

#include "base/json_out.h"
#include "base/text.h"
#include "cost/op_seconds.h"

/* Append the table for the device at a position, the longest ops first.  SHD_ENOMEM. */
SHD_MUST_CHECK int roofline_text(const struct program *program, const struct hardware *hardware,
                                 int32_t position, struct text *out, struct shd_error *err);

/* Write the table as an object: the cluster, the device, and of each op its name, kind, phase,
 * times, flops, bytes, seconds, its share of all ops' time and its limit.  SHD_ENOMEM. */
SHD_MUST_CHECK int roofline_json(const struct program *program, const struct hardware *hardware,
                                 int32_t position, struct json_out *out, struct shd_error *err);

/* Draw an SVG document: each op by its arithmetic intensity and the flops a second that it
 * reaches, below the roofs of the cluster's memory and units.  SHD_ENOMEM; SHD_ERANGE: no op
 * computes much. */
SHD_MUST_CHECK int roofline_picture(const struct program *program, const struct hardware *hardware,
                                    int32_t position, struct text *out, struct shd_error *err);

#endif /* CMD_EXPLAIN_ROOFLINE_H */
