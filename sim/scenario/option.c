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

const char *option_path(const struct option *option, char *buf, size_t size)
{
    if (option->section)
        snprintf(buf, size, "%s.%s", option->section, option->key);
    else
        snprintf(buf, size, "%s", option->key);
    return buf;
}

void option_expect(const struct option *option, struct text *out)
{
    text_add(out, option->type->expected);
    if (option->type->print_range)
        option->type->print_range(option, out);
    for (size_t i = 0; option->words && option->words[i]; i++)
        text_addf(out, "%s%s", i ? ", " : "", option->words[i]);
}
