/* compare_picture.h - strategies side by side, as a picture: time, bytes, memory, flops, idle time.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_PICTURE_H
#define REPORT_COMPARE_PICTURE_H

#include "report/compare.h"

/* Draw a comparison as an SVG document: its printed rows, in their order, and its columns of
 * numbers.  SHD_EINVAL: no column that was asked for can be drawn, or more columns than there is
 * room for.  SHD_ENOMEM. */
SHD_MUST_CHECK int compare_picture(struct text *out, const struct compare *compare,
                                   struct shd_error *err);

#endif /* REPORT_COMPARE_PICTURE_H */
