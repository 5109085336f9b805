/* The value of model.layer_types: null, or a list of words, what tokens of each layer attend to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

static const char *const words[SCENARIO_NLAYER_TYPES] = {
    [SCENARIO_LAYER_FULL] = "full",
    [SCENARIO_LAYER_WINDOW] = "window",
    [SCENARIO_LAYER_CHUNK] = "chunk",
    [SCENARIO_LAYER_FULL_PLAIN] = "full-plain",
    [SCENARIO_LAYER_WINDOW_PLAIN] = "window-plain",
    [SCENARIO_LAYER_CHUNK_PLAIN] = "chunk-plain",
    [SCENARIO_LAYER_DELTA] = "delta",
    [SCENARIO_LAYER_KDA] = "kda",
    [SCENARIO_LAYER_MAMBA] = "mamba",
    [SCENARIO_LAYER_CONV] = "conv",
    [SCENARIO_LAYER_LIGHTNING] = "lightning",
    [SCENARIO_LAYER_FULL_MAMBA] = "full-mamba",
    [SCENARIO_LAYER_MLP] = "mlp",
    [SCENARIO_LAYER_EXPERTS] = "experts",
};

/* The type with a name; SCENARIO_NLAYER_TYPES: none. */
static enum scenario_layer_type find(const struct yaml_node *node)
{
    unsigned type = 0;

    while (type < SCENARIO_NLAYER_TYPES &&
           (node->kind != YAML_TEXT || strcmp(words[type], node->text) != 0))
        type++;
    return (enum scenario_layer_type)type;
}

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    struct scenario_layer_types types = {.n = 0};

    if (!yaml_is_null(node) && (node->kind != YAML_LIST || node->nitems == 0)) {
        value_error(r, option, node);
        return;
    }
    for (size_t i = 0; node->kind == YAML_LIST && i < node->nitems; i++) {
        enum scenario_layer_type type = find(node->items[i]);

        if (type == SCENARIO_NLAYER_TYPES) {
            value_error(r, option, node->items[i]);
            return;
        }
        if (i == SCENARIO_LAYER_TYPES_MAX) {
            diag_error(r->diag, node->items[i]->place,
                       "more than %d layer types; expected at most one period: the list repeats",
                       SCENARIO_LAYER_TYPES_MAX);
            return;
        }
        types.types[types.n++] = (uint8_t)type;
    }
    r->scenario->model.layer_types = types;
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    const struct scenario_layer_types *types = &scenario->model.layer_types;

    (void)option;
    text_add(out, types->n > 0 ? "[" : "null");
    for (uint32_t i = 0; i < types->n; i++)
        text_addf(out, "%s%s", i ? ", " : "", words[types->types[i]]);
    text_add(out, types->n > 0 ? "]" : "");
}

const char *scenario_layer_type_name(enum scenario_layer_type type)
{
    return words[type];
}

enum scenario_layer_type scenario_layer_type(const struct scenario_model *model, int64_t layer)
{
    const struct scenario_layer_types *types = &model->layer_types;

    if (types->n > 0)
        return (enum scenario_layer_type)types->types[layer % types->n];
    if (model->window > 0)
        return SCENARIO_LAYER_WINDOW;
    return model->chunk > 0 ? SCENARIO_LAYER_CHUNK : SCENARIO_LAYER_FULL;
}

bool scenario_lists_type(const struct scenario_model *model, enum scenario_layer_type type)
{
    return memchr(model->layer_types.types, type, model->layer_types.n) != NULL;
}

int64_t scenario_state_heads(const struct scenario_model *model)
{
    return model->linear.value_heads > 0 ? model->linear.value_heads : model->heads;
}

int64_t scenario_state_keys(const struct scenario_model *model)
{
    return model->linear.key_heads > 0 ? model->linear.key_heads : model->heads;
}

bool scenario_layer_attends(enum scenario_layer_type type)
{
    return type < SCENARIO_LAYER_DELTA || type == SCENARIO_LAYER_FULL_MAMBA;
}

bool scenario_layer_has_state(enum scenario_layer_type type)
{
    return type == SCENARIO_LAYER_DELTA || type == SCENARIO_LAYER_KDA ||
           type == SCENARIO_LAYER_MAMBA || type == SCENARIO_LAYER_FULL_MAMBA;
}

bool scenario_layer_mixes(enum scenario_layer_type type)
{
    return type < SCENARIO_LAYER_MLP;
}

bool scenario_layer_in_order(enum scenario_layer_type type)
{
    return scenario_layer_mixes(type) &&
           (!scenario_layer_attends(type) || scenario_layer_has_state(type));
}

bool scenario_layer_is_plain(enum scenario_layer_type type)
{
    return type >= SCENARIO_LAYER_FULL_PLAIN && type < SCENARIO_LAYER_DELTA;
}

enum scenario_layer_type scenario_layer_sight(enum scenario_layer_type type)
{
    unsigned plain = scenario_layer_is_plain(type) ? SCENARIO_LAYER_FULL_PLAIN : 0;

    return type < SCENARIO_LAYER_DELTA ? (enum scenario_layer_type)(type - plain)
                                       : SCENARIO_LAYER_FULL;
}

const struct value_type value_layer_types = {
    .size = sizeof(struct scenario_layer_types),
    .expected = "null or a list of full, window, chunk, full-plain, window-plain, chunk-plain, "
                "delta, kda, mamba, conv, lightning, full-mamba, mlp, experts",
    .read = read,
    .print = print,
    .keywords = SCHEMA_KEYWORDS(
        {"type", "[\"array\", \"null\"]"}, {"minItems", "1"},
        {"maxItems", SCHEMA_NUMBER(SCENARIO_LAYER_TYPES_MAX)},
        {"items",
         "{\"enum\": [\"full\", \"window\", \"chunk\", \"full-plain\", \"window-plain\", "
         "\"chunk-plain\", \"delta\", \"kda\", \"mamba\", \"conv\", \"lightning\", \"full-mamba\", "
         "\"mlp\", \"experts\"]}"}),
};
