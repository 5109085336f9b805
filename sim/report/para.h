/* para.h - paragraphs of a report, with continuation lines indented below the first word.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_PARA_H
#define REPORT_PARA_H

#include <stddef.h>

#include "base/text.h"

#define PARA_COLUMNS 80 /* by default */

struct para {
    struct text *out;
    size_t columns;        /* of a line; 0: PARA_COLUMNS */
    size_t indent, column; /* where a new line begins; where this one ends */
};

/* Add an item that line breaks never split, for example a number with its unit. */
void para_add(struct para *para, const char *item, size_t nbytes);

/* Add a sentence's words after the text that fills the line up to column `indent`, and end the
 * line. `columns` as above. */
void para_print(struct text *out, size_t columns, size_t indent, const char *sentence);

/* Like para_print(), after a title, which is shorter than the indent; drops the line. */
void para_print_titled(struct text *out, size_t columns, size_t indent, const char *title,
                       struct text *line);

/* Add finished lines; a line longer than `columns` is continued on lines with the indent.  A number
 * stays with the next word, possibly its unit, and a line of JSON stays whole.  Drops the
 * lines. */
void para_fold(struct text *out, size_t columns, size_t indent, struct text *lines);

#endif /* REPORT_PARA_H */
