/* Traces as CSV (RFC 4180, one line a request): the first line has the names of the columns, of
 * which those of other fields are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "serving/trace_fields.h"

#define COLUMNS_MAX 64

/* A line, and how far it was read. */
struct line {
    const char *begin, *at, *end; /* `at` is NULL behind the last cell */
    struct place place;           /* of the line */
};

/* The next cell of a line, without quotes around it and spaces; false: there is none. */
static bool next_cell(struct line *line, struct json_piece *out, struct place *place)
{
    const char *at = line->at, *end;
    bool quoted;

    if (!at)
        return false;
    while (at < line->end && (*at == ' ' || *at == '\t'))
        at++;
    quoted = at < line->end && *at == '"';
    at += quoted;
    end = at;
    while (end < line->end && *end != (quoted ? '"' : ','))
        end++;
    *place = line->place;
    for (const char *c = line->begin; c < at; c++)
        place->column += (*c & 0xc0) != 0x80;
    line->at = end;
    while (line->at < line->end && *line->at != ',')
        line->at++;
    line->at = line->at < line->end ? line->at + 1 : NULL;
    while (end > at && !quoted && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *out = (struct json_piece){at, (size_t)(end - at)};
    return true;
}

/* The fields that columns are; NULL: another. */
struct columns {
    const struct trace_name *names[COLUMNS_MAX];
    size_t n;
};

static bool read_heads(struct trace_reading *r, struct columns *columns, struct line line)
{
    struct json_piece cell;
    struct place place;
    bool has[TRACE_NFIELDS] = {false};
    size_t before = r->diag->nerrors;

    while (columns->n < COLUMNS_MAX && next_cell(&line, &cell, &place)) {
        const struct trace_name *name = trace_find_name(cell);

        if (name && has[name->field])
            diag_error(r->diag, place, "a second column of %s", trace_field_name(name->field));
        if (name && name->field == TRACE_BLOCKS)
            diag_error(r->diag, place,
                       "hash_ids are lists, which CSV has not; expected JSON lines");
        if (name)
            has[name->field] = true;
        columns->names[columns->n++] = name;
    }
    for (int f = 0; f < TRACE_BLOCKS; f++)
        if (!has[f])
            diag_error(r->diag, line.place,
                       "no column has the name %s; expected a line of headings, or JSON lines",
                       trace_field_name(f));
    return r->diag->nerrors == before;
}

static void read_row(struct trace_reading *r, const struct columns *columns, struct line line)
{
    struct trace_row row = {.has = {false}};
    struct json_piece cell;
    struct place place;
    size_t before = r->diag->nerrors;

    for (size_t i = 0; i < columns->n && next_cell(&line, &cell, &place); i++)
        if (columns->names[i])
            trace_take_value(&row, columns->names[i]->field, columns->names[i]->csv_ns, cell, place,
                             r->diag);
    if (r->diag->nerrors == before)
        trace_add_row(r, &row, 0, line.place);
}

void trace_read_csv(struct trace_reading *r, const char *text, size_t length)
{
    const char *end = text + length;
    struct columns columns = {.n = 0};

    for (int number = 1; text < end && !diag_is_full(r->diag) && !r->diag->no_memory; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct line line = {text, text, stop ? stop : end, {r->path, number, 1}};

        text = stop ? stop + 1 : end;
        if (line.end > line.begin && line.end[-1] == '\r')
            line.end--;
        if (line.end == line.begin)
            continue;
        if (columns.n > 0)
            read_row(r, &columns, line);
        else if (!read_heads(r, &columns, line))
            return;
    }
}
