/* The types of a published model's weights (published_types.h): the quantization methods that
 * transformers reads from a config.json.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/published_types.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* Scales of FP8 that are found before, that follow from each token, or from blocks of 128. */
#define STATIC "recipe: tensorwise, amax: static"
#define OF_TOKENS "recipe: rowwise, amax: local"
#define OF_BLOCKS "recipe: blockwise"
#define OF_NVFP4 "recipe: nvfp4, amax: static"

#define INT8_PRODUCTS "weights are planned as int8, but matmuls in model.dtype instead of int8"
#define FP4_PRODUCTS \
    "weights are planned in 4-bit blocks, but matmuls in model.dtype instead of 4 bits"
#define FP8_PRODUCTS \
    "weights are planned in 4-bit blocks, but matmuls in model.dtype instead of FP8"
#define SVD_PRODUCTS "the 16-bit low-rank matmuls beside the 4-bit matmuls are not modelled"
#define FP8_WEIGHTS "FP8 weights are planned as int8, with the same number of bytes"
#define WIDE "weights are planned in model.dtype instead of fewer bits"

struct types {
    struct text *out;
    const char *otherwise;
};

/* ---- keys ---- */

static const struct yaml_node *find(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = map && map->kind == YAML_MAP ? yaml_find(map, key) : NULL;

    return node && !yaml_is_null(node) ? node : NULL;
}

static bool is(const struct yaml_node *map, const char *key, const char *words)
{
    const struct yaml_node *node = find(map, key);

    return node && node->kind == YAML_TEXT && words_has(words, node->text);
}

static int64_t number(const struct yaml_node *map, const char *key, int64_t standard)
{
    const struct yaml_node *node = find(map, key);
    int64_t value;

    return node && yaml_read_int(node, &value) && value > 0 ? value : standard;
}

static bool flag(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = find(map, key);
    bool value = false;

    return node && yaml_read_bool(node, &value) && value;
}

/* ---- weights alone ---- */

/* Codes of integers, in groups of inputs that share a scale. */
static void add_integers(struct types *t, int64_t bits, int64_t group)
{
    if (bits == 8)
        text_add(t->out, "weights: int8");
    else if (bits == 4 && (group == 128 || group == 0))
        text_add(t->out, "weights: int4");
    else if (bits == 4)
        text_addf(t->out, "weights: int4, block: %" PRId64, group);
    else
        t->otherwise = WIDE;
}

/* ---- compressed-tensors ---- */

static void add_floats(struct types *t, const struct yaml_node *weights,
                       const struct yaml_node *inputs)
{
    bool dynamic = flag(inputs, "dynamic") || is(inputs, "dynamic", "local");

    if (!inputs) {
        text_add(t->out, "weights: int8");
        t->otherwise = FP8_WEIGHTS;
    } else if (is(weights, "strategy", "block")) {
        text_add(t->out, OF_BLOCKS);
    } else {
        text_add(t->out, dynamic ? OF_TOKENS : STATIC);
    }
}

/* One group of modules with its types; several groups are taken by the first. */
static void add_group(struct types *t, const struct yaml_node *group)
{
    const struct yaml_node *weights = find(group, "weights");
    const struct yaml_node *inputs = find(group, "input_activations");
    int64_t bits = number(weights, "num_bits", 0), size = number(weights, "group_size", 0);
    bool floats = is(weights, "type", "float");

    if (floats && bits == 8) {
        add_floats(t, weights, inputs);
    } else if (floats && bits == 4) {
        bool codes = size == 16 && number(inputs, "num_bits", 0) == 4;

        text_add(t->out, codes        ? OF_NVFP4
                         : size == 16 ? "weights: mxfp4, block: 16"
                                      : "weights: mxfp4");
        t->otherwise = !inputs || codes ? NULL : FP4_PRODUCTS;
    } else {
        add_integers(t, bits, size);
        if (inputs && bits == 8)
            t->otherwise = INT8_PRODUCTS;
    }
}

static void add_groups(struct types *t, const struct yaml_node *config)
{
    const struct yaml_node *groups = find(config, "config_groups");

    if (!groups || groups->kind != YAML_MAP || groups->nitems == 0)
        t->otherwise = WIDE;
    else
        add_group(t, groups->items[0]);
    if (groups && groups->kind == YAML_MAP && groups->nitems > 1)
        t->otherwise = "all weights are planned in the types of the first of config_groups";
}

/* ---- methods ---- */

static void add_fp8(struct types *t, const struct yaml_node *config)
{
    const struct yaml_node *block = find(config, "weight_block_size");

    if (block)
        text_add(t->out, OF_BLOCKS);
    else
        text_add(t->out, is(config, "activation_scheme", "static") ? STATIC : OF_TOKENS);
}

/* Algorithms of ModelOpt, as vLLM names them.  Codes of integers have the groups of the config. */
static const struct {
    const char *words, *products, *otherwise;
    int64_t integers; /* bits of codes of integers; 0: `products` has the types */
} algorithms[] = {
    {"FP8", STATIC, NULL, 0},
    {"FP8_PER_CHANNEL_PER_TOKEN", OF_TOKENS, NULL, 0},
    {"FP8_PB_WO fp8_pb_wo", OF_BLOCKS, NULL, 0},
    {"MXFP8", "recipe: mxfp8", NULL, 0},
    {"NVFP4 NVFP4_AWQ", OF_NVFP4, NULL, 0},
    {"NVFP4_SVDQUANT", OF_NVFP4, SVD_PRODUCTS, 0},
    {"W4A8_NVFP4_FP8", "weights: mxfp4, block: 16", FP8_PRODUCTS, 0},
    {"W4A8_MXFP4_FP8", "weights: mxfp4", FP8_PRODUCTS, 0},
    {"W4A16_AWQ W4A8_AWQ", NULL, NULL, 4},
    {"W8A16", NULL, NULL, 8},
    {"W8A8_SQ_PER_CHANNEL", NULL, INT8_PRODUCTS, 8},
};
#define NALGORITHMS (sizeof algorithms / sizeof *algorithms)

