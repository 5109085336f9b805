/* probe.h - measure the time of a program's ops on this machine, as devices walk it.
 *
 * A probe executes a scenario's step several times in a row, unverified.  For each computing op it
 * keeps the least time in which its thread had a core (cost/works.h), so that other processes
 * disturb little; times of steps are wall time.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_PROBE_H
#define CALIBRATE_PROBE_H

#include "hardware/hardware.h"
#include "trial/variant.h"

struct probe {
    struct variant variant;
    struct works *works;
    uint32_t *ids; /* by works_number() */
    struct record *record;
    uint32_t repeats; /* repeats measured: all but the first, which touches pages */
};

/* Execute the first strategy of a scenario, called `name` in messages, `repeats` times (at least
 * 2).  `stop_request` as in shd_run_opts.  Errors as shd_run(). */
SHD_MUST_CHECK int probe_run(struct probe *out, const char *name, const char *scenario,
                             uint32_t repeats, const int *stop_request, struct shd_error *err);
void probe_fini(struct probe *probe);

/* The work of an op, and its time on device 0, in seconds.  False: the op computes nothing. */
bool probe_op(const struct probe *probe, uint32_t op, struct hardware_work *work, double *seconds);

#endif /* CALIBRATE_PROBE_H */
