/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "report/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json_out.h"

bool outcome_init(struct outcome *out, const char *file, const char *suite, const char *name)
{
    *out = (struct outcome){OUTCOME_PASSED, strdup(file), strdup(suite), strdup(name), DIAG_INIT};
    if (out->file && out->suite && out->name)
        return true;
    outcome_fini(out);
    return false;
}

void outcome_fini(struct outcome *outcome)
{
    free(outcome->file);
    free(outcome->suite);
    free(outcome->name);
    diag_fini(&outcome->reasons);
}

/* "line 9: text" where the message has a place in the file, "other:9: text" elsewhere. */
static void add_reason(const struct outcome *o, const struct diag_message *m, struct text *out)
{
    if (m->file && m->line > 0 && !strcmp(m->file, o->file))
        text_addf(out, "line %d: ", m->line);
    else if (m->file && m->line > 0)
        text_addf(out, "%s:%d: ", m->file, m->line);
    text_add(out, m->text);
}

/* The line to look at: that of the first message of this file. */
static int line_of(const struct outcome *o)
{
    for (size_t i = 0; i < o->reasons.nmessages; i++)
        if (o->reasons.messages[i].line > 0 && o->reasons.messages[i].file &&
            !strcmp(o->reasons.messages[i].file, o->file))
            return o->reasons.messages[i].line;
    return 1;
}

/* ---- TAP ---- */

/* A quoted string of JSON is one of YAML. */
static void add_quoted(struct text *out, const char *string)
{
    struct json_out json;

    json_out_init_text(&json, out, JSON_OUT_COMPACT);
    json_out_string(&json, string);
    (void)json_out_fini(&json); /* a lack of memory is in the text */
}

static void add_block(const struct outcome *o, struct text *out)
{
    struct text reason = TEXT_INIT;

    text_add(out, "  ---\n  file: ");
    add_quoted(out, o->file);
    text_addf(out, "\n  line: %d\n  %s:\n", line_of(o),
              o->kind == OUTCOME_PASSED ? "accepted" : "reasons");
    for (size_t i = 0; i < o->reasons.nmessages; i++) {
        text_clear(&reason);
        add_reason(o, &o->reasons.messages[i], &reason);
        text_add(out, "    - ");
        add_quoted(out, text_get(&reason));
        text_add(out, "\n");
    }
    text_add(out, "  ...\n");
    out->failed |= reason.failed;
    text_fini(&reason);
}

/* In TAP a '#' would begin a directive, so it is escaped. */
static void add_title(const struct outcome *o, struct text *out)
{
    struct text title = TEXT_INIT;

    text_addf(&title, "%s%s%s", o->suite, o->name[0] ? ": " : "", o->name);
    escape_from(&title, 0);
    for (const char *c = text_get(&title); *c; c++)
        text_add_char(out, *c == '#' ? '_' : *c);
    out->failed |= title.failed;
    text_fini(&title);
}

void outcome_print_tap(const struct outcome *o, size_t number, struct text *out)
{
    text_addf(out, "%s %zu - ", o->kind == OUTCOME_FAILED ? "not ok" : "ok", number);
    add_title(o, out);
    if (o->kind == OUTCOME_SKIPPED) {
        text_add(out, " # SKIP ");
        escape_add(out, o->reasons.nmessages ? o->reasons.messages[0].text : "");
    }
    text_add(out, "\n");
    if (o->kind != OUTCOME_SKIPPED && o->reasons.nmessages)
        add_block(o, out);
}

/* ---- GitHub Actions ---- */

/* Escaped as the runner of GitHub reads it: in the value of a property ',' and ':' are escaped too.
 * Names of files are shown as base/escape.h says, as everywhere. */
static void add_escaped(struct text *out, const char *string, bool property)
{
    struct text shown = TEXT_INIT;

    escape_add(&shown, string);
    for (const char *c = text_get(&shown); *c; c++) {
        if (*c == '%' || (property && (*c == ':' || *c == ',')))
            text_addf(out, "%%%02X", (unsigned char)*c);
        else
            text_add_char(out, *c);
    }
    out->failed |= shown.failed;
    text_fini(&shown);
}

