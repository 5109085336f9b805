/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "random_preset.h"

#include <string.h>

#include "base/text.h"
#include "random_program.h"

static const char *one_of(struct random *r, const char *const *texts, uint32_t n)
{
    return texts[random_below(r, n)];
}

/* A spec with up to two mesh axes, each at most once. */
static void add_spec(struct random *r, struct text *out, const char *pattern, uint32_t rank)
{
    static const char *const axes[] = {"dp", "tp"};
    bool used[2] = {false, false};

    text_addf(out, "  - [%s, [", pattern);
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t axis = random_below(r, 2);
        bool cut = random_chance(r, 40) && !used[axis];

        used[axis] |= cut;
        text_addf(out, "%s%s", d ? ", " : "", cut ? axes[axis] : "null");
    }
    text_add(out, "]]\n");
}

static void add_params(struct random *r, struct text *out)
{
    static const struct {
        const char *pattern;
        uint32_t rank;
    } rules[] = {{"attn/(q|k|v)/kernel", 3}, {"attn/o/kernel", 3}, {"mlp/(up|gate)/kernel", 2},
                 {"mlp/down/kernel", 2},     {"embed/table", 2},   {"head/kernel", 2}};

    if (random_chance(r, 20)) {
        text_add(out, "rules: auto\n");
        return;
    }
    text_add(out, "params:\n");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        add_spec(r, out, rules[i].pattern, rules[i].rank);
    text_add(out, "  - [.*, []]\n");
    if (random_chance(r, 70))
        text_add(out, "axes: {batch: dp}\n");
    if (random_chance(r, 30)) {
        text_add(out, "constraints:\n");
        add_spec(r, out, "out", 3);
    }
}

static void write_scenario(struct random *r, struct text *out, enum shd_dtype dtype)
{
    static const char *const kinds[] = {"mlp", "attention", "block", "transformer"};
    static const char *const activations[] = {"gelu", "swiglu", "relu", "silu"};
    static const int sizes[] = {1, 1, 2, 4, 8};
    const char *kind = one_of(r, kinds, 4);
    bool attends = strcmp(kind, "mlp") != 0, has_mlp = strcmp(kind, "attention") != 0;
    int heads = 1 << random_below(r, 3);

    text_addf(out, "version: 1\nmesh: {dp: %d, tp: %d}\n", sizes[random_below(r, 4)],
              sizes[random_below(r, 5)]);
    text_addf(out, "model:\n  kind: %s\n  d_model: %d\n  layers: %d\n  dtype: %s\n", kind,
              8 << random_below(r, 4), 1 + (int)random_below(r, 3), shd_dtype_name(dtype));
    if (has_mlp)
        text_addf(out, "  d_ff: %d\n  activation: %s\n", 8 << random_below(r, 5),
                  one_of(r, activations, 4));
    if (attends)
        text_addf(out, "  heads: %d\n  kv_heads: %d\n  causal: %s\n", heads,
                  heads >> random_below(r, 2), random_chance(r, 50) ? "true" : "false");
    if (attends && random_chance(r, 30))
        text_add(out, "  rope: {}\n");
    if (attends && has_mlp && random_chance(r, 40))
        text_add(out, "  norm: layer\n");
    if (!strcmp(kind, "transformer"))
        text_addf(out, "  vocab: %d\n", 16 << random_below(r, 3));
    text_addf(out, "batch: {size: %d, seq: %d}\nseed: %u\n", 1 << random_below(r, 4),
              1 << random_below(r, 5), random_below(r, 1000000));
    add_params(r, out);
}

bool random_preset_init(struct variant *out, uint64_t seed, enum shd_dtype dtype)
{
    struct random r = {seed};
    struct text text = TEXT_INIT;
    struct variant_ask ask = {
        .name = "random", .text = &text, .extent = VARIANT_BUILT, .executes = true};
    int status;

    write_scenario(&r, &text, dtype);
    status = variant_need(out, &ask, NULL);
    text_fini(&text);
    return status == SHD_OK;
}
