/* The canonical text of a scenario.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/yaml.h"
#include "scenario/option.h"
#include "scenario/scenario.h"
#include "scenario/value.h"

static void print_option(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    struct text value = TEXT_INIT;

    value_type_get(option->type)->print(scenario, option, &value);
    text_addf(out, "%s%s:%s", option->section ? "  " : "", option->key,
              text_get(&value)[0] == '\n' ? "" : " ");
    text_join(out, &value);
    text_add_char(out, '\n');
}

void scenario_print(const struct scenario *scenario, struct text *out)
{
    const char *section = NULL;

    text_addf(out, "version: %d\n", SCENARIO_VERSION);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        if (!option_is_of(option, scenario->model.kind))
            continue;
        if (option->section && (!section || strcmp(option->section, section) != 0))
            text_addf(out, "%s:\n", option->section);
        section = option->section;
        print_option(scenario, option, out);
    }
    if (strcmp(scenario->strategy, SCENARIO_DEFAULT_STRATEGY) == 0)
        return;
    text_add(out, "strategies:\n  - {name: ");
    yaml_print_string(out, scenario->strategy);
    text_add(out, "}\n");
}
