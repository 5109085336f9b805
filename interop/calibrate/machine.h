/* machine.h - measure this machine as a cluster whose devices are threads with a core each.
 *
 * Measured are real workloads: the ops of small scenarios, as devices walk them (probe.h), and
 * collectives among as many devices as there are cores (run/measure.h).  The constants fitted
 * to the times (least_squares.h) mean the same as those of any cluster (hardware/hardware.h).
 * docs/this_machine.md tells which measurement gives which constant.
 *
 * Thread class: machine_measure() by one thread at a time: several would disturb each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_MACHINE_H
#define CALIBRATE_MACHINE_H

#include "base/text.h"
#include "hardware/hardware.h"

struct machine {
    struct hardware hardware; /* without texts */
    uint32_t ncores;
    char processor[128]; /* the system's name for it; "" if unknown */
};

struct machine_opts {
    uint32_t repeats;        /* of each step; the least time counts.  At least 2 */
    const int *stop_request; /* as in shd_run_opts; may be NULL */
    /* Called before each part of the measurement; may be NULL. */
    void (*begins)(void *arg, unsigned ndone, unsigned ntotal, const char *what);
    void *arg;
};

/* SHD_ENOMEM, and the errors of shd_run(). */
SHD_MUST_CHECK int machine_measure(struct machine *out, const struct machine_opts *opts,
                                   struct shd_error *err);

/* Append the machine as the hardware file `this-machine`. */
void machine_print(const struct machine *machine, struct text *out);

#endif /* CALIBRATE_MACHINE_H */
