/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/variant.h"

#include "report/modelled.h"

struct text *variant_set(struct variant_ask *ask)
{
    return &ask->sets[ask->nsets++];
}

void variant_forget(struct variant_ask *ask)
{
    while (ask->nsets > 0)
        text_fini(&ask->sets[--ask->nsets]);
}

static int build(struct variant *v, const struct variant_ask *ask)
{
    const char *sets[VARIANT_SETS_MAX];
    bool failed = ask->text->failed;
    int status;

    for (size_t i = 0; i < ask->nsets; i++) {
        sets[i] = text_get(&ask->sets[i]);
        failed |= ask->sets[i].failed;
    }
    if (failed)
        return SHD_ENOMEM;
    status = scenario_parse(&v->file, ask->name, text_get(ask->text), ask->text->length, sets,
                            ask->nsets, &v->errors);
    if (status != SHD_OK || ask->extent == VARIANT_READ)
        return status;
    v->file->scenarios[0].planned = !ask->executes;
    return (ask->extent == VARIANT_LAID ? trial_lay : trial_init)(&v->trial, &v->file->scenarios[0],
                                                                  &v->errors);
}

int variant_init(struct variant *out, struct variant_ask *ask, struct shd_error *err)
{
    struct variant v = {.errors = DIAG_INIT, .outcome = VARIANT_REFUSED};
    int status = SHD_OK;

    v.status = build(&v, ask);
    variant_forget(ask);
    if (v.status == SHD_ENOMEM || v.errors.no_memory)
        status = shd_error_set(err, SHD_ENOMEM, "no memory to plan %s", ask->name);
    else if (v.status == SHD_OK && ask->extent == VARIANT_PLANNED)
        status = variant_plan(&v, ask->margin, err);
    if (status == SHD_OK)
        *out = v;
    else
        variant_fini(&v);
    return status;
}

int variant_need(struct variant *out, struct variant_ask *ask, struct shd_error *err)
{
    int status = variant_init(out, ask, err);

    if (status != SHD_OK || out->status == SHD_OK)
        return status;
    status = shd_error_set(err, out->status, "%s", diag_first(&out->errors, "refused"));
    variant_fini(out);
    return status;
}

int variant_plan(struct variant *variant, bool margin, struct shd_error *err)
{
    int status = trial_plan(&variant->trial, err);

    if (status != SHD_OK)
        return status;
    variant->need_bytes = trial_need_bytes(&variant->trial);
    variant->room_bytes = trial_room_bytes(&variant->trial, margin);
    variant->outcome =
        variant->need_bytes <= variant->room_bytes && modelled_fits(variant->trial.record)
            ? VARIANT_FITS
            : VARIANT_TOO_BIG;
    return SHD_OK;
}

void variant_fini(struct variant *variant)
{
    trial_fini(&variant->trial);
    scenario_file_destroy(variant->file);
    diag_fini(&variant->errors);
    *variant = (struct variant){.file = NULL};
}
