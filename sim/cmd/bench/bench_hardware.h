/* bench_hardware.h - shardsim bench --hardware: this machine as a hardware file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_BENCH_BENCH_HARDWARE_H
#define CMD_BENCH_BENCH_HARDWARE_H

#include <stdint.h>

/* Measure each step `repeats` times (at least 2) and write the file to `output` (NULL: standard
 * output).  Returns the exit status. */
int bench_hardware(uint32_t repeats, const char *output);

#endif /* CMD_BENCH_BENCH_HARDWARE_H */
