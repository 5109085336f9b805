/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "export/export.h"

#include <string.h>

#include "export/targets.h"

const struct export_target *const export_targets[] = {
    &export_deepspeed, &export_jax,        &export_megatron, &export_pytorch,
    &export_sglang,    &export_torchtitan, &export_vllm,     NULL};

const struct export_target *export_find(const char *name)
{
    for (size_t i = 0; export_targets[i]; i++)
        if (!strcmp(export_targets[i]->name, name))
            return export_targets[i];
    return NULL;
}

int export_check_source(const struct export_target *target, const struct scenario *source,
                        struct shd_error *err)
{
    const struct export_layout layout = {.source = source};

    return target->check ? target->check(&layout, err) : SHD_OK;
}

int export_write(const struct export_target *target, const struct export_layout *layout,
                 struct text *out, struct shd_error *err)
{
    const char *option = scenario_offload_option(layout->source);
    bool serves = scenario_serves(layout->source);

    if (target->serves != EXPORT_BOTH && serves != (target->serves == EXPORT_SERVES))
        return shd_error_set(err, SHD_EUNSUPPORTED, "%s is for steps of %s; expected such a `step`",
                             target->name, serves ? "training" : "serving, prefill or decode");
    if (option && !target->offloads)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "code for %s does not say what lies in the host's memory; expected no "
                             "%s",
                             target->name, option);
    return target->write(layout, out, err);
}
