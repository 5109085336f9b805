/* Finds the activations that Megatron-LM recomputes: all of some layers, or parts of each layer by
 * name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/words.h"
#include "import/megatron.h"

/* The parts of a layer that can be recomputed, by name, with patterns of their values' names. */
static const struct module {
    const char *name, *pattern;
    enum { ANY, DENSE, EXPERTS, SHARED, LATENT } of; /* required of the layers */
} modules[] = {{"core_attn", "attn/heads", ANY},
               {"layernorm", "norm[12]", ANY},
               {"mlp", "mlp/", DENSE},
               {"moe", "moe/", EXPERTS},
               {"moe_act", "moe/(silu|gelu|gated)", EXPERTS},
               {"shared_experts", "shared/", SHARED},
               {"mla_up_proj", "attn/(q|q_rope|k|v)(/|$)", LATENT}};

#define MODULES "core_attn, layernorm, mlp, moe, moe_act, shared_experts, mla_up_proj"

static bool has_module(const struct import_job *job, const struct module *m)
{
    return m->of == DENSE     ? job->experts == 0 || job->first_dense > 0 || job->every > 1
           : m->of == EXPERTS ? job->experts > 0
           : m->of == SHARED  ? job->shared > 0
           : m->of == LATENT  ? job->latent
                              : true;
}

static void add_module(struct import_job *job, const char *name, size_t length, struct diag *diag)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strlen(modules[i].name) != length || strncmp(modules[i].name, name, length) != 0)
            continue;
        if (has_module(job, &modules[i]))
            text_addf(&job->recompute_names, "%s'%s'", job->recompute_names.length > 0 ? ", " : "",
                      modules[i].pattern);
        return;
    }
    diag_error(diag, job->modules.text ? job->modules.place : job->end,
               "--recompute-modules names '%.*s'; expected some of " MODULES,
               length < 40 ? (int)length : 40, name);
}

/* Add the patterns of all recomputed parts; none if core attention alone is recomputed. */
static void find_modules(struct import_job *job, struct diag *diag)
{
    const char *at = job->modules.text ? job->modules.text : "core_attn";
    size_t length;

    for (const char *name; (name = words_next(&at, &length));)
        add_module(job, name, length, diag);
    if (job->moe_again && !strstr(text_get(&job->recompute_names), "'moe/'"))
        add_module(job, "moe", 3, diag);
    if (!strcmp(text_get(&job->recompute_names), "'attn/heads'"))
        text_clear(&job->recompute_names);
    else if (job->t5)
        diag_error(diag, job->end,
                   "T5 with parts of layers computed again cannot be said; expected "
                   "--recompute-modules core_attn");
    else
        text_add(&job->notes, "# Megatron-LM computes parts of layers again to their end: somewhat "
                              "more work than planned.\n");
}

/* Megatron-LM calls a recomputed layer a second time, to its end. */
void megatron_find_recompute(struct import_job *job, struct diag *diag)
{
    const char *method = job->method ? job->method : job->old_method;

    if (job->old_method)
        job->recompute = "full";
    else if ((job->selective || job->moe_again) && !job->recompute)
        job->recompute = "selective";
    if (job->recompute && !strcmp(job->recompute, "selective"))
        find_modules(job, diag);
    else if (job->moe_again)
        diag_error(diag, job->end,
                   "--moe-layer-recompute beside full recomputation; expected one of them");
    else if (job->modules.text)
        text_add(&job->notes,
                 "# --recompute-modules is for --recompute-granularity selective: left out.\n");
    job->recompute_whole = job->recompute && !strcmp(job->recompute, "full");
    if (!job->recompute_whole || !method || strcmp(method, "block") != 0)
        return;
    if (job->stages > 1)
        diag_error(diag, job->end,
                   "recomputation of the first layers of each stage (block) cannot be said; "
                   "expected --recompute-method uniform, or one stage");
    job->recompute_first = job->recompute_layers;
    job->recompute_layers = 1;
}
