/* machine.h - this machine as a cluster of its own: devices are threads with a core each.
 *
 * What is measured is what programs do here: the ops of small scenarios, as devices walk them
 * (probe.h), and collectives among as many devices as there are cores (run/measure.h).  The
 * constants are fitted to these (fit.h) and have the meaning that any cluster's have
 * (hardware/hardware.h).  docs/this_machine.md tells what is measured for which.
 *
 * Thread class: machine_measure() by one thread at a time, for they would disturb each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_MACHINE_H
#define CALIBRATE_MACHINE_H

#include "base/text.h"
#include "hardware/hardware.h"

struct machine {
    struct hardware hardware; /* its texts are not set */
    uint32_t ncores;
    char processor[128]; /* as the system names it; "" if it does not */
};

struct machine_opts {
    uint32_t repeats;        /* of each step; of all, the least time counts.  At least 2 */
    const int *stop_request; /* as in shd_run_opts; may be NULL */
    /* Called before each part of the work; may be NULL. */
    void (*begins)(void *arg, unsigned ndone, unsigned ntotal, const char *what);
    void *arg;
};

/* SHD_ENOMEM, and the errors of shd_run(). */
SHD_MUST_CHECK int machine_measure(struct machine *out, const struct machine_opts *opts,
                                   struct shd_error *err);

/* Append it as the hardware file `this-machine`. */
void machine_print(const struct machine *machine, struct text *out);

#endif /* CALIBRATE_MACHINE_H */
