/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/serving_scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/variant.h"

static void add_set(struct serving_sets *sets, const char *key, const char *value)
{
    char *text = sets->texts[sets->n];

    snprintf(text, sizeof sets->texts[0], "%s=%s", key, value);
    sets->each[sets->n++] = text;
}

void serving_sets_make(struct serving_sets *sets, const char *mesh, int64_t batch, bool prefill)
{
    static const char *const of_prefill[][2] = {{"step", "[prefill]"},    {"steps", "1"},
                                                {"decode.tokens", "1"},   {"decode.draft", "0"},
                                                {"decode.accepted", "0"}, {"decode.context", "0"}};
    char number[24];

    sets->n = 0;
    for (const char *axis = mesh; *axis; axis += strspn(axis, ", ")) {
        size_t length = strcspn(axis, ",");
        char *text = sets->texts[sets->n];

        snprintf(text, sizeof sets->texts[0], "mesh.%.*s", (int)length, axis);
        sets->each[sets->n++] = text;
        axis += length;
    }
    snprintf(number, sizeof number, "%" PRId64, batch);
    add_set(sets, "batch.size", number);
    for (size_t i = 0; prefill && i < sizeof of_prefill / sizeof *of_prefill; i++)
        add_set(sets, of_prefill[i][0], of_prefill[i][1]);
}

void serving_sets_make_prompts(struct serving_sets *sets, const char *mesh, int64_t batch,
                               int64_t tokens)
{
    char number[24];

    serving_sets_make(sets, mesh, batch, true);
    snprintf(number, sizeof number, "%" PRId64, tokens);
    add_set(sets, "batch.seq", number);
    add_set(sets, "limits.tokens", "0");
}

/* The only strategy is called as in a file that has none. */
static bool forget_name(struct scenario *scenario)
{
    free(scenario->strategy);
    scenario->strategy = strdup(SCENARIO_DEFAULT_STRATEGY);
    return scenario->strategy != NULL;
}

int serving_scenario_print(struct text *out, const struct trial *trial,
                           const struct serving_layout *layout, struct shd_error *err)
{
    struct text text = TEXT_INIT;
    struct serving_sets sets;
    struct variant_ask ask = {
        .name = "<layout>", .text = &text, .sets = sets.each, .extent = VARIANT_READ};
    struct variant v;
    int status;

    serving_sets_make(&sets, layout->mesh, layout->batch, false);
    ask.nsets = sets.n;
    scenario_print(trial->scenario, &text);
    status = variant_need(&v, &ask, err);
    if (status == SHD_OK) {
        if (forget_name(&v.file->scenarios[0]))
            scenario_print_brief(&v.file->scenarios[0], out);
        else
            status = shd_error_set(err, SHD_ENOMEM, "no memory for the scenario");
        variant_fini(&v);
    }
    text_fini(&text);
    return status;
}

/* Print the values of a prefill as a strategy: keys of one section, which follow each other, in one
 * map. */
static void print_prefill(struct text *out, const struct serving_layout *layout)
{
    struct serving_sets sets;
    const char *section = "";
    size_t length = 0;

    serving_sets_make(&sets, layout->mesh, layout->batch, true);
    text_add(out, "  - name: prefill\n");
    for (size_t i = 0; i < sets.n; i++) {
        const char *key = sets.each[i], *value = strchr(key, '=');
        const char *dot = memchr(key, '.', (size_t)(value - key));
        bool same = dot && length == (size_t)(dot - key) && !strncmp(section, key, length);

        if (!same && length > 0)
            text_add(out, "}\n");
        section = dot ? key : "";
        length = dot ? (size_t)(dot - key) : 0;
        if (!dot) {
            text_addf(out, "    %.*s: %s\n", (int)(value - key), key, value + 1);
            continue;
        }
        text_addf(out, same ? ", " : "    %.*s: {", (int)length, key);
        text_addf(out, "%.*s: %s", (int)(value - dot - 1), dot + 1, value + 1);
    }
    text_add(out, length > 0 ? "}\n" : "");
}

static void print_replicas(struct text *out, const char *name, const struct serving_pool *pool)
{
    text_addf(out, "# %s: %" PRId64 " replica%s of %" PRId64 " device%s\n", name, pool->replicas,
              pool->replicas == 1 ? "" : "s", pool->devices, pool->devices == 1 ? "" : "s");
}

int serving_scenario_print_split(struct text *out, const struct trial *trial,
                                 const struct serving_split *split, struct shd_error *err)
{
    int status;

    text_add(out,
             "# Devices of their own for prompts and for tokens; each strategy is a replica.\n");
    print_replicas(out, "prefill", &split->prefill);
    print_replicas(out, "decode", &split->decode);
    status = serving_scenario_print(out, trial, &split->decode.layout, err);
    text_add(out, "strategies:\n  - name: decode\n");
    print_prefill(out, &split->prefill.layout);
    return status;
}
