/* The values of pipeline.layers, a list with the number of layers in each stage, a layout as
 * Megatron-LM writes it, or `weighed`; and of pipeline.place, a list of name patterns and their
 * stages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shd/regex.h>

#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/stage_layout.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

/* ---- layers ---- */

#define WEIGHED "weighed"

static void clear_layers(struct scenario *scenario, const struct option *option)
{
    (void)option;
    free(scenario->pipeline.layers);
    scenario->pipeline.layers = NULL;
    scenario->pipeline.nlayers = 0;
    scenario->pipeline.weighed = false;
}

static void read_count(struct reader *r, const struct yaml_node *node)
{
    struct scenario_pipeline *p = &r->scenario->pipeline;
    int64_t value, *count;

    if (!yaml_read_int(node, &value) || value < 0 || value > INT32_MAX) {
        diag_error(r->diag, node->place,
                   "an entry of pipeline.layers is %s; expected the number of layers of a stage",
                   yaml_describe(node).text);
        return;
    }
    count = value_append(r, &p->layers, &p->nlayers, sizeof(*count), SCENARIO_STAGES_MAX, node);
    if (count)
        *count = value;
}

/* Read `weighed`, or a layout with a stage between bars. */
static void read_word(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_pipeline *p = &r->scenario->pipeline;
    struct shd_error err;
    int status;

    if (strcmp(node->text, WEIGHED) == 0) {
        p->weighed = true;
    } else if (!strchr(node->text, '|')) {
        value_error(r, option, node);
    } else {
        status = stage_layout_parse(&p->layers, &p->nlayers, node->text, &err);
        if (status == SHD_ENOMEM)
            value_no_memory(r);
        else if (status != SHD_OK)
            diag_failure(r->diag, node->place, status, "pipeline.layers: %s", err.text);
    }
}

static void read_layers(struct reader *r, const struct option *option,
                        const struct yaml_node *node)
{
    clear_layers(r->scenario, option);
    if (yaml_is_null(node))
        return;
    if (node->kind == YAML_TEXT) {
        read_word(r, option, node);
        return;
    }
    if (node->kind != YAML_LIST || node->nitems == 0) {
        value_error(r, option, node);
        return;
    }
    for (size_t i = 0; i < node->nitems; i++)
        read_count(r, node->items[i]);
}

static void print_layers(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    const struct scenario_pipeline *p = &scenario->pipeline;

    (void)option;
    for (size_t i = 0; i < p->nlayers; i++)
        text_addf(out, "%s%" PRId64, i == 0 ? "[" : ", ", p->layers[i]);
    text_add(out, p->nlayers > 0 ? "]" : p->weighed ? WEIGHED : "null");
}

const struct value_type value_layers = {
    .expected = "the number of layers of each stage, for example [3, 5] or \"Et*3|t*5,L\"; "
                "weighed, for stages of even work; or null, for even numbers",
    .read = read_layers,
    .print = print_layers,
    .clear = clear_layers,
    .keywords = SCHEMA_KEYWORDS(
        {"anyOf", "[{\"type\": \"null\"}, {\"enum\": [\"" WEIGHED "\"]}, {\"type\": \"string\", "
                  "\"pattern\": \"[|]\"}, {\"type\": \"array\", \"minItems\": 1, "
                  "\"items\": {\"type\": \"integer\", \"minimum\": 0}}]"}),
};

/* ---- places ---- */

static void clear_places(struct scenario *scenario, const struct option *option)
{
    (void)option;
    for (size_t i = 0; i < scenario->pipeline.nplaces; i++)
        free(scenario->pipeline.places[i].pattern);
    free(scenario->pipeline.places);
    scenario->pipeline.places = NULL;
    scenario->pipeline.nplaces = 0;
}

static bool is_pattern(struct reader *r, const char *pattern, struct place place)
{
    struct shd_regex *regex;
    struct shd_error err;
    int status = shd_regex_compile(&regex, pattern, &err);

    if (status == SHD_OK)
        shd_regex_destroy(regex);
    else
        diag_failure(r->diag, place, status, "pattern: %s", err.text);
    return status == SHD_OK;
}

static void read_place(struct reader *r, const struct yaml_node *node)
{
    struct scenario_pipeline *p = &r->scenario->pipeline;
    struct scenario_stage_place *place = NULL;
    char *pattern;
    int64_t stage;

    if (node->kind != YAML_LIST || node->nitems != 2 || !yaml_read_int(node->items[1], &stage) ||
        stage < 0 || stage >= SCENARIO_STAGES_MAX) {
        diag_error(r->diag, node->place,
                   "an entry of pipeline.place is %s; expected [pattern, stage], such as "
                   "[embed.*, 0]",
                   yaml_describe(node).text);
        return;
    }
    pattern = value_read_name(r, "a pattern", node->items[0]);
    if (pattern && is_pattern(r, pattern, node->items[0]->place))
        place = value_append(r, &p->places, &p->nplaces, sizeof(*place), SCENARIO_STAGES_MAX, node);
    if (place)
        *place = (struct scenario_stage_place){pattern, stage, node->items[0]->place};
    else
        free(pattern);
}

static void read_places(struct reader *r, const struct option *option,
                        const struct yaml_node *node)
{
    clear_places(r->scenario, option);
    if (node->kind != YAML_LIST) {
        value_error(r, option, node);
        return;
    }
    for (size_t i = 0; i < node->nitems; i++)
        read_place(r, node->items[i]);
}

static void print_places(const struct scenario *scenario, const struct option *option,
                         struct text *out)
{
    const struct scenario_pipeline *p = &scenario->pipeline;

    (void)option;
    text_add(out, "[");
    for (size_t i = 0; i < p->nplaces; i++) {
        text_add(out, i == 0 ? "[" : ", [");
        yaml_print_string(out, p->places[i].pattern);
        text_addf(out, ", %" PRId64 "]", p->places[i].stage);
    }
    text_add(out, "]");
}

const struct value_type value_places = {
    .expected = "a list of [pattern, stage], for example [[embed.*, 0], [head.*, 3]]",
    .read = read_places,
    .print = print_places,
    .clear = clear_places,
    .keywords = SCHEMA_KEYWORDS(
        {"type", "\"array\""},
        {"items",
         "{\"type\": \"array\", \"minItems\": 2, \"maxItems\": 2, \"items\": [" SCHEMA_A_NAME
         ", {\"type\": \"integer\", \"minimum\": 0}]}"}),
};
