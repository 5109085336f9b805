/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

#include <shd/error.h>

#include "base/escape.h"
#include "base/utf8.h"

#define MESSAGE_BYTES_MAX 600 /* of one message, some seven lines; it is cut behind them */

void diag_init(struct diag *diag)
{
    *diag = (struct diag)DIAG_INIT;
}

void diag_fini(struct diag *diag)
{
    for (size_t i = 0; i < diag->nmessages; i++) {
        free(diag->messages[i].file);
        free(diag->messages[i].text);
    }
    free(diag->messages);
    diag_init(diag);
}

/* Append a text as it may be shown, cut if long. */
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

static int grow(struct diag *diag)
{
    if (diag->nmessages < diag->capacity)
        return 0;
    size_t capacity = diag->capacity ? 2 * diag->capacity : 8;
    struct diag_message *messages = realloc(diag->messages, capacity * sizeof(*messages));
    if (!messages)
        return -1;
    diag->messages = messages;
    diag->capacity = capacity;
    return 0;
}

/* An error is counted even if there is no memory for its message: it must not pass for success. */
static void keep(struct diag *diag, struct place place, struct text *text)
{
    if (text->failed || grow(diag) < 0) {
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
        (struct diag_message){file, place.line, place.column, taken};
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
        diag->nerrors++;
        keep(diag, place, &text);
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

        diag_error(diag, (struct place){m->file, m->line, m->column}, "%s", m->text);
    }
    diag->nerrors += more->nerrors - more->nmessages; /* those that are only counted */
    diag->no_memory |= more->no_memory;
}

/* By place; where that is the same, as they were reported. */
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
    text_addf(out, "%serror: %s\n", m->file ? ": " : "", m->text);
}

void diag_print(const struct diag *diag, struct text *out)
{
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
    for (size_t i = 0; i < n; i++)
        print_message(sorted[i], out);
    if (diag_is_full(diag))
        text_addf(out, "error: and more than %zu more\n", diag->nmessages - n);
    else if (diag->nerrors > n)
        text_addf(out, "error: and %zu more\n", diag->nerrors - n);
}

void diag_write(const struct diag *diag, FILE *file)
{
    struct text text = TEXT_INIT;

    diag_print(diag, &text);
    fputs(text_get(&text), file);
    if (text.failed)
        fputs("error: no memory left\n", file);
    text_fini(&text);
}
