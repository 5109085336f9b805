/* Outcomes of checks as TAP, JUnit XML and annotations (outcome.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/literal.h"
#include "base/yaml.h"

/* JUnit's types of failures. */
static const char *const types[OUTCOME_NKINDS] = {
    [OUTCOME_PASSED] = "",
    [OUTCOME_SKIPPED] = "",
    [OUTCOME_CHANGED] = "changed",
    [OUTCOME_TOOL_CHANGED] = "changed-by-version",
    [OUTCOME_NEW] = "new",
    [OUTCOME_DOES_NOT_FIT] = "does-not-fit",
    [OUTCOME_WRONG] = "wrong-numbers",
    [OUTCOME_NOT_RUN] = "not-executed",
    [OUTCOME_MISSING] = "missing",
    [OUTCOME_BAD_SCENARIO] = "unreadable-scenario",
    [OUTCOME_BAD_BASELINE] = "unreadable-baseline",
};

static const char *const note_names[OUTCOME_NNOTES] = {"planned", "baseline"};

bool outcome_is_failure(enum outcome_kind kind)
{
    return kind >= OUTCOME_CHANGED && kind <= OUTCOME_MISSING;
}

bool outcome_is_error(enum outcome_kind kind)
{
    return kind >= OUTCOME_BAD_SCENARIO;
}

static bool is_ok(const struct outcome *o)
{
    return !outcome_is_failure(o->kind) && !outcome_is_error(o->kind);
}

bool outcome_init(struct outcome *out, const char *file, const char *suite, const char *name)
{
    *out = (struct outcome){.kind = OUTCOME_PASSED,
                            .file = strdup(file),
                            .suite = strdup(suite),
                            .name = strdup(name),
                            .reasons = DIAG_INIT};
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
    for (size_t i = 0; i < OUTCOME_NNOTES; i++)
        free(outcome->notes[i]);
    diag_fini(&outcome->reasons);
}

