/* A result's report with colours for terminals (result_colour.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/result_colour.h"

#include <stdbool.h>
#include <string.h>

#define BOLD "\033[1m"
#define GREEN "\033[32m"
#define RED "\033[1;31m"
#define PLAIN "\033[0m"

/* A title at the beginning of a line, up to two spaces or the line's end. */
static size_t title_length(const char *line, size_t length)
{
    size_t n = 0;

    while (n < length && strncmp(line + n, "  ", 2) != 0)
        n++;
    return length > 0 && line[0] != ' ' ? n : 0;
}

struct verdict {
    const char *words, *colour;
    bool ends; /* the words end the line; else they follow its title */
};

static const struct verdict verdicts[] = {
    {": fits", GREEN, true},
    {": does not fit", RED, true},
    {"NOT OK:", RED, false},
    {"the same, but not finite:", RED, false},
    {"ok:", GREEN, false},
};

/* The verdict in a line, and where its words begin. */
static const struct verdict *find_verdict(const char *line, size_t length, size_t *at)
{
    size_t value = title_length(line, length);

    if (value > 0)
        value += strspn(line + value, " ");
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        size_t n = strlen(verdicts[i].words);

        *at = verdicts[i].ends ? length - n : value;
        if (n <= length && (verdicts[i].ends || value > 0) && *at + n <= length &&
            !strncmp(line + *at, verdicts[i].words, n))
            return &verdicts[i];
    }
    return NULL;
}

static void add_line(struct text *out, const char *line, size_t length)
{
    size_t title = title_length(line, length), at, n;
    const struct verdict *v = find_verdict(line, length, &at);

    if (title > 0) {
        text_add(out, BOLD);
        text_add_bytes(out, line, title);
        text_add(out, PLAIN);
    }
    if (!v) {
        text_add_bytes(out, line + title, length - title);
        return;
    }
    n = strlen(v->words);
    text_add_bytes(out, line + title, at - title);
    text_add(out, v->colour);
    text_add_bytes(out, line + at, n);
    text_add(out, PLAIN);
    text_add_bytes(out, line + at + n, length - at - n);
}

void result_add_coloured(struct text *out, const char *report)
{
    while (*report) {
        size_t length = strcspn(report, "\n");

        add_line(out, report, length);
        report += length;
        if (*report) {
            text_add_char(out, '\n');
            report++;
        }
    }
}
