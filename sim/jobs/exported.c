/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/exported.h"

int exported_write(struct text *out, const struct trial *trial, const struct export_target *target,
                   struct shd_error *err)
{
    struct export_layout layout = {.source = trial->scenario,
                                   .scenario = trial->scenario->name,
                                   .strategy = trial->scenario->strategy,
                                   .mesh = trial->mesh,
                                   .graph = trial->graph,
                                   .shardings = &trial->shardings,
                                   .has_cluster = trial->hardware != NULL};
    struct text what = TEXT_INIT;
    int status;

    if (trial->hardware)
        layout.overlaps_products = trial->hardware->software.overlaps_products;
    if (trial->unpadded) /* each system pads in a way of its own, or not at all */
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "dimensions are padded, which exported code is not; expected sizes "
                             "that divide");
    model_describe(&what, trial->scenario);
    layout.what = text_get(&what);
    status = export_write(target, &layout, out, err);
    if (status == SHD_OK && (out->failed || what.failed))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the code");
    text_fini(&what);
    return status;
}

int exported_check(const void *arg, const struct trial *trial, struct shd_error *err)
{
    struct text code = TEXT_INIT;
    int status = exported_write(&code, trial, arg, err);

    text_fini(&code);
    return status;
}
