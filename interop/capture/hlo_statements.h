/* hlo_statements.h - split the text of a module into statements.
 *
 * Outside of computations a statement is a line that begins with a digit or a word (tables of file
 * names and the like), the module's own attributes, or the head of a computation up to its opening
 * brace, over any number of lines.  Inside, it is an instruction with its attributes, one or
 * several lines long, or several on a line; or the closing brace with the rest of its line.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_STATEMENTS_H
#define CAPTURE_HLO_STATEMENTS_H

#include "capture/hlo_text.h"

/* Take the next statement, skipping blanks and comments; an empty piece at the end. */
struct hlo_piece hlo_take_statement(struct hlo_piece *text, bool inside);

/* Whether a statement is the head of a computation; the brace is cut off. */
bool hlo_is_head(struct hlo_piece *statement);

#endif /* CAPTURE_HLO_STATEMENTS_H */
