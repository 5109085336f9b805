/* base/text.h - a growing string.
 *
 * NUL-terminated once something was added.  When memory runs out the text stays unchanged and
 * `failed` is set permanently, so that a caller may add many times and check once.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <shd/export.h>

struct text {
    char *data; /* NULL until something is added; use text_get() */
    size_t length;
    size_t capacity;
    bool failed;
};

#define TEXT_INIT {NULL, 0, 0, false}

void text_init(struct text *text);

/* Free the storage; the text is empty and usable again. */
void text_fini(struct text *text);

/* Forget the content, keep the storage. */
void text_clear(struct text *text);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *fmt, ...) SHD_PRINTF(2, 3);
void text_addv(struct text *text, const char *fmt, va_list args) SHD_PRINTF(2, 0);

/* Append a path, or a sentence with paths, replacing every path component that is a number by '*':
 * the places of all layers become equal ("layers/0/mlp/up" and "layers/1/mlp/up"). */
void text_add_any_layer(struct text *text, const char *paths);

/* Append another text, pass on its `failed`, and free it. */
void text_join(struct text *text, struct text *part);

/* Pass on the `failed` of another text whose content was used, and free it. */
void text_drop(struct text *text, struct text *part);

/* Drop the bytes from `length` on. */
void text_cut(struct text *text, size_t length);

/* Pad with spaces until the line that starts at byte `from` has `width` columns. */
void text_pad(struct text *text, size_t from, size_t width);

/* The content, "" when empty.  Valid until the next change. */
const char *text_get(const struct text *text);

/* Whether a string ends with another. */
bool text_ends_with(const char *string, const char *end);

/* Hand the storage to the caller, who frees it.  The text is empty afterwards.  NULL if
 * `failed`. */
char *text_take(struct text *text);

#endif /* BASE_TEXT_H */
