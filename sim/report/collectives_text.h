/* collectives_text.h - the collectives of a step as a text table, with the reason for each.
 *
 * A table longer than a screenful is folded: one row for all collectives of a phase with the same
 * op over the same axes, with the reason of the collective that moves most bytes.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COLLECTIVES_TEXT_H
#define REPORT_COLLECTIVES_TEXT_H

#include <stdbool.h>

#include "base/text.h"
#include "report/traffic.h"

/* All rows where `all` is set, whatever their number; lines of `width` columns. */
void collectives_text(const struct traffic *traffic, bool all, size_t width, struct text *out);

#endif /* REPORT_COLLECTIVES_TEXT_H */
