/* Collecting, sorting and printing error messages (base/diag.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#include <shd/error.h>

#include "base/array.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/utf8.h"

#define MESSAGE_BYTES_MAX 1000 /* of one message, some twelve lines; longer messages are cut */

void diag_init(struct diag *diag)
{
    *diag = (struct diag)DIAG_INIT;
}

void diag_fini(struct diag *diag)
{
    for (size_t i = 0; i < diag->nmessages; i++) {
        free(diag->messages[i].file);
        free(diag->messages[i].text);
        free(diag->messages[i].of_any);
    }
    free(diag->messages);
    diag_init(diag);
}

/* Append a text in printable form, cut if long. */
static void add_shown(struct text *out, const char *string)
{
    size_t length = strlen(string);
    size_t end = utf8_cut(string, length, MESSAGE_BYTES_MAX);

    escape_add_bytes(out, string, end);
    if (end < length)
        text_add(out, "...");
}

static int compare_files(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int is_known(const struct diag *diag, struct place place, const char *text)
{
    for (size_t i = 0; i < diag->nmessages; i++) {
        const struct diag_message *m = &diag->messages[i];
        if (m->line == place.line && m->column == place.column &&
            compare_files(m->file, place.file) == 0 && strcmp(m->text, text) == 0)
            return 1;
    }
    return 0;
}

/* The message at the same place that differs only in layer numbers. */
static struct diag_message *find_alike(const struct diag *diag, struct place place,
                                       const char *of_any)
{
    for (size_t i = 0; i < diag->nmessages; i++) {
        struct diag_message *m = &diag->messages[i];

        if (m->line == place.line && m->column == place.column && m->of_any &&
            compare_files(m->file, place.file) == 0 && strcmp(m->of_any, of_any) == 0)
            return m;
    }
    return NULL;
}

/* Keep a message.  If there is no memory for it, `no_memory` is set: the error must not pass for
 * success. */
static void keep(struct diag *diag, struct place place, struct text *text, struct text *of_any)
{
    bool layered = strcmp(text_get(text), text_get(of_any)) != 0;
    struct diag_message *alike = layered ? find_alike(diag, place, text_get(of_any)) : NULL;

    if (alike) {
        alike->nalike++;
        return;
    }
    if (text->failed ||
        !array_make_room(&diag->messages, diag->nmessages, sizeof *diag->messages)) {
        diag->no_memory = true;
        return;
    }
    char *file = place.file ? strdup(place.file) : NULL;
    char *taken = text_take(text);
    if (!taken || (place.file && !file)) {
        free(file);
        free(taken);
        diag->no_memory = true;
        return;
    }
    diag->messages[diag->nmessages++] =
        (struct diag_message){.file = file,
                              .line = place.line,
                              .column = place.column,
                              .text = taken,
                              .of_any = layered ? text_take(of_any) : NULL};
}

const char *diag_first(const struct diag *diag, const char *none)
{
    return diag->nmessages > 0 ? diag->messages[0].text : none;
}

bool diag_is_full(const struct diag *diag)
{
    return diag->nmessages >= DIAG_KEPT_MAX;
}

static void add_error(struct diag *diag, struct place place, const char *fmt, va_list args)
{
    struct text raw = TEXT_INIT;
    struct text text = TEXT_INIT;

    if (diag_is_full(diag)) {
        diag->nerrors++;
        return;
    }
    text_addv(&raw, fmt, args);
    add_shown(&text, text_get(&raw));
    text.failed |= raw.failed;
    if (text.failed || !is_known(diag, place, text_get(&text))) {
        struct text of_any = TEXT_INIT;

        diag->nerrors++;
        text_add_any_layer(&of_any, text_get(&text));
        text.failed |= of_any.failed;
        keep(diag, place, &text, &of_any);
        text_fini(&of_any);
    }
    text_fini(&raw);
    text_fini(&text);
}

void diag_error(struct diag *diag, struct place place, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_error(diag, place, fmt, args);
    va_end(args);
}

void diag_no_memory(struct diag *diag)
{
    diag->nerrors++;
    diag->no_memory = true;
}

void diag_failure(struct diag *diag, struct place place, int status, const char *fmt, ...)
{
    va_list args;

    if (status == SHD_ENOMEM) {
        diag_no_memory(diag);
        return;
    }
    diag->internal |= status == SHD_EINTERNAL;
    va_start(args, fmt);
    add_error(diag, place, fmt, args);
    va_end(args);
}

int diag_status(const struct diag *diag, size_t before)
{
    if (diag->no_memory)
        return SHD_ENOMEM;
    return diag->nerrors > before ? SHD_EINVAL : SHD_OK;
}

void diag_append(struct diag *diag, const struct diag *more)
{
    for (size_t i = 0; i < more->nmessages; i++) {
        const struct diag_message *m = &more->messages[i];

        size_t before = diag->nmessages;

        diag_error(diag, (struct place){m->file, m->line, m->column}, "%s", m->text);
        if (diag->nmessages > before)
            diag->messages[before].nalike += m->nalike;
    }
    diag->nerrors += more->nerrors - more->nmessages; /* errors that were counted, but not kept */
    diag->internal |= more->internal;
    diag->no_memory |= more->no_memory;
}

/* Order by place, then by time of report. */
static int compare_messages(const void *a, const void *b)
{
    const struct diag_message *x = *(const struct diag_message *const *)a;
    const struct diag_message *y = *(const struct diag_message *const *)b;
    int by_file = compare_files(x->file, y->file);

    if (by_file != 0)
        return by_file;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void print_message(const struct diag_message *m, struct text *out)
{
    if (m->file)
        add_shown(out, m->file);
    if (m->file && m->line > 0)
        text_addf(out, ":%d:%d", m->line, m->column);
    text_addf(out, "%serror: %s", m->file ? ": " : "", m->text);
    if (m->nalike)
        text_addf(out, "; and %zu more like it", m->nalike);
    text_add_char(out, '\n');
}

/* ---- the line that a message is about ---- */

#define SOURCE_BYTES_MAX ((size_t)4 << 20) /* larger files are not shown */
#define SOURCE_COLUMNS \
    72 /* bytes of a source line to show: fits an 80-column line with the line number */

/* The text of the source file that was read last. */
struct source {
    const char *path;
    struct text text;
    bool readable;
};

static void read_source(struct source *source, const char *path)
{
    struct shd_error err;

    if (source->path && !strcmp(source->path, path))
        return;
    text_clear(&source->text);
    source->path = path;
    source->readable =
        strcmp(path, "-") != 0 && file_read(&source->text, path, SOURCE_BYTES_MAX, &err) == SHD_OK;
}

/* Cut a long line to the part around a column, with "..." at each cut end, and adjust the
 * column. */
static void cut_line(struct text *line, int *column)
{
    struct text part = TEXT_INIT;
    size_t at = (size_t)*column - 1, keep = SOURCE_COLUMNS - 6;
    size_t from = at > keep / 2 ? at - keep / 2 : 0;
    size_t length = line->length - from < keep ? line->length - from : keep;

    text_addf(&part, "%s%.*s%s", from ? "..." : "", (int)length, text_get(line) + from,
              from + length < line->length ? "..." : "");
    *column = (int)(at - from) + (from ? 4 : 1);
    text_fini(line);
    *line = part;
}

static bool is_ascii(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] >= 0x80)
            return false;
    return true;
}

