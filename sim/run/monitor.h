/* monitor.h - the thread that called shd_run(), while the devices run.
 *
 * It waits for them to end, and checks from time to time whether to call the run off: because a
 * stop was requested, because all live devices wait for each other, or because one has waited too
 * long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MONITOR_H
#define RUN_MONITOR_H

#include "run/device.h"

/* What the devices here are doing, at about the same time. */
struct monitor_sight {
    uint64_t blocked; /* 1: all live devices wait for others, or none is live */
    uint64_t any;     /* 1: some device is live */
    uint64_t moved;   /* the sum of their wait counts */
};

struct monitor_sight monitor_look(const struct run *run);

/* Whether no device moved on between two sights, and none can any more. */
bool monitor_is_still(const struct monitor_sight *before, const struct monitor_sight *now);

struct monitor_watch; /* how long each device has waited */

/* NULL: no memory. */
struct monitor_watch *monitor_create(const struct run *run);
void monitor_destroy(struct monitor_watch *watch);

/* Returns when all devices have ended. */
void monitor_run(struct run *run, struct monitor_watch *watch);

#endif /* RUN_MONITOR_H */
