/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cmd/export/exported.h"

static enum scenario_beside planned(enum scenario_beside asked, const struct trial *trial,
                                    bool does)
{
    if (asked != SCENARIO_AS_CLUSTER || !trial->hardware)
        return asked;
    return does ? SCENARIO_BESIDE_WORK : SCENARIO_EXPOSED;
}

/* What the plan takes to run beside computation. */
static struct scenario_overlap overlap_of(const struct trial *trial)
{
    const struct scenario_overlap *o = &trial->scenario->overlap;
    struct hardware_software software = {.overlaps_gradients = false};

    if (trial->hardware)
        software = trial->hardware->software;
    return (struct scenario_overlap){planned(o->gradients, trial, software.overlaps_gradients),
                                     planned(o->weights, trial, true), /* beside the update */
                                     planned(o->products, trial, software.overlaps_products),
                                     planned(o->sends, trial, software.overlaps_sends),
                                     planned(o->pairs, trial, software.overlaps_pairs)};
}

typedef int write_fn(const struct export_target *target, const struct export_layout *layout,
                     struct text *out, struct shd_error *err);

static int write_by(write_fn *write, struct text *out, const struct trial *trial,
                    const struct export_target *target, struct shd_error *err)
{
    struct export_layout layout = {.source = trial->scenario,
                                   .scenario = trial->scenario->name,
                                   .strategy = trial->scenario->strategy,
                                   .mesh = trial->mesh,
                                   .graph = trial->graph,
                                   .shardings = &trial->shardings,
                                   .overlap = overlap_of(trial)};
    struct text what = TEXT_INIT;
    int status;

    if (trial->unpadded) /* each system pads in a way of its own, or not at all */
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "exported code does not support padded dimensions; expected sizes "
                             "that the mesh axes divide");
    model_describe(&what, trial->scenario);
    layout.what = text_get(&what);
    status = write(target, &layout, out, err);
    if (status == SHD_OK && (out->failed || what.failed))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the code");
    text_fini(&what);
    return status;
}

int exported_write(struct text *out, const struct trial *trial, const struct export_target *target,
                   struct shd_error *err)
{
    return write_by(export_write, out, trial, target, err);
}

int exported_check(const void *arg, const struct trial *trial, struct shd_error *err)
{
    struct text code = TEXT_INIT;
    int status = exported_check_choices(arg, trial->scenario, err);

    if (status == SHD_OK)
        status = write_by(export_write_layout, &code, trial, arg, err);

    text_fini(&code);
    return status;
}

int exported_check_choices(const void *arg, const struct scenario *scenario, struct shd_error *err)
{
    return export_check_searched(arg, scenario, err);
}

struct subject_filter exported_filter(const struct export_target *target)
{
    return (struct subject_filter){.system = target ? target->name : NULL,
                                   .check = target ? exported_check : NULL,
                                   .read = exported_check_choices,
                                   .arg = target};
}