bool outcome_set_note(struct outcome *outcome, enum outcome_note note, const char *words)
{
    free(outcome->notes[note]);
    outcome->notes[note] = words ? strdup(words) : NULL;
    return !words || outcome->notes[note];
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

/* The first reason that has a line in some file, as what an option of the command is at has not. */
static const struct diag_message *cause_of(const struct outcome *o)
{
    for (size_t i = 0; i < o->reasons.nmessages; i++)
        if (o->reasons.messages[i].line > 0 && o->reasons.messages[i].file &&
            o->reasons.messages[i].file[0] != '-')
            return &o->reasons.messages[i];
    return NULL;
}

/* ---- TAP ---- */

static void add_block(const struct outcome *o, struct text *out)
{
    struct text reason = TEXT_INIT;

    text_add(out, "  ---\n  file: ");
    yaml_print_quoted(out, o->file);
    text_addf(out, "\n  line: %d\n  %s:\n", line_of(o),
              o->kind == OUTCOME_PASSED ? "accepted" : "reasons");
    for (size_t i = 0; i < o->reasons.nmessages; i++) {
        text_clear(&reason);
        add_reason(o, &o->reasons.messages[i], &reason);
        text_add(out, "    - ");
        yaml_print_quoted(out, text_get(&reason));
        text_add(out, "\n");
    }
    text_add(out, "  ...\n");
    text_drop(out, &reason);
}

/* Add the title with '#' escaped, which would begin a directive in TAP. */
static void add_title(const struct outcome *o, struct text *out)
{
    struct text title = TEXT_INIT;

    text_addf(&title, "%s%s%s", o->suite, o->name[0] ? ": " : "", o->name);
    escape_from(&title, 0);
    for (const char *c = text_get(&title); *c; c++)
        text_add_char(out, *c == '#' ? '_' : *c);
    text_drop(out, &title);
}

/* Add notes after the title, without a TAP directive: TAP readers ignore notes. */
static void add_notes(const struct outcome *o, struct text *out)
{
    for (size_t i = 0, n = 0; i < OUTCOME_NNOTES; i++) {
        if (!o->notes[i])
            continue;
        text_addf(out, "%s%s: ", n++ ? "; " : " # ", note_names[i]);
        escape_add(out, o->notes[i]);
    }
}

void outcome_print_tap(const struct outcome *o, size_t number, struct text *out)
{
    text_addf(out, "%s %zu - ", is_ok(o) ? "ok" : "not ok", number);
    add_title(o, out);
    if (o->kind == OUTCOME_SKIPPED) {
        text_add(out, " # SKIP ");
        escape_add(out, diag_first(&o->reasons, ""));
    } else {
        add_notes(o, out);
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
    text_drop(out, &shown);
}

void outcome_print_annotation(const struct outcome *o, struct text *out)
{
    const struct diag_message *cause = cause_of(o);
    struct text title = TEXT_INIT;

    if (is_ok(o))
        return;
    add_title(o, &title);
    text_add(out, "::error file=");
    add_escaped(out, cause ? cause->file : o->file, true);
    text_addf(out, ",line=%d,title=", cause ? cause->line : 1);
    add_escaped(out, text_get(&title), true);
    text_add(out, "::");
    for (size_t i = 0; i < o->reasons.nmessages; i++) {
        text_add(out, i ? "%0A" : "");
        add_escaped(out, o->reasons.messages[i].text, false);
    }
    text_add(out, "\n");
    text_drop(out, &title);
}

/* ---- JUnit ---- */

static void add_attribute(struct text *out, const char *name, const char *value)
{
    text_addf(out, " %s=\"", name);
    literal_add_xml(out, value);
    text_add(out, "\"");
}

static void add_properties(const struct outcome *o, struct text *out)
{
    bool any = false;

    for (size_t i = 0; i < OUTCOME_NNOTES; i++) {
        if (!o->notes[i])
            continue;
        text_add(out, any ? "" : "      <properties>\n");
        any = true;
        text_add(out, "        <property");
        add_attribute(out, "name", note_names[i]);
        add_attribute(out, "value", o->notes[i]);
        text_add(out, "/>\n");
    }
    text_add(out, any ? "      </properties>\n" : "");
}

/* Add the reason why a check failed or was skipped. */
static void add_fault(const struct outcome *o, struct text *out)
{
    const char *element = outcome_is_failure(o->kind) ? "failure"
                          : outcome_is_error(o->kind) ? "error"
                                                      : "skipped";
    struct text reason = TEXT_INIT;

    text_addf(out, "      <%s", element);
    add_attribute(out, "message", diag_first(&o->reasons, ""));
    if (!is_ok(o))
        add_attribute(out, "type", types[o->kind]);
    text_add(out, ">");
    for (size_t i = 0; !is_ok(o) && i < o->reasons.nmessages; i++) {
        text_clear(&reason);
        add_reason(o, &o->reasons.messages[i], &reason);
        literal_add_xml(out, text_get(&reason));
        text_add(out, "\n");
    }
    text_addf(out, "</%s>\n", element);
    text_drop(out, &reason);
}

static void add_case(const struct outcome *o, struct text *out)
{
    text_add(out, "    <testcase");
    add_attribute(out, "classname", o->suite);
    add_attribute(out, "name", o->name[0] ? o->name : o->suite);
    add_attribute(out, "file", o->file);
    text_addf(out, " line=\"%d\" time=\"%.3f\">\n", line_of(o), (double)o->time_ns * 1e-9);
    add_properties(o, out);
    if (o->kind != OUTCOME_PASSED)
        add_fault(o, out);
    text_add(out, "    </testcase>\n");
}

static void add_counts(const struct outcome *list, size_t n, bool all, struct text *out)
{
    size_t nfailures = 0, nerrors = 0, nskipped = 0;
    uint64_t time_ns = 0;

    for (size_t i = 0; i < n; i++) {
        time_ns += list[i].time_ns;
        nfailures += outcome_is_failure(list[i].kind);
        nerrors += outcome_is_error(list[i].kind);
        nskipped += list[i].kind == OUTCOME_SKIPPED;
    }
    text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\"", n, nfailures,
              nerrors, (double)time_ns * 1e-9);
    if (all) /* the root element has no attribute `skipped` */
        return;
    text_addf(out, " skipped=\"%zu\"", nskipped);
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
