/* Options and their expected values (scenario/option.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/option.h"

#include <stdio.h>
#include <string.h>

bool option_is_in(const struct option *option, const char *section)
{
    return option->section == section ||
           (option->section && section && strcmp(option->section, section) == 0);
}

bool option_is_of(const struct option *option, unsigned kind)
{
    return option->kinds == 0 || (option->kinds >> kind & 1);
}

struct option_path option_path(const struct option *option)
{
    struct option_path out;

    snprintf(out.text, sizeof out.text, "%s%s%s", option->section ? option->section : "",
             option->section ? "." : "", option->key);
    return out;
}

void option_expect(const struct option *option, struct text *out)
{
    text_add(out, option->type->expected);
    if (option->type->print_range)
        option->type->print_range(option, out);
    for (size_t i = 0; option->words && option->words[i]; i++)
        text_addf(out, "%s%s", i ? ", " : "", option->words[i]);
}
