/* Traces as CSV (RFC 4180, a row for each request): the first row has the names of the columns, of
 * which those of other fields are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "serving/trace_fields.h"

#define COLUMNS_MAX 64

/* The text from a row on, and how far it was read. */
struct rows {
    const char *line, *at, *end; /* `line`: where the line of `at` begins */
    struct place place;          /* of that line */
    struct diag *diag;
    bool more; /* the row of the last cell has another */
};

static struct place place_of(const struct rows *rows, const char *at)
{
    struct place place = rows->place;

    for (const char *c = rows->line; c < at; c++)
        place.column += (*c & 0xc0) != 0x80;
    return place;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void begin_line(struct rows *rows)
{
    rows->line = rows->at;
    rows->place.line++;
}

/* Read to the quote that ends a cell: two quotes are one of its characters, and lines may end
 * inside.  False: the text ends first, which is reported. */
static bool read_quoted(struct rows *rows, struct json_piece *out, struct place place)
{
    const char *begin = ++rows->at;

    for (; rows->at < rows->end; rows->at++) {
        if (*rows->at == '"' && (rows->at + 1 == rows->end || rows->at[1] != '"')) {
            *out = (struct json_piece){begin, (size_t)(rows->at++ - begin)};
            return true;
        }
        rows->at += *rows->at == '"';
        if (*rows->at == '\n') {
            rows->at++;
            begin_line(rows);
            rows->at--;
        }
    }
    diag_error(rows->diag, place, "unterminated quoted cell; expected '\"'");
    return false;
}

static void read_plain(struct rows *rows, struct json_piece *out)
{
    const char *begin = rows->at, *end;

    while (rows->at < rows->end && *rows->at != ',' && *rows->at != '\n')
        rows->at++;
    end = rows->at;
    while (end > begin && (is_blank(end[-1]) || end[-1] == '\r'))
        end--;
    *out = (struct json_piece){begin, (size_t)(end - begin)};
}

/* Read the next cell of a row, without the spaces and the quotes around it.  False: the row is
 * wrong, which is reported. */
static bool read_cell(struct rows *rows, struct json_piece *out, struct place *place)
{
    while (rows->at < rows->end && is_blank(*rows->at))
        rows->at++;
    *place = place_of(rows, rows->at);
    if (rows->at == rows->end || *rows->at != '"') {
        read_plain(rows, out);
    } else {
        if (!read_quoted(rows, out, *place))
            return false;
        while (rows->at < rows->end && (is_blank(*rows->at) || *rows->at == '\r'))
            rows->at++;
        if (rows->at < rows->end && *rows->at != ',' && *rows->at != '\n') {
            diag_error(rows->diag, place_of(rows, rows->at),
                       "text after the '\"' that ends a cell; expected ',' (double a quote inside "
                       "a cell)");
            return false;
        }
    }
    rows->more = rows->at < rows->end && *rows->at == ',';
    if (rows->at < rows->end)
        rows->at++;
    if (!rows->more)
        begin_line(rows);
    return true;
}

/* The fields that columns are; NULL: another. */
struct columns {
    const struct trace_name *names[COLUMNS_MAX];
    size_t n;
};

static bool read_heads(struct trace_reading *r, struct columns *columns, struct rows *rows)
{
    struct place row = rows->place, place;
    struct json_piece cell;
    bool has[TRACE_NFIELDS] = {false};
    size_t before = r->diag->nerrors;

    do {
        const struct trace_name *name;

        if (!read_cell(rows, &cell, &place))
            return false;
        if (columns->n == COLUMNS_MAX) {
            diag_error(r->diag, place, "more than %d columns", COLUMNS_MAX);
            return false;
        }
        name = trace_find_name(cell);
        if (name && has[name->field])
            diag_error(r->diag, place, "a second column of %s", trace_field_name(name->field));
        if (name && name->field == TRACE_BLOCKS)
            diag_error(r->diag, place,
                       "CSV has no lists, which hash_ids needs; expected JSON lines");
        if (name)
            has[name->field] = true;
        else
            trace_skip_field(r, cell);
        columns->names[columns->n++] = name;
    } while (rows->more);
    for (int f = 0; f < TRACE_BLOCKS; f++)
        if (!has[f])
            diag_error(r->diag, row,
                       "no column has the name %s; expected a line of headings, or JSON lines",
                       trace_field_name(f));
    return r->diag->nerrors == before;
}

static bool has_all(const struct trace_row *row)
{
    return row->has[TRACE_ARRIVAL] && row->has[TRACE_PROMPT] && row->has[TRACE_OUTPUT];
}

/* False: a quote is wrong, so that where the next row begins is unknown. */
static bool read_row(struct trace_reading *r, const struct columns *columns, struct rows *rows)
{
    struct trace_row row = {.has = {false}};
    struct place begin = rows->place, place;
    struct json_piece cell;
    size_t before = r->diag->nerrors, n = 0;

    do {
        const struct trace_name *name;

        if (!read_cell(rows, &cell, &place))
            return false;
        name = n < columns->n ? columns->names[n] : NULL;
        if (name)
            trace_take_value(r, &row, name, name->csv_ns, cell, place);
        n++;
    } while (rows->more);
    if (n > columns->n || (n < columns->n && has_all(&row)))
        diag_error(r->diag, begin,
                   "a row of %zu cells below %zu headings; expected quotes around a cell with a "
                   "comma",
                   n, columns->n);
    if (r->diag->nerrors == before)
        trace_add_row(r, &row, 0, begin);
    return true;
}

/* Step over lines without a character. */
static bool find_row(struct rows *rows)
{
    while (rows->at < rows->end && (*rows->at == '\n' || *rows->at == '\r'))
        if (*rows->at++ == '\n')
            begin_line(rows);
    return rows->at < rows->end;
}

void trace_read_csv(struct trace_reading *r, const char *text, size_t length)
{
    struct rows rows = {text, text, text + length, {r->path, 1, 1}, r->diag, false};
    struct columns columns = {.n = 0};

    while (!diag_is_full(r->diag) && !r->diag->no_memory && find_row(&rows))
        if (columns.n > 0 ? !read_row(r, &columns, &rows) : !read_heads(r, &columns, &rows))
            return;
}
