/* Options of what is turned off, which would change nothing (scenario/option_dependents.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/option_dependents.h"

#include <string.h>

#include "scenario/table.h"

static bool has_products(const struct scenario *s)
{
    return s->products.recipe != SCENARIO_NO_RECIPE;
}

static bool has_codes(const struct scenario *s)
{
    return has_products(s) || s->products.weights != SCENARIO_BASE_COMPUTE;
}

static bool has_gathers(const struct scenario *s)
{
    return s->zero.stage == 3;
}

static bool has_adapters(const struct scenario *s)
{
    return s->lora.rank > 0;
}

static bool has_cache(const struct scenario *s)
{
    return scenario_serves(s);
}

static bool has_blocks(const struct scenario *s)
{
    return scenario_cache_bits(s) == 4;
}

static bool has_draft(const struct scenario *s)
{
    return s->decode.draft > 0;
}

static bool has_offload(const struct scenario *s)
{
    return s->offload.parameters || scenario_has_values(&s->offload.activations);
}

/* Options that say how another one is done. */
static const struct dependent {
    const char *section, *key; /* NULL: all of the section */
    const char *of_section, *of_key;
    bool (*is_met)(const struct scenario *s);
    const char *expected;
} dependents[] = {
    {"products", "gradients", "products", "recipe", has_products, "products.recipe"},
    {"products", "amax", "products", "recipe", has_products, "products.recipe"},
    {"products", "gathers", "products", "recipe", has_products, "products.recipe"},
    {"products", "dispatch", "products", "recipe", has_products, "products.recipe"},
    {"products", "kept", "products", "recipe", has_products, "products.recipe"},
    {"products", "block", "products", "recipe", has_codes, "products.recipe or weights"},
    {"products", "except", "products", "recipe", has_codes, "products.recipe or weights"},
    {"products", "gathers", "zero", "stage", has_gathers, "zero.stage 3, which gathers weights"},
    {"lora", "alpha", "lora", "rank", has_adapters, "lora.rank, from 1"},
    {"lora", "start", "lora", "rank", has_adapters, "lora.rank, from 1"},
    {"decode", NULL, NULL, "step", has_cache, "step: [prefill] or [decode]"},
    {"decode", "block", "decode", "cache", has_blocks, "decode.cache: int4 or mxfp4"},
    {"decode", "accepted", "decode", "draft", has_draft, "decode.draft, from 1"},
    {"offload", "prefetch", "offload", "parameters", has_offload,
     "offload.parameters or offload.activations"},
};

/* Whether an option is set on the command line. */
static bool is_set(const struct scenario *s, const struct option *option)
{
    const char *file = s->places[option_id(option)].file;

    return file && !strcmp(file, "--set");
}

/* What one sets to its default, as a strategy of several may, turns off on purpose what is of it;
 * not what is set beside it on the same command line. */
static bool is_turned_off(const struct scenario *s, const struct option *option,
                          const struct option *of)
{
    return s->places[option_id(option)].file && option_is_default(s, option) &&
           !(is_set(s, option) && is_set(s, of));
}

/* Whether an option of a row is given, other than as it is by default. */
static bool is_given(const struct scenario *s, const struct dependent *row, const struct option *o)
{
    return option_is_in(o, row->section) && (!row->key || !strcmp(o->key, row->key)) &&
           s->places[option_id(o)].file && !option_is_default(s, o);
}

void check_dependents(struct reader *r)
{
    const struct scenario *s = r->scenario;

    for (size_t d = 0; d < sizeof dependents / sizeof dependents[0]; d++) {
        const struct dependent *row = &dependents[d];

        if (row->is_met(s))
            continue;
        for (size_t i = 0; i < option_count; i++)
            if (is_given(s, row, &option_table[i]) &&
                !is_turned_off(s, option_find(row->of_section, row->of_key), &option_table[i]))
                diag_error(r->diag, s->places[i], "%s would change nothing; expected %s",
                           option_path(&option_table[i]).text, row->expected);
    }
}
