/* Corrections of kernels' models (kernel_model.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_types[KERNEL_NTYPES] = {[KERNEL_BF16] = "bfloat16",
                                               [KERNEL_FP8] = "fp8",
                                               [KERNEL_FP8_BLOCK] = "fp8_block",
                                               [KERNEL_NVFP4] = "nvfp4",
                                               [KERNEL_INT4_WEIGHTS] = "int4_wo",
                                               [KERNEL_MXFP4_WEIGHTS] = "w4a16_mxfp4",
                                               [KERNEL_BF16_BF16] = "bfloat16/bfloat16",
                                               [KERNEL_BF16_FP8] = "bfloat16/fp8",
                                               [KERNEL_FP8_FP8] = "fp8/fp8",
                                               [KERNEL_ANY_TYPE] = "any"};

const char *const kernel_kinds[KERNEL_NKERNELS] = {
    [KERNEL_PRODUCT] = "product",
    [KERNEL_EXPERTS] = "experts",
    [KERNEL_PREFILL] = "prefill",
    [KERNEL_DECODE] = "decode",
    [KERNEL_LATENT_PREFILL] = "mla_prefill",
    [KERNEL_LATENT_DECODE] = "mla_decode",
    [KERNEL_COPY] = "copy",
    [KERNEL_ALL_REDUCE] = "all-reduce",
    [KERNEL_ALL_GATHER] = "all-gather",
    [KERNEL_REDUCE_SCATTER] = "reduce-scatter",
    [KERNEL_ALL_TO_ALL] = "all-to-all",
    [KERNEL_ENGINE_ALL_REDUCE] = "engine-all-reduce",
    [KERNEL_DISPATCH] = "dispatch",
    [KERNEL_COMBINE] = "combine",
    [KERNEL_PREPARE] = "prepare",
    [KERNEL_LATENT_MODULE_PREFILL] = "mla_module_prefill",
    [KERNEL_LATENT_MODULE_DECODE] = "mla_module_decode",
    [KERNEL_LINEAR] = "linear"};

void kernel_models_clear(struct kernel_models *models)
{
    for (size_t i = 0; i < models->n; i++)
        free(models->items[i].correction);
    free(models->items);
}

void kernel_models_destroy(struct kernel_models *models)
{
    if (models)
        kernel_models_clear(models);
    free(models);
}

const char *kernel_model_type(const struct kernel_model *model)
{
    return *model->name ? model->name : kernel_types[model->type];
}

enum kernel_type kernel_model_type_of_name(const char *name)
{
    const char *last = strrchr(name, '/');
    int type = 0;

    while (type < KERNEL_ANY_TYPE && strcmp(last ? last + 1 : name, kernel_types[type]) != 0)
        type++;
    return (enum kernel_type)type;
}

int kernel_model_naxes(const struct kernel_form *form)
{
    int n = 0;

    while (n < KERNEL_AXES_MAX && form->axes[n].name)
        n++;
    return n;
}

int kernel_model_nconstants(const struct kernel_form *form)
{
    int n = 0;

    while (n < KERNEL_CONSTANTS_MAX && form->constants[n].name)
        n++;
    return n;
}

int kernel_model_nmeasures(const struct kernel_form *form)
{
    int n = 0;

    while (n < KERNEL_MEASURES_MAX && form->measures[n].name)
        n++;
    return n;
}

int64_t kernel_model_npoints(const struct kernel_grid *grid, int naxes)
{
    int64_t n = 1;

    for (int a = 0; a < naxes; a++)
        n *= grid->points[a];
    return n;
}

void kernel_model_weigh(size_t *points, double *weights, const struct kernel_form *form,
                 const struct kernel_grid *grid, const double *place)
{
    size_t n = 1;

    points[0] = 0;
    weights[0] = 1;
    for (int a = 0; a < kernel_model_naxes(form); a++) {
        double last = (double)(grid->points[a] - 1);
        double at = last > 0 ? (log2(place[a]) - grid->first[a]) / form->axes[a].step : 0;
        double below;
        size_t next = last > 0;

        at = fmin(fmax(at, 0), last);
        below = fmin(floor(at), fmax(last - 1, 0));
        for (size_t i = 0; i < n; i++) {
            size_t point = points[i] * (size_t)grid->points[a] + (size_t)below;

            points[n + i] = point + next;
            weights[n + i] = weights[i] * (at - below);
            points[i] = point;
            weights[i] *= 1 - (at - below);
        }
        n *= 2;
    }
}

static double correction_of(const struct kernel_model *model, const struct kernel_form *form,
                            const struct kernel_sizes *sizes)
{
    double place[KERNEL_AXES_MAX], weights[1 << KERNEL_AXES_MAX], sum = 0;
    size_t points[1 << KERNEL_AXES_MAX];

    form->place(place, sizes);
    kernel_model_weigh(points, weights, form, &model->grid, place);
    for (size_t i = 0; i < (size_t)1 << kernel_model_naxes(form); i++)
        sum += weights[i] * (double)model->correction[points[i]];
    return exp(sum);
}

double kernel_model_seconds(const struct kernel_model *model, const struct kernel_sizes *sizes,
                     const struct kernel_peaks *peaks, struct kernel_parts *parts)
{
    const struct kernel_form *form = &kernel_model_forms[model->kernel];
    double seconds = form->seconds(model->constants, sizes, peaks, parts);
    double factor = correction_of(model, form, sizes);

    parts->start_s *= factor;
    parts->computing_s *= factor;
    parts->moving_s *= factor;
    return seconds * factor;
}

/* ---- what was measured ---- */

#define SAME 1e-6 /* sizes within this relative difference count as equal */

double kernel_model_measure(const struct kernel_form *form, int measure,
                            const struct kernel_sizes *sizes)
{
    double value;

    memcpy(&value, (const char *)sizes + form->measures[measure].at, sizeof value);
    return value;
}

int kernel_model_class(const struct kernel_form *form, const struct kernel_sizes *sizes)
{
    double value = kernel_model_measure(form, 0, sizes);
    int i = 0;

    while (i < KERNEL_CLASSES - 1 && value > form->classes[i])
        i++;
    return i;
}

unsigned kernel_model_beyond(const struct kernel_model *model, const struct kernel_sizes *sizes)
{
    const struct kernel_form *form = &kernel_model_forms[model->kernel];
    unsigned beyond = 0;

    for (int i = 0; i < kernel_model_nmeasures(form); i++) {
        double value = kernel_model_measure(form, i, sizes);

        if (value < model->least[i] * (1 - SAME) || value > model->most[i] * (1 + SAME))
            beyond |= 1U << i;
    }
    return beyond;
}
