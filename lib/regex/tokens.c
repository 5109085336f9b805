/* Reading a pattern's tokens (regex/parse.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "parse.h"

/* Read the character at *text and advance *text; REGEX_END if it is not UTF-8. */
static uint32_t decode(const unsigned char **text)
{
    /* The least character of each length: longer encodings of smaller ones are invalid UTF-8. */
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *p = *text;
    uint32_t c = *p++;
    int more = c < 0x80 ? 0 : c < 0xc0 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf8 ? 3 : -1;

    if (more < 0)
        return REGEX_END;
    c &= more > 0 ? 0x3fU >> more : 0x7fU;
    for (int i = 0; i < more; i++) {
        if ((*p & 0xc0) != 0x80)
            return REGEX_END;
        c = c << 6 | (*p++ & 0x3f);
    }
    *text = p;
    return c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? REGEX_END : c;
}

int regex_read_tokens(struct regex_parse *parse, const char *pattern)
{
    const unsigned char *p = (const unsigned char *)pattern;
    size_t position = 0;
    size_t n = 0;

    while (*p) {
        struct regex_token token = {.position = position++};

        token.c = decode(&p);
        if (token.c == '\\') {
            if (!*p)
                return regex_fail(parse, token.position, "bad escape (end of pattern)");
            token.escaped = true;
            token.c = decode(&p);
            position++;
        }
        if (token.c == REGEX_END)
            return regex_fail(parse, token.position, "no UTF-8");
        parse->tokens[n++] = token;
    }
    parse->tokens[n] = (struct regex_token){.c = REGEX_END, .position = position};
    return SHD_OK;
}
