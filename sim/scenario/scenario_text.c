/* Printing a scenario: its canonical text, or the options alone that differ from their defaults.
 *
 * Defaults depend on the kind of model, its published size and other options, so that they are not
 * computed here: they are read back from a text of what is required.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/yaml.h"
#include "scenario/draft.h"
#include "scenario/scenario.h"
#include "scenario/table.h"

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

/* Whether the text must have an option of this value. */
static bool is_written(struct text *value, const struct brief *b, const struct option *option)
{
    struct text standard = TEXT_INIT;
    bool written;

    if (b->plain)
        print_value(&standard, b->plain, option);
    written = is_needed(b->scenario, option)
                  ? !option->standard || strcmp(text_get(value), option->standard) != 0
                  : b->plain && strcmp(text_get(value), text_get(&standard)) != 0;
    value->failed |= standard.failed;
    text_fini(&standard);
    return written;
}

/* Print the options that the text must have; all, without `b`. */
static void print(struct text *out, const struct scenario *s, const struct brief *b)
{
    struct draft draft = {.out = out, .style = !b || b->blocks ? DRAFT_BLOCK : DRAFT_FIT};
    struct text value = TEXT_INIT;

    draft_set_count(&draft, "version", SCENARIO_VERSION);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (!option_is_of(option, s->model.kind))
            continue;
        print_value(&value, s, option);
        if (!b || is_written(&value, b, option))
            draft_put(&draft, option->section, option->key, text_get(&value));
    }
    text_drop(draft_text(&draft), &value);
    if (strcmp(s->strategy, SCENARIO_DEFAULT_STRATEGY) == 0)
        return;
    text_add(out, "strategies:\n  - {name: ");
    yaml_print_string(out, s->strategy);
    text_add(out, "}\n");
}

void scenario_print(const struct scenario *scenario, struct text *out)
{
    print(out, scenario, NULL);
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
    print(&text, scenario, &brief);
    plain = read(&text);
    brief.plain = plain ? &plain->scenarios[0] : NULL;
    for (int tries = 0; brief.plain && !equal && tries < 2; tries++) {
        brief.blocks = tries > 0; /* some values do not stand in a line */
        text_clear(&text);
        print(&text, scenario, &brief);
        equal = is_equal(&text, &canonical);
    }
    text_add(out, text_get(equal ? &text : &canonical));
    out->failed |= text.failed || canonical.failed;
    scenario_file_destroy(plain);
    text_fini(&text);
    text_fini(&canonical);
}
