/* The values that a scenario sets apart from its layout rules, option by option.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "scenario/scenario.h"
#include "scenario/table.h"
#include "scenario/types.h"

#define VALUE_MAX 160 /* bytes of a value; a longer one is replaced by its hash */

/* Names, options that describe the layout, and options that limit a run without being part of
 * it. */
static const char *const left_out[] = {
    "name",   "mesh",     "params",    "axes", "partition_axis", "constraints",
    "limits", "hardware", "transfers", "seed", "tolerance",      NULL,
};

static bool is_left_out(const struct option *option)
{
    for (const char *const *name = left_out; *name; name++)
        if (!strcmp(option->section ? option->section : option->key, *name))
            return true;
    return false;
}

/* Append a value on one line, whatever line breaks the canonical text has. */
static void fold(struct text *out, const char *value)
{
    value += strspn(value, " \n");
    while (*value) {
        size_t length = strcspn(value, " \n");

        text_add_bytes(out, value, length);
        value += length;
        value += strspn(value, " \n");
        text_add(out, *value ? " " : "");
    }
}

/* Remove the quotes of a value that is a single quoted string. */
static const char *unquote(struct text *text)
{
    const char *value = text_get(text);
    size_t n = text->length;

    if (n < 2 || value[0] != '\'' || strchr(value + 1, '\'') != value + n - 1)
        return value;
    text->data[n - 1] = '\0';
    return value + 1;
}

/* Print a value; of a file only its name, as its folder differs from machine to machine. */
static void print_value(const struct scenario *scenario, const struct option *option,
                        struct text *out)
{
    struct text text = TEXT_INIT;
    const char *value, *slash;

    option->type->print(scenario, option, &text);
    value = unquote(&text);
    slash = option->type == &value_file ? strrchr(value, '/') : NULL;
    fold(out, slash ? slash + 1 : value);
    out->failed |= text.failed;
    text_fini(&text);
    if (out->length > VALUE_MAX) {
        uint64_t hash = hash_bytes(HASH_BEGIN, text_get(out), out->length);

        text_clear(out);
        text_addf(out, "of hash %016" PRIx64, hash);
    }
}

/* Whether a value equals the option's default; "1.0" equals "1". */
static bool is_standard(const struct option *option, const char *value)
{
    char *end, *end_standard;
    double number, standard;

    if (!option->standard)
        return false;
    if (!strcmp(value, option->standard))
        return true;
    number = strtod(value, &end);
    standard = strtod(option->standard, &end_standard);
    return end != value && !*end && end_standard != option->standard && !*end_standard &&
           number == standard;
}

bool option_is_default(const struct scenario *scenario, const struct option *option)
{
    struct text value = TEXT_INIT;
    bool standard;

    print_value(scenario, option, &value);
    standard = is_standard(option, text_get(&value)); /* "" if memory ran out, reported elsewhere */
    text_fini(&value);
    return standard;
}

int option_is_same(bool *out, const struct scenario *a, const struct scenario *b,
                   const struct option *option)
{
    struct text values[2] = {TEXT_INIT, TEXT_INIT};
    bool failed;

    print_value(a, option, &values[0]);
    print_value(b, option, &values[1]);
    failed = values[0].failed || values[1].failed;
    *out = !failed && !strcmp(text_get(&values[0]), text_get(&values[1]));
    text_fini(&values[0]);
    text_fini(&values[1]);
    return failed ? SHD_ENOMEM : SHD_OK;
}

int scenario_each_given(const struct scenario *scenario, scenario_given_fn fn, void *arg)
{
    struct text value = TEXT_INIT;
    int status = SHD_OK;

    for (size_t i = 0; i < option_count && status == SHD_OK; i++) {
        const struct option *option = &option_table[i];

        if (is_left_out(option) || !option_is_of(option, scenario->model.kind))
            continue;
        text_clear(&value);
        print_value(scenario, option, &value);
        if (value.failed)
            status = SHD_ENOMEM;
        else if (!is_standard(option, text_get(&value)))
            status = fn(arg, option_path(option).text, text_get(&value));
    }
    text_fini(&value);
    return status;
}
