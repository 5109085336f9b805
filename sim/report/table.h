/* table.h - rows of text as aligned columns.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stddef.h>

#include "base/text.h"

#define TABLE_COLUMNS_MAX 24 /* those of compare, the most, are fewer */

/* `columns` holds one character a column: 'l' left- or 'r' right-aligned. */
struct table {
    const char *columns;
    size_t ncolumns;
    char **cells; /* row by row, owned */
    size_t ncells;
    int failed; /* no memory: printing it fails the text */
};

void table_init(struct table *table, const char *columns);
void table_fini(struct table *table);

/* Add the next cell; a row is complete after as many cells as there are columns. */
void table_add(struct table *table, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Characters of a cell as they are seen: a UTF-8 continuation byte counts nothing, nor do
 * colours. */
size_t table_width(const char *cell);

/* Print all rows, each indented by `indent` spaces, columns two spaces apart. */
void table_print(const struct table *table, size_t indent, struct text *out);

#endif /* REPORT_TABLE_H */
