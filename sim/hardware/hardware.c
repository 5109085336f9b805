/* Peak rates and fitted constants of a cluster (hardware.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

void hardware_destroy(struct hardware *hardware)
{
    if (!hardware)
        return;
    for (size_t i = 0; hardware->fitted && hardware->fitted[i]; i++)
        free(hardware->fitted[i]);
    free(hardware->fitted);
    for (int i = 0; i < HARDWARE_TIERS_MAX; i++)
        free(hardware->tiers[i].name);
    for (int i = 0; i < HARDWARE_VALIDATIONS_MAX; i++) {
        free(hardware->validations[i].set);
        free(hardware->validations[i].software);
    }
    if (!hardware->models_of)
        kernel_models_destroy(hardware->models);
    free(hardware->name);
    free(hardware->source);
    free(hardware->place);
    free(hardware);
}

double hardware_flops_per_s(const struct hardware *hardware, enum shd_dtype dtype)
{
    /* Substitutes for a type without a rate, nearest first: a unit computes the type in the next
     * wider one. */
    static const enum shd_dtype instead[] = {SHD_BF16, SHD_F16, SHD_F32, SHD_F64};
    size_t width = shd_dtype_size(dtype);

    if (hardware->flops_per_s[dtype] > 0)
        return hardware->flops_per_s[dtype];
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (hardware->flops_per_s[instead[i]] > 0 && shd_dtype_size(instead[i]) >= width)
            return hardware->flops_per_s[instead[i]];
    for (size_t i = sizeof instead / sizeof *instead; i-- > 0;)
        if (hardware->flops_per_s[instead[i]] > 0)
            return hardware->flops_per_s[instead[i]];
    return 0;
}

static void override(double *constant, double served)
{
    if (served > 0)
        *constant = served;
}

struct hardware hardware_as_served(const struct hardware *hardware)
{
    const struct hardware_serving *s = &hardware->serving;
    struct hardware out = *hardware;

    override(&out.kernels.launch_s, s->launch_s);
    override(&out.kernels.matmul_efficiency, s->matmul_efficiency);
    override(&out.kernels.memory_efficiency, s->memory_efficiency);
    override(&out.kernels.attention_efficiency, s->attention_efficiency);
    out.kernels.attention_half_queries = s->attention_half_queries;
    out.tiers[0].direct_s = s->direct_s;
    out.by_models = true;
    out.served = true;
    return out;
}

struct hardware hardware_as_measured(const struct hardware *hardware)
{
    struct hardware out = *hardware;

    out.by_models = true;
    return out;
}

bool hardware_is_fitted(const struct hardware *hardware, const char *path)
{
    for (size_t i = 0; hardware->fitted && hardware->fitted[i]; i++)
        if (!strcmp(hardware->fitted[i], path))
            return true;
    return false;
}
