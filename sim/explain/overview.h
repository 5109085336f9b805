/* overview.h - a step on about a screen: what is computed between which collectives, and why each
 * of these is there; equal layers once.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_OVERVIEW_H
#define EXPLAIN_OVERVIEW_H

#include "explain/lesson.h"

/* Of a lesson that has a fold.  SHD_ENOMEM. */
SHD_MUST_CHECK int overview_text(const struct lesson *lesson, struct text *out,
                                 struct shd_error *err);

#endif /* EXPLAIN_OVERVIEW_H */
