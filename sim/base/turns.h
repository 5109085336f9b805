/* turns.h - devices that compute take turns on the cores.
 *
 * With more devices than cores, as many compute at a time as there are cores, each bound to one
 * until it meets others.  So each has the caches to itself, a core that becomes free goes on with
 * the next device at once, and no two share a core while another is idle, which takes the system's
 * own balancing milliseconds to see.
 *
 * Thread class: any thread of the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_TURNS_H
#define BASE_TURNS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In place of a core: the device has no turn. */
#define TURNS_NONE (-1)

struct turns {
    uint32_t ncores;
    cpu_set_t cores; /* those the process may use */
    _Atomic uint32_t free;
    _Atomic uint32_t nasleep;
    _Atomic bool taken[CPU_SETSIZE]; /* by core */
};

void turns_init(struct turns *turns);

/* Wait for a core and return it.  The wait is not recorded: a device gives its turn back before it
 * waits for others, so that this wait ends as soon as one of those that compute has done its part.
 */
int turns_take(struct turns *turns);
void turns_give(struct turns *turns, int core);

#endif /* BASE_TURNS_H */
