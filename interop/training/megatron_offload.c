/* Finds the activations that Megatron-LM moves to the host: the inputs of parts of layers by name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/words.h"
#include "training/megatron.h"

#define MODULES "attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act"

/* Patterns of the inputs that the backward phase reads, without those that other words say.  The
 * input of a layer is the result of the one before, and what the last layer leaves is as large as
 * what the first one reads. */
static const struct {
    const char *module, *values;
    bool experts; /* only of layers with experts */
} modules[] = {{"attn_norm", "residual2$", false},
               {"qkv_linear", "norm1$", false},
               {"core_attn", "attn/(q|k)/rope$', 'attn/v$", false},
               {"attn_proj", "attn/heads$", false},
               {"mlp_norm", "residual1$", false},
               {"expert_fc1", "moe/dispatch$", true},
               {"moe_act", "moe/(up|gate)$", true}};

#define NMODULES (sizeof modules / sizeof *modules)

/* Attention reads queries and keys into which positions are rotated, if they are. */
static const char *values_of(const struct import_job *job, size_t module)
{
    if (strcmp(modules[module].module, "core_attn") != 0)
        return modules[module].values;
    return job->latent                          ? "attn/(q|k)/all$', 'attn/v$"
           : strcmp(job->position, "rope") != 0 ? "attn/(q|k|v)$"
                                                : modules[module].values;
}

static void add_module(struct import_job *job, const char *name, size_t length, struct diag *diag)
{
    for (size_t i = 0; i < NMODULES; i++) {
        if (strlen(modules[i].module) != length || strncmp(modules[i].module, name, length) != 0)
            continue;
        if (!modules[i].experts || job->experts > 0)
            text_addf(&job->offload_values, "%s'%s'", job->offload_values.length > 0 ? ", " : "",
                      values_of(job, i));
        return;
    }
    diag_error(diag, job->offload_modules.place,
               "--offload-modules: unknown module '%.*s'; expected some of " MODULES,
               length < 40 ? (int)length : 40, name);
}

void megatron_find_offload(struct import_job *job, struct diag *diag)
{
    const char *at = job->offload_modules.text;
    size_t length;

    if (!job->fine_grained_offload)
        return;
    if (!at || job->offload_layers > 0 || job->t5) {
        diag_error(diag, import_job_place_named(job, "--fine-grained-activation-offloading"),
                   "--fine-grained-activation-offloading %s",
                   !at       ? "without --offload-modules; expected some of " MODULES
                   : job->t5 ? "with T5 is not modelled; remove it"
                             : "and --cpu-offloading-num-layers exclude each other; expected one");
        return;
    }
    for (const char *name; (name = words_next(&at, &length));)
        add_module(job, name, length, diag);
}
