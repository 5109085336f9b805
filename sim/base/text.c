/* A growing string (base/text.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define FIRST_CAPACITY 64 /* bytes; doubled when full */

/* Reserve room for `extra` bytes and a NUL after the content. */
static bool reserve(struct text *text, size_t extra)
{
    if (text->failed || extra > SIZE_MAX / 4 - text->length) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void text_init(struct text *text)
{
    *text = (struct text)TEXT_INIT;
}

void text_fini(struct text *text)
{
    free(text->data);
    text_init(text);
}

void text_cut(struct text *text, size_t length)
{
    text->length = length;
    if (text->data)
        text->data[length] = '\0';
}

void text_clear(struct text *text)
{
    text_cut(text, 0);
}

bool text_ends_with(const char *string, const char *end)
{
    size_t n = strlen(string), m = strlen(end);

    return n >= m && !strcmp(string + n - m, end);
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_addf(struct text *text, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    text_addv(text, fmt, args);
    va_end(args);
}

void text_addv(struct text *text, const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (length < 0)
        text->failed = true;
    if (length < 0 || !reserve(text, (size_t)length))
        return;
    vsnprintf(text->data + text->length, (size_t)length + 1, fmt, args);
    text->length += (size_t)length;
}

void text_drop(struct text *text, struct text *part)
{
    text->failed |= part->failed;
    text_fini(part);
}

void text_join(struct text *text, struct text *part)
{
    text_add_bytes(text, text_get(part), part->length);
    text_drop(text, part);
}

void text_add_any_layer(struct text *text, const char *paths)
{
    bool start = true;

    text_add(text, "");
    for (const char *c = paths; *c; c++) {
        const char *end = c;

        while (start && *end >= '0' && *end <= '9')
            end++;
        if (end > c && (*end == '/' || *end == '\0')) {
            text_add_char(text, '*');
            c = end - 1;
        } else {
            text_add_char(text, *c);
        }
        start = *c == '/';
    }
}

void text_pad(struct text *text, size_t from, size_t width)
{
    if (text->length < from)
        return;
    size_t columns = utf8_columns(text_get(text) + from, text->length - from);
    for (; columns < width && !text->failed; columns++)
        text_add_char(text, ' ');
}

const char *text_get(const struct text *text)
{
    return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
    char *data = NULL;

    if (!text->failed && reserve(text, 0)) {
        data = text->data;
        data[text->length] = '\0';
        text->data = NULL;
    }
    text_fini(text);
    return data;
}
