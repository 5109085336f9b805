/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "export/export.h"

#include <string.h>

#include "export/roles.h"
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

const struct export_target *export_find_software(const char *software)
{
    for (size_t i = 0; software && export_targets[i]; i++)
        if (export_targets[i]->software && !strcmp(export_targets[i]->software, software))
            return export_targets[i];
    return NULL;
}

/* Refuse a step that the target has no words for. */
static int check_step(const struct export_target *target, const struct scenario *source,
                      struct shd_error *err)
{
    const char *option = scenario_offload_option(source);
    bool serves = scenario_serves(source);

    if (target->serves != EXPORT_BOTH && serves != (target->serves == EXPORT_SERVES))
        return shd_error_set(err, SHD_EUNSUPPORTED, "%s is for %s steps; change `step`",
                             target->name, serves ? "training" : "serving (prefill or decode)");
    if (option && !target->offloads)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "code for %s cannot express offload to host memory; expected no %s",
                             target->name, option);
    return SHD_OK;
}

int export_check_source(const struct export_target *target, const struct scenario *source,
                        struct shd_error *err)
{
    struct export_job job = {.source = source, .err = err};
    int status = check_step(target, source, err);

    return status == SHD_OK && target->source ? target->source(&job) : status;
}

int export_check_choices(const struct export_target *target, const struct scenario *source,
                         struct shd_error *err)
{
    struct export_job job = {.source = source, .err = err};

    return target->choices ? export_job_check(&job, target->choices) : SHD_OK;
}

int export_check_searched(const struct export_target *target, const struct scenario *source,
                          struct shd_error *err)
{
    if (target->one_stage && source->pipeline.axis)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "code for %s has no pipeline stages; expected no pipeline.axis",
                             target->name);
    return export_check_choices(target, source, err);
}

void export_add_accepting(struct text *out, const struct scenario *source)
{
    const char *names[sizeof export_targets / sizeof *export_targets];
    struct shd_error err;
    size_t n = 0;

    for (size_t i = 0; export_targets[i]; i++)
        if (export_check_source(export_targets[i], source, &err) == SHD_OK)
            names[n++] = export_targets[i]->name;
    for (size_t i = 0; i < n; i++)
        text_addf(out, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
}

int export_write(const struct export_target *target, const struct export_layout *layout,
                 struct text *out, struct shd_error *err)
{
    int status = export_check_source(target, layout->source, err);

    return status == SHD_OK ? export_write_layout(target, layout, out, err) : status;
}

int export_write_layout(const struct export_target *target, const struct export_layout *layout,
                        struct text *out, struct shd_error *err)
{
    int status = export_check_choices(target, layout->source, err);

    return status == SHD_OK ? target->write(layout, out, err) : status;
}