/* Append " 12 | params: [[...]]" and a mark below the column.  Appends nothing if the file cannot
 * be read, or if the line is too long for the screen and its columns are not bytes. */
static void add_source(struct source *source, const struct diag_message *m, struct text *out)
{
    struct text shown = TEXT_INIT;
    const char *line;
    size_t length;
    int column = m->column;

    if (!m->file || m->line < 1)
        return;
    read_source(source, m->file);
    line = source->readable ? text_get(&source->text) : NULL;
    for (int i = 1; line && i < m->line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return;
    length = strcspn(line, "\r\n");
    escape_add_bytes(&shown, line, length);
    if (length > SOURCE_COLUMNS && shown.length == length && is_ascii(line, length) &&
        column >= 1 && (size_t)column <= length + 1)
        cut_line(&shown, &column);
    if (shown.length > 0 && shown.length <= SOURCE_COLUMNS && !shown.failed && column >= 1 &&
        (size_t)column <= length + 1)
        text_addf(out, "%5d | %s\n      | %*s^\n", m->line, text_get(&shown), column - 1, "");
    text_fini(&shown);
}

static bool same_place(const struct diag_message *a, const struct diag_message *b)
{
    return a->line == b->line && a->column == b->column && compare_files(a->file, b->file) == 0;
}

static void print_all(const struct diag *diag, struct source *source, struct text *out)
{
    size_t told = 0;
    const struct diag_message *sorted[DIAG_KEPT_MAX];
    size_t n = 0;

    if (diag->no_memory) {
        text_add(out, "error: no memory left\n");
        return;
    }
    for (; n < diag->nmessages; n++)
        sorted[n] = &diag->messages[n];
    qsort(sorted, n, sizeof(sorted[0]), compare_messages);
    if (n > DIAG_PRINT_MAX)
        n = DIAG_PRINT_MAX;
    for (size_t i = 0; i < n; i++) {
        print_message(sorted[i], out);
        told += 1 + sorted[i]->nalike;
        if (source && (i + 1 == n || !same_place(sorted[i], sorted[i + 1])))
            add_source(source, sorted[i], out);
    }
    if (diag_is_full(diag))
        text_addf(out, "error: and more than %zu more\n", diag->nmessages - n);
    else if (diag->nerrors > told)
        text_addf(out, "error: and %zu more\n", diag->nerrors - told);
}

void diag_print(const struct diag *diag, struct text *out)
{
    print_all(diag, NULL, out);
}

void diag_write(const struct diag *diag, FILE *file)
{
    struct source source = {.text = TEXT_INIT};
    struct text text = TEXT_INIT;

    print_all(diag, &source, &text);
    text_fini(&source.text);
    fputs(text_get(&text), file);
    if (text.failed)
        fputs("error: no memory left\n", file);
    text_fini(&text);
}
