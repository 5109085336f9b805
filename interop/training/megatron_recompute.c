/* Finds the activations that Megatron-LM recomputes: all of some layers, or parts of each layer by
 * name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/words.h"
#include "scenario/recompute_policies.h"
#include "training/megatron.h"

/* What of the model a part needs. */
static const struct {
    const char *name;
    enum { DENSE, EXPERTS, SHARED, LATENT } of;
} needs[] = {{"mlp", DENSE},
             {"moe", EXPERTS},
             {"moe_act", EXPERTS},
             {"shared_experts", SHARED},
             {"mla_up_proj", LATENT}};

static bool has_module(const struct import_job *job, const char *name)
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!strcmp(needs[i].name, name))
            return needs[i].of == DENSE
                       ? job->experts == 0 || job->first_dense > 0 || job->every > 1
                   : needs[i].of == EXPERTS ? job->experts > 0
                   : needs[i].of == SHARED  ? job->shared > 0
                                            : job->latent;
    return true;
}

static void add_module(struct import_job *job, const char *name, size_t length, struct diag *diag)
{
    int module = recompute_module_find(name, length);

    if (module < 0)
        diag_error(
            diag, job->modules.text ? job->modules.place : job->end,
            "--recompute-modules: unknown module '%.*s'; expected some of " RECOMPUTE_MODULES,
            length < 40 ? (int)length : 40, name);
    else if (has_module(job, recompute_modules[module].name))
        text_addf(&job->recompute_modules, "%s%s", job->recompute_modules.length > 0 ? ", " : "",
                  recompute_modules[module].name);
}

/* Add all recomputed parts; none if core attention alone is recomputed. */
static void find_modules(struct import_job *job, struct diag *diag)
{
    const char *at = job->modules.text ? job->modules.text : "core_attn";
    size_t length;

    for (const char *name; (name = words_next(&at, &length));)
        add_module(job, name, length, diag);
    if (job->moe_again && !words_has(job->modules.text ? job->modules.text : "", "moe"))
        add_module(job, "moe", 3, diag);
    if (!strcmp(text_get(&job->recompute_modules), "core_attn"))
        text_clear(&job->recompute_modules);
    else if (job->t5)
        diag_error(diag, job->modules.text ? job->modules.place : job->end,
                   "selective recomputation of T5 is modelled for core attention only; expected "
                   "--recompute-modules core_attn");
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
        diag_error(diag, import_job_place_named(job, "--moe-layer-recompute"),
                   "--moe-layer-recompute and full recomputation exclude each other; expected one");
    else if (job->modules.text)
        text_add(&job->notes,
                 "# --recompute-modules applies to --recompute-granularity selective only: "
                 "ignored.\n");
    job->recompute_whole = job->recompute && !strcmp(job->recompute, "full");
    job->recompute_by_stage = job->recompute_whole && job->stages > 1;
    if (!job->recompute_whole || !method || strcmp(method, "block") != 0)
        return;
    job->recompute_first = job->recompute_layers;
    job->recompute_layers = 1;
}
