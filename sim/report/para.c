/* Filling paragraphs of a report (para.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/para.h"

#include <string.h>

#include "base/escape.h"

void para_add(struct para *p, const char *item, size_t nbytes)
{
    struct text shown = TEXT_INIT;
    size_t length, columns = p->columns ? p->columns : PARA_COLUMNS;

    escape_add_bytes(&shown, item, nbytes);
    length = shown.length;
    if (p->column > p->indent && p->column + 1 + length > columns) {
        text_addf(p->out, "\n%*s", (int)p->indent, "");
        p->column = p->indent;
    } else if (p->column > p->indent) {
        text_add_char(p->out, ' ');
        p->column++;
    }
    text_add(p->out, text_get(&shown));
    p->column += length;
    text_drop(p->out, &shown);
}

void para_print(struct text *out, size_t columns, size_t indent, const char *sentence)
{
    struct para p = {out, columns, indent, indent};

    while (*sentence) {
        size_t length = strcspn(sentence, " ");

        para_add(&p, sentence, length);
        sentence += length + strspn(sentence + length, " ");
    }
    text_add(out, "\n");
}

void para_print_titled(struct text *out, size_t columns, size_t indent, const char *title,
                       struct text *line)
{
    text_addf(out, "%-*s", (int)indent, title);
    para_print(out, columns, indent, text_get(line));
    text_drop(out, line);
}
