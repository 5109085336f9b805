/* Quoting text for other languages (base/literal.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/literal.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

void literal_add_python(struct text *out, const char *string)
{
    size_t length = strlen(string);

    text_add_char(out, '"');
    for (size_t at = 0; at < length;) {
        uint32_t code = 0xfffd;
        size_t n = utf8_next(string + at, length - at, &code);

        if (code == '"' || code == '\\')
            text_addf(out, "\\%c", (char)code);
        else if (n == 0 || escape_is_needed(code) || escape_ends_command(string, at))
            text_addf(out,
                      code < 0x100     ? "\\x%02x"
                      : code < 0x10000 ? "\\u%04x"
                                       : "\\U%08x",
                      (unsigned)code);
        else
            text_add_bytes(out, string + at, n);
        at += n ? n : 1;
    }
    text_add_char(out, '"');
}

/* Whether a "::" starts at `at` where a line may begin: a CI runner would take it for a command. */
static bool begins_command(const char *string, size_t at)
{
    return !strncmp(string + at, "::", 2) && (at == 0 || !isgraph((unsigned char)string[at - 1]));
}

/* Whether neither a shell, even at the start of a word, nor a CI runner acts upon the string. */
static bool is_plain_word(const char *string)
{
    if (!*string || *string == '~' || *string == '=' || begins_command(string, 0))
        return false;
    for (; *string; string++)
        if (!isalnum((unsigned char)*string) && !strchr("_-./:=,+@%^~", *string))
            return false;
    return true;
}

void literal_add_shell(struct text *out, const char *string)
{
    if (is_plain_word(string)) {
        text_add(out, string);
        return;
    }
    text_add_char(out, '\'');
    for (size_t at = 0; string[at]; at++) {
        if (string[at] == '\'')
            text_add(out, "'\\'"); /* closes the quotes; the quote from the string reopens them */
        else if (escape_ends_command(string, at) || (at > 0 && begins_command(string, at)))
            text_add(out, "''");
        text_add_char(out, string[at]);
    }
    text_add_char(out, '\'');
}

/* The XML entity of a character; NULL if it needs none. */
static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void literal_add_xml(struct text *out, const char *string)
{
    struct text shown = TEXT_INIT;

    escape_add(&shown, string); /* XML allows no control characters, escaped or not */
    for (const char *c = text_get(&shown); *c; c++) {
        const char *e = entity(*c);

        if (e)
            text_add(out, e);
        else
            text_add_char(out, *c);
    }
    out->failed |= shown.failed;
    text_fini(&shown);
}

void literal_add_csv(struct text *out, const char *string)
{
    bool quoted = string[strcspn(string, ",\"")];
    struct text shown = TEXT_INIT;

    escape_add(&shown, string);
    text_add(out, quoted ? "\"" : "");
    text_add(out, *string && strchr("=+-@", *string) ? "'" : "");
    for (const char *c = text_get(&shown); *c; c++)
        text_addf(out, *c == '"' ? "\"\"" : "%c", *c);
    text_add(out, quoted ? "\"" : "");
    out->failed |= shown.failed;
    text_fini(&shown);
}

void literal_add_markdown(struct text *out, const char *string)
{
    struct text shown = TEXT_INIT;

    escape_add(&shown, string);
    for (const char *c = text_get(&shown); *c; c++) {
        if (strchr("\\`*_<>|[]&~$", *c))
            text_add_char(out, '\\');
        text_add_char(out, *c);
    }
    out->failed |= shown.failed;
    text_fini(&shown);
}
