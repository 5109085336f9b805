/* margin.h - the part of a device's memory that init and search keep free.
 *
 * A plan counts the arrays of a step and what the runtime keeps for itself, and not what the
 * allocator's fragments and libraries' workspaces take, unless the cluster's file has a constant
 * for it, fitted to measured peaks.  PyTorch's allocator held 1 to 20 % beyond the arrays in
 * published runs (docs/torchtitan_memory.md), and vLLM leaves a tenth (gpu_memory_utilization).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_MARGIN_H
#define HARDWARE_MARGIN_H

#include "hardware/hardware.h"

#define HARDWARE_MARGIN 0.1

/* The part kept free, 0 where the cluster's `fragmentation` counts it. */
static inline double hardware_margin(const struct hardware *hardware)
{
    return hardware->fragmentation > 0 ? 0 : HARDWARE_MARGIN;
}

/* The bytes of a device that init and search fill at most. */
static inline double hardware_room(const struct hardware *hardware)
{
    return hardware->memory_bytes * (1 - hardware_margin(hardware));
}

#endif /* HARDWARE_MARGIN_H */
