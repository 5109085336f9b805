/* away.h - the devices of a run that are not here.
 *
 * A run may have only some of a mesh's devices here, with their memory and threads; the others are
 * away: further runs of the same function have them.  Whoever joins these runs gives each of them
 * a table of functions, through which a run says what becomes of its own devices, and meets the
 * others.  In return the joiner brings what the others say: run_device_end() and
 * run_group_call_off() (device.h), channel_bring() (channel.h).  Status, error and counts are equal
 * in all runs.
 *
 * Thread class: functions of the whole run are called by the thread that called run_devices(),
 * those of a device by its thread, several at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_AWAY_H
#define RUN_AWAY_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

#include "run/mailbox.h"

struct away;
struct run;
struct run_group;
struct shd_device;

struct away_calls {
    /* Whether the device at a position is here. */
    bool (*is_here)(const struct away *away, int32_t position);

    /* ---- the whole run ---- */

    /* All runs start their devices, or none does: `status` (with *err) is how the start went here;
     * returns how it went in all runs.  On SHD_OK news of the others is brought until end(). */
    int (*start)(struct away *away, int status, struct shd_error *err);

    /* Called when all devices of all runs have ended: makes the verdict and the counts of all
     * devices equal in all runs. */
    void (*end)(struct away *away);

    /* Fill in the rows of the devices that are away; those of the devices here are set. */
    void (*share)(const struct away *away, void *rows, uint64_t row_bytes);

    /* Tell that this run was called off. */
    void (*call_off)(struct away *away, int verdict);

    /* Whether no device of any run can go on; asked again and again.  Only one run is told. */
    bool (*is_stuck)(struct away *away);

    /* ---- a device ---- */

    /* Tell that a device here has ended, in an enum device_state. */
    void (*tell_end)(struct away *away, int32_t position, int state);

    /* Send a message from a device here to one that is away; `data` may be reused. */
    void (*send)(struct away *away, int32_t from, int32_t to, struct message_tag tag,
                 const void *data, uint64_t bytes);

    /* A device here begins, or no longer goes on, to wait for a message from one that is away. */
    void (*expect)(struct away *away, bool begins);

    /* ---- a group with members that are away ---- */

    /* What the joiner keeps of a new group; NULL: no memory.  Called with the run's lock held. */
    void *(*join)(struct away *away, struct run_group *group);
    void (*leave)(void *kept);

    /* Meet the members that are away, and execute the call or set the group's status.  Called by
     * the last member here to arrive, while all other members here wait; see wait_duty.last() for
     * what it returns.  It waits for the group's event where it must, and gives up if a member
     * that is away will not come or the run is settled. */
    uint32_t (*meet)(struct run_group *group, struct shd_device *dev, uint32_t *ntasks);
};

/* The first field of what the joiner has of a run. */
struct away {
    const struct away_calls *calls;
    struct run *run; /* set by run_devices() */
};

#endif /* RUN_AWAY_H */