void outcome_print_annotation(const struct outcome *o, struct text *out)
{
    struct text title = TEXT_INIT;

    if (o->kind != OUTCOME_FAILED)
        return;
    add_title(o, &title);
    text_add(out, "::error file=");
    add_escaped(out, o->file, true);
    text_addf(out, ",line=%d,title=", line_of(o));
    add_escaped(out, text_get(&title), true);
    text_add(out, "::");
    for (size_t i = 0; i < o->reasons.nmessages; i++) {
        text_add(out, i ? "%0A" : "");
        add_escaped(out, o->reasons.messages[i].text, false);
    }
    text_add(out, "\n");
    out->failed |= title.failed;
    text_fini(&title);
}

/* ---- JUnit ---- */

/* What is shown is UTF-8 and of the characters that XML 1.0 allows. */
static void add_xml(struct text *out, const char *string)
{
    static const char special[] = "&<>\"";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    struct text shown = TEXT_INIT;

    escape_add(&shown, string);
    for (const char *c = text_get(&shown); *c; c++) {
        const char *at = strchr(special, *c);

        if (at)
            text_add(out, names[at - special]);
        else
            text_add_char(out, *c);
    }
    out->failed |= shown.failed;
    text_fini(&shown);
}

static void add_attribute(struct text *out, const char *name, const char *value)
{
    text_addf(out, " %s=\"", name);
    add_xml(out, value);
    text_add(out, "\"");
}

static void add_case(const struct outcome *o, struct text *out)
{
    const char *first = o->reasons.nmessages ? o->reasons.messages[0].text : "";
    struct text reasons = TEXT_INIT;

    text_add(out, "    <testcase");
    add_attribute(out, "classname", o->suite);
    add_attribute(out, "name", o->name[0] ? o->name : o->suite);
    if (o->kind == OUTCOME_PASSED) {
        text_add(out, "/>\n");
        return;
    }
    text_addf(out, ">\n      <%s", o->kind == OUTCOME_FAILED ? "failure" : "skipped");
    add_attribute(out, "message", first);
    text_add(out, o->kind == OUTCOME_FAILED ? " type=\"changed\">" : ">");
    for (size_t i = 0; o->kind == OUTCOME_FAILED && i < o->reasons.nmessages; i++) {
        text_clear(&reasons);
        add_reason(o, &o->reasons.messages[i], &reasons);
        add_xml(out, text_get(&reasons));
        text_add(out, "\n");
    }
    text_addf(out, "</%s>\n    </testcase>\n", o->kind == OUTCOME_FAILED ? "failure" : "skipped");
    out->failed |= reasons.failed;
    text_fini(&reasons);
}

static void add_counts(const struct outcome *list, size_t n, bool all, struct text *out)
{
    size_t failed = 0, skipped = 0;

    for (size_t i = 0; i < n; i++) {
        failed += list[i].kind == OUTCOME_FAILED;
        skipped += list[i].kind == OUTCOME_SKIPPED;
    }
    text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\"", n, failed);
    if (all) /* the root element has no such attribute */
        return;
    text_addf(out, " skipped=\"%zu\"", skipped);
}

void outcome_print_junit(const struct outcome *list, size_t n, struct text *out)
{
    text_add(out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"shardsim check\"");
    add_counts(list, n, true, out);
    text_add(out, ">\n");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(list[end].suite, list[i].suite); end++)
            ;
        text_add(out, "  <testsuite");
        add_attribute(out, "name", list[i].suite);
        add_counts(list + i, end - i, false, out);
        text_add(out, ">\n");
        for (size_t k = i; k < end; k++)
            add_case(&list[k], out);
        text_add(out, "  </testsuite>\n");
    }
    text_add(out, "</testsuites>\n");
}
