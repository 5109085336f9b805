/* Determining a run's status from its devices (verdict.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices named in a message about a circular wait: as many as its text has room for. */
#define LINKS_SHOWN 4

/* How a device ended, in a form that can be shared (away.h). */
struct ending {
    int32_t state, status;
    int32_t waits; /* 1: its last wait was given up at a barrier (not refused before) */
    int32_t
        missing; /* 1 + the lowest position of a member that never reached the group; 0: none */
    uint64_t group; /* the group where it waits */
    char waits_in[DEVICE_WHAT_MAX];
    char text[SHD_ERROR_TEXT_MAX];
};

/* The group in which the device waited when its wait was given up. */
static const struct run_group *group_of(const struct shd_device *dev)
{
    return (const struct run_group *)atomic_load(&dev->record.at);
}

static struct ending ending_of(const struct shd_device *dev)
{
    struct ending e;

    memset(&e, 0, sizeof e); /* padding, too, as it is shared */
    e.state = atomic_load(&dev->state);
    e.status = dev->error.status;
    e.waits = atomic_load(&dev->record.count) % 2 == 1;
    if (e.waits)
        e.group = group_of(dev)->hash;
    memcpy(e.waits_in, dev->waits_in, sizeof e.waits_in);
    memcpy(e.text, dev->error.text, sizeof e.text);
    return e;
}

/* 1 + the lowest position of a member that never reached the group where the device waits; 0:
 * none. */
static int32_t find_missing(const struct shd_device *dev, const struct ending *endings)
{
    const struct run_group *group = group_of(dev);
    int32_t missing = 0;

    for (uint32_t m = 0; m < group->nmembers; m++) {
        int32_t other = group->members[m];

        if (endings[other].waits && endings[other].group == group->hash)
            continue;
        if (missing == 0 || other + 1 < missing)
            missing = other + 1;
    }
    return missing;
}

static void share(struct ending *endings, const struct run *run)
{
    if (run->away)
        run->away->calls->share(run->away, endings, sizeof *endings);
}

static void fill(struct ending *endings, const struct run *run)
{
    for (int32_t d = 0; d < run->ndevices; d++)
        if (run->devices[d].here)
            endings[d] = ending_of(&run->devices[d]);
    share(endings, run);
    for (int32_t d = 0; d < run->ndevices; d++)
        if (run->devices[d].here && endings[d].waits)
            endings[d].missing = find_missing(&run->devices[d], endings);
    share(endings, run);
}

/* The lowest position of a device in a state, or -1. */
static int32_t find_state(const struct run *run, enum device_state state)
{
    for (int32_t d = 0; d < run->ndevices; d++) {
        if (atomic_load(&run->devices[d].state) == (int)state)
            return d;
    }
    return -1;
}

/* Report "device 0 waits in a for device 1, which waits in b for device 0", as far as it fits, or
 * until a device repeats. */
static int stuck(const struct ending *endings, int32_t first, struct shd_error *err)
{
    int32_t named[LINKS_SHOWN];
    int32_t dev = first;
    char text[SHD_ERROR_TEXT_MAX];
    int length = snprintf(text, sizeof(text), "device %" PRId32, dev);

    for (int i = 0; i < LINKS_SHOWN && length < (int)sizeof(text); i++) {
        size_t room = sizeof(text) - (size_t)length;
        int32_t missing = endings[dev].waits ? endings[dev].missing - 1 : -1;
        const char *which = i == 0 ? "" : ", which";

        if (missing < 0) {
            snprintf(text + length, room, "%s has ended", which);
            break;
        }
        length += snprintf(text + length, room, "%s waits in %s for device %" PRId32, which,
                           endings[dev].waits_in, missing);
        named[i] = dev;
        dev = missing;
        for (int j = 0; j <= i; j++) {
            if (named[j] == dev)
                return shd_error_set(err, SHD_ESTUCK, "%s", text);
        }
    }
    return shd_error_set(err, SHD_ESTUCK, "%s", text);
}

static int over_limit(const struct run *run, const struct ending *endings, struct shd_error *err)
{
    const struct ending *e = &endings[run->over_limit];

    if (!e->waits || e->missing == 0)
        return shd_error_set(err, SHD_ESTUCK, "device %" PRId32 " waited longer than %" PRId64 " s",
                             run->over_limit, run->opts.wait_limit_s);
    return shd_error_set(err, SHD_ESTUCK,
                         "device %" PRId32 " waited in %s longer than %" PRId64
                         " s for device %" PRId32,
                         run->over_limit, e->waits_in, run->opts.wait_limit_s, e->missing - 1);
}

/* The runtime's own messages already name the device. */
static int failure(const struct ending *e, int32_t position, struct shd_error *err)
{
    if (!strncmp(e->text, "device ", 7))
        return shd_error_set(err, e->status, "%s", e->text);
    return shd_error_set(err, e->status, "device %" PRId32 ": %s", position, e->text);
}

static int judge(const struct run *run, const struct ending *endings, int32_t *error_device,
                 struct shd_error *err)
{
    int32_t failed = find_state(run, DEVICE_FAILED);

    if (failed >= 0) {
        *error_device = failed;
        return failure(&endings[failed], failed, err);
    }
    if (atomic_load(&run->board.called_off) == RUN_OVER_LIMIT) {
        *error_device = run->over_limit;
        return over_limit(run, endings, err);
    }
    *error_device = find_state(run, DEVICE_STOPPED);
    return stuck(endings, *error_device, err);
}

int verdict_build(const struct run *run, int32_t *error_device, struct shd_error *err)
{
    int called_off = atomic_load(&run->board.called_off);
    struct ending *endings;
    int status;

    *error_device = -1;
    if (called_off == RUN_STOP_REQUESTED)
        return shd_error_set(err, SHD_ESTOPPED, "stopped by request");
    if (find_state(run, DEVICE_FAILED) < 0 && find_state(run, DEVICE_STOPPED) < 0 &&
        called_off != RUN_OVER_LIMIT)
        return SHD_OK;
    endings = calloc((size_t)run->ndevices, sizeof *endings);
    if (!endings)
        return shd_error_set(err, SHD_ENOMEM, "no memory to report how devices ended");
    fill(endings, run);
    status = judge(run, endings, error_device, err);
    free(endings);
    return status;
}
