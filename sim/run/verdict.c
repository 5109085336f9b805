/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Devices named in a message about a circle of waits: as many as its text has room for. */
#define LINKS_SHOWN 4

static const struct shd_device *find_state(const struct run *run, enum device_state state)
{
    for (int32_t d = 0; d < run->ndevices; d++) {
        if (atomic_load(&run->devices[d].state) == (int)state)
            return &run->devices[d];
    }
    return NULL;
}

/* The group that the device waited in when it was given up. */
static const struct run_group *group_of(const struct shd_device *dev)
{
    return (const struct run_group *)atomic_load(&dev->record.at);
}

/* Whether the device's last wait was given up at a barrier (not refused before it got there). */
static bool waits(const struct shd_device *dev)
{
    return atomic_load(&dev->record.count) % 2 == 1;
}

/* The member at the lowest position that never came to where the device waits. */
static const struct shd_device *find_missing(const struct shd_device *dev)
{
    const struct run_group *group = group_of(dev);
    const struct shd_device *missing = NULL;

    for (uint32_t m = 0; m < group->nmembers; m++) {
        const struct shd_device *other = group->devices[m];

        if (waits(other) && group_of(other) == group)
            continue;
        if (!missing || other->position < missing->position)
            missing = other;
    }
    return missing;
}

/* "device 0 waits in a for device 1, which waits in b for device 0": as far as it goes, or until it
 * comes back to a device that was named. */
static int stuck(const struct shd_device *first, struct shd_error *err)
{
    const struct shd_device *named[LINKS_SHOWN];
    const struct shd_device *dev = first;
    char text[SHD_ERROR_TEXT_MAX];
    int length = snprintf(text, sizeof(text), "device %" PRId32, dev->position);

    for (int i = 0; i < LINKS_SHOWN && length < (int)sizeof(text); i++) {
        size_t room = sizeof(text) - (size_t)length;
        const struct shd_device *missing = waits(dev) ? find_missing(dev) : NULL;
        const char *which = i == 0 ? "" : ", which";

        if (!missing) {
            snprintf(text + length, room, "%s has ended", which);
            break;
        }
        length += snprintf(text + length, room, "%s waits in %s for device %" PRId32, which,
                           dev->waits_in, missing->position);
        named[i] = dev;
        dev = missing;
        for (int j = 0; j <= i; j++) {
            if (named[j] == dev)
                return shd_error_set(err, SHD_ESTUCK, "%s", text);
        }
    }
    return shd_error_set(err, SHD_ESTUCK, "%s", text);
}

static int over_limit(const struct run *run, int32_t *error_device, struct shd_error *err)
{
    const struct shd_device *dev = &run->devices[run->over_limit];
    const struct shd_device *missing = waits(dev) ? find_missing(dev) : NULL;

    *error_device = run->over_limit;
    if (!missing)
        return shd_error_set(err, SHD_ESTUCK, "device %" PRId32 " waited longer than %" PRId64 " s",
                             dev->position, run->opts.wait_limit_s);
    return shd_error_set(err, SHD_ESTUCK,
                         "device %" PRId32 " waited in %s longer than %" PRId64
                         " s for device %" PRId32,
                         dev->position, dev->waits_in, run->opts.wait_limit_s, missing->position);
}

/* Messages of the runtime name the device already. */
static int failure(const struct shd_device *dev, struct shd_error *err)
{
    const char *text = dev->error.text;

    if (!strncmp(text, "device ", 7))
        return shd_error_set(err, dev->error.status, "%s", text);
    return shd_error_set(err, dev->error.status, "device %" PRId32 ": %s", dev->position, text);
}

int verdict_build(const struct run *run, int32_t *error_device, struct shd_error *err)
{
    const struct shd_device *failed = find_state(run, DEVICE_FAILED);
    const struct shd_device *stopped = find_state(run, DEVICE_STOPPED);
    int called_off = atomic_load(&run->board.called_off);

    *error_device = -1;
    if (called_off == RUN_STOP_REQUESTED)
        return shd_error_set(err, SHD_ESTOPPED, "stopped by request");
    if (failed) {
        *error_device = failed->position;
        return failure(failed, err);
    }
    if (called_off == RUN_OVER_LIMIT)
        return over_limit(run, error_device, err);
    if (stopped) {
        *error_device = stopped->position;
        return stuck(stopped, err);
    }
    return SHD_OK;
}
