/* result_colour.h - the report of a result with ANSI escapes, for terminals.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_RESULT_COLOUR_H
#define REPORT_RESULT_COLOUR_H

#include "base/text.h"

/* Add a text that result_text() made: titles are bold, and verdicts are green where all is well and
 * red where not. */
void result_add_coloured(struct text *out, const char *report);

#endif /* REPORT_RESULT_COLOUR_H */
