/* Escaping characters that act on terminals, editors and CI runners (base/escape.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/escape.h"

#include <string.h>

#include "base/utf8.h"

#define SHOWN_MAX 12 /* \\U0010ffff */

/* Characters of the Unicode categories Cc, Zl, Zp and Cf that change the writing direction or are
 * invisible (Unicode 15, UAX #9 and UTR #36), and noncharacters; sorted. */
static const struct {
    uint32_t first, last;
} ranges[] = {
    {0x0000, 0x001f},   /* C0 */
    {0x007f, 0x009f},   /* DEL and C1 */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x034f, 0x034f},   /* grapheme joiner */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x115f, 0x1160},   /* fillers */
    {0x17b4, 0x17b5},   /* inherent vowels */
    {0x180b, 0x180f},   /* Mongolian selectors and separator */
    {0x200b, 0x200f},   /* zero width; left-to-right and right-to-left marks */
    {0x2028, 0x202e},   /* line and paragraph separators; embeddings and overrides */
    {0x2060, 0x206f},   /* word joiner, invisible operators, isolates */
    {0x3164, 0x3164},   /* filler */
    {0xfdd0, 0xfdef},   /* noncharacters */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xffa0, 0xffa0},   /* filler */
    {0xfff0, 0xfffb},   /* interlinear annotation */
    {0x1bca0, 0x1bca3}, /* shorthand format controls */
    {0x1d173, 0x1d17a}, /* beams, ties and slurs */
    {0xe0000, 0xe0fff}, /* tags and more selectors */
};

bool escape_is_needed(uint32_t code)
{
    if ((code & 0xfffe) == 0xfffe) /* noncharacters in every plane */
        return true;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code <= ranges[i].last)
            return code >= ranges[i].first;
    return false;
}

/* Whether a "::" starts at `at` where a line may begin: at the start of the text, or after a space,
 * where a sentence may be wrapped (a non-ASCII byte may be part of a space, too). */
static bool begins_command(const char *bytes, size_t at, size_t length)
{
    return bytes[at] == ':' && at + 1 < length && bytes[at + 1] == ':' &&
           (at == 0 || bytes[at - 1] == ' ' || (unsigned char)bytes[at - 1] >= 0x80);
}

bool escape_ends_command(const char *bytes, size_t at)
{
    size_t name = at;

    if (bytes[at] != '[')
        return false;
    while (name > 0 && bytes[name - 1] >= 'a' && bytes[name - 1] <= 'z')
        name--;
    return name > 1 && bytes[name - 1] == '#' && bytes[name - 2] == '#';
}

/* Read the character at `at` and return its length in bytes.  `shown` gets its escape, or "" if it
 * stays unchanged. */
static size_t read_char(char shown[SHOWN_MAX], const char *bytes, size_t at, size_t length)
{
    uint32_t code;
    size_t n = utf8_next(bytes + at, length - at, &code);

    shown[0] = '\0';
    if (n == 0)
        snprintf(shown, SHOWN_MAX, "\\x%02x", (unsigned)(unsigned char)bytes[at]);
    else if (code == '\n' || code == '\r' || code == '\t')
        snprintf(shown, SHOWN_MAX, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    else if (escape_is_needed(code) || begins_command(bytes, at, length) ||
             escape_ends_command(bytes, at))
        snprintf(shown, SHOWN_MAX,
                 code < 0x80      ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
    return n ? n : 1;
}

void escape_add_bytes(struct text *out, const char *bytes, size_t length)
{
    char shown[SHOWN_MAX];
    size_t plain = 0; /* start of the bytes not yet appended; they stay unchanged */

    for (size_t at = 0; at < length;) {
        size_t n = read_char(shown, bytes, at, length);

        if (shown[0]) {
            text_add_bytes(out, bytes + plain, at - plain);
            text_add(out, shown);
            plain = at + n;
        }
        at += n;
    }
    text_add_bytes(out, bytes + plain, length - plain);
}

void escape_put(FILE *file, const char *string)
{
    size_t length = strlen(string);
    char shown[SHOWN_MAX];

    for (size_t at = 0, n; at < length; at += n) {
        n = read_char(shown, string, at, length);
        if (shown[0])
            fputs(shown, file);
        else
            fwrite(string + at, 1, n, file);
    }
}

void escape_add(struct text *out, const char *string)
{
    escape_add_bytes(out, string ? string : "", string ? strlen(string) : 0);
}

void escape_from(struct text *text, size_t from)
{
    struct text raw = TEXT_INIT;

    if (text->length <= from)
        return;
    text_add_bytes(&raw, text->data + from, text->length - from);
    text->length = from;
    escape_add_bytes(text, text_get(&raw), raw.length);
    text->failed |= raw.failed;
    text_fini(&raw);
}
