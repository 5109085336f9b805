/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "view/html.h"

#include <stdarg.h>

#include "base/escape.h"
#include "base/units.h"

/* A character as HTML has it; NULL: as it is. */
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

void html_add(struct text *out, const char *string)
{
    struct text shown = TEXT_INIT;

    escape_add(&shown, string);
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

void html_addf(struct text *out, const char *fmt, ...)
{
    struct text plain = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&plain, fmt, args);
    va_end(args);
    html_add(out, text_get(&plain));
    out->failed |= plain.failed;
    text_fini(&plain);
}

void html_add_bytes(struct text *out, uint128 bytes)
{
    char buf[UNITS_TEXT_MAX];

    html_add(out, units_print_bytes(buf, sizeof buf, bytes));
}
