/* hlo_statements.h - the text of a module, cut into its statements.
 *
 * Outside of computations a statement is a line that begins with a digit or has a word (the tables
 * of file names and the like), the module's own attributes, or the head of a computation up to the
 * brace that opens it, in any number of lines.  Inside it is an instruction with its attributes, on
 * one line or several or several on one, or the brace that ends the computation with what follows
 * it on its line.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_STATEMENTS_H
#define CAPTURE_HLO_STATEMENTS_H

#include "capture/hlo_text.h"

/* Take the next statement, without the blanks and comments before it; an empty piece at the end. */
struct hlo_piece hlo_take_statement(struct hlo_piece *text, bool inside);

/* Whether a statement is the head of a computation; cuts off the brace. */
bool hlo_is_head(struct hlo_piece *statement);

#endif /* CAPTURE_HLO_STATEMENTS_H */
