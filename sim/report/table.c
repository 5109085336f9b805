/* Rows of text as aligned columns (table.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"

void table_init(struct table *table, const char *columns)
{
    *table = (struct table){.columns = columns, .ncolumns = strlen(columns)};
}

void table_fini(struct table *table)
{
    for (size_t i = 0; i < table->ncells; i++)
        free(table->cells[i]);
    free(table->cells);
    table_init(table, table->columns);
}

void table_add(struct table *table, const char *fmt, ...)
{
    struct text cell = TEXT_INIT;
    va_list args;

    if (!array_make_room(&table->cells, table->ncells, sizeof *table->cells)) {
        table->failed = 1;
        return;
    }
    text_add(&cell, "");
    va_start(args, fmt);
    text_addv(&cell, fmt, args);
    va_end(args);
    escape_from(&cell, 0);
    table->cells[table->ncells] = text_take(&cell);
    if (table->cells[table->ncells])
        table->ncells++;
    else
        table->failed = 1;
}

void table_heads(struct table *table, const char *words)
{
    for (const char *end; words; words = *end ? end + 1 : NULL) {
        end = words + strcspn(words, "|");
        table_add(table, "%.*s", (int)(end - words), words);
    }
}

size_t table_width(const char *cell)
{
    size_t width = 0;

    for (; *cell; cell++)
        if (*cell == '\033') /* to the end of the sequence, which is an 'm' */
            cell += strcspn(cell, "m") - (strchr(cell, 'm') == NULL);
        else
            width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

static void print_spaces(struct text *out, size_t n)
{
    while (n-- > 0)
        text_add_char(out, ' ');
}

static void print_cell(const struct table *table, size_t column, size_t width, const char *cell,
                       struct text *out)
{
    size_t pad = width - table_width(cell);

    if (table->columns[column] == 'r')
        print_spaces(out, pad);
    text_add(out, cell);
    if (table->columns[column] == 'l' && column + 1 < table->ncolumns)
        print_spaces(out, pad);
    text_add(out, column + 1 < table->ncolumns ? "  " : "\n");
}

void table_print(const struct table *table, size_t indent, struct text *out)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0};

    out->failed |= table->failed != 0;
    if (table->failed)
        return;
    for (size_t i = 0; i < table->ncells; i++) {
        size_t width = table_width(table->cells[i]);

        if (width > widths[i % table->ncolumns])
            widths[i % table->ncolumns] = width;
    }
    for (size_t i = 0; i < table->ncells; i++) {
        if (i % table->ncolumns == 0)
            print_spaces(out, indent);
        print_cell(table, i % table->ncolumns, widths[i % table->ncolumns], table->cells[i], out);
    }
}
