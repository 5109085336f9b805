/* The list of all options for people.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "scenario/published.h"
#include "scenario/scenario.h"
#include "scenario/table.h"

/* The default of an option for models of kind k; empty: the kind has none of its own. */
static void print_default(const struct option *option, unsigned k, struct text *out)
{
    const struct scenario_model *kind = published_kind((enum scenario_kind)k);
    struct scenario s = {.strategy = NULL};

    if (!kind || !option->trait || !option_is_of(option, k))
        return;
    s.model = *kind;
    option->type->print(&s, option, out);
}

static bool is_same_value(const char *a, const char *b)
{
    char *end_a, *end_b;
    bool equal = strtod(a, &end_a) == strtod(b, &end_b);

    return !strcmp(a, b) || (equal && *a && *b && !*end_a && !*end_b);
}

/* Append "; for gpt2, t5: true" for kinds whose default differs from `standard`. */
static void print_defaults_by_kind(const struct option *option, struct text *out)
{
    struct text values[SCENARIO_NKINDS];

    for (unsigned k = 0; k < SCENARIO_NKINDS; k++) {
        values[k] = (struct text)TEXT_INIT;
        print_default(option, k, &values[k]);
        out->failed |= values[k].failed;
    }
    for (unsigned k = 0; k < SCENARIO_NKINDS; k++) {
        struct text value = values[k];

        if (value.length > 0 && !is_same_value(text_get(&value), option->standard)) {
            text_addf(out, "; for %s", scenario_kind_name(k));
            for (unsigned i = k + 1; i < SCENARIO_NKINDS; i++)
                if (values[i].length > 0 && !strcmp(text_get(&values[i]), text_get(&value))) {
                    text_addf(out, ", %s", scenario_kind_name(i));
                    text_fini(&values[i]);
                    values[i] = (struct text)TEXT_INIT;
                }
            text_addf(out, ": %s", text_get(&value));
        }
        text_fini(&value);
    }
}

/* Append the kinds of models that have the option, or those that do not, if these are fewer. */
static void print_kinds(const struct option *option, struct text *out)
{
    unsigned of = 0;

    for (unsigned k = 0; k < SCENARIO_NKINDS; k++)
        of += option_is_of(option, k);
    text_add(out, of > SCENARIO_NKINDS / 2 ? "; not for models" : "; for models");
    for (unsigned k = 0, n = 0; k < SCENARIO_NKINDS; k++)
        if (option_is_of(option, k) != (of > SCENARIO_NKINDS / 2))
            text_addf(out, "%s%s", n++ ? ", " : " ", scenario_kind_name(k));
}

static void print_option_help(const struct option *option, struct text *out)
{
    text_addf(out, "%s: ", option_path(option).text);
    option_expect(option, out);
    if (option->unit)
        text_addf(out, ", in %s", option->unit);
    if (option->kinds)
        print_kinds(option, out);
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
