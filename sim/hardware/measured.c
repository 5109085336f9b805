/* measured.c - for an unmeasured cluster: a measured one with equal devices, and an estimate of the
 * error of modelled times.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <inttypes.h>
#include <math.h>

#include "hardware/shipped.h"
#include "hardware/traits.h"

#define ALIKE 0.02 /* of a rate or a size */

static bool near(double a, double b)
{
    return fabs(a - b) <= ALIKE * b;
}

static bool has_such_devices(const struct hardware *a, const struct hardware *b)
{
    return near(hardware_flops_per_s(a, SHD_BF16), hardware_flops_per_s(b, SHD_BF16)) &&
           near(a->memory_bytes, b->memory_bytes) &&
           near(a->memory_bytes_per_s, b->memory_bytes_per_s);
}

bool hardware_validates_serving(const struct hardware_validation *v)
{
    return v->traits & (UINT32_C(1) << TRAIT_PREFILL | UINT32_C(1) << TRAIT_DECODE);
}

/* Number of measured training steps. */
static int64_t measured_steps(const struct hardware *hardware)
{
    int64_t rows = 0;

    for (int i = 0; i < hardware->nvalidations; i++)
        if (!hardware_validates_serving(&hardware->validations[i]))
            rows += hardware->validations[i].rows;
    return rows;
}

/* NULL: no memory. */
static struct hardware *read_shipped(const struct shipped_file *file)
{
    struct hardware *hardware = NULL;
    struct diag diag;

    diag_init(&diag);
    if (hardware_find(&hardware, file->name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK)
        hardware = NULL;
    diag_fini(&diag);
    return hardware;
}

const char *hardware_measured_like(const struct hardware *hardware, bool *failed)
{
    const char *found = NULL;
    int64_t most = 0;

    for (const struct shipped_file *file = shipped_files; file->name; file++) {
        struct hardware *other = read_shipped(file);

        if (other && measured_steps(other) > most && has_such_devices(other, hardware)) {
            most = measured_steps(other);
            found = file->name;
        }
        *failed |= !other; /* shipped files are right: there was no memory for it */
        hardware_destroy(other);
    }
    return found;
}

void hardware_print_measured(struct text *out, const struct hardware *hardware)
{
    const char *between = "";

    if (measured_steps(hardware) == 0)
        text_add(out, "no measured step");
    for (int i = 0; i < hardware->nvalidations; i++) {
        const struct hardware_validation *v = &hardware->validations[i];

        if (hardware_validates_serving(v))
            continue;
        text_addf(out, "%s%" PRId64 " steps of %s, %.1f %% off", between, v->rows, v->set,
                  100 * v->cross_validated_mape);
        between = "; ";
    }
}

double hardware_error_elsewhere(void)
{
    double most = 0;

    for (const struct shipped_file *file = shipped_files; file->name; file++) {
        struct hardware *hardware = read_shipped(file);

        for (int i = 0; hardware && i < hardware->nvalidations; i++)
            if (!hardware_validates_serving(&hardware->validations[i]))
                most = fmax(most, hardware->validations[i].cross_validated_mape);
        hardware_destroy(hardware);
    }
    return most;
}
