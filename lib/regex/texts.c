/* Patterns that are choices of texts (regex/texts.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "find.h"

/* Larger patterns are left to PCRE2.  Rules name a few modules each, and names of arrays have some
 * dozens of bytes.  Several of these structs lie on a stack that may have 64 KiB. */
#define TEXTS_MAX 16  /* texts of a pattern */
#define BYTES_MAX 64 /* maximum bytes of a text, including the NUL */
#define DEPTH_MAX 4   /* nesting of groups */

struct text {
    char bytes[BYTES_MAX];
    size_t length;
    bool at_start, at_end; /* it must be at the start, or the end, of the string */
};

struct regex_texts {
    size_t n;
    struct text texts[TEXTS_MAX];
};

static const struct regex_texts empty = {.n = 1};

/* Read a literal character at p, escaped or not.  Returns its bytes in the pattern; 0 if it is not
 * a literal, as for escaped letters and digits. */
static size_t read_char(char *out, const char *p)
{
    unsigned char next = *p == '\\' ? (unsigned char)p[1] : 0;

    if (*p == '\\') {
        *out = (char)next;
        return next && next < 0x80 && !(next >= '0' && next <= '9') &&
                       !((next | 0x20) >= 'a' && (next | 0x20) <= 'z')
                   ? 2
                   : 0;
    }
    *out = *p;
    return (unsigned char)*p < 0x80 && *p && !strchr("^$.|?*+()[]{}", *p) ? 1 : 0;
}

static bool add_char(struct regex_texts *texts, char c)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct text *t = &texts->texts[i];

        if (t->length + 1 == BYTES_MAX)
            return false;
        t->bytes[t->length++] = c;
        t->bytes[t->length] = '\0';
    }
    return true;
}

/* Replace `texts` by each of them followed by each of `more`, in the order in which a pattern tries
 * them; false if they are too many or too long. */
static bool add_texts(struct regex_texts *texts, const struct regex_texts *more)
{
    const struct regex_texts before = *texts;

    if (before.n * more->n > TEXTS_MAX)
        return false;
    texts->n = 0;
    for (size_t i = 0; i < before.n; i++) {
        for (size_t j = 0; j < more->n; j++) {
            struct text *t = &texts->texts[texts->n++];

            *t = before.texts[i];
            if (t->length + more->texts[j].length >= BYTES_MAX)
                return false;
            memcpy(t->bytes + t->length, more->texts[j].bytes, more->texts[j].length + 1);
            t->length += more->texts[j].length;
        }
    }
    return true;
}

static const char *skip_any(const char *p)
{
    while (p[0] == '.' && p[1] == '*')
        p += p[2] == '?' ? 3 : 2;
    return p;
}

static bool is_end(char c)
{
    return c == '\0' || c == '|' || c == ')';
}

static void mark_ends(struct regex_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        texts->texts[i].at_end = true;
}

/* Read sequences separated by '|'; returns the position after them, or NULL. */
static const char *read_choice(struct regex_texts *out, const char *p, size_t depth);

/* Read a group whose '(' was read.  Returns the position after it; NULL for a group that is not a
 * choice of texts. */
static const char *read_group(struct regex_texts *texts, const char *p, size_t depth)
{
    struct regex_texts inner;

    if (p[0] == '?' && p[1] != ':')
        return NULL;
    p = read_choice(&inner, p[0] == '?' ? p + 2 : p, depth + 1);
    return p && *p == ')' && add_texts(texts, &inner) ? p + 1 : NULL;
}

/* Read up to '|', ')' or the end and return that position; NULL if anything but texts occurs. */
static const char *read_sequence(struct regex_texts *texts, const char *p, size_t depth)
{
    *texts = empty;
    if (depth == 0) {
        p = skip_any(p);
        texts->texts[0].at_start = *p == '^';
        p += *p == '^';
    }
    while (!is_end(*p)) {
        char c;
        size_t length = read_char(&c, p);

        if (length > 0)
            p = add_char(texts, c) ? p + length : NULL;
        else if (*p == '(')
            p = read_group(texts, p + 1, depth);
        else if (depth == 0 && *p == '$')
            return mark_ends(texts), p + 1; /* the caller checks for the end of the pattern */
        else
            return depth == 0 && is_end(*skip_any(p)) ? skip_any(p) : NULL;
        if (!p)
            return NULL;
    }
    return p;
}

static const char *read_choice(struct regex_texts *out, const char *p, size_t depth)
{
    struct regex_texts sequence;

    if (depth > DEPTH_MAX)
        return NULL;
    out->n = 0;
    for (;; p++) {
        p = read_sequence(&sequence, p, depth);
        if (!p || out->n + sequence.n > TEXTS_MAX)
            return NULL;
        memcpy(out->texts + out->n, sequence.texts, sequence.n * sizeof(*sequence.texts));
        out->n += sequence.n;
        if (*p != '|')
            return p;
    }
}

struct regex_texts *regex_texts_create(const char *pattern)
{
    struct regex_texts texts;
    const char *end = read_choice(&texts, pattern, 0);
    size_t size = offsetof(struct regex_texts, texts) + texts.n * sizeof(*texts.texts);
    struct regex_texts *out = end && *end == '\0' ? malloc(size) : NULL;

    if (out)
        memcpy(out, &texts, size);
    return out;
}

uint64_t regex_texts_pairs(const struct regex_texts *texts)
{
    uint64_t pairs = UINT64_MAX;

    for (size_t i = 0; i < texts->n; i++)
        pairs &= regex_pairs(texts->texts[i].bytes, texts->texts[i].length);
    return pairs;
}

/* Whether the string ends with the text; as for '$', a final newline is ignored. */
static bool ends_with(const char *string, size_t length, const struct text *text)
{
    if (length >= text->length &&
        !memcmp(string + length - text->length, text->bytes, text->length))
        return true;
    return length > text->length && string[length - 1] == '\n' &&
           !memcmp(string + length - 1 - text->length, text->bytes, text->length);
}

static bool is_in(const struct text *text, const char *string, size_t length)
{
    if (!text->at_start)
        return text->at_end ? ends_with(string, length, text) : strstr(string, text->bytes) != NULL;
    if (length < text->length || memcmp(string, text->bytes, text->length) != 0)
        return false;
    return !text->at_end || length == text->length ||
           (length == text->length + 1 && string[length - 1] == '\n');
}

bool regex_texts_find(const struct regex_texts *texts, const char *string, size_t length)
{
    for (size_t i = 0; i < texts->n; i++) {
        if (is_in(&texts->texts[i], string, length))
            return true;
    }
    return false;
}
