/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/serving_scenario.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/draft.h"

void serving_ask(struct variant_ask *ask, const char *mesh, int64_t batch, bool prefill)
{
    static const char *const of_prefill[] = {"step=[prefill]",    "steps=1",
                                             "decode.tokens=1",   "decode.draft=0",
                                             "decode.accepted=0", "decode.context=0"};

    for (const char *axis = mesh; *axis; axis += strspn(axis, ", ")) {
        size_t length = strcspn(axis, ",");

        text_addf(variant_set(ask), "mesh.%.*s", (int)length, axis);
        axis += length;
    }
    text_addf(variant_set(ask), "batch.size=%" PRId64, batch);
    for (size_t i = 0; prefill && i < sizeof of_prefill / sizeof *of_prefill; i++)
        text_add(variant_set(ask), of_prefill[i]);
}

void serving_ask_prompts(struct variant_ask *ask, const char *mesh, int64_t batch, int64_t tokens)
{
    serving_ask(ask, mesh, batch, true);
    text_addf(variant_set(ask), "batch.seq=%" PRId64, tokens);
    text_add(variant_set(ask), "limits.tokens=0");
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
    struct variant_ask ask = {.name = "<layout>", .text = &text, .extent = VARIANT_READ};
    struct variant v;
    int status;

    serving_ask(&ask, layout->mesh, layout->batch, false);
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

/* Print the values of a prefill as a strategy. */
static void print_prefill(struct text *out, const struct serving_layout *layout)
{
    struct draft draft = {.out = out, .indent = "    "};
    struct variant_ask ask = {.nsets = 0};

    serving_ask(&ask, layout->mesh, layout->batch, true);
    text_add(out, "  - name: prefill\n");
    for (size_t i = 0; i < ask.nsets; i++) {
        char *value = ask.sets[i].failed ? NULL : strchr(ask.sets[i].data, '=');

        out->failed |= !value;
        if (!value)
            continue;
        *value = '\0';
        draft_set(&draft, ask.sets[i].data, "%s", value + 1);
    }
    (void)draft_text(&draft);
    variant_forget(&ask);
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

    text_add(out, "# Separate prefill and decode devices; each strategy is a replica.\n");
    print_replicas(out, "prefill", &split->prefill);
    print_replicas(out, "decode", &split->decode);
    status = serving_scenario_print(out, trial, &split->decode.layout, err);
    text_add(out, "strategies:\n  - name: decode\n");
    print_prefill(out, &split->prefill.layout);
    return status;
}
