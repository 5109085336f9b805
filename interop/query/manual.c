/* Printing an op's documentation (manual.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/manual.h"

/* Print an example, in which ' stands for " to keep it readable in C. */
static void add_json(struct text *out, const char *json)
{
    for (; *json; json++)
        text_add_char(out, (char)(*json == '\'' ? '"' : *json));
}

static void add_fields(struct text *out, const struct query_field *fields, bool asked)
{
    for (const struct query_field *f = fields; f && f->type; f++) {
        text_addf(out, "  %s: %s", *f->name ? f->name : "(any)", f->type);
        if (asked)
            text_addf(out, "; %s%s", f->fallback ? "default " : "required",
                      f->fallback ? f->fallback : "");
        text_addf(out, "\n      %s\n", f->about);
    }
}

void manual_print(struct text *out, const struct query_op *op)
{
    text_addf(out, "%s: %s\n\nInput:\n", op->name, op->about);
    add_fields(out, op->in, true);
    text_addf(out, "\nOutput: %s\n", op->gives);
    add_fields(out, op->out, false);
    if (op->errors)
        text_addf(out, "\nErrors: %s\n", op->errors);
    text_addf(out, "\nExample:\n  {\"id\": 1, \"op\": \"%s\", \"in\": ", op->name);
    add_json(out, op->question);
    text_add(out, "}\n  {\"id\":1,");
    add_json(out, op->reply);
    text_add(out, "}\n");
}
