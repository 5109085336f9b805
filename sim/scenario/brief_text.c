/* Printing a scenario with the options alone that differ from their defaults.
 *
 * Defaults depend on the kind of model, its published size and other options, so that they are not
 * computed here: they are read back from a text of what is required.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/yaml.h"
#include "scenario/scenario.h"
#include "scenario/table.h"

#define LINE_COLUMNS 120 /* of a section on one line */

struct brief {
    const struct scenario *scenario;
    const struct scenario *plain; /* with defaults in all that is not required; NULL: unknown */
    bool blocks;                  /* each option of a section on a line of its own */
};

static bool is_published(const struct scenario *s)
{
    return s->model.size || s->model.from;
}

/* Without the option no scenario can be read, or another model. */
static bool is_needed(const struct scenario *s, const struct option *option)
{
    struct option_path path = option_path(option);
    bool sized = is_published(s) && option->sized;

    return (option->required && !sized) || !strcmp(path.text, "model.size") ||
           !strcmp(path.text, "model.from");
}

static void print_value(struct text *out, const struct scenario *s, const struct option *option)
{
    text_clear(out);
    option->type->print(s, option, out);
}

/* Print the value of an option that the text must have; false: it need not. */
static bool is_written(struct text *value, const struct brief *b, const struct option *option)
{
    struct text standard = TEXT_INIT;
    bool written;

    if (!option_is_of(option, b->scenario->model.kind))
        return false;
    print_value(value, b->scenario, option);
    if (b->plain)
        print_value(&standard, b->plain, option);
    written = is_needed(b->scenario, option)
                  ? !option->standard || strcmp(text_get(value), option->standard) != 0
                  : b->plain && strcmp(text_get(value), text_get(&standard)) != 0;
    value->failed |= standard.failed;
    text_fini(&standard);
    return written;
}

static void add_option(struct text *out, const char *indent, const struct option *option,
                       const char *value)
{
    text_addf(out, "%s%s:%s%s\n", indent, option->key, value[0] == '\n' ? "" : " ", value);
}

/* A section's options on one line, if they have room there, or below one another. */
struct section {
    struct text line, block;
    bool folds;
};

static void add_to_section(struct section *s, const struct option *option, const char *value)
{
    s->folds &= !strchr(value, '\n');
    text_addf(&s->line, "%s%s: %s", s->line.length > 0 ? ", " : "", option->key, value);
    add_option(&s->block, "  ", option, value);
}

static void end_section(struct text *out, struct section *s, const char *name, bool blocks)
{
    if (s->line.length > 0 && s->folds && !blocks &&
        s->line.length + strlen(name) + 4 <= LINE_COLUMNS)
        text_addf(out, "%s: {%s}\n", name, text_get(&s->line));
    else if (s->line.length > 0)
        text_addf(out, "%s:\n%s", name, text_get(&s->block));
    out->failed |= s->line.failed || s->block.failed;
    text_clear(&s->line);
    text_clear(&s->block);
    s->folds = true;
}

static void print(struct text *out, const struct brief *b)
{
    struct section section = {.folds = true};
    struct text value = TEXT_INIT;
    const char *name = NULL;

    text_addf(out, "version: %d\n", SCENARIO_VERSION);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (name && (!option->section || strcmp(option->section, name) != 0))
            end_section(out, &section, name, b->blocks);
        name = option->section;
        if (!is_written(&value, b, option))
            continue;
        if (name)
            add_to_section(&section, option, text_get(&value));
        else
            add_option(out, "", option, text_get(&value));
    }
    if (name)
        end_section(out, &section, name, b->blocks);
    if (strcmp(b->scenario->strategy, SCENARIO_DEFAULT_STRATEGY) != 0) {
        text_add(out, "strategies:\n  - {name: ");
        yaml_print_string(out, b->scenario->strategy);
        text_add(out, "}\n");
    }
    out->failed |= value.failed;
    text_fini(&value);
    text_fini(&section.line);
    text_fini(&section.block);
}

static struct scenario_file *read(const struct text *text)
{
    struct scenario_file *file = NULL;
    struct diag diag = DIAG_INIT;

    if (scenario_parse(&file, "<brief>", text_get(text), text->length, NULL, 0, &diag) != SHD_OK)
        file = NULL;
    diag_fini(&diag);
    return file;
}

/* Whether a text loads as an equal scenario: it has the same canonical text. */
static bool is_equal(const struct text *text, const struct text *canonical)
{
    struct scenario_file *file = read(text);
    struct text again = TEXT_INIT;
    bool equal;

    if (file)
        scenario_print(&file->scenarios[0], &again);
    equal = file && !again.failed && !strcmp(text_get(&again), text_get(canonical));
    scenario_file_destroy(file);
    text_fini(&again);
    return equal;
}

void scenario_print_brief(const struct scenario *scenario, struct text *out)
{
    struct brief brief = {.scenario = scenario};
    struct text text = TEXT_INIT, canonical = TEXT_INIT;
    struct scenario_file *plain;
    bool equal = false;

    scenario_print(scenario, &canonical);
    print(&text, &brief);
    plain = read(&text);
    brief.plain = plain ? &plain->scenarios[0] : NULL;
    for (int tries = 0; brief.plain && !equal && tries < 2; tries++) {
        brief.blocks = tries > 0; /* some values do not stand in a line */
        text_clear(&text);
        print(&text, &brief);
        equal = is_equal(&text, &canonical);
    }
    text_add(out, text_get(equal ? &text : &canonical));
    out->failed |= text.failed || canonical.failed;
    scenario_file_destroy(plain);
    text_fini(&text);
    text_fini(&canonical);
}
