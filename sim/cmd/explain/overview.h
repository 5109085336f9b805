/* overview.h - a step on about one screen: computations, the collectives between them, and the
 * reason for each collective; equal layers once.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_OVERVIEW_H
#define CMD_EXPLAIN_OVERVIEW_H

#include "cmd/explain/lesson.h"

/* Print a lesson that has a fold.  SHD_ENOMEM. */
SHD_MUST_CHECK int overview_text(const struct lesson *lesson, struct text *out,
                                 struct shd_error *err);

#endif /* CMD_EXPLAIN_OVERVIEW_H */
