/* Text for HTML pages (html.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/html.h"

#include <stdarg.h>

#include "base/literal.h"
#include "base/units.h"

void html_addf(struct text *out, const char *fmt, ...)
{
    struct text plain = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&plain, fmt, args);
    va_end(args);
    literal_add_xml(out, text_get(&plain));
    text_drop(out, &plain);
}

void html_add_bytes(struct text *out, uint128 bytes)
{
    literal_add_xml(out, units_print_bytes(bytes).text);
}
