/* uneven.h - why imbalance slows a strategy: attention of some tokens, or rows of some experts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_UNEVEN_H
#define REPORT_UNEVEN_H

#include <shd/error.h>

#include "base/text.h"
#include "program/record.h"

/* Add a sentence on why the device with most flops has so many.  Adds nothing if flops are balanced,
 * or if neither attention nor experts cause most of the imbalance.  SHD_ENOMEM. */
SHD_MUST_CHECK int uneven_why(struct text *out, const struct record *record, struct shd_error *err);

#endif /* REPORT_UNEVEN_H */
