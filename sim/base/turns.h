/* turns.h - let devices that compute take turns on the cores.
 *
 * With more devices than cores, as many devices compute at a time as there are cores, each bound to
 * a core until it meets other devices.  So each has a core's caches to itself, a free core goes on
 * with the next device at once, and no two share a core while another is idle, which the system's
 * own load balancing takes milliseconds to notice.
 *
 * Thread class: any thread of the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_TURNS_H
#define BASE_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/system.h"
#include "base/wait.h"

/* In place of a core number: the device holds no core. */
#define TURNS_NONE (-1)

struct turns {
    uint32_t ncores;
    struct system_cores cores; /* that the process may use */
    struct wait_gate gate;
    _Atomic bool taken[SYSTEM_CORES_MAX]; /* by core */
};

void turns_init(struct turns *turns);

/* Wait for a core and return it.  The wait is not recorded for deadlock detection: a device gives
 * its core back before it waits for others, so this wait ends as soon as a computing device is
 * done.
 */
int turns_take(struct turns *turns);
void turns_give(struct turns *turns, int core);

#endif /* BASE_TURNS_H */
