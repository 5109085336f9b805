/* Watching a run for stops, deadlocks and long waits (monitor.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/monitor.h"

#include <stdlib.h>

/* Time between two checks: short enough for a stop to seem immediate, and long compared with a
 * check. */
#define LOOK_NS (50 * INT64_C(1000000))

/* Time between two checks counts up to this much as waiting.  A longer gap is no device's fault:
 * the monitor had no core, or the whole machine stood still, as virtual machines do during
 * migration, and the devices with it. */
#define LOOK_MAX_NS (4 * LOOK_NS)

struct monitor_wait {
    uint64_t count;    /* of the device's wait record, when it last changed */
    int64_t waited_ns; /* since then */
};

struct monitor_watch {
    int64_t looked_ns;           /* time of the last check */
    struct monitor_wait waits[]; /* [device] */
};

struct monitor_watch *monitor_create(const struct run *run)
{
    size_t n = (size_t)run->ndevices;
    struct monitor_watch *watch = calloc(1, sizeof *watch + n * sizeof watch->waits[0]);

    if (watch)
        watch->looked_ns = wait_clock_ns();
    return watch;
}

void monitor_destroy(struct monitor_watch *watch)
{
    free(watch);
}

struct monitor_sight monitor_look(const struct run *run)
{
    struct monitor_sight sight = {.blocked = 1};

    for (int32_t d = 0; d < run->ndevices; d++) {
        const struct shd_device *dev = &run->devices[d];

        if (!dev->here)
            continue;
        sight.moved += atomic_load(&dev->record.count);
        if (atomic_load(&dev->state) != DEVICE_LIVE)
            continue;
        sight.any = 1;
        sight.blocked &= wait_is_blocked(&dev->record);
    }
    return sight;
}

bool monitor_is_still(const struct monitor_sight *before, const struct monitor_sight *now)
{
    return before->blocked && now->blocked && now->any && now->moved == before->moved;
}

static bool is_stuck(struct run *run)
{
    struct monitor_sight before, now;

    if (run->away)
        return run->away->calls->is_stuck(run->away);
    before = monitor_look(run);
    now = monitor_look(run);
    return monitor_is_still(&before, &now);
}

/* The device at the lowest position that has been in the same wait for longer than the limit, or
 * -1. */
static int32_t find_over_limit(const struct run *run, struct monitor_watch *watch)
{
    int64_t now_ns = wait_clock_ns();
    int64_t passed_ns = now_ns - watch->looked_ns;
    int64_t limit_s = run->opts.wait_limit_s;
    int32_t over_limit = -1;

    watch->looked_ns = now_ns;
    if (passed_ns > LOOK_MAX_NS)
        passed_ns = LOOK_MAX_NS;
    for (int32_t d = 0; d < run->ndevices; d++) {
        struct monitor_wait *wait = &watch->waits[d];
        uint64_t count = atomic_load(&run->devices[d].record.count);

        if (wait->count != count || !wait_is_blocked(&run->devices[d].record))
            *wait = (struct monitor_wait){count, 0};
        else
            wait->waited_ns += passed_ns;
        if (over_limit < 0 && limit_s >= 0 && wait->waited_ns / 1000000000 >= limit_s)
            over_limit = d;
    }
    return over_limit;
}

static void call_off(struct run *run, enum run_verdict verdict)
{
    run_group_call_off(run, verdict);
    if (run->away)
        run->away->calls->call_off(run->away, (int)verdict);
}

static void look(struct run *run, struct monitor_watch *watch)
{
    const int *request = run->opts.stop_request;
    int32_t over_limit;

    if (request && __atomic_load_n(request, __ATOMIC_ACQUIRE)) {
        call_off(run, RUN_STOP_REQUESTED);
        return;
    }
    if (is_stuck(run)) {
        call_off(run, RUN_STUCK);
        return;
    }
    over_limit = find_over_limit(run, watch);
    if (over_limit >= 0) {
        run->over_limit = over_limit;
        call_off(run, RUN_OVER_LIMIT);
    }
}

void monitor_run(struct run *run, struct monitor_watch *watch)
{
    for (;;) {
        uint32_t seen = atomic_load(&run->ended);

        if (atomic_load(&run->nlive) == 0)
            return;
        if (!atomic_load(&run->board.called_off))
            look(run, watch);
        else if (run->away && !atomic_load(&run->settled) && is_stuck(run))
            call_off(run, RUN_STUCK); /* does not change the verdict */
        wait_event(&run->ended, seen, LOOK_NS);
    }
}
