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

struct monitor_watch; /* how long each device has waited */

/* NULL: no memory. */
struct monitor_watch *monitor_create(const struct run *run);
void monitor_destroy(struct monitor_watch *watch);

/* Returns when all devices have ended. */
void monitor_run(struct run *run, struct monitor_watch *watch);

#endif /* RUN_MONITOR_H */
