/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "training/products.h"

#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "model/products.h"
#include "scenario/flavors.h"

#define WIDE_EXPERTS "# Experts' matmuls are planned in 16 bits.\n"

/* Write the options; `except` has patterns with ", " between them. */
static void set_products(struct import_job *job, const char *recipe, const char *gradients,
                         const char *except, bool wide_experts)
{
    text_addf(&job->products, "recipe: %s, amax: local", recipe);
    if (gradients)
        text_addf(&job->products, ", gradients: %s", gradients);
    text_addf(&job->products, ", except: [%s", except);
    if (wide_experts && job->experts > 0)
        text_add(&job->products, ", '" MODEL_EXPERT_PRODUCTS "'");
    text_add(&job->products, "]");
    if (job->fp8_gathers && job->zero < 3)
        text_add(&job->notes, "# The optimizer's parameter all-gather is planned in 16 bits.\n");
}

/* ---- Megatron-LM ---- */

/* Patterns of what stays in 16 bits: the head, the router, and the first and last layers. */
static void except_layers(struct text *out, const struct import_job *job)
{
    text_add(out, "'^head$', 'router$'");
    if (!job->bf16_ends)
        return;
    for (int64_t layer = 0; layer < job->layers; layer++)
        if (layer < job->bf16_first || layer >= job->layers - job->bf16_last)
            text_addf(out, ", 'layers/%" PRId64 "/'", layer);
}

static const char *recipe_of(struct import_job *job)
{
    if (job->fp4_format)
        return "nvfp4";
    if (job->fp8_recipe && strcmp(job->fp8_recipe, "delayed") != 0)
        return job->fp8_recipe;
    text_add(&job->notes, "# Scales are planned from the current tensor (tensorwise), not from "
                          "earlier steps (--fp8-recipe delayed, the default).\n");
    return "tensorwise";
}

void import_megatron_products(struct import_job *job, struct diag *diag)
{
    struct text except = TEXT_INIT;
    const char *gradients = NULL;

    if (!job->fp8_format && !job->fp4_format) {
        if (job->fp8_recipe || job->fp8_gathers || job->bf16_ends)
            diag_error(diag, job->end, "%s needs FP8; add --fp8-format",
                       job->fp8_recipe    ? "--fp8-recipe"
                       : job->fp8_gathers ? "--fp8-param-gather"
                                          : "--first-last-layers-bf16");
        return;
    }
    if (job->bf16_ends && job->layers == 0)
        diag_error(diag, import_job_place_named(job, "--first-last-layers-bf16"),
                   "--first-last-layers-bf16: which layers? expected --num-layers");
    if (job->fp8_format)
        gradients = strcmp(job->fp8_format, "hybrid") ? "e4m3" : "e5m2";
    except_layers(&except, job);
    diag->no_memory |= except.failed;
    set_products(job, recipe_of(job), job->fp4_format ? NULL : gradients, text_get(&except), false);
    text_fini(&except);
}

/* ---- torchtitan ---- */

/* Append the pattern of a module; false: it has none. */
static bool add_module(struct text *out, const char *name, size_t length)
{
    const struct family_module *m = family_modules;

    while (m->module && (strlen(m->module) != length || strncmp(m->module, name, length) != 0))
        m++;
    if (m->module)
        text_addf(out, ", '%s'", m->pattern);
    return m->module != NULL;
}

static void except_modules(struct text *out, const struct import_text *list, struct diag *diag)
{
    const char *name;
    size_t length;

    for (const char *at = list->text; (name = import_next_name(&at, &length, NULL));)
        if (!add_module(out, name, length))
            diag_error(diag, list->place,
                       "unknown modules '%.*s'; expected output, attention.wq, wk, wv, wo, "
                       "feed_forward.w1, w2, w3, router.gate or experts",
                       (int)(length < 60 ? length : 60), name);
}

/* What converters round, and by which recipe: products of experts alone, or all others. */
static const struct converter {
    const char *names, *recipe;
    bool experts;
} converters[] = {{"float8 quantize.linear.float8 quantize.dense.float8", "tensorwise", false},
                  {"mx quantize.linear.mx quantize.dense.mx", "mxfp8", false},
                  {"quantize.grouped_mm.float8", "rowwise", true},
                  {"quantize.grouped_mm.mx", "mxfp8", true}};

static const struct converter *find_converter(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof converters / sizeof *converters; i++)
        if (words_has_bytes(converters[i].names, name, length))
            return &converters[i];
    return NULL;
}

/* Read a list such as ["float8", "quantize.grouped_mm.float8"].  Sets the recipes of experts'
 * products ([true]) and of all others; NULL: they are not rounded. */
static void read_converters(const char *recipes[2], const struct import_job *job, struct diag *diag)
{
    const struct import_text *list = &job->converters;
    const char *name;
    size_t length;

    for (const char *at = list->text; (name = import_next_name(&at, &length, NULL));) {
        const struct converter *c = find_converter(name, length);
        const char *recipe = c ? recipes[c->experts] : NULL;
        bool second = recipe && strcmp(c->recipe, recipe) != 0;

        if (!c || second)
            diag_error(diag, list->place,
                       second ? "model.converters: '%.*s' and another converter quantize the same "
                                "matmuls; expected one"
                              : "model.converters: unknown converter '%.*s'; expected [], float8 "
                                "or mx (quantize.linear.float8, quantize.grouped_mm.mx ...)",
                       (int)(length < 60 ? length : 60), name);
        else
            recipes[c->experts] = c->recipe;
    }
}

void import_torchtitan_products(struct import_job *job, struct diag *diag)
{
    const char *recipes[2] = {NULL, NULL}, *recipe;
    struct text except = TEXT_INIT;
    bool wide;

    read_converters(recipes, job, diag);
    recipe = recipes[false];
    if (recipe && job->fp8_recipe && !strcmp(recipe, "tensorwise"))
        recipe = job->fp8_recipe;
    /* A scenario has one recipe for all. */
    wide = !recipe || !recipes[true] || strcmp(recipe, recipes[true]) != 0;
    if (recipes[true] && wide && job->experts > 0)
        text_add(&job->notes, WIDE_EXPERTS);
    if (!recipe)
        return;
    job->fp8_gathers = job->fp8_all_gather && !strcmp(job->fp8_all_gather, "true");
    text_add(&except, "'router$'");
    except_modules(&except, &job->fp8_filter, diag);
    diag->no_memory |= except.failed;
    set_products(job, recipe, NULL, text_get(&except), wide);
    text_fini(&except);
}
