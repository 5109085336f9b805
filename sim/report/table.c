/* Rows of text as aligned columns (table.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/utf8.h"

#define CONTINUED 4 /* further indent of the lines that continue a row */

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

    while (*cell) {
        size_t length = strcspn(cell, "\033");

        width += utf8_columns(cell, length);
        cell += length;
        if (*cell) /* to the end of the sequence, which is an 'm' */
            cell += strcspn(cell, "m") + (strchr(cell, 'm') != NULL);
    }
    return width;
}

/* How a table is printed on a screen of some width. */
struct fit {
    size_t widths[TABLE_COLUMNS_MAX];
    size_t gap; /* spaces between columns */
    size_t indent, screen;
    bool left_out[TABLE_COLUMNS_MAX];
};

static size_t line_width(const struct table *table, const struct fit *fit)
{
    size_t width = fit->indent, n = 0;

    for (size_t c = 0; c < table->ncolumns; c++)
        if (!fit->left_out[c])
            width += fit->widths[c] + (n++ ? fit->gap : 0);
    return width;
}

/* Leave out the last column that may be; false if there is none. */
static bool leave_out(const struct table *table, struct fit *fit)
{
    for (size_t c = table->ncolumns; c-- > 0;)
        if (isupper((unsigned char)table->columns[c]) && !fit->left_out[c]) {
            fit->left_out[c] = true;
            return true;
        }
    return false;
}

static void find_fit(const struct table *table, struct fit *fit)
{
    for (size_t i = 0; i < table->ncells; i++) {
        size_t width = table_width(table->cells[i]), *most = &fit->widths[i % table->ncolumns];

        *most = width > *most ? width : *most;
    }
    do {
        fit->gap = 2;
        if (line_width(table, fit) > fit->screen)
            fit->gap = 1;
    } while (line_width(table, fit) > fit->screen && leave_out(table, fit));
    if (line_width(table, fit) > fit->screen) /* rows are continued, which gives room */
        fit->gap = 2;
}

static void print_row(const struct table *table, const struct fit *fit, char *const *cells,
                      struct text *out)
{
    size_t at = 0, spaces = fit->indent; /* the end of the last cell, and what follows it */

    for (size_t c = 0; c < table->ncolumns; c++) {
        size_t width = table_width(cells[c]), pad = fit->widths[c] - width;
        bool right = tolower((unsigned char)table->columns[c]) == 'r';

        if (fit->left_out[c])
            continue;
        if (at > 0 && at + spaces + fit->widths[c] > fit->screen) {
            text_add_char(out, '\n');
            at = 0;
            spaces = fit->indent + CONTINUED;
        }
        spaces += right ? pad : 0;
        if (width > 0) {
            text_addf(out, "%*s%s", (int)spaces, "", cells[c]);
            at += spaces + width;
            spaces = 0;
        }
        spaces += fit->gap + (right ? 0 : pad);
    }
    text_add_char(out, '\n');
}

/* Name the omitted columns, and the terminal width that shows them all. */
static void print_left_out(const struct table *table, const struct fit *fit, struct text *out)
{
    struct fit whole = *fit;
    const char *before = ": ";

    whole.gap = 1;
    memset(whole.left_out, 0, sizeof whole.left_out);
    text_addf(out, "%*swith COLUMNS=%zu also", (int)fit->indent, "", line_width(table, &whole));
    for (size_t c = 0; c < table->ncolumns; c++)
        if (fit->left_out[c]) {
            text_addf(out, "%s%s", before, table->cells[c]);
            before = ", ";
        }
    text_add_char(out, '\n');
}

void table_print_within(const struct table *table, size_t indent, size_t columns, struct text *out)
{
    struct fit fit = {.indent = indent, .screen = columns};
    bool whole = true;

    out->failed |= table->failed != 0;
    if (table->failed)
        return;
    find_fit(table, &fit);
    for (size_t i = 0; i + table->ncolumns <= table->ncells; i += table->ncolumns)
        print_row(table, &fit, &table->cells[i], out);
    for (size_t c = 0; c < table->ncolumns; c++)
        whole &= !fit.left_out[c];
    if (!whole)
        print_left_out(table, &fit, out);
}

void table_print(const struct table *table, size_t indent, struct text *out)
{
    table_print_within(table, indent, SIZE_MAX, out);
}
