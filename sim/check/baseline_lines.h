/* baseline_lines.h - the lines of a layout's file compared with its baseline: changed, added, removed
 * and moved lines.
 *
 * Lines of one key are compared in their order.  The order of rules counts, because the first matching
 * rule applies, and so does the order of a mesh's axes; the order of options does not count.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_BASELINE_LINES_H
#define CHECK_BASELINE_LINES_H

#include "check/baseline.h"

/* Report each difference at its line: a changed value at the value, a new line at the key, a removed
 * line at the preceding line that still exists.  `place` is for differences without a place of
 * their own. */
void baseline_lines_diff(struct diag *causes, const struct baseline *was, const struct baseline *is,
                         struct place place);

/* Whether any line differs; false if either has no lines. */
bool baseline_lines_differ(const struct baseline *was, const struct baseline *is);

#endif /* CHECK_BASELINE_LINES_H */
