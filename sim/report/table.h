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

#define TABLE_COLUMNS_MAX 24 /* above the number of compare's columns, the widest table */

/* `columns` has one character per column: 'l' left- or 'r' right-aligned; a capital letter: the
 * column may be omitted on a narrow screen. */
struct table {
    const char *columns;
    size_t ncolumns;
    char **cells; /* row by row, owned */
    size_t ncells;
    int failed; /* no memory: printing the table fails the text */
};

void table_init(struct table *table, const char *columns);
void table_fini(struct table *table);

/* Add the next cell; a row is complete when every column has a cell. */
void table_add(struct table *table, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Add the words of "devices|step|MFU" as cells: a row of headings. */
void table_heads(struct table *table, const char *words);

/* Columns of a cell on a screen: colour codes do not count. */
size_t table_width(const char *cell);

/* Print all rows, each indented by `indent` spaces, columns two spaces apart. */
void table_print(const struct table *table, size_t indent, struct text *out);

/* Like table_print(), on a screen of `columns`.  If the table is too wide, columns are one space
 * apart; then columns with capitals are omitted, the last first, and a line names their heads, from
 * the first row; then each row is continued on further lines. */
void table_print_within(const struct table *table, size_t indent, size_t columns, struct text *out);

#endif /* REPORT_TABLE_H */
