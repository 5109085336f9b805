/* para.h - words of a report, gone on with below their beginning where the line is full.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_PARA_H
#define REPORT_PARA_H

#include <stddef.h>

#include "base/text.h"

#define PARA_COLUMNS 80 /* where nobody says otherwise */

struct para {
    struct text *out;
    size_t columns;        /* of a line; 0: PARA_COLUMNS */
    size_t indent, column; /* where a new line begins; where this one ends */
};

/* Add an item, which is kept whole: a number stays with its unit. */
void para_add(struct para *para, const char *item, size_t nbytes);

/* Add a sentence's words after what fills the line up to column `indent`, and end the line.
 * `columns` as above. */
void para_print(struct text *out, size_t columns, size_t indent, const char *sentence);

#endif /* REPORT_PARA_H */
