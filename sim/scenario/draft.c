/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/draft.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_out.h"
#include "base/yaml.h"

#define LINE_COLUMNS 120 /* of a section on one line */

static bool is_block(const struct draft *d)
{
    return d->block || d->style == DRAFT_BLOCK ||
           (d->style == DRAFT_FIT &&
            (d->line.length + d->length + 4 > LINE_COLUMNS || strchr(text_get(&d->line), '\n')));
}

struct text *draft_text(struct draft *draft)
{
    const char *indent = draft->indent ? draft->indent : "";
    bool block = is_block(draft);

    if (!draft->section)
        return draft->out;
    if (draft->length == 0)
        text_addf(draft->out, "%s%s", indent, text_get(&draft->line));
    else
        text_addf(draft->out, block ? "%s%.*s:%s" : "%s%.*s: {%s}", indent, (int)draft->length,
                  draft->section, text_get(block ? &draft->lines : &draft->line));
    if (draft->remark && (draft->length == 0 || !block))
        text_add(draft->out, draft->remark);
    text_add(draft->out, "\n");
    text_drop(draft->out, &draft->line);
    text_drop(draft->out, &draft->lines);
    draft->section = draft->remark = NULL;
    draft->block = false;
    return draft->out;
}

/* Set an option of the section that is the first `length` bytes of a text. */
static void put(struct draft *d, const char *section, size_t length, const char *key,
                const char *value)
{
    const char *space = value[0] == '\n' ? "" : " ";
    bool same =
        d->section && length > 0 && length == d->length && !strncmp(d->section, section, length);

    if (!same)
        (void)draft_text(d);
    d->section = section;
    d->length = length;
    text_addf(&d->line, "%s%s:%s%s", d->line.length > 0 ? ", " : "", key, space, value);
    text_addf(&d->lines, "\n%s  %s:%s%s", d->indent ? d->indent : "", key, space, value);
}

void draft_put(struct draft *draft, const char *section, const char *key, const char *value)
{
    put(draft, section ? section : "", section ? strlen(section) : 0, key, value);
}

/* Set an option by its path, and free the value. */
static void put_path(struct draft *d, const char *path, struct text *value)
{
    const char *dot = strchr(path, '.');

    put(d, path, dot ? (size_t)(dot - path) : 0, dot ? dot + 1 : path, text_get(value));
    text_drop(d->out, value);
}

void draft_set(struct draft *draft, const char *path, const char *fmt, ...)
{
    struct text value = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&value, fmt, args);
    va_end(args);
    put_path(draft, path, &value);
}

void draft_set_string(struct draft *draft, const char *path, const char *value)
{
    struct text quoted = TEXT_INIT;

    yaml_print_string(&quoted, value);
    put_path(draft, path, &quoted);
}

void draft_set_count(struct draft *draft, const char *path, int64_t value)
{
    draft_set(draft, path, "%" PRId64, value);
}

void draft_set_bool(struct draft *draft, const char *path, bool value)
{
    draft_set(draft, path, value ? "true" : "false");
}

void draft_set_number(struct draft *draft, const char *path, double value)
{
    char number[32];

    draft_set(draft, path, "%s", json_out_print_double(number, sizeof number, value));
}

void draft_block(struct draft *draft)
{
    (void)draft_text(draft);
    draft->block = true;
}

void draft_remark(struct draft *draft, const char *remark)
{
    text_add(&draft->lines, remark);
    draft->remark = remark;
}
