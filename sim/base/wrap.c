/* Wrapping sentences (base/wrap.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/wrap.h"

#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

static void add_words(struct text *out, size_t width, size_t used, size_t indent,
                      const char *sentence)
{
    size_t column = used;
    bool first = true; /* first word on a line: no space before */

    while (*sentence) {
        size_t length = strcspn(sentence, " "), columns = utf8_columns(sentence, length);

        if (column > indent && column + !first + columns > width) {
            text_addf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        if (!first)
            text_add_char(out, ' ');
        text_add_bytes(out, sentence, length);
        column += columns + !first;
        first = false;
        sentence += length + strspn(sentence + length, " ");
    }
    text_add(out, "\n");
}

void wrap_add(struct text *out, size_t width, size_t used, size_t indent, const char *sentence)
{
    struct text shown = TEXT_INIT;

    escape_add(&shown, sentence);
    add_words(out, width, used, indent, text_get(&shown));
    out->failed |= shown.failed;
    text_fini(&shown);
}

void wrap_join(struct text *out, size_t width, size_t used, size_t indent, struct text *sentence)
{
    wrap_add(out, width, used, indent, text_get(sentence));
    out->failed |= sentence->failed;
    text_fini(sentence);
}
