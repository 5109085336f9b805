/* The list of all options for people.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "scenario/published.h"
#include "scenario/scenario.h"
#include "scenario/table.h"

/* Append "; of gpt2 true; of t5 true" for kinds whose default differs from `standard`. */
static void print_defaults_by_kind(const struct option *option, struct text *out)
{
    for (unsigned k = 0; option->trait && k < SCENARIO_NKINDS; k++) {
        const struct scenario_model *kind = published_kind((enum scenario_kind)k);
        struct scenario s = {.strategy = NULL};
        struct text value = TEXT_INIT;

        if (kind)
            s.model = *kind;
        if (kind && option_is_of(option, k))
            option->type->print(&s, option, &value);
        if (value.length > 0 && strcmp(text_get(&value), option->standard) != 0)
            text_addf(out, "; of %s %s", scenario_kind_name(k), text_get(&value));
        out->failed |= value.failed;
        text_fini(&value);
    }
}

static void print_option_help(const struct option *option, struct text *out)
{
    text_addf(out, "%s: ", option_path(option).text);
    option_expect(option, out);
    if (option->unit)
        text_addf(out, ", in %s", option->unit);
    if (option->kinds)
        text_add(out, "; for models");
    for (unsigned k = 0, n = 0; option->kinds && k < SCENARIO_NKINDS; k++)
        if (option_is_of(option, k))
            text_addf(out, "%s%s", n++ ? ", " : " ", scenario_kind_name(k));
    if (option->required)
        text_add(out, option->sized ? "; required without size or from" : "; required");
    else if (option->standard) {
        text_addf(out, "; default %s", option->standard);
        print_defaults_by_kind(option, out);
    }
    text_addf(out, "\n    %s\n", option->help);
}

size_t scenario_print_options(struct text *out, const char *key)
{
    size_t n = 0;

    for (size_t i = 0; i < option_file_key_count; i++)
        if (!key || strstr(option_file_keys[i].key, key)) {
            text_addf(out, "%s:\n    %s\n", option_file_keys[i].key, option_file_keys[i].help);
            n++;
        }
    for (size_t i = 0; i < option_count; i++)
        if (!key || strstr(option_path(&option_table[i]).text, key)) {
            print_option_help(&option_table[i], out);
            n++;
        }
    return n;
}
