/* Measured times and their models (samples.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cost/modelled.h"

size_t samples_set(struct samples *samples, const char *name)
{
    for (size_t i = 0; i < samples->nsets; i++)
        if (!strcmp(samples->sets[i].name, name))
            return i;
    if (!array_make_room(&samples->sets, samples->nsets, sizeof *samples->sets))
        return SIZE_MAX;
    samples->sets[samples->nsets] = (struct sample_set){.name = strdup(name)};
    return samples->sets[samples->nsets].name ? samples->nsets++ : SIZE_MAX;
}

static void free_sample(struct sample *sample)
{
    if (sample->step)
        variant_fini(sample->step);
    free(sample->step);
    free(sample->id);
}

bool samples_add(struct samples *samples, struct sample *sample)
{
    if (!array_make_room(&samples->items, samples->n, sizeof *samples->items)) {
        free_sample(sample);
        return false;
    }
    sample->index = samples->sets[sample->set].n++;
    samples->items[samples->n++] = *sample;
    return true;
}

void samples_fini(struct samples *samples)
{
    for (size_t i = 0; i < samples->n; i++)
        free_sample(&samples->items[i]);
    for (size_t i = 0; i < samples->nsets; i++) {
        hardware_destroy(samples->sets[i].hardware);
        free(samples->sets[i].name);
    }
    free(samples->items);
    free(samples->sets);
    *samples = (struct samples){.items = NULL};
}

static int model(struct sample *s, struct shd_error *err)
{
    struct record *record;
    int status;

    if (!s->step) {
        s->modelled_s = hardware_collective_seconds(s->hardware, s->kind, &s->group, s->bytes);
        return SHD_OK;
    }
    record = s->step->trial.record;
    status = modelled_run(record, s->hardware, NULL, err);
    if (status == SHD_OK)
        s->modelled_s = (double)record->modelled->timeline->step_ns * 1e-9;
    return status;
}

int samples_model(struct samples *samples, const struct constants *constants, const double *values,
                  struct shd_error *err)
{
    int failed = SHD_OK;

    /* Collectives of a set share a cluster, so all constants are set before any is read. */
    for (size_t i = 0; i < samples->n; i++)
        constants_set(samples->items[i].hardware, constants, values);
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < samples->n; i++) {
        struct shd_error own;
        int status = model(&samples->items[i], &own);

        if (status != SHD_OK) {
#pragma omp critical
            {
                failed = status;
                *err = own;
            }
        }
    }
    return failed;
}