/* Without an algorithm or groups only the cache is of fewer bits. */
static void add_modelopt(struct types *t, const struct yaml_node *config)
{
    const struct yaml_node *inner = find(config, "quantization");

    config = inner ? inner : config;
    for (size_t i = 0; i < NALGORITHMS; i++) {
        if (!is(config, "quant_algo", algorithms[i].words))
            continue;
        t->otherwise = algorithms[i].otherwise;
        if (algorithms[i].integers == 0)
            text_add(t->out, algorithms[i].products);
        else
            add_integers(t, algorithms[i].integers, number(config, "group_size", 0));
        return;
    }
    if (find(config, "quant_algo") || find(config, "config_groups"))
        add_groups(t, config);
}

static void add_method(struct types *t, const struct yaml_node *config)
{
    if (is(config, "quant_method", "fp8"))
        add_fp8(t, config);
    else if (is(config, "quant_method", "fbgemm_fp8"))
        text_add(t->out, OF_TOKENS);
    else if (is(config, "quant_method", "compressed-tensors"))
        add_groups(t, config);
    else if (is(config, "quant_method", "modelopt modelopt_fp4") || find(config, "quant_algo") ||
             find(config, "quantization"))
        add_modelopt(t, config);
    else if (is(config, "quant_method", "gptq gptq_marlin awq awq_marlin moe_wna16 auto-round"))
        add_integers(t, number(config, "bits", number(config, "w_bit", 4)),
                     number(config, "group_size", number(config, "q_group_size", 0)));
    else if (is(config, "quant_method", "mxfp4"))
        text_add(t->out, "weights: mxfp4");
    else if (is(config, "quant_method", "bitsandbytes"))
        text_add(t->out, flag(config, "load_in_8bit") ? "weights: int8" : "weights: nf4");
    else
        t->otherwise = WIDE;
}

/* ---- modules that are left as they are ---- */

/* Parts of a layer: names in modules, and patterns of products. */
static const struct {
    const char *theirs, *ours;
} parts[] = {{"self_attn", "attn"}, {"shared_expert", "shared"}, {"experts", "moe"}};
#define NPARTS (sizeof parts / sizeof *parts)

/* The number of a module's layer; -1: it names all. */
static int64_t layer_of(const char *module)
{
    for (const char *dot = module; (dot = strchr(dot, '.')) != NULL; dot++)
        if (isdigit((unsigned char)dot[1]))
            return strtoll(dot + 1, NULL, 10);
    return -1;
}

static const struct yaml_node *left_out(const struct yaml_node *config)
{
    static const char *const keys[] = {"modules_to_not_convert", "ignore", "ignored_layers",
                                       "exclude_modules", "exclude_layers"};
    const struct yaml_node *inner = find(config, "quantization"), *list = NULL;

    for (size_t i = 0; !list && i < sizeof keys / sizeof *keys; i++)
        list = find(config, keys[i]) ? find(config, keys[i]) : find(inner, keys[i]);
    return list && list->kind == YAML_LIST ? list : NULL;
}

/* The first byte of a part in a module's name that means all of the part: it ends there, or in a
 * star, or names the part's last product; NULL: it does not. */
static const char *find_part(const char *module, const char *part)
{
    static const char *const ends[] = {"*", "$", "o_proj", "down_proj"};
    const char *at = strstr(module, part), *rest = at ? at + strlen(part) : NULL;

    if (!at || (at > module && at[-1] == '_'))
        return NULL;
    if (!*rest || !strcmp(rest, "s"))
        return at;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(rest, ends[i]))
            return at;
    return NULL;
}

/* Whether a part is left out in all layers: by a name for all, or by the names of most. */
static bool leaves_out(const struct yaml_node *list, const char *part, int64_t layers)
{
    int64_t named = 0, last = -1;

    for (size_t i = 0; list && i < list->nitems; i++) {
        const char *module = list->items[i]->kind == YAML_TEXT ? list->items[i]->text : "";
        int64_t layer = layer_of(module);

        if (!find_part(module, part))
            continue;
        if (layer < 0)
            return true;
        named += layer != last;
        last = layer;
    }
    return named > 0 && 2 * named >= layers;
}

static void add_except(struct types *t, const struct yaml_node *config, int64_t layers)
{
    const struct yaml_node *list = left_out(config);
    size_t n = 0, head = leaves_out(list, "lm_head", layers);

    for (size_t i = 0; i < NPARTS; i++)
        if (leaves_out(list, parts[i].theirs, layers))
            text_addf(t->out, "%s%s", n++ ? ", " : ", except: [", parts[i].ours);
    if (n + head > 0)
        text_addf(t->out, "%srouter$, ^head$]", n > 0 ? ", " : ", except: [");
}

bool published_types_alone(struct text *products)
{
    static const char recipe[] = OF_NVFP4, weights[] = "weights: mxfp4, block: 16";
    struct text out = TEXT_INIT;

    if (strncmp(text_get(products), recipe, strlen(recipe)) != 0)
        return false;
    text_addf(&out, "%s%s", weights, text_get(products) + strlen(recipe));
    text_clear(products);
    text_join(products, &out);
    return true;
}

void published_types_read(struct text *products, const char **otherwise,
                          const struct yaml_node *quantization, int64_t layers)
{
    struct types t = {products, NULL};

    add_method(&t, quantization);
    if (products->length > 0)
        add_except(&t, quantization, layers);
    *otherwise = t.otherwise;
}
