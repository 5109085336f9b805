/* Filling paragraphs of a report (para.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/para.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

void para_add(struct para *p, const char *item, size_t nbytes)
{
    struct text shown = TEXT_INIT;
    size_t length, columns = p->columns ? p->columns : PARA_COLUMNS;

    escape_add_bytes(&shown, item, nbytes);
    length = utf8_columns(text_get(&shown), shown.length);
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

/* Bytes of the first word, with the words behind it that it stays with: "2.5", "ms,". */
static size_t item_length(const char *words)
{
    size_t length = strcspn(words, " ");

    while (isdigit((unsigned char)words[0]) && isdigit((unsigned char)words[length - 1]) &&
           words[length] == ' ')
        length += 1 + strcspn(words + length + 1, " ");
    return length;
}

static void fold_line(struct text *out, size_t columns, size_t indent, const char *line,
                      size_t length)
{
    struct para p = {out, columns, indent, indent};
    size_t label = length < indent ? length : indent;

    text_add_bytes(out, line, label);
    for (const char *at = line + label, *end = line + length; at < end;) {
        size_t item = item_length(at);

        item = item < (size_t)(end - at) ? item : (size_t)(end - at);
        para_add(&p, at, item);
        at += item + strspn(at + item, " ");
    }
}

void para_fold(struct text *out, size_t columns, size_t indent, struct text *lines)
{
    for (const char *line = text_get(lines); *line;) {
        size_t length = strcspn(line, "\n");
        bool json = line[strspn(line, " ")] == '{';

        if (!json && utf8_columns(line, length) > (columns ? columns : PARA_COLUMNS))
            fold_line(out, columns, indent, line, length);
        else
            text_add_bytes(out, line, length);
        text_add(out, "\n");
        line += length + (line[length] == '\n');
    }
    text_drop(out, lines);
}
