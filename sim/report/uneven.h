/* uneven.h - why a strategy loses by unevenly dealt work: the attention of some tokens, or the rows
 * of some experts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_UNEVEN_H
#define REPORT_UNEVEN_H

#include <shd/error.h>

#include "base/text.h"
#include "program/record.h"

/* Add why the device with most flops has so many, in a sentence.  Nothing is added where flops are
 * even, or where it is neither attention nor experts that most of it comes from.  SHD_ENOMEM. */
SHD_MUST_CHECK int uneven_why(struct text *out, const struct record *record, struct shd_error *err);

#endif /* REPORT_UNEVEN_H */
