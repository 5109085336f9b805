/* software.h - what training and serving software does beside the hardware's own limits, by name.
 *
 * What Megatron-LM overlaps is the same on every cluster, so a cluster's file names the software
 * that was measured on it and only says what was different there.
 *
 * Thread class: immutable table, pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_SOFTWARE_H
#define HARDWARE_SOFTWARE_H

#include "base/nearest.h"
#include "hardware/hardware.h"

/* The software of a name; NULL: there is none, and `nearest` (may be NULL) has the name most like
 * it. */
const struct hardware_software *software_find(const char *name, struct nearest *nearest);

/* Let a cluster run software, with the efficiencies that its kernels reach in it. */
void software_run(struct hardware *hardware, const struct hardware_software *software);

/* Names in the order of the table; NULL beyond. */
const char *software_name(int index);

#endif /* HARDWARE_SOFTWARE_H */
