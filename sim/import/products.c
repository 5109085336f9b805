/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "import/products.h"

#include <inttypes.h>
#include <string.h>

#define EXPERTS "moe/(up|gate|down)$"

/* Write the section; `except` has patterns with ", " between them. */
static void set_products(struct import_job *job, const char *recipe, const char *gradients,
                         const char *except)
{
    text_addf(&job->products, "products: {recipe: %s, amax: local", recipe);
    if (gradients)
        text_addf(&job->products, ", gradients: %s", gradients);
    if (job->fp8_gathers && job->zero >= 3)
        text_add(&job->products, ", gathers: true");
    text_addf(&job->products, ", except: [%s, '%s']}\n", except, EXPERTS);
    if (job->experts > 0 || (job->size && strncmp(job->size, "llama", 5) != 0))
        text_add(&job->notes, "# Products of experts are planned in 16 bits.\n");
    if (job->fp8_gathers && job->zero < 3)
        text_add(&job->notes, "# Parameters that the optimizer gathers are planned in 16 bits.\n");
}

/* ---- Megatron-LM ---- */

/* Patterns of what stays in 16 bits: the head, the router, and the first and last layers. */
static void except_layers(struct text *out, const struct import_job *job)
{
    int64_t first = job->bf16_first > 0 ? job->bf16_first : 1;
    int64_t last = job->bf16_last > 0 ? job->bf16_last : 1;

    text_add(out, "'^head$', 'router$'");
    if (!job->bf16_ends)
        return;
    for (int64_t layer = 0; layer < job->layers; layer++)
        if (layer < first || layer >= job->layers - last)
            text_addf(out, ", 'layers/%" PRId64 "/'", layer);
}

static const char *recipe_of(struct import_job *job)
{
    if (job->fp4_format)
        return "nvfp4";
    if (job->fp8_recipe && strcmp(job->fp8_recipe, "delayed") != 0)
        return job->fp8_recipe;
    text_add(&job->notes, "# Scales are planned as of the arrays themselves (tensorwise), not of "
                          "earlier steps (--fp8-recipe delayed, the default).\n");
    return "tensorwise";
}

void import_megatron_products(struct import_job *job, struct diag *diag)
{
    struct text except = TEXT_INIT;
    const char *gradients = NULL;

    if (!job->fp8_format && !job->fp4_format) {
        if (job->fp8_recipe || job->fp8_gathers || job->bf16_ends)
            diag_error(diag, job->end, "%s: nothing is of 8 bits; expected --fp8-format, too",
                       job->fp8_recipe    ? "--fp8-recipe"
                       : job->fp8_gathers ? "--fp8-param-gather"
                                          : "--first-last-layers-bf16");
        return;
    }
    if (job->bf16_ends && job->layers == 0)
        diag_error(diag, job->end, "--first-last-layers-bf16: which layers? expected --num-layers");
    if (job->fp8_format)
        gradients = strcmp(job->fp8_format, "hybrid") ? "e4m3" : "e5m2";
    except_layers(&except, job);
    diag->no_memory |= except.failed;
    set_products(job, recipe_of(job), job->fp4_format ? NULL : gradients, text_get(&except));
    text_fini(&except);
}

/* ---- torchtitan ---- */

/* Its modules, and the products of scenarios. */
static const struct {
    const char *module, *pattern;
} modules[] = {{"attention.wq", "attn/q$"},
               {"attention.wk", "attn/k$"},
               {"attention.wv", "attn/v$"},
               {"attention.wo", "attn/o$"},
               {"feed_forward.w1", "mlp/gate$"},
               {"feed_forward.w2", "mlp/down$"},
               {"feed_forward.w3", "mlp/up$"},
               {"output", "^head$"},
               {"lm_head", "^head$"},
               {"router.gate", "router$"},
               {"moe.router.gate", "router$"},
               {"experts", NULL}};

/* Append the pattern of a module; false: it has none. */
static bool add_module(struct text *out, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strlen(modules[i].module) == length && !strncmp(modules[i].module, name, length)) {
            if (modules[i].pattern)
                text_addf(out, ", '%s'", modules[i].pattern);
            return true;
        }
    return false;
}

/* Read a list of names such as ["output", "attention.wk"]. */
static void except_modules(struct text *out, const struct import_text *list, struct diag *diag)
{
    for (const char *at = list->text ? strpbrk(list->text, "\"'") : NULL; at;
         at = strpbrk(at, "\"'")) {
        const char *name = at + 1;
        size_t length = strcspn(name, "\"'");

        if (!add_module(out, name, length))
            diag_error(diag, list->place,
                       "the modules '%.*s' are none of a scenario's products; expected output, "
                       "attention.wq, wk, wv, wo, feed_forward.w1, w2, w3, router.gate or experts",
                       (int)(length < 60 ? length : 60), name);
        at = name + length + (name[length] != '\0');
    }
}

void import_torchtitan_products(struct import_job *job, struct diag *diag)
{
    const char *list = job->converters.text;
    bool fp8 = list && strstr(list, "float8"), mx = list && strstr(list, "mx");
    struct text except = TEXT_INIT;

    if (!fp8 && !mx) {
        if (list && strpbrk(list, "\"'"))
            diag_error(diag, job->converters.place,
                       "model.converters %.60s; expected [], or [\"float8\"] or [\"mx\"] (or "
                       "\"quantize.linear.float8\"), whose products are of 8 bits",
                       list);
        return;
    }
    job->fp8_gathers = job->fp8_all_gather && !strcmp(job->fp8_all_gather, "true");
    text_add(&except, "'router$'");
    except_modules(&except, &job->fp8_filter, diag);
    diag->no_memory |= except.failed;
    set_products(job,
                 mx                ? "mxfp8"
                 : job->fp8_recipe ? job->fp8_recipe
                                   : "tensorwise",
                 NULL, text_get(&except));
    text_fini(&except);
}
